package main

import (
	"io/fs"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// everything lists the files below a directory with the times of their changes, without those that SQLite makes
// beside a store that is read.
func everything(t *testing.T, dir string) (files []string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || strings.HasSuffix(path, ".db-wal") || strings.HasSuffix(path, ".db-shm") {
			return err
		}
		info, err := d.Info()
		files = append(files, path+" "+info.ModTime().String())
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// Without a command, whichfs says in a terminal what to do next, by what is there, and touches nothing.
func TestStart(t *testing.T) {
	t.Parallel()
	p := newProgram(t, `{"delay": 0.01}`)
	p.env = append(p.env, "HOME="+p.dir)
	shows := func(want ...string) {
		t.Helper()
		before := everything(t, p.dir)
		term := onTerminal(t, p.command())
		if status := term.status(t); status != exitOK {
			t.Errorf("status %d", status)
		}
		term.waitFor(t, append(want, `whichfs --help lists all commands`)...)
		if n := len(regexp.MustCompile(`(?m)^  \d\. `).FindAllString(words(term.text()), -1)); n != mostSteps {
			t.Errorf("%d steps:\n%s", n, term.text())
		}
		if after := everything(t, p.dir); !slices.Equal(before, after) {
			t.Errorf("it changed %v into %v", before, after)
		}
	}
	shows(`\. whichfs run\r?\n +asks what storage and what work`, `\. whichfs recommend --need`)
	p.run(t, 0, "run", "bootlin-2023", "--machine", "fake", "--data", "tree", "--rounds", "1", "--candidates", "ext4; xfs")
	shows(`\. whichfs report \S+\r?\n +shows the latest finished run: bootlin-2023 on sim:sd-basic,1G`, `\. whichfs recommend\r?\n`)
	p.run(t, 0, "run", "bootlin-2023", "--machine", "fake", "--data", "tree", "--rounds", "9", "--candidates", "ext4; xfs", "--budget", "1ms")
	shows(`\. whichfs resume \S+\r?\n +finishes bootlin-2023 on .*: \d of 18 trials done`, `\. whichfs report `)
}

// What a run lacks is asked for in a terminal, with defaults.
func TestQuestions(t *testing.T) {
	t.Parallel()
	p := newProgram(t, `{}`)
	term := onTerminal(t, p.command("run", "--machine", "fake", "--data", "tree", "--rounds", "1", "--candidates", "ext4; xfs"))
	before := term.settings(t)
	types := func(text string) {
		t.Helper()
		if _, err := term.master.WriteString(text + "\n"); err != nil {
			t.Fatal(err)
		}
	}
	term.waitFor(t, `What storage\?`, `1  sim:sd-basic,1G +`, `7  nand:128M`)
	types("99")
	term.waitFor(t, `The numbers are 1 to 7\.`)
	types("nor:1G")
	term.waitFor(t, `unknown storage|nor:1G`)
	types("3")
	term.waitFor(t, `What work\?`, `1  bootlin-2023 +a device's root filesystem`)
	types("")
	term.waitFor(t, `The same without questions: whichfs run bootlin-2023 --machine fake --storage sim:emmc,1G\r?\n`)
	if status := term.status(t); status != exitOK {
		t.Errorf("status %d", status)
	}
	term.waitFor(t, `on +fake, sim:emmc,1G`, `trials: 2 of 2 trials done`)
	balanced(t, term, before)
}

// The key ends the program at a question as well.
func TestInterruptedQuestion(t *testing.T) {
	t.Parallel()
	p := newProgram(t, `{}`)
	term := onTerminal(t, p.command("run", "--machine", "fake"))
	term.waitFor(t, `What storage\?`)
	if _, err := term.master.Write([]byte{3}); err != nil {
		t.Fatal(err)
	}
	if status := term.status(t); status != exitInterrupted {
		t.Errorf("status %d", status)
	}
}

// Plain output on a terminal moves no cursor, and has no colours.
func TestPlainTerminal(t *testing.T) {
	t.Parallel()
	p := newProgram(t, `{}`)
	term := onTerminal(t, p.command("run", "bootlin-2023", "--machine", "fake", "--data", "tree", "--rounds", "1", "--candidates", "ext4; xfs", "--plain"))
	if status := term.status(t); status != exitOK {
		t.Errorf("status %d", status)
	}
	term.waitFor(t, `\[2/2\] round 1`, `Rank +Candidate`, `trials: 2 of 2 trials done`)
	if strings.ContainsAny(term.text(), "\x1b─█") {
		t.Errorf("%q", term.text())
	}
}
