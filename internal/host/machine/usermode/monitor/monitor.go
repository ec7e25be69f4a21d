// Package monitor is what a hypervisor is to other guests: it owns the clock of a user-mode kernel
// and is its disks and its port. The kernel runs as an ordinary process with its clock in external
// hands (time-travel=ext); it reaches its devices as vhost-user back ends.
//
// Its point of view: the guest's time is a number that the monitor advances, never a clock of the
// host. While the guest works, no time passes. When it has nothing left to do but wait, the clock
// jumps to what happens next: the end of a request to a disk, or the guest's own next timer. When
// the host owes the guest a request, the clock stands still. So what the guest measures depends on
// its own doings and on the models of its disks alone, whatever else the host does.
//
// Everything happens on one goroutine, the one that calls Run, in an order that the guest's messages
// and the clock determine.
package monitor

import (
	"container/heap"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"whichfs/internal/flash/virtio"
)

// Monitor serves one guest.
type Monitor struct {
	dir     string
	clock   calendar
	devices []*device
	port    *port

	events events
	serial uint64 // of events

	control int // listens for the guest's clock
	wake    int // eventfd
	mu      sync.Mutex
	asked   []func() // by other goroutines
	closed  bool
	polled  []unix.PollFd
	sources []func() error
	stale   bool // polled and sources must be made again
}

// Options describe a guest's devices.
type Options struct {
	// Dir is an empty directory for sockets, in which the guest's kernel is started.
	Dir string
	// Disks in the order in which the guest finds them.
	Disks []Disk
	// Port is the name of the port over which host and guest speak.
	Port string
	// Seen, if not nil, is called for every message of package wire that the guest sends over the
	// port, with its kind: on the monitor's goroutine, at the instant of the guest's clock at which
	// it was sent, before the host can read it.
	Seen func(kind string)
	// Day is the guest's time of day when it starts.
	Day time.Time
}

// New makes the devices and listens for the guest. The caller closes the monitor.
func New(o Options) (*Monitor, error) {
	m := &Monitor{dir: o.Dir, control: -1, wake: -1, stale: true}
	m.clock = calendar{m: m, fd: -1, day: uint64(o.Day.UnixNano())}
	for n, d := range o.Disks {
		b, err := newBlock(m, d)
		if err != nil {
			_ = m.Close()
			return nil, err
		}
		m.devices = append(m.devices, newDevice(m, fmt.Sprintf("disk%d", n), b))
	}
	m.port = newPort(m, o)
	m.devices = append(m.devices, newDevice(m, "port", m.port))
	if err := m.listen(); err != nil {
		_ = m.Close()
		return nil, err
	}
	return m, nil
}

func (m *Monitor) listen() (err error) {
	if m.wake, err = unix.Eventfd(0, unix.EFD_CLOEXEC|unix.EFD_NONBLOCK); err != nil {
		return fmt.Errorf("eventfd: %w", err)
	}
	if m.control, err = listen(filepath.Join(m.dir, "clock")); err != nil {
		return err
	}
	for _, d := range m.devices {
		if d.listener, err = listen(filepath.Join(m.dir, d.name)); err != nil {
			return err
		}
	}
	return nil
}

// listen returns a socket that accepts connections at a path. The guest may run as another user.
func listen(path string) (int, error) {
	fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return -1, fmt.Errorf("socket: %w", err)
	}
	err = unix.Bind(fd, &unix.SockaddrUnix{Name: path})
	if err == nil {
		err = os.Chmod(path, 0o666)
	}
	if err == nil {
		err = unix.Listen(fd, 1)
	}
	if err != nil {
		_ = unix.Close(fd)
		return -1, fmt.Errorf("socket %s: %w", path, err)
	}
	return fd, nil
}

// Parameters are what the guest's kernel, whose working directory is Dir, needs on its command line to
// find clock and devices. They are the same for every guest with the same devices.
func (m *Monitor) Parameters() []string {
	out := []string{"time-travel=ext:clock"}
	for _, d := range m.devices {
		out = append(out, fmt.Sprintf("virtio_uml.device=%s:%d", d.name, d.kind.id()))
	}
	return out
}

// Stream leads to the program in the guest that opens the port. Requests of package wire make the
// guest's clock run, and their final answers stop it.
func (m *Monitor) Stream() io.ReadWriteCloser { return m.port.stream }

// Do calls f on the monitor's goroutine, between two steps of the guest, and waits for it. It
// returns false, without calling f, if the monitor has ended.
func (m *Monitor) Do(f func()) bool {
	done := make(chan struct{})
	if !m.post(func() { f(); close(done) }) {
		return false
	}
	<-done
	return true
}

// Now is the guest's clock, since its start. It is called by Do, or after the guest has ended.
func (m *Monitor) Now() time.Duration { return m.clock.elapsed() }

// EndIn has Run end when the guest's clock has gone on by d: f is called at that instant, and nothing
// is answered any more. EndIn is called on the monitor's goroutine.
func (m *Monitor) EndIn(d time.Duration, f func(now time.Duration)) {
	m.at(m.clock.now+uint64(d), func() error {
		f(m.clock.elapsed())
		return virtio.ErrGone
	})
}

// post is Do for those who need not wait.
func (m *Monitor) post(f func()) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.closed {
		return false
	}
	m.asked = append(m.asked, f)
	one := [8]byte{1}
	_, _ = unix.Write(m.wake, one[:]) // it fails only if the counter is full, which wakes as well
	return true
}

// Run serves the guest until it ends, which is no error, or ctx does.
func (m *Monitor) Run(ctx context.Context) error {
	stop := context.AfterFunc(ctx, func() { m.post(func() {}) })
	defer stop()
	err := m.run(ctx)
	m.port.end()
	m.refuse()
	if errors.Is(err, virtio.ErrGone) {
		return nil
	}
	return err
}

// refuse answers those who still ask.
func (m *Monitor) refuse() {
	m.mu.Lock()
	m.closed = true
	asked := m.asked
	m.asked = nil
	m.mu.Unlock()
	for _, f := range asked {
		f()
	}
}

func (m *Monitor) run(ctx context.Context) error {
	for {
		if err := context.Cause(ctx); err != nil {
			return err
		}
		if m.clock.waiting {
			moved, err := m.advance()
			if err != nil {
				return err
			}
			if moved {
				continue
			}
		}
		if err := m.wait(); err != nil {
			return err
		}
	}
}

// advance lets the waiting guest have what happens next. A message of the host arrives at once, but
// not before the guest has nothing else to do. The
// end of a request comes before a timer of the same instant, so that the guest sees it when it
// happens. advance returns false if the clock stands still: the host owes the guest a request, or the
// guest waits for nothing.
func (m *Monitor) advance() (bool, error) {
	if !m.clock.busy {
		m.port.admit()
	}
	if number, ok := m.port.toward(); ok {
		return true, m.port.deliver(number)
	}
	if !m.port.asked() && !m.clock.busy {
		return false, nil
	}
	if len(m.events) > 0 && (!m.clock.requested || m.events[0].at <= m.clock.request) {
		e := heap.Pop(&m.events).(event)
		if err := m.clock.set(e.at); err != nil {
			return false, err
		}
		return true, e.fire()
	}
	if !m.clock.requested {
		return false, nil
	}
	return true, m.clock.run()
}

// at has something happen at an instant of the guest's clock.
func (m *Monitor) at(instant uint64, fire func() error) {
	m.serial++
	heap.Push(&m.events, event{instant, m.serial, fire})
}

// next is the instant at which something happens that the guest does not cause: now, if there is a
// message for it, or the host owes it a request.
func (m *Monitor) next() uint64 {
	if _, ok := m.port.toward(); ok || !m.port.asked() {
		return m.clock.now
	}
	if len(m.events) == 0 {
		return math.MaxInt64
	}
	return m.events[0].at
}

// wait waits until the guest or another goroutine has something to say, and handles it.
func (m *Monitor) wait() error {
	if m.stale {
		m.watch()
	}
	if err := poll(m.polled); err != nil {
		return err
	}
	for i := range m.polled {
		if m.polled[i].Revents == 0 {
			continue
		}
		// One at a time: what it does may change what the others have to say.
		return m.sources[i]()
	}
	return nil
}

// watch lists what can have something to say, the guest's clock first.
func (m *Monitor) watch() {
	m.polled, m.sources, m.stale = m.polled[:0], m.sources[:0], false
	add := func(fd int, f func() error) {
		m.polled = append(m.polled, unix.PollFd{Fd: int32(fd), Events: unix.POLLIN})
		m.sources = append(m.sources, f)
	}
	if m.clock.fd >= 0 {
		add(m.clock.fd, m.clock.receive)
	} else {
		add(m.control, m.clock.accept)
	}
	for _, d := range m.devices {
		switch {
		case d.fd >= 0:
			add(d.fd, d.receive)
		case d.listener >= 0:
			add(d.listener, d.accept)
		}
	}
	add(m.wake, m.answer)
}

// answer does what other goroutines asked for.
func (m *Monitor) answer() error {
	var count [8]byte
	_, _ = unix.Read(m.wake, count[:])
	m.mu.Lock()
	asked := m.asked
	m.asked = nil
	m.mu.Unlock()
	for _, f := range asked {
		f()
	}
	return nil
}

// Close releases everything. Run must have returned, or never been called.
func (m *Monitor) Close() error {
	m.refuse()
	for _, d := range m.devices {
		d.close()
	}
	for _, fd := range []*int{&m.control, &m.wake, &m.clock.fd} {
		if *fd >= 0 {
			_ = unix.Close(*fd)
			*fd = -1
		}
	}
	if m.port != nil {
		m.port.end()
	}
	return nil
}

// event is something that will happen.
type event struct {
	at     uint64 // ns of the guest's clock
	serial uint64 // the order of those at the same instant
	fire   func() error
}

type events []event

func (e events) Len() int { return len(e) }
func (e events) Less(i, j int) bool {
	return e[i].at < e[j].at || e[i].at == e[j].at && e[i].serial < e[j].serial
}
func (e events) Swap(i, j int) { e[i], e[j] = e[j], e[i] }
func (e *events) Push(x any)   { *e = append(*e, x.(event)) }
func (e *events) Pop() any {
	old := *e
	last := old[len(old)-1]
	*e = old[:len(old)-1]
	return last
}

// poll waits until one of the descriptors has something to read, or has ended.
func poll(fds []unix.PollFd) error {
	for {
		_, err := unix.Poll(fds, -1)
		if err == nil {
			return nil
		}
		if !errors.Is(err, unix.EINTR) {
			return fmt.Errorf("poll: %w", err)
		}
	}
}

// accept takes the connection that waits at a listener, which is of no further use.
func accept(listener *int) (int, error) {
	fd, _, err := unix.Accept4(*listener, unix.SOCK_CLOEXEC)
	if err != nil {
		return -1, fmt.Errorf("accept: %w", err)
	}
	_ = unix.Close(*listener)
	*listener = -1
	return fd, nil
}
