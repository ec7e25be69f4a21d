package experiment

import (
	"testing"

	"whichfs/internal/host/machine/fake"
	"whichfs/internal/result"
)

// A trial leaves traces in a kernel that show where instructions are counted, so each trial has its
// own guest, and not the one that reported support.
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
