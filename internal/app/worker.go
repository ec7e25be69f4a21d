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
	"sync/atomic"
	"time"

	"github.com/riverqueue/river"

	"whichfs/internal/host/dataset"
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

	begun atomic.Int64 // jobs

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
	if begins {
		w.begun.Add(1)
	}
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
		FetchCooldown: 5 * time.Millisecond, FetchPollInterval: 2 * time.Second,
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
	var seen int64
	for idle := 0; here.Err() == nil && idle < 4; {
		pause := store.Every / 4
		if w.busy() {
			pause = store.Every
		}
		select {
		case <-here.Done():
		case <-time.After(pause):
		}
		if begun := w.begun.Load(); begun != seen { // the run goes on: to ask would only cost the database time
			seen, idle = begun, 0
			continue
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

// others reports whether another worker could do a run's trials.
func (w *worker) others(run result.Run, p plan.Plan) bool {
	workers, err := w.store.Workers()
	needs := store.Needs{Machine: p.Machine, Version: run.Version, Labels: p.Labels}
	return err != nil || slices.ContainsFunc(workers, func(o store.Worker) bool {
		return o.Name != w.self.Name && o.Lives && o.Seen < store.Gone && o.Can(needs, build.Same) == "" && o.Refuses[run.ID] == ""
	})
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
