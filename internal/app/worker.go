package app

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/riverqueue/river"

	"whichfs/internal/host/dataset"
	"whichfs/internal/host/experiment"
	"whichfs/internal/host/machine"
	"whichfs/internal/plan"
	"whichfs/internal/plan/scenario"
	"whichfs/internal/result"
	"whichfs/internal/result/store"
	"whichfs/internal/sys/build"
	"whichfs/internal/sys/cache"
)

// Offer is what a worker offers.
type Offer struct {
	Permission
	Name     string
	Machines []string // by the names that runs give them
	Labels   []string
	Lanes    int // trials at a time where figures repeat; 0: as many as Lanes says
}

// worker takes jobs of one run at a time.
type worker struct {
	app   *App
	offer Offer
	store *store.Store
	fleet *store.Fleet

	mu   sync.Mutex
	self store.Worker
	till map[string]time.Time // of refusals, by run
}

// forgiven is how long a worker leaves a run to others after it failed.
const forgiven = time.Minute

// Work takes jobs of the fleet until ctx ends.
func (a *App) Work(ctx context.Context, o Offer) error {
	for _, m := range o.Machines {
		if _, err := a.machine(m, result.ClockWall); err != nil {
			return err
		}
	}
	st, err := a.Store()
	if err != nil {
		return err
	}
	defer st.Close() //nolint:errcheck // every write was synced
	w := &worker{app: a, offer: o, store: st, till: map[string]time.Time{},
		self: store.Worker{ID: o.Name + "-" + rand.Text()[:8], Name: o.Name, Lanes: o.Lanes, Machines: o.Machines, Labels: o.Labels, Version: a.Version, Refuses: map[string]string{}}}
	leave, err := st.Attend(w.self)
	if err != nil {
		return err
	}
	defer leave()
	if err := st.Beat(w.self); err != nil { // before its first job
		return err
	}
	if w.fleet, err = st.Fleet(); err != nil {
		return err
	}
	defer w.fleet.Close()
	ctx, stop := context.WithCancelCause(ctx)
	var beating sync.WaitGroup
	beating.Go(func() { stop(w.live(ctx)) })
	err = w.seek(ctx)
	stop(nil)
	beating.Wait()
	return err
}

// live writes that the worker lives until ctx ends, and tends the fleet.
func (w *worker) live(ctx context.Context) error {
	for {
		w.mu.Lock()
		self := w.self
		self.Jobs = slices.Clone(self.Jobs)
		self.Refuses = map[string]string{}
		for run, till := range w.till {
			if time.Now().Before(till) {
				self.Refuses[run] = w.self.Refuses[run]
			}
		}
		w.mu.Unlock()
		if err := w.store.Beat(self); err != nil {
			return err
		}
		if _, err := w.app.tend(ctx, w.store, w.fleet); err != nil && ctx.Err() == nil {
			return err
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(store.Every):
		}
	}
}

// seek joins one run after another of which something waits.
func (w *worker) seek(ctx context.Context) error {
	for {
		shared, err := w.store.Shared(1)
		if err != nil {
			return err
		}
		for _, s := range shared {
			if s.Waiting == 0 || w.self.Can(s.Needs, build.Same) != "" || w.refuses(s.Run) || ctx.Err() != nil {
				continue
			}
			if err := w.join(ctx, s); err != nil && ctx.Err() == nil {
				w.refuse(s.Run, err)
			}
			break
		}
		select {
		case <-ctx.Done():
			if cause := context.Cause(ctx); !errors.Is(cause, context.Canceled) {
				return cause
			}
			return nil
		case <-time.After(store.Every / 4):
		}
	}
}

func (w *worker) refuses(run string) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return time.Now().Before(w.till[run])
}

// refuse leaves a run to other workers for a while, and says why.
func (w *worker) refuse(run string, err error) {
	w.app.Note(fmt.Sprintf("run %s: %v", run, err))
	w.mu.Lock()
	defer w.mu.Unlock()
	w.self.Refuses[run], w.till[run] = strings.Join(strings.Fields(err.Error()), " "), time.Now().Add(forgiven)
}

// under notes which jobs are under way.
func (w *worker) under(id int64, begins bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.self.Jobs = slices.DeleteFunc(w.self.Jobs, func(j int64) bool { return j == id }); begins {
		w.self.Jobs = append(w.self.Jobs, id)
	}
}

func (w *worker) busy() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.self.Jobs) > 0
}

// duty is a worker's part in one run. River calls Work.
type duty struct {
	river.WorkerDefaults[store.Job]
	w         *worker
	run       result.Run
	plan      plan.Plan
	supported map[string]bool
	lanes     chan *experiment.Experiment
	failed    context.CancelFunc // leaves the run to others
}

// join does jobs of a run until none waits.
func (w *worker) join(ctx context.Context, s store.Shared) error {
	d := &duty{w: w}
	defer d.end()
	if err := d.begin(ctx, s.Run); err != nil {
		return err
	}
	w.app.Note(fmt.Sprintf("run %s: joined, %s on %s", s.Run, d.run.Study, d.run.Storage))
	workers := river.NewWorkers()
	river.AddWorker(workers, d)
	client, err := w.fleet.Client(river.Config{
		ID: w.self.ID, Workers: workers, Queues: map[string]river.QueueConfig{s.Queue: {MaxWorkers: cap(d.lanes)}},
		FetchCooldown: 20 * time.Millisecond, FetchPollInterval: 2 * time.Second,
	})
	if err != nil {
		return err
	}
	here, failed := context.WithCancel(ctx)
	defer failed()
	d.failed = failed
	if err := client.Start(context.WithoutCancel(ctx)); err != nil {
		w.app.Note(fmt.Sprintf("run %s: %v; trying again", s.Run, err)) // the database is away: that is not the run's fault
		return nil
	}
	for idle := 0; here.Err() == nil && idle < 2; {
		select {
		case <-here.Done():
		case <-time.After(store.Every / 2):
		}
		shared, err := w.store.Shared(1)
		at := slices.IndexFunc(shared, func(o store.Shared) bool { return o.Run == s.Run })
		switch {
		case err == nil && at < 0: // it was cancelled, or has ended
			failed()
		case err == nil && shared[at].Waiting == 0 && !w.busy():
			idle++
		default:
			idle = 0
		}
	}
	end, stop := context.WithoutCancel(ctx), client.Stop
	if here.Err() != nil {
		stop = client.StopAndCancel
	}
	return stop(end)
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

// fetch finds the trees that a run needs on this machine, or gets them from the database.
func (w *worker) fetch(ctx context.Context, data []scenario.Data) error {
	for i := range data {
		d := &data[i]
		if d.Kind != "tree" || dataset.Verify(*d) == nil {
			continue
		}
		dir, err := cache.Sub("fleet")
		if err != nil {
			return err
		}
		d.Path = filepath.Join(dir, strings.NewReplacer("/", "-", ":", "-").Replace(d.Digest)+".tar")
		if dataset.Verify(*d) == nil {
			continue
		}
		w.app.Note("fetching data set " + d.Name)
		if err := w.get(ctx, *d); err != nil {
			return fmt.Errorf("data set %s: %w", d.Name, err)
		}
	}
	return nil
}

// get fetches one tree, and verifies it before it has its name.
func (w *worker) get(ctx context.Context, d scenario.Data) error {
	f, err := os.CreateTemp(filepath.Dir(d.Path), ".fetching-*")
	if err != nil {
		return err
	}
	defer os.Remove(f.Name()) //nolint:errcheck // it has its name then
	there, err := w.fleet.GetFile(ctx, d.Digest, f)
	if err := errors.Join(err, f.Close()); err != nil {
		return err
	}
	if !there {
		return result.Refuse("whichfs resume on the machine that has it keeps it there", "it is neither on this machine nor in the database: %s", d.Digest)
	}
	final := d.Path
	d.Path = f.Name()
	if err := dataset.Verify(d); err != nil {
		return err
	}
	return os.Rename(f.Name(), final)
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
	if err := w.fleet.HandOn(context.WithoutCancel(ctx), job.ID, mine); err != nil {
		w.app.Note(err.Error())
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
		select {
		case <-ctx.Done():
		case <-time.After(time.Second):
		}
		return errLater
	}
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

// others reports whether another worker could do a run's trials.
func (w *worker) others(run result.Run, p plan.Plan) bool {
	workers, err := w.store.Workers()
	needs := store.Needs{Machine: p.Machine, Version: run.Version, Labels: p.Labels}
	return err != nil || slices.ContainsFunc(workers, func(o store.Worker) bool {
		return o.Name != w.self.Name && o.Lives && o.Seen < store.Gone && o.Can(needs, build.Same) == "" && o.Refuses[run.ID] == ""
	})
}

// part is the store of one job: other workers write to the run as well.
type part struct {
	d    *duty
	job  int64
	keep map[int]result.Trial // trials by place, instead of storing them; nil: store them

	conditions, notes int // that the run had when it was merged
}

func (s *part) BeginTrial(string, result.Trial) (int64, error) { return 0, nil } // it is stored when it has ended

func (s *part) FinishTrial(t result.Trial) error {
	t.Worker = s.d.w.self.Name
	if s.keep != nil {
		s.keep[t.Place] = t
		return nil
	}
	if err := s.d.w.store.AddTrial(s.d.run.ID, t, s.job); err != nil {
		return err
	}
	text := fmt.Sprintf("run %s: round %d  %s  %.1f s", s.d.run.ID, t.Round, t.Named(), t.Ended.Sub(t.Started).Seconds())
	if t.Outcome != result.Done {
		text += fmt.Sprintf("  %s in %s: %s", t.Outcome, t.Phase, strings.Join(strings.Fields(t.Reason), " "))
	}
	s.d.w.app.Note(text)
	return nil
}

func (s *part) UpdateRun(r result.Run) error {
	if s.keep != nil || len(r.Conditions) == max(s.conditions, len(s.d.run.Conditions)) && len(r.Notes) == max(s.notes, len(s.d.run.Notes)) {
		return nil
	}
	there, err := s.d.w.store.MergeRun(r)
	if err != nil {
		return err
	}
	s.conditions, s.notes = len(r.Conditions), len(r.Notes)
	return experiment.Conflict(there, r.Conditions)
}

func (s *part) SetSupport(run string, list []result.Support) error {
	lacks := "all"
	if len(list) > 0 {
		var names []string
		for _, c := range list {
			names = append(names, c.Candidate)
		}
		lacks = "all but " + strings.Join(names, "; ")
	}
	// Workers must agree on it, or some rounds would have candidates that others lack.
	can := []result.Condition{{Group: "run", Name: "candidates that can run", Value: lacks, Matters: true}}
	there, err := s.d.w.store.MergeRun(result.Run{ID: run, Conditions: can})
	if err == nil {
		err = experiment.Conflict(there, can)
	}
	if err != nil || len(list) == 0 {
		return err
	}
	return s.d.w.store.SetSupport(run, list)
}

func (s *part) Trials(run string) ([]result.Trial, error) { return s.d.w.store.Trials(run) }

// Cancel ends a run that another process or the fleet is carrying out, and returns its ID.
func (a *App) Cancel(name string) (id string, err error) {
	st, err := a.ExistingStore()
	if err != nil {
		return "", err
	}
	defer st.Close() //nolint:errcheck // every write was synced
	r, err := st.Run(name)
	if err != nil {
		return "", err
	}
	return r.ID, st.Cancel(r.ID)
}
