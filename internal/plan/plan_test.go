package plan

import (
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"whichfs/internal/filesystem"
	"whichfs/internal/plan/processor"
	"whichfs/internal/plan/scenario"
	"whichfs/internal/testing/must"
	"whichfs/internal/testing/parsed"
)

func sound() Plan {
	return Plan{
		Study: "bootlin-2023", Scale: "quick", Machine: "lab", Storage: "disk:1G",
		Candidates: parsed.Candidates("ext4", "btrfs -m single -o compress=lzo"), Rounds: 3, Seed: math.MaxUint64,
		Budget: 10 * time.Minute, Margin: 0.1, StepLimit: 60,
		ReadWrite: scenario.Scenario{{Work: "mkfs", Phase: "mkfs"}, {Work: "drop"}, {Work: "drop"}, {Work: "tree-copy", Phase: "write", Data: "tree"}},
		ReadOnly:  scenario.Scenario{{Work: "image", Phase: "image", Data: "tree"}},
		Data:      []scenario.Data{{Name: "tree", Kind: "tree", Size: 1 << 40, Digest: "sha256:1", Skipped: map[string]int{"socket": 1}}},
	}
}

func TestPlanRoundTrip(t *testing.T) {
	p := sound()
	text, err := p.Encode()
	if err != nil {
		t.Fatal(err)
	}
	got, err := Decode(text)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(p, got, parsed.ByValue); d != "" {
		t.Error(d)
	}
	for _, bad := range []string{"", "{}", "null", string(text) + "x", strings.Replace(string(text), `"rounds"`, `"turns"`, 1)} {
		if _, err := Decode([]byte(bad)); err == nil {
			t.Errorf("%.40q was accepted as a plan", bad)
		}
	}
}

// The plan of an old run may contain names unknown to this version: code that
// judges the run still reads the rest, and code that would execute it refuses.
func TestKept(t *testing.T) {
	text, err := sound().Encode()
	must.Do(t, err)
	const list = `"candidates":["ext4","btrfs -m single -o compress=lzo"]`
	if !strings.Contains(string(text), list) {
		t.Fatalf("%s without %s", text, list)
	}
	old := []byte(strings.Replace(string(text), list, `"candidates":["ext4","tux3 -x -o y","ext4 -o"],"later":1`, 1))
	p := Kept(old)
	if got := filesystem.Texts(p.Candidates); !slices.Equal(got, []string{"ext4", "tux3 -x -o y", "ext4 -o"}) || len(p.ReadWrite) == 0 {
		t.Errorf("kept %q, %v", got, p.ReadWrite)
	}
	for i, want := range []string{"", `unknown filesystem "tux3"`, "-o needs the mount options"} {
		if err := p.Candidates[i].Err(); (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", p.Candidates[i], err)
		}
	}
	again, err := p.Encode()
	must.Do(t, err)
	if !strings.Contains(string(again), `"candidates":["ext4","tux3 -x -o y","ext4 -o"]`) {
		t.Errorf("%s", again)
	}
	if _, err := Decode(again); err == nil || !strings.Contains(err.Error(), `unknown filesystem "tux3"`) {
		t.Errorf("it would be carried out: %v", err)
	}
	if p := Kept([]byte("porridge")); len(p.Candidates) > 0 {
		t.Errorf("%+v", p)
	}
}

func TestUnsoundPlans(t *testing.T) {
	for want, spoil := range map[string]func(*Plan){
		"at least one":               func(p *Plan) { p.Candidates = nil },
		"unknown filesystem":         func(p *Plan) { p.Candidates = append(p.Candidates, filesystem.Kept("ext5")) },
		"appears twice":              func(p *Plan) { p.Candidates = parsed.Candidates("ext4", " ext4 ") },
		"rounds must":                func(p *Plan) { p.Rounds = 0 },
		"from 1 to 10000":            func(p *Plan) { p.Rounds = MaxRounds + 1 },
		"margin must":                func(p *Plan) { p.Margin = math.NaN() },
		"below 1":                    func(p *Plan) { p.Margin = 1 },
		"above 0":                    func(p *Plan) { p.Margin = 0 },
		"budget must":                func(p *Plan) { p.Budget = -1 },
		"step limit":                 func(p *Plan) { p.StepLimit = math.NaN() },
		"clock must be":              func(p *Plan) { p.Clock = "sundial" },
		"needs storage in memory":    func(p *Plan) { p.Clock = "instructions" },
		"processor of some speed":    func(p *Plan) { p.Clock, p.Processor = "instructions", &processor.Profile{} },
		"processor: name is missing": func(p *Plan) { p.Clock, p.Processor = "virtual", &processor.Profile{} },
		"no scenario":                func(p *Plan) { p.ReadWrite = nil },
		"step 1 names no work":       func(p *Plan) { p.ReadOnly[0].Work = "" },
		`phase "mkfs" appears twice`: func(p *Plan) { p.ReadWrite[3].Phase = "mkfs" },
		`needs the data set "tree"`:  func(p *Plan) { p.Data = nil },
	} {
		p := sound()
		spoil(&p)
		if err := p.Check(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", want, err)
		}
	}
	if err := sound().Check(); err != nil {
		t.Error(err)
	}
	p := sound()
	p.Clock, p.Storage = "instructions", "ram:512M"
	if err := p.Check(); err != nil || !p.Instructions() {
		t.Error(err)
	}
}

func TestScenarioOfCandidate(t *testing.T) {
	p := sound()
	for line, want := range map[string]scenario.Scenario{"ext4 -O ^has_journal": p.ReadWrite, "squashfs": p.ReadOnly, "jffs2@image": p.ReadOnly} {
		if got := p.Scenario(parsed.Candidate(line)); cmp.Diff(want, got) != "" {
			t.Errorf("%s: %v", line, got)
		}
	}
}

func TestSeedCanBeTyped(t *testing.T) {
	if s := NewSeed(); s > math.MaxUint32 {
		t.Errorf("%d", s)
	}
	if NewSeed() == NewSeed() && NewSeed() == NewSeed() {
		t.Error("the seed is always the same")
	}
}

func TestFactorsAreCheckedAgainstCandidates(t *testing.T) {
	level := func(v scenario.Variant) []scenario.Factor {
		return []scenario.Factor{{Name: "f", Levels: []scenario.Variant{v}}}
	}
	for text, bad := range map[string][]scenario.Factor{
		"no levels":                {{Name: "f"}},
		"has no name":              level(scenario.Variant{}),
		"appears twice":            append(level(scenario.Variant{Name: "a"}), level(scenario.Variant{Name: "a"})...),
		"not a part":               level(scenario.Variant{Name: "a", Part: &scenario.Part{Shift: 1}}),
		"is not a part of any":     level(scenario.Variant{Name: "a", Part: &scenario.Part{Start: 1}}),
		"write to something other": level(scenario.Variant{Name: "a", Make: []string{"-J", "device=/dev/sda"}}),
	} {
		p := sound()
		p.Factors = bad
		if err := p.Check(); err == nil || !strings.Contains(err.Error(), text) {
			t.Errorf("%s: %v", text, err)
		}
	}
	p := sound()
	p.Factors = append(level(scenario.Variant{Name: "shifted", Part: &scenario.Part{Shift: 63 * 512}}),
		level(scenario.Variant{Name: "noatime", Mount: []string{"noatime"}})...)
	if err := p.Check(); err != nil {
		t.Error(err)
	}
	if n := len(Round(p, 1)); n != 6 {
		t.Errorf("a round has %d trials, want 2 candidates with 2 levels each", n)
	}
	// Without factors the order of a run is unchanged.
	plain := sound()
	for i, slot := range Round(plain, 2) {
		if slot.Candidate != plain.Candidates[Order(plain.Seed, 2, 2)[i]] || slot.Place != i+1 {
			t.Errorf("place %d: %+v", i+1, slot)
		}
	}
}

func TestPartBounds(t *testing.T) {
	const g = 1 << 30
	for _, c := range []struct {
		part          scenario.Part
		start, length int64
	}{
		{scenario.Part{}, 0, g},
		{scenario.Part{Shift: 63 * 512}, 63 * 512, (g - 63*512) / 4096 * 4096},
		{scenario.Part{Start: 0.5}, g / 2, g / 2},
		{scenario.Part{Start: 0.51, Length: 0.25}, 16 * scenario.PartAlign, g / 4},
		{scenario.Part{Start: 0.99}, 31 * scenario.PartAlign, scenario.PartAlign},
	} {
		if start, length := c.part.Bounds(g); start != c.start || length != c.length {
			t.Errorf("%+v: %d, %d, want %d, %d", c.part, start, length, c.start, c.length)
		}
	}
}

// The draws of an untimed plan follow from its seed and the round; a timed plan
// does the same work in every round.
func TestDrawn(t *testing.T) {
	steps := scenario.Scenario{{Work: "power-cut", Seed: 1}, {Work: "power-cut", Seed: 2}, {Work: "mount"}}
	seen := map[uint64]bool{}
	for _, seed := range []uint64{1, 2} {
		for round := 1; round <= 3; round++ {
			p := Plan{Untimed: true, Seed: seed}
			got := p.Drawn(steps, round)
			if again := p.Drawn(steps, round); !reflect.DeepEqual(got, again) || got[2].Seed != 0 {
				t.Errorf("%+v, and again %+v", got, again)
			}
			for _, step := range got[:2] {
				if step.Seed == 0 || step.Seed >= 1<<53 || seen[step.Seed] {
					t.Errorf("seed %d, round %d: %d", seed, round, step.Seed)
				}
				seen[step.Seed] = true
			}
		}
	}
	if steps[0].Seed != 1 {
		t.Error("the plan's own steps were changed")
	}
	if got := (Plan{Seed: 7}).Drawn(steps, 2); got[0].Seed != 1 {
		t.Errorf("a timed plan: %+v", got)
	}
}

func TestOwnKernel(t *testing.T) {
	for name, own := range map[string]bool{"lab": false, "fake": false, "local": true, "ssh:root@board": true, "": false} {
		if (Plan{Machine: name}).OwnKernel() != own || OnBoard(name) != (own && name != "local") {
			t.Errorf("%q", name)
		}
	}
}
