package contrast

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"whichfs/internal/judge/verdict"
	"whichfs/internal/plan"
	"whichfs/internal/probe"
	"whichfs/internal/result"
	"whichfs/internal/sys/units"
)

// Cards sets probes of several storages side by side.
type Cards struct {
	Cards []Card `json:"cards"`
	// Answer says which is the fastest in blocks of 4 KiB, in a sentence for each way.
	Answer   []string  `json:"answer"`
	Firsts   []First   `json:"firsts,omitempty"`
	Findings []Finding `json:"findings"`
	// Curves have a line for each card that has the curve, named like the card.
	Curves []probe.Curve `json:"curves,omitempty"`
	Margin float64       `json:"margin"`
	// Warnings are whole sentences.
	Warnings []string `json:"warnings,omitempty"`
}

// Card is one of the probes, with its findings and curves moved to those of all.
type Card struct {
	ID     string       `json:"id,omitempty"` // in the store; empty: from a file or a publication
	Name   string       `json:"name"`         // unlike any other's
	Source string       `json:"source,omitempty"`
	Probe  probe.Report `json:"probe"`
}

// Finding is one property of all cards, in their order.
type Finding struct {
	Key    string          `json:"key"`
	Name   string          `json:"name"`
	Values []probe.Finding `json:"values"`
	// Differs: two cards with a value differ in it, by more than the accuracy of this finding.
	Differs bool `json:"differs"`
}

// First compares the figures at one block size.
type First struct {
	Curve string  `json:"curve"` // key
	Block float64 `json:"block"` // B
	Unit  string  `json:"unit"`  // "B/s", or "s" for the same data
	// Order has the cards with a figure, fastest first.
	Order []Place `json:"order"`
	// Settled: the first is ahead of all others by more than the margin, or shares its place.
	Settled bool `json:"settled"`
}

// Place of a card.
type Place struct {
	Card   string           `json:"card"`
	Figure verdict.Interval `json:"figure"` // the median of its repetitions, and their extremes
	// Ratio of the first card's speed to this one's, from the extremes of both.
	Ratio   verdict.Interval `json:"ratio"`
	Outcome Outcome          `json:"outcome,omitempty"` // of the first: higher, the same, open
}

// NotPublished is why a published card has no value.
const NotPublished = "not published"

// firstBlock is the block of filesystems, in which the talk of bootlin-2023 names its winner.
const firstBlock = 4096

// ways are the curves of several cards, with what the fastest at one block size is called.
var ways = []struct{ key, verb string }{
	{"sweep-write", "written"}, {"sweep-cached", "written through the page cache"}, {"sweep-read", "read"},
	{probe.AlignCurve, ""}, {probe.CrossingCurve, ""}, {"map-read", ""}, {"map-write", ""},
}

// CompareCards compares two or more probes. Errors are *result.Failure.
func CompareCards(list []Card) (Cards, error) {
	c := Cards{Margin: plan.DefaultMargin}
	for i, one := range list {
		one.Name = one.Probe.Storage
		for k, other := range list {
			switch {
			case k == i || other.Probe.Storage != one.Name:
			case other.ID == one.ID:
				return c, result.Refuse("name two probes; whichfs probes lists them", "probe %s cannot be compared with itself", one.title())
			default:
				one.Name = one.title()
			}
		}
		c.Cards = append(c.Cards, one)
	}
	c.findings()
	for _, way := range ways {
		curve := c.curve(way.key)
		if len(curve.Lines) == 0 {
			continue
		}
		c.Curves = append(c.Curves, curve)
		if way.verb == "" {
			continue
		}
		if f := c.first(curve); len(f.Order) > 1 {
			c.Firsts = append(c.Firsts, f)
			c.Answer = append(c.Answer, c.answer(f, way.verb))
		}
	}
	if len(c.Firsts) == 0 {
		c.Answer = []string{"No two of these have a speed in blocks of 4 KiB: none is named the fastest."}
	}
	c.warn()
	for i := range c.Cards {
		c.Cards[i].Probe.Findings, c.Cards[i].Probe.Curves = nil, nil
	}
	return c, nil
}

func (c Card) title() string { return strings.TrimSuffix(c.Probe.Storage+" ("+c.ID+")", " ()") }

// findings collects them by key.
func (c *Cards) findings() {
	for _, n := range probe.Names {
		f := Finding{Key: n.Key, Name: n.Name}
		known := false
		for _, card := range c.Cards {
			one := card.Probe.Find(n.Key)
			if one.Key == "" && card.Probe.Clock == probe.Published {
				one.Undetermined = NotPublished
			}
			known = known || one.Key != ""
			f.Values = append(f.Values, one)
		}
		if known {
			f.Differs = differ(f.Key, f.Values, c.Margin)
			c.Findings = append(c.Findings, f)
		}
	}
}

// differ reports whether two known values differ. A geometry is exact; caches and areas are found
// within a quarter (docs/probing.md), and measured figures repeat within the margin.
func differ(key string, values []probe.Finding, margin float64) bool {
	factor := 1 + margin
	switch key {
	case probe.PageSize, probe.SegmentSize, probe.OpenLinear, probe.OpenRandom, probe.RealSize, probe.QueueDepth, probe.BestReadBlock:
		factor = 1
	case probe.FATArea, probe.WriteCache, probe.FastCache:
		factor = 1.25
	}
	known := slices.DeleteFunc(slices.Clone(values), func(f probe.Finding) bool { return !f.Known() })
	for _, a := range known {
		for _, b := range known {
			if a.Text != b.Text || a.Value > b.Value*factor {
				return true
			}
		}
	}
	return false
}

// curve puts the lines of all cards into one. Of several lines the last is the whole time: with
// the flush, across the boundary. Cards whose curve shows another amount of work are left out.
func (c *Cards) curve(key string) probe.Curve {
	var out probe.Curve
	for _, card := range c.Cards {
		one := probe.Crossing(card.Probe)
		if key != probe.CrossingCurve {
			one, _ = card.Probe.Curve(key)
		}
		if len(one.Lines) == 0 {
			continue
		}
		line := one.Lines[len(one.Lines)-1]
		if len(out.Lines) == 0 {
			out = one
			out.Lines, out.Mark = nil, 0
			if key == "sweep-write" {
				out.Title += ", " + line.Name
			}
			out.LogY = false
		} else if one.Title != "" && !strings.HasPrefix(out.Title, one.Title) {
			c.Warnings = append(c.Warnings, fmt.Sprintf("%s is not in the curve “%s”: it was measured as “%s”.", card.Name, out.Title, one.Title))
			continue
		}
		line.Name = card.Name
		out.Lines = append(out.Lines, line)
	}
	return out
}

// first orders the cards by their figures in blocks of 4 KiB.
func (c *Cards) first(curve probe.Curve) First {
	f := First{Curve: curve.Key, Block: firstBlock, Unit: curve.YUnit, Settled: true}
	for _, l := range curve.Lines {
		for _, q := range l.Points {
			if q.X == firstBlock && q.Low > 0 {
				f.Order = append(f.Order, Place{Card: l.Name, Figure: verdict.Interval{Value: q.Y, Low: q.Low, High: q.High, N: q.N, Single: q.N < 2}})
			}
		}
	}
	times := f.Unit == "s"
	slices.SortStableFunc(f.Order, func(a, b Place) int {
		if times {
			a, b = b, a
		}
		return cmp.Compare(b.Figure.Value, a.Figure.Value)
	})
	for i := 1; i < len(f.Order); i++ {
		a, b := f.Order[0].Figure, f.Order[i].Figure
		if times {
			a, b = b, a
		}
		r := verdict.Interval{Value: a.Value / b.Value, Low: a.Low / b.High, High: a.High / b.Low, N: min(a.N, b.N), Single: a.Single || b.Single}
		f.Order[i].Ratio, f.Order[i].Outcome = r, c.outcome(r)
		f.Settled = f.Settled && f.Order[i].Outcome != Open
	}
	return f
}

// outcome of a ratio of at least 1. One pass alone decides nothing.
func (c *Cards) outcome(r verdict.Interval) Outcome {
	switch {
	case r.Single:
		return Open
	case r.Low > 1 && r.Value > 1+c.Margin: // whatever the passes, and more than the margin
		return Higher
	case r.High <= 1+c.Margin:
		return Same
	}
	return Open
}

// answer names the fastest card, those that share its place, and those that may be as fast.
func (c *Cards) answer(f First, verb string) string {
	others := map[Outcome][]string{}
	for _, p := range f.Order[1:] {
		text := p.Card + " (" + ratioText(p.Ratio)
		if p.Ratio.Single {
			text += ", of a single pass"
		}
		others[p.Outcome] = append(others[p.Outcome], text+")")
	}
	best := f.Order[0]
	figure := units.Value(best.Figure.Value, f.Unit)
	if !best.Figure.Single {
		figure = units.Interval(best.Figure.Value, best.Figure.Low, best.Figure.High, f.Unit)
	}
	text := fmt.Sprintf("Blocks of 4 KiB, %s: the fastest is %s, %s", verb, best.Card, figure)
	if !f.Settled {
		text = fmt.Sprintf("Blocks of 4 KiB, %s: not settled. First is %s, %s, but it is open whether by more than %s over %s",
			verb, best.Card, figure, units.Share(c.Margin), strings.Join(others[Open], ", "))
	}
	if list := others[Same]; len(list) > 0 {
		text += "; the same within " + units.Share(c.Margin) + ": " + strings.Join(list, ", ")
	}
	if list := others[Higher]; len(list) > 0 {
		text += "; ahead of " + strings.Join(list, ", ")
	}
	return text + "."
}

// warn says what the speeds contain besides the cards, where that differs.
func (c *Cards) warn() {
	var where []string
	for _, card := range c.Cards {
		r := card.Probe
		text := r.Machine + " " + r.Kernel
		switch {
		case r.Clock == probe.Published:
			continue
		case r.Clock == "simulated":
			text = "a model on its own clock"
		case r.Emulated:
			text += ", emulated"
		}
		if text = strings.TrimSpace(text); !slices.Contains(where, text) {
			where = append(where, text)
		}
	}
	if len(where) > 1 {
		c.Warnings = append([]string{"The probes were not taken alike (" + strings.Join(where, "; ") + "): their speeds also contain what differs there."}, c.Warnings...)
	}
}
