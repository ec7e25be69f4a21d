package app

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"io/fs"
	"os"
	"slices"
	"strings"
	"time"

	"whichfs/internal/host/experiment"
	"whichfs/internal/plan"
	"whichfs/internal/plan/media"
	"whichfs/internal/result"
	"whichfs/internal/result/store"
	"whichfs/internal/sys/build"
)

// shareable refuses plans that workers elsewhere could not carry out.
func shareable(plans []plan.Plan, q Ask) error {
	for i := range plans {
		p := &plans[i]
		p.Fleet, p.Labels = true, q.Labels
		on, err := media.Parse(p.Storage)
		switch {
		case err != nil:
			return result.Refuse("", "%v", err)
		case len(q.Destroy) > 0 || q.Risk || q.Work != "":
			return result.Refuse("give them to whichfs worker", "--destroy, --risk-this-kernel and --work are permissions of the worker's machine")
		case p.Budget > 0 || p.Until != "":
			return result.Refuse("leave them out, or run it without --fleet", "--fleet carries out every round: there is no --budget and no --until")
		case len(p.Modules) > 0 || len(p.Programs) > 0 || strings.HasSuffix(on.Path, ".toml"):
			return result.Refuse("use a shipped model, the kernel's own modules and the lab's programs, or run it without --fleet", "workers do not have files of this machine: own models of storage, kernel modules and programs")
		case p.Processor != nil && !p.Processor.Measured():
			return result.Refuse("name a speed or a board", "--cpu host is this machine's processor, not the workers'")
		}
	}
	return nil
}

// jobs are parts of a run, as a fleet's workers take them.
func jobs(run string, p plan.Plan, slots []plan.Slot) []store.Job {
	var out []store.Job
	for _, share := range experiment.Shares(p, slots) {
		job := store.Job{Run: run, Round: share[0].Round}
		for _, s := range share {
			job.Places = append(job.Places, s.Place)
		}
		out = append(out, job)
	}
	return out
}

// oneIn is of how many trials one is done twice, where figures repeat.
const oneIn = 50

// checks are jobs that do some of others again: always the same, and at least one.
func checks(p plan.Plan, all []store.Job) []store.Job {
	if !p.Repeats() || p.Untimed || len(all) == 0 {
		return nil
	}
	chosen := slices.DeleteFunc(slices.Clone(all), func(j store.Job) bool {
		h := fnv.New64a()
		fmt.Fprint(h, p.Seed, j.Round, j.Places)
		return h.Sum64()%oneIn != 0
	})
	if len(chosen) == 0 {
		chosen = []store.Job{all[0]}
	}
	for i := range chosen {
		chosen[i].Check = true
	}
	return chosen
}

// share gives the runs of a job to the workers.
func (j *Job) share(ctx context.Context) error {
	fleet, err := j.Store.Fleet()
	if err != nil {
		return err
	}
	defer fleet.Close()
	for i, run := range j.Runs {
		p := j.Plans[i]
		j.probeForClaims(ctx, run, p)
		if err := keepData(ctx, fleet, p); err != nil {
			return err
		}
		if err := j.Store.UpdateRun(run); err != nil { // with the rounds that were added
			return err
		}
		trials, err := j.Store.Trials(run.ID)
		if err != nil {
			return err
		}
		all := jobs(run.ID, p, plan.Remaining(plan.Trials(p), trials))
		needs := store.Needs{Machine: p.Machine, Version: run.Version, Labels: p.Labels}
		if err := fleet.Share(ctx, run.ID, needs, append(all, checks(p, all)...)); err != nil {
			return err
		}
	}
	j.release()
	j.release = nil
	return nil
}

// going makes the job follow those runs that workers are carrying out already, if there are any.
func (j *Job) going(runs []result.Run) (bool, error) {
	shared, err := j.Store.Shared(1)
	if err != nil {
		return false, err
	}
	for _, r := range runs {
		if !slices.ContainsFunc(shared, func(s store.Shared) bool { return s.Run == r.ID }) {
			continue
		}
		if r, err = j.Store.Run(r.ID); err != nil {
			return false, err
		}
		p, err := plan.Decode(r.Plan)
		if err != nil {
			return false, fmt.Errorf("run %s: %w", r.ID, err)
		}
		j.Runs, j.Plans = append(j.Runs, r), append(j.Plans, p)
	}
	return len(j.Runs) > 0, nil
}

// keepData gives workers the trees that a plan needs. Where this machine does not have one any more, a
// worker may.
func keepData(ctx context.Context, fleet *store.Fleet, p plan.Plan) error {
	for _, d := range p.Data {
		if d.Kind != "tree" {
			continue
		}
		f, err := os.Open(d.Path)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err == nil {
			err = fleet.PutFile(ctx, d.Digest, f, d.Archive)
			_ = f.Close() // read only
		}
		if err != nil {
			return fmt.Errorf("data set %s: %w", d.Name, err)
		}
	}
	return nil
}

// unseen finds trials that were stored since it was asked last. Numbers are given before trials are
// there, so lower ones may come later: by less than the minute after which the server ends a transaction.
type unseen struct {
	seen        map[int64]bool
	floor, next int64
	since       time.Time
}

func (u *unseen) among(trials []result.Trial) (fresh []result.Trial) {
	largest := u.next
	for _, t := range trials {
		largest = max(largest, t.ID)
		if !u.seen[t.ID] && t.Outcome != "" {
			u.seen[t.ID] = true
			fresh = append(fresh, t)
		}
	}
	if time.Since(u.since) > 2*time.Minute {
		u.floor, u.next, u.since = u.next, largest, time.Now()
	}
	return fresh
}

// follow shows what workers do of a run until it ends, or the user has seen enough.
func (j *Job) follow(ctx context.Context, run result.Run, p plan.Plan, watch experiment.Observer) (Ending, error) {
	fleet, err := j.Store.Fleet()
	if err != nil {
		return 0, err
	}
	defer fleet.Close()
	trials, err := j.Store.Trials(run.ID)
	if err != nil {
		return 0, err
	}
	total, number, lonely := len(plan.Remaining(plan.Trials(p), trials)), 0, ""
	news := &unseen{seen: map[int64]bool{}, since: time.Now()}
	news.among(trials)
	for {
		shared, err := j.app.tend(ctx, j.Store, fleet)
		if err != nil && ctx.Err() == nil {
			return 0, err
		}
		if ctx.Err() != nil {
			return Left, nil
		}
		if trials, err = j.Store.TrialsAfter(run.ID, news.floor); err != nil {
			return 0, err
		}
		for _, t := range news.among(trials) {
			number++
			if watch.Trial != nil {
				watch.Trial(t, number, total)
			}
			if watch.Ended != nil {
				watch.Ended(t)
			}
		}
		at := slices.IndexFunc(shared, func(s store.Shared) bool { return s.Run == run.ID })
		if at < 0 {
			return j.ended(run.ID)
		}
		if why, err := j.app.Unable(j.Store, shared[at]); err == nil && why != lonely {
			if lonely = why; why != "" {
				watch.Note("waiting: " + why)
			}
		}
		select {
		case <-ctx.Done():
		case <-time.After(time.Second / 2):
		}
	}
}

// ended is how a run of the fleet has ended.
func (j *Job) ended(id string) (Ending, error) {
	run, err := j.Store.Run(id)
	switch {
	case err != nil:
		return 0, err
	case run.State == result.Finished:
		return Finished, nil
	}
	for _, n := range slices.Backward(run.Notes) {
		if strings.HasPrefix(n.Text, gaveUp) {
			return 0, &result.Failure{Outcome: result.LabFailed, Reason: n.Text, Hint: "whichfs resume " + id + " does the rest"}
		}
	}
	return Stopped, nil
}

// Unable says why no worker can do what waits of a run; "": one can, or nothing waits.
func (a *App) Unable(st *store.Store, s store.Shared) (string, error) {
	workers, err := st.Workers()
	if err != nil || s.Waiting == 0 {
		return "", err
	}
	var why []string
	for _, w := range workers {
		if !w.Lives {
			continue
		}
		reason := cmp.Or(w.Can(s.Needs, build.Same), w.Refuses[s.Run])
		if reason == "" {
			return "", nil
		}
		why = append(why, w.Name+": "+reason)
	}
	if len(why) == 0 {
		return "there is no worker; whichfs worker --machine " + s.Needs.Machine + " starts one", nil
	}
	return "no worker can do it: " + strings.Join(why, "; "), nil
}

// tend hands on the jobs of workers that are gone, and ends runs whose trials are all there. Every worker
// and whoever follows a run does it.
func (a *App) tend(ctx context.Context, st *store.Store, fleet *store.Fleet) ([]store.Shared, error) {
	if err := fleet.Sweep(ctx); err != nil {
		return nil, err
	}
	shared, err := st.Shared(1)
	for _, s := range shared {
		if err == nil && !s.Open() {
			err = fleet.Alone(ctx, s.Run, func() error {
				now, err := st.Shared(1) // another process may have ended it meanwhile
				at := slices.IndexFunc(now, func(o store.Shared) bool { return o.Run == s.Run && !o.Open() })
				if err != nil || at < 0 {
					return err
				}
				return conclude(ctx, st, fleet, now[at])
			})
		}
	}
	return shared, err
}

// gaveUp is how the note of a run begins that its workers could not finish.
const gaveUp = "the fleet gave up: "

// mostAgain is how often trials that are missing at the end are given to workers again.
const mostAgain = 3

// conclude ends a run of which no job is left. Trials that are missing nevertheless are done again.
func conclude(ctx context.Context, st *store.Store, fleet *store.Fleet, s store.Shared) error {
	run, err := st.Run(s.Run)
	if err != nil {
		return err
	}
	p, err := plan.Decode(run.Plan)
	if err != nil {
		return fmt.Errorf("run %s: %w", run.ID, err)
	}
	load := []string{} // no figures
	if !p.Repeats() {
		load = []string{result.Wall, result.LoadWindow, result.LoadWaited}
	}
	trials, err := st.TrialsWith(run.ID, load...)
	if err != nil {
		return err
	}
	support, err := st.Support(run.ID)
	if err != nil {
		return err
	}
	rest := slices.DeleteFunc(plan.Remaining(plan.Trials(p), trials), func(slot plan.Slot) bool {
		return slot.Again || slices.ContainsFunc(support, func(c result.Support) bool { return c.Candidate == slot.Candidate.String() })
	})
	if len(rest) > 0 && s.Failed == 0 && s.Again < mostAgain {
		return fleet.ShareAgain(ctx, s, jobs(run.ID, p, rest))
	}
	notes, err := concluding(st, run.ID, p, trials)
	if err != nil {
		return err
	}
	state := result.Finished
	if len(rest) > 0 {
		state = result.Interrupted
		notes = append(notes, result.Note{Level: result.Warning, Text: fmt.Sprintf("%s%d trials, which %d workers began and none ended: the notes of the workers say more", gaveUp, len(rest), store.MostLost)})
	}
	_, err = st.EndShared(run.ID, state, notes)
	return err
}

// concluding are the notes at the end of a run: who did what, and what two workers agree on.
func concluding(st *store.Store, run string, p plan.Plan, trials []result.Trial) (notes []result.Note, err error) {
	if !p.Repeats() {
		return []result.Note{{Level: result.Info, Text: "each round was measured by one worker, and candidates are compared within rounds: " + roundsBy(trials)}}, nil
	}
	repeats, err := st.Repeats(run)
	equal, alone := 0, 0
	for _, r := range repeats {
		switch {
		case r.Workers == "":
			alone++
		case r.Differs == "":
			equal++
		default:
			notes = append(notes, result.Note{Level: result.Warning, Text: fmt.Sprintf("round %d, place %d was done twice, by %s, and differs: %s", r.Round, r.Place, r.Workers, r.Differs)})
		}
	}
	how := "within half a percent"
	if exact(p) {
		how = "bit by bit"
	}
	if equal > 0 {
		notes = append(notes, result.Note{Level: result.Info, Text: fmt.Sprintf("%d of %d trials were done twice, by different workers: their figures are the same, %s", equal, len(trials), how)})
	}
	if alone > 0 {
		notes = append(notes, result.Note{Level: result.Info, Text: "no trial was done twice: there was only one worker"})
	}
	return notes, err
}

// roundsBy lists who measured which rounds: "rack1: 1, 3; rack2: 2".
func roundsBy(trials []result.Trial) string {
	by := map[string][]string{}
	var names []string
	for _, t := range trials {
		if by[t.Worker] == nil {
			names = append(names, t.Worker)
		}
		if round := fmt.Sprint(t.Round); !slices.Contains(by[t.Worker], round) {
			by[t.Worker] = append(by[t.Worker], round)
		}
	}
	slices.Sort(names)
	for i, name := range names {
		names[i] = name + ": " + strings.Join(by[name], ", ")
	}
	return strings.Join(names, "; ")
}

// exact reports whether the clock promises the same figures bit by bit.
func exact(p plan.Plan) bool { return p.Virtual() && p.Processor == nil }

// near is how far figures may lie apart that a clock repeats otherwise.
const near = 0.005

// differs names a figure in which two workers' trials differ; "": none.
func differs(p plan.Plan, a, b result.Trial) string {
	if a.Outcome != b.Outcome {
		return fmt.Sprintf("%s and %s", a.Outcome, b.Outcome)
	}
	if exact(p) && result.Digest([]result.Trial{a}) == result.Digest([]result.Trial{b}) {
		return ""
	}
	type name struct{ phase, metric string }
	values := map[name]float64{}
	for _, m := range b.Measurements {
		values[name{m.Phase, m.Metric}] = m.Value
	}
	for _, m := range a.Measurements {
		if !exact(p) && m.Metric != result.Wall || m.Absent != "" {
			continue
		}
		other, there := values[name{m.Phase, m.Metric}]
		bound := 0.0
		if !exact(p) {
			bound = near * max(m.Value, other)
		}
		if !there || max(m.Value-other, other-m.Value) > bound {
			return fmt.Sprintf("phase %s, %s: %v and %v", m.Phase, m.Metric, m.Value, other)
		}
	}
	if exact(p) {
		return "what is measured"
	}
	return ""
}
