package usermode

import (
	"compress/gzip"
	"context"
	"fmt"
	"io"
	"time"

	"whichfs/internal/flash"
	"whichfs/internal/host/machine"
	"whichfs/internal/host/machine/powercut"
	"whichfs/internal/plan/media"
	"whichfs/internal/result"
	"whichfs/internal/wire"
)

// Cut implements machine.Cutter. Each cut takes two guests, as in other labs. The power is cut at an
// instant of the first one's clock, between two steps of its monitor, so that the same order leaves
// the same storage every time.
func (s *Session) Cut(ctx context.Context, order machine.Cut, events machine.Events) (wire.Done, error) {
	under, err := check(s.spec)
	switch {
	case err != nil:
		return wire.Done{}, err
	case under.Kind == media.KindNAND:
		return powercut.No(result.Unsupported, "the simulated chip is in the memory of its guest, from which only guests under QEMU recover it: use --clock wall"), nil
	case s.model.Kind == flash.KindFree && s.spec.Processor == nil:
		return powercut.No(result.Unsupported, "nothing that is written to storage %s takes time, so no cut can interrupt it", under), nil
	}
	return powercut.Run(ctx, order, under, func(seed uint64) (powercut.Storage, error) { return s.remains(seed), nil }, events)
}

// remains are the storage of one cut, and what the cut left.
type remains struct {
	lab  *Machine
	host *host
	spec machine.Spec
	// powered: the guest ends and its device keeps its power: the control, because the end of a guest
	// is not a power cut.
	powered bool

	device *later
	at     time.Duration // of the cut, on the device's clock; 0: none
	loss   flash.Loss
	trial  wire.Trial // that was cut
	after  time.Duration
}

func (s *Session) remains(seed uint64) *remains {
	r := &remains{lab: s.lab, host: s.host, spec: s.spec}
	r.spec.Data, r.spec.Memory, r.spec.Seed = nil, 0, seed // the guests need no data sets
	return r
}

// Close implements powercut.Storage.
func (r *remains) Close() { r.device = nil }

// Write implements powercut.Storage.
func (r *remains) Write(ctx context.Context, t wire.Trial, after time.Duration, safe func(int64)) (wire.Done, error) {
	r.trial, r.after = t, after
	p, err := r.host.plan(r.spec, nil)
	if err != nil {
		return wire.Done{}, err
	}
	r.device = p.device
	var s *Session
	sent, heard := 0, 0
	p.seen = func(kind string) {
		if kind != wire.KindSafe {
			return
		}
		if sent++; sent == 1 {
			s.guest.monitor.EndIn(after, func(now time.Duration) {
				r.at = now
				if !r.powered {
					r.loss = r.device.Cut(now)
				}
				_ = s.guest.process.Kill() // the session's end reports a process that stays
			})
		}
	}
	if s, err = r.lab.run(ctx, r.host, p, r.spec); err != nil {
		return wire.Done{}, err
	}
	done, err := s.Client.Trial(ctx, t, machine.Events{Safe: func(number int64) { heard++; safe(number) }})
	if end := s.Close(); end != nil {
		return wire.Done{}, end
	}
	cut := r.at > 0
	if cut && heard < sent && ctx.Err() == nil {
		return wire.Done{}, result.Fail(result.LabFailed, "", "of %d promises before the power was cut, %d were heard", sent, heard)
	}
	return powercut.Ended(ctx, cut, done, err)
}

// Neighbours implements powercut.Storage.
func (r *remains) Neighbours() int64 { return r.loss.Neighbours }

// Verify implements powercut.Storage.
func (r *remains) Verify(ctx context.Context, t wire.Trial, events machine.Events) (wire.Done, error) {
	p, err := r.host.plan(r.spec, &later{r.device.Device, r.at})
	if err != nil {
		return wire.Done{}, err
	}
	s, err := r.lab.run(ctx, r.host, p, r.spec)
	if err != nil {
		return wire.Done{}, err
	}
	defer s.Close() //nolint:errcheck // everything needed has arrived
	return s.Client.Trial(ctx, t, events)
}

// later is a device whose clock shows start when that of its guest begins, with 0: what it did when an
// earlier guest ended.
type later struct {
	flash.Device
	start time.Duration
}

// Submit implements flash.Device.
func (l *later) Submit(now time.Duration, r flash.Request) (time.Duration, error) {
	done, err := l.Device.Submit(l.start+now, r)
	return done - l.start, err
}

// Cut implements flash.Device.
func (l *later) Cut(now time.Duration) flash.Loss { return l.Device.Cut(l.start + now) }

// Keep implements powercut.Storage. Few cuts have contents worth keeping, and those can be made again.
func (r *remains) Keep(ctx context.Context, dir, name string) string {
	r.device = nil // as large as the next one
	again := &remains{lab: r.lab, host: r.host, spec: r.spec}
	done, err := again.Write(ctx, r.trial, r.after, func(int64) {})
	if err == nil && (done.Outcome != result.Done || again.at != r.at || again.loss != r.loss) {
		err = fmt.Errorf("the cut did not repeat: %s at %v, %+v, and then at %v, %+v", done.Outcome, r.at, r.loss, again.at, again.loss)
	}
	if err != nil {
		return powercut.NotKept(err)
	}
	return powercut.Save(dir, name+".img.gz", again.image)
}

// image writes the contents that the cut left, compressed.
func (r *remains) image(to io.Writer) error {
	z, err := gzip.NewWriterLevel(to, gzip.BestSpeed)
	if err != nil {
		return err
	}
	piece := make([]byte, 1<<20)
	for at, size := int64(0), r.device.Size(); at < size; at += int64(len(piece)) {
		piece = piece[:min(int64(len(piece)), size-at)]
		if _, err := r.device.Submit(r.at, flash.Request{Op: flash.Read, Offset: at, Length: int64(len(piece)), Data: piece}); err != nil {
			return err
		}
		if _, err := z.Write(piece); err != nil {
			return err
		}
	}
	return z.Close()
}
