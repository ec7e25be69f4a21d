package verdict

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"whichfs/internal/judge/verdict/toy"
	"whichfs/internal/plan"
	"whichfs/internal/result"
	"whichfs/internal/testing/must"
	"whichfs/internal/testing/parsed"
)

// onTwoKernels is a run whose trials are repeated on a second kernel, which change alters.
func onTwoKernels(t *testing.T, change func(trial *result.Trial, m *result.Measurement)) Verdict {
	t.Helper()
	return onTwoKernelsBy(t, result.ClockVirtual, change)
}

// onTwoKernelsBy is the same by another clock.
func onTwoKernelsBy(t *testing.T, clock string, change func(trial *result.Trial, m *result.Measurement)) Verdict {
	t.Helper()
	run, trials, st := toy.Run{Plain: true, Rounds: 3, Change: func(x *result.Trial) bool {
		for i, m := range x.Measurements {
			if m.Phase == "mount" {
				x.Measurements[i].Value = 1e-6
			}
		}
		return true
	}}.Make()
	run.Clock = clock
	p := plan.Kept(run.Plan)
	p.OnKernels([]string{"6.1", "6.12"})
	var err error
	run.Plan, err = p.Encode()
	must.Do(t, err)
	for _, x := range slices.Clone(trials) {
		x.Variant = "Linux 6.12"
		x.Measurements = slices.Clone(x.Measurements)
		for i := range x.Measurements {
			change(&x, &x.Measurements[i])
		}
		trials = append(trials, x)
	}
	v, err := Compute(run, nil, trials, st, Beside{})
	must.Do(t, err)
	return v
}

func TestKernels(t *testing.T) {
	v := onTwoKernels(t, func(trial *result.Trial, m *result.Measurement) {
		switch {
		case m.Metric != result.Wall:
		case trial.Candidate == toy.Ext4 && m.Phase == "write":
			m.Value *= 3
		case trial.Candidate == toy.Packed && m.Phase == "read":
			m.Value /= 5
		case trial.Candidate == toy.Ext2 && m.Phase == "write":
			m.Value *= 1.009
		case trial.Candidate == toy.Ext2 && m.Phase == "read":
			m.Value *= []float64{0, 1.3, 0.8, 1.02}[trial.Round]
		case trial.Candidate == toy.VFAT && m.Phase == "read":
			m.Absent = "it was forgotten"
		case m.Phase == "mount":
			m.Value = 21e-6 // instead of 1 µs: some more readings of the clock
		}
	})
	if len(v.Kernels) != 1 || len(v.Effects) != 0 {
		t.Fatalf("%d kernels, %d factors", len(v.Kernels), len(v.Effects))
	}
	k := v.Kernels[0]
	var got []string
	for _, c := range k.Changes {
		got = append(got, c.Candidate+" "+c.Column)
		if math.Abs(c.Now.Value/c.Then.Value-c.Ratio.Value) > 1e-9 || c.Ratio.N != 3 {
			t.Errorf("%+v", c)
		}
	}
	want := []string{toy.Packed + " read", toy.Ext4 + " write", toy.Ext2 + " read"}
	if d := cmp.Diff(want, got); d != "" || k.Reference != "Linux 6.1" || k.Name != "Linux 6.12" {
		t.Fatalf("%s against %s: %s", k.Name, k.Reference, d)
	}
	if r := k.Changes[0].Ratio; math.Abs(r.Value-0.2) > 1e-9 || k.Changes[0].Varies() || !k.Changes[2].Varies() {
		t.Errorf("%+v, %+v", r, k.Changes[2].Ratio)
	}
	if len(k.Missing) != 1 || k.Missing[0].Candidate != toy.VFAT || k.Missing[0].Reason != "on Linux 6.12: it was forgotten" {
		t.Errorf("missing: %+v", k.Missing)
	}
	if none := onTwoKernels(t, func(*result.Trial, *result.Measurement) {}).Kernels[0]; none.Compared != k.Compared+1 || len(none.Changes) != 0 {
		t.Errorf("two equal kernels: %d compared, %+v", none.Compared, none.Changes)
	}
}

// Everything else in the verdict is that of the first kernel.
func TestKernelsStayApart(t *testing.T) {
	with := onTwoKernels(t, func(_ *result.Trial, m *result.Measurement) { m.Value *= 2 })
	without := onTwoKernels(t, func(*result.Trial, *result.Measurement) {})
	for _, c := range []struct{ what, diff string }{
		{"columns", cmp.Diff(without.Columns, with.Columns)}, {"uses", cmp.Diff(without.Uses, with.Uses)},
		{"phases", cmp.Diff(without.Phases, with.Phases)}, {"candidates", cmp.Diff(without.Candidates, with.Candidates, parsed.ByValue)},
	} {
		if c.diff != "" {
			t.Errorf("another kernel changes the %s: %s", c.what, c.diff)
		}
	}
	if with.Digest == without.Digest {
		t.Error("the digest does not know the second kernel's figures")
	}
}

// A filesystem that fails on one of the kernels has nothing to compare, and the warnings say so.
func TestKernelFails(t *testing.T) {
	v := onTwoKernels(t, func(trial *result.Trial, _ *result.Measurement) {
		if trial.Candidate == toy.Ext2 {
			trial.Outcome, trial.Phase, trial.Reason = result.SubjectFailed, "write", "it broke"
		}
	})
	k := v.Kernels[0]
	if len(k.Changes) != 0 || len(k.Missing) == 0 || k.Missing[0].Candidate != toy.Ext2 || !strings.Contains(k.Missing[0].Reason, "on Linux 6.12: no trial of it counts: write: it broke") {
		t.Errorf("%+v", k)
	}
	if !slices.ContainsFunc(v.Warnings, func(w string) bool {
		return strings.HasPrefix(w, toy.Ext2+" [Linux 6.12] failed in 3 trials, at write: it broke")
	}) {
		t.Errorf("warnings: %q", v.Warnings)
	}
}

// By wall clock a change is listed only if the rounds agree on it, and one round compares nothing.
func TestKernelsByWallClock(t *testing.T) {
	change := func(trial *result.Trial, m *result.Measurement) {
		switch {
		case m.Metric != result.Wall:
		case trial.Candidate == toy.Ext4 && m.Phase == "write":
			m.Value *= 3
		case trial.Candidate == toy.Ext2 && m.Phase == "read":
			m.Value *= []float64{0, 1.3, 0.8, 1.02}[trial.Round]
		}
	}
	listed := func(v Verdict) (list []string) {
		for _, c := range v.Kernels[0].Changes {
			list = append(list, c.Column+" of "+c.Candidate)
		}
		return list
	}
	noisy := "read of " + toy.Ext2
	v := onTwoKernelsBy(t, result.ClockVirtual, change)
	if got := listed(v); v.Kernels[0].Timed || !slices.Contains(got, noisy) {
		t.Errorf("virtual: %q", got)
	}
	compared := v.Kernels[0].Compared
	v = onTwoKernelsBy(t, result.ClockWall, change)
	if got := listed(v); !v.Kernels[0].Timed || slices.Contains(got, noisy) || !slices.Contains(got, "write of "+toy.Ext4) || v.Kernels[0].Compared != compared {
		t.Errorf("wall: %q of %d, %d", got, v.Kernels[0].Compared, compared)
	}
	v = onTwoKernelsBy(t, result.ClockWall, func(x *result.Trial, m *result.Measurement) {
		if change(x, m); x.Round > 1 {
			x.Outcome = result.LabFailed
		}
	})
	if k := v.Kernels[0]; k.Compared != 0 || len(k.Missing) == 0 || !strings.HasPrefix(k.Missing[0].Reason, "only one round") {
		t.Errorf("one round: %+v", k)
	}
}
