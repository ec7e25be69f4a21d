package meter

import (
	"fmt"
	"os"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"whichfs/internal/result"
	"whichfs/internal/sys/load"
	"whichfs/internal/sys/procfs"
)

// loaded observes for how long a phase waits for processors: this process, the programs that it
// runs, and the kernel's threads. It reads the counters outside of all other figures.
type loaded struct {
	proc     string
	watch    *load.Watch
	programs atomic.Int64 // ns that programs waited which have ended
	began    load.Mark
	children time.Duration
}

func newLoaded(proc string) *loaded {
	return &loaded{proc: proc, watch: load.ObserveSelf(proc)}
}

func (l *loaded) before() {
	if l == nil {
		return
	}
	l.programs.Store(0)
	l.children = ofChildren()
	l.began = l.watch.Now()
}

// after adds the figures; cpu is that of the kernel's threads.
func (l *loaded) after(fig *figures, cpu threadTimes) {
	if l == nil {
		return
	}
	found := load.Between(l.began, l.watch.Now(), load.Own{
		Ran: cpu.all + ofChildren() - l.children, Waited: cpu.waited + time.Duration(l.programs.Load())})
	fig.all = append(fig.all, result.LoadFigures(found.Window, found.Waited, found.Stolen, found.Pressure, found.Absent, found.NoPressure)...)
}

// Ended notes how long a program waited that has ended and is not reaped yet; only its first thread
// has counters still.
func (m *Meter) Ended(pid int) {
	if m.load == nil {
		return
	}
	number, err := procfs.Number(m.load.proc, pid)
	if err != nil {
		return
	}
	text, err := os.ReadFile(fmt.Sprintf("%s/%d/schedstat", m.load.proc, number))
	if err != nil {
		return
	}
	if _, waited, err := procfs.ParseSchedstat(text); err == nil {
		m.load.programs.Add(int64(waited))
	}
}

// ofChildren is the processor time of programs that have ended.
func ofChildren() time.Duration {
	var r unix.Rusage
	if unix.Getrusage(unix.RUSAGE_CHILDREN, &r) != nil {
		return 0
	}
	return time.Duration(r.Utime.Nano() + r.Stime.Nano())
}
