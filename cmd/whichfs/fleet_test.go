package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"whichfs/internal/result"
	"whichfs/internal/result/store"
	"whichfs/internal/testing/database"
	"whichfs/internal/testing/wait"
)

// virtualRun repeats its figures everywhere.
var virtualRun = append(slices.Clone(fourCandidates), "--clock", "virtual", "--cpu", "600MIPS", "--storage", "sim:sd-basic,1G")

// workers start as processes of their own, and end with the test.
func workers(t *testing.T, p *program, names ...string) map[string]*exec.Cmd {
	t.Helper()
	all := map[string]*exec.Cmd{}
	for _, name := range names {
		cmd := p.command("worker", "--machine", "fake", "--name", name, "--lanes", "1", "--label", "fast")
		noError(t, cmd.Start())
		all[name] = cmd
		t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	}
	wait.Until(t, "all workers are there", func() bool {
		list, _ := p.run(t, exitOK, "fleet")
		return !slices.ContainsFunc(names, func(name string) bool { return !strings.Contains(list, "\n"+name+" ") })
	})
	return all
}

// trialsOf are all trials of the latest run.
func trialsOf(t *testing.T, path string) (result.Run, []result.Trial) {
	t.Helper()
	st, err := store.OpenReadOnly(path)
	noError(t, err)
	defer func() { _ = st.Close() }()
	run, err := st.Run("last")
	noError(t, err)
	trials, err := st.Trials(run.ID)
	noError(t, err)
	return run, trials
}

// A worker is killed, and the database: all trials are there once, and the answer is that of one machine
// with the same seed.
func TestFleet(t *testing.T) {
	t.Parallel()
	server := database.Own(t)
	alone := newProgram(t, `{"processor": 0.1}`)
	alone.run(t, exitOK, virtualRun...)
	_, want := trialsOf(t, alone.store())
	answer, _ := alone.run(t, exitOK, "report", "--summary")

	p := newProgram(t, `{"processor": 0.1, "delay": 0.05}`)
	path := server.URL()
	p.env = append(p.env, "WHICHFS_STORE="+path)
	p.run(t, exitOK, "store", "init")
	all := workers(t, p, "a", "b", "c", "d")
	cmd := p.command(append(slices.Clone(virtualRun), "--fleet", "--label", "fast")...)
	var errs bytes.Buffer
	cmd.Stderr = &errs
	noError(t, cmd.Start())
	ended := func(n int) func() bool {
		return func() bool {
			_, list, err := progressOf(path)
			return err == nil && len(list) >= n
		}
	}
	wait.Until(t, "trials end", ended(2))
	noError(t, all["a"].Process.Kill())
	wait.Until(t, "more trials end", ended(6))
	server.Restart(t)
	noError(t, os.WriteFile(filepath.Join(p.dir, "fake.json"), []byte(`{"processor": 0.1}`), 0o600)) // the rest of it is quick
	if err := cmd.Wait(); err != nil {
		t.Fatalf("%v\n%s", err, errs.String())
	}
	run, got := trialsOf(t, path)
	if result.Digest(got) != result.Digest(want) || len(got) != 24 {
		t.Errorf("%d trials with other figures", len(got))
	}
	by := map[string]bool{}
	for _, trial := range got {
		by[trial.Worker] = true
	}
	if len(by) < 3 {
		t.Errorf("trials were done by %v", by)
	}
	if !slices.ContainsFunc(run.Notes, func(n result.Note) bool {
		return strings.Contains(n.Text, "1 of 24 trials were done twice, by different workers")
	}) {
		t.Errorf("%+v", run.Notes)
	}
	if said, _ := p.run(t, exitOK, "report", "--summary"); equalised(said, "") != equalised(answer, "") {
		t.Errorf("%s\ninstead of\n%s", said, answer)
	}
}

// By wall clock a round is one worker's. Ctrl-C leaves the run to the workers; it can be cancelled, and
// resumed.
func TestFleetByRounds(t *testing.T) {
	t.Parallel()
	path := database.Shared(t).URL() // whose password programs have from here on
	p := newProgram(t, endless)
	p.env = append(p.env, "WHICHFS_STORE="+path)
	p.run(t, exitOK, "store", "init")
	cmd := p.command(append(slices.Clone(fourCandidates), "--fleet")...)
	var errs bytes.Buffer
	cmd.Stderr = &errs
	noError(t, cmd.Start())
	wait.Until(t, "it is said that there is no worker", func() bool {
		list, _ := p.run(t, exitOK, "fleet")
		return strings.Contains(list, "there is no worker")
	})
	workers(t, p, "a", "b")
	wait.Until(t, "trials end", func() bool {
		_, list, err := progressOf(path)
		return err == nil && len(list) > 0
	})
	run, _ := trialsOf(t, path)
	noError(t, cmd.Process.Signal(os.Interrupt))
	if err := cmd.Wait(); statusOf(err) != exitInterrupted || !strings.Contains(errs.String(), "the fleet goes on with run "+run.ID) {
		t.Fatalf("%v: %s", err, errs.String())
	}
	if list, _ := p.run(t, exitOK, "runs"); !strings.Contains(list, " running ") {
		t.Errorf("after Ctrl-C:\n%s", list)
	}
	if _, text := p.run(t, exitRefused, "runs", "--delete", run.ID); !strings.Contains(text, "whichfs cancel") {
		t.Errorf("deleting it: %s", text)
	}
	p.run(t, exitOK, "cancel", run.ID)
	if list, _ := p.run(t, exitOK, "runs"); !strings.Contains(list, " interrupted ") {
		t.Errorf("after cancelling:\n%s", list)
	}
	wait.Until(t, "the workers leave it", func() bool {
		list, _ := p.run(t, exitOK, "fleet")
		return strings.Count(list, "waits") == 2
	})
	p.run(t, exitRefused, "cancel", run.ID)
	p.hurry(t)
	p.run(t, exitOK, "resume", run.ID)
	run, got := trialsOf(t, path)
	by := map[int]string{}
	for _, trial := range got {
		if was, there := by[trial.Round]; there && was != trial.Worker {
			t.Errorf("round %d was done by %s and %s", trial.Round, was, trial.Worker)
		}
		by[trial.Round] = trial.Worker
	}
	if len(got) != 24 || run.State != result.Finished {
		t.Errorf("%d trials, %s", len(got), run.State)
	}
	// A file has no fleet, and some requests are one machine's.
	for _, args := range [][]string{{"worker", "--machine", "fake", "--store", "file.db"}, {"fleet", "--store", "file.db"},
		append(slices.Clone(fourCandidates), "--fleet", "--budget", "1m"), append(slices.Clone(fourCandidates), "--fleet", "--destroy", "x"), append(slices.Clone(fourCandidates), "--label", "x")} {
		p.run(t, exitRefused, args...)
	}
}
