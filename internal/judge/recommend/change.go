package recommend

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"whichfs/internal/filesystem"
	"whichfs/internal/judge/stats"
	"whichfs/internal/sys/units"
)

// The most changes of each kind that are named.
const (
	mostPairs   = 3
	mostWeights = 4
	mostTries   = 3
)

// farWeight is the largest multiple of the largest weight that changes
// considers realistic.
const farWeight = 10

// changes lists what would change the answer.
func (d *data) changes(q Question, use string, sc *score, s sieve) ([]Change, error) {
	out := d.moreRounds(sc)
	out = append(out, d.otherWeights(use, sc)...)
	more, err := d.otherNeeds(sc, s)
	if err != nil {
		return nil, err
	}
	out = append(out, more...)
	return append(out, d.otherCandidates(q, use, sc, s)...), nil
}

// moreRounds covers open comparisons between the first and others.
func (d *data) moreRounds(sc *score) (out []Change) {
	first := sc.order[0]
	for _, j := range sc.order[1:] {
		if len(out) == mostPairs || sc.outcome(first, j) != stats.Open {
			continue
		}
		a, b := sc.names[first], sc.names[j]
		n, ok := sc.compared.Needed(first, j)
		c := Change{Kind: "rounds"}
		switch p, _ := sc.compared.Between(first, j); {
		case p.N == 0:
			c.Text = fmt.Sprintf("%s and %s have no round in common: a run with both would show which is better.", a, b)
		case !ok:
			c.Text = fmt.Sprintf("One round does not show the noise between %s and %s: at least two more would.", a, b)
			c.Remedy = d.resume(2)
		case n > 100:
			c.Text = fmt.Sprintf("With this much noise, no reasonable number of rounds would settle %s against %s.", a, b)
		default:
			c.Text = fmt.Sprintf("About %s would settle %s against %s.", d.rounds(n), a, b)
			c.Remedy = d.resume(n)
		}
		out = append(out, c)
	}
	return out
}

// further is the run that would settle an open answer: the rounds that all open comparisons of the first need, if
// they are few. The answer says what is open.
func (d *data) further(sc *score) *Further {
	most := 0
	for _, j := range sc.order[1:] {
		if sc.outcome(sc.order[0], j) != stats.Open {
			continue
		}
		n, ok := sc.compared.Needed(sc.order[0], j)
		p, _ := sc.compared.Between(sc.order[0], j)
		if p.N == 0 || n > mostFurther {
			return nil
		}
		if !ok {
			n = 2 // the least that shows noise
		}
		most = max(most, n)
	}
	command := d.resume(most)
	if most == 0 || command == "" {
		return nil
	}
	return &Further{Text: fmt.Sprintf("About %s would settle it.", d.rounds(most)), Command: command}
}

// mostFurther is how many more rounds a short further run has at most.
const mostFurther = 20

// rounds says how many more there would be, and how long they would take if they take as long as those before.
func (d *data) rounds(n int) string {
	text := fmt.Sprintf("%d more %s", n, verb(n, "round", "rounds"))
	if len(d.pools) != 1 || len(d.pools[0].runs) != 1 {
		return text
	}
	run := d.pools[0].runs[0]
	had := roundsOf(run)
	if had == 0 || run.Verdict.Trials.Active <= 0 {
		return text
	}
	takes := time.Duration(run.Verdict.Trials.Active / float64(had) * float64(n) * float64(time.Second))
	if takes < time.Second {
		return text
	}
	return text + " (" + units.Rough(takes) + " of running)"
}

// resume is the command that adds rounds; "" if it would take several runs.
func (d *data) resume(more int) string {
	if len(d.pools) != 1 || len(d.pools[0].runs) != 1 {
		return ""
	}
	r := d.pools[0].runs[0].Verdict.Run
	return fmt.Sprintf("whichfs resume %s --rounds %d", r.ID, r.Rounds+more)
}

// flip is a weight at which a different candidate is first.
type flip struct {
	text     string
	distance float64
}

// otherWeights: the score is linear in each weight, so each measure has at most
// one weight at which another candidate becomes first. All of this is as
// measured, without intervals.
func (d *data) otherWeights(use string, sc *score) (out []Change) {
	first := sc.order[0]
	largest := 0.0
	for _, m := range sc.list {
		largest = math.Max(largest, m.weight)
	}
	var flips []flip
	for k, m := range sc.list {
		logs := make([]float64, len(sc.names))
		for i := range logs {
			logs[i] = sc.logs[i][k]
		}
		for _, up := range []bool{true, false} {
			w, winner, ok := sc.turn(first, m.weight, logs, up)
			if !ok || w > farWeight*largest {
				continue
			}
			text := fmt.Sprintf("If the weight of %s were above %s instead of %s, %s would be first as measured.", m.name(), digits(w, true), number(m.weight), winner)
			distance := math.Abs(math.Log(w / m.weight))
			if !up {
				text = fmt.Sprintf("If the weight of %s were below %s instead of %s, %s would be first as measured.", m.name(), digits(w, false), number(m.weight), winner)
				if digits(w, false) == "0" {
					continue
				}
			}
			flips = append(flips, flip{text, distance})
		}
	}
	for _, m := range d.watched(use, sc.list) {
		logs, ok := sc.watchedLogs(m)
		if !ok {
			continue
		}
		if w, winner, ok := sc.turn(first, 0, logs, true); ok && w <= farWeight*largest {
			flips = append(flips, flip{fmt.Sprintf("If %s, which has no weight now, had a weight above %s, %s would be first as measured.", m.name(), digits(w, true), winner),
				math.Abs(math.Log(math.Max(w, 1e-3*largest)/largest)) + 1})
		}
	}
	slices.SortStableFunc(flips, func(a, b flip) int {
		switch {
		case a.distance < b.distance:
			return -1
		case a.distance > b.distance:
			return 1
		}
		return 0
	})
	for _, f := range flips[:min(len(flips), mostWeights)] {
		out = append(out, Change{Kind: "weight", Text: f.text})
	}
	return out
}

// turn is the nearest weight above or below the current one at which another
// candidate overtakes the first, given the measure's mean logarithms.
func (sc *score) turn(first int, weight float64, logs []float64, up bool) (at float64, winner string, ok bool) {
	for i, name := range sc.names {
		if i == first {
			continue
		}
		behind := 0.0 // how far it is behind now, times the total weight
		for k, m := range sc.list {
			behind += m.weight * (sc.logs[i][k] - sc.logs[first][k])
		}
		behind = math.Max(0, behind)
		slope := logs[i] - logs[first] // of the above by the weight
		if up && slope >= 0 || !up && slope <= 0 {
			continue
		}
		w := weight - behind/slope
		if w < 0 || ok && (up && w >= at || !up && w <= at) {
			continue
		}
		at, winner, ok = w, name, true
	}
	return at, winner, ok
}

// watchedLogs are the mean logarithms of a measure without weight, if all
// candidates have it.
func (sc *score) watchedLogs(m counted) ([]float64, bool) {
	out := make([]float64, len(sc.names))
	for i, name := range sc.names {
		e, err := stats.GeoMean(m.column.Of[name].Values())
		if err != nil {
			return nil, false
		}
		out[i] = math.Log(e.Value)
	}
	return out, true
}

// digits prints a weight with two digits, rounded away from the current weight,
// so that the sentence stays true.
func digits(w float64, up bool) string {
	if w <= 0 {
		return "0"
	}
	step := math.Pow(10, math.Floor(math.Log10(w))-1)
	x := math.Floor(w/step) * step
	if up {
		x = math.Ceil(w/step) * step
	}
	return number(x)
}

func number(x float64) string {
	r, err := strconv.ParseFloat(strconv.FormatFloat(x, 'g', 4, 64), 64)
	if err != nil {
		return strconv.FormatFloat(x, 'g', 4, 64)
	}
	return strconv.FormatFloat(r, 'f', -1, 64)
}

// otherNeeds finds candidates that a single need excludes and that would be
// first without it.
func (d *data) otherNeeds(sc *score, s sieve) (out []Change, err error) {
	first := sc.names[sc.order[0]]
	seen := map[string]bool{}
	for _, e := range s.excluded {
		if seen[e.Need] || len(s.failing[e.Candidate]) != 1 {
			continue
		}
		seen[e.Need] = true
		var with []candidate
		for _, c := range d.candidates {
			if c.name == first || slices.Equal(s.failing[c.name], []string{e.Need}) {
				with = append(with, c)
			}
		}
		other, err := d.score(with, sc.list)
		if err != nil {
			return nil, err
		}
		if err := other.settle(d.margin); err != nil {
			return nil, err
		}
		winner := other.names[other.order[0]]
		if winner == first {
			continue
		}
		p, _ := other.compared.Between(other.order[0], slices.Index(other.names, first))
		word := map[stats.Outcome]string{stats.Lower: "shown to be better", stats.Tied: "equal within the margin", stats.Open: "not settled"}[p.Outcome]
		out = append(out, Change{Kind: "need", Text: fmt.Sprintf("Without the need %s, %s would be first (%s).", e.Need, winner, word)})
	}
	return out, nil
}

// onRawFlash reports whether a run's storage is raw flash.
func onRawFlash(storage string) bool {
	return strings.HasPrefix(storage, "nand:") || strings.HasPrefix(storage, "mtd:")
}

// otherCandidates finds candidates that meet the needs by facts and were not
// tried.
func (d *data) otherCandidates(q Question, use string, sc *score, s sieve) []Change {
	have := map[filesystem.Candidate]bool{}
	types := map[string]bool{}
	for _, c := range d.candidates {
		have[c.Candidate], types[c.FS] = true, true
	}
	rawFlash := len(d.pools) > 0 && onRawFlash(d.pools[0].runs[0].Verdict.Run.Storage)
	meets := func(parsed filesystem.Candidate) bool {
		if parsed.Err() != nil || have[parsed] || misplaced(parsed, rawFlash) {
			return false
		}
		c := candidate{name: parsed.String(), Candidate: parsed}
		if use != "" && c.imaged() != (use == "read-only") {
			return false
		}
		return !slices.ContainsFunc(q.Needs, func(n Need) bool {
			_, _, ok := n.meets(c)
			return !ok
		})
	}
	var untried []filesystem.Candidate
	for _, e := range s.excluded {
		if c := filesystem.Kept(e.Candidate + " " + e.Remedy); e.Remedy != "" && !slices.Contains(untried, c) && meets(c) {
			untried = append(untried, c)
		}
	}
	for _, name := range filesystem.Names() {
		if c := (filesystem.Candidate{FS: name}); !types[name] && !c.Filesystem().Rare() && meets(c) {
			untried = append(untried, c)
		}
	}
	if len(untried) == 0 {
		return nil
	}
	names := filesystem.Texts(untried[:min(len(untried), mostTries)])
	out := Change{Kind: "candidate", Text: fmt.Sprintf("Not tried, although %s the needs according to the facts: %s.", verb(len(names), "it meets", "they meet"), units.List(names, mostTries))}
	if r := d.pools[0].runs[0].Verdict.Run; r.Scale != "" {
		// Together with the best two, for comparison.
		for _, i := range slices.Backward(sc.order[:min(2, len(sc.order))]) {
			names = append([]string{sc.names[i]}, names...)
		}
		out.Remedy = fmt.Sprintf("whichfs run %s --%s --storage %s --candidates '%s'", r.Study, r.Scale, r.Storage, strings.Join(names, "; "))
	}
	return []Change{out}
}
