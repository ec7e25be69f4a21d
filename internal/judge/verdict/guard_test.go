package verdict

import (
	"encoding/json"
	"fmt"
	"hash/fnv"
	"math"
	"math/rand/v2"
	"path"
	"slices"
	"testing"

	"gonum.org/v1/gonum/stat"

	"whichfs/internal/fault"
	"whichfs/internal/plan"
	"whichfs/internal/plan/scenario"
	"whichfs/internal/plan/study"
	"whichfs/internal/probe"
	"whichfs/internal/result"
	"whichfs/internal/testing/parsed"
)

// The two guards over all claims of all studies. Both make up what a run at a
// scale, as planned, would measure, and judge that with the code that judges
// real runs, as if measured on hardware.

// open are claims that say no scale at which they can be decided, and cannot at
// every one; unsound are those that the source's own figures refute without that
// it is said. Both lists, by study and ID, only shrink: an entry that is no
// longer needed fails the test.
var (
	open    = []string{}
	unsound = []string{}
)

// without are the claims on which no published figure bears, with the reason, by
// study and ID.
var without = []struct{ claims, why string }{
	{"bootlin-2023/raw-*", "the slides have no figures of a probe"},
	{"bootlin-2023/btrfs-single-*", inWords},
	{"bootlin-2023/btrfs-ssd-*", inWords},
	{"bootlin-2023/btrfs-compress-*", inWords},
	{"bootlin-2023/f2fs-compress-*", inWords},
	{"bootlin-2023/f2fs-options*", inWords},
	{"bootlin-2023/btrfs-default-dup", inWords},
	{"bootlin-2023/btrfs-incompressible", inWords},
	{"bootlin-2023/compression-no-gain", inWords},
	{"bootlin-2023/ext4-options", inWords},
	{"bootlin-2023/nilfs2-keeps", inWords},
	{"bootlin-2023/nilfs2-cleaner", inWords},
	{"bootlin-2023/min-*", inFacts},
	{"bootlin-2023/block-*", inFacts},
	{"bootlin-2023/dates-*", inFacts},
	{"bootlin-2023/squashfs-lzo", inWords},
	{"bootlin-2023/erofs-read", inWords},
	{"bootlin-2023/erofs-image-cost", inWords},
	{"bootlin-2010/*", inWords},
	{"devbuild-gist/zlib-*", "zlib is in no table of speeds"},
	{"devbuild-gist/nvme-large-unstable", noRounds},
	{"devbuild-gist/packed-*", inWords},
	{"devbuild-gist/git-*", inWords},
	{"devbuild-gist/preliminary-peak", "the two figures are in a table of the text, and the claim has them"},
	{"devbuild-gist/lzo-processor", "the text only says what was found"},
	{"devbuild-gist/compressing-slower", "the text only says what was found"},
	{"devbuild-gist/unsynced-*", "the times are in the text, and the claim has them"},
	{"pandora-2012/card2-writes", "the two figures are in the text, and not in a table"},
	{"pandora-2012/noise", noRounds},
	{"pandora-2012/dirsync-vfat-stat", "one of the two figures is “about 20000”"},
	{"pandora-2012/fewer-vfat-stat", "ours: the page does not know why"},
	{"pandora-2012/atime-writes", "the page only says what it does"},
	{"pandora-2012/stride-*", "the page only says what was found"},
	{"pandora-2012/strides-*", "the page only says what was found"},
	{"pandora-2012/alignment-*", "the page only says what was found"},
	{"elc-2015/limit-*", inWords},
	{"elc-2015/large-*", inWords},
	{"elc-2015/random-*", inWords},
	{"elc-2015/small-*", inWords},
	{"elc-2015/merged", inWords},
	{"elc-2015/busy-*", inWords},
	{"elc-2015/btrfs-*", inWords},
	{"elc-2015/f2fs-*", inWords},
	{"elc-2015/nilfs2-*", inWords},
	{"elc-2015/ext4-mixed-*", inWords},
	{"elc-2015/ext4-scaling-*", inWords},
	{"elc-2015/xfs-scaling-*", inWords},
	{"elc-2015/threads-negligible", inWords},
	{"elc-2015/threads-spread", inWords},
	{"elc-2015/relative-processor-*", inWords},
	{"elc-2015/mount-*", inWords},
	{"elc-2015/boot-*", inWords},
	{"elc-2015/same-cards-*", inWords},
	{"elc-2015-reliability/*", "the slides have one count, 3 of 226, and otherwise say what can happen"},
}

// inWords is the commonest reason.
const inWords = "the slides show it in charts, and have figures in words at most"

const inFacts = "the figure is the claim itself: the talk has no table of it"
const noRounds = "the source has means, and no figures of single rounds"

// madeUp is a run of a study at a scale on one of its storages, without figures.
type madeUp struct {
	st   study.Study
	on   study.Storage
	plan plan.Plan
	run  result.Run
	// boots of each trial.
	boots int
	// figures: claims about several storages are judged by the published figures.
	figures bool
}

// amountOfWork is what every phase does, in each unit of columns' rates.
const amountOfWork = 1 << 30

func madeUpRun(t *testing.T, st study.Study, scale string, on study.Storage) madeUp {
	fitted := st.Fit(scale, on)
	p := plan.Plan{Study: st.Name, Scale: scale, Machine: "local", Storage: on.Specs[scale], Candidates: parsed.Candidates(fitted.Candidates...), Rounds: fitted.Rounds,
		Margin: plan.DefaultMargin, ReadWrite: st.Scenario(false, fitted), ReadOnly: st.Scenario(true, fitted), Factors: st.Vary(fitted, on)}
	text, err := json.Marshal(p)
	if err != nil {
		t.Fatal(err)
	}
	return madeUp{st, on, p, result.Run{Study: st.Name, Scale: scale, Storage: p.Storage, Rounds: p.Rounds, Candidates: fitted.Candidates, Margin: p.Margin, Plan: text}, fitted.Boots, false}
}

// steps of a trial.
func (m madeUp) steps(s plan.Slot) scenario.Scenario {
	v, _ := m.plan.Variant(s.Variant)
	if s.Candidate.Imaged() {
		return v.Apply(m.plan.ReadOnly)
	}
	return v.Apply(m.plan.ReadWrite)
}

// trials has the figures that value gives for a column in a trial; NaN: none.
func (m madeUp) trials(columns []study.Column, value func(study.Column, plan.Slot) float64) []result.Trial {
	var out []result.Trial
	for _, slot := range plan.Trials(m.plan) {
		t := result.Trial{Candidate: slot.Candidate.String(), Variant: slot.Variant, Round: slot.Round, Attempt: 1, Outcome: result.Done}
		phases := m.steps(slot).Phases()
		for _, c := range columns {
			there := slices.DeleteFunc(slices.Clone(c.Terms), func(one study.Term) bool {
				boot := boots(one.Phase) && m.boots > 0 && (m.boots > 1 || one.Metric != result.BootSpread) && slot.Variant == ""
				return !boot && !slices.Contains(phases, one.Phase)
			})
			v := value(c, slot)
			over := !slices.ContainsFunc(c.Over, func(one study.Term) bool { return !slices.Contains(phases, one.Phase) })
			if len(there) == 0 || !over || math.IsNaN(v) {
				continue
			}
			for _, one := range there {
				t.Measurements = append(t.Measurements, result.Measurement{Phase: one.Phase, Metric: one.Metric, Value: v / float64(len(there)), Unit: c.Unit})
			}
			for _, one := range c.Over {
				t.Measurements = append(t.Measurements, result.Measurement{Phase: one.Phase, Metric: one.Metric, Value: 1 / float64(len(c.Over)), Unit: "s"})
			}
			if c.Per != "" {
				t.Measurements = append(t.Measurements, result.Measurement{Phase: there[0].Phase, Metric: c.Per, Value: amountOfWork, Unit: "1"})
			}
		}
		out = append(out, t)
	}
	return out
}

// columns of a claim, with those of its published table.
func (m madeUp) columns(c study.Claim) []study.Column {
	keys := c.Check.Columns()
	if k, ok := c.Check.(study.NumbersCheck); ok {
		for _, n := range m.st.Numbers {
			if n.Key == k.Table {
				keys = []string{n.Column}
			}
		}
	}
	var out []study.Column
	for _, key := range keys {
		if def, ok := m.st.Column(key); ok {
			out = append(out, def)
		}
	}
	return out
}

func (m madeUp) judge(t *testing.T, c study.Claim, trials []result.Trial, beside Beside) Claim {
	t.Helper()
	f := gather(m.run, nil, trials, m.st)
	f.beside = beside
	var err error
	for _, def := range m.columns(c) {
		if f.columns[def.Key], err = f.column(def); err != nil {
			t.Fatal(err)
		}
	}
	switch c.Check.(type) {
	case study.FaultCheck, study.FaultBest:
		if f.survival, err = f.reliability(); err != nil {
			t.Fatal(err)
		}
	}
	if k, ok := c.Check.(study.TrendCheck); ok {
		return m.trend(t, c, k, f)
	}
	if k, ok := c.Check.(study.AcrossCheck); ok {
		return m.across(t, c, k, f)
	}
	out, err := f.claim(c)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// trend judges a claim about several storages on which the ratio grows, or
// falls, as it does in f from the first candidate to the next.
func (m madeUp) trend(t *testing.T, c study.Claim, k study.TrendCheck, f *figures) Claim {
	f.study.Claims = []study.Claim{c}
	step := f.trends()[0]
	out := SeriesClaim{ID: c.ID}
	var all []SeriesStorage
	ratio := Interval{Value: 1, Low: 1, High: 1}
	for _, key := range k.Over {
		all = append(all, SeriesStorage{Key: key, Verdict: Verdict{Trends: []Trend{{Claim: c.ID, Ratio: ratio, Absent: step.Absent}}}})
		ratio = Interval{Value: ratio.Value * step.Ratio.Value, Low: ratio.Value * step.Ratio.Low, High: ratio.Value * step.Ratio.High, Single: step.Ratio.Single}
	}
	checkTrend(&out, k, m.st, all)
	return Claim{ID: c.ID, Result: out.Result, Figures: out.Figures}
}

// across judges a claim about several storages: f is the run on its own one, and
// the others have the published figures or, where there are none, 1 everywhere.
func (m madeUp) across(t *testing.T, c study.Claim, k study.AcrossCheck, f *figures) Claim {
	out := SeriesClaim{ID: c.ID, Result: NotTested}
	if m.on.Key != k.On {
		return Claim{ID: c.ID, Result: NotTested}
	}
	all := []SeriesStorage{{Key: k.On, Verdict: Verdict{Run: m.run, Columns: []Column{f.columns[k.Column].public(f.subjects)}}}}
	for _, key := range k.Over {
		on, _ := m.st.Storage("", key)
		other := madeUpRun(t, m.st, m.run.Scale, on)
		trials := other.trials(other.columns(c), func(col study.Column, s plan.Slot) float64 {
			if v := other.published(c.Check, col, s); !math.IsNaN(v) && m.figures {
				return v
			}
			return 1
		})
		g := gather(other.run, nil, trials, m.st)
		def, _ := m.st.Column(k.Column)
		column, err := g.column(def)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, SeriesStorage{Key: key, Verdict: Verdict{Run: other.run, Columns: []Column{column.public(g.subjects)}}})
	}
	checkAcross(&out, k, m.st, all)
	return Claim{ID: c.ID, Result: out.Result, Figures: out.Figures}
}

// limits are figures within the limits of a claim and outside on both sides; a
// high of 0 is no limit.
func limits(low, high float64) []float64 {
	inside := math.Sqrt(low * high)
	switch {
	case high == 0:
		return []float64{2 * low, low / 2, low / 1000}
	case low <= 0:
		inside = high / 2
	}
	return []float64{inside, low / 2, 2 * high, 1000 * high}
}

// made gives a column's figure in a trial.
type made func(study.Column, plan.Slot) float64

// values are the figures of outcomes that differ as far as a claim's subject can;
// none for claims about something else than figures of columns.
func (m madeUp) values(c study.Check) (all []made) {
	is := func(s plan.Slot, name string) bool { return s.Candidate.String() == name }
	try := func(x []float64, value func(x float64, c study.Column, s plan.Slot) float64) []made {
		for _, v := range x {
			all = append(all, func(c study.Column, s plan.Slot) float64 { return value(v, c, s) })
		}
		return all
	}
	// one has the figure x where a trial is the claim's subject, and 1 elsewhere.
	one := func(x []float64, subject func(study.Column, plan.Slot) bool) []made {
		return try(x, func(x float64, c study.Column, s plan.Slot) float64 {
			if subject(c, s) {
				return x
			}
			return 1
		})
	}
	switch k := c.(type) {
	case study.BestCheck:
		return one([]float64{0.01, 100}, func(_ study.Column, s plan.Slot) bool { return is(s, k.Candidate) })
	case study.RatioCheck:
		return one(limits(k.Low, k.High), func(_ study.Column, s plan.Slot) bool { return is(s, k.A) })
	case study.SeveralCheck:
		return one(limits(0, k.High), func(_ study.Column, s plan.Slot) bool { return is(s, k.A) })
	case study.ChoiceCheck:
		return one([]float64{0.01, 100}, func(_ study.Column, s plan.Slot) bool { return is(s, k.Candidate) })
	case study.SpreadCheck:
		first := append(slices.Clone(k.Candidates), m.run.Candidates...)[0]
		return one(append(limits(k.Low, k.High), 1), func(_ study.Column, s plan.Slot) bool { return is(s, first) })
	case study.AcrossCheck:
		return one(limits(k.Low, k.High), func(study.Column, plan.Slot) bool { return true })
	case study.NoiseCheck:
		base, high := 1.0, k.High
		if len(k.Than) > 0 {
			base = 0.01
		}
		if high == 0 {
			high = 100 * k.Low
		}
		return try([]float64{math.Sqrt(k.Low * high), k.Low / 10}, func(x float64, c study.Column, s plan.Slot) float64 {
			if slices.Contains(k.Than, s.Candidate.String()) {
				return m.noisy(1, base, c, s)
			}
			return m.noisy(1, x*base, c, s)
		})
	case study.EffectCheck:
		return one(limits(k.Low, k.High), func(_ study.Column, s plan.Slot) bool { return s.Variant == k.Variant })
	case study.ColumnsCheck:
		return one(limits(k.Low, k.High), func(c study.Column, _ plan.Slot) bool { return c.Key == k.Column })
	case study.ValueCheck:
		return one([]float64{(k.Low + k.High) / 2, k.Low / 2, 2*k.High + 1}, func(_ study.Column, s plan.Slot) bool { return is(s, k.Candidate) })
	case study.TrendCheck:
		return one([]float64{0.5, 2}, func(_ study.Column, s plan.Slot) bool { return is(s, k.A) })
	case study.CurveCheck:
		return try(limits(k.Low, k.High), func(x float64, _ study.Column, s plan.Slot) float64 {
			for _, factor := range m.plan.Factors {
				points := axisOf(factor)
				at := slices.IndexFunc(points, func(p axisPoint) bool { return p.level == s.Variant })
				if factor.Axis == k.Axis && at >= 0 {
					if k.OfAxis {
						x *= points[len(points)-1].value / points[0].value
					}
					return math.Pow(x, float64(at)/float64(len(points)-1))
				}
			}
			return 1
		})
	case study.LevelsCheck:
		return one(limits(k.Low, k.High), func(_ study.Column, s plan.Slot) bool { return is(s, k.A) })
	case study.PlaceCheck:
		// Every place: the others are a factor of 4 apart.
		var places []float64
		for i := range k.Among {
			places = append(places, math.Pow(4, float64(i)-0.5))
		}
		others := slices.DeleteFunc(slices.Clone(k.Among), func(n string) bool { return n == k.Candidate })
		return try(places, func(x float64, _ study.Column, s plan.Slot) float64 {
			if is(s, k.Candidate) {
				return x
			}
			return math.Pow(4, float64(max(0, slices.Index(others, s.Candidate.String()))))
		})
	case study.SmallestCheck:
		return try([]float64{1, 2}, func(x float64, c study.Column, s plan.Slot) float64 {
			switch c.Key {
			case study.SmallestKey:
				return x * float64(k.Size)
			case study.SmallestFreeKey:
				return x * k.Free
			}
			return x * float64(k.Inodes)
		})
	case study.EveryCheck:
		return every(m, k)
	case study.OrderCheck, study.NumbersCheck:
		return try([]float64{1, -1}, func(sense float64, col study.Column, s plan.Slot) float64 {
			return math.Pow(m.published(c, col, s), sense)
		})
	}
	return nil
}

// every combines the outcomes of several checks, the first with the first: each
// has its own columns, or its own subject in a column.
func every(m madeUp, k study.EveryCheck) (all []made) {
	parts := make([][]made, len(k))
	most := 0
	for i, one := range k {
		parts[i] = m.values(one)
		most = max(most, len(parts[i]))
	}
	for n := range most {
		all = append(all, func(c study.Column, s plan.Slot) float64 {
			v := 1.0
			for i, one := range k {
				if slices.Contains(one.Columns(), c.Key) {
					v *= parts[i][min(n, len(parts[i])-1)](c, s)
				}
			}
			return v
		})
	}
	return all
}

// outcomes judges a claim with outcomes that differ as far as the claim's
// subject can, and returns the results.
func (m madeUp) outcomes(t *testing.T, c study.Claim) (results []string) {
	all := m.values(c.Check)
	for _, value := range all {
		results = append(results, m.judge(t, c, m.trials(m.columns(c), value), Beside{}).Result)
	}
	if len(all) > 0 {
		return results
	}
	switch k := c.Check.(type) {
	case study.FaultCheck:
		for _, share := range []float64{0, 0.01, 0.02, 0.05, 0.3, 0.5, 0.7, 0.95, 1} {
			results = append(results, m.judge(t, c, m.faults(k, func(string) float64 { return share }), Beside{}).Result)
		}
	case study.KernelsCheck:
		for _, x := range limits(k.Low, k.High) {
			results = append(results, m.judge(t, c, m.booted(k, x), Beside{}).Result)
		}
	case study.FaultBest:
		counts := study.FaultCheck{Cases: k.Cases, Outcomes: k.Outcomes, Metric: k.Metric}
		for _, own := range []float64{0, 1} {
			trials := m.faults(counts, func(name string) float64 {
				if name == k.Candidate {
					return own
				}
				return 1 - own
			})
			results = append(results, m.judge(t, c, trials, Beside{}).Result)
		}
	case study.FaultTime:
		for _, x := range limits(k.Low, k.High) {
			results = append(results, m.judge(t, c, m.mounted(x), Beside{}).Result)
		}
	case study.RoomCheck:
		for _, off := range []float64{0, k.Low} {
			trials := m.trials(nil, nil)
			for i := range trials {
				for _, phase := range k.Cases {
					for metric, v := range map[string]float64{result.SpaceAvailable: 1, result.SpaceFits: 1, result.SpaceOff: off} {
						trials[i].Measurements = append(trials[i].Measurements, result.Measurement{Phase: phase, Metric: metric, Value: v})
					}
				}
			}
			results = append(results, m.judge(t, c, trials, Beside{}).Result)
		}
	case study.MediumCheck:
		for _, wrong := range []float64{0, 1} {
			results = append(results, m.judge(t, c, m.medium(k, wrong), Beside{}).Result)
		}
	case study.FailureCheck:
		for _, reason := range []string{"", k.Reason} {
			trials := m.trials(nil, nil)
			for i := range trials {
				if reason != "" && trials[i].Candidate == k.Candidate {
					trials[i].Outcome, trials[i].Reason = result.SubjectFailed, reason
				}
			}
			results = append(results, m.judge(t, c, trials, Beside{}).Result)
		}
	case study.PowerCheck:
		for _, left := range []float64{100, 99} {
			results = append(results, m.judge(t, c, m.powerLoss(k, left), Beside{}).Result)
		}
	case study.FindingCheck:
		for _, v := range append(limits(k.Low, k.High), 0, 1) {
			for _, text := range []string{k.Text, "other"} {
				r := &probe.Report{Findings: []probe.Finding{{Key: k.Key, Value: v, Text: text, Confidence: 1}, {Key: k.Of, Value: 1, Confidence: 1}}}
				results = append(results, m.judge(t, c, nil, Beside{Probe: r}).Result)
			}
		}
	case study.SweepCheck:
		const block = 1 << 20
		for _, v := range limits(k.Low, k.High) {
			point := func(x, y float64) probe.Point { return probe.Point{X: x, Y: y, Low: y, High: y, N: 2} }
			r := &probe.Report{Findings: []probe.Finding{{Key: k.Of, Value: block, Confidence: 1}},
				Curves: []probe.Curve{{Key: k.Curve, Lines: []probe.Line{{Points: []probe.Point{point(block/2, 1), point(block, min(v, 1e3)), point(2*block, 1)}}}}}}
			results = append(results, m.judge(t, c, nil, Beside{Probe: r}).Result)
		}
	default:
		t.Errorf("%s: the guard makes no outcomes for a %T", c.ID, k)
	}
	return results
}

// powerLoss are trials in which left of 100 files are whole after a power loss.
func (m madeUp) powerLoss(k study.PowerCheck, left float64) []result.Trial {
	trials := m.trials(nil, nil)
	for i := range trials {
		for metric, files := range map[string]float64{result.DataFiles: 100, result.FilesWhole: left} {
			trials[i].Measurements = append(trials[i].Measurements, result.Measurement{Phase: k.Compare, Metric: metric, Value: files, Unit: "1"})
		}
		trials[i].Measurements = append(trials[i].Measurements, result.Measurement{Phase: k.Mount, Metric: result.Wall, Value: 1, Unit: "s"})
	}
	return trials
}

// booted are trials with boots under two kernels, of which the newer one takes x
// times as long with the candidates of a claim.
func (m madeUp) booted(k study.KernelsCheck, x float64) []result.Trial {
	trials := m.trials(nil, nil)
	for i := range trials {
		for kernel, v := range map[string]float64{"6.1": 1, "6.12": x} {
			if kernel != "6.1" && !slices.Contains(k.Candidates, trials[i].Candidate) {
				v = 1
			}
			trials[i].Measurements = append(trials[i].Measurements, result.Measurement{Phase: loginPhase + kernel, Metric: result.BootLogin, Value: v, Unit: "s"})
		}
	}
	return trials
}

// mounted are trials whose mounts after faults took some seconds.
func (m madeUp) mounted(seconds float64) []result.Trial {
	trials := m.trials(nil, nil)
	for i, slot := range plan.Trials(m.plan) {
		for _, step := range m.steps(slot) {
			for metric, v := range map[string]float64{fault.Mounted: float64(step.Count), fault.MountMean: seconds, fault.MountLongest: seconds} {
				trials[i].Measurements = append(trials[i].Measurements, result.Measurement{Phase: step.Phase, Metric: metric, Value: v})
			}
		}
	}
	return trials
}

// faults are trials in which a share of the iterations of a claim's cases ended
// as it says, and the others left everything whole.
func (m madeUp) faults(k study.FaultCheck, shareOf func(candidate string) float64) []result.Trial {
	trials := m.trials(nil, nil)
	for i, slot := range plan.Trials(m.plan) {
		for _, step := range m.steps(slot) {
			seen := func(list []string, one string) bool { return len(list) == 0 || slices.Contains(list, one) }
			if step.Count == 0 || !seen(k.Cases, step.Phase) || !seen(k.Candidates, slot.Candidate.String()) {
				continue // the rest costs time, and the claim does not see it
			}
			n := math.Round(shareOf(slot.Candidate.String()) * float64(step.Count))
			counts := map[string]float64{fault.Tried: float64(step.Count), fault.OutcomePrefix + fault.Whole.Key(): float64(step.Count) - n}
			if hit := k.Metric; hit != "" {
				counts[hit], counts[fault.OutcomePrefix+fault.Whole.Key()] = n, float64(step.Count)
			} else {
				counts[fault.OutcomePrefix+k.Outcomes[0]] += n
			}
			for metric, v := range counts {
				trials[i].Measurements = append(trials[i].Measurements, result.Measurement{Phase: step.Phase, Metric: metric, Value: v, Unit: "1"})
			}
		}
	}
	return trials
}

// medium are trials whose files are whole, except for wrong ones at a claim's
// level.
func (m madeUp) medium(k study.MediumCheck, wrong float64) []result.Trial {
	trials := m.trials(nil, nil)
	for i := range trials {
		files := map[string]float64{result.FilesWhole: 5}
		if trials[i].Variant == k.Level {
			files[result.FilesWrong] = wrong
		}
		for metric, v := range files {
			trials[i].Measurements = append(trials[i].Measurements, result.Measurement{Phase: "compare", Metric: metric, Value: v, Unit: "1"})
		}
	}
	return trials
}

// published is the published figure of a column for a trial, in the column's
// unit; NaN: there is none. A grade counts as 1.3 times the next better one.
// Several figures of the same, by repetition or in several tables, are averaged;
// of a claim about one table, only that counts.
func (m madeUp) published(k study.Check, c study.Column, s plan.Slot) float64 {
	var logs []float64
	only, one := k.(study.NumbersCheck)
	for _, n := range m.st.Numbers {
		unit, known := publishedUnits[n.Unit]
		if n.Column != c.Key || !known || n.Storage != "" && n.Storage != m.on.Key || one && n.Key != only.Table || !one && !unit.rate && c.Per != "" {
			continue
		}
		for _, cell := range n.Cells {
			switch {
			case cell.Candidate != s.Candidate.String() || cell.Variant != s.Variant || cell.Text != "":
			case unit.rate:
				logs = append(logs, math.Log(amountOfWork/cell.Value/unit.size))
			default:
				logs = append(logs, math.Log(cell.Value*unit.size))
			}
		}
	}
	graded := c.Key
	if order, ok := k.(study.OrderCheck); ok {
		graded = order.Column
	}
	for _, table := range m.st.Tables {
		for _, row := range table.Rows {
			if at := slices.Index(table.Columns, graded); at >= 0 && row.Candidate == s.Candidate.String() && s.Variant == "" && row.Grades[at] != "" {
				logs = append(logs, math.Log(1.3)*float64(len(table.Scale)-1-slices.Index(table.Scale, row.Grades[at])))
			}
		}
	}
	if len(logs) == 0 {
		return math.NaN()
	}
	sum := 0.0
	for _, v := range logs {
		sum += v
	}
	return math.Exp(sum / float64(len(logs)))
}

// noiseOf is the relative standard deviation of one figure of a study's source.
// Where the source says which differences are noise, 99 of 100 figures lie within
// that range around their mean; a source that has one figure of each shows none,
// and gets what does not matter.
func noiseOf(st study.Study) float64 {
	for _, n := range st.Numbers {
		if n.Noise > 0 {
			return math.Log1p(n.Noise) / (2 * 2.576)
		}
	}
	return 0.001
}

// noisy adds noise to a figure, whose mean over the rounds is 0 and whose
// standard deviation is exactly the given one.
func (m madeUp) noisy(v, noise float64, c study.Column, s plan.Slot) float64 {
	h := fnv.New64a()
	fmt.Fprint(h, c.Key, s.Candidate, s.Variant)
	r := rand.New(rand.NewPCG(h.Sum64(), 1))
	draws := make([]float64, m.plan.Rounds)
	for i := range draws {
		draws[i] = r.NormFloat64()
	}
	mean, sd := stat.MeanStdDev(draws, nil)
	return v * math.Exp(noise*(draws[s.Round-1]-mean)/sd)
}

// claimsOf calls check for every claim that can be tested, with its name.
func claimsOf(check func(name string, st study.Study, c study.Claim)) {
	for _, st := range study.All {
		for _, c := range st.Claims {
			if testable(c) {
				check(st.Name+"/"+c.ID, st, c)
			}
		}
	}
}

// storagesOf are those that a claim can be tested on at a scale.
func storagesOf(st study.Study, c study.Claim, scale string) []study.Storage {
	series := slices.DeleteFunc(slices.Clone(st.Storages), func(on study.Storage) bool { return !on.In(scale) })
	if k, ok := c.Check.(study.AcrossCheck); ok {
		for _, key := range k.Over {
			if !slices.ContainsFunc(series, func(on study.Storage) bool { return on.Key == key }) {
				return nil
			}
		}
	}
	return slices.DeleteFunc(series, func(on study.Storage) bool { return c.Storage != "" && on.Key != c.Storage })
}

// Every claim agrees with the source's own figures, as if they had been
// measured at the full scale with the source's own noise, unless the source
// contradicts itself there.
func TestClaimsAgreeWithTheirSource(t *testing.T) {
	used := map[string]bool{}
	var refuted []string
	claimsOf(func(name string, st study.Study, c study.Claim) {
		var results, figures []string
		for _, on := range storagesOf(st, c, "full") {
			if _, noise := c.Check.(study.NoiseCheck); noise {
				break // the noise is ours
			}
			m := madeUpRun(t, st, "full", on)
			if len(m.columns(c)) == 0 {
				continue // it is about no figure
			}
			m.figures = true
			noise := noiseOf(st)
			trials := m.trials(m.columns(c), func(col study.Column, s plan.Slot) float64 {
				return m.noisy(m.published(c.Check, col, s), noise, col, s)
			})
			out := m.judge(t, c, trials, Beside{})
			if out.Result != NotTested {
				results, figures = append(results, out.Result), append(figures, out.Figures)
			}
		}
		why := slices.IndexFunc(without, func(w struct{ claims, why string }) bool { ok, _ := path.Match(w.claims, name); return ok })
		if why >= 0 {
			used[without[why].claims] = true
		}
		switch {
		case len(results) == 0 && why < 0:
			t.Errorf("%s: no published figure bears on it, and the list does not say why", name)
		case len(results) > 0 && why >= 0:
			t.Errorf("%s: the list says that no published figure bears on it, and it %s: %s", name, results, figures)
		case c.Contradicted != "":
			if len(results) > 0 && !slices.ContainsFunc(results, func(r string) bool { return r != Agrees }) {
				t.Errorf("%s: the source's own figures do not contradict it: %s", name, figures)
			}
		case slices.ContainsFunc(results, func(r string) bool { return r != Agrees && r != Shares }):
			if refuted = append(refuted, name); slices.Contains(unsound, name) {
				return
			}
			t.Errorf("%s: with the source's own figures it %s: %s", name, results, figures)
		}
	})
	for _, w := range without {
		if !used[w.claims] {
			t.Errorf("no claim %s", w.claims)
		}
	}
	shrink(t, unsound, refuted)
}

// For every claim at every scale there is an outcome with which it agrees, and
// one with which it disagrees; or it names a larger scale at which there are
// both.
func TestClaimsCanBeDecided(t *testing.T) {
	var failing []string
	claimsOf(func(name string, st study.Study, c study.Claim) {
		for scale := range st.Scales {
			seen := map[string]bool{}
			for _, on := range storagesOf(st, c, scale) {
				if seen[Agrees] && seen[Disagrees] {
					break
				}
				for _, r := range madeUpRun(t, st, scale, on).outcomes(t, c) {
					seen[r] = true
				}
			}
			both := seen[Agrees] && seen[Disagrees]
			switch by := st.DecidedBy(c, scale); {
			case both && by != "":
				t.Errorf("%s: says that scale %s cannot decide it, and it can", name, scale)
			case !both && by == "":
				if failing = append(failing, name); !slices.Contains(open, name) {
					t.Errorf("%s: at scale %s no outcome agrees (%t), or none disagrees (%t)", name, scale, seen[Agrees], seen[Disagrees])
				}
			}
		}
	})
	shrink(t, open, failing)
}

// shrink fails for entries of a list of known failures that no longer fail.
func shrink(t *testing.T, list, failing []string) {
	t.Helper()
	for _, name := range list {
		if !slices.Contains(failing, name) {
			t.Errorf("%s is mended: take it off the list", name)
		}
	}
}
