package verdict

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"whichfs/internal/filesystem"
	"whichfs/internal/plan"
	"whichfs/internal/plan/scenario"
	"whichfs/internal/plan/study"
	"whichfs/internal/result"
)

// key names one figure of a trial.
type key struct{ phase, metric string }

// series is one figure of one candidate over its trials that count.
type series struct {
	rounds []int
	values []float64
	unit   string
	absent string // why it is absent, from any trial
}

func (s *series) mean() float64 {
	sum := 0.0
	for _, v := range s.values {
		sum += v
	}
	return sum / float64(len(s.values))
}

// subject is a candidate, by itself or with one level of a factor, and
// everything measured on it.
type subject struct {
	Candidate
	variant string                   // "" for the candidate as it is
	title   string                   // of its filesystem: "Btrfs"
	work    map[string]scenario.Kind // by phase
	figures map[key]*series
	trials  []result.Trial // all of them, as they came
	rounds  map[int]bool   // that count
	marks   []mark         // of the trials that count
}

// figures of a whole run, by candidate.
type figures struct {
	run      result.Run
	study    study.Study
	scale    study.Scale // fitted to the run's storage
	storage  string      // the study's key of the run's storage; empty: none
	margin   float64
	subjects []*subject // in plan order
	byName   map[string]*subject
	levels   []*subject // candidates with a level of a factor, in plan order
	plan     plan.Plan  // as the run stored it; a run of an old version may have none
	settling *Settling  // for a run that stops once its questions are settled
	columns  map[string]*column
	scores   []*column // overall orders, by use
	beside   Beside
	// survival holds the effects of faults; nil: there were none. faults are its
	// counts, by candidate, case and metric.
	survival *Reliability
	faults   map[string]map[string]map[string]int
}

func gather(run result.Run, support []result.Support, trials []result.Trial, st study.Study) *figures {
	f := &figures{run: run, study: st, margin: run.Margin, byName: map[string]*subject{}, columns: map[string]*column{}, plan: plan.Kept(run.Plan), storage: storageOf(st, run),
		scale: st.FitTo(run.Scale, run.Storage)}
	if f.margin == 0 {
		f.margin = plan.DefaultMargin
	}
	for _, name := range run.Candidates {
		f.subject(name)
	}
	f.planLevels()
	for _, t := range trials {
		s := f.subject(t.Candidate)
		if t.Variant != "" {
			s = f.level(t.Candidate, t.Variant)
		}
		s.trials = append(s.trials, t)
		// The scenario shows the kind of a filesystem that this build does not know
		// (an old run).
		if s.Parsed.Err() != nil && hasPhase(t, "image") {
			s.ReadOnly, s.Imaged = true, true
		}
	}
	for _, s := range f.all() {
		s.work = f.works(s.Imaged)
		for _, t := range counted(s.trials) {
			s.take(t)
		}
	}
	for _, c := range support {
		if c.Reason == "" {
			continue
		}
		f.subject(c.Candidate)
		for _, s := range f.all() { // with every level of a factor
			if s.Name == c.Candidate {
				s.Outcome, s.Reason, s.Hint = c.Outcome, c.Reason, c.Hint
			}
		}
	}
	for _, s := range f.all() {
		s.conclude()
	}
	return f
}

// subject returns the candidate of that name, adding it if it is new.
func (f *figures) subject(name string) *subject {
	if s, ok := f.byName[name]; ok {
		return s
	}
	s := newSubject(name, "")
	f.byName[name] = s
	f.subjects = append(f.subjects, s)
	return s
}

func newSubject(name, variant string) *subject {
	c := filesystem.Kept(name)
	fs := c.Filesystem()
	s := &subject{Candidate: Candidate{Name: name, Parsed: c, ReadOnly: fs.ReadOnly, Imaged: c.Imaged()}, variant: variant, title: fs.Title,
		figures: map[key]*series{}, rounds: map[int]bool{}}
	if c.Err() != nil {
		s.title, _, _ = strings.Cut(name, " ")
	}
	return s
}

func hasPhase(t result.Trial, phase string) bool {
	return slices.ContainsFunc(t.Measurements, func(m result.Measurement) bool { return m.Phase == phase })
}

// counted returns the trials of one subject that count, by round.
func counted(trials []result.Trial) []result.Trial {
	out := result.Counted(trials)
	slices.SortStableFunc(out, func(a, b result.Trial) int { return a.Round - b.Round })
	return out
}

// take adds the figures of a trial that counts.
func (s *subject) take(t result.Trial) {
	s.rounds[t.Round] = true
	s.Done++
	for _, w := range t.Waits() {
		if w.Marks() {
			s.marks = append(s.marks, mark{w, t.Round})
		}
	}
	for _, m := range t.Measurements {
		k := key{m.Phase, m.Metric}
		x := s.figures[k]
		if x == nil {
			x = &series{unit: m.Unit}
			s.figures[k] = x
		}
		if m.Absent != "" {
			x.absent = m.Absent
			continue
		}
		if math.IsNaN(m.Value) || math.IsInf(m.Value, 0) {
			x.absent = fmt.Sprintf("measured as %v", m.Value)
			continue
		}
		if n := len(x.rounds); n > 0 && x.rounds[n-1] == t.Round {
			continue
		}
		x.rounds, x.values = append(x.rounds, t.Round), append(x.values, m.Value)
	}
}

// conclude fills in how the candidate fared overall.
func (s *subject) conclude() {
	if s.Done > 0 {
		s.Outcome, s.Reason, s.Hint = result.Done, "", ""
	} else if s.Outcome == "" {
		s.Reason = "the run has not reached it yet"
		for _, t := range s.trials {
			if t.Outcome.Valid() {
				s.Outcome, s.Reason, s.Hint = t.Outcome, t.Reason, t.Hint
				if t.Phase != "" {
					s.Reason = t.Phase + ": " + t.Reason
				}
			}
		}
	}
	s.Options = s.options()
	s.LeftOut = s.leftOut()
	s.Checks = s.checks()
}

// entered reports whether any candidate had a phase of the column, whatever was measured in it.
func (f *figures) entered(def study.Column) bool {
	for _, s := range f.subjects {
		for k := range s.figures {
			if slices.ContainsFunc(def.Terms, func(t study.Term) bool { return t.Phase == k.phase }) {
				return true
			}
		}
	}
	return len(def.Terms) == 0
}

// lacks reports that the candidate's work is known and does not include the
// phase.
func (s *subject) lacks(phase string) bool {
	_, there := s.work[phase]
	return len(s.work) > 0 && !there
}

func (f *figures) figureOf(candidate, phase, metric string) (*series, bool) {
	s := f.byName[candidate]
	if s == nil {
		return nil, false
	}
	x := s.figures[key{phase, metric}]
	return x, x != nil && len(x.values) > 0
}

// scenario is the work that was done, from the run's plan or else from the
// study.
func (f *figures) scenario(imaged bool) scenario.Scenario {
	s := f.plan.ReadWrite
	if imaged {
		s = f.plan.ReadOnly
	}
	if s == nil && f.study.Scenario != nil {
		s = f.study.Scenario(imaged, f.scale)
	}
	return s
}

// works returns the kinds of work by phase, of candidates made as an image or
// of those written in place.
func (f *figures) works(imaged bool) map[string]scenario.Kind {
	out := map[string]scenario.Kind{}
	for _, step := range f.scenario(imaged) {
		if step.Phase != "" {
			out[step.Phase], _ = scenario.KindOf(step.Work)
		}
	}
	return out
}

// phases of both scenarios, in the order of work.
func (f *figures) phases() []string {
	var names []string
	seen := map[string]bool{}
	add := func(list []string) {
		for _, p := range list {
			if !seen[p] {
				seen[p] = true
				names = append(names, p)
			}
		}
	}
	add(f.scenario(false).Phases())
	add(f.scenario(true).Phases())
	for _, s := range f.subjects {
		for _, t := range s.trials[:min(len(s.trials), 1)] {
			for _, m := range t.Measurements {
				add([]string{m.Phase})
			}
		}
	}
	return names
}
