package monitor

import (
	"encoding/binary"
	"errors"
	"testing"

	"whichfs/internal/flash"
	"whichfs/internal/flash/models"
	"whichfs/internal/flash/virtio"
)

// Where the rings of a test's queue are in its memory.
const (
	testTable     = 0
	testAvailable = 0x1000
	testUsed      = 0x2000
	testLength    = 8
	testSize      = 64 << 20
)

// bare is a device with one queue and memory from address 0, of which no guest knows.
func bare(t testing.TB, of string, memory []byte) *block {
	t.Helper()
	model, err := models.Resolve(of)
	if err == nil {
		model, err = models.Sized(model, testSize)
	}
	if err != nil {
		t.Fatal(err)
	}
	storage, err := flash.New(model)
	if err != nil {
		t.Fatal(err)
	}
	m := &Monitor{}
	m.clock.m = m
	m.port = newPort(m, Options{})
	newDevice(m, "port", m.port)
	b, err := newBlock(m, Disk{Serial: "test", Device: storage, Trim: true})
	if err != nil {
		t.Fatal(err)
	}
	d := newDevice(m, "disk0", b)
	d.back.Memory.Own(memory)
	q := &d.back.Queues[0]
	q.Enable(true)
	if err := errors.Join(q.Resize(testLength), q.Place(testTable, testUsed, testAvailable)); err != nil {
		t.Fatal(err)
	}
	return b
}

func describe(memory []byte, n int, address uint64, length uint32, flags, next uint16) {
	d := memory[testTable+n*virtio.DescriptorSize:]
	binary.LittleEndian.PutUint64(d, address)
	binary.LittleEndian.PutUint32(d[8:], length)
	binary.LittleEndian.PutUint16(d[12:], flags)
	binary.LittleEndian.PutUint16(d[14:], next)
}

func offer(memory []byte, heads ...uint16) {
	for i, h := range heads {
		binary.LittleEndian.PutUint16(memory[testAvailable+4+2*i:], h)
	}
	binary.LittleEndian.PutUint16(memory[testAvailable:], virtio.AvailableQuiet)
	binary.LittleEndian.PutUint16(memory[testAvailable+2:], uint16(len(heads)))
}

// A write and a read of the same sector, each carried out at once and answered when the model says.
func TestRequests(t *testing.T) {
	memory := make([]byte, 0x10000)
	b := bare(t, "sd-basic", memory)
	ask := func(head int, kind uint32, sector, at uint64, flags uint16) {
		header := 0x3000 + uint64(head)*0x100
		binary.LittleEndian.PutUint32(memory[header:], kind)
		binary.LittleEndian.PutUint64(memory[header+8:], sector)
		describe(memory, head, header, virtio.BlockHeader, virtio.DescriptorNext, uint16(head+1))
		describe(memory, head+1, at, 512, virtio.DescriptorNext|flags, uint16(head+2))
		describe(memory, head+2, header+0x80, 1, virtio.DescriptorWrite, 0)
		memory[header+0x80] = 0xff
	}
	copy(memory[0x5000:], "what was written")
	ask(0, virtio.BlockOut, 7, 0x5000, 0)
	ask(3, virtio.BlockIn, 7, 0x6000, virtio.DescriptorWrite)
	offer(memory, 0, 3)
	if err := b.kicked(0); err != nil {
		t.Fatal(err)
	}
	if string(memory[0x6000:0x6010]) != "what was written" {
		t.Errorf("read %q", memory[0x6000:0x6010])
	}
	if memory[0x3080] != 0xff || len(b.m.events) != 2 {
		t.Fatalf("answered at once: %d events", len(b.m.events))
	}
	first, second := b.m.events[0], b.m.events[1]
	if first.at == 0 || second.at <= first.at {
		t.Errorf("answered at %d and %d ns", first.at, second.at)
	}
	for _, e := range []event{first, second} {
		if err := e.fire(); err != nil {
			t.Fatal(err)
		}
	}
	used := memory[testUsed:]
	if memory[0x3080] != virtio.BlockOK || memory[0x3380] != virtio.BlockOK || binary.LittleEndian.Uint16(used[2:]) != 2 ||
		binary.LittleEndian.Uint32(used[8:]) != 1 || binary.LittleEndian.Uint32(used[16:]) != 513 {
		t.Errorf("status %d, %d, used % x", memory[0x3080], memory[0x3380], used[:20])
	}
}

func TestImpossibleRequests(t *testing.T) {
	for name, f := range map[string]struct {
		kind   uint32
		sector uint64
		flags  uint16 // of the data
		want   byte
	}{
		"beyond the end":        {virtio.BlockIn, 1 << 40, virtio.DescriptorWrite, virtio.BlockError},
		"just beyond the end":   {virtio.BlockIn, testSize / 512, virtio.DescriptorWrite, virtio.BlockError},
		"a read into a source":  {virtio.BlockIn, 0, 0, virtio.BlockError},
		"a write from a target": {virtio.BlockOut, 0, virtio.DescriptorWrite, virtio.BlockError},
		"an unknown command":    {99, 0, 0, virtio.BlockUnknown},
	} {
		memory := make([]byte, 0x10000)
		b := bare(t, "sd-basic", memory)
		binary.LittleEndian.PutUint32(memory[0x3000:], f.kind)
		binary.LittleEndian.PutUint64(memory[0x3008:], f.sector)
		describe(memory, 0, 0x3000, virtio.BlockHeader, virtio.DescriptorNext, 1)
		describe(memory, 1, 0x5000, 512, virtio.DescriptorNext|f.flags, 2)
		describe(memory, 2, 0x3080, 1, virtio.DescriptorWrite, 0)
		offer(memory, 0)
		if err := b.kicked(0); err != nil || len(b.m.events) != 1 {
			t.Errorf("%s: %v, %d events", name, err, len(b.m.events))
			continue
		}
		if err := b.m.events[0].fire(); err != nil || memory[0x3080] != f.want {
			t.Errorf("%s: %v, status %d, want %d", name, err, memory[0x3080], f.want)
		}
	}
}

func TestImpossibleChains(t *testing.T) {
	loop := make([]byte, 0x10000)
	describe(loop, 0, 0x3000, 16, virtio.DescriptorNext, 1)
	describe(loop, 1, 0x3000, 16, virtio.DescriptorNext, 0)
	offer(loop, 0)
	if err := bare(t, "sd-basic", loop).kicked(0); !errors.Is(err, virtio.ErrChain) {
		t.Errorf("a chain without end: %v", err)
	}
	for name, describe := range map[string]func(memory []byte){
		"outside the memory":  func(m []byte) { describe(m, 0, 0xfff8, 16, 0, 0) },
		"an overflow":         func(m []byte) { describe(m, 0, ^uint64(0), 16, 0, 0) },
		"no such descriptor":  func(m []byte) { describe(m, 0, 0x3000, 16, virtio.DescriptorNext, testLength) },
		"more than there are": func(m []byte) { binary.LittleEndian.PutUint16(m[testAvailable+2:], testLength+1) },
		"no status":           func(m []byte) { describe(m, 0, 0x3000, 16, 0, 0) },
		"an empty table":      func(m []byte) { describe(m, 0, 0x3000, 0, virtio.DescriptorIndirect, 0) },
	} {
		memory := make([]byte, 0x10000)
		offer(memory, 0)
		describe(memory)
		if err := bare(t, "sd-basic", memory).kicked(0); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
}

// Whatever a guest has in its memory, the monitor survives.
func FuzzQueue(f *testing.F) {
	memory := make([]byte, 0x3100)
	describe(memory, 0, 0x3000, virtio.BlockHeader, virtio.DescriptorNext, 1)
	describe(memory, 1, 0x1800, 512, virtio.DescriptorNext|virtio.DescriptorWrite, 2)
	describe(memory, 2, 0x3080, 1, virtio.DescriptorWrite, 0)
	offer(memory, 0, 0)
	f.Add(memory)
	memory = make([]byte, 0x4000)
	b := bare(f, "free", memory)
	f.Fuzz(func(t *testing.T, text []byte) {
		clear(memory)
		copy(memory, text)
		b.m.events = nil
		b.d.back.Queues[0].Begin(0)
		_ = b.d.back.Queues[0].Place(testTable, testUsed, testAvailable) // in the memory
		for range 3 {
			if b.kicked(0) != nil {
				return
			}
		}
		for _, e := range b.m.events {
			if e.fire() != nil {
				return
			}
		}
	})
}
