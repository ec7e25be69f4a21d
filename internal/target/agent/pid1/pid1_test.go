package pid1

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"testing"

	"whichfs/internal/wire"
)

func TestParseParameters(t *testing.T) {
	for line, want := range map[string]parameters{
		"":                             {term: "linux"},
		"console=ttyS0 quiet panic=-1": {term: "linux"},
		"console=tty0 console=ttyAMA0,115200 quiet":                              {term: "linux", console: "ttyAMA0"},
		"whichfs.shell whichfs.term=xterm whichfs.rows=50 whichfs.columns=132\n": {shell: true, term: "xterm", rows: 50, cols: 132},
		"whichfs.rows=-1 whichfs.columns=70000":                                  {term: "linux"},
		"whichfs.script":                                                         {script: true, term: "linux"},
		"whichfs.rotational":                                                     {rotational: true, term: "linux"},
		"whichfs.vectors":                                                        {vectors: true, term: "linux"},
		"whichfs.probe":                                                          {probe: true, term: "linux"},
		"whichfs.root=btrfs whichfs.options=compress=zstd:3,noatime whichfs.card": {root: "btrfs", options: "compress=zstd:3,noatime", card: true, term: "linux"},
		"whichfs.module=a.ko:12 whichfs.module=b.ko:3":                            {modules: []string{"a.ko:12", "b.ko:3"}, term: "linux"},
		"whichfs.fault=panic@phase other":                                         {fault: "panic@phase", term: "linux"},
	} {
		if want.console == "" {
			want.console = "ttyS0" // QEMU's, where nothing is said
		}
		if got := parseParameters(line); !reflect.DeepEqual(got, want) {
			t.Errorf("%q: %+v, want %+v", line, got, want)
		}
	}
}

func FuzzParseParameters(f *testing.F) {
	f.Add("quiet whichfs.shell whichfs.rows=50")
	f.Fuzz(func(_ *testing.T, line string) { _ = parseParameters(line) })
}

// Only process 1 with all its arguments is the first process of a filesystem.
func TestFirstProcess(t *testing.T) {
	for _, args := range [][]string{nil, {"agent"}, {"agent", "serve"}, {"whichfs-init", rooted, "1", "2", ""}} {
		if FirstProcess(args) {
			t.Errorf("%q", args)
		}
	}
	if a, b := Monotonic(), Monotonic(); a <= 0 || b < a {
		t.Errorf("the clock says %v, then %v", a, b)
	}
}

// closer is a stream in memory.
type closer struct{ bytes.Buffer }

func (*closer) Close() error { return nil }

func TestFaultStrikesAtItsMessage(t *testing.T) {
	struck := errors.New("struck")
	var under closer
	stream, err := withFault(&under, "panic@phase")
	if err != nil {
		t.Fatal(err)
	}
	var what string
	stream.(*faulty).strike = func(w string) error { what = w; return struck }
	c := wire.New(stream, stream, nil)
	if err := c.Send(wire.KindReady, 1, nil); err != nil || what != "" {
		t.Errorf("another message: %v, struck %q", err, what)
	}
	if err := c.Send(wire.KindPhase, 2, wire.PhaseBegun{Phase: "write"}); !errors.Is(err, struck) || what != FaultPanic {
		t.Errorf("its message: %v, struck %q", err, what)
	}
}

func TestGarbageIsCorrupt(t *testing.T) {
	var under closer
	stream, err := withFault(&under, "garbage@done")
	if err != nil {
		t.Fatal(err)
	}
	if err := wire.New(nil, stream, nil).Send(wire.KindDone, 1, wire.Done{Outcome: "done"}); err != nil {
		t.Fatal(err)
	}
	if _, err := wire.New(&under, io.Discard, nil).Receive(); !errors.Is(err, wire.ErrCorrupt) {
		t.Errorf("the other end gets %v", err)
	}
}

// The disk vanishes only once, and the stream continues.
func TestUnplugStrikesOnce(t *testing.T) {
	var under closer
	stream, err := withFault(&under, "unplug@figures")
	if err != nil {
		t.Fatal(err)
	}
	struck := 0
	stream.(*faulty).strike = func(string) error { struck++; return nil }
	c := wire.New(stream, stream, nil)
	for id := range uint64(2) {
		if err := c.Send(wire.KindFigures, id, wire.Figures{Phase: "write"}); err != nil {
			t.Fatal(err)
		}
		if m, err := c.Receive(); err != nil || m.ID != id || m.Kind != wire.KindFigures {
			t.Errorf("the other end gets %+v, %v", m, err)
		}
	}
	if struck != 1 {
		t.Errorf("struck %d times", struck)
	}
}

func TestWithFaultRefuses(t *testing.T) {
	var under closer
	for _, bad := range []string{"panic", "sleep@phase", "@phase"} {
		if _, err := withFault(&under, bad); err == nil {
			t.Errorf("%q is accepted", bad)
		}
	}
	if s, err := withFault(&under, ""); err != nil || s != io.ReadWriteCloser(&under) {
		t.Errorf("no fault: %v, %v", s, err)
	}
}

func TestModuleName(t *testing.T) {
	for file, want := range map[string]string{
		"00-virtio_ring.ko":     "virtio_ring",
		"03-crc32c-generic.ko":  "crc32c_generic",
		"11-zstd_decompress.ko": "zstd_decompress",
	} {
		if got := moduleName(file); got != want {
			t.Errorf("%s: %q, want %q", file, got, want)
		}
	}
}

func TestFileWith(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{"vda/serial": "root", "vdb/serial": "lab0\n", "vdc/other": "lab0"} {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for content, want := range map[string]string{"root": "vda", "lab0": "vdb", "data0": ""} {
		if got, err := fileWith(filepath.Join(dir, "*/serial"), content); err != nil || got != want {
			t.Errorf("%s: %q, %v", content, got, err)
		}
	}
}

func TestInsertAllNamesTheModule(t *testing.T) {
	if _, _, err := insertAll(filepath.Join(t.TempDir(), "none")); err == nil {
		t.Error("a missing directory is no error")
	}
	if cost, _, err := insertAll(t.TempDir()); err != nil || len(cost) != 0 {
		t.Errorf("an empty directory: %v, %v", cost, err)
	}
}
