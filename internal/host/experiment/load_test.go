package experiment

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"whichfs/internal/host/machine/fake"
	"whichfs/internal/result"
	"whichfs/internal/result/store"
)

// clock passes only in pauses.
type clock struct {
	at     time.Time
	paused time.Duration
}

func (c *clock) use(e *Experiment) {
	e.Now = func() time.Time { return c.at }
	e.Pause = func(_ context.Context, d time.Duration) { c.at, c.paused = c.at.Add(d), c.paused+d }
}

// attempts lists the trials of a candidate, as "round attempt outcome share".
func attempts(t *testing.T, st *store.Store, candidate string) []string {
	t.Helper()
	trials, err := st.Trials("r")
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, x := range trials {
		if x.Candidate == candidate {
			worst, _ := x.Disturbed()
			out = append(out, fmt.Sprintf("%d %d %s %.2f", x.Round, x.Attempt, x.Outcome, worst.Share()))
		}
	}
	return out
}

func busy(share float64, number int) fake.Load {
	return fake.Load{Candidate: "xfs", Phase: "write", Number: number, Share: share}
}

func TestDisturbedTrialIsTakenAgainOnce(t *testing.T) {
	for name, c := range map[string]struct {
		script fake.Script
		budget time.Duration
		want   []string // of xfs
		said   []string
		paused time.Duration
	}{
		"quiet":           {script: fake.Script{Load: []fake.Load{busy(0.01, 0)}}, want: []string{"1 1 done 0.00", "2 1 done 0.00", "3 1 done 0.00"}},
		"noticed":         {script: fake.Script{Load: []fake.Load{busy(0.19, 0)}}, want: []string{"1 1 done 0.00", "2 1 done 0.00", "3 1 done 0.00"}},
		"load is unknown": {script: fake.Script{Load: []fake.Load{{Share: 0.9, Absent: "this kernel does not count"}}}, want: []string{"1 1 done 0.00", "2 1 done 0.00", "3 1 done 0.00"}},
		"never observed":  {want: []string{"1 1 done 0.00", "2 1 done 0.00", "3 1 done 0.00"}},
		"disturbed once": {script: fake.Script{Load: []fake.Load{busy(0.4, 1)}}, want: []string{"1 1 done 0.40", "1 2 done 0.00", "2 1 done 0.00", "3 1 done 0.00"},
			said: []string{"xfs, round 1: disturbed by other work of this machine (phase write waited 40 % of its time for a processor)", "taking it again"}},
		"disturbed twice": {script: fake.Script{Load: []fake.Load{busy(0.4, 1), busy(0.3, 2)}}, want: []string{"1 1 done 0.40", "1 2 done 0.30", "2 1 done 0.00", "3 1 done 0.00"},
			said: []string{"xfs, round 1: disturbed by", "taking it again", "xfs, round 1: disturbed as well (phase write waited 30 % of its time for a processor); the better one counts, with a mark"}},
		"quieter after a while": {script: fake.Script{Load: []fake.Load{busy(0.4, 1)}, Busy: []float64{0.5, 0.3, 0.02}}, want: []string{"1 1 done 0.40", "1 2 done 0.00", "2 1 done 0.00", "3 1 done 0.00"},
			said: []string{"xfs, round 1: disturbed by", "this machine is busy 50 % of the time; waiting up to 40 s before taking it again", "taking it again"}, paused: 2 * betweenTries},
		"never quieter": {script: fake.Script{Load: []fake.Load{busy(0.4, 1)}, Busy: []float64{0.5}}, want: []string{"1 1 done 0.40", "1 2 done 0.00", "2 1 done 0.00", "3 1 done 0.00"},
			said: []string{"xfs, round 1: disturbed by", "this machine is busy 50 % of the time; waiting up to 40 s", "this machine is still busy (50 % of the time); taking it again nevertheless"}, paused: mostPatience},
		"the budget ends while it waits": {script: fake.Script{Load: []fake.Load{busy(0.4, 3)}, Busy: []float64{0.5}}, budget: 10 * time.Second,
			want: []string{"1 1 done 0.00", "2 1 done 0.00", "3 1 done 0.40"},
			said: []string{"xfs, round 3: disturbed by", "waiting up to 40 s", "the budget leaves no time to take it again"}, paused: 3 * betweenTries},
		"the lab fails at it": {script: fake.Script{Load: []fake.Load{busy(0.4, 1)}, Faults: []fake.Fault{{Kind: fake.Lab, Candidate: "xfs", Number: 2, Times: 1}}},
			want: []string{"1 1 done 0.40", "1 2 lab-failed 0.00", "2 1 done 0.00", "3 1 done 0.00"}, said: []string{"xfs, round 1: disturbed by", "taking it again"}},
		"the lab failed before": {script: fake.Script{Load: []fake.Load{busy(0.4, 1)}, Faults: []fake.Fault{{Kind: fake.Lab, Candidate: "xfs", Number: 1, Times: 1}}},
			want: []string{"1 1 lab-failed 0.00", "1 2 done 0.40", "1 3 done 0.00", "2 1 done 0.00", "3 1 done 0.00"},
			said: []string{"trying once more on a fresh machine", "xfs, round 1: disturbed by", "taking it again"}},
	} {
		t.Run(name, func(t *testing.T) {
			e, st, _ := setUp(t, c.script, "xfs")
			e.Plan.Budget = c.budget
			k := &clock{at: time.Unix(1e9, 0)}
			k.use(e)
			var said []string
			e.Observer.Note = func(text string) { said = append(said, text) }
			if err := e.Carry(t.Context()); err != nil {
				t.Fatal(err)
			}
			if got := attempts(t, st, "xfs"); !slices.Equal(got, c.want) {
				t.Errorf("got %q\nwant %q", got, c.want)
			}
			if len(said) != len(c.said) {
				t.Fatalf("said %q", said)
			}
			for i, want := range c.said {
				if !strings.Contains(said[i], want) {
					t.Errorf("said %q, want %q", said[i], want)
				}
			}
			if k.paused != c.paused {
				t.Errorf("paused for %v, want %v", k.paused, c.paused)
			}
		})
	}
}

// A machine that stays busy costs little more than a minute of waiting, and then no repetitions.
func TestPatienceEnds(t *testing.T) {
	e, st, _ := setUp(t, fake.Script{Load: []fake.Load{{Share: 0.4}}, Busy: []float64{0.5}}, "ext4", "xfs", "btrfs")
	k := &clock{at: time.Unix(1e9, 0)}
	k.use(e)
	stays := 0
	e.Observer.Note = func(text string) {
		if strings.Contains(text, "this machine stays busy (50 % of the time)") {
			stays++
		}
	}
	if err := e.Carry(t.Context()); err != nil {
		t.Fatal(err)
	}
	if n := len(order(t, st)); n != 9+4 || k.paused > 2*mostPatience || stays != 1 {
		t.Errorf("%d trials, %v of waiting, said %d times that it stays busy", n, k.paused, stays)
	}
}

// A run that ends between a disturbed trial and its repetition takes it again when it is resumed,
// before what follows; one that was taken again is not repeated.
func TestResumeTakesDisturbedTrialsAgain(t *testing.T) {
	for _, wait := range []bool{false, true} {
		e, st, m := setUp(t, fake.Script{Load: []fake.Load{busy(0.4, 1), busy(0.3, 2)}, Busy: []float64{0.5}}, "ext4", "xfs")
		k := &clock{at: time.Unix(1e9, 0)}
		k.use(e)
		ctx, cancel := context.WithCancelCause(t.Context())
		enough := errors.New("enough")
		if wait {
			e.Pause = func(context.Context, time.Duration) { cancel(enough) }
		} else {
			e.Observer.Ended = func(x result.Trial) {
				if _, disturbed := x.Disturbed(); disturbed {
					cancel(enough)
				}
			}
		}
		if err := e.Carry(ctx); !errors.Is(err, enough) {
			t.Fatalf("stopped with %v", err)
		}
		if got := attempts(t, st, "xfs"); !slices.Equal(got, []string{"1 1 done 0.40"}) {
			t.Fatalf("%q", got)
		}
		for range 2 { // the second time there is nothing left
			run, err := st.Run("r")
			if err != nil {
				t.Fatal(err)
			}
			again := &Experiment{Run: run, Plan: e.Plan, Machine: m, Store: st, Spec: e.Spec}
			k.use(again)
			if err := again.Carry(t.Context()); err != nil {
				t.Fatal(err)
			}
			if got := attempts(t, st, "xfs"); !slices.Equal(got, []string{"1 1 done 0.40", "1 2 done 0.30", "2 1 done 0.00", "3 1 done 0.00"}) {
				t.Fatalf("%q", got)
			}
		}
	}
}
