package verdict

import (
	"math"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"whichfs/internal/plan"
	"whichfs/internal/plan/processor"
	"whichfs/internal/plan/study"
	"whichfs/internal/result"
	"whichfs/internal/testing/must"
)

// tight is an estimate with an interval of 1 % to both sides; negative: of a single round.
func tight(v float64) Interval {
	if v < 0 {
		return Interval{Value: -v, Low: -v, High: -v, N: 1, Single: true}
	}
	return Interval{Value: v, Low: v / 1.01, High: v * 1.01, N: 3}
}

// charged is a run on a processor with one column of times; 0: no figure.
func charged(t *testing.T, p processor.Profile, times map[string]float64) Verdict {
	t.Helper()
	text, err := plan.Plan{Processor: &p}.Encode()
	must.Do(t, err)
	col := Column{Key: "read", Name: "Read", Unit: "s"}
	names := []string{"lz4hc", "lzo", "zstd"}
	slices.SortStableFunc(names, func(a, b string) int { return int(math.Copysign(1, math.Abs(times[a])-math.Abs(times[b]))) })
	rank := 1
	for _, n := range names {
		if times[n] == 0 {
			col.Cells = append(col.Cells, Cell{Candidate: n, Absent: "it broke"})
			continue
		}
		col.Cells = append(col.Cells, Cell{Candidate: n, Estimate: tight(times[n]), RankLow: rank})
		rank++
	}
	v := Verdict{Run: result.Run{Study: "toy", Storage: "sim:sd-basic,1G", Processor: p.Name, Clock: result.ClockVirtual, Plan: text},
		Columns: []Column{col, {Key: "space", Name: "Space", Unit: "B"}, {Key: "full", Name: "Full", Unit: "s", Level: true}},
		Extra:   []Column{{Key: "mount", Name: "Mount", Unit: "s", Cells: col.Cells}}}
	v.Reach = reachOfCharged(v.Run, p.Name)
	return v
}

func speed(t *testing.T, text string) processor.Profile {
	t.Helper()
	p, err := processor.Resolve(text)
	must.Do(t, err)
	return p
}

func TestCrossing(t *testing.T) {
	for _, c := range []struct{ s1, s2, r1, r2, want float64 }{
		{200e6, 800e6, 0.5, 2, 400e6},                  // half way
		{200e6, 800e6, 0.25, 2, 503.968e6},             // two thirds: 200 · 4^(2/3)
		{200e6, 800e6, 4, 0.25, 400e6},                 // in the other direction
		{100e6, 100000e6, 0.1, 100, 1000e6},            // a third of three decades
		{200e6, 800e6, 0.999, 1000 / 999.0, 400e6},     // hardly apart
		{300e6, 300e6, 0.5, 2, 300e6},                  // two names of one speed
		{200e6, 600e6, 1 / 1.21, 1.1, 200e6 * 2.08008}, // 3^(2/3)
	} {
		if got := crossing(c.s1, c.s2, c.r1, c.r2); math.Abs(got/c.want-1) > 1e-5 {
			t.Errorf("%+v: %v", c, got)
		}
	}
}

func TestProcessors(t *testing.T) {
	type times = map[string]float64
	for name, c := range map[string]struct {
		on   map[string]times // by processor
		want []Overtaking
		open int
	}{
		"once": {on: map[string]times{"800MIPS": {"lz4hc": 1, "lzo": 2, "zstd": 9}, "200MIPS": {"lz4hc": 8, "lzo": 4, "zstd": 30}, "3200MIPS": {"lz4hc": 0.5, "lzo": 1.9, "zstd": 3}},
			want: []Overtaking{{Slower: "200MIPS", Faster: "800MIPS", Candidate: "lz4hc", Overtaken: "lzo", Near: 400e6, Leads: true}}},
		"never": {on: map[string]times{"200MIPS": {"lz4hc": 4, "lzo": 8, "zstd": 9}, "800MIPS": {"lz4hc": 1, "lzo": 2, "zstd": 3}}},
		"and back": {on: map[string]times{"200MIPS": {"lz4hc": 8, "lzo": 4, "zstd": 30}, "800MIPS": {"lz4hc": 1, "lzo": 2, "zstd": 9}, "3200MIPS": {"lz4hc": 1, "lzo": 0.5, "zstd": 9}},
			want: []Overtaking{{Slower: "200MIPS", Faster: "800MIPS", Candidate: "lz4hc", Overtaken: "lzo", Near: 400e6, Leads: true},
				{Slower: "800MIPS", Faster: "3200MIPS", Candidate: "lzo", Overtaken: "lz4hc", Near: 1600e6, Leads: true}}},
		"behind the best": {on: map[string]times{"200MIPS": {"lzo": 1, "lz4hc": 4, "zstd": 8}, "800MIPS": {"lzo": 1, "lz4hc": 4, "zstd": 2}},
			want: []Overtaking{{Slower: "200MIPS", Faster: "800MIPS", Candidate: "zstd", Overtaken: "lz4hc", Near: 400e6}}},
		"open at the slower": {on: map[string]times{"200MIPS": {"lz4hc": 4.04, "lzo": 4}, "800MIPS": {"lz4hc": 1, "lzo": 2}},
			want: []Overtaking{{Slower: "200MIPS", Faster: "800MIPS", Candidate: "lz4hc", Overtaken: "lzo", Open: "200MIPS", Leads: true}}},
		"open at the faster": {on: map[string]times{"200MIPS": {"lz4hc": 8, "lzo": 4}, "800MIPS": {"lz4hc": 1, "lzo": -2}},
			want: []Overtaking{{Slower: "200MIPS", Faster: "800MIPS", Candidate: "lz4hc", Overtaken: "lzo", Open: "800MIPS", Leads: true}}},
		"open":            {on: map[string]times{"200MIPS": {"lz4hc": 4.04, "lzo": 4}, "800MIPS": {"lz4hc": -1, "lzo": 2}}, open: 1},
		"equal, and part": {on: map[string]times{"200MIPS": {"lz4hc": 4, "lzo": 4}, "800MIPS": {"lz4hc": 1, "lzo": 2}}},
		"equal between, or absent": {on: map[string]times{"200MIPS": {"lz4hc": 8, "lzo": 4}, "400MIPS": {"lz4hc": 3, "lzo": 3}, "500MIPS": {"lz4hc": 3}, "800MIPS": {"lz4hc": 1, "lzo": 2}},
			want: []Overtaking{{Slower: "200MIPS", Faster: "800MIPS", Candidate: "lz4hc", Overtaken: "lzo", Near: 400e6, Leads: true}}},
		"boards": {on: map[string]times{"pi3": {"lz4hc": 1, "lzo": 2}, "bbb": {"lz4hc": 8, "lzo": 4}},
			want: []Overtaking{{Slower: "bbb", Faster: "pi3", Candidate: "lz4hc", Overtaken: "lzo", Leads: true}}},
	} {
		t.Run(name, func(t *testing.T) {
			var all []Verdict
			for p, figures := range c.on {
				all = append(all, charged(t, speed(t, p), figures))
			}
			v := Series("s", all, study.Study{})
			if len(v.Processors.List) != len(c.on) || !slices.IsSortedFunc(v.Processors.List, func(a, b Processor) int { return int(a.Speed - b.Speed) }) {
				t.Fatalf("%+v", v.Processors.List)
			}
			for i, o := range v.Processors.Orders {
				if key := []string{"read", "mount"}[i]; o.Key != key || o.Extra != (i == 1) || len(o.Best) != len(c.on) {
					t.Errorf("%+v", o)
				}
				if o.Compared != map[bool]int{true: 3, false: 1}[len(c.on["200MIPS"]) == 3] {
					t.Errorf("%d pairs compared", o.Compared)
				}
				if d := cmp.Diff(c.want, o.Changes, cmpopts.EquateApprox(1e-9, 0), cmpopts.EquateEmpty()); d != "" || o.Unsettled != c.open {
					t.Errorf("%d open, %s", o.Unsettled, d)
				}
			}
		})
	}
}

// A series over processors names them where others name storages, has no storage missing, and says what its
// figures can show.
func TestProcessorSeries(t *testing.T) {
	fast, slow := charged(t, speed(t, "600MIPS"), map[string]float64{"lzo": 1}), charged(t, speed(t, "50MIPS"), map[string]float64{"lzo": 2})
	st := study.Study{Storages: []study.Storage{{Key: "card", Label: "a card"}}}
	v := Series("s", []Verdict{fast, slow}, st)
	if s := v.Storages; len(s) != 2 || s[0].Label != "50MIPS" || s[1].Key != "600MIPS" || len(v.Missing)+len(v.Warnings) != 0 {
		t.Errorf("%+v, %q", v.Storages, v.Missing)
	}
	mustContain(t, "reach", v.Reach, "on the processor of each run;")
	fast.Run.Storage = "sim:emmc,1G"
	if v := Series("s", []Verdict{fast, slow}, st); v.Processors != nil || v.Storages[0].Label != "sim:emmc,1G" || len(v.Missing) != 1 {
		t.Errorf("%+v", v)
	}
}

// The overall order of a use, with ties and open places.
func TestProcessorUses(t *testing.T) {
	on := func(p string, ranks ...Place) Verdict {
		v := charged(t, speed(t, p), nil)
		v.Uses = []Use{{Name: "read-write", Ranks: ranks}}
		return v
	}
	place := func(name string, score float64, rank int, tied ...string) Place {
		return Place{Candidate: name, Score: tight(score), RankLow: rank, TiedWith: tied}
	}
	v := Series("s", []Verdict{
		on("200MIPS", place("ext4", 1, 1, "xfs"), place("xfs", 1.05, 1, "ext4"), place("f2fs", 2, 3)),
		on("800MIPS", place("f2fs", 1, 1), place("ext4", 1.1, 1), place("xfs", 2, 3)),
	}, study.Study{})
	o := v.Processors.Orders[0]
	if d := cmp.Diff([]BestPlace{{Candidate: "ext4", TiedWith: []string{"xfs"}}, {Candidate: "f2fs", Open: true}}, o.Best); d != "" || !o.Use || o.Key != "read-write" {
		t.Errorf("%+v %s", o, d)
	}
	var pairs []string
	for _, c := range o.Changes {
		pairs = append(pairs, c.Candidate+" "+c.Overtaken)
	}
	if d := cmp.Diff([]string{"f2fs ext4", "f2fs xfs"}, pairs); d != "" {
		t.Error(d)
	}
	// 200 · 4^(ln 2 / ln 2.2)
	if want := 200e6 * math.Pow(4, math.Log(2)/math.Log(2.2)); math.Abs(o.Changes[0].Near-want) > 1 {
		t.Errorf("%v, want %v", o.Changes[0].Near, want)
	}
}
