package app

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"whichfs/internal/filesystem"
	"whichfs/internal/host/lab"
	"whichfs/internal/host/machine"
	"whichfs/internal/plan"
	"whichfs/internal/plan/media"
	"whichfs/internal/plan/processor"
	"whichfs/internal/plan/scenario"
	"whichfs/internal/plan/study"
	"whichfs/internal/result"
	"whichfs/internal/result/store"
	"whichfs/internal/sys/build"
	"whichfs/internal/target/meter"
	"whichfs/internal/target/speed"
)

// findKernels checks that every kernel is available. It is fetched when first booted.
func findKernels(ctx context.Context, arch string, versions []string) error {
	of, err := ArchNamed(arch)
	if err != nil {
		return err
	}
	for _, version := range versions {
		if _, err := lab.FindKernel(ctx, of, version); err != nil {
			return fmt.Errorf("--kernels: %w", err)
		}
	}
	return nil
}

// runs makes the runs for the plans and completes the plans.
func (a *App) runs(st *store.Store, q Ask, plans []plan.Plan, sets []scenario.Data) ([]result.Run, error) {
	var runs []result.Run
	for i := range plans {
		p := &plans[i]
		p.Data = used(sets, *p)
		var extra []result.Condition
		var notes []result.Note
		if len(q.Memory) == 0 {
			had := p.Memory
			if p.Memory = roomy(plans[i : i+1])[0].Memory; p.Memory > had {
				notes = append(notes, result.Note{Level: result.Info, Text: fmt.Sprintf("guests have %s of memory, where the study's machine had %s: it is the least that holds the data and what they work with",
					media.FormatSize(p.Memory), media.FormatSize(had))})
			}
		}
		if q.Tuned {
			spec, _ := media.Parse(p.Storage) // parsed before
			var tuned result.Condition
			var err error
			if p.Candidates, tuned, err = addTuned(p.Candidates, st, p.Storage, spec.Size); err != nil {
				return nil, err
			}
			extra = append(extra, tuned)
		}
		if err := p.Check(); err != nil {
			return nil, result.Refuse("", "%v", err)
		}
		run, err := a.newRun(*p)
		if err != nil {
			return nil, err
		}
		run.Conditions, run.Notes = append(run.Conditions, extra...), append(run.Notes, notes...)
		if len(plans) > 1 {
			run.State = result.Interrupted // until its turn comes
			run.Series = append(runs, run)[0].ID
		}
		runs = append(runs, run)
	}
	return runs, nil
}

// used are the data sets that a plan's steps name: the work may use others on other storage of the
// study.
func used(sets []scenario.Data, p plan.Plan) []scenario.Data {
	return slices.DeleteFunc(slices.Clone(sets), func(d scenario.Data) bool {
		names := func(s scenario.Step) bool { return s.Data == d.Name }
		return !slices.ContainsFunc(p.ReadWrite, names) && !slices.ContainsFunc(p.ReadOnly, names)
	})
}

func (a *App) newRun(p plan.Plan) (result.Run, error) {
	now := time.Now().UTC()
	r := result.Run{
		ID:    NewID(now),
		Study: p.Study, Scale: p.Scale, Machine: p.Machine, Storage: p.Storage, Clock: p.Clock, Seed: p.Seed, Rounds: p.Rounds,
		Candidates: filesystem.Texts(p.Candidates), Margin: p.Margin, Version: a.Version, Started: now, State: result.Running,
	}
	if p.Processor != nil && p.Virtual() {
		r.Processor, r.Predicted = p.Processor.Name, p.Predicted
	}
	var err error
	if r.Plan, err = p.Encode(); err != nil {
		return r, err
	}
	for _, text := range p.Changed {
		r.Notes = append(r.Notes, result.Note{Level: result.Info, Text: text})
	}
	if p.Precondition {
		r.Notes = append(r.Notes, unconditioned(p.Candidates)...)
	}
	if st, _ := study.ByName(p.Study); len(p.Modules) > 0 && st.Scales[p.Scale].Boots > 0 {
		r.Notes = append(r.Notes, result.Note{Level: result.Info, Text: "nothing boots from the filesystems: such a guest uses its kernel's own modules, and not those given with --module"})
	}
	for _, d := range p.Data {
		value := fmt.Sprintf("%d bytes, %s", d.Size, d.Digest)
		if d.Files > 0 {
			value = fmt.Sprintf("%d files, %d bytes, %s", d.Files, d.Size, d.Digest)
		}
		r.Conditions = append(r.Conditions, result.Condition{Group: "data", Name: d.Name, Value: value, Matters: true})
		if text := leftOut(d.Skipped); text != "" {
			r.Notes = append(r.Notes, result.Note{Level: result.Warning, Text: "left out of the " + d.Name + ": " + text})
		}
		for _, text := range d.Notes {
			r.Notes = append(r.Notes, result.Note{Level: result.Warning, Text: text})
		}
	}
	r.Conditions = append(r.Conditions, clockCondition(p), preconditioned(p),
		result.Condition{Group: "run", Name: "whichfs", Value: a.Version},
		result.Condition{Group: "run", Name: "copies of tree and stream", Value: copies(p)},
	)
	return r, nil
}

// leftOut counts what a data set lacks: "block devices (2), sockets (1)".
func leftOut(skipped map[string]int) string {
	var parts []string
	for _, kind := range slices.Sorted(maps.Keys(skipped)) {
		parts = append(parts, fmt.Sprintf("%s (%d)", kind, skipped[kind]))
	}
	return strings.Join(parts, ", ")
}

func copies(p plan.Plan) string {
	for _, s := range p.ReadWrite {
		if s.Phase == "write" {
			return fmt.Sprint(s.Count)
		}
	}
	return "1"
}

// clockCondition keeps runs with different kinds of figures apart.
func clockCondition(p plan.Plan) result.Condition {
	c := result.Condition{Group: "machine", Name: "clock", Value: result.ClockWall, Matters: true}
	if p.Instructions() {
		c.Value = "counts instructions (" + meter.Instruction.String() + " each)"
	}
	if p.Virtual() {
		c.Value = "virtual: only the storage takes time, the processor none"
	}
	if p.Processor != nil && p.Virtual() {
		c.Value = "virtual: the storage and the processor " + p.Processor.Name + " take time"
	}
	if p.Processor != nil && !p.Virtual() {
		c.Value += ", with a processor of " + p.Processor.Name
	}
	return c
}

// preconditioned says whether trials begin on storage at its steady speed.
func preconditioned(p plan.Plan) result.Condition {
	c := result.Condition{Group: "run", Name: "preconditioned", Value: "no", Matters: true}
	if p.Precondition {
		c.Value = "yes, after the first mount"
	}
	return c
}

// unconditioned notes which candidates do not begin on storage at its steady speed although that
// was requested.
func unconditioned(candidates []filesystem.Candidate) []result.Note {
	var names []string
	for _, c := range candidates {
		if c.Imaged() {
			names = append(names, c.String())
		}
	}
	if len(names) == 0 {
		return nil
	}
	return []result.Note{{Level: result.Warning,
		Text: "read-only filesystems are not written to, so the storage was not preconditioned for " + strings.Join(names, ", ")}}
}

// measureHost gives plans the figures of this machine's processor where they ask for them. A run that is
// resumed has them in its plan.
func (a *App) measureHost(plans []plan.Plan) error {
	asks := func(p plan.Plan) bool { return p.Processor != nil && !p.Processor.Measured() }
	if !slices.ContainsFunc(plans, asks) {
		return nil
	}
	a.Note(fmt.Sprintf("measuring this machine's processor, for %.0f s", speed.Quick.Seconds()))
	m, err := speed.Measure(processor.Host, speed.Quick)
	if err != nil {
		return fmt.Errorf("--cpu host: %w", err)
	}
	if warning := m.Warning(); warning != "" {
		a.Note(warning)
	}
	for i := range plans {
		if asks(plans[i]) {
			plans[i].Processor = &m.Profile
		}
	}
	return nil
}

// Job is a list of runs that this process holds and will carry out one after another. The caller
// closes it.
type Job struct {
	Runs  []result.Run
	Plans []plan.Plan // of the runs, by their place
	Store *store.Store

	app      *App
	machines map[string]machine.Machine // of the plans, by name
	may      Permission
	release  func()
	// cancelled ends when somebody cancels one of the runs from outside.
	cancelled context.Context
	cancel    context.CancelFunc
}

func (a *App) job(may Permission) *Job {
	j := &Job{app: a, may: may}
	j.cancelled, j.cancel = context.WithCancel(context.Background())
	return j
}

// take makes the machines of the plans.
func (j *Job) take() (err error) {
	j.machines = map[string]machine.Machine{}
	for _, p := range j.Plans {
		if j.machines[p.Machine] != nil {
			continue
		}
		if err := checkWork(p.Machine, j.may.Work); err != nil {
			return err
		}
		if j.machines[p.Machine], err = j.app.machine(p.Machine, p.Clock); err != nil {
			return err
		}
	}
	return nil
}

// Begin makes the requested runs and the data sets that they need.
func (a *App) Begin(ctx context.Context, q Ask) (job *Job, err error) {
	plans, needs, err := q.Plans()
	if err != nil {
		return nil, err
	}
	j := a.job(q.Permission)
	j.Plans = plans
	if q.Fleet {
		if err := shareable(plans, q); err != nil {
			return nil, err
		}
	} else if err := j.prepare(); err != nil { // before making data sets in vain
		return nil, err
	}
	if !q.Fleet && (!plans[0].Virtual() && plans[0].Machine == "lab" || plans[0].Boots != nil) {
		if err := findKernels(ctx, plans[0].Arch, q.Kernels); err != nil {
			return nil, err
		}
	}
	if j.Store, err = a.Store(); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			j.Close()
		}
	}()
	sets, err := a.dataSets(ctx, q, needs)
	if err != nil {
		return nil, err
	}
	if err := a.measureHost(plans); err != nil {
		return nil, err
	}
	if j.Runs, err = a.runs(j.Store, q, plans, sets); err != nil {
		return nil, err
	}
	if j.release, err = hold(j.Store, j.Runs, j.cancel); err != nil {
		return nil, err
	}
	if err := j.check(plans); err != nil && !q.Fleet { // a level's guest may be too small for the data
		return nil, err
	}
	for i, run := range j.Runs {
		if err := j.Store.CreateRun(run, len(plan.Trials(plans[i]))); err != nil {
			return nil, err
		}
	}
	for _, n := range j.Runs[0].Notes {
		a.Note(n.Text)
	}
	if q.Fleet {
		return j, j.share(ctx)
	}
	return j, nil
}

// prepare makes the machines of a job, and refuses what they cannot do.
func (j *Job) prepare() error {
	if err := j.take(); err != nil {
		return err
	}
	return j.check(roomy(j.Plans))
}

// Resume resumes the rest of a run and of its series. rounds above 0 is the new total. A job
// without runs has nothing left to do; run is the one that was named.
func (a *App) Resume(id string, rounds int, may Permission) (job *Job, run result.Run, err error) {
	j := a.job(may)
	if j.Store, err = a.ExistingStore(); err != nil {
		return nil, run, err
	}
	defer func() {
		if err != nil {
			j.Close()
		}
	}()
	if run, err = j.Store.Run(id); err != nil {
		return nil, run, err
	}
	runs, err := SeriesOf(j.Store, run)
	if err != nil {
		return nil, run, err
	}
	if going, err := j.going(runs); going || err != nil {
		return j, run, err
	}
	if j.release, err = hold(j.Store, runs, j.cancel); err != nil {
		return nil, run, err
	}
	for _, r := range runs {
		r, p, more, err := goOn(j.Store, r.ID, rounds)
		if err != nil {
			return nil, run, err
		}
		if more {
			if !build.Same(r.Version, a.Version) {
				return nil, run, result.Refuse("resume it with whichfs "+r.Version+", or begin it anew: its figures and those of this version may not mix; whichfs report "+r.ID+" shows what there is",
					"run %s was begun by whichfs %s, and this is %s", r.ID, r.Version, a.Version)
			}
			j.Runs, j.Plans = append(j.Runs, r), append(j.Plans, p)
		}
	}
	if len(j.Runs) == 0 {
		return j, run, nil
	}
	if j.Plans[0].Fleet {
		return j, run, j.share(context.Background())
	}
	if err := j.take(); err != nil {
		return nil, run, err
	}
	return j, run, j.check(j.Plans)
}

// Close releases the runs, and a machine that somebody has lent.
func (j *Job) Close() {
	j.cancel()
	for _, m := range j.machines {
		j.app.giveBack(m)
	}
	if j.release != nil {
		j.release()
	}
	if j.Store != nil {
		_ = j.Store.Close() // every write was synced
	}
}

// goOn reads a run and its plan once no other process holds it; more says whether any of it is left
// to do.
func goOn(st *store.Store, id string, rounds int) (run result.Run, p plan.Plan, more bool, err error) {
	if run, err = st.Run(id); err != nil {
		return run, p, false, err
	}
	if p, err = plan.Decode(run.Plan); err != nil {
		return run, p, false, fmt.Errorf("run %s: %w", run.ID, err)
	}
	switch {
	case rounds > 0 && rounds < p.Rounds:
		return run, p, false, result.Refuse("", "run %s has %d rounds already planned; --rounds can only add to them", run.ID, p.Rounds)
	case rounds > 0:
		p.Rounds, run.Rounds = rounds, rounds
		if run.Plan, err = p.Encode(); err != nil {
			return run, p, false, err
		}
	case run.State == result.Finished:
		return run, p, false, nil
	}
	for _, d := range p.Data {
		if err := verifyData(d); err != nil && !p.Fleet { // workers have it, or fetch it
			return run, p, false, err
		}
	}
	p.Budget = 0 // it was spent; resuming means finishing the rest
	return run, p, true, nil
}

// Cancelled is closed when somebody cancels one of the runs from outside, and when the job is closed.
func (j *Job) Cancelled() <-chan struct{} { return j.cancelled.Done() }

// Cancel ends a run that another process or the fleet is carrying out, and returns its ID.
func (a *App) Cancel(name string) (id string, err error) {
	return a.onRun(name, func(st *store.Store, r result.Run) error { return st.Cancel(r.ID) })
}
