package experiment

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"whichfs/internal/host/machine/fake"
	"whichfs/internal/plan"
	"whichfs/internal/plan/scenario"
	"whichfs/internal/result"
)

var mountOptions = scenario.Factor{Name: "mount options", Reference: "relatime", Levels: []scenario.Variant{
	{Name: "noatime", Mount: []string{"noatime"}}, {Name: "sync", Mount: []string{"sync"}},
}}

// Every level of a factor has a trial of its own in each round, and its figures
// are stored under its name.
func TestVariants(t *testing.T) {
	e, st, _ := setUp(t, fake.Script{Walls: map[string]map[string]float64{
		"": {"write": 1}, "ext4 [noatime]": {"write": 0.5}}}, "ext4", "xfs")
	e.Plan.Factors = []scenario.Factor{mountOptions}
	if err := e.Carry(context.Background()); err != nil {
		t.Fatal(err)
	}
	trials, err := st.Trials("r")
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]int{}
	for _, x := range trials {
		seen[x.Named()]++
		want := 1.0
		if x.Named() == "ext4 [noatime]" {
			want = 0.5
		}
		for _, m := range x.Measurements {
			if m.Phase == "write" && m.Metric == result.Wall && m.Value != want {
				t.Errorf("%s: write took %v, want %v", x.Named(), m.Value, want)
			}
		}
	}
	for _, name := range []string{"ext4", "xfs", "ext4 [noatime]", "ext4 [sync]", "xfs [noatime]", "xfs [sync]"} {
		if seen[name] != 3 {
			t.Errorf("%s has %d trials, want 3", name, seen[name])
		}
	}
	if len(trials) != 18 {
		t.Errorf("%d trials", len(trials))
	}
}

// looking drops xfs after the second round and is content after the fourth; it
// fails the test if it is shown trials of the round to come.
func looking(t *testing.T, seen *[]int) func([]result.Trial) (Decision, error) {
	return func(trials []result.Trial) (Decision, error) {
		last := 0
		for _, x := range trials {
			if !x.Outcome.Valid() {
				t.Errorf("a trial without an outcome: %+v", x)
			}
			last = max(last, x.Round)
		}
		*seen = append(*seen, last)
		var d Decision
		if last >= 2 {
			d.Dropped = []string{"xfs"}
		}
		d.Done = last >= 4
		return d, nil
	}
}

func TestRoundsEndWhenSettled(t *testing.T) {
	var looks []int
	e, st, _ := setUp(t, fake.Script{}, "ext4", "xfs", "btrfs")
	e.Plan.Rounds, e.Plan.Factors = 10, []scenario.Factor{{Name: "f", Levels: mountOptions.Levels[:1], Candidates: []string{"xfs"}}}
	e.Look = looking(t, &looks)
	if err := e.Carry(context.Background()); err != nil {
		t.Fatal(err)
	}
	whole := order(t, st)
	if !slices.Equal(looks, []int{1, 2, 3, 4}) {
		t.Errorf("looked after rounds %v", looks)
	}
	count := map[string]int{}
	for _, line := range whole {
		count[strings.Fields(line)[1]]++
	}
	if count["ext4"] != 4 || count["btrfs"] != 4 || count["xfs"] != 4 { // xfs with its variant, two rounds
		t.Errorf("trials %v", count)
	}
	run, err := st.Run("r")
	if err != nil || run.State != result.Finished {
		t.Errorf("state %q, %v", run.State, err)
	}
	// Interrupted anywhere, a resumed run does the very same.
	for stopAfter := 1; stopAfter < len(whole); stopAfter++ {
		e, st, _ := setUp(t, fake.Script{}, "ext4", "xfs", "btrfs")
		e.Plan.Rounds, e.Plan.Factors = 10, []scenario.Factor{{Name: "f", Levels: mountOptions.Levels[:1], Candidates: []string{"xfs"}}}
		e.Look = looking(t, &looks)
		ctx, cancel := context.WithCancelCause(context.Background())
		enough := errors.New("enough")
		n := 0
		e.Observer.Ended = func(result.Trial) {
			if n++; n == stopAfter {
				cancel(enough)
			}
		}
		if err := e.Carry(ctx); !errors.Is(err, enough) {
			t.Fatalf("stopped with %v", err)
		}
		run, _ := st.Run("r")
		again := &Experiment{Run: run, Plan: e.Plan, Machine: fake.New(fake.Script{}), Store: st, Spec: e.Spec, Look: e.Look}
		if err := again.Carry(context.Background()); err != nil {
			t.Fatal(err)
		}
		if got := order(t, st); !slices.Equal(got, whole) {
			t.Fatalf("stopped after %d:\n got %q\nwant %q", stopAfter, got, whole)
		}
	}
}

func TestFailingDecisionEndsTheRun(t *testing.T) {
	e, _, _ := setUp(t, fake.Script{}, "ext4")
	no := errors.New("no")
	e.Look = func([]result.Trial) (Decision, error) { return Decision{}, no }
	if err := e.Carry(context.Background()); !errors.Is(err, no) {
		t.Errorf("ended with %v", err)
	}
}

// A root filesystem that the scenario lays is booted after the trials of the
// reference, and only then; what comes of it belongs to the trial.
func TestBoots(t *testing.T) {
	e, st, _ := setUp(t, fake.Script{}, "ext4", "xfs")
	e.Plan.Boots = &plan.Boots{Repeats: 2, Kernels: []string{"6.1", "6.12"}}
	e.Plan.Factors = []scenario.Factor{mountOptions}
	e.Plan.ReadWrite = append(slices.Clone(small[:len(small)-1]), scenario.Step{Work: "boot-root", Phase: "lay"})
	if err := e.Carry(context.Background()); err != nil {
		t.Fatal(err)
	}
	trials, err := st.Trials("r")
	if err != nil {
		t.Fatal(err)
	}
	for _, x := range trials {
		booted := map[string]bool{}
		for _, m := range x.Measurements {
			if m.Metric == result.BootRoot && m.Absent == "" {
				booted[m.Phase] = true
			}
		}
		if want := x.Variant == ""; booted["boot 6.1"] != want || booted["boot 6.12"] != want || x.Outcome != result.Done {
			t.Errorf("%s round %d: booted %v, %s %s", x.Named(), x.Round, booted, x.Outcome, x.Reason)
		}
	}
	if len(trials) != 18 {
		t.Errorf("%d trials", len(trials))
	}
}

// A plan names a variant that its trial has; one that it does not have is
// refused and measures nothing.
func TestUnknownVariant(t *testing.T) {
	e, _, _ := setUp(t, fake.Script{}, "ext4")
	e.Now = time.Now
	trial := result.Trial{Candidate: "ext4", Variant: "nothing of the kind"}
	if err := e.attempt(context.Background(), e.Plan.Candidates[0], &trial); err != nil || trial.Outcome != result.Refused {
		t.Errorf("%v, %+v", err, trial)
	}
	e.closeSession()
}
