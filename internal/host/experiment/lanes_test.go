package experiment

import (
	"errors"
	"slices"
	"sync"
	"testing"
	"time"

	"whichfs/internal/host/machine/fake"
	"whichfs/internal/result"
)

// Several lanes do the same as one: every trial once, in a separate guest, both where instructions
// are counted and where no time is measured.
func TestLanes(t *testing.T) {
	t.Run("instructions", func(t *testing.T) { testLanes(t, result.ClockInstructions, false) })
	t.Run("untimed", func(t *testing.T) { testLanes(t, result.ClockWall, true) })
}

func testLanes(t *testing.T, clock string, untimed bool) {
	e, st, m := setUp(t, fake.Script{Delay: 0.01}, "ext4", "xfs", "erofs")
	e.Plan.Clock, e.Plan.Untimed, e.Lanes = clock, untimed, 2
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

// If times are measured by the wall clock, there is one lane.
func TestWallClockUsesOneLane(t *testing.T) {
	e, _, _ := setUp(t, fake.Script{Delay: 0.01}, "ext4", "xfs", "erofs")
	e.Plan.Clock, e.Lanes = result.ClockWall, 2
	under := 0
	e.Observer.Trial = func(result.Trial, int, int) { // on this goroutine
		if under++; under != 1 {
			t.Error("two trials at the same time")
		}
	}
	e.Observer.Ended = func(result.Trial) { under-- }
	if err := e.Carry(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// A kernel that crashes under a filesystem is that filesystem's result.
func TestKernelCrashIsASubjectFailure(t *testing.T) {
	console := []string{"[    8.1] XFS (loop0): Mounting V5 Filesystem", "[    8.2] Kernel panic - not syncing: Fatal exception  ", "[    8.3] Rebooting"}
	if got := gaveUp(console); got != "[    8.2] Kernel panic - not syncing: Fatal exception" {
		t.Errorf("%q", got)
	}
	if got := gaveUp(console[:1]); got != "" {
		t.Errorf("%q", got)
	}
	// The agent's own death is not a result, unless the kernel caused it.
	init := []string{"goroutine 1 [running]:", "[    8.2] Kernel panic - not syncing: Attempted to kill init! exitcode=0x00000200"}
	if got := gaveUp(init); got != "" {
		t.Errorf("%q", got)
	}
	if got := gaveUp(append([]string{"[    8.1] BUG: kernel NULL pointer dereference"}, init...)); got == "" {
		t.Error("what the kernel caused is not seen")
	}
	if got := gaveUp([]string{"[    8.1] Oops: int3: 0000 [#1] PREEMPT SMP NOPTI", console[1]}); got != "" {
		t.Errorf("the emulator's fault is the filesystem's: %q", got)
	}
}

// An error that ends one lane ends all, and is the error of the run.
func TestLanesEndTogether(t *testing.T) {
	e, st, _ := setUp(t, fake.Script{Delay: 0.01, Faults: []fake.Fault{{Kind: fake.Gone, Candidate: "xfs"}}}, "ext4", "xfs", "erofs")
	e.Plan.Clock, e.Lanes = result.ClockInstructions, 2
	err := e.Carry(t.Context())
	var lost *result.Failure
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

// An exhausted budget lets every current trial finish.
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
