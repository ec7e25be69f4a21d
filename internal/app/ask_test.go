package app

import (
	"testing"

	"whichfs/internal/plan"
	"whichfs/internal/plan/study"
	"whichfs/internal/result"
)

// The same command has the same figures where the clock is virtual; elsewhere the order of trials is
// drawn anew.
func TestSeed(t *testing.T) {
	t.Parallel()
	st, _ := study.ByName("bootlin-2023")
	seed := func(q Ask) uint64 {
		t.Helper()
		p, err := q.common(st, st.Fit("quick", st.Near("quick", "sim:sd-basic,1G")), plan.File{})
		if err != nil {
			t.Fatal(err)
		}
		return p.Seed
	}
	own := uint64(7)
	if got := seed(Ask{Clock: result.ClockVirtual}); got != plan.VirtualSeed {
		t.Errorf("virtual time has seed %d", got)
	}
	if got := seed(Ask{Clock: result.ClockVirtual, Seed: &own}); got != own {
		t.Errorf("the requested seed became %d", got)
	}
	if seed(Ask{}) == seed(Ask{}) && seed(Ask{}) == seed(Ask{}) {
		t.Error("real time has the same seed each time")
	}
}
