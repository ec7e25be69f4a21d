package monitor

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"whichfs/internal/flash/virtio"
	"whichfs/internal/testing/wait"
	"whichfs/internal/wire"
)

// A kernel plays the guest: its clock, and a port with a page for each queue.
type kernel struct {
	t           *testing.T
	m           *Monitor
	clock, port net.Conn
	back        int
	memory      []byte
	serial      uint32
	done        chan error
}

// boot starts a monitor with a port alone, and the kernel's clock.
func boot(t *testing.T) *kernel {
	t.Helper()
	dir := t.TempDir()
	m, err := New(Options{Dir: dir, Port: "test", Day: time.Unix(1000, 0)})
	if err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(m.Parameters(), " "); got != "time-travel=ext:clock virtio_uml.device=port:3" {
		t.Errorf("parameters %q", got)
	}
	ctx, cancel := context.WithTimeout(t.Context(), wait.Patience)
	k := &kernel{t: t, m: m, done: make(chan error, 1), back: -1}
	go func() { k.done <- m.Run(ctx) }()
	k.clock = k.dial(filepath.Join(dir, "clock"))
	t.Cleanup(func() {
		_ = k.clock.Close()
		cancel()
		<-k.done
		_ = m.Close()
	})
	k.port = k.dial(filepath.Join(dir, "port"))
	return k
}

func (k *kernel) dial(path string) net.Conn {
	k.t.Helper()
	c, err := net.Dial("unix", path)
	if err != nil {
		k.t.Fatal(err)
	}
	return c
}

// tell sends a message about time and returns the acknowledgement's time.
func (k *kernel) tell(op uint32, at uint64) uint64 {
	k.t.Helper()
	k.serial++
	c := calendar{}
	if _, err := k.clock.Write(c.message(op, k.serial, at)); err != nil {
		k.t.Fatal(err)
	}
	for {
		got, serial, t := k.hear()
		if got == timeAck {
			if serial != k.serial {
				k.t.Fatalf("message %d is acknowledged as %d", k.serial, serial)
			}
			return t
		}
		if got != timeFreeUntil {
			k.t.Fatalf("operation %d in answer to %d", got, op)
		}
		k.acknowledge(serial)
	}
}

func (k *kernel) hear() (op, serial uint32, t uint64) {
	k.t.Helper()
	var b [timeMessage]byte
	_ = k.clock.SetReadDeadline(time.Now().Add(wait.Patience))
	if _, err := io.ReadFull(k.clock, b[:]); err != nil {
		k.t.Fatal(err)
	}
	return binary.LittleEndian.Uint32(b[:]), binary.LittleEndian.Uint32(b[4:]), binary.LittleEndian.Uint64(b[8:])
}

func (k *kernel) acknowledge(serial uint32) {
	c := calendar{}
	_, _ = k.clock.Write(c.message(timeAck, serial, 0))
}

// run waits until the kernel may run, and returns when it is.
func (k *kernel) run() uint64 {
	k.t.Helper()
	for {
		op, serial, t := k.hear()
		k.acknowledge(serial)
		if op == timeRun {
			return t
		}
	}
}

// standsStill fails if the kernel may run.
func (k *kernel) standsStill() {
	k.t.Helper()
	_ = k.clock.SetReadDeadline(time.Now().Add(50 * time.Millisecond))
	var b [1]byte
	if n, err := k.clock.Read(b[:]); n > 0 || !errors.Is(err, context.DeadlineExceeded) && !isTimeout(err) {
		k.t.Errorf("the kernel is told something: %d, %v", n, err)
	}
}

func isTimeout(err error) bool {
	n, ok := errors.AsType[net.Error](err)
	return ok && n.Timeout()
}

// vhost sends a request of the port's driver and returns the answer's body.
func (k *kernel) vhost(request uint32, body []byte, fds ...int) []byte {
	k.t.Helper()
	b := binary.LittleEndian.AppendUint32(nil, request)
	b = binary.LittleEndian.AppendUint32(b, virtio.Version|virtio.NeedReply)
	b = binary.LittleEndian.AppendUint32(b, uint32(len(body)))
	if _, _, err := k.port.(*net.UnixConn).WriteMsgUnix(append(b, body...), unix.UnixRights(fds...), nil); err != nil {
		k.t.Fatal(err)
	}
	return k.answer(k.port)
}

func (k *kernel) answer(c net.Conn) []byte {
	k.t.Helper()
	header := make([]byte, virtio.HeaderLength)
	// Before the answer to a kick, the kernel hears until when it may run.
	for {
		_ = c.SetReadDeadline(time.Now().Add(50 * time.Millisecond))
		_, err := io.ReadFull(c, header)
		if err == nil {
			break
		}
		if !isTimeout(err) {
			k.t.Fatal(err)
		}
		op, serial, _ := k.hear()
		if op != timeFreeUntil {
			k.t.Fatalf("operation %d before an answer", op)
		}
		k.acknowledge(serial)
	}
	body := make([]byte, binary.LittleEndian.Uint32(header[8:]))
	_ = c.SetReadDeadline(time.Now().Add(wait.Patience))
	if _, err := io.ReadFull(c, body); err != nil {
		k.t.Fatal(err)
	}
	return body
}

// plug sets the port's queues up: queue n has its rings in the page from n * 0x4000 on.
func (k *kernel) plug() {
	k.t.Helper()
	const size = 0x20000
	fd, err := unix.MemfdCreate("memory", unix.MFD_CLOEXEC)
	if err == nil {
		err = unix.Ftruncate(fd, size)
	}
	if err == nil {
		k.memory, err = unix.Mmap(fd, 0, size, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	}
	if err != nil {
		k.t.Fatal(err)
	}
	k.t.Cleanup(func() { _ = unix.Munmap(k.memory) })
	words := func(n ...uint64) (out []byte) {
		for _, w := range n {
			out = binary.LittleEndian.AppendUint64(out, w)
		}
		return out
	}
	halves := func(a, b uint32) []byte { return words(uint64(a) | uint64(b)<<32) }
	if f := binary.LittleEndian.Uint64(k.vhost(virtio.GetFeatures, nil)); f&consoleMultiport == 0 || f&virtio.FeatureProtocol == 0 {
		k.t.Errorf("features %#x", f)
	}
	ours, theirs, err := socketPair()
	if err != nil {
		k.t.Fatal(err)
	}
	k.back = ours
	k.t.Cleanup(func() { _ = unix.Close(ours) })
	k.vhost(virtio.SetBackChannel, nil, theirs)
	_ = unix.Close(theirs)
	k.vhost(virtio.SetMemory, words(1, 0, size, 0, 0), fd)
	_ = unix.Close(fd)
	for n := range uint32(6) {
		base := uint64(n) * 0x4000
		k.vhost(virtio.SetVringNum, halves(n, testLength))
		k.vhost(virtio.SetVringAddress, words(uint64(n), base, base+testUsed, base+testAvailable, 0))
		k.vhost(virtio.SetVringEnable, halves(n, 1))
	}
}

func socketPair() (int, int, error) {
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	return fds[0], fds[1], err
}

// put has the driver offer its n-th buffer of a queue, with text or for the device to write.
func (k *kernel) put(queue, n int, text string) {
	k.t.Helper()
	page := k.memory[queue*0x4000:]
	at, flags, length := uint64(queue*0x4000+0x3000+n*0x100), uint16(0), uint32(len(text))
	if text == "" {
		flags, length = virtio.DescriptorWrite, 0x100
	}
	copy(k.memory[at:], text)
	describe(page, n%testLength, at, length, flags, 0)
	binary.LittleEndian.PutUint16(page[testAvailable+4+2*(n%testLength):], uint16(n%testLength))
	binary.LittleEndian.PutUint16(page[testAvailable+2:], uint16(n+1))
	k.vhost(virtio.VringKick, binary.LittleEndian.AppendUint64(nil, uint64(queue)))
}

// got is what the device has written into the n-th buffer of a queue.
func (k *kernel) got(queue, n int) []byte {
	page := k.memory[queue*0x4000:]
	if int(binary.LittleEndian.Uint16(page[testUsed+2:])) <= n {
		return nil
	}
	length := binary.LittleEndian.Uint32(page[testUsed+4+8*(n%testLength)+4:])
	return k.memory[queue*0x4000+0x3000+n*0x100:][:length]
}

// interrupted answers an interrupt of the monitor: as a real kernel does, it asks to run now before it
// answers.
func (k *kernel) interrupted(now uint64) {
	k.t.Helper()
	var b [virtio.HeaderLength + 8]byte
	if err := virtio.ReadFull(k.back, b[:]); err != nil {
		k.t.Fatal(err)
	}
	if at := k.tell(timeGet, 0); at != now {
		k.t.Errorf("the interrupt comes at %d, not %d", at, now)
	}
	k.tell(timeRequest, now)
	if err := virtio.WriteFull(k.back, b[:]); err != nil {
		k.t.Fatal(err)
	}
}

// The clock runs while the host waits for an answer, and at no other time; what the host sends arrives
// while the kernel waits.
func TestClockRunsOnRequest(t *testing.T) {
	k := boot(t)
	k.tell(timeStart, 1)
	if day := k.tell(timeOfDay, 0); day != 1000e9 {
		t.Errorf("it is %d", day)
	}
	k.tell(timeRequest, 500)
	k.tell(timeWait, 0)
	k.standsStill()
	hello, err := wire.Encode(wire.Message{Kind: wire.KindHello, ID: 1})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := k.m.Stream().Write(hello); err != nil {
		t.Fatal(err)
	}
	if now := k.run(); now != 500 {
		t.Fatalf("it runs at %d", now)
	}
	// The driver sets the port up, and a program opens it.
	k.plug()
	k.put(queueControlIn, 0, "")
	k.put(queueControlIn, 1, "")
	k.put(queueControlIn, 2, "")
	control := func(event, value uint16) string {
		b := binary.LittleEndian.AppendUint32(nil, portNumber)
		b = binary.LittleEndian.AppendUint16(b, event)
		return string(binary.LittleEndian.AppendUint16(b, value))
	}
	k.put(queueControlOut, 0, control(controlReady, 1))
	k.put(queueControlOut, 1, control(controlPortReady, 1))
	k.put(queuePortIn, 0, "")
	k.tell(timeRequest, 700)
	k.tell(timeWait, 500)
	k.interrupted(500)
	k.run()
	if add, name, open := k.got(queueControlIn, 0), k.got(queueControlIn, 1), k.got(queueControlIn, 2); binary.LittleEndian.Uint16(add[4:]) != controlAdd ||
		string(name[controlSize:]) != "test" || binary.LittleEndian.Uint16(open[4:]) != controlOpen {
		t.Errorf("% x, % x, % x", add, name, open)
	}
	if k.got(queuePortIn, 0) != nil {
		t.Error("a message arrives before the port is open")
	}
	k.put(queueControlOut, 2, control(controlOpen, 1))
	k.tell(timeWait, 500)
	k.interrupted(500)
	if got := k.got(queuePortIn, 0); !bytes.Equal(got, hello) {
		t.Errorf("the guest gets %q", got)
	}
	k.run()
	// The kernel's own clock has gone on when the next message arrives.
	stop, err := wire.Encode(wire.Message{Kind: wire.KindStop, ID: 1})
	if err != nil {
		t.Fatal(err)
	}
	k.put(queuePortIn, 1, "")
	if _, err := k.m.Stream().Write(stop); err != nil {
		t.Fatal(err)
	}
	k.tell(timeRequest, 900)
	k.tell(timeWait, 800)
	k.interrupted(800)
	k.run()
	// An event lets the clock run on, the final answer stops it.
	for n, kind := range []string{wire.KindPhase, wire.KindFacts} {
		line, err := wire.Encode(wire.Message{Kind: kind, ID: 1})
		if err != nil {
			t.Fatal(err)
		}
		k.put(queuePortOut, n, string(line))
		got := make([]byte, len(line))
		if _, err := io.ReadFull(k.m.Stream(), got); err != nil || !bytes.Equal(got, line) {
			t.Errorf("the host gets %q, %v", got, err)
		}
		at := uint64(1000 * (n + 1))
		k.tell(timeRequest, at)
		k.tell(timeWait, at-100)
		if kind == wire.KindPhase {
			if now := k.run(); now != at {
				t.Errorf("it runs at %d", now)
			}
		}
	}
	k.standsStill()
	now := uint64(0)
	k.m.Do(func() { now = k.m.clock.now })
	if now != 1900 {
		t.Errorf("it is %d ns", now)
	}
}

func TestGuestEnds(t *testing.T) {
	k := boot(t)
	k.tell(timeStart, 1)
	_ = k.clock.Close()
	if err := <-k.done; err != nil {
		t.Errorf("it ended with %v", err)
	}
	k.done <- nil
	if _, err := io.ReadAll(k.m.Stream()); err != nil {
		t.Error(err)
	}
	if _, err := k.m.Stream().Write([]byte("anything")); !errors.Is(err, io.ErrClosedPipe) {
		t.Errorf("writing: %v", err)
	}
	if k.m.Do(func() { t.Error("called") }) {
		t.Error("done after the end")
	}
}

// A guest is ended at an instant of its own clock, which it cannot pass without asking, and gets no
// answer.
func TestEndsAtInstant(t *testing.T) {
	k := boot(t)
	k.tell(timeStart, 1)
	at := time.Duration(0)
	k.m.Do(func() {
		k.m.EndIn(700, func(now time.Duration) { at = now })
		k.m.port.requests++ // so the clock runs
	})
	k.tell(timeRequest, 500)
	k.tell(timeWait, 0)
	_, serial, until := k.hear()
	k.acknowledge(serial)
	if until != 700 {
		t.Errorf("the guest may run until %d", until)
	}
	if now := k.run(); now != 500 {
		t.Errorf("it runs at %d", now)
	}
	k.tell(timeRequest, 900)
	k.tell(timeWait, 600)
	if err := <-k.done; err != nil {
		t.Errorf("it ended with %v", err)
	}
	if at != 700 {
		t.Errorf("it ended at %d ns", at)
	}
	k.done <- nil
}

func TestCancelled(t *testing.T) {
	m, err := New(Options{Dir: t.TempDir(), Port: "test"})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	why := errors.New("enough")
	cancel(why)
	if err := m.Run(ctx); !errors.Is(err, why) {
		t.Errorf("%v", err)
	}
	if err := m.Close(); err != nil {
		t.Error(err)
	}
}

// A guest that does not keep to a protocol ends its monitor with an error, and nothing else.
func TestNonsense(t *testing.T) {
	for name, f := range map[string]struct {
		send func(k *kernel)
		want string
	}{
		"an unknown operation": {func(k *kernel) { _, _ = k.clock.Write(k.m.clock.message(77, 1, 0)) }, "operation 77"},
		"time goes back": {func(k *kernel) {
			k.tell(timeUpdate, 5000)
			_, _ = k.clock.Write(k.m.clock.message(timeUpdate, 9, 4000))
		}, "went back"},
		"a long message":  {func(k *kernel) { _, _ = k.port.Write(vhostMessage(virtio.SetOwner, virtio.Longest+1, nil)) }, "4097 bytes"},
		"a short message": {func(k *kernel) { _, _ = k.port.Write(vhostMessage(virtio.SetVringNum, 4, make([]byte, 4))) }, "too short"},
		"no such queue": {func(k *kernel) {
			_, _ = k.port.Write(vhostMessage(virtio.SetVringNum, 8, []byte{99, 0, 0, 0, 8, 0, 0, 0}))
		}, "no queue 99"},
		"an odd queue": {func(k *kernel) {
			_, _ = k.port.Write(vhostMessage(virtio.SetVringNum, 8, []byte{0, 0, 0, 0, 7, 0, 0, 0}))
		}, "a queue of 7"},
		"a kick too early": {func(k *kernel) { _, _ = k.port.Write(vhostMessage(virtio.VringKick, 8, make([]byte, 8))) }, "before it was set up"},
		"memory without descriptors": {func(k *kernel) {
			_, _ = k.port.Write(vhostMessage(virtio.SetMemory, 40, append([]byte{1}, make([]byte, 39)...)))
		}, "0 descriptors"},
		"no such request": {func(k *kernel) { _, _ = k.port.Write(vhostMessage(99, 8, make([]byte, 8))) }, "unknown request 99"},
	} {
		t.Run(name, func(t *testing.T) {
			k := boot(t)
			k.tell(timeStart, 1)
			f.send(k)
			err := <-k.done
			if err == nil || !strings.Contains(err.Error(), f.want) {
				t.Errorf("%v, want %q", err, f.want)
			}
			k.done <- nil
		})
	}
}

func vhostMessage(request uint32, size int, body []byte) []byte {
	b := binary.LittleEndian.AppendUint32(nil, request)
	b = binary.LittleEndian.AppendUint32(b, virtio.Version)
	b = binary.LittleEndian.AppendUint32(b, uint32(size))
	return append(b, body...)
}

// A guest that is busy goes on, whether or not the host asks for something, and sees a request when it
// has nothing else to do.
func TestRequestsWaitForIdleGuest(t *testing.T) {
	k := boot(t)
	k.tell(timeStart, 1)
	asked := func() (asked bool) {
		k.m.Do(func() { asked = k.m.port.asked() })
		return asked
	}
	waits := func(op uint32, from, to uint64) {
		t.Helper()
		k.tell(timeRequest, to)
		k.tell(op, from)
		if now := k.run(); now != to {
			t.Fatalf("it runs at %d", now)
		}
	}
	waits(timeBusy, 0, 500)
	hello, err := wire.Encode(wire.Message{Kind: wire.KindHello, ID: 1})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := k.m.Stream().Write(hello); err != nil {
		t.Fatal(err)
	}
	waits(timeBusy, 500, 600)
	if asked() {
		t.Error("the busy guest sees the request")
	}
	waits(timeWait, 600, 700)
	if !asked() {
		t.Error("the idle guest does not see the request")
	}
}
