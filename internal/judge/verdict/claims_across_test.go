package verdict

import (
	"slices"
	"strings"
	"testing"

	"whichfs/internal/fault"
	"whichfs/internal/plan/study"
	"whichfs/internal/result"
)

func TestAcross(t *testing.T) {
	st := study.Study{Storages: []study.Storage{{Key: "slow", Label: "Slow"}, {Key: "fast", Label: "Fast"}, {Key: "other", Label: "Other"}}}
	run := func(key string, x, y Interval, rate bool) SeriesStorage {
		cells := []Cell{{Candidate: "x", Estimate: x}, {Candidate: "y", Estimate: y}, {Candidate: "z", Absent: "it failed"}}
		if rate { // half of the work, so half of the time
			cells[0].Rate = &Interval{Value: 0.5 / x.Value, Low: 0.5 / x.High, High: 0.5 / x.Low}
		}
		return SeriesStorage{Key: key, Verdict: Verdict{Run: result.Run{Candidates: []string{"x", "y"}}, Extra: []Column{{Key: "c", Cells: cells}}}}
	}
	about := func(v float64) Interval { return Interval{Value: v, Low: 0.98 * v, High: 1.02 * v, N: 3} }
	storages := []SeriesStorage{run("slow", about(4), about(3), false), run("fast", about(1), about(1), false)}
	for _, c := range []struct {
		check study.AcrossCheck
		want  string
		says  string
	}{
		{study.AcrossCheck{Column: "c", On: "slow", Over: []string{"fast"}, Low: 2}, Agrees, "x 4.00× (3.89–4.12) of Fast"},
		{study.AcrossCheck{Column: "c", On: "slow", Over: []string{"fast"}, Low: 3.5}, Disagrees, "y 3.00×"},
		{study.AcrossCheck{Column: "c", On: "slow", Over: []string{"fast"}, Low: 3.5, Candidates: []string{"x"}}, Agrees, ""},
		{study.AcrossCheck{Column: "c", On: "slow", Over: []string{"fast"}, Low: 4, Candidates: []string{"x"}}, Undecided, ""},
		{study.AcrossCheck{Column: "c", On: "fast", Over: []string{"slow"}, High: 0.5}, Agrees, ""},
		{study.AcrossCheck{Column: "c", On: "slow", Over: []string{"fast", "other"}, Low: 2}, Undecided, "no run on Other"},
		{study.AcrossCheck{Column: "c", On: "slow", Over: []string{"fast"}, Low: 2, Candidates: []string{"z"}}, NotTested, "z on Fast"},
		{study.AcrossCheck{Column: "c", On: "other", Over: []string{"fast"}, Low: 2}, NotTested, "no run on Other"},
	} {
		out := SeriesClaim{Result: NotTested}
		checkAcross(&out, c.check, st, storages)
		if out.Result != c.want || !strings.Contains(out.Figures, c.says) || out.Figures == "" {
			t.Errorf("%+v: %s (%s), want %s (%s)", c.check, out.Result, out.Figures, c.want, c.says)
		}
	}
	// Other amounts of work: the rates count. A single figure decides nothing.
	out := SeriesClaim{Result: NotTested}
	checkAcross(&out, study.AcrossCheck{Column: "c", On: "slow", Over: []string{"fast"}, Low: 7.5, Candidates: []string{"x"}}, st,
		[]SeriesStorage{run("slow", about(4), about(3), true), {Key: "fast", Verdict: Verdict{Extra: []Column{{Key: "c", Cells: []Cell{{Candidate: "x", Estimate: about(1), Rate: &Interval{Value: 1, Low: 0.98, High: 1.02}}}}}}}})
	if out.Result != Agrees || !strings.Contains(out.Figures, "8.0×") {
		t.Errorf("rates: %+v", out)
	}
	single := Interval{Value: 9, Low: 9, High: 9, N: 1, Single: true}
	out = SeriesClaim{Result: NotTested}
	checkAcross(&out, study.AcrossCheck{Column: "c", On: "slow", Over: []string{"fast"}, Low: 2, Candidates: []string{"x"}}, st,
		[]SeriesStorage{run("slow", single, single, false), run("fast", about(1), about(1), false)})
	if out.Result != Undecided {
		t.Errorf("a single figure: %+v", out)
	}
}

// withBoots are two candidates booted under three kernels, listed out of order.
func withBoots(kernels ...string) *figures {
	f := &figures{byName: map[string]*subject{}, study: study.Study{Name: "some"}}
	took := map[string]map[string]float64{"ext4": {"6.1": 2, "6.6": 9, "6.12": 1}, "xfs": {"6.1": 6, "6.6": 9, "6.12": 2}}
	for _, name := range []string{"ext4", "xfs"} {
		s := newSubject(name, "")
		s.Done = 3
		for _, kernel := range kernels {
			v := took[name][kernel]
			s.figures[key{loginPhase + kernel, result.BootLogin}] = &series{unit: "s", rounds: []int{1, 2, 3}, values: []float64{v, 1.01 * v, 0.99 * v}}
		}
		f.byName[name], f.subjects = s, append(f.subjects, s)
	}
	return f
}

// A column of boots has those of the lab's kernel, or on a board with others the oldest's.
func TestBootsOfOtherKernels(t *testing.T) {
	column := study.Column{Unit: "s", Terms: []study.Term{{Phase: loginPhase + "6.1", Metric: result.BootLogin}}}
	for _, c := range []struct {
		kernels []string
		want    float64
	}{{[]string{"6.12", "6.6"}, 9}, {[]string{"6.6", "6.1"}, 2}, {[]string{"6.12"}, 1}, {nil, 0}} {
		sums, absent := withBoots(c.kernels...).byName["ext4"].sums(column)
		if c.want == 0 {
			if absent != "nothing was booted" {
				t.Errorf("%v: %v, %q", c.kernels, sums, absent)
			}
		} else if absent != "" || sums[1] != c.want {
			t.Errorf("%v: %v, %q, want %v", c.kernels, sums, absent, c.want)
		}
	}
}

func TestKernelsCheck(t *testing.T) {
	all := []string{"6.12", "6.1", "6.6"}
	for _, c := range []struct {
		kernels []string
		check   study.KernelsCheck
		want    string
		says    string
	}{
		{all, study.KernelsCheck{Candidates: []string{"ext4", "xfs"}, High: 0.9}, Agrees, "boot under 6.12 over that under 6.1: ext4 0.50×"},
		{all, study.KernelsCheck{Candidates: []string{"ext4", "xfs"}, High: 0.4}, Disagrees, ""},
		{all, study.KernelsCheck{Candidates: []string{"xfs"}, Base: "ext4", High: 0.9}, Agrees, "in relation to ext4: xfs 0.67×"},
		{all, study.KernelsCheck{Candidates: []string{"xfs"}, Base: "ext4", High: 0.5}, Disagrees, ""},
		{all, study.KernelsCheck{Candidates: []string{"jfs"}, High: 0.9}, NotTested, "jfs (not in this run)"},
		{[]string{"6.1"}, study.KernelsCheck{Candidates: []string{"ext4"}, High: 0.9}, NotTested, "whichfs run some --kernels"},
	} {
		out := judgedBy(t, withBoots(c.kernels...), c.check)
		if out.Result != c.want || !strings.Contains(out.Figures, c.says) || out.Figures == "" {
			t.Errorf("%+v: %s (%s), want %s (%s)", c.check, out.Result, out.Figures, c.want, c.says)
		}
	}
	if got := withBoots(all...).bootKernels(); !slices.Equal(got, []string{"6.1", "6.6", "6.12"}) {
		t.Errorf("kernels %q", got)
	}
}

// One claim about the best of several, and one about the time of mounts, by
// counts of two cases.
func TestFaultsAmongSeveral(t *testing.T) {
	made := func(emulated bool) *figures {
		f := &figures{byName: map[string]*subject{}, faults: map[string]map[string]map[string]int{}}
		f.run.Emulated = emulated
		for name, wrong := range map[string]int{"none": 0, "few": 3, "many": 25, "most": 28} {
			s := newSubject(name, "")
			counts := map[string]int{fault.OutcomePrefix + "whole": 30 - wrong, fault.OutcomePrefix + "wrong": wrong, fault.Mounted: wrong}
			f.faults[name] = map[string]map[string]int{"case": counts}
			s.figures[key{"case", fault.Mounted}] = &series{values: []float64{float64(30 - wrong)}}
			s.figures[key{"case", fault.MountMean}] = &series{values: []float64{0.2}}
			s.figures[key{"case", fault.MountLongest}] = &series{values: []float64{70}}
			f.byName[name] = s
			f.run.Candidates = append(f.run.Candidates, name)
		}
		f.survival = &Reliability{Cases: []FaultCase{{Name: "case", Class: CorruptWrites}}}
		return f
	}
	best := func(candidate string, most bool, among ...string) study.FaultBest {
		return study.FaultBest{Candidate: candidate, Among: append(among, candidate), Cases: []string{"case"}, Outcomes: []string{"wrong"}, Most: most}
	}
	mounts := func(candidate string, low, high float64, longest bool) study.FaultTime {
		return study.FaultTime{Candidate: candidate, Cases: []string{"case"}, Low: low, High: high, Longest: longest}
	}
	for _, c := range []struct {
		emulated bool
		check    study.Check
		want     string
		says     string
	}{
		{false, best("none", false, "many", "most"), Agrees, "wrong after case: none 0 of 30"},
		{false, best("many", false, "none", "most"), Disagrees, ""},
		{false, best("none", false, "few", "most"), Undecided, ""},
		{false, best("most", true, "none", "few"), Agrees, ""},
		{false, best("most", true, "none", "many"), Undecided, ""},
		{false, best("none", true, "many"), Disagrees, ""},
		{false, best("none", false, "absent", "many"), Undecided, "absent (not in this run)"},
		{false, best("absent", false, "many"), NotTested, "not in this run"},
		{false, study.FaultBest{Candidate: "most", Among: []string{"most", "none"}, Cases: []string{"case"}, Metric: fault.Mounted, Most: true}, Agrees, "mounted without repair"},

		{false, mounts("none", 0, 1, false), Agrees, "the mean of 30 mounts"},
		{false, mounts("none", 0, 0.1, false), Disagrees, ""},
		{false, mounts("none", 60, 0, true), Agrees, "the longest of 30 mounts"},
		{false, mounts("none", 80, 0, true), Disagrees, ""},
		{false, mounts("many", 0, 1, false), Undecided, "5 mounts"},
		{true, mounts("none", 0, 1, false), Agrees, "emulated"},
		{true, mounts("none", 0, 0.1, false), Undecided, "emulated"},
		{true, mounts("none", 60, 0, true), Undecided, "emulated"},
		{true, mounts("none", 80, 0, true), Disagrees, ""},
		{false, mounts("absent", 0, 1, false), NotTested, "absent"},
		{false, study.FaultTime{Candidate: "none", Cases: []string{"other"}, High: 1}, NotTested, "no mount"},

		// A run of a version that did not count.
		{false, study.FaultCheck{Candidates: []string{"none"}, Cases: []string{"case"}, Metric: fault.Stopped, Any: true}, NotTested, "not tried"},
	} {
		out := judgedBy(t, made(c.emulated), c.check)
		if out.Result != c.want || !strings.Contains(out.Figures, c.says) || out.Figures == "" {
			t.Errorf("%+v, emulated %t: %s (%s), want %s (%s)", c.check, c.emulated, out.Result, out.Figures, c.want, c.says)
		}
	}
}
