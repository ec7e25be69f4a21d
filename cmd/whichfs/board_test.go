package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"whichfs/internal/host/lab/labtest"
	"whichfs/internal/host/machine"
	"whichfs/internal/host/machine/board/boardtest"
	"whichfs/internal/sys/command"
	"whichfs/internal/testing/wait"
)

// onBoard is the program, for which "board" is a board's name.
func onBoard(t *testing.T, b *boardtest.Board) *program {
	t.Helper()
	p := newProgram(t, "{}")
	ssh, err := command.Look("ssh")
	noError(t, err)
	dir := filepath.Join(p.dir, "bin")
	noError(t, os.Mkdir(dir, 0o755))
	noError(t, os.WriteFile(filepath.Join(dir, "ssh"), fmt.Appendf(nil, "#!/bin/sh\nexec %s -F %s \"$@\"\n", ssh, b.Config), 0o755))
	p.env = append(p.env, "PATH="+dir+":"+os.Getenv("PATH"), machine.AgentVariable+"="+labtest.Agent(t, runtime.GOARCH))
	return p
}

// A run on a board loses its connection in the middle of a trial, which is tried once more over a new
// one. The report is about the board.
func TestRunOnBoard(t *testing.T) {
	flag := filepath.Join(t.TempDir(), "flag")
	b := boardtest.Start(t, boardtest.Options{Tools: map[string]string{
		"mkfs.ext4": fmt.Sprintf("#!/bin/sh\n[ -e %s ] || { touch %s; sleep 1000; }\nexec /usr/sbin/mkfs.ext4 \"$@\"\n", flag, flag)}})
	p := onBoard(t, b)
	run := p.command("run", "bootlin-2023", "--machine", b.Name, "--storage", "loop:64M", "--data", "tree", "--rounds", "1", "--candidates", "ext4")
	var out, errs bytes.Buffer
	run.Stdout, run.Stderr = &out, &errs
	noError(t, run.Start())
	ended := make(chan error, 1)
	go func() { ended <- run.Wait() }()
	wait.Until(t, "a trial begins", func() bool {
		_, err := os.Stat(flag)
		return err == nil || len(ended) > 0
	})
	b.Cut()
	if err := wait.For(t, "the end of the run", ended); err != nil {
		t.Fatalf("%v\n%s", err, errs.String())
	}
	for text, in := range map[string]string{
		"the connection to ssh:board was lost": errs.String(), "trying once more": errs.String(), "on   ssh:board, loop:64M": out.String(),
	} {
		if !strings.Contains(in, text) {
			t.Errorf("%q is not in\n%s", text, in)
		}
	}
	wait.While(t, func() string { return strings.Join(b.Left(), " ") })
}

func noError(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
