package vhostuser

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"math"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"whichfs/internal/flash"
	"whichfs/internal/flash/models"
	"whichfs/internal/flash/nbd/nbdtest"
	"whichfs/internal/flash/realtime"
	"whichfs/internal/flash/virtio"
	"whichfs/internal/sys/command"
	"whichfs/internal/testing/wait"
)

// device makes a simulated device.
func device(t *testing.T, of string) *realtime.Device {
	t.Helper()
	m, err := models.Resolve(of)
	if err == nil {
		m, err = models.Sized(m, 64<<20)
	}
	if err != nil {
		t.Fatal(err)
	}
	d, err := flash.New(m)
	if err != nil {
		t.Fatal(err)
	}
	return realtime.New(d)
}

// slow is a device whose reads complete later.
type slow struct {
	flash.Device
	reads time.Duration // after they arrive; math.MaxInt64: never
}

func (s slow) Submit(now time.Duration, r flash.Request) (time.Duration, error) {
	done, err := s.Device.Submit(now, r)
	switch {
	case r.Op != flash.Read:
	case s.reads == math.MaxInt64:
		done = s.reads
	default:
		done = now + s.reads
	}
	return done, err
}

func slowDevice(t *testing.T, reads time.Duration) *realtime.Device {
	t.Helper()
	m, err := models.Resolve("free")
	if err != nil {
		t.Fatal(err)
	}
	plain, err := flash.New(m)
	if err != nil {
		t.Fatal(err)
	}
	return realtime.New(slow{plain, reads})
}

// driver is a front end and its guest in one, with one queue: pages of memory from the start of a
// file for the rings, the rest for requests.
type driver struct {
	t          *testing.T
	conn       *net.UnixConn
	file       int
	memory     []byte
	kick, call int
	asked      uint16
	ended      chan error
}

// Where things are in the driver's memory. The front end's addresses differ from the guest's.
const (
	table     = 0
	available = 0x1000
	used      = 0x2000
	header    = 0x3000
	data      = 0x4000
	size      = 0x20000
	length    = 8
	guestAt   = 0x10000000
	userAt    = 0x7f0000000000
)

// plug connects a driver to a server and sets its queue up.
func plug(t *testing.T, s *Server) *driver {
	t.Helper()
	ours, theirs, err := nbdtest.Pair()
	if err != nil {
		t.Fatal(err)
	}
	d := &driver{t: t, conn: ours.(*net.UnixConn), ended: make(chan error, 1)}
	go func() { d.ended <- s.Serve(theirs.(*net.UnixConn)) }()
	d.file, err = unix.MemfdCreate("guest", unix.MFD_CLOEXEC)
	if err == nil {
		err = unix.Ftruncate(d.file, 4096+size)
	}
	var whole []byte
	if err == nil {
		whole, err = unix.Mmap(d.file, 0, 4096+size, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	}
	if err == nil {
		d.kick, err = unix.Eventfd(0, unix.EFD_CLOEXEC|unix.EFD_NONBLOCK)
	}
	if err == nil {
		d.call, err = unix.Eventfd(0, unix.EFD_CLOEXEC|unix.EFD_NONBLOCK)
	}
	if err != nil {
		t.Fatal(err)
	}
	d.memory = whole[4096:]
	t.Cleanup(func() {
		_ = d.conn.Close()
		_ = unix.Munmap(whole)
		for _, fd := range []int{d.file, d.kick, d.call} {
			_ = unix.Close(fd)
		}
	})
	if f := binary.LittleEndian.Uint64(d.ask(virtio.GetFeatures, nil)); f&virtio.FeatureProtocol == 0 {
		t.Fatalf("features %#x", f)
	}
	if n := binary.LittleEndian.Uint64(d.ask(virtio.GetQueueNum, nil)); n != queues {
		t.Errorf("%d queues", n)
	}
	d.ask(virtio.SetMemory, words(1, guestAt, size, userAt, 4096), d.file)
	d.start(0)
	return d
}

// start sets the queue up, of which so many chains were taken before.
func (d *driver) start(taken uint16) {
	d.ask(virtio.SetVringNum, words(length<<32))
	d.ask(virtio.SetVringBase, words(uint64(taken)<<32))
	d.ask(virtio.SetVringAddress, words(0, userAt+table, userAt+used, userAt+available, 0))
	d.ask(virtio.SetVringCall, words(0), d.call)
	d.ask(virtio.SetVringKick, words(0), d.kick)
	d.ask(virtio.SetVringEnable, words(1<<32))
}

func words(n ...uint64) (out []byte) {
	for _, w := range n {
		out = binary.LittleEndian.AppendUint64(out, w)
	}
	return out
}

// ask sends a message and returns the answer's body.
func (d *driver) ask(request uint32, body []byte, fds ...int) []byte {
	d.t.Helper()
	d.tell(request, body, fds...)
	_ = d.conn.SetReadDeadline(time.Now().Add(wait.Patience))
	var head [virtio.HeaderLength]byte
	if _, err := readFull(d.conn, head[:]); err != nil {
		d.t.Fatalf("request %d: %v", request, err)
	}
	answer := make([]byte, binary.LittleEndian.Uint32(head[8:]))
	if _, err := readFull(d.conn, answer); err != nil {
		d.t.Fatalf("request %d: %v", request, err)
	}
	return answer
}

func readFull(c net.Conn, b []byte) (n int, err error) {
	for n < len(b) && err == nil {
		var more int
		more, err = c.Read(b[n:])
		n += more
	}
	return n, err
}

func (d *driver) tell(request uint32, body []byte, fds ...int) {
	d.t.Helper()
	b := binary.LittleEndian.AppendUint32(nil, request)
	b = binary.LittleEndian.AppendUint32(b, virtio.Version|virtio.NeedReply)
	b = binary.LittleEndian.AppendUint32(b, uint32(len(body)))
	if _, _, err := d.conn.WriteMsgUnix(append(b, body...), unix.UnixRights(fds...), nil); err != nil {
		d.t.Fatal(err)
	}
}

// request offers a request with one piece of data, of the guest's address in its memory.
func (d *driver) request(kind uint32, sector uint64, length uint32) {
	d.t.Helper()
	n := int(d.asked) % 2 * 3
	head := header + n*0x100
	binary.LittleEndian.PutUint32(d.memory[head:], kind)
	binary.LittleEndian.PutUint64(d.memory[head+8:], sector)
	flags := uint16(virtio.DescriptorNext)
	if kind == virtio.BlockIn {
		flags |= virtio.DescriptorWrite
	}
	d.describe(n, uint64(head), virtio.BlockHeader, virtio.DescriptorNext, n+1)
	d.describe(n+1, data, length, flags, n+2)
	d.describe(n+2, uint64(head+0x80), 1, virtio.DescriptorWrite, 0)
	d.memory[head+0x80] = 0xff
	binary.LittleEndian.PutUint16(d.memory[available+4+2*(d.asked%8):], uint16(n))
	d.asked++
	binary.LittleEndian.PutUint16(d.memory[available+2:], d.asked)
	if _, err := unix.Write(d.kick, words(1)); err != nil {
		d.t.Fatal(err)
	}
}

func (d *driver) describe(n int, address uint64, length uint32, flags uint16, next int) {
	e := d.memory[table+n*virtio.DescriptorSize:]
	binary.LittleEndian.PutUint64(e, guestAt+address)
	binary.LittleEndian.PutUint32(e[8:], length)
	binary.LittleEndian.PutUint16(e[12:], flags)
	binary.LittleEndian.PutUint16(e[14:], uint16(next))
}

// answered waits for the last request's interrupt and returns its status.
func (d *driver) answered() byte {
	d.t.Helper()
	wait.Until(d.t, "an interrupt", func() bool {
		var count [8]byte
		_, _ = unix.Read(d.call, count[:])
		return binary.LittleEndian.Uint16(d.memory[used+2:]) == d.asked
	})
	return d.memory[header+int(d.asked-1)%2*0x300+0x80]
}

// A guest writes and reads, stops its queue and starts it again; a second one reads the same.
func TestRequests(t *testing.T) {
	dev := device(t, "free")
	s := Share(dev, Options{Trim: true, Serial: "card"})
	defer s.Close()
	d := plug(t, s)
	copy(d.memory[data:], bytes.Repeat([]byte("what was written"), 256))
	d.request(virtio.BlockOut, 7, 4096)
	if got := d.answered(); got != virtio.BlockOK {
		t.Errorf("write: %d", got)
	}
	if got := d.ask(virtio.GetVringBase, words(0)); !bytes.Equal(got, words(1<<32)) {
		t.Errorf("the queue stops at % x", got)
	}
	clear(d.memory[data:])
	d.request(virtio.BlockIn, 7, 4096) // while it is stopped
	d.start(1)
	if got := d.answered(); got != virtio.BlockOK || !bytes.HasPrefix(d.memory[data:], []byte("what was written")) {
		t.Errorf("read: %d, %q", got, d.memory[data:data+16])
	}
	config := d.ask(virtio.GetConfig, slices.Concat(words(60<<32), make([]byte, 64)))
	if got := binary.LittleEndian.Uint64(config[12:]); got != 64<<20/512 {
		t.Errorf("%d sectors", got)
	}
	other := plug(t, s)
	other.request(virtio.BlockIn, 7, 4096)
	if got := other.answered(); got != virtio.BlockOK || !bytes.Equal(other.memory[data:data+4096], d.memory[data:data+4096]) {
		t.Errorf("the second guest reads: %d, %q", got, other.memory[data:data+16])
	}
	if got := dev.Stats(); got.Writes != 1 || got.Reads != 2 {
		t.Errorf("%+v", got)
	}
	_ = d.conn.Close()
	if err := <-d.ended; err != nil {
		t.Errorf("after the front end has left: %v", err)
	}
}

// Requests are answered when the model says, not before.
func TestInTime(t *testing.T) {
	const takes = 300 * time.Millisecond
	dev := slowDevice(t, takes)
	s := Share(dev, Options{})
	defer s.Close()
	d := plug(t, s)
	begun := dev.Now()
	d.request(virtio.BlockIn, 0, 4096)
	d.answered()
	if took := dev.Now() - begun; took < takes {
		t.Errorf("answered after %v instead of %v", took, takes)
	}
}

// What is in flight when the server hangs up is answered with an error, and the guest may come again.
func TestHangUp(t *testing.T) {
	dev := slowDevice(t, math.MaxInt64)
	s := Share(dev, Options{})
	defer s.Close()
	d := plug(t, s)
	d.request(virtio.BlockIn, 0, 4096)
	wait.Until(t, "the request", func() bool { return dev.Stats().Reads == 1 })
	s.HangUp()
	if err := <-d.ended; !errors.Is(err, net.ErrClosed) {
		t.Error(err)
	}
	if got := d.answered(); got != virtio.BlockError {
		t.Errorf("status %d", got)
	}
	again := plug(t, s)
	again.request(virtio.BlockOut, 0, 4096)
	if got := again.answered(); got != virtio.BlockOK {
		t.Errorf("status %d", got)
	}
}

// A front end that misbehaves harms its own connection alone.
func TestMisbehaviour(t *testing.T) {
	s := Share(device(t, "free"), Options{})
	defer s.Close()
	good := plug(t, s)
	for _, c := range []struct {
		name string
		do   func(*driver)
		want string
	}{
		{"an unknown request", func(d *driver) { d.tell(99, nil) }, "unknown request 99"},
		{"a short message", func(d *driver) { d.tell(virtio.SetVringNum, []byte{1}) }, "too short"},
		{"a queue that does not exist", func(d *driver) { d.tell(virtio.SetVringNum, words(queues)) }, "there is no queue 64"},
		{"a kick for a queue that does not exist", func(d *driver) { d.tell(virtio.SetVringKick, words(255), d.kick) }, "there is no queue 255"},
		{"no descriptor", func(d *driver) { d.tell(virtio.SetVringKick, words(0)) }, "0 descriptors"},
		{"polling", func(d *driver) { d.tell(virtio.SetVringKick, words(1<<8)) }, "polled"},
		{"memory beyond its file", func(d *driver) { d.tell(virtio.SetMemory, words(1, 0, 1<<30, 0, 0), d.file) }, "a region of"},
		{"a ring elsewhere", func(d *driver) { d.tell(virtio.SetVringAddress, words(0, 0, 0, 0, 0)) }, "not in the guest's memory"},
		{"a chain elsewhere", func(d *driver) {
			d.describe(0, 1<<40, 16, 0, 0)
			binary.LittleEndian.PutUint16(d.memory[available+2:], 1)
			_, _ = unix.Write(d.kick, words(1))
		}, "not in the guest's memory"},
		{"truncated memory", func(d *driver) {
			_ = unix.Ftruncate(d.file, 4096)
			_, _ = unix.Write(d.kick, words(1))
		}, "truncated"},
	} {
		t.Run(c.name, func(t *testing.T) {
			d := plug(t, s)
			c.do(d)
			if err := <-d.ended; err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v", err)
			}
		})
	}
	good.request(virtio.BlockOut, 0, 512)
	if got := good.answered(); got != virtio.BlockOK {
		t.Errorf("another front end: status %d", got)
	}
}

// QEMU attaches the device, and its firmware boots from it: a program of one sector that reads eight,
// changes the first byte and writes them elsewhere.
func TestPeer(t *testing.T) {
	dev := device(t, "free")
	s := Share(dev, Options{Trim: true})
	defer s.Close()
	image := make([]byte, 9*512)
	copy(image, bootSector)
	image[510], image[511] = 0x55, 0xaa
	for i := range image[512:] {
		image[512+i] = byte(i * 7)
	}
	if _, err := dev.Submit(0, flash.Request{Op: flash.Write, Length: int64(len(image)), Data: image}); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "card")
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: path})
	if err != nil {
		t.Fatal(err)
	}
	var served sync.WaitGroup
	served.Go(func() {
		if conn, err := l.AcceptUnix(); err == nil {
			if err := s.Serve(conn); err != nil {
				t.Error(err)
			}
		}
	})
	ctx, cancel := context.WithTimeout(t.Context(), wait.Patience)
	defer cancel()
	r, err := command.Run(ctx, command.Options{}, "qemu-system-x86_64", "-nodefaults", "-no-user-config", "-display", "none", "-m", "64",
		"-object", "memory-backend-memfd,id=m,size=64M,share=on", "-machine", "pc,accel=tcg,memory-backend=m", "-smp", "2",
		"-chardev", "socket,id=c,path="+path, "-device", "vhost-user-blk-pci,chardev=c,bootindex=0", "-device", "isa-debug-exit,iobase=0xf4,iosize=4")
	_ = l.Close()
	served.Wait()
	if r.Status != 2*bootGood+1 {
		t.Fatalf("QEMU: status %d, %v\n%s", r.Status, err, r.Stdout+r.Stderr)
	}
	var got []byte
	stop := errors.New("enough")
	if err := dev.Contents(func(_ int64, data []byte) error { got = bytes.Clone(data[:64<<10]); return stop }); !errors.Is(err, stop) {
		t.Fatal(err)
	}
	image[512]++
	if !bytes.Equal(got[16*512:24*512], image[512:]) {
		t.Errorf("sector 16 begins with % x", got[16*512:16*512+16])
	}
	_ = os.Remove(path)
}

// bootSector reads sectors 1 to 8 to 0x8000, changes them and writes them to sectors 16 to 23 by
// INT 13h; the device for exits says how it went.
const bootGood = 0x10

var bootSector = []byte{
	0x31, 0xc0, // xor ax, ax
	0x8e, 0xd8, // mov ds, ax
	0xbe, 0x40, 0x7c, // mov si, packet
	0xb4, 0x42, // mov ah, 42h: read
	0xcd, 0x13, // int 13h
	0x72, 0x14, // jc failed
	0xfe, 0x06, 0x00, 0x80, // inc byte [8000h]
	0xc6, 0x06, 0x48, 0x7c, 0x10, // mov byte [packet+8], 16
	0xb8, 0x00, 0x43, // mov ax, 4300h: write
	0xcd, 0x13, // int 13h
	0x72, 0x04, // jc failed
	0xb0, bootGood, // mov al, good
	0xeb, 0x02, // jmp exit
	0xb0, 0x01, // failed: mov al, 1
	0xba, 0xf4, 0x00, // exit: mov dx, 0f4h
	0xee, // out dx, al
	0xf4, // hlt
	0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90,
	0x10, 0x00, 0x08, 0x00, 0x00, 0x80, 0x00, 0x00, 0x01, 0, 0, 0, 0, 0, 0, 0, // packet at 7c40h
}
