package blockdev_test

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"whichfs/internal/sys/command"
	"whichfs/internal/target/blockdev"
	"whichfs/internal/testing/needs"
)

const helperVariable = "WHICHFS_TEST_HELPER"

func TestMain(m *testing.M) {
	switch os.Getenv(helperVariable) {
	case "":
		os.Exit(m.Run())
	case "disk":
		if _, err := blockdev.NewDisk(1 << 20); err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
		fmt.Println("made")
		_, _ = io.Copy(io.Discard, os.Stdin) // until it is killed
	case "guest":
		inGuest()
	}
}

// loops are the loop devices whose file names contain a part.
func loops(part string) (out []string) {
	files, _ := filepath.Glob("/sys/block/loop*/loop/backing_file")
	for _, f := range files {
		// One that is just being detached no longer has such a file.
		if text, err := os.ReadFile(f); err == nil && strings.Contains(string(text), part) {
			out = append(out, f+": "+string(text))
		}
	}
	return out
}

// A killed process leaves no device behind.
func TestDiskDiesWithProcess(t *testing.T) {
	needs.Devices(t)
	in, hold, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	said, out, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	p, err := command.Start(command.Options{Stdin: in, Stdout: out, Env: []string{helperVariable + "=disk"}}, os.Args[0])
	if err != nil {
		t.Fatal(err)
	}
	line := make([]byte, 100)
	n, err := said.Read(line)
	if err != nil || string(line[:n]) != "made\n" {
		t.Fatalf("%q %v", line[:n], err)
	}
	theirs := fmt.Sprintf("memfd:whichfs-disk-%d-", p.Pid())
	if l := loops(theirs); len(l) != 1 {
		t.Error(l)
	}
	if err := p.Kill(); err != nil {
		t.Fatal(err)
	}
	if l := loops(theirs); len(l) > 0 {
		t.Error(l)
	}
	for _, f := range []*os.File{in, hold, said, out} {
		_ = f.Close()
	}
}
