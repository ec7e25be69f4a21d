package recommend

import (
	"math"
	"strings"
	"testing"

	"whichfs/internal/judge/verdict"
	"whichfs/internal/plan"
	"whichfs/internal/plan/processor"
	"whichfs/internal/result"
)

// Runs of one study under the same conditions are more rounds of one
// experiment: the overall speed of a run cancels.
func TestPooledRuns(t *testing.T) {
	list := []string{"ext4", "xfs"}
	slow := map[string]map[string]float64{"ext4": {"write": 3}, "xfs": {"write": 3.6}}
	a := made{study: "bootlin-2023", id: "r1", candidates: list, rounds: 2, noise: 0.01, seed: 1, factor: map[string]map[string]float64{"xfs": {"write": 1.2}}}
	b := made{study: "bootlin-2023", id: "r2", candidates: list, rounds: 3, noise: 0.01, seed: 2, factor: slow}
	o := ask(t, "", "write", a.source(t), b.source(t)).Orders[0]
	if p := o.Places[1].Parts[0].Ratio; p.N != 5 || math.Abs(p.Value-1.2) > 0.02 || p.High-p.Low > 0.08 {
		t.Errorf("xfs over ext4: %+v", p)
	}
	if !o.Settled || !strings.HasPrefix(o.Answer, "Take ext4: ") {
		t.Errorf("%s", o.Answer)
	}
	if c := o.Counted[0].Runs; len(c) != 2 || c[0] != "r1" || c[1] != "r2" {
		t.Errorf("runs %q", c)
	}
	// The same round number of two runs is not the same round.
	answer := ask(t, "", "write", a.source(t), b.source(t))
	if answer.Runs[1].Rounds != 3 || !strings.Contains(strings.Join(answer.Warnings, " "), "2 runs of bootlin-2023 under the same conditions") {
		t.Errorf("%+v %q", answer.Runs, answer.Warnings)
	}
}

// Different studies are combined side by side: their measures add up by weight,
// the noise of both counts, and a candidate of only one study is set aside.
func TestSideBySide(t *testing.T) {
	a := made{study: "bootlin-2023", id: "r1", candidates: []string{"ext4", "xfs", "jfs"}, rounds: 4, noise: 0.01, seed: 1,
		factor: map[string]map[string]float64{"xfs": {"write": 2}}}.source(t)
	b := made{study: "pandora-2012", id: "r2", candidates: []string{"ext4", "xfs"}, rounds: 3, noise: 0.01, seed: 2,
		factor: map[string]map[string]float64{"xfs": {"seeks": 0.125}}}.source(t)
	o := ask(t, "", "write=1 seeks=1", a, b).Orders[0]
	if names(o) != "xfs, ext4" || !o.Settled {
		t.Fatalf("%s %v", names(o), o.Answer)
	}
	// xfs: ×2 at writing and ×1/8 at seeks average to ×1/2.
	if r := o.Places[1].Score.Value / o.Places[0].Score.Value; math.Abs(r-2) > 0.04 {
		t.Errorf("ext4 over xfs %v, want 2", r)
	}
	if w := strings.Join(ask(t, "", "write=1 seeks=1", a, b).Warnings, " "); !strings.Contains(w, "bootlin-2023 has 4 rounds and pandora-2012 has 3: only the first 3 rounds of the former count") {
		t.Errorf("warnings: %s", w)
	}
	if o.Places[0].Score.N != 3 {
		t.Errorf("%d rounds of both studies", o.Places[0].Score.N)
	}
	if len(o.Without) != 1 || o.Without[0].Candidate != "jfs" || !strings.Contains(o.Without[0].Reason, "pandora-2012 was not run with it") {
		t.Errorf("aside: %+v", o.Without)
	}
	// A measure that both studies have in their own way must be named in full.
	_, err := Make(question(t, "", "mount"), []verdict.Judged{a, b})
	refusal(t, err, "several of these runs measure", "bootlin-2023/mount or pandora-2012/mount")
	_, err = Make(question(t, "max-mount=2s", "write"), []verdict.Judged{a, b})
	refusal(t, err, "several of these runs measure", "max-bootlin-2023/mount or max-pandora-2012/mount")
	o = ask(t, "max-bootlin-2023/mount=0.5s", "pandora-2012/mount", a, b).Orders[0]
	if len(o.Excluded) != 3 || o.Counted[0].Key != "pandora-2012/mount" {
		t.Errorf("%+v %+v", o.Excluded, o.Counted)
	}
}

// The conditions that keep runs apart are named.
func TestCannotBeJoined(t *testing.T) {
	base := made{study: "bootlin-2023", id: "r1", candidates: []string{"ext4"}, rounds: 1}
	other := func(study string, change func(*result.Run)) verdict.Judged {
		m := base
		m.study, m.id, m.run = study, "r2", change
		return m.source(t)
	}
	a := base.source(t)
	for name, c := range map[string]struct {
		b    verdict.Judged
		want []string
	}{
		"storage":   {other("bootlin-2023", func(r *result.Run) { r.Storage = "sim:sd-basic,1G" }), []string{"storage (disk:1G, sim:sd-basic,1G)", "--storage disk:1G or --storage sim:sd-basic,1G"}},
		"across":    {other("pandora-2012", func(r *result.Run) { r.Storage = "sim:sd-basic,1G" }), []string{"storage (disk:1G, sim:sd-basic,1G)"}},
		"kernel":    {other("bootlin-2023", func(r *result.Run) { r.Conditions[0].Value = "6.12.0" }), []string{"kernel (6.1.0, 6.12.0)", "whichfs compare r1 r2"}},
		"scale":     {other("bootlin-2023", func(r *result.Run) { r.Scale = "full" }), []string{"scale (quick, full)"}},
		"clock":     {other("bootlin-2023", func(r *result.Run) { r.Clock = result.ClockInstructions }), []string{"clock (wall, instructions)"}},
		"processor": {other("bootlin-2023", func(r *result.Run) { r.Processor = "600MIPS" }), []string{"processor (none, 600MIPS)"}},
		"emulation": {other("bootlin-2023", func(r *result.Run) { r.Emulated = true }), []string{"emulation (no, yes)"}},
		"machine":   {other("bootlin-2023", func(r *result.Run) { r.Machine = "local" }), []string{"machine (lab, local)"}},
		"size":      {other("bootlin-2023", func(r *result.Run) { r.Conditions[1].Value = "2 GiB" }), []string{"storage size (1 GiB, 2 GiB)"}},
		"twice":     {a, []string{"is named twice"}},
	} {
		_, err := Make(question(t, "", "write"), []verdict.Judged{a, c.b})
		t.Run(name, func(t *testing.T) { refusal(t, err, c.want...) })
	}
	x, y := a, other("bootlin-2023", nil)
	x.Scenarios, y.Scenarios = "one", "other"
	_, err := Make(question(t, "", "write"), []verdict.Judged{x, y})
	refusal(t, err, "the steps of the scenario")
	// A processor's name does not determine its figures: it is measured anew for each run, or its profile is
	// in another file.
	measured := func(speed float64) func(r *result.Run) {
		return func(r *result.Run) {
			p := processor.Profile{Name: processor.Host, Other: speed, Compressing: 900e6, Checksums: 900e6, Copying: 1e9}
			text, err := plan.Plan{Processor: &p}.Encode()
			if err != nil {
				t.Fatal(err)
			}
			r.Processor, r.Plan = p.Name, text
		}
	}
	x, y = other("bootlin-2023", measured(700e6)), other("bootlin-2023", measured(710e6))
	x.Verdict.Run.ID = "r1"
	_, err = Make(question(t, "", "write"), []verdict.Judged{x, y})
	refusal(t, err, "charged processor (host: 700 MIPS, compressing 900", "host: 710 MIPS")
	y = other("bootlin-2023", measured(700e6))
	if _, err = Make(question(t, "", "write"), []verdict.Judged{x, y}); err != nil {
		t.Errorf("one processor: %v", err)
	}
	// Data sets and guest memory belong to the study: another study has different
	// ones.
	data := func(r *result.Run) {
		r.Conditions = append(r.Conditions, result.Condition{Group: "data", Name: "tree", Value: "sha256:2", Matters: true}, result.Condition{Group: "machine", Name: "guest memory", Value: "128 MiB", Matters: true})
	}
	with := func(r *result.Run) {
		r.Conditions = append(r.Conditions, result.Condition{Group: "data", Name: "tree", Value: "sha256:1", Matters: true}, result.Condition{Group: "machine", Name: "guest memory", Value: "512 MiB", Matters: true})
	}
	x = other("bootlin-2023", with)
	y = other("bootlin-2023", data)
	y.Verdict.Run.ID = "r3"
	_, err = Make(question(t, "", "write"), []verdict.Judged{x, y})
	refusal(t, err, "data tree (sha256:1, sha256:2)", "guest memory")
	y = other("pandora-2012", data)
	y.Verdict.Run.ID = "r3"
	if _, err = Make(question(t, "", "write"), []verdict.Judged{x, y}); err != nil {
		t.Errorf("another study with other data: %v", err)
	}
}

// Weights on a missing measure, on an unknown one, on one with a weight
// already, and on one of which more is not worse.
func TestWeights(t *testing.T) {
	s := made{study: "bootlin-2023", id: "r1", candidates: []string{"ext4", "xfs"}, rounds: 2}.source(t)
	for weights, want := range map[string]string{
		"porridge": "neither these runs nor any study measures \"porridge\"; these runs have boot, mount, read", "write remove write": "already has a weight", "elc-2015/total": "a larger figure is not worse",
	} {
		_, err := Make(question(t, "", weights), []verdict.Judged{s})
		refusal(t, err, want)
	}
	_, err := Make(question(t, "", "porridge"), nil)
	refusal(t, err, "no study measures \"porridge\"; the measures are boot")
	o := ask(t, "", "write seeks=2 rewrite=1 randwrite-4k-direct=3", s).Orders[0]
	if len(o.Missing) != 2 || o.Missing[0].Text != "seeks and rewrite are not measured in these runs, so they do not count; pandora-2012 measures them." ||
		o.Missing[1].Remedy != "whichfs run elc-2015" || len(o.Counted) != 1 || o.Counted[0].Share != 1 {
		t.Errorf("%+v %+v", o.Missing, o.Counted)
	}
	// A phase has its column's name, and phases without a column have their own.
	o = ask(t, "", "remove=2 settle-unmount=1", s).Orders[0]
	if o.Counted[0].Key != "delete" || o.Counted[1].Key != "settle-unmount" {
		t.Errorf("%+v", o.Counted)
	}
	if a := ask(t, "", "boot mount", s); !strings.Contains(strings.Join(a.Warnings, " "), "Boot time and Mount time both contain the phase mount") {
		t.Errorf("%q", a.Warnings)
	}
	// Nothing that counts is measured: facts alone answer.
	o = ask(t, "power-loss-safe", "seeks", s).Orders[0]
	if len(o.Places) != 0 || !strings.HasPrefix(o.Answer, "These runs measure nothing that counts") || len(o.Without) != 2 {
		t.Errorf("%+v", o)
	}
}

// Without weights the study's columns of each use have equal weight, and
// writable filesystems are ordered separately from read-only ones.
func TestDefaultWeights(t *testing.T) {
	s := made{study: "bootlin-2023", id: "r1", candidates: []string{"ext4", "xfs", "erofs", "squashfs"}, rounds: 3, noise: 0.01, seed: 5,
		factor: map[string]map[string]float64{"xfs": {"": 1.5}, "squashfs": {"": 1.5}}}.source(t)
	a := ask(t, "dates-after-2038", "", s)
	if len(a.Orders) != 2 || names(a.Orders[0]) != "ext4, xfs" || names(a.Orders[1]) != "erofs, squashfs" {
		t.Fatalf("%+v", a.Orders)
	}
	if len(a.Orders[0].Counted) != 8 || len(a.Orders[1].Counted) != 3 {
		t.Errorf("%d and %d columns", len(a.Orders[0].Counted), len(a.Orders[1].Counted))
	}
	// The verdict of the same run puts them in the same order with the same score.
	for i, u := range s.Verdict.Uses {
		for k, r := range u.Ranks {
			if p := a.Orders[i].Places[k]; p.Candidate != r.Candidate || math.Abs(p.Score.Value-r.Score.Value) > 1e-9 {
				t.Errorf("%s: %+v, the verdict has %+v", u.Name, p, r)
			}
		}
	}
	a = ask(t, "read-only", "", s)
	if len(a.Orders) != 1 || names(a.Orders[0]) != "erofs, squashfs" || excludedBy(a.Orders[0], "read-only") != "ext4, xfs" {
		t.Errorf("%+v", a.Orders)
	}
	// A need that excludes the would-be first is reported.
	a = ask(t, "power-loss-safe", "write", made{study: "bootlin-2023", id: "r1", candidates: []string{"ext2", "ext4", "xfs"}, rounds: 3, noise: 0.01, seed: 6,
		factor: map[string]map[string]float64{"ext2": {"write": 0.5}, "xfs": {"write": 2}}}.source(t))
	if got := texts(a.Orders[0], "need"); got != "Without the need power-loss-safe, ext2 would be first (shown to be better)." {
		t.Errorf("needs: %s", got)
	}
}

// One round settles nothing and gives no probability; open pairs say how many
// more rounds to run.
func TestFewRounds(t *testing.T) {
	s := made{study: "bootlin-2023", id: "r1", candidates: []string{"ext4", "xfs"}, rounds: 1, factor: map[string]map[string]float64{"xfs": {"write": 9}}}.source(t)
	o := ask(t, "", "write", s).Orders[0]
	if o.Settled || o.Places[0].HasBest || o.Places[0].RankHigh != 2 || !strings.Contains(texts(o, "rounds"), "One round does not show the noise") {
		t.Errorf("%+v", o)
	}
	if o.Changes[0].Remedy != "whichfs resume r1 --rounds 3" {
		t.Errorf("%+v", o.Changes[0])
	}
	s = made{study: "bootlin-2023", id: "r1", candidates: []string{"ext4", "xfs"}, rounds: 3, noise: 0.2, seed: 8, factor: map[string]map[string]float64{"xfs": {"write": 1.4}}}.source(t)
	o = ask(t, "", "write", s).Orders[0]
	if o.Settled || !strings.Contains(texts(o, "rounds"), "would settle ext4 against xfs") || !strings.Contains(o.Answer, "with a probability of") {
		t.Errorf("%s\n%s", o.Answer, texts(o, "rounds"))
	}
}
