package verdict

import (
	"encoding/json"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"whichfs/internal/judge/verdict/toy"
	"whichfs/internal/result"
	"whichfs/internal/testing/parsed"
)

func judged(t *testing.T, r toy.Run) Verdict {
	t.Helper()
	run, trials, st := r.Make()
	v, err := Compute(run, nil, trials, st, Beside{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := json.Marshal(v); err != nil {
		t.Errorf("no JSON: %v", err)
	}
	return v
}

// A run with factors says the same of its candidates as one without: trials of
// variants stay out of the candidates' own figures.
func TestVariantsStayApart(t *testing.T) {
	run, trials, st := toy.Run{Seed: 3}.Make()
	with, err := Compute(run, nil, trials, st, Beside{})
	if err != nil {
		t.Fatal(err)
	}
	run.Plan = nil
	var own []result.Trial
	for _, x := range trials {
		if x.Variant == "" {
			own = append(own, x)
		}
	}
	without, err := Compute(run, nil, own, st, Beside{})
	if err != nil {
		t.Fatal(err)
	}
	if len(own) == len(trials) || with.Trials.Done != len(trials) || without.Trials.Done != len(own) {
		t.Fatalf("%d trials, %d own; %d and %d counted", len(trials), len(own), with.Trials.Done, without.Trials.Done)
	}
	for _, c := range []struct{ what, diff string }{
		{"columns", cmp.Diff(without.Columns, with.Columns)}, {"extra", cmp.Diff(without.Extra, with.Extra)},
		{"uses", cmp.Diff(without.Uses, with.Uses)}, {"phases", cmp.Diff(without.Phases, with.Phases)},
		{"costs", cmp.Diff(without.Costs, with.Costs)}, {"candidates", cmp.Diff(without.Candidates, with.Candidates, parsed.ByValue)},
	} {
		if c.diff != "" {
			t.Errorf("variants change the %s: %s", c.what, c.diff)
		}
	}
	if len(without.Effects) != 0 || len(with.Effects) != 2 {
		t.Errorf("%d and %d factors", len(without.Effects), len(with.Effects))
	}
	if with.Trials.Planned != len(trials) {
		t.Errorf("%d trials planned, %d made", with.Trials.Planned, len(trials))
	}
}

func effectOf(t *testing.T, v Verdict, level, column string) Effect {
	t.Helper()
	for _, f := range v.Effects {
		for _, l := range f.Levels {
			for _, e := range l.Effects {
				if l.Name == level && e.Column == column {
					return e
				}
			}
		}
	}
	t.Fatalf("no effect of %s on %s", level, column)
	return Effect{}
}

func TestEffects(t *testing.T) {
	v := judged(t, toy.Run{Seed: 1})
	for _, want := range []struct {
		level, column string
		ratio         float64
		outcome       string
		candidates    int
	}{
		{toy.Noatime, "write", 1, NoEffect, 5},
		// A tenth of the files in thirty tenths of the time for each.
		{toy.Dirsync, "create", 30, MoreThanReference, 5},
		{toy.Dirsync, "read", 1, NoEffect, 5},
		{toy.Shifted, "create", 1.6, MoreThanReference, 2},
		{toy.Shifted, "write", 1.15, MoreThanReference, 2},
	} {
		e := effectOf(t, v, want.level, want.column)
		if e.Absent != "" || math.Abs(math.Log(e.Ratio.Value/want.ratio)) > 0.03 || e.Outcome != want.outcome || e.Differs {
			t.Errorf("%s on %s: %+v, want %v (%s)", want.level, want.column, e, want.ratio, want.outcome)
		}
		if e.Ratio.Single || e.Ratio.Low > e.Ratio.Value || e.Ratio.High < e.Ratio.Value {
			t.Errorf("%s on %s: interval %+v", want.level, want.column, e.Ratio)
		}
		with := 0
		for _, c := range e.Candidates {
			if c.Absent == "" {
				with++
				if math.Abs(math.Log(c.Ratio.Value/want.ratio)) > 0.05 {
					t.Errorf("%s on %s of %s: %+v", want.level, want.column, c.Candidate, c)
				}
			}
		}
		if with != want.candidates {
			t.Errorf("%s on %s: %d candidates, want %d", want.level, want.column, with, want.candidates)
		}
	}
	if e := effectOf(t, v, toy.Dirsync, "ratio"); len(e.Candidates) != 5 || e.Candidates[0].Absent != "ext2 does not compress" {
		t.Errorf("an effect on a figure that is absent: %+v", e)
	}
	if e := effectOf(t, v, toy.Dirsync, "full"); !strings.Contains(e.Absent, "which has no ratio") {
		t.Errorf("an effect on a figure of 0: %+v", e)
	}
}

// scaledBy is a change of what a toy's trials of ext4 at a level took in a phase.
func scaledBy(factor float64, level, phase string) func(*result.Trial) bool {
	return func(x *result.Trial) bool {
		for i := range x.Measurements {
			if m := &x.Measurements[i]; x.Candidate == toy.Ext4 && x.Variant == level && m.Phase == phase && m.Metric == result.Wall {
				m.Value *= factor
			}
		}
		return true
	}
}

// One candidate without the effect turns the pooled effect into an average that holds for no candidate.
// Candidates without an effect do not differ, however exactly that is known.
func TestEffectDiffers(t *testing.T) {
	v := judged(t, toy.Run{Seed: 2, Change: scaledBy(1/1.6, toy.Shifted, "create")})
	if e := effectOf(t, v, toy.Shifted, "create"); !e.Differs || e.Candidates[0].Outcome != NoEffect || e.Candidates[1].Outcome != MoreThanReference {
		t.Errorf("%+v", e)
	}
	v = judged(t, toy.Run{Seed: 2, Change: scaledBy(1.05, toy.Noatime, "write")})
	if e := effectOf(t, v, toy.Noatime, "write"); e.Differs || e.Outcome != NoEffect {
		t.Errorf("%+v", e)
	}
}

// A level that was never reached is reported as missing, and one that fails
// says why.
func TestEffectsAbsent(t *testing.T) {
	v := judged(t, toy.Run{Seed: 2, Rounds: 3, Change: func(x *result.Trial) bool {
		if x.Variant == toy.Noatime {
			return false
		}
		if x.Variant == toy.Shifted {
			x.Outcome, x.Phase, x.Reason, x.Measurements = result.SubjectFailed, "mkfs", "mkfs said no", nil
		}
		return true
	}})
	if e := effectOf(t, v, toy.Noatime, "write"); !strings.Contains(e.Absent, "the run has not reached it") {
		t.Errorf("a level that never ran: %+v", e)
	}
	e := effectOf(t, v, toy.Shifted, "write")
	if !strings.Contains(e.Absent, "mkfs said no") {
		t.Errorf("a level that failed: %+v", e)
	}
	if !slices.ContainsFunc(v.Warnings, func(w string) bool {
		return strings.Contains(w, "ext4 [shifted] failed in 3 trials, at mkfs: mkfs said no")
	}) {
		t.Errorf("no warning of it: %q", v.Warnings)
	}
	if v.Trials.Subject != 6 || v.Trials.Failures[0].Variant != toy.Shifted {
		t.Errorf("%+v", v.Trials)
	}
}

func tableOf(t *testing.T, v Verdict, key string) NumbersTable {
	t.Helper()
	for _, x := range v.Numbers.Tables {
		if x.Key == key {
			return x
		}
	}
	t.Fatalf("no table %s", key)
	return NumbersTable{}
}

func TestNumbers(t *testing.T) {
	v := judged(t, toy.Run{Seed: 1})
	if len(v.Numbers.Tables) != 5 || v.Numbers.Elsewhere != "Tables of other storage (1 TB hard disk) are not compared with this run." {
		t.Errorf("%d tables; %q", len(v.Numbers.Tables), v.Numbers.Elsewhere)
	}
	write := tableOf(t, v, "card/write")
	// Published 4.1, 9.8, 8.0 and 9.0 MB/s; made up with 4.2, 9.6, 7.4 and 8.6.
	for i, want := range []float64{4.2, 9.6, 7.4, 8.6} {
		c := write.Cells[i]
		if math.Abs(c.Measured.Value/want-1) > 0.03 || math.Abs(c.Ratio.Value-c.Measured.Value/c.Published) > 1e-9 || c.Measured.Low > c.Measured.Value {
			t.Errorf("cell %+v, want %v MB/s", c, want)
		}
	}
	if !write.Tau.Has || write.Tau.N != 8 || write.Tau.Value < 0.5 || write.Within != 8 || write.Median.Value < 0.9 || write.Median.Value > 1.05 {
		t.Errorf("tau %+v, median %+v, %d within", write.Tau, write.Median, write.Within)
	}
	if diff := cmp.Diff([]string{"relatime", toy.Noatime}, write.Labels); diff != "" {
		t.Error(diff)
	}
	create := tableOf(t, v, "card/create")
	last := create.Cells[len(create.Cells)-1]
	if create.Tau.N != 7 || last.Text != "about 60" || last.counts() || last.Absent != "" || math.Abs(last.Measured.Value/(1700.0/30)-1) > 0.03 {
		t.Errorf("the cell with a text counts: %+v; tau %+v", last, create.Tau)
	}
	ratio := tableOf(t, v, "ratio")
	if c := ratio.Cells[0]; math.Abs(c.Measured.Value-47) > 1e-9 || math.Abs(c.Ratio.Value-1) > 1e-9 || ratio.Tau.Has || ratio.Heads[0] != "lzo" {
		t.Errorf("%+v", ratio)
	}
	if v.Numbers.Card.Tables != 1 || v.Numbers.Card.Cells != 8 || v.Numbers.All.Tables != 4 || v.Numbers.All.Cells != 16 {
		t.Errorf("card %+v, all %+v", v.Numbers.Card, v.Numbers.All)
	}
}

// Figures that grow with the data are compared with published ones by order
// alone, unless the data have the published size.
func TestOrderOnly(t *testing.T) {
	v := judged(t, toy.Run{Seed: 1})
	for _, key := range []string{"card/time", "card/space"} {
		x := tableOf(t, v, key)
		if !x.OrderOnly || x.Median.N != 0 || x.Within != 0 || !x.Tau.Has || x.Cells[0].Ratio.Value != 0 || x.Cells[0].Measured.Value == 0 {
			t.Errorf("%s: %+v", key, x)
		}
	}
	if c := claimOf(t, v, "table-time"); c.Result != Agrees || !strings.HasSuffix(c.Figures, orderOnly) {
		t.Errorf("%+v", c)
	}
	run, trials, st := toy.Run{Seed: 1}.Make()
	run.Scale = "full"
	st.Scales["full"] = st.Scales["quick"]
	full, err := Compute(run, nil, trials, st, Beside{})
	if err != nil {
		t.Fatal(err)
	}
	for _, key := range []string{"card/time", "card/space"} {
		if x := tableOf(t, full, key); x.OrderOnly || x.Median.N != 4 {
			t.Errorf("at full scale %s: %+v", key, x)
		}
	}
}

// A twin of the same model counts as the storage, whatever its size; anything
// else does not.
func TestNumbersOfOtherStorage(t *testing.T) {
	run, trials, st := toy.Run{}.Make()
	for spec, want := range map[string]string{
		"sim:toy-card,1G": toy.Card, "sim:toy-card,2G": toy.Card, "sim:toy-card": toy.Card, "sim:toy-disk,8G": toy.Disk, "sim:card-8g": toy.Card,
		"sim:toy-cardigan,1G": "", "disk:1G": "", "/dev/sdb": "", "sim:": "", "card-8g": toy.Card,
	} {
		run.Storage = spec
		if got := storageOf(st, run); got != want {
			t.Errorf("%s is %q, want %q", spec, got, want)
		}
	}
	run.Storage = "/dev/sdb"
	v, err := Compute(run, nil, trials, st, Beside{})
	if err != nil {
		t.Fatal(err)
	}
	if len(v.Numbers.Tables) != 1 || v.Numbers.Tables[0].Key != "ratio" {
		t.Errorf("tables %+v", v.Numbers.Tables)
	}
	if c := claimOf(t, v, "table-write"); c.Result != NotTested || c.Figures != "it is about 8 GB SD card, class 4" {
		t.Errorf("%+v", c)
	}
}

func TestUnits(t *testing.T) {
	run, trials, st := toy.Run{Noise: 1e-9, Rounds: 2}.Make()
	f := gather(run, nil, trials, st)
	for _, c := range []struct {
		column, unit string
		want         float64
		why          string
	}{
		{"write", "kB/s", 9600, ""}, {"write", "KiB/s", 9375, ""}, {"write", "MiB/s", 9.6e6 / (1 << 20), ""}, {"write", "s", (64 << 20) / 9.6e6, ""},
		{"write", "ms", (64 << 20) / 9.6e3, ""}, {"create", "/s", 5200, ""}, {"seeks", "/s", 33, ""}, {"space", "MB", 68, ""}, {"space", "B", 68e6, ""},
		{"space", "/s", 0, "space in B cannot be converted to /s"}, {"create", "MB/s", 0, "files of phase create is not a rate of that kind"},
		{"space", "furlongs", 0, "space in B cannot be converted to furlongs"}, {"write", "%", 0, "write in s cannot be converted to %"},
		{"mount", "/s", 0, "the study has no rate for it"},
	} {
		def, _ := st.Column(c.column)
		got, why := f.converted(def, c.unit, toy.Ext4, "")
		if why != c.why {
			t.Errorf("%s in %s: %q, want %q", c.column, c.unit, why, c.why)
		}
		if why == "" && math.Abs(got[1]/c.want-1) > 1e-6 {
			t.Errorf("%s in %s: %v, want %v", c.column, c.unit, got[1], c.want)
		}
	}
	def, _ := st.Column("write")
	if _, why := f.converted(def, "MB/s", "jfs", ""); why != "not tried" {
		t.Error(why)
	}
	if _, why := f.converted(def, "MB/s", toy.Ext2, toy.Shifted); why != "not tried with shifted" {
		t.Error(why)
	}
}

func TestNewClaims(t *testing.T) {
	v := judged(t, toy.Run{Seed: 1})
	for id, want := range map[string][]string{
		"table-write":       {Agrees, "tau-b 0.", "over 8 figures", "the median of ours over the published figures is ", "8 of 8 within a factor of 1.5"},
		"dirsync":           {Agrees, "with noatime,dirsync, create is 30", "of that with relatime, over ext2, ext4, vfat, btrfs"},
		"noatime":           {Agrees, "with noatime, write is 1.0"},
		"shifted-none":      {Disagrees, "with shifted, create is 1.6", "of that with aligned, over ext4 and vfat"},
		"ratio":             {Agrees, "btrfs -o compress=lzo 0.470"},
		"disk-write":        {NotTested, "it is about 1 TB hard disk"},
		"slower-gains-more": {NotTested, "several kinds of storage"},
		"boots":             {NotTested, "nothing here boots"},
	} {
		c := claimOf(t, v, id)
		if c.Result != want[0] {
			t.Errorf("%s: %s, want %s (%s)", id, c.Result, want[0], c.Figures)
		}
		mustContain(t, id, c.Figures, want[1:]...)
	}
	// Very noisy figures settle nothing.
	v = judged(t, toy.Run{Seed: 1, Noise: 0.8, Rounds: 3})
	for _, id := range []string{"noatime", "shifted-none", "table-write"} {
		if c := claimOf(t, v, id); c.Result != Undecided {
			t.Errorf("with much noise %s is %s (%s)", id, c.Result, c.Figures)
		}
	}
}

func TestWithin(t *testing.T) {
	for _, c := range []struct {
		iv        Interval
		low, high float64
		want      string
	}{
		{Interval{Value: 2, Low: 1.5, High: 2.5}, 1, 3, Agrees},
		{Interval{Value: 2, Low: 1.5, High: 2.5}, 1, 0, Agrees},
		{Interval{Value: 2, Low: 1.5, High: 2.5}, 2, 3, Undecided},
		{Interval{Value: 2, Low: 1.5, High: 2.5}, 2.6, 3, Disagrees},
		{Interval{Value: 2, Low: 1.5, High: 2.5}, 0, 1, Disagrees},
		{Interval{Value: 2, Low: 2, High: 2, Single: true}, 1, 3, Undecided},
	} {
		if got := within(c.iv, c.low, c.high); got != c.want {
			t.Errorf("%+v within %v to %v: %s, want %s", c.iv, c.low, c.high, got, c.want)
		}
	}
}

func TestRatesAndLevels(t *testing.T) {
	v := judged(t, toy.Run{Seed: 1})
	for _, want := range []struct {
		column, unit string
		rate         float64
	}{{"write", "B/s", 9.6e6}, {"create", "/s", 5200}, {"seeks", "/s", 33}} {
		col := columnOf(t, v, want.column)
		i := slices.IndexFunc(col.Cells, func(c Cell) bool { return c.Candidate == toy.Ext4 })
		r := col.Cells[i].Rate
		if col.RateUnit != want.unit || r == nil || math.Abs(r.Value/want.rate-1) > 0.03 || r.Low > r.Value || r.High < r.Value {
			t.Errorf("%s: %+v in %q", want.column, r, col.RateUnit)
		}
	}
	if col := columnOf(t, v, "space"); col.RateUnit != "" || col.Cells[0].Rate != nil {
		t.Errorf("space has a rate: %+v", col)
	}
	full := columnOf(t, v, "full")
	if !full.Level || len(full.Cells) != 5 {
		t.Fatalf("%+v", full)
	}
	for _, c := range full.Cells {
		if c.RankLow != 0 || c.Grade != 0 || c.Absent != "" || c.Estimate.Value != 0 || c.Estimate.N != 5 {
			t.Errorf("a level is ranked, or its 0 is lost: %+v", c)
		}
	}
}

func TestCosts(t *testing.T) {
	v := judged(t, toy.Run{Seed: 1})
	row := v.Costs.Rows[2]
	if row.Candidate != toy.VFAT || row.CPU.Absent != "" || row.ThreadCPU.Absent != "vfat has no kernel threads of its own" {
		t.Fatalf("%+v", row)
	}
	// Processor time is 27 % of all time, and the device is busy for 80 % of it,
	// except in the phases without such figures.
	bytes := 0.27 * (1/7.4e6 + 1/15.9e6) / 2
	ops := 0.27 * (10_240.0/190 + 800.0/52) / (10_240 + 800)
	for _, c := range []struct {
		what string
		got  Figure
		want float64
	}{{"per byte", row.PerByte, bytes}, {"per operation", row.PerOp, ops}, {"busy", row.Busy, 0.8}, {"memory", row.Memory, 4e6}, {"threads", row.Threads, 0}} {
		if c.got.Absent != "" || math.Abs(c.got.Estimate.Value-c.want) > 0.02*c.want {
			t.Errorf("%s: %+v, want %v", c.what, c.got, c.want)
		}
	}
}

func TestChoices(t *testing.T) {
	v := judged(t, toy.Run{Seed: 1})
	large := v.Choices[0]
	if diff := cmp.Diff([4]string{toy.Packed, toy.Ext4 + " = " + toy.Btrfs, toy.VFAT, toy.Ext2}, large.Ours); diff != "" {
		t.Error(diff)
	}
	if large.Same != [4]bool{true, true, false, false} || large.Storage != "8 GB SD card, class 4" || large.Published[3] != toy.VFAT {
		t.Errorf("%+v", large)
	}
	small := v.Choices[1]
	if diff := cmp.Diff([4]string{toy.Ext4, toy.Ext2, toy.Btrfs + " = " + toy.Packed, toy.VFAT}, small.Ours); diff != "" {
		t.Error(diff)
	}
	if small.Same != [4]bool{true, true, true, true} {
		t.Errorf("%+v", small)
	}
	run, trials, st := toy.Run{Seed: 1}.Make()
	st.Choices[0].Among = []string{toy.VFAT, toy.Packed}
	few, err := Compute(run, nil, trials, st, Beside{})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([4]string{toy.Packed, toy.VFAT, "", toy.VFAT}, few.Choices[0].Ours); diff != "" {
		t.Error(diff)
	}
	noisy := judged(t, toy.Run{Seed: 1, Noise: 0.5, Rounds: 3})
	if !strings.HasSuffix(noisy.Choices[0].Ours[0], " ?") {
		t.Errorf("with much noise the choice is %+v", noisy.Choices[0].Ours)
	}
}

func TestDriftIsRemoved(t *testing.T) {
	v := judged(t, toy.Run{Seed: 4, Drift: 0.3, Rounds: 6})
	if v.Drift == nil || !strings.Contains(v.Drift.Text, "the overall order (slope 1") {
		t.Fatalf("no drift: %+v", v.Drift)
	}
	whole(t, v.Drift.Text)
	for _, c := range v.Drift.Columns {
		want := result.SentinelWrite
		switch c.Column {
		case "read":
			want = result.SentinelRead
		case "score":
			want = ""
		}
		if math.Abs(c.Slope-1) > 0.15 || c.Taken < 0.8 || c.Sentinel != want {
			t.Errorf("%+v", c)
		}
	}
	if calm := judged(t, toy.Run{Seed: 4}); calm.Drift != nil {
		t.Errorf("drift where there is none: %+v", calm.Drift)
	}
}

// What a candidate cannot run for holds for every level of a factor.
func TestUnsupportedLevels(t *testing.T) {
	run := result.Run{Study: toy.Study().Name, Scale: "quick", Candidates: []string{toy.Ext2}}
	support := []result.Support{{Candidate: toy.Ext2, Outcome: result.Unsupported, Reason: "no driver"}}
	f := gather(run, support, []result.Trial{{Candidate: toy.Ext2, Variant: "large"}}, toy.Study())
	if all := f.all(); len(all) != 2 || all[0].Reason != "no driver" || all[1].Reason != "no driver" || all[1].Outcome != result.Unsupported {
		t.Errorf("%+v", all)
	}
}
