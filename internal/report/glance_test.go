package report

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"whichfs/internal/judge/verdict"
	"whichfs/internal/result"
)

func glanceOf(t *testing.T, v verdict.Verdict, s TextOptions) string {
	t.Helper()
	var b bytes.Buffer
	if err := Glance(&b, v, s); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// What is printed by default fits on a screen of 80 columns, for every kind of run.
func TestGlance(t *testing.T) {
	v, _ := sample()
	v.Uses[0].Needed = 9
	for name, screen := range map[string]TextOptions{"sample.glance": {Width: 80}, "sample.plain": {Width: 80, Plain: true}} {
		golden(t, name, []byte(glanceOf(t, v, screen)))
	}
	toy, _ := toySample(t)
	flash, _ := toyFlash(t)
	survival, _ := survivalSample(t)
	for name, v := range map[string]verdict.Verdict{"sample": v, "toy": toy, "flash": flash, "survival": survival, "empty": {}} {
		text := glanceOf(t, v, TextOptions{Width: 80})
		if lines := strings.Count(text, "\n"); lines > screenful {
			t.Errorf("%s: %d lines:\n%s", name, lines, text)
		}
		if name != "empty" && !strings.Contains(text, "whichfs report "+v.Run.ID+" --all") {
			t.Errorf("%s does not say where the rest is:\n%s", name, text)
		}
	}
}

// What is open names the command that settles it, if one does.
func TestGlanceSettles(t *testing.T) {
	for _, c := range []struct {
		state  result.RunState
		needed int
		want   string
	}{{result.Finished, 9, "whichfs resume RUN --rounds 12"}, {result.Finished, 0, ""}, {result.Interrupted, 9, "whichfs resume RUN"}} {
		v, _ := sample()
		v.Run.ID, v.Run.State, v.Uses[0].Needed = "RUN", c.state, c.needed
		text := glanceOf(t, v, TextOptions{})
		if shown := strings.Contains(text, "→ "+c.want+"\n"); shown != (c.want != "") || c.want == "" && strings.Contains(text, "resume") {
			t.Errorf("%+v:\n%s", c, text)
		}
	}
}

// A busy machine is named once, and a machine other than the lab.
func TestGlanceOfBusyBoard(t *testing.T) {
	v, _ := sample()
	v.Run.Machine, v.Load = "ssh:board", &verdict.Load{Text: "This machine was busy."}
	v.Warnings = append([]string{v.Load.Text}, v.Warnings...)
	text := glanceOf(t, v, TextOptions{})
	if strings.Count(text, v.Load.Text) != 1 || !strings.Contains(text, "ssh:board, "+v.Run.Storage) {
		t.Error(text)
	}
}

// Plain text has neither bars nor lines nor marks that are read aloud as signs.
func TestPlainText(t *testing.T) {
	v, _ := sample()
	var b bytes.Buffer
	if err := Text(&b, v, TextOptions{Plain: true}); err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(b.String()) {
		if strings.ContainsAny(line, "─█▏▎▍▌▋▊▉▁▂▃▄▅▆▇✓✗→\x1b") {
			t.Errorf("a sign in %q", line)
		}
	}
	for _, want := range []string{"Note: These figures come from", "Open: ext4 against ext2", "agrees: EROFS reads"} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("%q is missing:\n%s", want, fmt.Sprint(&b))
		}
	}
}
