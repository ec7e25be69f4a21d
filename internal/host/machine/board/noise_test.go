package board_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"whichfs/internal/host/experiment"
	"whichfs/internal/host/lab/labtest"
	"whichfs/internal/host/machine"
	"whichfs/internal/host/machine/board"
	"whichfs/internal/host/machine/board/boardtest"
	"whichfs/internal/host/machine/machinetest"
	"whichfs/internal/plan"
	"whichfs/internal/result"
	"whichfs/internal/result/store"
	"whichfs/internal/testing/must"
	"whichfs/internal/testing/parsed"
	"whichfs/internal/wire"
)

// noiseVariable is for how long whole runs are carried out on a noisy line: "1h". Without it, one is.
const noiseVariable = "WHICHFS_SERIAL_NOISE"

// tap is an agent that keeps what it sends to the host, before the line has it.
func tap(t *testing.T) (agent, log string) {
	t.Helper()
	dir := t.TempDir()
	agent, log = filepath.Join(dir, "agent"), filepath.Join(dir, "sent")
	script := fmt.Sprintf("#!/bin/sh\nif [ \"$1\" = board ]; then %[1]s board | tee -a %[2]s; else exec %[1]s \"$@\"; fi\n", labtest.Agent(t, runtime.GOARCH), log)
	must.Do(t, os.WriteFile(agent, []byte(script), 0o755))
	return agent, log
}

// sent are the trials that an agent has reported as done, each with all its figures.
func sent(t *testing.T, log string) (trials []string, messages int) {
	t.Helper()
	f, err := os.Open(log)
	must.Do(t, err)
	defer f.Close()
	c := wire.New(f, io.Discard, nil)
	var all []result.Measurement
	for {
		m, err := c.Receive()
		if errors.Is(err, io.EOF) {
			return trials, messages
		}
		if errors.Is(err, wire.ErrCorrupt) { // of an agent that was ended
			all = nil
			continue
		}
		must.Do(t, err)
		messages++
		switch m.Kind {
		case wire.KindFigures:
			var f wire.Figures
			must.Do(t, m.Decode(&f))
			for _, m := range f.Measurements {
				all = append(all, m.In(f.Phase))
			}
		case wire.KindDone:
			var d wire.Done
			must.Do(t, m.Decode(&d))
			if d.Outcome == result.Done {
				trials = append(trials, written(t, all))
			}
			all = nil
		}
	}
}

// written are figures as text, in an order that depends on nothing but them.
func written(t *testing.T, all []result.Measurement) string {
	t.Helper()
	var lines []string
	for _, m := range all {
		line, err := json.Marshal(m)
		must.Do(t, err)
		lines = append(lines, string(line))
	}
	slices.Sort(lines)
	return strings.Join(lines, "\n")
}

// unlike are the lines of a text that the most similar of some others lacks.
func unlike(text string, others []string) string {
	least := strings.Split(text, "\n")
	for _, other := range others {
		had := strings.Split(other, "\n")
		if left := slices.DeleteFunc(strings.Split(text, "\n"), func(line string) bool { return slices.Contains(had, line) }); len(left) < len(least) {
			least = left
		}
	}
	return strings.Join(least, ", ")
}

// disturbed is a board whose line is noisy while an agent has it: what types into a shell is a person, too.
type disturbed struct {
	*board.Machine
	c       *boardtest.Console
	console *[]string // what the last session has heard of the kernel
}

type disturbedSession struct {
	machine.Session
	of disturbed
}

func (d disturbed) Start(ctx context.Context, spec machine.Spec) (machine.Session, error) {
	d.c.Disturb(false)
	s, err := d.Machine.Start(ctx, spec)
	return disturbedSession{s, d}, err
}

func (s disturbedSession) Close() error {
	*s.of.console = s.Session.(machine.Consoler).Console()
	s.of.c.Disturb(false)
	return s.Session.Close()
}

// A line that tears, flips and drops a byte in a hundred, between messages of the kernel, carries whole runs all
// the same: every figure is the agent's, and no trial counts as done that was not. The kernel's messages are the
// session's console.
func TestNoisyConsole(t *testing.T) {
	t.Parallel()
	c := boardtest.StartConsole(t, boardtest.ConsoleOptions{Baud: 115200, Kernel: 10 * time.Millisecond, Damage: 0.01})
	agent, log := tap(t)
	m, err := board.New(c.Name, board.Options{Agent: agent, Installed: agent, Progress: func(text string) {
		t.Log(text)
		if strings.HasPrefix(text, "the agent has taken over") {
			c.Disturb(true)
		}
	}})
	must.Do(t, err)
	st, err := store.Open(filepath.Join(t.TempDir(), "results.db"))
	must.Do(t, err)
	t.Cleanup(func() { _ = st.Close() })
	candidates, rounds, data := []string{"ext4"}, 1, machinetest.Data(t)
	lasting := time.Duration(0)
	if text := os.Getenv(noiseVariable); text != "" {
		lasting, err = time.ParseDuration(text)
		must.Do(t, err)
		candidates, rounds = []string{"ext4", "ext4 -O ^has_journal", "ext2"}, 3
	}
	var console []string
	done := 0
	for begun, n := time.Now(), 1; n == 1 || time.Since(begun) < lasting; n++ {
		p := plan.Plan{Study: "bootlin-2023", Scale: "quick", Machine: c.Name, Storage: "loop:64M", Candidates: parsed.Candidates(candidates...), Rounds: rounds, Seed: uint64(n), Margin: 0.1, ReadWrite: machinetest.Scenario(), KeepDisturbed: true, Data: data}
		run := result.Run{ID: fmt.Sprint(n), Study: p.Study, Scale: p.Scale, Machine: c.Name, Storage: p.Storage, Seed: p.Seed, Rounds: rounds, Candidates: candidates, Margin: p.Margin, Started: time.Now(), State: result.Running, Plan: []byte("{}")}
		must.Do(t, st.CreateRun(run, rounds*len(candidates)))
		e := experiment.Experiment{Run: run, Plan: p, Machine: disturbed{m, c, &console}, Store: st, Spec: machine.Spec{Storage: p.Storage, Work: t.TempDir(), Data: data},
			Observer: experiment.Observer{Ended: func(one result.Trial) {
				t.Logf("run %d, round %d, %s: %s %s", n, one.Round, one.Candidate, one.Outcome, one.Reason)
			}}}
		if err := e.Carry(t.Context()); err != nil {
			t.Fatal(machinetest.Explain(err))
		}
		trials, err := st.Trials(run.ID)
		must.Do(t, err)
		truth, messages := sent(t, log)
		for _, one := range trials {
			if one.Outcome != result.Done {
				t.Errorf("run %d: %+v", n, one)
				continue
			}
			done++
			has := written(t, one.Measurements)
			at := slices.Index(truth, has)
			if at < 0 {
				t.Fatalf("run %d: the agent has measured no trial with the figures of %s in round %d, but without these ones of them: %s", n, one.Candidate, one.Round, unlike(has, truth))
			}
			truth = slices.Delete(truth, at, at+1)
		}
		t.Logf("after %v: %d trials done in %d runs, %d messages of the agent", time.Since(begun).Round(time.Second), done, n, messages)
	}
	if text := strings.Join(console, "\n"); !strings.Contains(text, "mmc0: tuned") {
		t.Error(text)
	}
	nothingLeft(t, c)
}
