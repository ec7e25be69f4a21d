package qemu

import (
	"context"
	"fmt"
	"net"
	"os"
	"runtime/debug"
	"slices"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"

	"whichfs/internal/flash"
	"whichfs/internal/flash/models"
	"whichfs/internal/flash/nbd"
	"whichfs/internal/host/machine"
	"whichfs/internal/host/machine/labguest"
	"whichfs/internal/result"
	"whichfs/internal/wire"
)

// Kernel parameters that describe the disk under test.
const (
	rotationalParameter = "whichfs.rotational"
	requestParameter    = "whichfs.request=" // the largest request, in KiB
)

// simulated is a guest's simulated card, stick or disk. It lives in this process, including its
// contents, and dies with the session.
type simulated struct {
	model  flash.Model
	server *nbd.Server
	broken chan error // the connection's end, when it came
	// borrowed from a session that keeps using it.
	borrowed bool
}

// again lends the same device to one more guest, which releases it when it ends.
func (s *simulated) again() *simulated {
	return &simulated{model: s.model, server: s.server, broken: make(chan error, 1), borrowed: true}
}

// simulate makes the device that a plan's storage names.
func (p planned) simulate(h *host) (planned, error) {
	m, err := models.Resolve(p.spec.Path)
	if err == nil {
		m, err = models.Sized(m, p.spec.Size)
	}
	if err != nil {
		return planned{}, result.Refuse("whichfs list models", "storage %s: %v", p.spec, err)
	}
	if err := labguest.Afford(p.config.memory, p.spec.Path, m.Size); err != nil {
		return planned{}, err
	}
	device, err := flash.New(m)
	if err != nil {
		return planned{}, result.Refuse("whichfs list models", "storage %s: %v", p.spec, err)
	}
	archive, err := labguest.InMemory("archive", h.archive)
	if err != nil {
		return planned{}, &result.Failure{Outcome: result.LabFailed, Reason: "no memory for the boot archive", Err: err}
	}
	rotates := m.Kind == flash.KindDisk
	p.config.append = append(slices.Clone(p.config.append), requestParameter+strconv.Itoa(flash.LongestRequest>>10))
	if rotates {
		p.config.append = append(p.config.append, rotationalParameter)
	}
	p.files = []*os.File{archive}
	p.config.sim = &simulated{
		model: m, broken: make(chan error, 1),
		server: nbd.New(device, nbd.Options{Trim: m.Trim.Supported, Rotational: rotates}),
	}
	return p, nil
}

// serve begins to serve the guest's end of a stream.
func (s *simulated) serve(conn net.Conn) {
	go func() { s.broken <- s.server.Serve(conn) }()
}

// close ends the device. Its contents may be most of this host's memory, and the next session
// checks the available memory before it starts.
func (s *simulated) close() {
	if s.borrowed {
		return
	}
	_ = s.server.Close() // always nil
	debug.FreeOSMemory()
}

// argv attaches the device to the guest as a virtio disk, over the stream behind a descriptor of
// QEMU's; own gives it a thread of its own, since QEMU's main one shares a lock with the emulated processor.
func (s *simulated) argv(descriptor int, id, serial string, own bool) []string {
	var thread []string
	device := "virtio-blk-pci"
	if own {
		thread, device = []string{"-object", "iothread,id=io"}, device+",iothread=io"
	}
	discard, unmap := "off", "ignore"
	if s.model.Trim.Supported {
		discard, unmap = "on", "unmap"
	}
	return slices.Concat([]string{
		// Flushes pass: the model determines their cost.
		"-drive", fmt.Sprintf("if=none,id=%s,driver=raw,cache.writeback=on,discard=%s,detect-zeroes=off,"+
			"file.driver=nbd,file.server.type=fd,file.server.str=%d", id, unmap, descriptor),
	}, thread, []string{
		// A card has no command to write zeros, so the guest writes them. The guest sees the
		// model's queue length, at least 4, so that merging and ordering are left to the guest's
		// scheduler as with a real card; the length of requests does not follow from it.
		"-device", fmt.Sprintf("%s,drive=%s,serial=%s,num-queues=1,queue-size=%d,seg-max-adjust=off,discard=%s,write-zeroes=off",
			device, id, serial, s.queue(), discard),
	})
}

// queue is the length of the guest's queue: the power of two that holds as many requests as the
// device works on, from 4 to 256 (QEMU's minimum, and more than any model needs).
func (s *simulated) queue() int {
	n := 4
	for n < s.model.Bus.Queue && n < 256 {
		n *= 2
	}
	return n
}

// fault says why the device was lost while the guest lived; nil if it was not.
func (s *simulated) fault() error {
	select {
	case err := <-s.broken:
		if err == nil {
			err = fmt.Errorf("QEMU closed the connection")
		}
		s.broken <- err // keep it for the next call
		return err
	default:
		return nil
	}
}

// roomy makes both directions of a stream hold a few whole requests: otherwise both ends of a large
// one wait for each other several times. Exceeding the system's limit needs a privilege, and a
// smaller buffer is only slower.
func roomy(ends ...syscall.Conn) {
	const room = 4 << 20
	for _, end := range ends {
		raw, err := end.SyscallConn()
		if err != nil {
			continue
		}
		_ = raw.Control(func(fd uintptr) {
			if unix.SetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_SNDBUFFORCE, room) != nil {
				_ = unix.SetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_SNDBUF, room)
			}
		})
	}
}

// timed reports whether the session measures by the real clock.
func (s *Session) timed() bool { return !s.spec.Instructions && !s.spec.Untimed }

// Trial implements machine.Session.
func (s *Session) Trial(ctx context.Context, t wire.Trial, events machine.Events) (wire.Done, error) {
	run := func(ctx context.Context, events machine.Events) (wire.Done, error) {
		return s.Client.Trial(ctx, t, events)
	}
	if s.timed() {
		events = labguest.Loaded(s.guest.watch().Now, events)
	}
	sim := s.guest.sim
	if sim == nil {
		return run(ctx, events)
	}
	done, err := labguest.Trial(ctx, sim.model, sim.server.Stats, run, events)
	if err != nil {
		return done, err
	}
	if fault := sim.fault(); fault != nil {
		return wire.Done{}, &result.Failure{Outcome: result.LabFailed, Reason: "the simulated storage was lost during the trial", Err: fault, Console: s.Console()}
	}
	return done, nil
}

// PowerCut cuts the power of the simulated storage and returns what that lost. The guest loses its
// disk with it. ok is false if the storage is not simulated.
func (s *Session) PowerCut() (loss flash.Loss, ok bool) {
	if s.guest.sim == nil {
		return flash.Loss{}, false
	}
	return s.guest.sim.server.Cut(), true
}
