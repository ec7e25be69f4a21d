// Package steps lets tests follow a program instruction by instruction.
package steps

import (
	"debug/elf"
	"encoding/binary"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strconv"
	"testing"

	"golang.org/x/sys/unix"
)

// Each runs a program as far as the function of that name, and calls visit before each instruction
// from there to the function's return. peek reads the program's memory. A repeated instruction stops
// at every turn.
func Each(t *testing.T, function string, visit func(regs *unix.PtraceRegs, peek func(at uint64, n int) []byte), argv ...string) {
	t.Helper()
	begin := address(t, argv[0], function)
	runtime.LockOSThread() // the tracer is a thread
	defer runtime.UnlockOSThread()
	p, err := os.StartProcess(argv[0], argv, &os.ProcAttr{Env: []string{"GOMAXPROCS=1"}, Sys: &unix.SysProcAttr{Ptrace: true}})
	if err != nil {
		t.Fatal(err)
	}
	traced := tracee{t: t, pid: p.Pid, threads: []int{p.Pid}}
	defer func() {
		_ = p.Kill()
		for _, tid := range slices.Backward(traced.threads) { // the first one last, which ends after all others
			_, _ = unix.Wait4(tid, nil, unix.WALL, nil)
		}
	}()
	regs := traced.at(begin)
	caller := binary.LittleEndian.Uint64(traced.peek(regs.Rsp, 8))
	for regs.Rip != caller {
		visit(&regs, traced.peek)
		traced.try(unix.PtraceSingleStep(p.Pid))
		regs = traced.stopped()
	}
}

// tracee is a program that is followed.
type tracee struct {
	t       *testing.T
	pid     int
	threads []int
}

func (p *tracee) try(err error) {
	p.t.Helper()
	if err != nil {
		p.t.Fatal(err)
	}
}

// stopped waits until the program stops for the tracer.
func (p *tracee) stopped() (regs unix.PtraceRegs) {
	p.t.Helper()
	for {
		var status unix.WaitStatus
		_, err := unix.Wait4(p.pid, &status, unix.WALL, nil)
		p.try(err)
		switch {
		case !status.Stopped():
			p.t.Fatalf("the program ended: %#x", status)
		case status.StopSignal() == unix.SIGTRAP:
			p.try(unix.PtraceGetRegs(p.pid, &regs))
			return regs
		case status.StopSignal() != unix.SIGURG: // of Go's runtime
			p.t.Fatalf("the program was stopped by %v", status.StopSignal())
		}
		p.try(unix.PtraceCont(p.pid, 0))
	}
}

func (p *tracee) peek(at uint64, n int) []byte {
	p.t.Helper()
	b := make([]byte, n)
	_, err := unix.PtracePeekData(p.pid, uintptr(at), b)
	p.try(err)
	return b
}

func (p *tracee) poke(at uint64, b []byte) {
	p.t.Helper()
	_, err := unix.PtracePokeData(p.pid, uintptr(at), b)
	p.try(err)
}

// at lets the program run until it gets to an instruction.
func (p *tracee) at(begin uint64) unix.PtraceRegs {
	p.t.Helper()
	p.stopped()
	code := p.peek(begin, 1)
	p.poke(begin, []byte{0xcc}) // a breakpoint
	p.try(unix.PtraceCont(p.pid, 0))
	regs := p.stopped()
	p.freeze()
	p.poke(begin, code)
	regs.Rip = begin
	p.try(unix.PtraceSetRegs(p.pid, &regs))
	return regs
}

// freeze stops the other threads: those of Go's runtime would ask the first one to yield every few
// steps.
func (p *tracee) freeze() {
	p.t.Helper()
	all, err := os.ReadDir(fmt.Sprintf("/proc/%d/task", p.pid))
	p.try(err)
	for _, thread := range all {
		tid, err := strconv.Atoi(thread.Name())
		if err != nil || tid == p.pid {
			continue
		}
		p.try(unix.PtraceSeize(tid))
		p.try(unix.PtraceInterrupt(tid))
		p.threads = append(p.threads, tid)
	}
}

func address(t *testing.T, program, symbol string) uint64 {
	t.Helper()
	f, err := elf.Open(program)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close() //nolint:errcheck // read only
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
