package nbd

import (
	"net"
	"path/filepath"
	"strings"
	"testing"

	"whichfs/internal/flash"
	"whichfs/internal/sys/command"
)

// listen serves a device on a socket in a test directory and returns the
// address in the notation of QEMU's tools.
func listen(t *testing.T, d flash.Device, o Options) (string, *Server) {
	t.Helper()
	noLeak(t)
	path := filepath.Join(t.TempDir(), "nbd")
	l, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	s := New(d, o)
	over := make(chan struct{})
	go func() {
		defer close(over)
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			go func() { _ = s.Serve(conn) }()
		}
	}()
	t.Cleanup(func() {
		_ = l.Close()
		<-over
		_ = s.Close()
	})
	return "nbd+unix:///?socket=" + path, s
}

func tool(t *testing.T, argv ...string) (string, error) {
	t.Helper()
	r, err := command.Run(t.Context(), command.Options{}, argv...)
	return r.Stdout + r.Stderr, err
}

// QEMU's own tools accept the server.
func TestPeer(t *testing.T) {
	const size = 8 << 20
	d := newMemory(size)
	address, _ := listen(t, d, Options{Trim: true})
	argv := []string{"qemu-io", "-f", "raw", "-t", "writeback", "-d", "unmap"}
	for _, c := range []string{
		"length", "write -P 17 0 1M", "write -f -P 18 1M 4k", "aio_write -P 19 2M 64k", "aio_write -P 20 3M 64k", "aio_flush", "flush",
		"write -z 512k 64k", "discard 1M 4k", "read -P 17 0 512k", "read -P 0 512k 64k", "read -P 17 576k 448k",
		"read -P 0 1M 4k", "read -P 19 2M 64k", "read -P 20 3M 64k",
	} {
		argv = append(argv, "-c", c)
	}
	out, err := tool(t, append(argv, address)...)
	if err != nil || strings.Contains(out, "fail") || !strings.Contains(out, "8 MiB") {
		t.Errorf("%v\n%s", err, out)
	}
	seen := map[flash.Op]int{}
	fua := false
	for _, r := range requests(d) {
		seen[r.Op]++
		fua = fua || r.FUA
	}
	for _, op := range []flash.Op{flash.Read, flash.Write, flash.Flush, flash.Trim, flash.WriteZeroes} {
		if seen[op] == 0 {
			t.Errorf("operation %d never arrived: %v", op, seen)
		}
	}
	if !fua {
		t.Error("no request had FUA")
	}
	if out, err := tool(t, "qemu-io", "-f", "raw", "-c", "read -P 1 0 512", address); err != nil && !strings.Contains(out, "verification failed") {
		t.Errorf("wrong contents pass: %v\n%s", err, out)
	}
	copied := filepath.Join(t.TempDir(), "copy")
	if out, err := tool(t, "qemu-img", "convert", "-O", "raw", address, copied); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
	if out, err := tool(t, "qemu-img", "compare", "-f", "raw", "-F", "raw", address, copied); err != nil || !strings.Contains(out, "identical") {
		t.Errorf("%v\n%s", err, out)
	}
}

// The device's errors reach QEMU.
func TestPeerSeesErrors(t *testing.T) {
	d := newMemory(1 << 20)
	d.fails = errBroken
	address, _ := listen(t, d, Options{})
	if out, _ := tool(t, "qemu-io", "-f", "raw", "-c", "write 0 4k", address); !strings.Contains(out, "Input/output error") {
		t.Error(out)
	}
}
