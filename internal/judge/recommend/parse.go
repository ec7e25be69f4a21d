package recommend

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"whichfs/internal/plan/study"
	"whichfs/internal/result"
)

// Weight is the weight of a measure.
type Weight struct {
	Key    string  `json:"key"` // as written: KEY or STUDY/KEY
	Weight float64 `json:"weight"`
}

// String is the weight as it is printed.
func (w Weight) String() string { return w.Key + "=" + strconv.FormatFloat(w.Weight, 'g', 6, 64) }

// mostWeight keeps sums finite; no realistic weight reaches a million.
const mostWeight = 1e6

// ParseNeed parses a need. It refuses an unknown one with the whole list.
func ParseNeed(text string) (Need, error) {
	name, value, has := strings.Cut(strings.TrimSpace(text), "=")
	if _, ok := factByName(name); ok {
		if has {
			return Need{}, result.Refuse("--need "+name, "need %q takes no value", name)
		}
		return Need{Name: name}, nil
	}
	if n, ok, err := parseProven(name, value); ok {
		return n, err
	}
	switch column, limit := strings.CutPrefix(name, "max-"); {
	case name == "min-size":
		bytes, err := amount(value, "B")
		if err != nil {
			return Need{}, result.Refuse("for instance --need min-size=64MiB", "need %s: %v", name, err)
		}
		return Need{Name: name, Limit: bytes, Unit: "B", Written: strings.TrimSpace(value)}, nil
	case limit && column != "":
		found := inStudies(column)
		if len(found) == 0 {
			return Need{}, result.Refuse("", "need %s: no study measures %q; the measures are %s", name, column, strings.Join(allKeys(), ", "))
		}
		x, err := amount(value, found[0].unit)
		if err != nil {
			return Need{}, result.Refuse("for instance --need "+name+"="+example(found[0].unit), "need %s: %v", name, err)
		}
		return Need{Name: name, Column: column, Limit: x, Unit: found[0].unit, Written: strings.TrimSpace(value)}, nil
	}
	var known []string
	for _, k := range Needs() {
		known = append(known, k.Name)
	}
	return Need{}, result.Refuse("whichfs list needs explains them", "unknown need %q; the needs are %s", text, strings.Join(known, ", "))
}

func example(unit string) string {
	switch unit {
	case "s":
		return "0.5s"
	case "B":
		return "40MiB"
	}
	return "3"
}

// ParseWeight parses a weight, KEY=NUMBER; KEY alone has weight 1.
func ParseWeight(text string) (Weight, error) {
	key, value, has := strings.Cut(strings.TrimSpace(text), "=")
	w := Weight{Key: strings.TrimSpace(key), Weight: 1}
	if w.Key == "" {
		return Weight{}, result.Refuse("for instance --weight write=3,boot=1", "weight %q names no measure", text)
	}
	if has {
		x, err := strconv.ParseFloat(strings.TrimSpace(value), 64)
		if err != nil || !(x > 0 && x <= mostWeight) {
			return Weight{}, result.Refuse("leave it out if it does not count", "weight %q: must be a number above 0 and at most %g", text, float64(mostWeight))
		}
		w.Weight = x
	}
	return w, nil
}

// suffixes by unit, longest first so that "ms" is not read as "s".
var suffixes = map[string][]struct {
	text string
	size float64
}{
	"s": {{"min", 60}, {"ms", 1e-3}, {"us", 1e-6}, {"µs", 1e-6}, {"ns", 1e-9}, {"s", 1}},
	"B": {
		{"KiB", 1 << 10}, {"MiB", 1 << 20}, {"GiB", 1 << 30}, {"TiB", 1 << 40},
		{"K", 1 << 10}, {"M", 1 << 20}, {"G", 1 << 30}, {"T", 1 << 40}, {"k", 1 << 10}, {"B", 1},
	},
}

// amount parses a number with a suffix of the unit; a time without one is in
// seconds, a size in bytes. The result is positive and finite.
func amount(text, unit string) (float64, error) {
	rest, size := strings.TrimSpace(text), 1.0
	for _, s := range suffixes[unit] {
		if number, ok := strings.CutSuffix(rest, s.text); ok {
			rest, size = strings.TrimSpace(number), s.size
			break
		}
	}
	x, err := strconv.ParseFloat(rest, 64)
	if err != nil || !(x > 0) || math.IsInf(x*size, 0) || x*size > 1e24 || x*size < 1e-12 {
		what := map[string]string{"s": "a time", "B": "a size"}[unit]
		if what == "" {
			what = "a number"
		}
		return 0, fmt.Errorf("%q is not %s above 0", text, what)
	}
	return x * size, nil
}

// measured is a key of a study.
type measured struct {
	study, key, unit string
	level            bool
}

// inStudies finds the measures of all studies with a key, KEY or STUDY/KEY: a
// column of that name, a column that consists of the one phase of that name, or
// a phase.
func inStudies(key string) []measured {
	want, name, qualified := strings.Cut(key, "/")
	if !qualified {
		want, name = "", key
	}
	var out []measured
	for _, st := range study.All {
		if want != "" && st.Name != want {
			continue
		}
		if c, ok := columnOf(st.Columns, name); ok {
			out = append(out, measured{st.Name, c.Key, c.Unit, c.Level})
		} else if slices.Contains(phases(st), name) {
			out = append(out, measured{st.Name, name, "s", false})
		}
	}
	return out
}

// columnOf finds a column by its key, or by its only phase.
func columnOf(columns []study.Column, key string) (study.Column, bool) {
	for _, c := range columns {
		if c.Key == key {
			return c, true
		}
	}
	for _, c := range columns {
		if len(c.Terms) == 1 && c.Terms[0].Phase == key && (c.Unit == "s" || c.Unit == "instr") {
			return c, true
		}
	}
	return study.Column{}, false
}

// phases of a study on all of its storages.
func phases(st study.Study) []string {
	if st.Scenario == nil {
		return nil
	}
	scales := []study.Scale{st.Scales["quick"]}
	for _, on := range st.Storages {
		scales = append(scales, st.Fit("quick", on))
	}
	var out []string
	for _, scale := range scales {
		out = append(out, append(st.Scenario(false, scale).Phases(), st.Scenario(true, scale).Phases()...)...)
	}
	return out
}

// allKeys are the columns of all studies.
func allKeys() []string {
	var out []string
	for _, st := range study.All {
		for _, c := range st.Columns {
			if !c.Level && !slices.Contains(out, c.Key) {
				out = append(out, c.Key)
			}
		}
	}
	return out
}
