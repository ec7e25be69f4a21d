package qemu

import (
	"context"
	"fmt"
	"math/rand/v2"
	"runtime"
	"sync"
	"time"

	"whichfs/internal/host/machine"
	"whichfs/internal/host/machine/labguest"
	"whichfs/internal/plan/media"
	"whichfs/internal/plan/scenario"
	"whichfs/internal/result"
	"whichfs/internal/target/kernelmemory"
	"whichfs/internal/wire"
)

const (
	// The power is cut at a time after the first promise that is drawn evenly between these two:
	// late enough for requests to be in flight, early enough for twenty cuts to take minutes.
	cutSoonest, cutLatest = 200 * time.Millisecond, 3 * time.Second
	// cutSpace is the maximum total size of the files, in bytes; less on small storage.
	cutSpace = 8 << 20
	// cutPatience is how long a step after a cut may take, in seconds: a mount that reads
	// everything is slow but not a failure.
	cutPatience = 180
	// mappedMemory is the size up to which a guest's memory is at contiguous addresses from 0 (q35
	// moves the rest beyond 4 GiB).
	mappedMemory = 2 << 30

	phaseAttachCut = "attach-cut"
	phaseMountCut  = "mount-cut"
	phaseVerify    = "verify"
	chipSerial     = "chip"
	cutDir         = "synced"
)

// cutter cuts the power for one candidate.
type cutter struct {
	session *Session
	host    *host
	spec    machine.Spec
	order   machine.Cut
	raw     bool
	// killed: the guest is killed and its device keeps its power: the control, because killing a
	// process is not a power cut.
	killed bool
}

// Cut implements machine.Cutter. Each cut takes two guests: one that is killed while the filesystem
// is being written, and one that verifies what it left. A simulated card, stick or disk is part of
// this process and loses what was not durable; a simulated raw chip is in the memory of the guest,
// a file from which this process reads the chip once the guest has ended.
func (s *Session) Cut(ctx context.Context, order machine.Cut, events machine.Events) (wire.Done, error) {
	if done := s.cuttable(order); done.Outcome != "" {
		return done, nil
	}
	arch, err := archOf(s.spec)
	if err != nil {
		return wire.Done{}, err
	}
	c := &cutter{session: s, order: order, spec: s.spec, raw: s.plan.spec.Kind == media.KindNAND}
	if c.host, err = s.lab.host(ctx, arch); err != nil {
		return wire.Done{}, err
	}
	// The guests need no data sets, but real time, in which the power is cut.
	c.spec.Data, c.spec.Instructions, c.spec.Memory = nil, false, 0
	if events.Phase != nil {
		events.Phase(result.CutPhase)
	}
	t := cutTally{space: c.space()}
	done, err := c.all(ctx, t.add)
	if err != nil {
		return done, err
	}
	if done.Outcome != result.Done { // before a cut: nothing was lost yet
		done.Reason = fmt.Sprintf("phase %s before a cut: %s", done.Phase, done.Reason)
		done.Phase = result.CutPhase
		return done, nil
	}
	if events.Figures != nil {
		events.Figures(t.figures())
	}
	return wire.Done{Outcome: result.Done}, nil
}

// cutGuests are the guests of cuts that may run at the same time, one per processor of the host.
var cutGuests = make(chan struct{}, max(1, runtime.NumCPU()))

// all performs the cuts, as many at a time as there are processors, and adds them in order. The
// first failure ends the others.
func (c *cutter) all(ctx context.Context, add func(oneCut)) (wire.Done, error) {
	ctx, cancel := context.WithCancel(ctx)
	type answer struct {
		one  oneCut
		done wire.Done
		err  error
	}
	answers := make([]chan answer, c.order.Repeats)
	var over sync.WaitGroup
	defer over.Wait()
	defer cancel()
	for i := range answers {
		answers[i] = make(chan answer, 1)
		over.Add(1)
		go func() {
			defer over.Done()
			select {
			case cutGuests <- struct{}{}:
			case <-ctx.Done():
				answers[i] <- answer{err: machine.Canceled(ctx)}
				return
			}
			defer func() { <-cutGuests }()
			one, done, err := c.cut(ctx, i)
			answers[i] <- answer{one, done, err}
		}()
	}
	for i := range answers {
		a := <-answers[i]
		if a.err != nil || a.done.Outcome != result.Done {
			return a.done, a.err
		}
		add(a.one)
	}
	return wire.Done{Outcome: result.Done}, nil
}

// cuttable says why the power cannot be cut; no outcome if it can.
func (s *Session) cuttable(order machine.Cut) wire.Done {
	no := func(outcome result.Outcome, format string, args ...any) wire.Done {
		return wire.Done{Outcome: outcome, Phase: result.CutPhase, Reason: fmt.Sprintf(format, args...)}
	}
	kind := s.plan.spec.Kind
	switch {
	case order.Candidate.Err() != nil:
		return no(result.Refused, "%v", order.Candidate.Err())
	case order.Repeats < 1:
		return no(result.Refused, "%d cuts", order.Repeats)
	case order.Variant.Part != nil:
		return no(result.Refused, "power can be cut only for the whole storage, not for a part of it")
	case order.Candidate.Imaged():
		return no(result.Unsupported, "%s comes as an image: no write can be interrupted by a cut", order.Candidate)
	case kind == media.KindNAND && s.plan.config.arch != "amd64":
		return no(result.Unsupported, "the simulated chip ends with its guest, and can be recovered only from the memory of amd64 guests")
	case kind != media.KindNAND && kind != media.KindSim:
		return no(result.Unsupported, "storage %s is a plain file or memory, which loses nothing, or everything, when its guest is killed: that is not a power cut", s.plan.spec)
	}
	return wire.Done{}
}

// space is the total size of the files, in bytes: small enough for a chip of 8 MiB with UBI on it.
func (c *cutter) space() int64 {
	size := c.session.plan.spec.Size
	if v := c.order.Variant.Size; v > 0 {
		size = v
	}
	if size == 0 {
		return cutSpace
	}
	return min(cutSpace, max(size/8, 512<<10))
}

// layers are the steps up to the filesystem's own; Only omits those that the candidate lacks.
func (c *cutter) layers(made bool, attach string) []scenario.Step {
	if !c.raw {
		return nil
	}
	steps := []scenario.Step{{Work: "layer-load"}}
	if !made {
		steps = append(steps, scenario.Step{Work: "layer-format", Only: "ubi"})
	}
	steps = append(steps, scenario.Step{Work: "attach", Only: "ubi", Phase: attach})
	if !made {
		steps = append(steps, scenario.Step{Work: "volume", Only: "ubi"})
	}
	return append(steps, scenario.Step{Work: "module-load"})
}

// writing are the steps during which the power is cut.
func (c *cutter) writing(seed uint64) scenario.Scenario {
	return append(c.layers(false, ""), scenario.Step{Work: "mkfs"}, scenario.Step{Work: "mount"},
		scenario.Step{Work: "sync-files", Dir: cutDir, Size: c.space(), Seed: seed, Share: c.order.Unsynced})
}

// verifying are the steps after the cut.
func (c *cutter) verifying(seed uint64, safe int64) scenario.Scenario {
	return append(c.layers(true, phaseAttachCut), scenario.Step{Work: "mount", Phase: phaseMountCut},
		scenario.Step{Work: "sync-verify", Phase: phaseVerify, Dir: cutDir, Size: c.space(), Seed: seed, Ops: int(safe), Share: c.order.Unsynced},
		scenario.Step{Work: "unmount"})
}

// oneCut is the outcome of one cut.
type oneCut struct {
	number  int
	seed    uint64
	after   float64 // s from the first promise to the cut
	safe    int64   // the last promise
	merge   int64   // B that were flushed, and that the storage lost with a merge
	mounted bool
	reason  string             // why it could not be mounted
	figures map[string]float64 // of the verification: phase and metric
	notes   []result.Note
	kept    string // where the contents are kept, or why not
}

// cut performs one cut. Its random draws depend only on the seed and its number.
func (c *cutter) cut(ctx context.Context, number int) (oneCut, wire.Done, error) {
	draw := rand.New(rand.NewPCG(c.order.Seed, uint64(number)))
	one := oneCut{number: number + 1, seed: draw.Uint64() >> 11, figures: map[string]float64{}} // as precise as JSON's numbers
	wait := cutSoonest + time.Duration(draw.Float64()*float64(cutLatest-cutSoonest))
	one.after = wait.Seconds()
	p, err := c.session.lab.plan(c.host, c.spec)
	if err != nil {
		return one, wire.Done{}, err
	}
	left, err := c.remains(p)
	if err != nil {
		return one, wire.Done{}, err
	}
	defer left.close()
	done, err := c.write(ctx, &one, left, wait)
	if err != nil || done.Outcome != result.Done {
		return one, done, err
	}
	one.merge = left.loss.Neighbours
	if err := left.save(); err != nil {
		return one, wire.Done{}, &result.Failure{Outcome: result.LabFailed, Reason: "cannot read the chip's contents at the time its guest was killed", Err: err}
	}
	done, err = c.verify(ctx, &one, left)
	if err == nil && done.Outcome == result.Done && one.lost() {
		one.kept = left.keep(c.order.Keep, fmt.Sprintf("cut-%s-%d", fileName(c.order.Candidate.String()), one.number))
	}
	return one, done, err
}

// write runs the guest that is killed while it writes. The outcome Done means that it was killed in
// time.
func (c *cutter) write(ctx context.Context, one *oneCut, left *remains, wait time.Duration) (wire.Done, error) {
	p, err := left.writer(c.host)
	if err != nil {
		return wire.Done{}, err
	}
	s, err := c.session.lab.run(ctx, c.host, p, c.spec)
	if err != nil {
		return wire.Done{}, err
	}
	defer s.Close() //nolint:errcheck // it is dead
	var (
		once sync.Once
		cut  = make(chan struct{})
		quit = make(chan struct{})
		over sync.WaitGroup
	)
	events := machine.Events{
		Place: func(p kernelmemory.ChipPlace) { left.place = p },
		Safe: func(number int64) {
			one.safe = number
			once.Do(func() {
				over.Add(1)
				go func() {
					defer over.Done()
					select {
					case <-time.After(wait):
						left.cut(s.guest)
						close(cut)
					case <-quit:
					}
				}()
			})
		},
	}
	trial := wire.Trial{Candidate: c.order.Candidate, Variant: c.order.Variant, Scenario: c.writing(one.seed), StepLimit: cutPatience, Place: c.raw}
	done, err := s.Client.Trial(ctx, trial, events)
	close(quit)
	over.Wait()
	select {
	case <-cut:
		if ctx.Err() != nil {
			return wire.Done{}, machine.Canceled(ctx)
		}
		return wire.Done{Outcome: result.Done}, nil
	default:
	}
	if err == nil && done.Outcome == result.Done {
		err = result.Fail(result.LabFailed, "", "the work ended before the power was cut")
	}
	return done, err
}

// verify runs the guest that mounts the remains and compares them with the promises. A filesystem
// that cannot be mounted, or has lost something, is a finding, and the outcome is Done.
func (c *cutter) verify(ctx context.Context, one *oneCut, left *remains) (wire.Done, error) {
	p, err := left.verifier(c.host)
	if err != nil {
		return wire.Done{}, err
	}
	s, err := c.session.lab.run(ctx, c.host, p, c.spec)
	if err != nil {
		return wire.Done{}, err
	}
	defer s.Close() //nolint:errcheck // everything needed has arrived
	events := machine.Events{Figures: func(f wire.Figures) {
		for _, m := range f.Measurements {
			if m.Absent == "" {
				one.figures[m.Phase+" "+m.Metric] = m.Value
			}
		}
		one.notes = append(one.notes, f.Notes...)
		one.mounted = one.mounted || f.Phase == phaseMountCut
	}}
	trial := wire.Trial{Candidate: c.order.Candidate, Variant: c.order.Variant, Scenario: c.verifying(one.seed, one.safe), StepLimit: cutPatience}
	if c.raw {
		trial.Chip = chipSerial
	}
	done, err := s.Client.Trial(ctx, trial, events)
	if err != nil {
		// A guest that is crashed by a damaged filesystem is a finding, too.
		if line := labguest.PanicLine(s.Console()); line != "" && ctx.Err() == nil {
			one.reason = "the kernel: " + line
			return wire.Done{Outcome: result.Done}, nil
		}
		return wire.Done{}, err
	}
	if done.Outcome == result.SubjectFailed {
		one.reason = done.Phase + ": " + done.Reason
		done = wire.Done{Outcome: result.Done}
	}
	return done, nil
}
