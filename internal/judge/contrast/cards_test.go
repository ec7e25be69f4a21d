package contrast

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	"whichfs/internal/plan/study"
	"whichfs/internal/probe"
)

// card is a made-up probe that wrote 4 KiB blocks at a speed, as often as n, up to spread off.
func card(storage string, speed, spread float64, n int, findings ...probe.Finding) Card {
	return Card{ID: storage + "-id", Probe: probe.Report{Storage: storage, Machine: "lab", Findings: findings, Curves: []probe.Curve{{
		Key: "sweep-write", Title: "Writing by block size", XUnit: "B", YUnit: "B/s", Lines: []probe.Line{
			{Name: "each request alone", Points: []probe.Point{{X: 4096, Y: 9e9, Low: 9e9, High: 9e9, N: n}}},
			{Name: "with a flush at the end", Points: []probe.Point{{X: 2048, Y: 1, Low: 1, High: 1, N: n}, {X: 4096, Y: speed, Low: speed * (1 - spread), High: speed * (1 + spread), N: n}}},
		}}}}}
}

func compareCards(t *testing.T, list ...Card) Cards {
	t.Helper()
	c, err := CompareCards(list)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// The winner is named only if repetitions of both cards leave no doubt.
func TestFirstInSmallBlocks(t *testing.T) {
	for _, c := range []struct {
		name    string
		a, b    Card
		settled bool
		outcome Outcome
		says    string
	}{
		{"apart", card("slow", 1e6, 0.02, 3), card("fast", 2e6, 0.02, 3), true, Higher, "the fastest is fast, 2.00 MB/s ±0.04; ahead of slow (2.00× (1.92–2.08))"},
		{"the same", card("slow", 1e6, 0.01, 3), card("fast", 1.05e6, 0.01, 3), true, Same, "the same within 10 %: slow"},
		{"overlapping", card("slow", 1e6, 0.2, 3), card("fast", 1.3e6, 0.2, 3), false, Open, "not settled. First is fast"},
		{"by about the margin", card("slow", 1e6, 0.02, 3), card("fast", 1.09e6, 0.02, 3), false, Open, "open whether by more than 10 % over slow"},
		{"one pass", card("slow", 1e6, 0, 1), card("fast", 2e6, 0, 3), false, Open, "slow (2.0×, of a single pass)"},
	} {
		got := compareCards(t, c.a, c.b)
		f := got.Firsts[0]
		if f.Order[0].Card != "fast" || f.Settled != c.settled || f.Order[1].Outcome != c.outcome || !strings.Contains(got.Answer[0], c.says) {
			t.Errorf("%s: %+v\n%s", c.name, f, got.Answer)
		}
	}
	// A time of the same data orders the other way round.
	a, b := card("long", 8, 0.01, 3), card("short", 2, 0.01, 3)
	for _, one := range []*Card{&a, &b} {
		one.Probe.Curves[0].Key, one.Probe.Curves[0].YUnit = "sweep-cached", "s"
	}
	got := compareCards(t, a, b)
	if f := got.Firsts[0]; f.Order[0].Card != "short" || f.Order[1].Ratio.Value != 4 || !strings.Contains(got.Answer[0], "short, 2.00 s ±0.02; ahead of long (4.00×") {
		t.Errorf("%+v\n%s", f, got.Answer)
	}
}

func TestCardsDiffer(t *testing.T) {
	known := func(key string, v float64) probe.Finding { return probe.Finding{Key: key, Value: v, Unit: "B"} }
	for _, c := range []struct {
		a, b probe.Finding
		want bool
	}{
		{known(probe.SegmentSize, 4<<20), known(probe.SegmentSize, 4<<20), false},
		{known(probe.SegmentSize, 4<<20), known(probe.SegmentSize, 8<<20), true},
		{known(probe.OpenLinear, 5), known(probe.OpenLinear, 6), true},
		{known(probe.FastCache, 100), known(probe.FastCache, 120), false},
		{known(probe.FastCache, 100), known(probe.FastCache, 130), true},
		{known(probe.FastCache, 100), known(probe.FastCache, 0), true},
		{known(probe.ReadSpeed, 100), known(probe.ReadSpeed, 109), false},
		{known(probe.ReadSpeed, 111), known(probe.ReadSpeed, 100), true},
		{known(probe.SegmentSize, 4<<20), probe.Finding{Key: probe.SegmentSize, Undetermined: "only reads"}, false},
		{probe.Finding{Key: probe.Rotation, Text: "rotating"}, probe.Finding{Key: probe.Rotation, Text: "solid state"}, true},
	} {
		f := compareCards(t, card("a", 1, 0, 3, c.a), card("b", 1, 0, 3, c.b)).Findings
		if len(f) != 1 || f[0].Differs != c.want || !reflect.DeepEqual(f[0].Values, []probe.Finding{c.a, c.b}) {
			t.Errorf("%+v %+v: %+v", c.a, c.b, f)
		}
	}
}

// Published cards have only what their source says.
func TestPublishedCards(t *testing.T) {
	names := study.CardNames()
	if !slices.Contains(names, "bootlin-2023/kingston-16g") || !slices.Contains(names, "pandora-2012/microsdhc-16g") {
		t.Fatalf("%q", names)
	}
	for _, name := range names {
		r, s, ok := study.CardByName(name)
		if !ok || !strings.HasPrefix(name, s.Name+"/") || r.Clock != probe.Published || r.Identity == "" || len(r.Findings) == 0 {
			t.Fatalf("%s: %+v", name, r)
		}
		for _, f := range r.Findings {
			if f.Name == "" || f.Evidence == "" || f.Value <= 0 {
				t.Errorf("%s: %+v", name, f)
			}
		}
		c := compareCards(t, card("mine", 1e6, 0, 3, probe.Finding{Key: probe.PageSize, Value: 4096}), Card{Source: s.Source, Probe: r})
		if c.Findings[0].Values[1].Undetermined != NotPublished && c.Findings[0].Key == probe.PageSize {
			t.Errorf("%s: %+v", name, c.Findings[0])
		}
		if len(c.Firsts) > 0 || !strings.Contains(c.Answer[0], "No two of these") {
			t.Errorf("%s: %s", name, c.Answer)
		}
	}
	// The listing of flashbench: differences are printed with more digits than the times.
	r, _, _ := study.CardByName("bootlin-2023/kingston-16g")
	longer, beside := probe.Crossing(r).Lines[0].Points, r.Curves[0].Lines[0].Points
	for i, q := range r.Curves[0].Lines[1].Points {
		if d := q.Y - beside[i].Y - longer[i].Y; len(longer) != 18 || longer[i].X != float64(int64(32<<10)<<i) || d > 11e-6 || d < -11e-6 {
			t.Errorf("%v: %v across, %v beside, %v longer", q.X, q.Y, beside[i].Y, longer[i].Y)
		}
	}
}

func TestCardsThatCannotBeCompared(t *testing.T) {
	a := card("a", 1, 0, 3)
	if _, err := CompareCards([]Card{a, card("b", 1, 0, 3), a}); err == nil || !strings.Contains(err.Error(), "a (a-id) cannot be compared with itself") {
		t.Error(err)
	}
	// Two probes of one storage have names of their own.
	b := a
	b.ID = "second"
	c := compareCards(t, a, b)
	if c.Cards[0].Name != "a (a-id)" || c.Cards[1].Name != "a (second)" {
		t.Errorf("%q %q", c.Cards[0].Name, c.Cards[1].Name)
	}
	// A curve of another amount of work is left out, and another clock is said.
	b = card("b", 1, 0, 3)
	b.Probe.Curves[0].Title, b.Probe.Clock = "Writing something else", "simulated"
	c = compareCards(t, a, b)
	if len(c.Curves[0].Lines) != 1 || len(c.Warnings) != 2 || !strings.Contains(c.Warnings[0], "not taken alike (lab; a model on its own clock)") ||
		!strings.Contains(c.Warnings[1], "b is not in the curve") {
		t.Errorf("%q %+v", c.Warnings, c.Curves[0].Lines)
	}
}
