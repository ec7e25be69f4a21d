package study

import (
	"math"
	"slices"
	"testing"
)

// sheet has the published figures of a study: times, or what else a column
// holds, by storage, column, variant and candidate. Rates of the same work are
// inverted.
type sheet map[[4]string]float64

func published(s Study) sheet {
	all := sheet{}
	for _, n := range s.Numbers {
		if n.Unit == "s" {
			continue // the same as rates
		}
		for _, c := range n.Cells {
			v := c.Value
			switch n.Unit {
			case "KiB/s", "MiB/s", "/s":
				v = 1 / v
			case "%":
				v /= 100
			case "ms":
				v /= 1000
			case "MiB":
				v *= 1 << 20
			}
			at := [4]string{n.Storage, n.Column, c.Variant, c.Candidate}
			if old, twice := all[at]; twice { // a second repetition of the table
				v = (v + old) / 2
			}
			if c.Text == "" {
				all[at] = v
			}
		}
	}
	return all
}

// judge reports whether the figures of a storage satisfy a claim; ok is false
// where they do not tell.
func (p sheet) judge(c Claim, storage string) (holds, ok bool) {
	at := func(column, candidate string) float64 {
		v, there := p[[4]string{storage, column, "", candidate}]
		if !there {
			return math.NaN()
		}
		return v
	}
	in := func(v, low, high float64) bool { return v >= low && (high == 0 || v <= high) }
	holds = true
	check := func(v, low, high float64) {
		if !math.IsNaN(v) {
			ok, holds = true, holds && in(v, low, high)
		}
	}
	extreme := func(value func(string) float64, candidate string, among []string, worst bool) {
		for _, n := range among {
			r := value(candidate) / value(n)
			if worst {
				r = 1 / r
			}
			if n != candidate {
				check(r, 0, 1)
			}
		}
	}
	switch k := c.Check.(type) {
	case RatioCheck:
		for _, b := range k.B {
			check(at(k.Column, k.A)/at(k.Column, b), k.Low, k.High)
		}
	case BestCheck:
		extreme(func(n string) float64 { return at(k.Column, n) }, k.Candidate, k.Among, k.Worst)
	case ChoiceCheck:
		extreme(func(n string) float64 {
			product := 1.0
			for _, column := range k.Of {
				product *= at(column, n)
			}
			return product
		}, k.Candidate, k.Among, k.Worst)
	case ColumnsCheck:
		for _, n := range k.Candidates {
			check(at(k.Column, n)/at(k.Over, n), k.Low, k.High)
		}
	case SpreadCheck:
		low, high := math.Inf(1), 0.0
		for at, v := range p {
			if at[0] == storage && at[1] == k.Column && at[2] == "" && (len(k.Candidates) == 0 || slices.Contains(k.Candidates, at[3])) {
				low, high = math.Min(low, v), math.Max(high, v)
			}
		}
		if high > 0 {
			check(high/low, k.Low, k.High)
		}
	case SeveralCheck:
		enough := 0
		for _, column := range k.Of {
			if r := at(column, k.A) / at(column, k.B); !math.IsNaN(r) {
				ok = true
				if r <= k.High {
					enough++
				}
			}
		}
		holds = enough >= k.Least
	case ValueCheck:
		check(at(k.Column, k.Candidate), k.Low, k.High)
	case AcrossCheck:
		for _, over := range k.Over {
			for _, n := range k.Candidates {
				other, there := p[[4]string{over, k.Column, "", n}]
				if there && storage == k.On {
					check(at(k.Column, n)/other, k.Low, k.High)
				}
			}
		}
	case EffectCheck:
		sum, n := 0.0, 0.0
		for place, v := range p {
			if place[0] == storage && place[1] == k.Column && place[2] == k.Variant && (len(k.Candidates) == 0 || slices.Contains(k.Candidates, place[3])) {
				sum, n = sum+math.Log(v/at(k.Column, place[3])), n+1
			}
		}
		check(math.Exp(sum/n), k.Low, k.High)
	}
	return holds, ok
}

// The published figures themselves satisfy each claim, unless the study says
// that the source contradicts itself, and then they do not.
func TestClaimsFitTheFigures(t *testing.T) {
	judged := 0
	for _, s := range []Study{DevbuildGist(), Pandora2012(), Elc2015()} {
		all := published(s)
		for _, c := range s.Claims {
			fits, told := true, false
			for _, on := range append([]Storage{{}}, s.Storages...) {
				if c.Storage != "" && c.Storage != on.Key {
					continue
				}
				if holds, ok := all.judge(c, on.Key); ok {
					told, fits = true, fits && holds
				}
			}
			if !told {
				continue
			}
			judged++
			if fits == (c.Contradicted != "") {
				t.Errorf("%s, %s: the figures fit is %v; contradicted: %q", s.Name, c.ID, fits, c.Contradicted)
			}
		}
	}
	if judged < 100 {
		t.Errorf("the figures tell about %d claims", judged)
	}
}
