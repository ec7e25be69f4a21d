package report

import (
	"strings"
	"testing"

	"whichfs/internal/fault/finding"
	"whichfs/internal/result"
)

// The rate is by wall time, or by the sum of the stages if that is unknown.
func TestCrashRate(t *testing.T) {
	one := CrashCandidate{Scripts: []finding.Tally{{States: 300, Seconds: map[string]float64{"mount": 3, "judge": 1}}}}
	c := Crash{Candidates: []CrashCandidate{one}}
	if got := crashRate(c); !strings.Contains(got, "75") {
		t.Errorf("by stages: %s", got)
	}
	c.Candidates[0].Looking = 2 // two guests at the same time
	if got := crashRate(c); !strings.Contains(got, "150") || !strings.Contains(got, "75 %") {
		t.Errorf("by wall time: %s", got)
	}
	// Where no time passes while a guest works, the stages have none.
	if c.Clock = result.ClockVirtual; !strings.HasSuffix(crashRate(c), ": 150 states per second.") {
		t.Errorf("with the virtual clock: %s", crashRate(c))
	}
}
