package usermode

import (
	"strings"
	"testing"

	"whichfs/internal/filesystem"
	"whichfs/internal/host/machine"
	"whichfs/internal/host/machine/machinetest"
	"whichfs/internal/plan/scenario"
	"whichfs/internal/plan/study"
	"whichfs/internal/result"
)

// The abilities of each filesystem are those that the laboratory has shown before: its own tools
// exercise them on files, whose content is compared.
func TestAbilities(t *testing.T) {
	t.Parallel()
	var plan scenario.Scenario
	for _, a := range filesystem.Abilities {
		plan = append(plan, scenario.Step{Work: "ability", Phase: string(a.Name), Ability: string(a.Name)})
	}
	s := begin(t, theLab(t, Options{}), machine.Spec{Storage: "sim:free,320M", Memory: 1 << 30})
	for _, x := range triedWith(t, "can") {
		t.Run(strings.ReplaceAll(x.Line, " ", "_"), func(t *testing.T) {
			got := machinetest.CarryOut(t, s, x.Line, plan)
			if got.Done.Outcome != result.Done {
				t.Fatalf("%+v", got.Done)
			}
			var can []string
			for _, a := range filesystem.Abilities {
				m := got.Figures[string(a.Name)][result.Able]
				if m.Absent == "" && m.Value == 1 {
					can = append(can, string(a.Name))
				}
				t.Logf("%s: %v %s", a.Name, m.Value, m.Absent)
			}
			for _, n := range got.Notes {
				t.Logf("%s: %s", n.Phase, n.Text)
			}
			if want, _ := x.Get("can"); strings.Join(can, " ") != want && (len(can) > 0 || want != "nothing") {
				t.Errorf("it can %q; before it was %q", strings.Join(can, " "), want)
			}
		})
	}
}

// A filesystem that can be written is made in a file with the tree in it, with its mkfs options; on
// the storage it has every file of the tree.
func TestOfflineImages(t *testing.T) {
	t.Parallel()
	st := study.Elc2015()
	plan := scenario.Scenario{{Work: "discard"}, {Work: "module-load"}}
	for _, step := range st.Scenario(false, st.Scales["claims"]) {
		if step.Only == string(filesystem.OfflineImage) {
			plan = append(plan, step)
		}
	}
	s := begin(t, theLab(t, Options{}), machine.Spec{Storage: fastDisk, Data: machinetest.TinyData(t)})
	for candidate, able := range map[string]bool{"ext2": true, "ext4 -O ^has_journal -b 4096": true, "btrfs -m single": true, "f2fs": true, "xfs": false} {
		t.Run(strings.ReplaceAll(candidate, " ", "_"), func(t *testing.T) {
			got := machinetest.CarryOut(t, s, candidate, plan)
			if got.Done.Outcome != result.Done {
				t.Fatalf("%+v", got.Done)
			}
			compared := got.Figures["offline-compare"]
			if !able {
				if m := compared[result.Wall]; !strings.Contains(m.Absent, "prototype file") {
					t.Errorf("%+v", m)
				}
				return
			}
			size := got.Figures["offline-image"][result.ImageSize].Value
			if compared[result.FilesWhole].Value < 3 || compared[result.FilesMissing].Value+compared[result.FilesWrong].Value+compared[result.FilesUnreadable].Value > 0 || size < 1<<12 || size > 100<<20 {
				t.Errorf("%v bytes: %+v", size, compared)
			}
			c, err := filesystem.Parse(candidate)
			if err != nil {
				t.Fatal(err)
			}
			machinetest.CheckOptions(t, c, got.Options)
		})
	}
}
