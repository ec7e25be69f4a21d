package verdict

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"whichfs/internal/judge/stats"
	"whichfs/internal/plan/study"
	"whichfs/internal/result"
	"whichfs/internal/sys/units"
)

// Numbers are the published tables of figures beside ours.
type Numbers struct {
	Tables []NumbersTable `json:"tables"`
	// Elsewhere names, in one sentence, the tables of other storage.
	Elsewhere string `json:"elsewhere,omitempty"`
	// All is over all tables, Card over those whose figures depend on the storage.
	All  Likeness `json:"all"`
	Card Likeness `json:"card"`
}

// NumbersTable is one published table in its own shape: a row per variant, a
// column per candidate.
type NumbersTable struct {
	Key     string `json:"key"`
	Name    string `json:"name"`
	Source  string `json:"source"`
	Column  string `json:"column"` // key of the column that measures the same thing
	Unit    string `json:"unit"`   // as published
	Storage string `json:"storage"`
	Card    bool   `json:"card"`
	// Rows are variants, "" the reference; Labels are their names.
	Rows   []string `json:"rows"`
	Labels []string `json:"labels"`
	// Columns are candidates, Heads their names in the source.
	Columns []string     `json:"columns"`
	Heads   []string     `json:"heads"`
	Cells   []NumberCell `json:"cells"`
	// Tau of their order and ours, over the cells with both figures.
	Tau Tau `json:"tau"`
	// Median of the ratios of our figures to the published ones, and how many lie
	// within a factor of Near.
	Median Interval `json:"median"`
	Within int      `json:"within"`

	// OrderOnly: the published figures grow with the data, and the data here
	// differ in size; the cells then have no ratio.
	OrderOnly bool `json:"order_only,omitempty"`

	// Noise is the share within which the source counts figures as equal; 0: every
	// difference counts.
	Noise float64 `json:"noise,omitempty"`
	// NoOrder says why the published figures have no order; empty: they have one.
	NoOrder string `json:"no_order,omitempty"`

	// places holds our figures of the counted cells, by the index of the cell,
	// turned so that less is better; published holds theirs.
	places    *column
	published []float64
}

// Near is the factor within which a figure counts as close to the published
// one.
const Near = stats.NearFactor

// NumberCell is one published figure and ours, in the table's unit.
type NumberCell struct {
	Candidate string `json:"candidate"`
	Variant   string `json:"variant,omitempty"`
	// Published is the figure, or Text what the source has in its place.
	Published float64 `json:"published"`
	Text      string  `json:"text,omitempty"`
	// Absent is why we have no figure.
	Absent   string   `json:"absent,omitempty"`
	Measured Interval `json:"measured"`
	// Ratio of ours to theirs; the published figure has no interval. 0: their
	// sizes cannot be compared.
	Ratio Interval `json:"ratio"`
}

// counts reports whether the cell has both figures.
func (c NumberCell) counts() bool { return c.Text == "" && c.Absent == "" && c.Published > 0 }

// numbers compares the published tables of this storage with our figures.
func (f *figures) numbers() (Numbers, error) {
	var n Numbers
	var elsewhere []string
	for _, t := range f.study.Numbers {
		if t.Storage != "" && t.Storage != f.storage {
			label := t.Storage
			if s, ok := f.study.Storage("", t.Storage); ok {
				label = s.Label
			}
			if !slices.Contains(elsewhere, label) {
				elsewhere = append(elsewhere, label)
			}
			continue
		}
		table, err := f.numbersTable(t)
		if err != nil {
			return Numbers{}, fmt.Errorf("table %s: %w", t.Key, err)
		}
		n.Tables = append(n.Tables, table)
	}
	if len(elsewhere) > 0 {
		n.Elsewhere = fmt.Sprintf("Tables of other storage (%s) are not compared with this run.", strings.Join(elsewhere, "; "))
	}
	n.sum()
	return n, nil
}

// sum computes the summaries.
func (n *Numbers) sum() {
	var all, card gathered
	for _, t := range n.Tables {
		all.add(t)
		if t.Card {
			card.add(t)
		}
	}
	n.All, n.Card = all.likeness(), card.likeness()
}

func (f *figures) numbersTable(t study.Numbers) (NumbersTable, error) {
	out := NumbersTable{Key: t.Key, Name: t.Name, Source: t.Source, Column: t.Column, Unit: t.Unit, Storage: t.Storage, Card: t.Card}
	def, known := f.study.Column(t.Column)
	out.OrderOnly = f.run.Scale != "full" && (t.Grows || def.Per != "" && !publishedUnits[t.Unit].rate)
	out.places = &column{def: def, absent: map[string]string{}}
	out.places.sentinel = f.sentinel(out.places)
	var sentinels []stats.Sample
	for _, p := range t.Cells {
		out.shape(p)
		cell := NumberCell{Candidate: p.Candidate, Variant: p.Variant, Published: p.Value, Text: p.Text}
		sample, why := stats.Sample(nil), "the study does not measure it"
		if known {
			sample, why = f.converted(def, t.Unit, p.Candidate, p.Variant)
		}
		if cell.Absent = why; why == "" {
			e, err := stats.GeoMean(sample.Values())
			if err != nil {
				return out, err
			}
			cell.Measured = IntervalOf(e)
			if cell.counts() {
				if !out.OrderOnly {
					cell.Ratio = scaled(cell.Measured, 1/p.Value)
				}
				out.count(len(out.Cells), sample, p.Value)
				sentinels = append(sentinels, f.known(p.Candidate, p.Variant).sentinelOf(out.places.sentinel))
			}
		}
		out.Cells = append(out.Cells, cell)
	}
	out.Labels = f.labels(out.Rows)
	if err := out.compare(sentinels, f.margin); err != nil {
		return out, err
	}
	out.Tau.N = len(out.published)
	if len(out.published) >= leastRows && !def.Level {
		out.order(t.Noise)
	}
	out.summarise()
	return out, nil
}

// order compares the two orders, or says that there is none.
func (t *NumbersTable) order(noise float64) {
	t.Noise = noise
	if noise == 0 {
		t.Tau.Value, t.Tau.Has = t.places.tau(t.places.names, t.published)
		if !t.Tau.Has && slices.Max(t.published) > slices.Min(t.published) {
			t.Tau.Value, t.Tau.Has = 0, true // they have an order and ours do not
		}
		return
	}
	if slices.Max(t.published)/slices.Min(t.published) <= 1+noise {
		t.NoOrder = fmt.Sprintf("the published figures are equal within the noise of their source (%s): they have no order", units.Share(noise))
		return
	}
	t.Tau.Value, t.Tau.Has = t.places.tauWithin(t.places.names, t.published, noise)
	if !t.Tau.Has {
		t.Tau.Value, t.Tau.Has = 0, true // they have an order and ours do not
	}
}

// summarise the ratios of the counted cells.
func (t *NumbersTable) summarise() {
	var ours, theirs, ratios []float64
	for _, c := range t.Cells {
		if c.counts() && !t.OrderOnly {
			ours, theirs, ratios = append(ours, c.Measured.Value), append(theirs, c.Published), append(ratios, c.Ratio.Value)
		}
	}
	if median, near, err := stats.RatioSummary(ours, theirs); err == nil {
		n := len(ratios)
		t.Median = Interval{Value: median, Low: slices.Min(ratios), High: slices.Max(ratios), N: n, Single: n == 1}
		t.Within = int(math.Round(near * float64(n)))
	}
}

// count adds a cell with both figures to the order. A higher rate is better, so
// its inverse is compared.
func (t *NumbersTable) count(cell int, sample stats.Sample, published float64) {
	figures := stats.Sample{}
	for r, v := range sample {
		figures[r] = v
		if publishedUnits[t.Unit].rate {
			figures[r] = 1 / v
		}
	}
	if publishedUnits[t.Unit].rate {
		published = 1 / published
	}
	t.places.add(fmt.Sprint(cell), figures)
	t.published = append(t.published, published)
}

// compare compares all counted cells with each other.
func (t *NumbersTable) compare(sentinels []stats.Sample, margin float64) (err error) {
	if slices.ContainsFunc(sentinels, func(s stats.Sample) bool { return s == nil }) {
		sentinels = nil
	}
	if err := t.places.estimates(); err != nil {
		return err
	}
	t.places.compared, err = stats.CompareWith(t.places.samples, sentinels, margin)
	return err
}

// shape adds the row and the column of a cell to the table. A candidate to
// which the source gives several names, one per variant, keeps its own.
func (t *NumbersTable) shape(p study.Published) {
	switch {
	case slices.Contains(t.Rows, p.Variant):
	case p.Variant == "": // the reference comes first, wherever it is published
		t.Rows = append([]string{""}, t.Rows...)
	default:
		t.Rows = append(t.Rows, p.Variant)
	}
	at := slices.Index(t.Columns, p.Candidate)
	head := p.Label
	if head == "" {
		head = p.Candidate
	}
	switch {
	case at < 0:
		t.Columns, t.Heads = append(t.Columns, p.Candidate), append(t.Heads, head)
	case t.Heads[at] != head:
		t.Heads[at] = p.Candidate
	}
}

// labels names the rows: variants by their own names, the reference by its name
// in the factor of the other rows.
func (f *figures) labels(rows []string) []string {
	reference := ""
	for _, r := range rows {
		if factor, level := f.levelOf(r); level >= 0 {
			reference = factor.Reference
		}
	}
	out := slices.Clone(rows)
	for i, r := range rows {
		if r == "" {
			out[i] = reference
		}
	}
	return out
}

// scaled multiplies an interval by a factor.
func scaled(iv Interval, by float64) Interval {
	iv.Value, iv.Low, iv.High = iv.Value*by, iv.Low*by, iv.High*by
	return iv
}

// converted is a candidate's figure of a column in a published unit, round by
// round.
func (f *figures) converted(def study.Column, unit, name, variant string) (stats.Sample, string) {
	s := f.known(name, variant)
	if s == nil && f.byName[name] != nil {
		return nil, "not tried with " + variant
	}
	if s == nil {
		return nil, "not tried"
	}
	sample, why := s.quiet(def, s.sample)
	if why != "" {
		return nil, why
	}
	to, ok := publishedUnits[unit]
	if !ok || to.rate != (def.Unit == "s" && to.base != "s") || !to.rate && to.base != def.Unit {
		return nil, fmt.Sprintf("%s in %s cannot be converted to %s", lowered(def.Name), def.Unit, unit)
	}
	if !to.rate {
		for r := range sample {
			sample[r] /= to.size
		}
		return sample, ""
	}
	amount, why := s.amount(def, to.base)
	if why != "" {
		return nil, why
	}
	for r, v := range sample {
		sample[r] = amount / v / to.size
	}
	return sample, ""
}

// publishedUnit is a unit of published tables: its base unit, and its size in
// base units. A rate is base units per second.
type publishedUnit struct {
	base string
	size float64
	rate bool
}

var publishedUnits = map[string]publishedUnit{
	"s": {"s", 1, false}, "ms": {"s", 1e-3, false}, "min": {"s", 60, false},
	"B": {"B", 1, false}, "kB": {"B", 1e3, false}, "MB": {"B", 1e6, false}, "GB": {"B", 1e9, false},
	"KiB": {"B", 1 << 10, false}, "MiB": {"B", 1 << 20, false}, "GiB": {"B", 1 << 30, false},
	"1": {"1", 1, false}, "%": {"1", 0.01, false},
	"B/s": {"B", 1, true}, "kB/s": {"B", 1e3, true}, "MB/s": {"B", 1e6, true}, "GB/s": {"B", 1e9, true},
	"KiB/s": {"B", 1 << 10, true}, "MiB/s": {"B", 1 << 20, true}, "GiB/s": {"B", 1 << 30, true},
	"/s": {"1", 1, true},
}

// amount is how much of a column's Per its phase did, in the given base unit.
func (s *subject) amount(def study.Column, base string) (float64, string) {
	if def.Per == "" || len(def.Terms) == 0 {
		return 0, "the study has no rate for it"
	}
	phase := def.Terms[0].Phase
	x := s.figures[key{phase, def.Per}]
	switch {
	case x == nil:
		return 0, fmt.Sprintf("no figure for %s of phase %s", def.Per, phase)
	case len(x.values) == 0:
		return 0, x.absent
	case rateBase(def.Per) != base:
		return 0, fmt.Sprintf("%s of phase %s is not a rate of that kind", def.Per, phase)
	}
	m := x.mean()
	if m <= 0 || math.IsInf(m, 0) {
		return 0, fmt.Sprintf("phase %s did no work, so it has no rate", phase)
	}
	return m, ""
}

// rateBase is the unit that a rate counts.
func rateBase(per string) string {
	if per == result.DataBytes {
		return "B"
	}
	return "1"
}
