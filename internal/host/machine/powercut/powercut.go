// Package powercut cuts the power of guests or of a board while a filesystem is being written, and adds up
// what was left. It is the same for every lab; how a guest is started and ended, and what becomes of
// its storage then, is the lab's (Storage).
package powercut

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"time"

	"whichfs/internal/host/machine"
	"whichfs/internal/host/machine/labguest"
	"whichfs/internal/plan/media"
	"whichfs/internal/plan/scenario"
	"whichfs/internal/result"
	"whichfs/internal/wire"
)

const (
	// The power is cut at a time after the first promise that is drawn evenly between these two:
	// late enough for requests to be in flight, early enough for twenty cuts to take minutes where
	// the clock is the real one.
	soonest, latest = 200 * time.Millisecond, 3 * time.Second
	// mostSpace is the maximum total size of the files, in bytes; less on small storage.
	mostSpace = 8 << 20
	// patience is how long a step after a cut may take, in seconds: a mount that reads everything is
	// slow but not a failure.
	patience = 180

	// tries is how often a cut is begun that fails for other reasons than the filesystem's, and missed how
	// many in a row may fail so: then the machine does.
	tries, missed = 3, 2

	phaseAttach = "attach-cut"
	phaseMount  = "mount-cut"
	phaseVerify = "verify"
	dir         = "synced"
)

// Storage is that of one cut, unused at first. Its methods are called in this order, each at most
// once; they start the guests that they need, and end them.
type Storage interface {
	// Write carries out a trial and cuts the power at an instant after its first promise. safe
	// receives every promise before the cut. Its answer is Ended's.
	Write(ctx context.Context, t wire.Trial, after time.Duration, safe func(number int64)) (wire.Done, error)
	// Neighbours are the bytes that were flushed, and that the storage lost with a merge.
	Neighbours() int64
	// Verify carries out a trial on what the cut has left.
	Verify(ctx context.Context, t wire.Trial, events machine.Events) (wire.Done, error)
	// Keep stores what the cut had left, before it was verified, in a file of this name, without an
	// ending, and says where it is, or why there is none (Save).
	Keep(ctx context.Context, dir, name string) string
	Close()
}

// cuts are those of one candidate.
type cuts struct {
	order machine.Cut
	under media.Storage
	fresh func(seed uint64) (Storage, error)
}

// Run carries out an order, as machine.Cutter has it, on storage that is simulated in the lab, or on a
// board's device. fresh makes the storage of one cut, with the seed of its guests.
func Run(ctx context.Context, order machine.Cut, under media.Storage, fresh func(seed uint64) (Storage, error), events machine.Events) (wire.Done, error) {
	c := cuts{order, under, fresh}
	if done := c.possible(); done.Outcome != result.Done {
		return done, nil
	}
	if events.Phase != nil {
		events.Phase(result.CutPhase)
	}
	t := tally{space: c.space()}
	had, err := openJournal(order, under)
	if err != nil {
		return wire.Done{}, err
	}
	done, err := c.all(ctx, had, &t)
	if err = errors.Join(err, had.close(err == nil)); err != nil {
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
	return done, nil
}

// No is the answer to an order that cannot be carried out.
func No(outcome result.Outcome, format string, args ...any) wire.Done {
	return wire.Done{Outcome: outcome, Phase: result.CutPhase, Reason: fmt.Sprintf(format, args...)}
}

// possible says why the power cannot be cut; Done if it can.
func (c cuts) possible() wire.Done {
	switch {
	case c.order.Candidate.Err() != nil:
		return No(result.Refused, "%v", c.order.Candidate.Err())
	case c.order.Repeats < 1:
		return No(result.Refused, "%d cuts", c.order.Repeats)
	case c.order.Variant.Part != nil:
		return No(result.Refused, "power can be cut only for the whole storage, not for a part of it")
	case c.order.Candidate.Imaged():
		return No(result.Unsupported, "%s comes as an image: no write can be interrupted by a cut", c.order.Candidate)
	case c.order.Candidate.Forgets() != "":
		return No(result.Unsupported, "%s", c.order.Candidate.Forgets())
	case c.under.Kind != media.KindNAND && c.under.Kind != media.KindSim && c.under.Kind != media.KindDevice:
		return No(result.Unsupported, "storage %s is a plain file or memory, which loses nothing, or everything, when its guest is killed: that is not a power cut", c.under)
	}
	return wire.Done{Outcome: result.Done}
}

// guests are those of cuts that may run at the same time, one per processor of the host.
var guests = make(chan struct{}, max(1, runtime.NumCPU()))

// all performs the cuts, as many at a time as there are processors, and adds them in order. A cut that the machine
// has spoiled is missing; several in a row end the others, as does a filesystem that fails before a cut. Those that
// an interrupted order has made are not made again.
func (c cuts) all(ctx context.Context, had *journal, t *tally) (wire.Done, error) {
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
		if one, ok := had.cuts[i+1]; ok {
			answers[i] <- answer{one: one, done: wire.Done{Outcome: result.Done}}
			continue
		}
		over.Add(1)
		go func() {
			defer over.Done()
			select {
			case guests <- struct{}{}:
			case <-ctx.Done():
				answers[i] <- answer{err: machine.Canceled(ctx)}
				return
			}
			defer func() { <-guests }()
			one, done, err := c.tried(ctx, i)
			if err == nil && done.Outcome == result.Done {
				err = had.add(one)
			}
			answers[i] <- answer{one, done, err}
		}()
	}
	lost := 0 // in a row
	for i := range answers {
		a := <-answers[i]
		if lost++; len(a.one.Failed) < tries {
			lost = 0
		} else if left := len(answers) - i - 1; lost < missed && t.done+left > 0 {
			t.miss(a.one)
			continue
		}
		if a.err != nil || a.done.Outcome != result.Done {
			return a.done, a.err
		}
		t.add(a.one)
	}
	return wire.Done{Outcome: result.Done}, nil
}

// spoiled reports whether a cut has failed for other reasons than the filesystem's, or those of the order.
func spoiled(done wire.Done, err error) bool {
	if err == nil {
		return done.Outcome == result.LabFailed
	}
	f := result.FailureOf(err)
	return f == nil || f.Outcome != result.Unsupported
}

// tried performs one cut, and begins it anew where it was spoiled.
func (c cuts) tried(ctx context.Context, number int) (oneCut, wire.Done, error) {
	var failed []string
	for {
		one, done, err := c.cut(ctx, number)
		bad := spoiled(done, err) && ctx.Err() == nil
		if bad {
			why := done.Reason
			if err != nil {
				why = err.Error()
			}
			failed = append(failed, why)
		}
		if one.Failed = failed; !bad || len(failed) == tries {
			return one, done, err
		}
	}
}

// space is the total size of the files, in bytes: small enough for a chip of 8 MiB with UBI on it.
func (c cuts) space() int64 {
	size := c.under.Size
	if v := c.order.Variant.Size; v > 0 {
		size = v
	}
	if size == 0 {
		return mostSpace
	}
	return min(mostSpace, max(size/8, 512<<10))
}

// layers are the steps up to the filesystem's own; Only omits those that the candidate lacks.
func (c cuts) layers(made bool, attach string) []scenario.Step {
	if !c.under.Raw() {
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
func (c cuts) writing(seed uint64) scenario.Scenario {
	return append(c.layers(false, ""), scenario.Step{Work: "mkfs"}, scenario.Step{Work: "mount"},
		scenario.Step{Work: "sync-files", Dir: dir, Size: c.space(), Seed: seed, Share: c.order.Unsynced})
}

// verifying are the steps after the cut.
func (c cuts) verifying(seed uint64, safe int64) scenario.Scenario {
	return append(c.layers(true, phaseAttach), scenario.Step{Work: "mount", Phase: phaseMount},
		scenario.Step{Work: "sync-verify", Phase: phaseVerify, Dir: dir, Size: c.space(), Seed: seed, Ops: int(safe), Share: c.order.Unsynced},
		scenario.Step{Work: "unmount"})
}

// trial is one of the candidate's.
func (c cuts) trial(steps scenario.Scenario) wire.Trial {
	return wire.Trial{Candidate: c.order.Candidate, Variant: c.order.Variant, Scenario: steps, StepLimit: patience}
}

// oneCut is the outcome of one cut.
type oneCut struct {
	Number  int
	Seed    uint64
	After   float64 // s from the first promise to the cut
	Safe    int64   // the last promise
	Merge   int64   // B that were flushed, and that the storage lost with a merge
	Mounted bool
	Reason  string             // why it could not be mounted
	Figures map[string]float64 // of the verification: phase and metric
	Notes   []result.Note
	Kept    string   // where the contents are kept, or why not
	Failed  []string // why it was begun anew
}

// drawOf are the random draws of one cut, and seedOf is the first of them, the seed of its guests: as precise as JSON's
// numbers.
func drawOf(order machine.Cut, number int) *rand.Rand {
	return rand.New(rand.NewPCG(order.Seed, uint64(number)))
}

func seedOf(draw *rand.Rand) uint64 { return draw.Uint64() >> 11 }

// cut performs one cut. Its random draws depend only on the seed and its number.
func (c cuts) cut(ctx context.Context, number int) (oneCut, wire.Done, error) {
	draw := drawOf(c.order, number)
	one := oneCut{Number: number + 1, Seed: seedOf(draw), Figures: map[string]float64{}}
	after := soonest + time.Duration(draw.Float64()*float64(latest-soonest))
	one.After = after.Seconds()
	storage, err := c.fresh(one.Seed)
	if err != nil {
		return one, wire.Done{}, err
	}
	defer storage.Close()
	done, err := storage.Write(ctx, c.trial(c.writing(one.Seed)), after, func(number int64) { one.Safe = number })
	if err != nil || done.Outcome != result.Done {
		return one, done, err
	}
	one.Merge = storage.Neighbours()
	done, err = c.verify(ctx, &one, storage)
	if err == nil && done.Outcome == result.Done && one.lost() {
		one.Kept = "its contents were not kept"
		if c.order.Keep != "" {
			one.Kept = storage.Keep(ctx, c.order.Keep, fmt.Sprintf("cut-%s-%d", fileName(c.order.Candidate.String()), one.Number))
		}
	}
	return one, done, err
}

// Ended is the answer of a trial whose power was to be cut: Done if it was.
func Ended(ctx context.Context, cut bool, done wire.Done, err error) (wire.Done, error) {
	switch {
	case cut && ctx.Err() != nil:
		return wire.Done{}, machine.Canceled(ctx)
	case cut:
		return wire.Done{Outcome: result.Done}, nil
	case err == nil && done.Outcome == result.Done:
		err = result.Fail(result.LabFailed, "", "the work ended before the power was cut")
	}
	return done, err
}

// verify mounts the remains and compares them with the promises. A filesystem that cannot be
// mounted, or has lost something, is a finding, and the outcome is Done.
func (c cuts) verify(ctx context.Context, one *oneCut, storage Storage) (wire.Done, error) {
	events := machine.Events{Figures: func(f wire.Figures) {
		for _, m := range f.Measurements {
			if m.Absent == "" {
				one.Figures[m.Phase+" "+m.Metric] = m.Value
			}
		}
		one.Notes = append(one.Notes, f.Notes...)
		one.Mounted = one.Mounted || f.Phase == phaseMount
	}}
	done, err := storage.Verify(ctx, c.trial(c.verifying(one.Seed, one.Safe)), events)
	if e := (*result.Failure)(nil); errors.As(err, &e) && ctx.Err() == nil {
		// A guest that is crashed by a damaged filesystem is a finding, too.
		if line := labguest.PanicLine(e.Console); line != "" {
			one.Reason = "the kernel: " + line
			return wire.Done{Outcome: result.Done}, nil
		}
	}
	if err == nil && done.Outcome == result.SubjectFailed {
		one.Reason = done.Phase + ": " + done.Reason
		done = wire.Done{Outcome: result.Done}
	}
	return done, err
}

// Save writes a file, and says where it is, or why there is none.
func Save(dir, name string, write func(io.Writer) error) string {
	path := filepath.Join(dir, name)
	err := os.MkdirAll(dir, 0o755)
	var f *os.File
	if err == nil {
		f, err = os.Create(path)
	}
	if err == nil {
		err = errors.Join(write(f), f.Close())
	}
	if err != nil {
		return NotKept(err)
	}
	return "its contents before it was mounted again: " + path
}

// NotKept says why there is no file.
func NotKept(err error) string { return "its contents could not be kept: " + err.Error() }

// fileName is a candidate as part of a file name.
func fileName(candidate string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9', r == '.', r == '@', r == '+':
			return r
		}
		return '-'
	}, candidate)
}
