package verdict

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"whichfs/internal/result"
	"whichfs/internal/sys/units"
	"whichfs/internal/testing/golden"
)

// compute makes the verdict and checks the invariants of every verdict.
func compute(t *testing.T, f fake, support ...result.Support) Verdict {
	t.Helper()
	run, trials, st := f.make()
	v, err := Compute(run, support, trials, st, Beside{})
	if err != nil {
		t.Fatal(err)
	}
	sane(t, v)
	return v
}

// sane: a verdict can be written as JSON (no NaN, no infinity), every sentence
// is whole, intervals hold their value, and ranks lie within their column.
func sane(t *testing.T, v Verdict) {
	t.Helper()
	if _, err := json.Marshal(v); err != nil {
		t.Errorf("no JSON: %v", err)
	}
	for _, c := range append(slices.Clone(v.Columns), v.Extra...) {
		for _, cell := range c.Cells {
			if cell.Absent != "" {
				continue
			}
			for _, iv := range []Interval{cell.Estimate, cell.Ratio} {
				if iv.Low > iv.Value || iv.High < iv.Value || iv.N < 0 {
					t.Errorf("%s, %s: interval %+v", c.Key, cell.Candidate, iv)
				}
			}
			if c.Level { // which is never ranked
				continue
			}
			if cell.RankLow < 1 || cell.RankHigh < cell.RankLow || cell.RankHigh > len(c.Cells) || (cell.Grade < Worst) != c.Additive || cell.Grade > Excellent || (cell.Difference != nil) != c.Additive {
				t.Errorf("%s: %+v", c.Key, cell)
			}
		}
	}
	for _, u := range v.Uses {
		for _, s := range append(append([]string{u.Answer}, u.Reasons...), u.Unsettled...) {
			whole(t, s)
		}
	}
	for _, s := range v.Warnings {
		whole(t, s)
	}
	for _, c := range v.Claims {
		if !slices.Contains([]string{Agrees, Shares, Disagrees, Undecided, NotTested}, c.Result) || c.Figures == "" {
			t.Errorf("claim %+v", c)
		}
	}
}

func whole(t *testing.T, s string) {
	t.Helper()
	if s == "" || !strings.HasSuffix(s, ".") || strings.Contains(s, "%!") || strings.Contains(s, "NaN") || strings.Contains(s, "  ") || strings.Contains(s, "..") {
		t.Errorf("sentence %q", s)
	}
}

func use(t *testing.T, v Verdict, name string) Use {
	t.Helper()
	for _, u := range v.Uses {
		if u.Name == name {
			return u
		}
	}
	t.Fatalf("no answer for %s", name)
	return Use{}
}

func claimOf(t *testing.T, v Verdict, id string) Claim {
	t.Helper()
	for _, c := range v.Claims {
		if c.ID == id {
			return c
		}
	}
	t.Fatalf("no claim %s", id)
	return Claim{}
}

func columnOf(t *testing.T, v Verdict, key string) Column {
	t.Helper()
	for _, c := range append(slices.Clone(v.Columns), v.Extra...) {
		if c.Key == key {
			return c
		}
	}
	t.Fatalf("no column %s", key)
	return Column{}
}

func mustContain(t *testing.T, what, text string, parts ...string) {
	t.Helper()
	for _, p := range parts {
		if !strings.Contains(text, p) {
			t.Errorf("%s: %q lacks %q", what, text, p)
		}
	}
}

// standard is a run like the quick one, with the order of the published table
// in most columns.
func standard() fake {
	return fake{
		candidates: []string{"ext4", "xfs", "btrfs -m single", "btrfs -m dup", "f2fs", "nilfs2", "vfat", "squashfs -comp lzo", "erofs -zlz4hc,12"},
		rounds:     3, noise: 0.01, seed: 5,
		factor: map[string]map[string]float64{
			"ext4":               {"module-load": 1.1, "mount": 1.4, "read": 1.5, "write": 1, "remove": 1.3, "space-filled": 1.3},
			"xfs":                {"module-load": 3.5, "mount": 2, "read": 1.6, "write": 1.2, "seq-write": 0.8, "remove": 1.7, "read-write": 1.2, "space-filled": 1.5},
			"btrfs -m single":    {"module-load": 6, "mount": 1.7, "read": 1.55, "write": 1.5, "remove": 3, "read-write": 1.4, "space-filled": 1.25},
			"btrfs -m dup":       {"module-load": 6, "mount": 1.7, "read": 1.8, "write": 1.9, "remove": 3.4, "read-write": 1.7, "space-filled": 1.25 / 0.965},
			"f2fs":               {"module-load": 2.5, "mount": 2.1, "read": 1.3, "write": 1.6, "remove": 2, "read-write": 0.9, "space-filled": 2.5},
			"nilfs2":             {"module-load": 3, "mount": 5, "read": 1.65, "write": 2.5, "seq-write": 2.2, "seq-read": 2, "remove": 0.5, "read-write": 0.7, "space-filled": 1.5},
			"vfat":               {"module-load": 0.8, "read": 1.7, "write": 3.5, "remove": 2.4, "read-write": 2.4, "seq-write": 1.1},
			"squashfs -comp lzo": {"mount": 0.5, "read": 1.2, "space-filled": 0.4},
			"erofs -zlz4hc,12":   {"module-load": 0.8, "mount": 0.5, "space-filled": 0.5},
		},
		change: func(tr *result.Trial) {
			if tr.Candidate == "vfat" {
				tr.Measurements = append(tr.Measurements,
					result.Measurement{Phase: "fill", Metric: result.LeftOutLinks, Value: 212, Unit: "1"},
					result.Measurement{Phase: "write", Metric: result.LeftOutLinks, Value: 212, Unit: "1"},
					result.Measurement{Phase: "fill", Metric: result.LeftOutNames, Value: 1, Unit: "1"})
			}
			if tr.Candidate == "nilfs2" {
				for i := range tr.Measurements {
					if m := &tr.Measurements[i]; m.Phase == "check" {
						m.Value, m.Absent = 0, "nilfs2 has no check tool"
					}
				}
			}
		},
		run: func(r *result.Run) { r.Emulated = true },
	}
}

// The whole verdict of a known run in words.
func TestGolden(t *testing.T) {
	v := compute(t, standard(), result.Support{Candidate: "jfs", Outcome: result.Unsupported, Reason: "this kernel has no module jfs", Hint: "install linux-image-amd64"})
	var b strings.Builder
	render(&b, v)
	golden.Check(t, "standard.golden", b.String())
}

func render(b *strings.Builder, v Verdict) {
	fmt.Fprintf(b, "%s\n%s\n%s\n", v.Title, v.Source, v.Reach)
	for _, u := range v.Uses {
		fmt.Fprintf(b, "\n%s (settled: %v)\n%s\n%s\n", u.Name, u.Settled, u.Answer, u.Rule)
		for _, p := range u.Ranks {
			fmt.Fprintf(b, "  %d-%d %s %s tied %q\n", p.RankLow, p.RankHigh, p.Candidate, units.RatioInterval(p.Score.Value, p.Score.Low, p.Score.High), p.TiedWith)
		}
		for _, r := range u.Reasons {
			fmt.Fprintf(b, "  because %s\n", r)
		}
		for _, r := range u.Unsettled {
			fmt.Fprintf(b, "  open %s\n", r)
		}
	}
	for _, c := range append(slices.Clone(v.Columns), v.Extra...) {
		fmt.Fprintf(b, "\n%s\n", c.Name)
		for _, x := range c.Cells {
			if x.Absent != "" {
				fmt.Fprintf(b, "  %s: %s\n", x.Candidate, x.Absent)
				continue
			}
			fmt.Fprintf(b, "  %d-%d %s %s, %s, %s, tied %q\n", x.RankLow, x.RankHigh, x.Candidate,
				units.Interval(x.Estimate.Value, x.Estimate.Low, x.Estimate.High, c.Unit),
				units.RatioInterval(x.Ratio.Value, x.Ratio.Low, x.Ratio.High), x.Grade, x.TiedWith)
		}
	}
	b.WriteString("\nclaims\n")
	for _, c := range v.Claims {
		fmt.Fprintf(b, "  %s: %s: %s [%s] %s\n", c.Result, c.ID, c.Text, c.Where, c.Figures)
	}
	for _, p := range v.Tables {
		fmt.Fprintf(b, "\n%s\n", p.Name)
		for _, r := range p.Rows {
			fmt.Fprintf(b, "  %s (%s): %q ours %q\n", r.Label, r.Candidate, r.Theirs, r.Ours)
		}
		for i, tau := range p.Taus {
			fmt.Fprintf(b, "  tau %s %v %.3f of %d\n", p.Columns[i], tau.Has, tau.Value, tau.N)
		}
	}
	b.WriteString("\ncandidates\n")
	for _, c := range v.Candidates {
		fmt.Fprintf(b, "  %s: %d %s %s %q %q\n", c.Name, c.Done, c.Outcome, c.Reason, c.LeftOut, c.Checks)
	}
	fmt.Fprintf(b, "\ntrials %+v\n", v.Trials)
	for _, w := range v.Warnings {
		fmt.Fprintf(b, "warning %s\n", w)
	}
	for _, p := range v.Phases {
		fmt.Fprintf(b, "phase %s: %d rows, bytes %v\n", p.Name, len(p.Rows), p.Bytes)
	}
}

// A clear winner is named, with reasons that are true.
func TestSettled(t *testing.T) {
	v := compute(t, fake{candidates: []string{"ext4", "xfs", "f2fs"}, rounds: 3, noise: 0.01, seed: 1,
		factor: map[string]map[string]float64{"xfs": everywhere(1.5), "f2fs": everywhere(2)}})
	u := use(t, v, "read-write")
	if !u.Settled || len(u.Unsettled) != 0 {
		t.Errorf("not settled: %+v", u)
	}
	mustContain(t, "answer", u.Answer, "ext4 is best for read-write work here", "xfs follows")
	if p := u.Ranks[0]; p.Candidate != "ext4" || p.RankLow != 1 || p.RankHigh != 1 || math.Abs(p.Score.Value-1) > 0.05 {
		t.Errorf("first place %+v", p)
	}
	if p := u.Ranks[2]; p.Candidate != "f2fs" || p.RankLow != 3 || math.Abs(p.Score.Value-2) > 0.1 {
		t.Errorf("last place %+v", p)
	}
	all := strings.Join(u.Reasons, "\n")
	mustContain(t, "reasons", all, "ext4 is best", "as long", "Why f2fs takes", "the storage sees 191 MiB of writes against 95.4 MiB")
}

// Where noise hides the difference, the verdict says so and says what would
// help.
func TestNotSettled(t *testing.T) {
	v := compute(t, fake{candidates: []string{"ext4", "xfs", "f2fs"}, rounds: 3, noise: 0.5, seed: 3,
		factor: map[string]map[string]float64{"xfs": everywhere(1.3), "f2fs": everywhere(1.3)}})
	u := use(t, v, "read-write")
	if u.Settled || len(u.Unsettled) == 0 {
		t.Fatalf("settled: %+v", u)
	}
	mustContain(t, "answer", u.Answer, "Not settled", "round")
	mustContain(t, "open", u.Unsettled[0], " against ", "round")
	if strings.Contains(u.Answer, "is best") {
		t.Errorf("claims too much: %s", u.Answer)
	}
}

func TestAllEqual(t *testing.T) {
	v := compute(t, fake{candidates: []string{"ext4", "xfs"}, rounds: 5, noise: 0.005, seed: 4})
	u := use(t, v, "read-write")
	if !u.Settled {
		t.Errorf("%+v", u)
	}
	mustContain(t, "answer", u.Answer, "no difference that matters", "ext4", "xfs", "equal within 10 %")
	for _, c := range v.Columns {
		if c.Key == "write" && (len(c.Cells[0].TiedWith) != 1 || c.Cells[1].RankLow != 1) {
			t.Errorf("%+v", c.Cells)
		}
	}
}

func TestTogetherWith(t *testing.T) {
	v := compute(t, fake{candidates: []string{"ext4", "xfs", "f2fs"}, rounds: 5, noise: 0.005, seed: 4,
		factor: map[string]map[string]float64{"f2fs": everywhere(2)}})
	u := use(t, v, "read-write")
	mustContain(t, "answer", u.Answer, "is best for read-write work here, together with", "f2fs follows")
	if !u.Settled {
		t.Error("not settled")
	}
}

// One round: figures, no intervals, nothing settled, no panic.
func TestOneRound(t *testing.T) {
	f := standard()
	f.rounds = 1
	v := compute(t, f)
	for _, u := range v.Uses {
		if u.Settled || !strings.Contains(u.Answer, "Not settled") {
			t.Errorf("%s: %s", u.Name, u.Answer)
		}
	}
	for _, c := range v.Columns {
		for _, cell := range c.Cells {
			if cell.Absent == "" && (!cell.Estimate.Single || len(cell.TiedWith) > 0) {
				t.Errorf("%s: %+v", c.Key, cell)
			}
		}
	}
	for _, c := range v.Claims {
		if c.Result == Agrees || c.Result == Disagrees {
			t.Errorf("claim %s is %s after one round: %s", c.ID, c.Result, c.Figures)
		}
	}
	mustContain(t, "warnings", strings.Join(v.Warnings, "\n"), "One round does not show the noise")
}

func TestSingleCandidate(t *testing.T) {
	v := compute(t, fake{candidates: []string{"ext4"}, rounds: 3, noise: 0.01, seed: 1})
	u := use(t, v, "read-write")
	mustContain(t, "answer", u.Answer, "only read-write candidate")
	if len(v.Uses) != 1 || u.Settled {
		t.Errorf("%+v", v.Uses)
	}
}

func TestNothingMeasured(t *testing.T) {
	f := standard()
	run, _, st := f.make()
	v, err := Compute(run, nil, nil, st, Beside{})
	if err != nil {
		t.Fatal(err)
	}
	sane(t, v)
	mustContain(t, "warnings", strings.Join(v.Warnings, "\n"), "No trial of this run counts")
	for _, u := range v.Uses {
		mustContain(t, "answer", u.Answer, "No answer")
	}
}

// A candidate whose trials all failed has a row with the reason and no rank.
func TestAllTrialsFailed(t *testing.T) {
	v := compute(t, fake{candidates: []string{"ext4", "xfs", "f2fs"}, rounds: 3, noise: 0.01, seed: 1,
		factor: map[string]map[string]float64{"xfs": everywhere(2)},
		change: func(tr *result.Trial) {
			if tr.Candidate == "f2fs" {
				tr.Outcome, tr.Phase, tr.Reason = result.SubjectFailed, "write", "No space left on device"
			}
		}})
	c := columnOf(t, v, "write")
	last := c.Cells[len(c.Cells)-1]
	if last.Candidate != "f2fs" {
		t.Errorf("%+v", last)
	}
	mustContain(t, "absent", last.Absent, "no trial of it counts", "No space left on device")
	if v.Trials.Subject != 3 || v.Trials.Done != 6 || v.Trials.Planned != 9 || len(v.Trials.Failures) != 3 {
		t.Errorf("%+v", v.Trials)
	}
	if f := v.Candidates[2]; f.Outcome != result.SubjectFailed || f.Done != 0 {
		t.Errorf("%+v", f)
	}
	mustContain(t, "warnings", strings.Join(v.Warnings, "\n"), "f2fs failed in 3 trials, at write")
	if u := use(t, v, "read-write"); !u.Settled || len(u.Ranks) != 2 {
		t.Errorf("%+v", u)
	}
}

// A lab failure is ignored; one that a retry cured is counted as such.
func TestLabFailures(t *testing.T) {
	f := fake{candidates: []string{"ext4", "xfs"}, rounds: 4, noise: 0.01, seed: 1, factor: map[string]map[string]float64{"xfs": everywhere(2)}}
	run, trials, st := f.make()
	broken := trials[0]
	broken.Outcome, broken.Reason, broken.Measurements = result.LabFailed, "the guest hung", nil
	lost := trials[3] // xfs in round 2
	lost.Outcome, lost.Reason = result.LabFailed, "the guest panicked"
	lost2 := lost
	lost2.Attempt = 2
	trials[0].Attempt = 2
	begun := trials[7] // the trial in progress when the run was killed
	begun.Outcome = ""
	trials = append([]result.Trial{broken}, trials...)
	trials[4], trials[8] = lost, begun
	trials = append(trials, lost2)
	v, err := Compute(run, nil, trials, st, Beside{})
	if err != nil {
		t.Fatal(err)
	}
	sane(t, v)
	if v.Trials.Retried != 1 || v.Trials.Lab != 1 || v.Trials.Done != 6 || len(v.Trials.Failures) != 3 {
		t.Errorf("%+v", v.Trials)
	}
	if v.Candidates[0].Done != 4 || v.Candidates[1].Done != 2 {
		t.Errorf("%+v", v.Candidates)
	}
	mustContain(t, "warnings", strings.Join(v.Warnings, "\n"), "Fewer rounds count for xfs (2 of 4)", "The lab failed in 1 trial")
}

// A column in which one candidate has no figure counts for no candidate.
func TestMissingColumn(t *testing.T) {
	v := compute(t, fake{candidates: []string{"ext4", "xfs"}, rounds: 3, noise: 0.01, seed: 1,
		factor: map[string]map[string]float64{"xfs": everywhere(2)},
		change: func(tr *result.Trial) {
			for i := range tr.Measurements {
				if m := &tr.Measurements[i]; m.Phase == "module-load" && tr.Candidate == "ext4" {
					m.Value, m.Absent = 0, "built into this kernel"
				}
				if m := &tr.Measurements[i]; m.Phase == "remove" && tr.Candidate == "xfs" && m.Metric == result.Wall {
					m.Value = 0
				}
			}
		}})
	u := use(t, v, "read-write")
	mustContain(t, "rule", u.Rule, "Not counted: Boot time (no figure for ext4); Delete (figures of 0 and below have no ratio)")
	if strings.Contains(strings.SplitN(u.Rule, "Not counted", 2)[0], "Boot") || !u.Settled {
		t.Errorf("%+v", u)
	}
	for _, cell := range columnOf(t, v, "boot").Cells {
		if cell.Candidate == "ext4" && cell.Absent != "built into this kernel" {
			t.Errorf("%+v", cell)
		}
	}
	if col := columnOf(t, v, "delete"); !col.Additive || col.Cells[0].Candidate != "xfs" || col.Cells[0].Estimate.N != 3 || col.Cells[1].Difference.Value < 0.4 {
		t.Errorf("%+v", col)
	}
}

func TestUnsupported(t *testing.T) {
	f := fake{candidates: []string{"ext4", "xfs", "jfs"}, rounds: 3, noise: 0.01, seed: 1}
	run, trials, st := f.make()
	trials = slices.DeleteFunc(trials, func(x result.Trial) bool { return x.Candidate == "jfs" })
	v, err := Compute(run, []result.Support{{Candidate: "ext4"}, {Candidate: "jfs", Outcome: result.Unsupported, Reason: "this kernel has no module jfs", Hint: "modprobe jfs"}}, trials, st, Beside{})
	if err != nil {
		t.Fatal(err)
	}
	sane(t, v)
	if v.Trials.Unsupported != 1 || v.Trials.Planned != 6 {
		t.Errorf("%+v", v.Trials)
	}
	if c := v.Candidates[2]; c.Outcome != result.Unsupported || c.Hint == "" {
		t.Errorf("%+v", c)
	}
}

func TestClaims(t *testing.T) {
	v := compute(t, standard())
	for id, want := range map[string]string{
		"btrfs-single-space":  Agrees,    // 0.965, exactly as published
		"btrfs-single-read":   Agrees,    // 1.55 against 1.8
		"nilfs2-delete":       Agrees,    // 0.5
		"ext4-write":          Agrees,    // 1 against 1.2
		"xfs-stream":          Agrees,    // 0.8 against 1
		"nilfs2-stream-write": Agrees,    // slowest
		"btrfs-delete":        Agrees,    // of the table's rows
		"erofs-fastest":       Undecided, // 1 against 1.2, with another compressor on an emulated processor
		"squashfs-smallest":   Agrees,    // 0.4 against 0.5
		"order-delete":        Agrees,    //
		"raw-small-writes":    NotTested, // nothing probes it
		"btrfs-ssd-read":      NotTested, // not in this run
		"erofs-image-cost":    NotTested, // nothing to compare with
	} {
		if c := claimOf(t, v, id); c.Result != want {
			t.Errorf("%s: %s, want %s: %s", id, c.Result, want, c.Figures)
		}
	}
	if c := claimOf(t, v, "order-delete"); !c.HasTau || c.Tau < 0.7 {
		t.Errorf("%+v", c)
	}
	// The same reversed: the best is now the worst.
	f := standard()
	for name, m := range f.factor {
		for p, k := range m {
			f.factor[name][p] = 1 / k
		}
	}
	v = compute(t, f)
	for id, want := range map[string]string{
		"nilfs2-delete": Disagrees, "nilfs2-stream-write": Disagrees, "btrfs-single-read": Disagrees,
		"btrfs-single-space": Disagrees, "order-delete": Disagrees, "squashfs-smallest": Disagrees,
		// On an emulated processor only others without compression refute it.
		"nilfs2-mount": Disagrees, "erofs-fastest": Undecided,
	} {
		if c := claimOf(t, v, id); c.Result != want {
			t.Errorf("turned round, %s: %s, want %s: %s", id, c.Result, want, c.Figures)
		}
	}
	// The same in noise that hides everything.
	f = standard()
	f.noise = 1.5
	v = compute(t, f)
	for _, id := range []string{"ext4-write", "xfs-stream", "btrfs-single-read", "order-read"} {
		if c := claimOf(t, v, id); c.Result != Undecided {
			t.Errorf("in noise, %s: %s: %s", id, c.Result, c.Figures)
		}
	}
}

// The candidates of the full scale reach checks that the quick ones do not.
func TestClaimsOfTheFullScale(t *testing.T) {
	_, _, st := fake{candidates: []string{"ext4"}, rounds: 1}.make()
	f := fake{candidates: st.Scales["full"].Candidates, rounds: 5, noise: 0.002, seed: 9,
		factor: map[string]map[string]float64{
			"erofs -zlz4hc,12":                {"image": 3, "read": 0.7},
			"squashfs -comp lzo":              {"space-filled": 0.8, "read": 0.8},
			"btrfs -m single -o compress=lzo": {"write": 1.3}, "btrfs -m single -o compress=zlib": {"write": 3}, "btrfs -m single -o compress=zstd": {"write": 2},
		}}
	v := compute(t, f)
	for id, want := range map[string]string{
		"erofs-image-cost": Agrees, "squashfs-lzo": Agrees, "erofs-read": Agrees, "btrfs-compress-write": Agrees,
		"btrfs-compress-lzo": Agrees, "f2fs-compress-read": Agrees, "f2fs-options-stream": Agrees, "ext4-write": Shares, // all equal
	} {
		if c := claimOf(t, v, id); c.Result != want {
			t.Errorf("%s: %s, want %s: %s", id, c.Result, want, c.Figures)
		}
	}
}

func TestWarnings(t *testing.T) {
	f := fake{candidates: []string{"ext4", "btrfs -m single -o compress=lzo:3"}, rounds: 3, noise: 0.01, seed: 1,
		change: func(tr *result.Trial) {
			for i := range tr.Measurements {
				m := &tr.Measurements[i]
				switch {
				case m.Metric == result.SentinelWrite:
					m.Value *= 1 + 0.3*float64(tr.Round-1)
				case m.Metric == result.AgentMallocs && m.Phase == "write":
					m.Value = fewMallocs + 1
				case m.Metric == result.AgentMallocs && m.Phase == "mkfs":
					m.Value = 50 // starts another program
				case m.Metric == result.DeviceRead && m.Phase == "seq-read" && tr.Candidate == "ext4":
					m.Value = 4096
				}
			}
			if tr.Candidate != "ext4" {
				tr.Options = []result.Option{{Text: "compress=lzo:3", State: result.Altered, Evidence: "mounted with compress=lzo"}}
			} else {
				tr.Notes = []result.Note{{Phase: "write", Level: result.Warning, Text: "kernel: INFO: task stuck"}, {Phase: "check", Level: result.Warning, Text: "fsck.ext4 could not check: exit 8"}}
			}
			tr.Overhead = 12
		},
		run: func(r *result.Run) {
			r.State = result.Interrupted
			r.Notes = []result.Note{{Level: result.Warning, Text: "the storage reports itself as rotating"}}
		}}
	v := compute(t, f)
	all := strings.Join(v.Warnings, "\n")
	mustContain(t, "warnings", all,
		"not finished", "compress=lzo:3 was altered", "ext4, 3 times: kernel: INFO: task stuck.",
		"fixed raw write before each trial took 1.60× as long", "phase seq-read", "caches", "phases write)",
		"60 % of the running time", "reports itself as rotating.", "ext4: check not clean or not checked in 3 of 3 trials")
	if strings.Contains(all, "mkfs") || strings.Contains(all, "fixed raw read") {
		t.Errorf("too many warnings:\n%s", all)
	}
	if v.Reach != "" {
		t.Errorf("reach %q without emulation", v.Reach)
	}
}

func TestGrades(t *testing.T) {
	for _, c := range []struct {
		ratio, worst float64
		boot         bool
		want         Grade
	}{
		{1, 10, false, Best}, {1.01, 10, false, Best}, {10, 10, false, Worst}, {1.2, 10, true, Excellent}, {1.2, 10, false, VeryGood},
		{3, 10, false, Average}, {9, 10, false, Bad}, {1.1, 1.1, false, VeryGood}, {2, 2, false, Worst}, {1, 1, false, Best},
	} {
		if got := grade(c.ratio, c.worst, c.boot); got != c.want {
			t.Errorf("grade(%v of %v) = %v, want %v", c.ratio, c.worst, got, c.want)
		}
	}
	for last, r := Best, 1.0; r < 30; r *= 1.01 {
		if g := grade(r, 30, false); g > last {
			t.Fatalf("grade rises at %v", r)
		} else {
			last = g
		}
	}
}

func TestNonsenseMargin(t *testing.T) {
	f := standard()
	f.run = func(r *result.Run) { r.Margin = math.NaN() }
	run, trials, st := f.make()
	if _, err := Compute(run, nil, trials, st, Beside{}); err == nil {
		t.Error("margin NaN accepted")
	}
	run.Margin = -1
	if _, err := Compute(run, nil, trials, st, Beside{}); err == nil {
		t.Error("negative margin accepted")
	}
}

// The order of the trials in the store does not matter.
func TestOrderOfTrialsDoesNotMatter(t *testing.T) {
	run, trials, st := standard().make()
	a, err := Compute(run, nil, trials, st, Beside{})
	if err != nil {
		t.Fatal(err)
	}
	slices.Reverse(trials)
	b, err := Compute(run, nil, trials, st, Beside{})
	if err != nil {
		t.Fatal(err)
	}
	x, _ := json.Marshal(a)
	y, _ := json.Marshal(b)
	if string(x) != string(y) {
		t.Error("the verdict depends on the order of trials")
	}
}

// A store full of measurements must not make a report slow. Prints the number
// of measurements behind one verdict.
func BenchmarkMillion(b *testing.B) {
	_, _, st := fake{candidates: []string{"ext4"}, rounds: 1}.make()
	run, trials, _ := fake{candidates: st.Scales["full"].Candidates, rounds: 400, noise: 0.1, seed: 1}.make()
	n := 0
	for _, t := range trials {
		n += len(t.Measurements)
	}
	for b.Loop() {
		if _, err := Compute(run, nil, trials, st, Beside{}); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(n), "measurements")
}

// A report of the fake machine must not pass for measured figures.
func TestFakeMachineIsNamed(t *testing.T) {
	f := standard()
	run, trials, st := f.make()
	run.Machine = "fake"
	v, err := Compute(run, nil, trials, st, Beside{})
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(v.Reach, "Nothing here was measured") {
		t.Errorf("reach %q", v.Reach)
	}
}

// The order covers only speed and space; a leading candidate without a journal
// is named.
func TestNoJournalIsReported(t *testing.T) {
	for name, want := range map[string]bool{"ext2": true, "ext4 -O ^has_journal": true, "ext4": false} {
		v := compute(t, fake{candidates: []string{name, "xfs"}, rounds: 3, noise: 0.01, seed: 1,
			factor: map[string]map[string]float64{name: {"write": 0.2, "read": 0.2, "read-write": 0.2}}})
		said := false
		for _, u := range v.Uses {
			said = said || strings.Contains(strings.Join(u.Reasons, "\n"), name+" keeps no journal")
		}
		if said != want {
			t.Errorf("%s: said %v, want %v: %+v", name, said, want, v.Uses)
		}
	}
}
