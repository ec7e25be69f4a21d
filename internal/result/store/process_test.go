package store_test

import (
	"bufio"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"whichfs/internal/result"
	"whichfs/internal/result/store"
	"whichfs/internal/result/store/storetest"
	"whichfs/internal/testing/database"
	"whichfs/internal/testing/must"
)

// writerVariable makes this test binary a process that stores trials:
// "PATH RUN ROUND COUNT", one acknowledgement a line on standard output.
const writerVariable = "WHICHFS_TEST_STORE_WRITER"

func TestMain(m *testing.M) {
	if job := os.Getenv(writerVariable); job != "" {
		if err := writer(strings.Fields(job)); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	database.Main(m)
}

func writer(job []string) error {
	path, run := job[0], job[1]
	round, err := strconv.Atoi(job[2])
	if err != nil {
		return err
	}
	count, err := strconv.Atoi(job[3])
	if err != nil {
		return err
	}
	s, err := store.Open(path)
	if err != nil {
		return err
	}
	if _, err := s.Run(run); err != nil {
		if err := s.CreateRun(example(run), 0); err != nil {
			return err
		}
	}
	for place := 1; place <= count; place++ {
		id, err := s.BeginTrial(run, result.Trial{Round: round, Place: place, Candidate: "ext4", Attempt: 1})
		if err != nil {
			return err
		}
		t := numbered(place)
		t.ID = id
		if err := s.FinishTrial(t); err != nil {
			return err
		}
		if _, err := fmt.Println(place); err != nil {
			return err
		}
	}
	return s.Close()
}

// numbered is a trial that its place identifies.
func numbered(place int) result.Trial {
	_, trials := storetest.Run("x", storetest.Shape{Candidates: 1, Rounds: 1, Phases: 10, Metrics: 20}, uint64(place))
	t := trials[0]
	t.Reason = strconv.Itoa(place)
	return t
}

// start starts such a process; the reader gets its acknowledgements.
func start(t *testing.T, path, run string, round, count int) (*os.Process, io.ReadCloser) {
	t.Helper()
	r, w, err := os.Pipe()
	must.Do(t, err)
	process, err := os.StartProcess("/proc/self/exe", []string{"writer"}, &os.ProcAttr{
		Env:   append(os.Environ(), fmt.Sprintf("%s=%s %s %d %d", writerVariable, path, run, round, count)),
		Files: []*os.File{nil, w, os.Stderr},
	})
	_ = w.Close()
	must.Do(t, err)
	return process, r
}

// whole requires that a stored trial is exactly what its writer stored.
func whole(t *testing.T, got result.Trial, round int) {
	t.Helper()
	want := numbered(got.Place)
	want.ID, want.Round, want.Place, want.Candidate = got.ID, round, got.Place, "ext4"
	if d := diffTrials(want, got); d != "" {
		t.Errorf("round %d, place %d is not whole: %s", round, got.Place, d)
	}
}

// The store contains, completely, everything that was acknowledged before a SIGKILL; of the trial
// in progress it contains nothing, or everything if only the acknowledgement was lost.
func TestKilledWriterLosesAtMostOneTrial(t *testing.T) {
	places(t, func(t *testing.T, path string) {
		const seed = 20240301
		t.Logf("seed %d", seed)
		random := rand.New(rand.NewPCG(seed, 0))
		total := 0
		rounds := 30
		if strings.HasPrefix(path, "postgres") {
			rounds = 8 // what is on disk then is the server's affair
		}
		for round := 1; round <= rounds; round++ {
			process, acks := start(t, path, "killed", round, 1_000_000)
			lines := bufio.NewScanner(acks)
			acknowledged := 0
			for range 1 + random.IntN(4) {
				if !lines.Scan() {
					t.Fatal("the writer ended by itself")
				}
				acknowledged++
			}
			time.Sleep(time.Duration(random.IntN(6000)) * time.Microsecond)
			must.Do(t, process.Kill())
			for lines.Scan() {
				acknowledged++
			}
			_, err := process.Wait()
			must.Do(t, err)
			_ = acks.Close()
			total += acknowledged

			s, err := store.Open(path)
			must.Do(t, err)
			trials, err := s.Trials("killed")
			must.Do(t, err)
			must.Do(t, s.Close())
			concluded := 0
			for _, trial := range trials {
				if trial.Round != round {
					continue
				}
				if trial.Outcome != "" {
					concluded++
					whole(t, trial, round)
					continue
				}
				if trial.Place != acknowledged+1 {
					t.Errorf("round %d: place %d of %d acknowledged is not concluded", round, trial.Place, acknowledged)
				}
				if len(trial.Measurements)+len(trial.Notes)+len(trial.Options) > 0 {
					t.Errorf("round %d: the trial in progress left something: %+v", round, trial)
				}
			}
			if concluded != acknowledged && concluded != acknowledged+1 {
				t.Errorf("round %d: %d acknowledged, %d stored", round, acknowledged, concluded)
			}
		}
		t.Logf("%d trials acknowledged", total)
	})
}

// A process killed at any instant while creating the store leaves nothing that
// stops the next one.
func TestKilledWhileCreatingTheStore(t *testing.T) {
	const seed = 7
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	for i := range 25 {
		path := filepath.Join(t.TempDir(), "results.db")
		process, acks := start(t, path, "r", 1, 1)
		// Wait until the file appears, and for a moment longer.
		for _, err := os.Stat(path); err != nil; _, err = os.Stat(path) {
		}
		time.Sleep(time.Duration(random.IntN(8000)) * time.Microsecond)
		must.Do(t, process.Kill())
		_, err := process.Wait()
		must.Do(t, err)
		_ = acks.Close()
		s, err := store.Open(path)
		if err != nil {
			t.Fatalf("turn %d: %v", i, err)
		}
		must.Do(t, s.CreateRun(example("next"), 1))
		must.Do(t, s.Close())
	}
}

func TestTwoProcessesWriteAtOnce(t *testing.T) {
	places(t, func(t *testing.T, path string) {
		const count = 40
		var processes []*os.Process
		for i := range 2 {
			process, acks := start(t, path, fmt.Sprint("run", i), 1, count)
			processes = append(processes, process)
			go func() { _, _ = io.Copy(io.Discard, acks) }()
		}
		for _, p := range processes {
			state, err := p.Wait()
			must.Do(t, err)
			if !state.Success() {
				t.Fatal(state)
			}
		}
		s, err := store.OpenReadOnly(path)
		must.Do(t, err)
		defer func() { _ = s.Close() }()
		for i := range 2 {
			trials, err := s.Trials(fmt.Sprint("run", i))
			must.Do(t, err)
			var places []int
			for _, trial := range trials {
				places = append(places, trial.Place)
				whole(t, trial, 1)
			}
			want := make([]int, count)
			for i := range want {
				want[i] = i + 1
			}
			if d := cmp.Diff(want, places); d != "" {
				t.Error(d)
			}
		}
	})
}

// inNamespace runs the calling test again in a process that may mount, as root
// or in a new user namespace, and returns false; in that process it
// returns true.
func inNamespace(t *testing.T) bool {
	t.Helper()
	const variable = "WHICHFS_TEST_NAMESPACE"
	if os.Getenv(variable) == t.Name() {
		return true
	}
	attr := &syscall.SysProcAttr{Unshareflags: syscall.CLONE_NEWNS, Pdeathsig: syscall.SIGKILL}
	if os.Geteuid() != 0 {
		attr.Cloneflags = syscall.CLONE_NEWUSER
		attr.UidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getuid(), Size: 1}}
		attr.GidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getgid(), Size: 1}}
	}
	process, err := os.StartProcess("/proc/self/exe", []string{"test", "-test.run", "^" + t.Name() + "$", "-test.v"}, &os.ProcAttr{
		Env: append(os.Environ(), variable+"="+t.Name()), Files: []*os.File{nil, os.Stderr, os.Stderr}, Sys: attr,
	})
	if err != nil {
		t.Fatalf("cannot start a process that may mount (are user namespaces off?): %v", err)
	}
	state, err := process.Wait()
	must.Do(t, err)
	if !state.Success() {
		t.Fatalf("the process that may mount: %v", state)
	}
	return false
}
