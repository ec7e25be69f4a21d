package verdict

import (
	"cmp"
	"math"
	"slices"

	"whichfs/internal/plan"
	"whichfs/internal/plan/processor"
)

// Processors says what the processor changes: the runs of a series differ in nothing else.
type Processors struct {
	List   []Processor      `json:"list"` // slowest first
	Orders []ProcessorOrder `json:"orders"`
}

// Processor is one that the guests of a run were charged for.
type Processor struct {
	Name  string  `json:"name"`
	Speed float64 `json:"speed"` // instructions per second of the kernel at large
}

// ProcessorOrder is how the processor changes the overall order of a use, or that of a column of times.
type ProcessorOrder struct {
	Key   string `json:"key"`
	Title string `json:"name"`
	Use   bool   `json:"use,omitempty"`   // it is the overall order of a use
	Extra bool   `json:"extra,omitempty"` // the column is not in the published table
	// Best by processor, slowest first.
	Best []BestPlace `json:"best"`
	// Compared is the number of pairs of candidates with figures on two processors or more.
	Compared int `json:"compared"`
	// Changes of places that are settled on at least one of the two processors.
	Changes []Overtaking `json:"changes"`
	// Unsettled is the number of further changes of places as measured.
	Unsettled int `json:"unsettled,omitempty"`
}

// BestPlace is who is best on a processor.
type BestPlace struct {
	Candidate string   `json:"candidate,omitempty"` // the lowest figure; empty: there is none
	TiedWith  []string `json:"tied_with,omitempty"`
	// Open: others may be better.
	Open bool `json:"open,omitempty"`
}

// Overtaking is a pair of candidates that changes places between two neighbouring processors.
type Overtaking struct {
	Slower    string `json:"slower"` // the processors
	Faster    string `json:"faster"`
	Candidate string `json:"candidate"` // ahead on the faster processor
	Overtaken string `json:"overtaken"` // ahead on the slower one
	// Near is the speed at which both would be equal, in instructions per second; 0: it cannot be
	// interpolated, or the change is not settled.
	Near float64 `json:"near,omitempty"`
	// Open is the processor on which the intervals of the two overlap; empty: neither.
	Open string `json:"open,omitempty"`
	// Leads: one of the two is best, or shares the best place, on one of the processors.
	Leads bool `json:"leads,omitempty"`
}

// standing is a candidate's figure on one processor, of a column or of an overall order; lower is better.
type standing struct {
	value Interval
	tied  []string
	rank  int // the best possible one
}

// standings are those of an order on one processor, by candidate; names has the best first.
type standings struct {
	names []string
	of    map[string]standing
}

func (s *standings) add(name string, one standing) {
	if s.of == nil {
		s.of = map[string]standing{}
	}
	s.names, s.of[name] = append(s.names, name), one
}

// processors compares the runs of a series on several processors, slowest first.
func processors(runs []SeriesStorage) *Processors {
	var profiles []processor.Profile
	out := &Processors{}
	for _, r := range runs {
		p := processorOf(r.Verdict)
		profiles = append(profiles, p)
		out.List = append(out.List, Processor{p.Name, p.Other})
	}
	for _, u := range runs[0].Verdict.Uses {
		out.Orders = append(out.Orders, compareOn(profiles, ProcessorOrder{Key: u.Name, Title: u.Name, Use: true}, func(i int) standings { return runs[i].Verdict.placesOf(u.Name) }))
	}
	first := runs[0].Verdict
	for i, c := range slices.Concat(first.Columns, first.Extra) {
		if c.Unit != "s" || c.Level {
			continue
		}
		out.Orders = append(out.Orders, compareOn(profiles, ProcessorOrder{Key: c.Key, Title: c.Name, Extra: i >= len(first.Columns)},
			func(i int) standings { return runs[i].Verdict.cellsOf(c.Key) }))
	}
	return out
}

// processorOf is the processor that a run's guests were charged for.
func processorOf(v Verdict) processor.Profile {
	if p := plan.Kept(v.Run.Plan).Processor; p != nil {
		return *p
	}
	return processor.Profile{Name: v.Run.Processor}
}

func (v Verdict) placesOf(use string) (s standings) {
	for _, u := range v.Uses {
		if u.Name != use {
			continue
		}
		for _, p := range u.Ranks {
			s.add(p.Candidate, standing{p.Score, p.TiedWith, p.RankLow})
		}
	}
	return s
}

func (v Verdict) cellsOf(column string) (s standings) {
	for _, c := range slices.Concat(v.Columns, v.Extra) {
		if c.Key != column {
			continue
		}
		for _, cell := range c.Cells {
			if cell.Absent == "" {
				s.add(cell.Candidate, standing{cell.Estimate, cell.TiedWith, cell.RankLow})
			}
		}
	}
	return s
}

// compareOn fills in an order, of which on has the standings on each of the processors.
func compareOn(profiles []processor.Profile, o ProcessorOrder, on func(i int) standings) ProcessorOrder {
	o.Changes = []Overtaking{}
	all := make([]standings, len(profiles))
	var names []string
	for i := range profiles {
		all[i] = on(i)
		o.Best = append(o.Best, all[i].best())
		for _, n := range all[i].names {
			if !slices.Contains(names, n) {
				names = append(names, n)
			}
		}
	}
	for i, a := range names {
		for _, b := range names[i+1:] {
			o.pair(a, b, profiles, all)
		}
	}
	place := func(c Overtaking) int {
		return slices.IndexFunc(profiles, func(p processor.Profile) bool { return p.Name == c.Slower })
	}
	slices.SortStableFunc(o.Changes, func(a, b Overtaking) int { return cmp.Compare(place(a), place(b)) })
	return o
}

// best is who is best, as the answer of a run says it.
func (s standings) best() BestPlace {
	if len(s.names) == 0 {
		return BestPlace{}
	}
	b := BestPlace{Candidate: s.names[0], TiedWith: s.of[s.names[0]].tied}
	for _, n := range s.names[1:] {
		b.Open = b.Open || s.of[n].rank == 1 && !slices.Contains(b.TiedWith, n)
	}
	return b
}

// Names are the candidates that are best or share the best place; the one with the lowest figure is first.
func (b BestPlace) Names() []string {
	if b.Candidate == "" {
		return nil
	}
	return append([]string{b.Candidate}, b.TiedWith...)
}

// pair adds the changes of places between two candidates. A processor on which one of them has no figure,
// or both have the same, is passed over: its neighbours are compared.
func (o *ProcessorOrder) pair(a, b string, profiles []processor.Profile, all []standings) {
	before, with := -1, 0
	for i := range profiles {
		x, there := all[i].of[a]
		y, both := all[i].of[b]
		if !there || !both {
			continue
		}
		if with++; with == 2 {
			o.Compared++
		}
		if x.value.Value == y.value.Value {
			continue
		}
		slow := before
		before = i
		if slow < 0 {
			continue
		}
		u, v := all[slow].of[a], all[slow].of[b]
		if (u.value.Value < v.value.Value) == (x.value.Value < y.value.Value) {
			continue
		}
		slower, faster := profiles[slow], profiles[i]
		leaders := slices.Concat(o.Best[slow].Names(), o.Best[i].Names())
		c := Overtaking{Slower: slower.Name, Faster: faster.Name, Candidate: a, Overtaken: b, Leads: slices.Contains(leaders, a) || slices.Contains(leaders, b)}
		if y.value.Value < x.value.Value {
			c.Candidate, c.Overtaken = b, a
		}
		switch then, now := apart(u.value, v.value), apart(x.value, y.value); {
		case !then && !now:
			o.Unsettled++
			continue
		case !then:
			c.Open = c.Slower
		case !now:
			c.Open = c.Faster
		case slower.Proportional(faster):
			c.Near = crossing(slower.Other, faster.Other, u.value.Value/v.value.Value, x.value.Value/y.value.Value)
		}
		o.Changes = append(o.Changes, c)
	}
}

// apart reports whether the intervals of two figures do not overlap. A single figure has none, and shows
// nothing.
func apart(a, b Interval) bool {
	return !a.Single && !b.Single && (a.High < b.Low || b.High < a.Low)
}

// crossing is the speed at which two candidates would be equal, given two speeds, s1 and s2, and the
// ratios of their figures there, r1 and r2, one below and one above 1:
//
//	s = s1 · (s2/s1)^(ln r1 / (ln r1 - ln r2))
//
// It is linear interpolation on logarithms, and assumes that the ratio is a power of the speed between the
// two. Where the storage limits one candidate and the processor the other, the ratio bends instead, and
// the crossing is elsewhere between the two speeds; a run there narrows it down.
func crossing(s1, s2, r1, r2 float64) float64 {
	l1, l2 := math.Log(r1), math.Log(r2)
	return s1 * math.Pow(s2/s1, l1/(l1-l2))
}
