package meter

import (
	"errors"
	"fmt"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"whichfs/internal/result"
)

// second is how long each of the periods is whose highest rate is reported, as with iostat.
const second = time.Second

// peak watches the traffic of a device second by second. Its goroutine reads the counters once a
// second, which takes some 10 µs, and allocates nothing meanwhile: the file stays open, since to open one takes
// a copy of its name.
type peak struct {
	device  string
	fd      int
	buf     []byte
	timer   *time.Timer
	quit    chan struct{}
	done    chan struct{}
	last    disk
	since   time.Time
	seconds int // that went by
	// read and written are the highest rates, B/s.
	read, written float64
	err           error
}

// watchPeak begins to watch; before is what the device has counted so far. The clock starts after a rest.
func watchPeak(device string, before disk) *peak {
	p := &peak{device: device, buf: make([]byte, 512), quit: make(chan struct{}), done: make(chan struct{}), last: before}
	if p.fd, p.err = unix.Open(device, unix.O_RDONLY|unix.O_CLOEXEC, 0); p.err != nil {
		p.err = fmt.Errorf("%s: %w", device, p.err)
		close(p.done)
		return p
	}
	p.timer = time.NewTimer(second)
	p.since = time.Now()
	ready := make(chan struct{})
	go func() {
		close(ready)
		p.watch()
	}()
	<-ready
	return p
}

// rest lets the goroutine and the threads of the runtime that starting it has woken fall asleep: their system
// calls would take ten times as long as the shortest phases. One of these looks for work every 20 µs, and less
// and less often after 50 turns, which take a slow processor 20 ms. The calling thread keeps its place, and the
// runtime does not know that it sleeps: it would wake them again.
func rest(slow bool) {
	turns := 1
	if slow {
		turns = 20
	}
	pause := unix.NsecToTimespec(int64(time.Millisecond))
	for range turns {
		_, _, _ = unix.RawSyscall6(unix.SYS_CLOCK_NANOSLEEP, unix.CLOCK_MONOTONIC, 0, uintptr(unsafe.Pointer(&pause)), 0, 0, 0)
	}
}

func (p *peak) watch() {
	defer close(p.done)
	for {
		select {
		case <-p.quit:
			return
		case <-p.timer.C:
		}
		p.timer.Reset(second)
		n, err := unix.Pread(p.fd, p.buf, 0) // from the beginning, where sysfs has the present values
		now := time.Now()
		var d disk
		if err == nil {
			d, err = parseDisk(p.buf[:n])
		}
		if err != nil {
			p.err = fmt.Errorf("%s: %w", p.device, err)
			return
		}
		p.add(d, now.Sub(p.since))
		p.last, p.since = d, now
	}
}

// add takes a period into account, which is longer than a second where the reader came late.
func (p *peak) add(now disk, took time.Duration) {
	p.seconds++
	p.read = max(p.read, grown(p.last, now, readSectors)*sector/took.Seconds())
	p.written = max(p.written, grown(p.last, now, writtenSectors)*sector/took.Seconds())
}

// stop ends the watch.
func (p *peak) stop() {
	close(p.quit)
	<-p.done
	if p.timer != nil {
		p.timer.Stop()
		_ = unix.Close(p.fd)
	}
}

// peaks adds the highest rates of a phase.
func (f *figures) peaks(p *peak, err error) {
	var read, written float64
	switch {
	case err != nil:
	case p == nil:
		err = errors.New("not taken on this clock")
	case p.err != nil:
		err = p.err
	case p.seconds == 0:
		err = errors.New("it took less than a second")
	default:
		read, written = p.read, p.written
	}
	f.add(result.DevicePeakRead, read, err)
	f.add(result.DevicePeakWritten, written, err)
}
