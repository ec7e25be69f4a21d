package app

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"sync/atomic"
	"time"

	"github.com/riverqueue/river"

	"whichfs/internal/host/experiment"
	"whichfs/internal/host/machine"
	"whichfs/internal/plan"
	"whichfs/internal/result"
	"whichfs/internal/result/store"
)

// duty is a worker's part in one run. River calls Work.
type duty struct {
	river.WorkerDefaults[store.Job]
	w         *worker
	run       result.Run
	plan      plan.Plan
	supported map[string]bool
	lanes     chan *experiment.Experiment
	failed    context.CancelFunc // leaves the run to others
	unfit     atomic.Int32       // comparisons, one after another, that are for other workers
}

// end gives back what somebody has lent for the run.
func (d *duty) end() {
	for range len(d.lanes) {
		d.w.app.giveBack((<-d.lanes).Machine)
	}
}

// begin makes ready for a run: its data, its machine, what it requires.
func (d *duty) begin(ctx context.Context, id string) (err error) {
	w := d.w
	if d.run, err = w.store.Run(id); err != nil {
		return err
	}
	if d.plan, err = plan.Decode(d.run.Plan); err != nil {
		return err
	}
	if err := w.fetch(ctx, d.plan.Data); err != nil {
		return err
	}
	lanes := 1
	if d.plan.Repeats() || d.plan.Untimed {
		if lanes = w.offer.Lanes; lanes == 0 {
			lanes = Lanes(d.plan)
		}
	}
	d.lanes = make(chan *experiment.Experiment, lanes)
	for try := 0; ; try++ {
		e, err := d.experiment()
		if err != nil {
			return err
		}
		d.supported, err = e.Join(ctx)
		if err == nil {
			d.run = e.Run
			d.lanes <- e
			break
		}
		w.app.giveBack(e.Machine)
		// Another worker may have been the first to describe the run meanwhile.
		if try > 0 || ctx.Err() != nil {
			return err
		}
		if d.run, err = w.store.Run(id); err != nil {
			return err
		}
	}
	for range lanes - 1 {
		e, err := d.experiment()
		if err != nil {
			return err
		}
		d.lanes <- e
	}
	return nil
}

// experiment carries out trials of the run on a machine of its own.
func (d *duty) experiment() (*experiment.Experiment, error) {
	w, p := d.w, d.plan
	m, err := w.app.machine(p.Machine, p.Clock)
	if err != nil {
		return nil, err
	}
	may := w.offer.Permission
	if may.Work, err = workDir(p.Machine, may.Work); err != nil {
		return nil, err
	}
	j := Job{machines: map[string]machine.Machine{p.Machine: m}, may: may}
	if err := j.check([]plan.Plan{p}); err != nil {
		return nil, err
	}
	evidence, err := w.app.Evidence(d.run.ID)
	if err != nil {
		return nil, err
	}
	e := &experiment.Experiment{Run: d.run, Plan: p, Machine: m, Spec: specOf(p, may, 0), Known: probeCondition(w.store, p.Storage), Evidence: evidence, Worker: w.self.Name,
		Store: &part{d: d}}
	e.Observer.Note = w.app.Note
	return e, nil
}

// Timeout of River: none, since a round may take hours.
func (d *duty) Timeout(*river.Job[store.Job]) time.Duration { return -1 }

// Work does a job. Its errors are ours: River would wait by this machine's clock.
func (d *duty) Work(ctx context.Context, job *river.Job[store.Job]) error {
	w := d.w
	w.under(job.ID, true)
	defer w.under(job.ID, false)
	lane := <-d.lanes
	defer func() { d.lanes <- lane }()
	do := d.trials
	if job.Args.Check {
		do = d.again
	}
	err := do(ctx, lane, job)
	if err == nil || errors.Is(err, store.ErrTaken) {
		return nil
	}
	mine := ctx.Err() == nil && !errors.Is(err, errLater)
	if mine {
		w.refuse(d.run.ID, err)
		d.failed()
	}
	if failed := w.fleet.HandOn(context.WithoutCancel(ctx), job.ID, mine); failed != nil {
		w.app.Note(failed.Error())
	}
	if errors.Is(err, errLater) {
		// The next one may fit; the longer none does, the more likely only others can go on, who can take it
		// meanwhile. By chance, since two workers in step would each meet its own trials again and again.
		select {
		case <-ctx.Done():
		case <-time.After(rand.N(min(10*time.Millisecond<<min(d.unfit.Add(1), 10), 2*time.Second))):
		}
	}
	return nil
}

// byRounds: candidates are compared within rounds, and so within one machine.
func (d *duty) byRounds() bool { return !d.plan.Repeats() && !d.plan.Untimed }

// slots are those of a job whose candidates can run.
func (d *duty) slots(job store.Job) []plan.Slot {
	return slices.DeleteFunc(plan.Round(d.plan, job.Round), func(s plan.Slot) bool {
		return !d.byRounds() && !slices.Contains(job.Places, s.Place) || !d.supported[s.Candidate.String()]
	})
}

// trials does those trials of a job that are not there yet.
func (d *duty) trials(ctx context.Context, e *experiment.Experiment, job *river.Job[store.Job]) error {
	read := d.w.store.TrialsOfRound
	if d.plan.Repeats() { // no other work disturbs
		read = d.w.store.EndedOf
	}
	there, err := read(d.run.ID, job.Args.Round)
	if err != nil {
		return err
	}
	if d.byRounds() && slices.ContainsFunc(there, func(t result.Trial) bool { return t.Worker != d.w.self.Name }) {
		if err := d.w.store.DropRound(d.run.ID, job.Args.Round, job.ID); err != nil {
			return err
		}
		there = nil
	}
	rest := slices.DeleteFunc(plan.Remaining(d.slots(job.Args), there), func(s plan.Slot) bool { return s.Again && d.plan.KeepDisturbed })
	e.Store = &part{d: d, job: job.ID}
	return e.Do(ctx, rest)
}

// errLater: a comparison is not this worker's to make now.
var errLater = errors.New("another worker makes the comparison")

// again does trials of another worker once more, and compares.
func (d *duty) again(ctx context.Context, e *experiment.Experiment, job *river.Job[store.Job]) error {
	w, args := d.w, job.Args
	there, err := w.store.TrialsOfRound(d.run.ID, args.Round)
	if err != nil {
		return err
	}
	slots := d.slots(args)
	var mine, missing bool
	was := map[int]result.Trial{}
	for _, t := range result.Counted(there) {
		was[t.Place] = t
	}
	for _, s := range slots {
		t, ok := was[s.Place]
		missing, mine = missing || !ok, mine || t.Worker == w.self.Name
	}
	switch {
	case mine && !w.others(d.run, d.plan):
		return w.store.AddRepeat(d.run.ID, store.Repeat{Round: args.Round, Place: args.Places[0]})
	case missing || mine:
		return errLater
	}
	d.unfit.Store(0)
	got := &part{d: d, job: job.ID, keep: map[int]result.Trial{}}
	e.Store = got
	if err := e.Do(ctx, slots); err != nil {
		return err
	}
	for _, s := range slots {
		old := was[s.Place]
		r := store.Repeat{Round: s.Round, Place: s.Place, Workers: old.Worker + " and " + w.self.Name, Differs: differs(d.plan, old, got.keep[s.Place])}
		if err := w.store.AddRepeat(d.run.ID, r); err != nil {
			return err
		}
	}
	return nil
}
