package app

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"whichfs/internal/plan"
	"whichfs/internal/plan/processor"
	"whichfs/internal/plan/scenario"
	"whichfs/internal/result"
	"whichfs/internal/result/store"
	"whichfs/internal/testing/database"
	"whichfs/internal/testing/must"
	"whichfs/internal/testing/parsed"
	"whichfs/internal/testing/wait"
)

func TestMain(m *testing.M) { database.Main(m) }

// One in fifty trials is done twice, always the same ones, and at least one; by wall clock none is.
func TestSomeTrialsAreDoneTwice(t *testing.T) {
	p := plan.Plan{Clock: result.ClockVirtual, Storage: "sim:sd-basic,1G", Candidates: parsed.Candidates("ext4", "xfs"), Rounds: 1000, Seed: 7}
	all := jobs("r", p, plan.Trials(p))
	chosen := checks(p, all)
	if len(all) != 2000 || len(chosen) < 20 || len(chosen) > 70 || !slices.EqualFunc(chosen, checks(p, all), func(a, b store.Job) bool { return a.Round == b.Round }) {
		t.Errorf("%d of %d", len(chosen), len(all))
	}
	if all[0].Check || !chosen[0].Check {
		t.Error("jobs that compare are not marked, or others are")
	}
	p.Rounds = 1
	if few := jobs("r", p, plan.Trials(p)); len(checks(p, few)) != 1 {
		t.Errorf("%d of %d", len(checks(p, few)), len(few))
	}
	p.Clock = result.ClockWall
	if rounds := jobs("r", p, plan.Trials(p)); len(rounds) != 1 || len(rounds[0].Places) != 2 || checks(p, rounds) != nil {
		t.Errorf("%+v", rounds)
	}
}

func TestDiffers(t *testing.T) {
	trial := func(wall, written float64) result.Trial {
		return result.Trial{Outcome: result.Done, Measurements: []result.Measurement{result.Figure(result.Wall, wall).In("write"), result.Figure(result.DeviceWritten, written).In("write")}}
	}
	free, charged := plan.Plan{Clock: result.ClockVirtual}, plan.Plan{Clock: result.ClockVirtual, Processor: &processor.Profile{}}
	for _, c := range []struct {
		p    plan.Plan
		a, b result.Trial
		want string
	}{
		{free, trial(1, 5), trial(1, 5), ""},
		{free, trial(1, 5), trial(1+1e-12, 5), "phase write, wall: 1 and 1.000000000001"},
		{free, trial(1, 5), trial(1, 6), "phase write, dev.written: 5 and 6"},
		{charged, trial(1, 5), trial(1.004, 6), ""},
		{charged, trial(1, 5), trial(1.006, 5), "phase write, wall: 1 and 1.006"},
		{charged, trial(1, 5), result.Trial{Outcome: result.SubjectFailed}, "done and subject-failed"},
		{free, trial(1, 5), result.Trial{Outcome: result.Done}, "phase write, wall: 1 and 0"},
	} {
		if got := differs(c.p, c.a, c.b); got != c.want {
			t.Errorf("%q instead of %q", got, c.want)
		}
	}
}

// Of two workers each compares the other's trials, however many there are. While each met its own again and
// again, in step with the other, a run of many took hours to end.
func TestTwoWorkersCompare(t *testing.T) {
	a := fleet(t, 2)
	load(t, a, "many", 100)
	st, err := a.Store()
	must.Do(t, err)
	defer func() { _ = st.Close() }()
	repeats, err := st.Repeats("many")
	must.Do(t, err)
	for _, r := range repeats {
		if r.Differs != "" || r.Workers != "w0 and w1" && r.Workers != "w1 and w0" {
			t.Errorf("%+v", r)
		}
	}
	if len(repeats) < 10 {
		t.Errorf("%d of 1000 trials were compared", len(repeats))
	}
}

// BenchmarkFleet has workers, each with its own connections, do trials of one phase on the fake machine:
//
//	go test -run '^$' -bench Fleet -benchtime 1x ./internal/app
//
// WHICHFS_FLEET is the number of workers and trials: 200,100000.
func BenchmarkFleet(b *testing.B) {
	workers, trials := 200, 100_000
	if text := os.Getenv("WHICHFS_FLEET"); text != "" {
		_, err := fmt.Sscanf(text, "%d,%d", &workers, &trials)
		must.Do(b, err)
	}
	a := fleet(b, workers)
	st, err := a.Store()
	must.Do(b, err)
	defer func() { _ = st.Close() }()
	for b.Loop() {
		begun := time.Now()
		rate, delay := load(b, a, "many", (trials+9)/10), delays(b, a.Path, "many")
		b.Logf("%d trials by %d workers: %.0f stored a second (%.0f s); from the end of a worker's job to its next: median %.3f s", trials, workers, rate, time.Since(begun).Seconds(), delay[1])
		b.Logf("memory: this process (all workers) %d MB, PostgreSQL %d MB", resident(b, "self")>>20, ofServer(b)>>20)
		for i := range 20 {
			id := fmt.Sprint("few", i)
			load(b, a, id, 2)
			delay = append(delay, delays(b, a.Path, id)[0])
		}
		few := delay[2:]
		slices.Sort(few)
		b.Logf("20 small runs on idle workers: from enqueuing a job to its begin: median of medians %.3f s, most %.3f s", few[len(few)/2], few[len(few)-1])
	}
}

// fleet is what has a number of workers on the fake machine, each with its own connections, until the test ends.
func fleet(t testing.TB, workers int) *App {
	t.Helper()
	database.Connections = max(database.Connections, 5*workers+40)
	script := filepath.Join(t.TempDir(), "fake.json")
	must.Do(t, os.WriteFile(script, []byte(`{"processor": 0.1}`), 0o600))
	t.Setenv("WHICHFS_FAKE", script)
	t.Setenv("XDG_DATA_HOME", t.TempDir())
	t.Setenv("WHICHFS_CACHE", t.TempDir())
	a := &App{Path: database.Shared(t).URL(), Version: "v1", Note: func(text string) {
		if !strings.Contains(text, ": round ") && !strings.Contains(text, ": joined") {
			fmt.Fprintln(os.Stderr, text)
		}
	}}
	ctx, stop := context.WithCancel(context.Background())
	var under sync.WaitGroup
	t.Cleanup(func() {
		stop()
		under.Wait()
	})
	st, err := a.Store() // which makes the tables
	must.Do(t, err)
	defer func() { _ = st.Close() }()
	for i := range workers {
		under.Go(func() {
			if err := a.Work(ctx, Offer{Name: fmt.Sprint("w", i), Machines: []string{"fake"}, Lanes: 1}); err != nil {
				t.Error(err)
			}
		})
	}
	wait.While(t, func() string {
		list, err := st.Workers()
		must.Do(t, err)
		if len(list) < workers {
			return fmt.Sprintf("%d of %d workers have come", len(list), workers)
		}
		return ""
	})
	return a
}

// load has the fleet do a run of ten candidates, and requires each trial once.
func load(b testing.TB, a *App, id string, rounds int) (rate float64) {
	b.Helper()
	st, err := a.Store()
	must.Do(b, err)
	defer func() { _ = st.Close() }()
	one := scenario.Scenario{{Work: "mkfs", Phase: "mkfs"}}
	charged, err := processor.Resolve("600MIPS")
	must.Do(b, err)
	candidates := []string{"ext2", "ext3", "ext4", "xfs", "f2fs", "nilfs2", "jfs", "btrfs -m single", "ext4 -O ^has_journal", "vfat"}
	p := plan.Plan{Study: "bootlin-2023", Scale: "quick", Machine: "fake", Storage: "sim:sd-basic,1G", Clock: result.ClockVirtual, Processor: &charged,
		Candidates: parsed.Candidates(candidates...), Rounds: rounds, Seed: 7, Margin: 0.1, ReadWrite: one, ReadOnly: one, Fleet: true}
	run, err := a.newRun(p)
	must.Do(b, err)
	run.ID = id
	must.Do(b, st.CreateRun(run, rounds*len(candidates)))
	job := a.job(Permission{})
	job.Store, job.Runs, job.Plans, job.release = st, []result.Run{run}, []plan.Plan{p}, func() {}
	must.Do(b, job.share(context.Background()))
	begun := time.Now()
	for {
		shared, err := st.Shared(1)
		must.Do(b, err)
		if len(shared) == 0 {
			break
		}
		time.Sleep(100 * time.Millisecond)
	}
	took := time.Since(begun).Seconds()
	trials, err := st.TrialsWith(id)
	must.Do(b, err)
	if got, err := st.Run(id); err != nil || len(trials) != rounds*len(candidates) || got.State != result.Finished || len(plan.Remaining(plan.Trials(p), trials)) > 0 {
		b.Errorf("%d trials, %s, %v", len(trials), got.State, err)
	}
	return float64(len(trials)) / took
}

// delays are medians in seconds: from enqueuing a job to its begin, and from the end of a worker's job to the
// begin of its next.
func delays(b *testing.B, path, run string) (out []float64) {
	b.Helper()
	c, err := pgx.Connect(context.Background(), path)
	must.Do(b, err)
	defer func() { _ = c.Close(context.Background()) }()
	var queued, next float64
	must.Do(b, c.QueryRow(context.Background(), `SELECT percentile_cont(0.5) WITHIN GROUP (ORDER BY extract(epoch FROM attempted_at - created_at)) FROM river_job WHERE queue = 'run-' || $1 AND priority = 1`, run).Scan(&queued))
	must.Do(b, c.QueryRow(context.Background(), `SELECT coalesce(percentile_cont(0.5) WITHIN GROUP (ORDER BY gap), 0) FROM (
		SELECT extract(epoch FROM attempted_at - lag(finalized_at) OVER (PARTITION BY attempted_by[1] ORDER BY attempted_at)) AS gap FROM river_job WHERE queue = 'run-' || $1) AS gaps WHERE gap IS NOT NULL`, run).Scan(&next))
	return []float64{queued, next}
}

// resident is a process's memory, of which shared pages are divided among their users, in bytes.
func resident(b *testing.B, pid string) (sum int64) {
	b.Helper()
	text, err := os.ReadFile("/proc/" + pid + "/smaps_rollup")
	if err != nil {
		return 0 // it has ended
	}
	for _, line := range strings.Split(string(text), "\n") {
		if f := strings.Fields(line); len(f) > 1 && f[0] == "Pss:" {
			kb, err := strconv.ParseInt(f[1], 10, 64)
			must.Do(b, err)
			sum = kb << 10
		}
	}
	return sum
}

// ofServer is the memory of all processes of PostgreSQL on this machine.
func ofServer(b *testing.B) (sum int64) {
	b.Helper()
	all, err := filepath.Glob("/proc/[0-9]*/comm")
	must.Do(b, err)
	for _, path := range all {
		if name, err := os.ReadFile(path); err == nil && strings.HasPrefix(string(name), "postgres") {
			sum += resident(b, filepath.Base(filepath.Dir(path)))
		}
	}
	return sum
}
