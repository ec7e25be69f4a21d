package experiment

import (
	"errors"
	"slices"
	"sync"
	"testing"
	"time"

	"whichfs/internal/machine"
	"whichfs/internal/machine/fake"
	"whichfs/internal/result"
)

// Several lanes do what one does: every trial once, in a guest of its own.
func TestLanes(t *testing.T) {
	e, st, m := setUp(t, fake.Script{Delay: 0.01}, "ext4", "xfs", "erofs")
	e.Plan.Clock, e.Lanes = result.ClockInstructions, 2
	var mu sync.Mutex
	var numbers []int
	under, most := 0, 0
	e.Observer.Trial = func(_ result.Trial, number, total int) {
		mu.Lock()
		defer mu.Unlock()
		numbers = append(numbers, number)
		if under++; under > most {
			most = under
		}
		if total != 9 {
			t.Errorf("trial %d of %d", number, total)
		}
	}
	e.Observer.Ended = func(result.Trial) { mu.Lock(); under--; mu.Unlock() }
	if err := e.Carry(t.Context()); err != nil {
		t.Fatal(err)
	}
	got := order(t, st)
	slices.Sort(got)
	if n := len(slices.Compact(got)); n != 9 || m.Sessions() != 10 || most != 2 {
		t.Errorf("%d different trials of 9, %d sessions, %d at the same time", n, m.Sessions(), most)
	}
	if slices.Sort(numbers); len(numbers) != 9 || numbers[8] != 9 {
		t.Errorf("numbers %v", numbers)
	}
}

// What ends one lane ends all, and is what the run ends with.
func TestLanesEndTogether(t *testing.T) {
	e, st, _ := setUp(t, fake.Script{Delay: 0.01, Faults: []fake.Fault{{Kind: fake.Gone, Candidate: "xfs"}}}, "ext4", "xfs", "erofs")
	e.Plan.Clock, e.Lanes = result.ClockInstructions, 2
	err := e.Carry(t.Context())
	var lost *machine.Error
	if !errors.As(err, &lost) { // that it vanished, or that it cannot be claimed again
		t.Errorf("ended with %v", err)
	}
	if n := len(order(t, st)); n >= 9 {
		t.Errorf("%d trials were carried out after the storage had gone", n)
	}
	if r, err := st.Run("r"); err != nil || r.State != result.Interrupted {
		t.Errorf("the run is %s (%v)", r.State, err)
	}
}

// A budget that is spent lets every trial under way end.
func TestLanesBudget(t *testing.T) {
	e, st, _ := setUp(t, fake.Script{Delay: 0.01}, "ext4", "xfs", "erofs")
	e.Plan.Clock, e.Lanes, e.Plan.Budget = result.ClockInstructions, 2, time.Hour
	var mu sync.Mutex
	now, begun := time.Now(), 0
	e.Now = func() time.Time { mu.Lock(); defer mu.Unlock(); return now }
	e.Observer.Trial = func(result.Trial, int, int) {
		mu.Lock()
		defer mu.Unlock()
		if begun++; begun == 4 {
			now = now.Add(2 * time.Hour)
		}
	}
	if err := e.Carry(t.Context()); !errors.Is(err, ErrBudget) {
		t.Fatalf("ended with %v", err)
	}
	if n := len(order(t, st)); n < 4 || n > 5 {
		t.Errorf("%d trials, want those that had begun", n)
	}
}
