package qemu

import (
	"crypto/sha256"
	"fmt"
	"net"
	"os"
	"runtime/debug"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"whichfs/internal/flash"
	"whichfs/internal/flash/models"
	"whichfs/internal/flash/nbd"
	"whichfs/internal/plan/media"
	"whichfs/internal/result"
)

// rotationalParameter marks the guest's disk as rotating.
const rotationalParameter = "whichfs.rotational"

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
	// Contents grow with what is written, up to the full size.
	if free := available(); free > 0 && m.Size > free-p.config.memory {
		return planned{}, result.Refuse(fmt.Sprintf("make it smaller: sim:%s,1G", p.spec.Path),
			"simulated storage of %d MiB keeps its contents in memory; this host has %d MiB available, and the guest takes %d of them",
			m.Size>>20, free>>20, p.config.memory>>20)
	}
	device, err := flash.New(m)
	if err != nil {
		return planned{}, result.Refuse("whichfs list models", "storage %s: %v", p.spec, err)
	}
	archive, err := inMemory("archive", h.archive)
	if err != nil {
		return planned{}, &result.Failure{Outcome: result.LabFailed, Reason: "no memory for the boot archive", Err: err}
	}
	rotates := m.Kind == flash.KindDisk
	if rotates {
		p.config.append = append(append([]string(nil), p.config.append...), rotationalParameter)
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
// QEMU's.
func (s *simulated) argv(descriptor int, id, serial string) []string {
	discard, unmap := "off", "ignore"
	if s.model.Trim.Supported {
		discard, unmap = "on", "unmap"
	}
	return []string{
		// Flushes pass: the model determines their cost.
		"-drive", fmt.Sprintf("if=none,id=%s,driver=raw,cache.writeback=on,discard=%s,detect-zeroes=off,"+
			"file.driver=nbd,file.server.type=fd,file.server.str=%d", id, unmap, descriptor),
		// A thread of its own for the disk: QEMU's main one shares a lock with the
		// emulated processor.
		"-object", "iothread,id=io",
		// A card has no command to write zeros, so the guest writes them. The guest sees the
		// model's queue length, at least 4, so that merging and ordering are left to the guest's
		// scheduler as with a real card; requests keep the length that they have with a long queue.
		"-device", fmt.Sprintf("virtio-blk-pci,iothread=io,drive=%s,serial=%s,num-queues=1,queue-size=%d,seg-max-adjust=off,discard=%s,write-zeroes=off",
			id, serial, s.queue(), discard),
	}
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

// conditions describe the device in a report. The digest covers the model as it is, its size
// included, however its file is written.
func (s *simulated) conditions(emulated bool) []result.Condition {
	c := func(name, value string, matters bool) result.Condition {
		return result.Condition{Group: "storage", Name: name, Value: value, Matters: matters}
	}
	m := s.model
	shown := "not rotational"
	if m.Kind == flash.KindDisk {
		shown = "rotational"
	}
	scheme := m.Map.Scheme
	if m.Kind != flash.KindFlash {
		scheme = m.Kind
	}
	timing := "each request takes the model's time, plus the path from the guest to the model"
	if emulated {
		timing += "; under emulation that path is long, so that fast models are slower here than the devices that they represent"
	}
	out := []result.Condition{
		c("lab storage", "simulated, a virtio disk shown as "+shown+"; contents in memory", true),
		c("model", m.Name+": "+m.Title, true),
		c("model scheme", scheme, true),
		c("model size", strconv.FormatInt(m.Size, 10)+" B", true),
		c("model digest", fmt.Sprintf("%.16x", sha256.Sum256([]byte(models.Write(m)))), true),
		c("model timing", timing, false),
		c("flushes", s.flushes(), true),
		c("discards", yes(m.Trim.Supported), true),
	}
	if m.Fit != "" {
		out = append(out, c("model fit", strings.TrimSpace(m.Fit), false))
	}
	return out
}

// flushes says what a flush costs.
func (s *simulated) flushes() string {
	switch {
	case s.model.Kind == flash.KindFree:
		return "cost nothing, as everything in this model"
	case s.model.Kind == flash.KindDisk && s.model.Disk.WriteCache:
		return "wait until the disk's write cache is on the medium"
	case s.model.Kind == flash.KindDisk:
		return "cost a command: the disk has no write cache"
	case s.model.Buffer.Size > 0:
		return fmt.Sprintf("cost %v, and what programming the write buffer of %s takes", s.model.Bus.Flush, media.FormatSize(s.model.Buffer.Size))
	}
	if s.model.Bus.Flush == 0 {
		return "cost nothing: the model has no write buffer"
	}
	return fmt.Sprintf("cost %v: the model has no write buffer", s.model.Bus.Flush)
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
