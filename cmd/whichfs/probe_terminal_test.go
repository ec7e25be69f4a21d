package main

import (
	"bytes"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"whichfs/internal/wire"
)

// On a terminal a line shows the progress of a probe; Ctrl-C ends it, shows the
// partial results and says so, and leaves the terminal as it was.
func TestProbeIsInterrupted(t *testing.T) {
	t.Parallel()
	p := newProgram(t, `{"delay": 60}`)
	term := onTerminal(t, p.command("probe", "disk:1G", "--machine", "fake"))
	before := term.settings(t)
	term.waitFor(t, `━*─+ +0 %  scripted part, \d+ s so far`)
	if _, err := term.master.Write([]byte{3}); err != nil {
		t.Fatal(err)
	}
	if status := term.status(t); status != 130 {
		t.Errorf("status %d", status)
	}
	term.waitFor(t, `partial: it was stopped`, `Reading +40.0 MB/s`, `whichfs: interrupted`, `the results up to then are shown but not stored`)
	if strings.Contains(term.text(), "stored as") {
		t.Error("a partial report was stored")
	}
	balanced(t, term, before)

	// The same elsewhere, with several lines instead of one.
	cmd := p.command("probe", "disk:1G", "--machine", "fake")
	var out bytes.Buffer
	cmd.Stdout = &out
	errs, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	said := ""
	for b := make([]byte, 4096); !strings.Contains(said, "  0 %  scripted part\n"); {
		n, err := errs.Read(b)
		if said += string(b[:n]); err != nil {
			t.Fatalf("%v after %q", err, said)
		}
	}
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	var rest bytes.Buffer
	if _, err := rest.ReadFrom(errs); err != nil {
		t.Fatal(err)
	}
	if status := statusOf(cmd.Wait()); status != 130 || !strings.Contains(out.String(), "partial: ") || !strings.Contains(rest.String(), "interrupted") {
		t.Errorf("status %d\n%s%s", status, out.String(), rest.String())
	}
	if _, err := os.Stat(p.store()); err != nil {
		t.Error(err)
	}
}

func TestWorkingLine(t *testing.T) {
	for _, c := range []struct {
		width int
		left  string
		want  string
	}{
		{80, "", "━━━━━━━━━━──────────  50 %  Segment size, 65 s so far"},
		{80, "about 9 s left", "━━━━━━━━━━──────────  50 %  Segment size, 65 s so far, about 9 s left"},
		{40, "", "━━━━━━━━━━──────────  50 %  Segment si…"},
		{1, "", "━━━━━━━━━━─────────…"},
	} {
		if got := workingLine(wire.Progress{What: "Segment size", Share: 0.5}, 65*time.Second, c.left, c.width); got != c.want {
			t.Errorf("%d: %q", c.width, got)
		}
	}
	if got := workingLine(wire.Progress{}, 0, "", 80); !strings.Contains(got, "  0 %  starting") {
		t.Errorf("%q", got)
	}
}
