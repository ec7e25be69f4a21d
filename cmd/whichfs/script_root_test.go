package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"
	"golang.org/x/sys/unix"

	"whichfs/internal/sys/command"
	"whichfs/internal/target/storage"
)

// loop VARIABLE FILE SIZE: makes a loop device and puts its path into VARIABLE,
// and its --destroy ID into VARIABLE_ID.
func doLoop(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 3 {
		ts.Fatalf("usage: loop VARIABLE FILE SIZE")
	}
	file := ts.MkAbs(args[1])
	sized(ts, file, args[2])
	r, err := command.Run(context.Background(), command.Options{}, "losetup", "--find", "--show", file)
	ts.Check(err)
	device := strings.TrimSpace(r.Stdout)
	ts.Defer(func() { _, _ = command.Run(context.Background(), command.Options{}, "losetup", "-d", device) })
	ts.Setenv(args[0], device)
	doNamed(ts, false, args[:1])
}

// named VARIABLE: puts the current --destroy ID of the device in VARIABLE into
// VARIABLE_ID.
func doNamed(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: named VARIABLE")
	}
	id, err := idOf(ts.Getenv(args[0]))
	ts.Check(err)
	ts.Setenv(args[0]+"_ID", id)
}

// idOf is the --destroy ID of a device.
func idOf(device string) (string, error) {
	var refusal *storage.Refusal
	if err := storage.Guard(context.Background(), device, "", storage.System); !errors.As(err, &refusal) {
		return "", fmt.Errorf("%s is not refused: %w", device, err)
	}
	return strings.TrimPrefix(refusal.Type, "--destroy "), nil
}

// resize DEVICE SIZE: changes the size of a loop device in one step, as if it had been
// exchanged for another. (Its file keeps its length: a write under way would make a
// shorter one longer again.)
func doResize(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: resize DEVICE SIZE")
	}
	f, err := os.OpenFile(args[0], os.O_RDONLY, 0)
	ts.Check(err)
	defer f.Close()
	status, err := unix.IoctlLoopGetStatus64(int(f.Fd()))
	ts.Check(err)
	status.Sizelimit = uint64(inBytes(ts, args[1]))
	for err = unix.EAGAIN; errors.Is(err, unix.EAGAIN); { // pages came back that it had written before
		err = unix.IoctlLoopSetStatus64(int(f.Fd()), status)
	}
	ts.Check(err)
}

func sized(ts *testscript.TestScript, file, size string) {
	f, err := os.OpenFile(file, os.O_CREATE|os.O_RDWR, 0o644)
	ts.Check(err)
	ts.Check(f.Truncate(inBytes(ts, size)))
	ts.Check(f.Close())
}

// inBytes is a size in MiB, such as "64M".
func inBytes(ts *testscript.TestScript, size string) int64 {
	mib, err := strconv.ParseInt(strings.TrimSuffix(size, "M"), 10, 64)
	ts.Check(err)
	return mib << 20
}

// tmpfs DIRECTORY SIZE: mounts a filesystem in memory, or changes its size.
func doTmpfs(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: tmpfs DIRECTORY SIZE")
	}
	dir := ts.MkAbs(args[0])
	ts.Check(os.MkdirAll(dir, 0o755))
	var fs unix.Statfs_t
	ts.Check(unix.Statfs(dir, &fs))
	if int64(fs.Type) == unix.TMPFS_MAGIC {
		ts.Check(unix.Mount("test", dir, "tmpfs", unix.MS_REMOUNT, "size="+args[1]))
		return
	}
	ts.Check(unix.Mount("test", dir, "tmpfs", 0, "size="+args[1]))
	ts.Defer(func() { _ = unix.Unmount(dir, unix.MNT_DETACH) })
}

// clean WORK: checks that nothing of ours is left in this directory, mounted
// below it, or attached to a loop device.
func doClean(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: clean DIRECTORY")
	}
	ts.Check(leftovers(ts.MkAbs(args[0])))
}

// odd DIRECTORY: makes a tree with everything that trees can have. Only root
// can make device nodes.
func doOdd(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: odd DIRECTORY")
	}
	dir := ts.MkAbs(args[0])
	ts.Check(os.MkdirAll(filepath.Join(dir, "empty"), 0o755))
	in := func(name string) string { return filepath.Join(dir, name) }
	for _, name := range []string{"plain", "with space", "-dash", "new\nline", "latin\xe9", "quote'\"$(x)`y`", "ümläut", "\x1b[31mred", strings.Repeat("n", 250)} {
		ts.Check(os.WriteFile(in(name), []byte(name), 0o640))
	}
	ts.Check(os.Link(in("plain"), in("hard")))
	ts.Check(os.Link(in("plain"), in("harder")))
	ts.Check(os.Symlink("plain", in("link")))
	ts.Check(os.Symlink("nowhere", in("dangling")))
	ts.Check(unix.Mkfifo(in("fifo"), 0o644))
	for name, size := range map[string]int64{"holes": 1 << 20, "hole": 3 << 30} {
		f, err := os.Create(in(name))
		ts.Check(err)
		_, err = f.WriteAt([]byte("x"), 4096)
		ts.Check(err)
		ts.Check(f.Truncate(size))
		ts.Check(f.Close())
	}
	// A socket's path must be short, so it is made from within the directory.
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: "/proc/self/fd/" + strconv.Itoa(open(ts, dir)) + "/socket", Net: "unix"})
	ts.Check(err)
	l.SetUnlinkOnClose(false)
	ts.Check(l.Close())
	if os.Geteuid() == 0 {
		ts.Check(unix.Mknod(in("null"), unix.S_IFCHR|0o666, int(unix.Mkdev(1, 3))))
		ts.Check(unix.Mknod(in("disk"), unix.S_IFBLK|0o600, int(unix.Mkdev(7, 0))))
	}
}

func open(ts *testscript.TestScript, dir string) int {
	fd, err := unix.Open(dir, unix.O_PATH|unix.O_CLOEXEC, 0)
	ts.Check(err)
	ts.Defer(func() { _ = unix.Close(fd) })
	return fd
}
