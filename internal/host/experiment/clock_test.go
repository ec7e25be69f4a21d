package experiment

import (
	"testing"

	"whichfs/internal/host/machine/fake"
	"whichfs/internal/result"
)

// What a trial leaves in a kernel shows where instructions are counted, so
// each has a guest of its own, and none that was asked what it can do before.
func TestCountingTrialsShareNoGuest(t *testing.T) {
	e, st, m := setUp(t, fake.Script{}, "ext4", "xfs", "erofs")
	e.Plan.Clock = result.ClockInstructions
	if err := e.Carry(t.Context()); err != nil {
		t.Fatal(err)
	}
	if n := len(order(t, st)); n != 9 || m.Sessions() != 10 {
		t.Errorf("%d trials in %d sessions, one of which only says what can run", n, m.Sessions())
	}
}
