package verdict

import (
	"fmt"

	"whichfs/internal/judge/stats"
	"whichfs/internal/plan"
	"whichfs/internal/plan/study"
	"whichfs/internal/result"
)

// Compute makes the verdict of a run. Trials that failed because of the lab and
// trials that did not end are counted and otherwise ignored; a candidate that
// failed in some rounds keeps its other rounds, and a warning says so. The
// result holds no NaN and no infinity. An error means that the run itself is
// invalid (a negative margin); a run without a single trial is not an error.
func Compute(run result.Run, support []result.Support, trials []result.Trial, st study.Study, beside Beside) (Verdict, error) {
	if run.Margin < 0 || run.Margin > 10 || run.Margin != run.Margin {
		return Verdict{}, fmt.Errorf("margin of interest %v is not between 0 and 10", run.Margin)
	}
	if run.Counts() {
		st = counting(st)
	}
	f := gather(run, support, trials, st)
	f.beside = beside
	v := Verdict{Run: run, Title: st.Title, Source: st.Source}
	if run.Virtual() {
		v.Digest = result.Digest(trials)
	}
	if err := f.rank(&v, trials); err != nil {
		return Verdict{}, err
	}
	for _, c := range st.Claims {
		claim, err := f.claim(c)
		if err != nil {
			return Verdict{}, fmt.Errorf("claim %s: %w", c.ID, err)
		}
		v.Claims = append(v.Claims, claim)
	}
	if err := f.beyond(&v); err != nil {
		return Verdict{}, err
	}
	v.Phases = f.costs()
	if !f.untimed() {
		v.Rounds = f.apart()
	}
	v.Cuts = f.cuts()
	v.Room = f.room()
	v.Wear = f.wear()
	for i := range v.Uses {
		for _, text := range []string{v.Wear.reason(v.Uses[i].Ranks), v.Reliability.reason(v.Uses[i].Ranks)} {
			if text != "" {
				v.Uses[i].Reasons = append(v.Uses[i].Reasons, text)
			}
		}
	}
	v.Trials = f.tally()
	v.Load = f.load()
	v.Warnings = f.warnings(v.Trials)
	v.Reach = f.reach()
	return v, nil
}

// Rank makes only the columns, the orders and the numbers of trials of a run's verdict, in a small part of the
// time that all of it takes. Trials need no notes and no options.
func Rank(run result.Run, support []result.Support, trials []result.Trial, st study.Study) (Verdict, error) {
	if run.Counts() {
		st = counting(st)
	}
	f := gather(run, support, trials, st)
	v := Verdict{Run: run, Title: st.Title, Source: st.Source}
	if err := f.rank(&v, trials); err != nil {
		return Verdict{}, err
	}
	v.Trials = f.tally()
	return v, nil
}

// rank fills in the columns, and the orders of the candidates by use.
func (f *figures) rank(v *Verdict, trials []result.Trial) error {
	if f.plan.Until == plan.UntilSettled {
		s := Settle(f.run, trials, f.study, f.plan.Questions, f.run.Rounds)
		f.settling, v.Settling = &s, &s
	}
	for _, s := range f.subjects {
		v.Candidates = append(v.Candidates, s.Candidate)
	}
	for _, def := range f.study.Columns {
		c, err := f.column(def)
		if err != nil {
			return err
		}
		f.columns[def.Key] = c
		public := c.public(f.subjects)
		if def.Level {
			public = f.levelColumn(def)
		}
		switch {
		case !def.Extra:
			v.Columns = append(v.Columns, public)
		case f.entered(def):
			v.Extra = append(v.Extra, public)
		}
	}
	var err error
	if f.survival, err = f.reliability(); err != nil {
		return err
	}
	v.Reliability = f.survival
	for _, name := range uses {
		if f.untimed() {
			break // such a study ranks by what was lost, or not at all
		}
		u, there, err := f.use(name)
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		if there {
			v.Uses = append(v.Uses, u)
		}
	}
	return nil
}

// reach says what figures from this machine can and cannot show; empty: they
// were measured on the machine itself.
func (f *figures) reach() string {
	switch {
	case plan.Fake(f.run.Machine):
		return "Nothing here was measured: the figures come from the fake machine, which exists to test whichfs itself."
	case f.run.Counts():
		return reachOfInstructions
	case f.run.Modelled():
		return reachOfModel
	case f.untimed() && f.survival == nil:
		return "" // what a tool can do is the same on every machine
	case f.run.Virtual() && f.run.Processor != "" && !f.untimed():
		return reachOfCharged(f.run, f.run.Processor)
	case f.run.Virtual() && !f.untimed():
		return reachOfStorage
	case f.run.Emulated && f.untimed():
		return "Tested on an emulated machine, on disks in memory: what can be lost depends on the kernel and is the same on hardware; " +
			"how often a cut at a random instant loses it depends on the speed of the machine and its storage."
	case f.run.Emulated:
		return "Measured on an emulated machine: the order of filesystems and their ratios can be compared within their intervals, " +
			"but the times themselves do not transfer to hardware, and emulation distorts the speeds of compressors relative to each other by up to five times."
	}
	return ""
}

// beyond fills in everything besides the columns: factors, published tables and
// choices, costs.
func (f *figures) beyond(v *Verdict) (err error) {
	if v.Effects, err = f.effects(); err != nil {
		return err
	}
	if v.Kernels, err = f.kernels(); err != nil {
		return err
	}
	if v.Curves, err = f.curves(); err != nil {
		return err
	}
	v.Medium = f.medium()
	v.Trends = f.trends()
	v.Drift = f.driftUse()
	if f.run.Counts() {
		return nil // published figures are times, and so are costs
	}
	for _, t := range f.study.Tables {
		v.Tables = append(v.Tables, f.published(t, v.Columns))
	}
	if len(f.study.Numbers) > 0 {
		n, err := f.numbers()
		if err != nil {
			return err
		}
		v.Numbers = &n
	}
	v.Choices, err = f.choices()
	if !f.untimed() {
		v.Costs = f.costTable() // cost per byte and operation is meaningless for faults
	}
	return err
}

// costs estimates the figures of every phase over the trials.
func (f *figures) costs() []Phase {
	var out []Phase
	for _, name := range f.phases() {
		p := Phase{Name: name}
		for _, s := range f.subjects {
			row := PhaseCost{Candidate: s.Name, Figures: map[string]Figure{}}
			for k, x := range s.figures {
				if k.phase != name || isFault(k.metric) {
					continue
				}
				figure := x.figure()
				figure.Unit = shownUnit(k.metric, figure.Unit)
				row.Figures[k.metric] = figure
				if k.metric == result.DataBytes && len(x.values) > 0 {
					p.Bytes = true
				}
			}
			if len(row.Figures) > 0 {
				p.Rows = append(p.Rows, row)
			}
		}
		if len(p.Rows) > 0 {
			out = append(out, p)
		}
	}
	return out
}

// figure estimates a cost: times with an interval if all are above zero,
// anything else as the plain mean.
func (x *series) figure() Figure {
	if len(x.values) == 0 {
		return Figure{Unit: x.unit, Absent: x.absent}
	}
	if x.unit == "s" {
		if e, err := stats.GeoMean(x.values); err == nil {
			return Figure{Unit: x.unit, Estimate: IntervalOf(e)}
		}
	}
	m := x.mean()
	return Figure{Unit: x.unit, Estimate: Interval{Value: m, Low: m, High: m, N: len(x.values), Single: len(x.values) == 1}}
}
