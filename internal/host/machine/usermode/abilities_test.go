package usermode

import (
	"strings"
	"testing"

	"whichfs/internal/filesystem"
	"whichfs/internal/host/machine"
	"whichfs/internal/host/machine/machinetest"
	"whichfs/internal/plan/scenario"
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
