package usermode

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"whichfs/internal/host/dataset"
	"whichfs/internal/host/machine"
	"whichfs/internal/host/machine/machinetest"
	"whichfs/internal/plan"
	"whichfs/internal/plan/scenario"
	"whichfs/internal/plan/study"
	"whichfs/internal/result"
	"whichfs/internal/testing/parsed"
)

// Every study's own scenario is run, with little data.
func TestEveryStudy(t *testing.T) {
	t.Parallel()
	for _, x := range []struct {
		study     study.Study
		candidate string
	}{
		{study.Pandora2012(), "vfat"},
		{study.DevbuildGist(), "btrfs -o compress=lzo"},
		{study.Elc2015(), "ext4"},
	} {
		t.Run(x.study.Name, func(t *testing.T) {
			scale := x.study.Scales["quick"]
			var data []scenario.Data
			for _, d := range scale.Data {
				tiny := machinetest.TinyData(t)[0]
				tiny.Name = d.Name
				data = append(data, tiny)
			}
			s := begin(t, theLab(t, Options{}), machine.Spec{Storage: fastDisk, Data: data})
			steps := x.study.Scenario(false, scale)
			for i := range steps {
				steps[i].Files, steps[i].Ops = min(steps[i].Files, 64), min(steps[i].Ops, 8)
			}
			got := machinetest.CarryOut(t, s, x.candidate, steps)
			if d := got.Done; d.Outcome != result.Done {
				t.Fatalf("%s in phase %s: %s (%s)", d.Outcome, d.Phase, d.Reason, d.Hint)
			}
			for _, phase := range got.Scenario.Phases() {
				if m, ok := got.Figures[phase][result.Wall]; !ok || m.Absent == "" && m.Value <= 0 {
					t.Errorf("phase %s: %+v", phase, m)
				}
			}
		})
	}
}

// standIns are generated trees with the files and bytes of those that a study fetches.
var standIns = map[string]string{
	"debian-armhf-part": "gen:debian-armhf,9M",
	"build-large-part":  "gen:build-large,50M",
	"build-small-part":  "gen:build-small,11M",
}

// unfilling are kinds of work that neither need room nor make any.
var unfilling = []string{
	"space", "trim", "threads", "compression", "dates", "smallest", "check", "seeks", "tree-clone", "tar-null", "tar-pipe", "cp-fetch",
	"meta-stat", "meta-read", "settle", "rest", "hold-memory", "release-memory", "file-rewrite",
}

// filling are the steps of a scenario that decide whether it fits. Of fio's jobs on the same files
// the first is enough.
func filling(s scenario.Scenario) scenario.Scenario {
	var out scenario.Scenario
	laid := map[string]bool{}
	for _, step := range s {
		k, _ := scenario.KindOf(step.Work)
		switch {
		case k.Reads || slices.Contains(unfilling, step.Work):
			continue
		case step.Work == "mkfs":
			clear(laid)
		case step.Work == "fio":
			if laid[step.Dir] {
				continue
			}
			laid[step.Dir] = true
		}
		out = append(out, step)
	}
	return out
}

// No trial of a study's own quick plan is refused: its data fit, and the tools take its options. Trials that
// need the same room are tried once: on storage of one size, with the same mkfs options, whatever mount gets.
// Studies without times make their own disks: TestAbilities and fault_test.go have their cases. The whole of
// bootlin-2023 is in TestExample of cmd/whichfs.
func TestEveryTrialFits(t *testing.T) {
	t.Parallel()
	for _, st := range study.All {
		sizes := map[string]bool{}
		for _, on := range st.Storages {
			_, size, _ := strings.Cut(on.Specs["quick"], ",")
			if st.Untimed || st.Name == study.Bootlin2023().Name || !on.In("quick") || size != "" && sizes[size] {
				continue
			}
			sizes[size] = true
			t.Run(st.Name+"/"+on.Key, func(t *testing.T) { trialsFit(t, st, on) })
		}
	}
}

func trialsFit(t *testing.T, st study.Study, on study.Storage) {
	scale := st.Fit("quick", on)
	p := plan.Plan{
		Candidates: parsed.Candidates(scale.Candidates...), Factors: st.Vary(scale, on),
		ReadWrite: st.Scenario(false, scale), ReadOnly: st.Scenario(true, scale),
	}
	var data []scenario.Data
	for _, d := range scale.Data {
		if d.Set == "" {
			data = append(data, dataset.Stream(d.Name, d.Stream, 1))
			continue
		}
		like, ok := standIns[d.Set]
		if !ok {
			t.Fatalf("no tree stands in for %s", d.Set)
		}
		if slices.ContainsFunc(p.ReadWrite, func(step scenario.Step) bool { return step.Work == "fill" }) {
			like = "gen:build-large,9M" // thousands of small files would take as much room, and minutes
		}
		tree, err := dataset.Get(t.Context(), like, nil)
		if err != nil {
			t.Fatal(err)
		}
		tree.Name = d.Name
		data = append(data, tree)
	}
	s := begin(t, theLab(t, Options{}), machine.Spec{Storage: on.Specs["quick"], Data: data, Memory: scale.Memory, Untimed: true})
	support, err := s.Support(t.Context(), p.Candidates)
	if err != nil {
		t.Fatal(machinetest.Explain(err))
	}
	for _, said := range support.Candidates {
		if said.Reason != "" {
			t.Errorf("%s: %s: %s", said.Candidate, said.Outcome, said.Reason)
		}
	}
	tried, least := map[string]bool{}, map[string]int64{} // partitions of each candidate
	for _, slot := range plan.Round(p, 1) {
		v, _ := p.Variant(slot.Variant)
		if name := slot.Candidate.String(); v.Size > 0 && v.Chip == "" && (least[name] == 0 || v.Size < least[name]) {
			least[name] = v.Size
		}
	}
	for _, slot := range plan.Round(p, 1) {
		v, _ := p.Variant(slot.Variant)
		work := filling(v.Apply(p.Scenario(slot.Candidate)))
		room := fmt.Sprint(slot.Candidate.FS, slot.Candidate.Way, slot.Candidate.Make(), v.Make, v.Part, v.Size, v.Share)
		smallest := least[slot.Candidate.String()]
		if tried[room] || smallest > 0 && v.Size != smallest && v.Share == 0 || v.Chip != "" { // which may well be the end of it
			continue
		}
		tried[room] = true
		if d := machinetest.CarryOutOn(t, s, slot.Candidate.String(), v, work).Done; d.Outcome != result.Done {
			t.Errorf("%s: %s in phase %s: %s (%s)", slot.Named(), d.Outcome, d.Phase, d.Reason, d.Hint)
		}
	}
}
