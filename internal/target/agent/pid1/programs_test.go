package pid1

import (
	"errors"
	"fmt"
	"math"
	"os"
	"os/exec"
	"runtime/debug"
	"strings"
	"sync"
	"syscall"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"
)

// What a program does wrong reaches itself or its parent, and nobody else; programs start others, and keep
// their registers meanwhile. A guest of the virtual lab, whose programs' system calls and faults take other
// ways, repeats this.
func TestProgramsBehave(t *testing.T) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	fd, err := unix.MemfdCreate("short", unix.MFD_CLOEXEC)
	if err != nil {
		t.Fatal(err)
	}
	beyond, err := unix.Mmap(fd, 0, os.Getpagesize(), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil {
		t.Fatal(err)
	}
	constant, err := unix.Mmap(-1, 0, os.Getpagesize(), unix.PROT_READ, unix.MAP_PRIVATE|unix.MAP_ANONYMOUS)
	if err != nil {
		t.Fatal(err)
	}
	var nothing *int
	zero := 0
	for range 2 { // the first leaves everything as it was
		goesWrong(t, "using no memory", "nil pointer dereference", nil, func() { *nothing++ })
		goesWrong(t, "writing to memory that is only to be read", "invalid memory address", &constant[1], func() { constant[1]++ })
		goesWrong(t, "using memory beyond the end of a file", "invalid memory address", &beyond[1], func() { beyond[1]++ })
		goesWrong(t, "dividing by zero", "divide by zero", nil, func() { zero /= zero })
	}
	var all sync.WaitGroup
	for n := range 4 {
		all.Go(func() {
			want := sum(n)
			for range 5 {
				if out, err := exec.Command("/proc/self/exe", "-test.run=^$").CombinedOutput(); err != nil || !strings.Contains(string(out), "PASS") {
					t.Errorf("another program: %v\n%s", err, out)
				}
				if got := sum(n); got != want {
					t.Errorf("the sum was %v and is %v", want, got)
				}
			}
		})
	}
	all.Wait()
	child := exec.Command("sleep", "1000")
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	if err := child.Process.Kill(); err != nil {
		t.Error(err)
	}
	var ended *exec.ExitError
	if err := child.Wait(); !errors.As(err, &ended) || ended.Sys().(syscall.WaitStatus).Signal() != syscall.SIGKILL {
		t.Errorf("a program that was killed: %v", err)
	}
}

// sum depends on every bit of the floating-point registers.
func sum(n int) (x float64) {
	for i := range 100000 {
		x += math.Sqrt(float64(i + n))
	}
	return x
}

// goesWrong checks that the program learns why it must not do something, and if at is not nil, at which
// address of memory.
func goesWrong(t *testing.T, what, why string, at *byte, do func()) {
	t.Helper()
	defer func() {
		got := recover()
		if got == nil || !strings.Contains(fmt.Sprint(got), why) {
			t.Errorf("%s: want %q, got %v", what, why, got)
			return
		}
		if where, ok := got.(interface{ Addr() uintptr }); at != nil && (!ok || where.Addr() != uintptr(unsafe.Pointer(at))) {
			t.Errorf("%s at %p: %v is elsewhere", what, at, got)
		}
	}()
	do()
}
