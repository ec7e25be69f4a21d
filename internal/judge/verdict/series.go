package verdict

import (
	"cmp"
	"fmt"
	"slices"

	"whichfs/internal/plan/study"
	"whichfs/internal/result"
	"whichfs/internal/sys/units"
)

// SeriesVerdict is the joint verdict of the runs of one study on several
// storages, on one storage with several processors, or on several machines.
type SeriesVerdict struct {
	Name   string `json:"name"` // the series' ID in the store
	Study  string `json:"study"`
	Scale  string `json:"scale"`
	Title  string `json:"title"`
	Source string `json:"source"`
	// Digest of all figures of all runs, as Verdict has one of its run's.
	Digest string `json:"digest,omitempty"`
	// Storages in the study's order; those that are not the study's come last. Of
	// several processors, the slowest comes first.
	Storages []SeriesStorage `json:"storages"`
	// Processors says what they change; nil: the series is over storages.
	Processors *Processors `json:"processors,omitempty"`
	// ByMachine: the series is over machines, and Storages has one for each.
	ByMachine bool `json:"by_machine,omitempty"`
	// Missing are the study's storages without a run in the series.
	Missing []string `json:"missing,omitempty"`
	// Numbers are the published tables of all storages, compared with ours.
	Numbers Numbers        `json:"numbers"`
	Choices []SeriesChoice `json:"choices,omitempty"`
	Claims  []SeriesClaim  `json:"claims,omitempty"`
	// Warnings are whole sentences about the series; those about a run are in its
	// own verdict.
	Warnings []string `json:"warnings,omitempty"`
	// Reach says what the figures can show, if it is the same for all runs.
	Reach string `json:"reach,omitempty"`
}

// SeriesStorage is one run of a series.
type SeriesStorage struct {
	Key   string `json:"key"` // of the study; as the user wrote it if the study has none; or the processor or machine
	Label string `json:"label"`
	// Answers are those for the run's uses, each a whole sentence.
	Answers []string `json:"answers"`
	Settled bool     `json:"settled"`
	Verdict Verdict  `json:"verdict"`
}

// SeriesChoice is a table of choices: a row per storage, ours beside the
// published one.
type SeriesChoice struct {
	Name   string   `json:"name"`
	Source string   `json:"source"`
	Rows   []Choice `json:"rows"`
	// Same counts the published places that ours agree with, out of Of.
	Same int `json:"same"`
	Of   int `json:"of"`
}

// SeriesClaim is a claim of the study over all storages.
type SeriesClaim struct {
	ID      string `json:"id"`
	Text    string `json:"text"`
	Where   string `json:"where"`
	Result  string `json:"result"`
	Figures string `json:"figures,omitempty"` // of the whole claim, or why it was not tested
	// On holds the findings of the runs that could test it.
	On []SeriesFinding `json:"on,omitempty"`
	// Contradicted, Follows and DecidedBy are those of a run's claim.
	Contradicted string `json:"contradicted,omitempty"`
	Follows      string `json:"follows,omitempty"`
	DecidedBy    string `json:"decided_by,omitempty"`
}

// SeriesFinding is the result of one run for a claim.
type SeriesFinding struct {
	Storage string `json:"storage"` // its label
	Result  string `json:"result"`
	Figures string `json:"figures"`
}

// Series joins the verdicts of the runs of one study on several storages. Two
// runs on the same storage both stay, the later one second. It cannot fail: a
// missing run or figure is reported as missing.
func Series(name string, all []Verdict, st study.Study) SeriesVerdict {
	out := SeriesVerdict{Name: name, Study: st.Name, Title: st.Title, Source: st.Source}
	if out.Name == "" && len(all) > 0 {
		out.Name = all[0].Run.ID // a series is named after its first run
	}
	var runs []result.Run
	var digests []string
	for _, v := range all {
		digests = append(digests, v.Digest)
		out.Storages = append(out.Storages, seriesStorage(v, st))
		out.Scale = v.Run.Scale
		runs = append(runs, v.Run)
	}
	out.Digest = result.DigestOfRuns(digests)
	if result.ByProcessor(runs) {
		out.byProcessor(st)
		return out
	}
	if out.ByMachine = result.ByMachine(runs); out.ByMachine {
		for i := range out.Storages {
			out.Storages[i].Key, out.Storages[i].Label = runs[i].Machine, runs[i].Machine
		}
		out.join(st)
		return out
	}
	place := func(s SeriesStorage) int {
		i := slices.IndexFunc(st.Storages, func(one study.Storage) bool { return one.Key == s.Key })
		if i < 0 {
			i = len(st.Storages)
		}
		return i
	}
	slices.SortStableFunc(out.Storages, func(a, b SeriesStorage) int { return place(a) - place(b) })
	for _, one := range st.Storages {
		if one.In(out.Scale) && !slices.ContainsFunc(out.Storages, func(s SeriesStorage) bool { return s.Key == one.Key }) {
			out.Missing = append(out.Missing, one.Label)
		}
	}
	out.join(st)
	if len(out.Missing) > 0 {
		out.Warnings = append(out.Warnings, fmt.Sprintf("The series has no run on %s.", units.List(out.Missing, 4)))
	}
	return out
}

// byProcessor joins runs that differ in the processor.
func (v *SeriesVerdict) byProcessor(st study.Study) {
	for i := range v.Storages {
		s := &v.Storages[i]
		s.Key, s.Label = s.Verdict.Run.Processor, s.Verdict.Run.Processor
	}
	slices.SortStableFunc(v.Storages, func(a, b SeriesStorage) int {
		return cmp.Compare(processorOf(a.Verdict).Other, processorOf(b.Verdict).Other)
	})
	v.Processors = processors(v.Storages)
	v.join(st)
}

func seriesStorage(v Verdict, st study.Study) SeriesStorage {
	s := SeriesStorage{Key: v.Run.Storage, Label: v.Run.Storage, Settled: len(v.Uses) > 0, Verdict: v}
	if on, ok := st.Storage(v.Run.Scale, v.Run.Storage); ok {
		s.Key, s.Label = on.Key, on.Label
	}
	for _, u := range v.Uses {
		s.Answers = append(s.Answers, u.Answer)
		s.Settled = s.Settled && u.Settled
	}
	if v.Reliability != nil {
		s.Answers = append(s.Answers, v.Reliability.Answer)
	}
	return s
}

// join combines the runs' results for the same table or claim.
func (v *SeriesVerdict) join(st study.Study) {
	for i, s := range v.Storages {
		if s.Verdict.Numbers != nil {
			for _, t := range s.Verdict.Numbers.Tables {
				t.Storage = s.Key // each run is compared with the tables of any storage
				v.Numbers.Tables = append(v.Numbers.Tables, t)
			}
		}
		for _, c := range s.Verdict.Choices {
			if v.Processors != nil || v.ByMachine {
				c.Storage += ", " + s.Label
			}
			v.choice(c)
		}
		reach := s.Verdict.Reach
		if reach == reachOfCharged(s.Verdict.Run, s.Label) && v.Processors != nil {
			reach = reachOfCharged(s.Verdict.Run, "of each run")
		}
		if i == 0 || v.Reach == reach {
			v.Reach = reach
		} else {
			v.Reach = ""
		}
	}
	v.Numbers.sum()
	for _, c := range st.Claims {
		v.Claims = append(v.Claims, v.claim(c, st))
	}
}

func (v *SeriesVerdict) choice(c Choice) {
	at := slices.IndexFunc(v.Choices, func(t SeriesChoice) bool { return t.Name == c.Name })
	if at < 0 {
		v.Choices = append(v.Choices, SeriesChoice{Name: c.Name, Source: c.Source})
		at = len(v.Choices) - 1
	}
	t := &v.Choices[at]
	t.Rows = append(t.Rows, c)
	for i := range c.Published {
		if c.Published[i] == "" || c.Ours[i] == "" {
			continue
		}
		t.Of++
		if c.Same[i] {
			t.Same++
		}
	}
}

// claim joins the runs' results for one claim: it disagrees if any of them
// does, and agrees if all that could test it do; best on one storage and sharing
// that place on another is sharing it.
func (v *SeriesVerdict) claim(c study.Claim, st study.Study) SeriesClaim {
	out := SeriesClaim{ID: c.ID, Text: c.Text, Where: c.Where, Result: NotTested, Contradicted: c.Contradicted}
	joint := true
	switch k := c.Check.(type) {
	case study.TrendCheck:
		checkTrend(&out, k, st, v.Storages)
	case study.AcrossCheck:
		checkAcross(&out, k, st, v.Storages)
	default:
		joint = false
	}
	if joint {
		if out.Result == NotTested || out.Result == Undecided {
			out.DecidedBy = st.DecidedBy(c, v.Scale)
		}
		return out
	}
	counts := map[string]int{}
	for _, s := range v.Storages {
		for _, found := range s.Verdict.Claims {
			if found.ID != c.ID {
				continue
			}
			out.DecidedBy = cmp.Or(out.DecidedBy, found.DecidedBy)
			out.Follows = cmp.Or(out.Follows, found.Follows)
			if found.Result == NotTested {
				if out.Figures == "" || c.Storage == s.Key {
					out.Figures = found.Figures
				}
				continue
			}
			counts[found.Result]++
			out.On = append(out.On, SeriesFinding{Storage: s.Label, Result: found.Result, Figures: found.Figures})
		}
	}
	switch {
	case counts[Disagrees] > 0:
		out.Result = Disagrees
	case counts[Undecided] > 0:
		out.Result = Undecided
	case counts[Shares] > 0:
		out.Result = Shares
	case counts[Agrees] > 0:
		out.Result = Agrees
	}
	if out.Result != NotTested && out.Result != Undecided {
		out.DecidedBy = ""
	} else { // a smaller series may lack its storage
		out.DecidedBy = cmp.Or(out.DecidedBy, st.DecidedBy(c, v.Scale))
	}
	if len(out.On) > 0 {
		out.Figures = ""
	}
	return out
}
