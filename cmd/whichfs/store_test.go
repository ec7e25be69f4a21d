package main

import (
	"bytes"
	"regexp"
	"slices"
	"strings"
	"testing"

	"whichfs/internal/testing/database"
	"whichfs/internal/testing/wait"
)

// The database of a run is killed, and then whichfs: all trials are there once, and the figures are those
// of a run in a file.
func TestRunOnADatabase(t *testing.T) {
	t.Parallel()
	server := database.Shared(t)
	path := server.URL()
	p := newProgram(t, `{}`)
	p.run(t, exitOK, fourCandidates...)
	inFile, _ := p.run(t, exitOK, "runs")
	file := p.store()

	slow, err := programIn(t.TempDir(), endless)
	if err != nil {
		t.Fatal(err)
	}
	slow.env = append(slow.env, "WHICHFS_STORE="+path)
	waitFor := func(trials int) (run string) {
		wait.Until(t, "trials end", func() bool {
			id, ended, err := progressOf(path)
			run = id
			return err == nil && len(ended) >= trials
		})
		return run
	}
	cmd := slow.command(fourCandidates...)
	var errs bytes.Buffer
	cmd.Stderr = &errs
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	run := waitFor(1)
	if _, text := slow.run(t, exitRefused, "resume"); !strings.Contains(text, "another process is carrying out run "+run) {
		t.Errorf("resuming what is going on: %s", text)
	}
	server.Restart(t)
	waitFor(3)
	if list, _ := slow.run(t, exitOK, "runs"); !strings.Contains(list, " running ") {
		t.Errorf("the list of runs:\n%s", list)
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait()
	wait.Until(t, "the mark goes with the process", func() bool {
		list, _ := slow.run(t, exitOK, "runs")
		return strings.Contains(list, " killed ")
	})
	slow.hurry(t)
	slow.run(t, exitOK, "resume")

	id, ended, err := progressOf(path)
	if err != nil || id != run || len(ended) != 24 || len(slices.Compact(slices.Sorted(slices.Values(ended)))) != 24 {
		t.Errorf("run %s: %q, %v", id, ended, err)
	}
	copied, _ := slow.run(t, exitOK, "store", "copy", path, file)
	there, _ := slow.run(t, exitOK, "store", "copy", file, path)
	digests := regexp.MustCompile(` [0-9a-f]{16}\n`).FindAllString(copied+there, -1)
	if len(digests) != 3 || digests[0] != digests[1] || digests[0] != digests[2] {
		t.Errorf("%s%s", copied, there)
	}
	for _, part := range []string{" finished ", " 24/24 "} {
		if list, _ := slow.run(t, exitOK, "runs"); strings.Count(list, part) != 2 || !strings.Contains(inFile, part) {
			t.Errorf("the list of runs:\n%s", list)
		}
	}
	if text, _ := slow.run(t, exitOK, "store", "init"); !strings.Contains(text, "CREATE ROLE whichfs_viewer") {
		t.Error(text)
	}
	slow.run(t, exitOK, "runs", "--delete", run)
}
