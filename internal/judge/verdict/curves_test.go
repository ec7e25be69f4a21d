package verdict

import (
	"encoding/json"
	"math"
	"slices"
	"strings"
	"testing"

	"whichfs/internal/judge/verdict/toy"
	"whichfs/internal/plan/scenario"
	"whichfs/internal/plan/study"
	"whichfs/internal/result"
)

func flashVerdict(t *testing.T) Verdict {
	t.Helper()
	run, trials, st := toy.FlashRun(1)
	v, err := Compute(run, nil, trials, st, Beside{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := json.Marshal(v); err != nil {
		t.Errorf("no JSON: %v", err)
	}
	return v
}

func curveOf(t *testing.T, v Verdict, axis, column string) Curve {
	t.Helper()
	i := slices.IndexFunc(v.Curves, func(c Curve) bool { return c.Axis == axis && c.Column == column })
	if i < 0 {
		t.Fatalf("no curve of %s by %s", column, axis)
	}
	return v.Curves[i]
}

func lineOf(t *testing.T, c Curve, candidate string) CurveLine {
	t.Helper()
	i := slices.IndexFunc(c.Lines, func(l CurveLine) bool { return l.Candidate == candidate })
	if i < 0 {
		t.Fatalf("no line of %s in %s", candidate, c.Column)
	}
	return c.Lines[i]
}

func TestCurves(t *testing.T) {
	v := flashVerdict(t)
	if len(v.Effects) != 0 {
		t.Errorf("a size is no option: %+v", v.Effects)
	}
	mount := curveOf(t, v, "partition size", "mount")
	for _, want := range []struct {
		candidate string
		ratio     float64
		outcome   string
		from      float64
	}{
		{toy.JFFS2, (0.02*128 + 0.003) / (0.02*8 + 0.003), Grows, 8 << 20},
		{toy.Summary, (0.0012*128 + 0.003) / (0.0012*8 + 0.003), Grows, 8 << 20},
		{toy.UBIFS, 1, Steady, 16 << 20},
		{toy.Squashfs, 1, Steady, 16 << 20},
	} {
		l := lineOf(t, mount, want.candidate)
		g := l.Growth
		if g.Absent != "" || g.Outcome != want.outcome || math.Abs(math.Log(g.Ratio.Value/want.ratio)) > 0.03 || g.From != want.from || g.To != 128<<20 {
			t.Errorf("%s: %+v, want %v (%s)", want.candidate, g, want.ratio, want.outcome)
		}
		if p := math.Log(g.Ratio.Value) / math.Log(g.To/g.From); g.Exponent != p {
			t.Errorf("%s: power %v, want %v", want.candidate, g.Exponent, p)
		}
		if len(l.Points) != 5 || l.Points[4].Level != "" || l.Points[4].Value != 128<<20 || l.Points[0].Level != "8 MiB" {
			t.Errorf("%s: %+v", want.candidate, l.Points)
		}
	}
	if p := lineOf(t, mount, toy.UBIFS).Points[0]; !strings.Contains(p.Absent, "leave no erase block for UBI") || strings.Contains(p.Absent, "counts") {
		t.Errorf("a partition that is too small: %+v", p)
	}
	// Four times the data in four times the time is the same time per byte.
	read := curveOf(t, v, "partition size", "read")
	if l := lineOf(t, read, toy.JFFS2); read.Each != "MiB" || l.Growth.Outcome != Steady || math.Abs(l.Points[0].Estimate.Value-0.25) > 0.02 {
		t.Errorf("read, each %q: %+v", read.Each, l)
	}
	// Filesystems that are only written in place have no line for images.
	write := curveOf(t, v, "partition size", "write")
	if l := lineOf(t, write, toy.Squashfs); l.Growth.Absent == "" || !strings.Contains(l.Points[4].Absent, "read-only") {
		t.Errorf("%+v", l)
	}
	if l := lineOf(t, write, toy.Summary); !strings.HasSuffix(l.Points[4].Absent, "made as an image") {
		t.Errorf("%+v", l)
	}
	if !curveOf(t, v, "partition size", "unmount").Extra || mount.Extra {
		t.Error("which columns are ours is lost")
	}
	// A factor's keys name its columns; a single figure at a point takes the noise
	// of the others.
	fill := curveOf(t, v, "share that is filled", "mount")
	if n := len(slices.DeleteFunc(slices.Clone(v.Curves), func(c Curve) bool { return c.Axis != fill.Axis })); n != 1 {
		t.Errorf("%d curves of a factor with one key", n)
	}
	l := lineOf(t, fill, toy.JFFS2)
	if !l.Points[0].Estimate.Single || l.Points[1].Estimate.Single || l.Growth.Ratio.Single || l.Growth.Outcome != Grows {
		t.Errorf("%+v", l)
	}
	if len(fill.Lines) != 2 {
		t.Errorf("%d lines of a factor for two candidates", len(fill.Lines))
	}
	if v.Trials.Planned != v.Trials.Done+v.Trials.Subject || v.Trials.Points == 0 || v.Trials.Refused != 0 || v.Trials.Unsupported != 0 {
		t.Errorf("%+v", v.Trials)
	}
	for _, w := range v.Warnings {
		if strings.Contains(w, "failed in") || strings.Contains(w, "Fewer rounds") {
			t.Errorf("told twice: %s", w)
		}
	}
}

func TestCurveClaims(t *testing.T) {
	v := flashVerdict(t)
	for id, want := range map[string][2]string{
		"jffs2-grows": {Agrees, "from 8 MiB to 128 MiB"}, "ubifs-constant": {Agrees, "from 16 MiB to 128 MiB"},
		"jffs2-constant": {Disagrees, "jffs2"}, "all-grow": {Disagrees, "squashfs"},
		"no-axis": {NotTested, "does not vary the weather"}, "no-candidate": {NotTested, "of ext4"},
		"ubi-keeps": {Agrees, "whole in 3 of 3 trials: all of 300 files whole, 4 bad blocks"}, "squashfs-loses": {Agrees, "read errors in 3 of 3 trials: 7 of 300 files unreadable, 3 reads beyond ECC"},
		"jffs2-keeps": {Disagrees, "silently wrong in 3 of 3 trials: 2 of 300 files wrong, 3 of 300 files missing"}, "no-fault": {NotTested, "coffee"},
	} {
		if c := claimOf(t, v, id); c.Result != want[0] || !strings.Contains(c.Figures, want[1]) {
			t.Errorf("%s: %s: %s", id, c.Result, c.Figures)
		}
	}
}

func TestGrowthUndetermined(t *testing.T) {
	point := func(x float64, values ...float64) (CurvePoint, []float64) {
		if len(values) == 0 {
			return CurvePoint{Value: x, Absent: "too small"}, nil
		}
		return CurvePoint{Value: x, Estimate: plainInterval(values)}, values
	}
	for name, c := range map[string]struct {
		values  [][]float64
		outcome string
		absent  bool
	}{
		"one figure each":    {[][]float64{{1}, {2}, {9}}, GrowthOpen, false},
		"noisy":              {[][]float64{{1, 2}, {1}, {2, 1}}, GrowthOpen, false},
		"more, but noisy":    {[][]float64{{1, 2}, {1}, {4}}, GrowthOpen, false},
		"noise of one point": {[][]float64{{1}, {5, 5.01, 5.02}, {9}}, Grows, false},
		"exact":              {[][]float64{{1, 1}, {1}, {1}}, Steady, false},
		"falls":              {[][]float64{{2, 2.01}, {1, 1.01}, nil}, Falls, false},
		"one point":          {[][]float64{nil, {2}, nil}, "", true},
		"none":               {[][]float64{nil, nil, nil}, "", true},
		"nothing, then some": {[][]float64{{0}, {2, 2}, {4, 4}}, "", true},
	} {
		var points []CurvePoint
		var samples [][]float64
		for i, values := range c.values {
			p, s := point(float64(int(8)<<i), values...)
			points, samples = append(points, p), append(samples, s)
		}
		g, err := growth(points, samples, 0.1)
		if err != nil {
			t.Fatal(err)
		}
		if g.Outcome != c.outcome || (g.Absent != "") != c.absent {
			t.Errorf("%s: %+v", name, g)
		}
	}
}

func TestMedium(t *testing.T) {
	m := flashVerdict(t).Medium
	if m == nil || len(m.Levels) != 5 || !m.Levels[0].Control || m.Levels[0].Name != "healthy" || len(m.Rows) != 4 {
		t.Fatalf("%+v", m)
	}
	cell := func(candidate, level string) MediumCell {
		r := slices.IndexFunc(m.Rows, func(r MediumRow) bool { return r.Candidate == candidate })
		l := slices.IndexFunc(m.Levels, func(l MediumLevel) bool { return l.Name == level })
		return m.Rows[r].Cells[l]
	}
	for _, want := range []struct{ candidate, level, summary string }{
		{toy.JFFS2, "healthy", "whole in 3 of 3 trials: all of 300 files whole"},
		{toy.JFFS2, toy.BadBlocks, "whole in 3 of 3 trials: all of 300 files whole, 4 bad blocks"},
		{toy.JFFS2, toy.BitFlips, "corrected in 3 of 3 trials: all of 300 files whole, 240 bits corrected"},
		{toy.UBIFS, toy.BitFlips, "scrubbed in 3 of 3 trials: all of 300 files whole, 240 bits corrected, 12 blocks scrubbed"},
		{toy.Summary, toy.Beyond, "files lost in 2 of 3 trials: 5 of 300 files missing, 31 reads beyond ECC; the others 1 whole"},
		{toy.UBIFS, toy.Beyond, "read errors in 1 of 3 trials (read: Input/output error); the others 2 read-only"},
		{toy.JFFS2, toy.AllBad, "lost in 3 of 3 trials (mount: Input/output error)"},
		{toy.UBIFS, toy.AllBad, "lost in 3 of 3 trials (attach: every erase block is bad)"},
		{toy.Squashfs, toy.AllBad, "image: not tried"},
	} {
		if got := cell(want.candidate, want.level).Summary(); got != want.summary {
			t.Errorf("%s with %s: %s\nwant %s", want.candidate, want.level, got, want.summary)
		}
	}
}

// The class of a trial that ended early follows from the work that ended it.
func TestMediumOfEndedTrials(t *testing.T) {
	s := &subject{work: map[string]scenario.Kind{}}
	for phase, name := range map[string]string{"mount": "mount", "attach": "attach", "read": "tree-read", "write": "fill-size", "unmount": "unmount", "format": "layer-format"} {
		s.work[phase], _ = scenario.KindOf(name)
	}
	compared := []result.Measurement{{Phase: "compare", Metric: result.FilesWhole, Value: 9, Unit: "1"}}
	for _, c := range []struct {
		phase, reason, want string
		m                   []result.Measurement
	}{
		{"mount", "x", DataLost, compared}, {"attach", "x", DataLost, nil}, {"format", "x", DataLost, nil},
		{"read", "x", DataUnreadable, nil}, {"write", "No space left on device", DataStopped, compared},
		{"write", "Read-only file system", DataReadOnly, compared}, {"unmount", "x", DataStopped, nil}, {"", "x", DataStopped, nil},
		{"write", "x", DataMissing, append([]result.Measurement{{Phase: "compare", Metric: result.FilesMissing, Value: 1, Unit: "1"}}, compared...)},
	} {
		var cell MediumCell
		got, reason := cell.add(s, result.Trial{Outcome: result.SubjectFailed, Phase: c.phase, Reason: c.reason, Measurements: c.m})
		if got != c.want || !strings.Contains(reason, c.reason) {
			t.Errorf("ended in %q: %s (%s), want %s", c.phase, got, reason, c.want)
		}
	}
	var cell MediumCell
	if got, why := cell.add(&subject{work: s.work}, result.Trial{Outcome: result.Done, Measurements: []result.Measurement{{Metric: result.FilesWhole, Absent: "no copy to compare with"}}}); got != DataNotCompared || why != "no copy to compare with" {
		t.Errorf("files not compared: %s (%s)", got, why)
	}
	// A filesystem that is always read-only has not made itself read-only.
	readOnly := result.Trial{Outcome: result.Done, Measurements: append([]result.Measurement{{Phase: "mount", Metric: result.MountReadOnly, Value: 1, Unit: "1"}}, compared...)}
	if got, _ := cell.add(&subject{Candidate: Candidate{ReadOnly: true}}, readOnly); got != DataWhole {
		t.Errorf("an image is %s", got)
	}
}

func TestOptionalPhases(t *testing.T) {
	figures := func(phases map[string][]float64) *subject {
		s := newSubject("ext4", "")
		s.Done = 2
		for p, values := range phases {
			x := &series{unit: "s", absent: p + " is not there"}
			for i, v := range values {
				x.rounds, x.values = append(x.rounds, i+1), append(x.values, v)
			}
			s.figures[key{p, result.Wall}] = x
		}
		return s
	}
	def := study.Column{Terms: []study.Term{{Phase: "attach", Metric: result.Wall}, {Phase: "mount", Metric: result.Wall}}, Optional: []string{"attach"}}
	for _, c := range []struct {
		name   string
		phases map[string][]float64
		want   map[int]float64
		why    string
	}{
		{"both", map[string][]float64{"attach": {1, 2}, "mount": {10, 20}}, map[int]float64{1: 11, 2: 22}, ""},
		{"absent", map[string][]float64{"attach": nil, "mount": {10, 20}}, map[int]float64{1: 10, 2: 20}, ""},
		{"not there", map[string][]float64{"mount": {10, 20}}, map[int]float64{1: 10, 2: 20}, ""},
		{"in one round", map[string][]float64{"attach": {1}, "mount": {10, 20}}, map[int]float64{1: 11}, ""},
		{"the other", map[string][]float64{"attach": {1}}, nil, "phase mount has no such figure"},
	} {
		got, why := figures(c.phases).sums(def)
		if why != c.why || len(got) != len(c.want) {
			t.Errorf("%s: %v, %q", c.name, got, why)
		}
		for r, v := range c.want {
			if got[r] != v {
				t.Errorf("%s: %v, want %v", c.name, got, c.want)
			}
		}
	}
	def.Terms = def.Terms[:1]
	if _, why := figures(map[string][]float64{"attach": nil}).sums(def); why != "attach is not there" {
		t.Errorf("nothing but what is optional: %q", why)
	}
}

// The work of a trial depends on the storage of its run.
func TestWorkDependsOnStorage(t *testing.T) {
	st := study.Study{
		Scales:   map[string]study.Scale{"quick": {}},
		Storages: []study.Storage{{Key: "chip", Specs: map[string]string{"quick": "nand:64M"}}, {Key: "card", Specs: map[string]string{"quick": "sim:x,1G"}}},
		Scenario: func(_ bool, s study.Scale) scenario.Scenario { return scenario.Scenario{{Work: "mount", Phase: s.On}} },
	}
	for storage, want := range map[string]string{"nand:64M": "chip", "nand:128M,bad=5": "chip", "mtd:/dev/mtd3": "chip", "sim:x,1G": "card", "disk:1G": "card"} {
		f := gather(result.Run{Scale: "quick", Storage: storage, Candidates: []string{"ext4"}}, nil, nil, st)
		if got := f.phases(); !slices.Contains(got, want) || f.byName["ext4"].lacks(want) || f.works(false)[want].Name != "mount" {
			t.Errorf("on %s the phases are %v", storage, got)
		}
	}
}
