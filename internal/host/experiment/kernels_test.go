package experiment

import (
	"context"
	"slices"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"whichfs/internal/host/machine"
	"whichfs/internal/host/machine/fake"
	"whichfs/internal/result"
)

// starts remembers the kernel and the number of processors of every session.
type starts struct {
	*fake.Machine
	mu      sync.Mutex
	kernels []string
	cpus    []int
}

func (s *starts) Start(ctx context.Context, spec machine.Spec) (machine.Session, error) {
	s.mu.Lock()
	s.kernels, s.cpus = append(s.kernels, spec.Kernel), append(s.cpus, spec.CPUs)
	s.mu.Unlock()
	return s.Machine.Start(ctx, spec)
}

// A trial runs on the kernel of its variant, and the run records in which conditions each kernel's
// guests differ.
func TestKernels(t *testing.T) {
	for _, lanes := range []int{1, 2} {
		e, st, m := setUp(t, fake.Script{}, "ext4", "erofs")
		e.Plan.Clock, e.Plan.Rounds, e.Lanes = result.ClockVirtual, 1, lanes
		e.Plan.OnKernels([]string{"6.1", "6.12"})
		watched := &starts{Machine: m}
		e.Machine = watched
		if err := e.Carry(t.Context()); err != nil {
			t.Fatal(err)
		}
		trials, err := st.Trials("r")
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, x := range trials {
			got = append(got, x.Named()+" "+string(x.Outcome))
		}
		slices.Sort(got)
		if d := cmp.Diff([]string{"erofs [Linux 6.12] done", "erofs done", "ext4 [Linux 6.12] done", "ext4 done"}, got); d != "" {
			t.Error(d)
		}
		slices.Sort(watched.kernels) // two that ask, and one for each trial
		if d := cmp.Diff([]string{"6.1", "6.1", "6.1", "6.12", "6.12", "6.12"}, watched.kernels); d != "" {
			t.Error(d)
		}
		run, err := st.Run("r")
		if err != nil {
			t.Fatal(err)
		}
		var kernels []string
		for _, c := range run.Conditions {
			if c.Group == "machine" {
				kernels = append(kernels, c.Name+": "+c.Value)
			}
		}
		if d := cmp.Diff([]string{"kernel: 6.1-fake", "kernel [Linux 6.12]: 6.12-fake"}, kernels); d != "" {
			t.Error(d)
		}
		// The run goes on only with the same kernels.
		again := &Experiment{Run: run, Plan: e.Plan, Machine: fake.New(fake.Script{}), Store: st, Spec: e.Spec, Lanes: lanes}
		if err := again.Carry(t.Context()); err != nil {
			t.Error(err)
		}
		for i, c := range run.Conditions {
			if c.Name == "kernel [Linux 6.12]" {
				run.Conditions[i].Value = "6.12.1-fake"
			}
		}
		other := &Experiment{Run: run, Plan: e.Plan, Machine: fake.New(fake.Script{}), Store: st, Spec: e.Spec, Lanes: lanes}
		if err := other.Carry(t.Context()); err == nil || err.Error() != `this run began under other conditions: machine kernel [Linux 6.12] was "6.12.1-fake" and is "6.12-fake"` {
			t.Errorf("another kernel: %v", err)
		}
	}
}

// By the wall clock trials of a level share no guest with others, and the run records in what the level's
// guest differs.
func TestCPUs(t *testing.T) {
	e, st, m := setUp(t, fake.Script{}, "ext4", "erofs")
	e.Plan.Rounds = 1
	e.Plan.OnCPUs([]int{1, 2})
	watched := &starts{Machine: m}
	e.Machine = watched
	if err := e.Carry(t.Context()); err != nil {
		t.Fatal(err)
	}
	trials, err := st.Trials("r")
	if err != nil {
		t.Fatal(err)
	}
	cpus := func(variant string) int {
		if variant == "" {
			return 1
		}
		return 2
	}
	// One that asks, one of the level, and one wherever the next trial needs another.
	want, last := []int{1, 2}, 0
	for _, x := range trials {
		if x.Outcome != result.Done {
			t.Errorf("%s: %s", x.Named(), x.Outcome)
		}
		if n := cpus(x.Variant); n != last {
			want, last = append(want, n), n
		}
	}
	if d := cmp.Diff(want, watched.cpus); d != "" || len(trials) != 4 {
		t.Errorf("%d trials: %s", len(trials), d)
	}
	run, err := st.Run("r")
	if err != nil {
		t.Fatal(err)
	}
	if !slices.ContainsFunc(run.Conditions, func(c result.Condition) bool {
		return c.Name == "processors [2 processors]" && c.Value == "2" && c.Matters
	}) {
		t.Errorf("conditions %+v", run.Conditions)
	}
}

// What is not of the level's guest must be the same with each of them, and after the first guest of a kernel
// everything must.
func TestInGuest(t *testing.T) {
	c := func(name, value string) result.Condition {
		return result.Condition{Group: "machine", Name: name, Value: value, Matters: true}
	}
	had := []result.Condition{c("kernel", "6.1"), c("memory", "688 MiB"), c("image", "a")}
	fresh := []result.Condition{c("kernel", "6.12"), c("memory", "688 MiB"), c("image", "a"), c("feature", "x")}
	want := []result.Condition{c("kernel [Linux 6.12]", "6.12"), fresh[1], fresh[2], c("feature [Linux 6.12]", "x")}
	got := inGuest("Linux 6.12", had, fresh)
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	had = merge(had, got)
	if text := conflict(had, inGuest("Linux 6.12", had, fresh)); text != "" {
		t.Errorf("the same again: %s", text)
	}
	for i, value := range []string{"6.13", "600 MiB", "b", "y"} {
		changed := slices.Clone(fresh)
		changed[i].Value = value
		if conflict(had, inGuest("Linux 6.12", had, changed)) == "" {
			t.Errorf("%s may change", fresh[i].Name)
		}
	}
}
