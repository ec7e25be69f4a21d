package speed

import (
	"debug/elf"
	"encoding/binary"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"testing"

	"golang.org/x/sys/unix"

	"whichfs/internal/testing/needs"
)

// TestCounts compares the constants of Pieces with the instructions that this processor executes, step by
// step. Another version of the compiler may differ a little.
func TestCounts(t *testing.T) {
	needs.Compiler(t)
	program := filepath.Join(t.TempDir(), "steps")
	build := exec.Command("go", "build", "-o", program, "./testdata/steps")
	build.Env = append(os.Environ(), "GOAMD64=v1", "GOFLAGS=-trimpath -buildvcs=false", "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", build, err, out)
	}
	begin := address(t, program, "main.work")
	for _, p := range Pieces {
		t.Run(p.Name, func(t *testing.T) {
			t.Parallel()
			const seeds = 2 // whose mean is that of many
			sum := 0
			for seed := range seeds {
				sum += steps(t, program, begin, p.Name, 100+seed)
			}
			mean := float64(sum) / seeds
			t.Logf("%s: %.0f instructions", p.Name, mean)
			if d := mean/p.Instructions - 1; math.Abs(d) > 0.02 {
				t.Errorf("%.0f instructions, and the constant is %.0f: %+.1f %%", mean, p.Instructions, 100*d)
			}
		})
	}
}

// steps counts what a program does from its instruction at begin to its return.
func steps(t *testing.T, program string, begin uint64, piece string, seed int) int {
	t.Helper()
	runtime.LockOSThread() // the tracer is a thread
	defer runtime.UnlockOSThread()
	p, err := os.StartProcess(program, []string{program, piece, strconv.Itoa(seed)}, &os.ProcAttr{Env: []string{"GOMAXPROCS=1"}, Sys: &unix.SysProcAttr{Ptrace: true}})
	if err != nil {
		t.Fatal(err)
	}
	threads := []int{p.Pid}
	defer func() {
		_ = p.Kill()
		for _, tid := range slices.Backward(threads) { // the first one last, which ends after all others
			_, _ = unix.Wait4(tid, nil, unix.WALL, nil)
		}
	}()
	try := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	stopped := func() (regs unix.PtraceRegs) {
		t.Helper()
		for {
			var status unix.WaitStatus
			_, err := unix.Wait4(p.Pid, &status, unix.WALL, nil)
			try(err)
			switch {
			case !status.Stopped():
				t.Fatalf("the program ended: %#x", status)
			case status.StopSignal() == unix.SIGTRAP:
				try(unix.PtraceGetRegs(p.Pid, &regs))
				return regs
			case status.StopSignal() != unix.SIGURG:
				t.Fatalf("the program was stopped by %v", status.StopSignal())
			}
			try(unix.PtraceCont(p.Pid, 0))
		}
	}
	stopped()
	code := make([]byte, 1)
	_, err = unix.PtracePeekData(p.Pid, uintptr(begin), code)
	try(err)
	_, err = unix.PtracePokeData(p.Pid, uintptr(begin), []byte{0xcc}) // a breakpoint
	try(err)
	try(unix.PtraceCont(p.Pid, 0))
	regs := stopped()
	threads = append(threads, freeze(t, p.Pid)...)
	_, err = unix.PtracePokeData(p.Pid, uintptr(begin), code)
	try(err)
	regs.Rip = begin
	try(unix.PtraceSetRegs(p.Pid, &regs))
	word := make([]byte, 8)
	_, err = unix.PtracePeekData(p.Pid, uintptr(regs.Rsp), word)
	try(err)
	n := 0
	for caller := binary.LittleEndian.Uint64(word); regs.Rip != caller; n++ {
		try(unix.PtraceSingleStep(p.Pid))
		regs = stopped()
	}
	return n
}

// freeze stops the threads of Go's runtime, which would ask the first one to yield every few steps.
func freeze(t *testing.T, pid int) (frozen []int) {
	t.Helper()
	threads, err := os.ReadDir(fmt.Sprintf("/proc/%d/task", pid))
	if err != nil {
		t.Fatal(err)
	}
	for _, thread := range threads {
		tid, err := strconv.Atoi(thread.Name())
		if err != nil || tid == pid {
			continue
		}
		if err := unix.PtraceSeize(tid); err != nil {
			t.Fatal(err)
		}
		if err := unix.PtraceInterrupt(tid); err != nil {
			t.Fatal(err)
		}
		frozen = append(frozen, tid)
	}
	return frozen
}

func address(t *testing.T, program, symbol string) uint64 {
	t.Helper()
	f, err := elf.Open(program)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	symbols, err := f.Symbols()
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range symbols {
		if s.Name == symbol {
			return s.Value
		}
	}
	t.Fatalf("%s has no symbol %s", program, symbol)
	return 0
}
