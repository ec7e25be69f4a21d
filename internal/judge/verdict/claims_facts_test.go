package verdict

import (
	"strings"
	"testing"

	"whichfs/internal/judge/stats"
	"whichfs/internal/plan/study"
	"whichfs/internal/probe"
	"whichfs/internal/result"
)

var testRun = result.Run{ID: "test", Storage: "disk:1G", Candidates: []string{"a"}}

// The smallest storage then and now, with what was free on it.
func TestSmallestCheck(t *testing.T) {
	const mib = 1 << 20
	for _, c := range []struct {
		size, free, inodes float64
		check              study.SmallestCheck
		want               string
		says               string
	}{
		{300 * mib, 270 * mib, 0, study.SmallestCheck{Size: 16 * mib, Free: 9.7 * mib}, Disagrees, "a: 16 MiB then, 300 MiB now; free on it: 9.70 MiB then, 270 MiB now"},
		// 128 MiB and a block are 129 MiB in whole ones.
		{128*mib + 4096, 48 * mib, 0, study.SmallestCheck{Size: 129 * mib, Free: 48 * mib}, Agrees, "129 MiB now"},
		{128*mib + 4096, 60 * mib, 0, study.SmallestCheck{Size: 129 * mib, Free: 48 * mib}, Disagrees, "60.0 MiB now"},
		{128 * mib, 48 * mib, 0, study.SmallestCheck{Size: 129 * mib, Free: 48 * mib}, Disagrees, "128 MiB now"},
		{104 << 10, 60 << 10, 13, study.SmallestCheck{Size: 256 << 10, Inodes: 32}, Disagrees, "256 KiB then, 104 KiB now; inodes on it: 32 then, 13 now"},
		{256 << 10, 60 << 10, 32, study.SmallestCheck{Size: 256 << 10, Inodes: 32}, Agrees, ""},
		{256 << 10, 60 << 10, 31, study.SmallestCheck{Size: 256 << 10, Inodes: 32}, Disagrees, ""},
		{256 << 10, 60 << 10, 0, study.SmallestCheck{Size: 256 << 10, Inodes: 32}, Undecided, "32 then"},
		{0, 0, 0, study.SmallestCheck{Size: 256 << 10}, NotTested, ""},
	} {
		f := &figures{run: testRun, byName: map[string]*subject{"a": newSubject("a", "")}, columns: map[string]*column{}}
		for key, v := range map[string]float64{study.SmallestKey: c.size, study.SmallestFreeKey: c.free, study.SmallestInodesKey: c.inodes} {
			one := &column{def: study.Column{Key: key}, absent: map[string]string{}}
			if v > 0 {
				one.add("a", stats.Sample{1: v})
			}
			if err := one.estimates(); err != nil {
				t.Fatal(err)
			}
			f.columns[key] = one
		}
		c.check.Candidate = "a"
		out := Claim{Result: NotTested}
		if f.checkSmallest(&out, c.check); out.Result != c.want || !strings.Contains(out.Figures, c.says) {
			t.Errorf("%+v: %s (%s), want %s (%s)", c.check, out.Result, out.Figures, c.want, c.says)
		}
	}
}

func TestFailureCheck(t *testing.T) {
	full := func(o result.Outcome, reason string) result.Trial {
		return result.Trial{Outcome: o, Phase: "write", Reason: reason}
	}
	for _, c := range []struct {
		trials []result.Trial
		want   string
		says   string
	}{
		{[]result.Trial{full(result.Done, ""), full(result.SubjectFailed, `write "x": No space left on device`)}, Agrees, "1 of 2 trials failed (write: write"},
		{[]result.Trial{full(result.Done, ""), full(result.Done, "")}, Disagrees, "all of 2 trials"},
		{[]result.Trial{full(result.Done, ""), full(result.SubjectFailed, "read-only file system")}, Undecided, "1 of 2"},
		{[]result.Trial{full(result.LabFailed, "no space left on device"), full(result.Done, "")}, Undecided, ""},
		{nil, NotTested, "no a"},
	} {
		s := newSubject("a", "")
		for i := range c.trials {
			c.trials[i].Round = i + 1
		}
		s.trials = c.trials
		out := Claim{Result: NotTested}
		(&figures{byName: map[string]*subject{"a": s}}).checkFailure(&out, study.FailureCheck{Candidate: "a", Reason: "no space left"})
		if out.Result != c.want || !strings.Contains(out.Figures, c.says) {
			t.Errorf("%+v: %s (%s), want %s", c.trials, out.Result, out.Figures, c.want)
		}
	}
}

// With cuts in mid-write those decide, and otherwise the files that are there
// after a power loss.
func TestPowerCheck(t *testing.T) {
	check := study.PowerCheck{Candidate: "a", Mount: "mount-unclean", Compare: "compare"}
	for _, c := range []struct {
		cuts, loss    float64
		before, after []float64 // files written, and whole after the loss
		unmountable   bool
		want          string
		says          string
	}{
		{0, 0, nil, nil, false, NotTested, "--cuts N"},
		{59, 0, nil, nil, false, Agrees, "0 of 59"},
		{10, 0, []float64{9}, []float64{9}, false, Undecided, ""},
		{10, 1, []float64{9}, []float64{9}, false, Disagrees, "1 of 10"},
		{0, 0, []float64{9, 9}, []float64{9, 9}, false, Agrees, "in 2 rounds, and had 9 of 9"},
		{0, 0, []float64{9, 9}, []float64{9, 8}, false, Disagrees, "had 8 of 9"},
		{0, 0, []float64{9, 9}, []float64{9, 9}, true, Disagrees, "did not mount after a power loss: bad superblock"},
	} {
		s := newSubject("a", "")
		s.trials = []result.Trial{{Round: 1, Outcome: result.Done}}
		if c.unmountable {
			s.trials = append(s.trials, result.Trial{Round: 2, Outcome: result.SubjectFailed, Phase: "mount-unclean", Reason: "bad superblock"})
		}
		if c.cuts > 0 {
			s.figures[key{result.CutPhase, result.CutsDone}] = &series{values: []float64{c.cuts}}
			s.figures[key{result.CutPhase, result.CutsWithLoss}] = &series{values: []float64{c.loss}}
		}
		if c.before != nil {
			s.figures[key{"compare", result.DataFiles}] = &series{values: c.before}
			s.figures[key{"compare", result.FilesWhole}] = &series{values: c.after}
			s.figures[key{"mount-unclean", result.Wall}] = &series{values: make([]float64, len(c.before))}
		}
		out := Claim{Result: NotTested}
		(&figures{subjects: []*subject{s}, byName: map[string]*subject{"a": s}}).checkPower(&out, check)
		if out.Result != c.want || !strings.Contains(out.Figures, c.says) {
			t.Errorf("%+v: %s (%s)", c, out.Result, out.Figures)
		}
	}
}

// Speeds by block size: 1 at 1 KiB, 2 at 2 KiB, the segment, and more.
func TestSweepCheck(t *testing.T) {
	points := func(y ...float64) []probe.Point {
		var out []probe.Point
		for i, v := range y {
			out = append(out, probe.Point{X: float64(int(1024) << i), Y: v, Low: 0.99 * v, High: 1.01 * v, N: 3})
		}
		return out
	}
	segment := probe.Finding{Key: probe.SegmentSize, Value: 2048, Unit: "B", Confidence: 1}
	all := study.SweepCheck{Of: probe.SegmentSize, Than: study.AllBlocks, Low: 0.95}
	larger := study.SweepCheck{Of: probe.SegmentSize, Than: study.LargerBlocks, Low: 1.05}
	smaller := study.SweepCheck{Of: probe.SegmentSize, Than: study.SmallerBlocks, Low: 1.05}
	once := points(1, 2, 1)
	once[1].N = 1
	for _, c := range []struct {
		check  study.SweepCheck
		points []probe.Point
		unit   string
		want   string
		says   string
	}{
		{all, points(1, 2, 2.01, 1.5), "B/s", Agrees, "blocks of 2 KiB are 1.00×"}, // a plateau
		{all, points(1, 2, 4), "B/s", Disagrees, "of all sizes, 4 KiB"},
		{larger, points(1, 2, 2, 1), "B/s", Disagrees, "of larger sizes, 4 KiB"},
		{larger, points(3, 2, 1), "B/s", Agrees, ""},
		{smaller, points(1, 2, 9), "B/s", Agrees, "of smaller sizes, 1 KiB"},
		{smaller, points(1.9, 1.99, 9), "B/s", Undecided, ""},
		{study.SweepCheck{Block: 2048, Than: study.LargerBlocks, Low: 0.9}, points(1, 2, 1.9), "s", Agrees, "0.950×"}, // times
		{study.SweepCheck{Block: 2048, Than: study.LargerBlocks, Low: 0.9}, points(1, 2, 1), "s", Disagrees, ""},
		{larger, once, "B/s", Undecided, ""},
		{larger, points(1, 2), "B/s", NotTested, "no figure for blocks larger than 2 KiB"},
	} {
		c.check.Curve = "sweep"
		f := &figures{run: testRun, beside: Beside{Probe: &probe.Report{Findings: []probe.Finding{segment},
			Curves: []probe.Curve{{Key: "sweep", YUnit: c.unit, Lines: []probe.Line{{Points: c.points}}}}}}}
		out := Claim{Result: NotTested}
		if f.checkSweep(&out, c.check); out.Result != c.want || !strings.Contains(out.Figures, c.says) {
			t.Errorf("%+v of %v: %s (%s), want %s", c.check, c.points, out.Result, out.Figures, c.want)
		}
	}
	out := Claim{Result: NotTested}
	if (&figures{run: testRun}).checkSweep(&out, all); out.Result != NotTested || !strings.Contains(out.Figures, "whichfs probe disk:1G") {
		t.Errorf("%+v", out)
	}
}
