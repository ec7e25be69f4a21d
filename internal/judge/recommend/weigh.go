package recommend

import (
	"fmt"
	"slices"
	"strings"

	"whichfs/internal/judge/verdict"
	"whichfs/internal/plan/study"
	"whichfs/internal/result"
	"whichfs/internal/sys/units"
)

// counted is a measure of a pool with its weight.
type counted struct {
	pool   *pool
	column verdict.Sampled
	key    string // as reports name it
	weight float64
	given  bool // 0 and not given: watched only to find whether a weight would change the answer
}

func (c counted) name() string { return c.column.Name }

// found is a measure that a key refers to.
type found struct {
	pool   *pool
	column verdict.Sampled
}

// find returns the measures that a key refers to in these runs.
func (d *data) find(key string) []found {
	want, name, qualified := strings.Cut(key, "/")
	if !qualified {
		want, name = "", key
	}
	var out []found
	for _, p := range d.pools {
		if want != "" && p.study.Name != want {
			continue
		}
		var columns []study.Column
		for _, c := range p.columns {
			columns = append(columns, c.Column)
		}
		if c, ok := columnOf(columns, name); ok {
			at := slices.IndexFunc(p.columns, func(s verdict.Sampled) bool { return s.Key == c.Key })
			out = append(out, found{p, p.columns[at]})
		}
	}
	return out
}

// key names a measure as briefly as these runs allow.
func (d *data) key(p *pool, key string) string {
	if len(d.find(key)) > 1 {
		return p.study.Name + "/" + key
	}
	return key
}

// weigh resolves the weights in these runs. It refuses keys unknown to all runs
// and studies, and ambiguous keys.
func (d *data) weigh(weights []Weight) (out []counted, missing []Missing, err error) {
	var unmeasured []string
	var studies [][]string
	for _, w := range weights {
		list := d.find(w.Key)
		switch {
		case len(list) > 1:
			return nil, nil, d.ambiguous(w.Key, list)
		case len(list) == 0:
			names, err := d.elsewhere(w.Key)
			if err != nil {
				return nil, nil, err
			}
			unmeasured, studies = append(unmeasured, w.Key), append(studies, names)
			continue
		case list[0].column.Level:
			return nil, nil, result.Refuse("", "weight %q: a larger %s is not worse, so it cannot be weighed", w.Key, list[0].column.Name)
		case len(list[0].column.Of) == 0:
			missing = append(missing, Missing{Keys: []string{w.Key}, Text: fmt.Sprintf("%s has no figure for any candidate in these runs, so it does not count.", list[0].column.Name)})
			continue
		}
		one := counted{pool: list[0].pool, column: list[0].column, weight: w.Weight, given: true}
		one.key = d.key(one.pool, one.column.Key)
		for _, before := range out {
			if before.key == one.key {
				return nil, nil, result.Refuse("leave one of them out", "weight %q: %s already has a weight", w.Key, one.name())
			}
			if term, both := shared(before, one); both {
				d.warn(fmt.Sprintf("%s and %s both contain the phase %s, which counts in both.", before.name(), one.name(), term))
			}
		}
		out = append(out, one)
	}
	return out, append(missing, d.lacking(unmeasured, studies)...), nil
}

// shared is a phase that two measures both contain.
func shared(a, b counted) (phase string, both bool) {
	if a.pool != b.pool {
		return "", false
	}
	for _, t := range a.column.Terms {
		if slices.Contains(b.column.Terms, t) {
			return t.Phase, true
		}
	}
	return "", false
}

func (d *data) ambiguous(key string, list []found) error {
	var names []string
	for _, f := range list {
		names = append(names, f.pool.study.Name+"/"+f.column.Key)
	}
	return result.Refuse("write "+strings.Join(names, " or "), "several of these runs measure %q, each in its own way, and such figures are not mixed", key)
}

// elsewhere names the studies that measure what these runs lack.
func (d *data) elsewhere(key string) ([]string, error) {
	studies := inStudies(key)
	if len(studies) == 0 {
		if len(d.pools) == 0 {
			return nil, result.Refuse("", "no study measures %q; the measures are %s", key, strings.Join(allKeys(), ", "))
		}
		return nil, result.Refuse("whichfs list keys shows what the other studies measure", "neither these runs nor any study measures %q; these runs have %s", key, strings.Join(d.keys(), ", "))
	}
	var names []string
	for _, m := range studies {
		if m.level {
			return nil, result.Refuse("", "weight %q: a larger figure is not worse, so it cannot be weighed", key)
		}
		if !slices.Contains(names, m.study) {
			names = append(names, m.study)
		}
	}
	return names, nil
}

// lacking lists the weighted measures that the runs lack, grouped by study.
func (d *data) lacking(keys []string, studies [][]string) (out []Missing) {
	done := map[string]bool{}
	for i := range keys {
		would := units.List(studies[i], 4)
		if done[would] {
			continue
		}
		done[would] = true
		var together []string
		for k := range keys {
			if units.List(studies[k], 4) == would {
				together = append(together, keys[k])
			}
		}
		text := units.List(together, len(together)) + verb(len(together), " is not measured", " are not measured")
		if len(d.pools) > 0 {
			text += " in these runs, so " + verb(len(together), "it does not count", "they do not count")
		}
		out = append(out, Missing{Keys: together, Text: text + "; " + would + verb(len(studies[i]), " measures ", " measure ") + verb(len(together), "it.", "them."), Remedy: "whichfs run " + studies[i][0]})
	}
	return out
}

// keys are the measures of the runs.
func (d *data) keys() []string {
	var out []string
	for _, p := range d.pools {
		for _, c := range p.columns {
			if !c.Level && len(c.Of) > 0 {
				out = append(out, d.key(p, c.Key))
			}
		}
	}
	return out
}

// byDefault are the columns that the studies count for a use, with equal
// weight.
func (d *data) byDefault(use string) (out []counted, missing []Missing) {
	for _, p := range d.pools {
		for _, c := range p.columns {
			if c.Level || !slices.Contains(c.Uses, use) {
				continue
			}
			if len(c.Of) == 0 {
				missing = append(missing, Missing{Keys: []string{c.Key}, Text: fmt.Sprintf("%s has no figure for any candidate in these runs, so it does not count.", c.Name)})
				continue
			}
			out = append(out, counted{pool: p, column: c, key: d.key(p, c.Key), weight: 1, given: true})
		}
	}
	return out, missing
}

// watched are measures that could count but do not: those that the studies
// count for a use.
func (d *data) watched(use string, have []counted) (out []counted) {
	for _, p := range d.pools {
		for _, c := range p.columns {
			key := d.key(p, c.Key)
			if c.Level || len(c.Uses) == 0 || use != "" && !slices.Contains(c.Uses, use) || len(c.Of) == 0 ||
				slices.ContainsFunc(have, func(h counted) bool { return h.key == key }) {
				continue
			}
			out = append(out, counted{pool: p, column: c, key: key})
		}
	}
	return out
}

// public is the form in which reports show what counts.
func public(list []counted) []Counted {
	total := 0.0
	for _, c := range list {
		total += c.weight
	}
	var out []Counted
	for _, c := range list {
		one := Counted{Key: c.key, Name: c.name(), Unit: c.column.Unit, About: c.column.About, Study: c.pool.study.Name,
			Weight: c.weight, Share: c.weight / total}
		for _, s := range c.pool.runs {
			one.Runs = append(one.Runs, s.Verdict.Run.ID)
		}
		out = append(out, one)
	}
	return out
}

// counts reports whether the figures of a column are instructions.
func counts(p *pool) bool {
	return slices.ContainsFunc(p.runs, func(s verdict.Judged) bool { return s.Verdict.Run.Clock == result.ClockInstructions })
}

func verb(n int, one, many string) string {
	if n == 1 {
		return one
	}
	return many
}
