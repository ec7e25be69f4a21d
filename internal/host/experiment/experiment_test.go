package experiment

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"reflect"
	"testing"
	"time"

	"whichfs/internal/host/machine"
	"whichfs/internal/host/machine/fake"
	"whichfs/internal/plan"
	"whichfs/internal/plan/scenario"
	"whichfs/internal/result"
	"whichfs/internal/result/store"
	"whichfs/internal/testing/parsed"
)

var small = scenario.Scenario{
	{Work: "discard"}, {Work: "mkfs", Phase: "mkfs"}, {Work: "mount", Phase: "mount"},
	{Work: "tree-copy", Phase: "write", Data: "tree", Dir: "copies"}, {Work: "unmount", Phase: "unmount"},
}

func setUp(t *testing.T, script fake.Script, candidates ...string) (*Experiment, *store.Store, *fake.Machine) {
	t.Helper()
	st, err := store.Open(filepath.Join(t.TempDir(), "results.db"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = st.Close() })
	p := plan.Plan{Study: "bootlin-2023", Scale: "quick", Machine: "fake", Storage: "disk:1G", Candidates: parsed.Candidates(candidates...),
		Rounds: 3, Seed: 7, Margin: 0.1, ReadWrite: small, ReadOnly: small}
	run := result.Run{ID: "r", Study: p.Study, Scale: p.Scale, Machine: "fake", Storage: p.Storage, Seed: p.Seed, Rounds: p.Rounds,
		Candidates: candidates, Margin: p.Margin, Started: time.Now(), State: result.Running, Plan: []byte("{}")}
	if err := st.CreateRun(run, 3*len(candidates)); err != nil {
		t.Fatal(err)
	}
	m := fake.New(script)
	return &Experiment{Run: run, Plan: p, Machine: m, Store: st, Spec: machine.Spec{Storage: p.Storage, Work: t.TempDir()}}, st, m
}

// order lists the trials done, as "round candidate outcome".
func order(t *testing.T, st *store.Store) []string {
	t.Helper()
	trials, err := st.Trials("r")
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, x := range trials {
		out = append(out, fmt.Sprintf("%d %s %s", x.Round, x.Candidate, x.Outcome))
	}
	return out
}

func TestEveryCandidateOncePerRound(t *testing.T) {
	e, st, m := setUp(t, fake.Script{}, "ext4", "xfs", "erofs")
	if err := e.Carry(context.Background()); err != nil {
		t.Fatal(err)
	}
	got := order(t, st)
	if len(got) != 9 {
		t.Fatalf("%d trials: %q", len(got), got)
	}
	seen := map[string]int{}
	for _, line := range got {
		seen[line]++
	}
	for r := 1; r <= 3; r++ {
		for _, c := range []string{"ext4", "xfs", "erofs"} {
			if line := fmt.Sprintf("%d %s done", r, c); seen[line] != 1 {
				t.Errorf("%q happened %d times", line, seen[line])
			}
		}
	}
	if m.Sessions() != 3 {
		t.Errorf("%d sessions for 3 rounds", m.Sessions())
	}
	run, err := st.Run("r")
	if err != nil || run.State != result.Finished || run.Ended.IsZero() {
		t.Errorf("run ended as %q at %v, %v", run.State, run.Ended, err)
	}
}

// An interrupted run that is resumed has exactly the order that it would have had.
func TestResumeKeepsTheOrder(t *testing.T) {
	whole, st, _ := setUp(t, fake.Script{}, "ext4", "xfs", "btrfs", "f2fs")
	if err := whole.Carry(context.Background()); err != nil {
		t.Fatal(err)
	}
	want := order(t, st)
	for stopAfter := 1; stopAfter < 12; stopAfter++ {
		e, st, _ := setUp(t, fake.Script{}, "ext4", "xfs", "btrfs", "f2fs")
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
		run, err := st.Run("r")
		if err != nil || run.State != result.Interrupted {
			t.Fatalf("state %q, %v", run.State, err)
		}
		again := &Experiment{Run: run, Plan: e.Plan, Machine: fake.New(fake.Script{}), Store: st, Spec: e.Spec}
		if err := again.Carry(context.Background()); err != nil {
			t.Fatal(err)
		}
		if got := order(t, st); !reflect.DeepEqual(got, want) {
			t.Fatalf("stopped after %d trials:\n got %q\nwant %q", stopAfter, got, want)
		}
	}
}

// Every way in which a guest can fail ends the trial as a lab failure, is tried once more on a
// fresh guest, and does not end the run.
func TestLabFailureIsTriedOnceMore(t *testing.T) {
	for _, kind := range []fake.Kind{fake.Hang, fake.Die, fake.Corrupt, fake.Truncate, fake.EOF, fake.Garbage, fake.WrongID, fake.Negative, fake.Hollow, fake.Twice, fake.Lab} {
		t.Run(string(kind), func(t *testing.T) {
			script := fake.Script{Limit: 0.2, Faults: []fake.Fault{{Kind: kind, Candidate: "xfs", Phase: "write", Number: 1, Times: 1}}}
			e, st, m := setUp(t, script, "ext4", "xfs")
			if err := e.Carry(context.Background()); err != nil {
				t.Fatal(err)
			}
			trials, err := st.Trials("r")
			if err != nil {
				t.Fatal(err)
			}
			var failed, retried, done int
			for _, x := range trials {
				switch {
				case x.Outcome == result.LabFailed:
					failed++
					if x.Candidate != "xfs" || x.Reason == "" || x.Phase == "" {
						t.Errorf("failed trial %+v", x)
					}
				case x.Attempt == 2:
					retried++
					fallthrough
				default:
					done++
				}
			}
			if failed != 1 || retried != 1 || done != 6 {
				t.Errorf("%d failed, %d tried again, %d done", failed, retried, done)
			}
			if m.Sessions() != 4 {
				t.Errorf("%d sessions; a failed one must not be used again", m.Sessions())
			}
		})
	}
}

func TestSecondLabFailureContinuesTheRun(t *testing.T) {
	script := fake.Script{Faults: []fake.Fault{{Kind: fake.Die, Candidate: "xfs", Phase: "write"}}}
	e, st, _ := setUp(t, script, "ext4", "xfs")
	if err := e.Carry(context.Background()); err != nil {
		t.Fatal(err)
	}
	var failed, done int
	for _, line := range order(t, st) {
		if line[2:] == "xfs lab-failed" {
			failed++
		}
		if line[2:] == "ext4 done" {
			done++
		}
	}
	if failed != 6 || done != 3 {
		t.Errorf("%d failures and %d trials done: %q", failed, done, order(t, st))
	}
}

// A filesystem that fails is a result: it is not tried again.
func TestSubjectFailureIsAResult(t *testing.T) {
	script := fake.Script{Faults: []fake.Fault{{Kind: fake.Subject, Candidate: "xfs", Phase: "write"}}}
	e, st, _ := setUp(t, script, "ext4", "xfs")
	if err := e.Carry(context.Background()); err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, line := range order(t, st) {
		if line[2:] == "xfs subject-failed" {
			n++
		}
	}
	if n != 3 || len(order(t, st)) != 6 {
		t.Errorf("trials %q", order(t, st))
	}
}

func TestUnsupportedIsRecordedAndLeftOut(t *testing.T) {
	e, st, _ := setUp(t, fake.Script{Unsupported: map[string]string{"xfs": "no driver"}}, "ext4", "xfs")
	if err := e.Carry(context.Background()); err != nil {
		t.Fatal(err)
	}
	if got := order(t, st); len(got) != 3 {
		t.Errorf("trials %q", got)
	}
	support, err := st.Support("r")
	if err != nil || len(support) != 1 || support[0].Reason != "no driver" {
		t.Errorf("support %+v, %v", support, err)
	}
}

func TestBudget(t *testing.T) {
	e, st, _ := setUp(t, fake.Script{}, "ext4", "xfs")
	e.Plan.Budget = time.Minute
	now := time.Unix(1e9, 0)
	e.Now = func() time.Time { now = now.Add(7 * time.Second); return now }
	if err := e.Carry(context.Background()); !errors.Is(err, ErrBudget) {
		t.Fatalf("ended with %v", err)
	}
	if n := len(order(t, st)); n == 0 || n == 6 {
		t.Errorf("%d trials within the budget", n)
	}
	if run, _ := st.Run("r"); run.State != result.Interrupted {
		t.Errorf("state %q", run.State)
	}
}

// Figures under different conditions are not mixed in one run.
func TestChangedConditionsAreRefused(t *testing.T) {
	e, st, _ := setUp(t, fake.Script{}, "ext4")
	if err := e.Carry(context.Background()); err != nil {
		t.Fatal(err)
	}
	run, err := st.Run("r")
	if err != nil {
		t.Fatal(err)
	}
	changed := -1
	for i := range run.Conditions {
		if run.Conditions[i].Matters {
			changed = i
		}
	}
	if changed < 0 {
		t.Fatal("no condition matters")
	}
	run.Conditions[changed].Value = "of another day"
	again := &Experiment{Run: run, Plan: e.Plan, Machine: fake.New(fake.Script{}), Store: st, Spec: e.Spec}
	var m *result.Failure
	if err := again.Carry(context.Background()); !errors.As(err, &m) || m.Outcome != result.Refused {
		t.Fatalf("got %v", err)
	}
}

func TestMachineThatDoesNotStart(t *testing.T) {
	e, st, _ := setUp(t, fake.Script{Faults: []fake.Fault{{Kind: fake.Die, Phase: fake.AtHello}}}, "ext4")
	err := e.Carry(context.Background())
	var m *result.Failure
	if !errors.As(err, &m) || m.Outcome != result.LabFailed {
		t.Fatalf("got %v", err)
	}
	if len(order(t, st)) != 0 {
		t.Error("a trial without a machine")
	}
	e, st, _ = setUp(t, fake.Script{Faults: []fake.Fault{{Kind: fake.Die, Phase: fake.AtHello, Times: 1}}}, "ext4")
	if err := e.Carry(context.Background()); err != nil || len(order(t, st)) != 3 {
		t.Fatalf("a passing failure ended the run: %v, %q", err, order(t, st))
	}
}
