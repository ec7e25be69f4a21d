package recommend

import (
	"fmt"
	"slices"
	"strings"

	"whichfs/internal/judge/stats"
	"whichfs/internal/result"
	"whichfs/internal/sys/units"
)

// limit is a need for a measured figure, applied to these runs.
type limit struct {
	need    Need
	found   *found
	missing string // why it cannot be tested here
}

// limits resolves the measured limits in these runs.
func (d *data) limits(needs []Need) (out []limit, missing []Missing, err error) {
	for _, n := range needs {
		if n.Column == "" {
			continue
		}
		l := limit{need: n}
		switch list := d.find(n.Column); {
		case len(list) > 1:
			return nil, nil, d.ambiguousLimit(n, list)
		case len(list) == 0:
			studies := inStudies(n.Column)
			l.missing = n.Column + " is not measured in these runs"
			m := Missing{Keys: []string{n.Name}, Text: fmt.Sprintf("No evidence on %s: %s.", n, l.missing)}
			if len(d.pools) == 0 {
				m.Text = fmt.Sprintf("No evidence on %s: nothing was measured.", n)
			}
			if len(studies) > 0 {
				m.Remedy = "whichfs run " + studies[0].study
			}
			missing = append(missing, m)
		case n.Unit == "s" && counts(list[0].pool):
			l.missing = "the run counts instructions and has no times"
			missing = append(missing, Missing{Keys: []string{n.Name}, Text: fmt.Sprintf("No evidence on %s: %s.", n, l.missing), Remedy: "whichfs run " + list[0].pool.study.Name})
		default:
			l.found = &list[0]
			if n.Unit == "s" && list[0].pool.runs[0].Verdict.Run.Emulated {
				d.warn(fmt.Sprintf("The limit %s is tested against times of an emulated machine, which do not transfer to hardware.", n))
			}
		}
		out = append(out, l)
	}
	return out, missing, nil
}

func (d *data) ambiguousLimit(n Need, list []found) error {
	var names []string
	for _, f := range list {
		names = append(names, "max-"+f.pool.study.Name+"/"+f.column.Key)
	}
	return result.Refuse("write "+strings.Join(names, " or "), "need %s: several of these runs measure %q, each in its own way", n.Name, n.Column)
}

// hold tests a candidate against a limit. out is set where the whole interval
// is beyond it, doubt where neither side is shown.
func (l limit) hold(c candidate) (out *Exclusion, doubt *Doubt) {
	not := func(format string, args ...any) *Doubt {
		return &Doubt{Need: l.need.String(), Text: fmt.Sprintf(format, args...)}
	}
	if l.found == nil {
		return nil, not("%s is not shown: %s", l.need, l.missing)
	}
	column := l.found.column
	sample, ok := column.Of[c.name]
	if !ok {
		why := column.Absent[c.name]
		if why == "" {
			why = "it was not measured"
		}
		return nil, not("%s is not shown: %s", l.need, why)
	}
	e, err := stats.GeoMean(sample.Values())
	if err != nil {
		return nil, not("%s is not shown: %v", l.need, err)
	}
	figure := units.Interval(e.Value, e.Low, e.High, column.Unit)
	switch {
	case e.Single:
		return nil, not("%s is not shown: a single figure (%s) has no interval", l.need, figure)
	case e.High <= l.need.Limit:
		return nil, nil
	case e.Low > l.need.Limit:
		return &Exclusion{Candidate: c.name, Need: l.need.String(), Why: "has " + column.Name + " " + figure + ", all of it above the limit",
			Source: "measured in " + units.List(l.found.pool.ids(), 3)}, nil
	}
	return nil, not("%s is not shown: %s is %s (%s to %s)", l.need, column.Name, units.Value(e.Value, column.Unit),
		units.Value(e.Low, column.Unit), units.Value(e.High, column.Unit))
}

func (p *pool) ids() []string {
	var out []string
	for _, s := range p.runs {
		out = append(out, s.Verdict.Run.ID)
	}
	return out
}

// sieve tests all candidates of a use against the needs.
type sieve struct {
	left     []candidate
	excluded []Exclusion
	failing  map[string][]string // candidate → needs that it fails
	doubts   map[string][]Doubt
	notes    map[string][]string
}

func (d *data) sieve(needs []Need, limits []limit, use string) sieve {
	s := sieve{failing: map[string][]string{}, doubts: map[string][]Doubt{}, notes: map[string][]string{}}
	for _, c := range d.candidates {
		if use != "" && c.imaged() != (use == "read-only") {
			continue
		}
		var out []Exclusion
		for _, n := range needs {
			why, note, ok := n.meets(c)
			if !ok {
				out = append(out, why)
			} else if note != "" {
				s.notes[c.name] = append(s.notes[c.name], note)
			}
		}
		for _, n := range needs {
			s.doubts[c.name] = append(s.doubts[c.name], d.conflicts(n, c)...)
			if !n.isProven() {
				continue
			}
			why, doubt := d.proof(n, c)
			if why != nil {
				out = append(out, *why)
			}
			if doubt != nil {
				s.doubts[c.name] = append(s.doubts[c.name], *doubt)
			}
		}
		for _, l := range limits {
			why, doubt := l.hold(c)
			if why != nil {
				out = append(out, *why)
			}
			if doubt != nil {
				s.doubts[c.name] = append(s.doubts[c.name], *doubt)
			}
		}
		s.notes[c.name] = append(s.notes[c.name], c.remarks()...)
		for _, e := range out {
			s.failing[c.name] = append(s.failing[c.name], e.Need)
		}
		s.excluded = append(s.excluded, out...)
		if len(out) == 0 {
			s.left = append(s.left, c)
		}
	}
	place := func(e Exclusion) int {
		return slices.IndexFunc(needs, func(n Need) bool { return n.String() == e.Need })
	}
	slices.SortStableFunc(s.excluded, func(a, b Exclusion) int { return place(a) - place(b) })
	return s
}

// remarks are what a reader must know about a candidate, whatever the question.
func (c candidate) remarks() []string {
	var out []string
	add := func(text string) {
		if !slices.Contains(out, text) {
			out = append(out, text)
		}
	}
	for _, v := range c.seen {
		if strings.HasPrefix(v.Checks, "not clean") {
			add("its check was " + v.Checks)
		}
		for _, l := range v.LeftOut {
			add("it left out " + l)
		}
		for _, o := range v.Options {
			if o.State == result.Ignored || o.State == result.Altered {
				add(fmt.Sprintf("its option %s is %s (%s)", o.Text, o.State, o.Evidence))
			}
		}
	}
	return out
}
