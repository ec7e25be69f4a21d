package board_test

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"

	"whichfs/internal/filesystem"
	"whichfs/internal/host/lab"
	"whichfs/internal/host/lab/labtest"
	"whichfs/internal/host/machine"
	"whichfs/internal/host/machine/board"
	"whichfs/internal/host/machine/board/boardtest"
	"whichfs/internal/host/machine/machinetest"
	"whichfs/internal/plan"
	"whichfs/internal/plan/scenario"
	"whichfs/internal/result"
	"whichfs/internal/sys/command"
	"whichfs/internal/target/workload"
	"whichfs/internal/testing/must"
	"whichfs/internal/testing/needs"
	"whichfs/internal/testing/parsed"
)

// without hides programs, their library and their configuration from a server's own mount namespace.
func without(t *testing.T) []string {
	t.Helper()
	var script strings.Builder
	empty := filepath.Join(t.TempDir(), "empty")
	script.WriteString("set -e; : >" + empty + "; ")
	for _, name := range []string{"mkfs.ext4", "e2fsck", "tune2fs", "dumpe2fs", "resize2fs"} {
		if at, err := command.Look(name); err == nil {
			at, err = filepath.EvalSymlinks(at)
			must.Do(t, err)
			script.WriteString("mount --bind " + empty + " " + at + "; ")
		}
	}
	libraries, err := filepath.Glob("/usr/lib/*-linux-gnu/libext2fs.so.2.*")
	must.Do(t, err)
	for _, at := range append(libraries, "/etc/mke2fs.conf") {
		script.WriteString("mount --bind " + empty + " " + at + "; ")
	}
	return boardtest.InMounts(script.String() + `exec "$@"`)
}

// A board without mkfs.ext4, its library and its configuration carries out a trial of ext4 with tools
// that it is sent, and has nothing of them afterwards.
func TestToolsThatTheBoardLacks(t *testing.T) {
	needs.Devices(t)
	image, err := lab.Locate(lab.Native())
	must.Do(t, err)
	b := boardtest.Start(t, boardtest.Options{Around: without(t)})
	tools := trial.Candidate.Filesystem().Needs
	begin := func(which string) (machine.Session, []string) {
		var told []string
		m, err := board.New(b.Name, board.Options{Config: b.Config, Agent: labtest.Agent(t, runtime.GOARCH), Progress: func(text string) { told = append(told, text) }})
		must.Do(t, err)
		with := spec(t)
		with.Programs, with.Tools = tools, which
		s, err := m.Start(t.Context(), with)
		if err != nil {
			t.Fatal(machinetest.Explain(err))
		}
		t.Cleanup(func() { _ = s.Close() })
		return s, told
	}
	s, _ := begin(plan.ToolsBoard)
	support, err := s.Support(t.Context(), []filesystem.Candidate{trial.Candidate})
	if err != nil || !strings.Contains(support.Candidates[0].Reason, "mkfs.ext4 is not installed") {
		t.Errorf("%+v %v", support, err)
	}
	must.Do(t, s.Close())
	for _, which := range []string{plan.ToolsMissing, plan.ToolsLab} {
		s, told := begin(which)
		support, err := s.Support(t.Context(), []filesystem.Candidate{trial.Candidate})
		if err != nil || support.Candidates[0].Reason != "" {
			t.Fatalf("%+v %v", support, err)
		}
		values := map[string]string{}
		for _, c := range support.Conditions {
			values[c.Name] = c.Value
		}
		if !strings.Contains(values["e2fsprogs"], image.Manifest.Packages["e2fsprogs"]) || !strings.Contains(values["sent to the board"], "mkfs.ext4") {
			t.Errorf("%s: %v", which, values)
		}
		if text := strings.Join(told, "\n"); !strings.Contains(text, "mkfs.ext4") || !strings.Contains(text, " MB) to ssh:board") {
			t.Errorf("%s: %s", which, text)
		}
		t.Log(told)
		d, err := s.Trial(t.Context(), trial, machine.Events{})
		if err != nil || d.Outcome != result.Done {
			t.Fatalf("%+v %v", d, err)
		}
		must.Do(t, s.Close())
		nothingLeft(t, b)
	}
}

// A board that keeps the agent keeps the programs that it was sent beside it, unless they were damaged meanwhile or are
// not those of the run.
func TestConsoleKeepsTools(t *testing.T) {
	t.Parallel()
	needs.Guest(t)
	labtest.Guest(t, lab.Native())
	c := boardtest.StartConsole(t, boardtest.ConsoleOptions{})
	at, file := filepath.Join(t.TempDir(), "agent"), filepath.Join(t.TempDir(), "board.toml")
	must.Do(t, os.WriteFile(file, fmt.Appendf(nil, "connect = %q\n[agent]\npath = %q\n", c.Name, at), 0o644))
	session := func(candidate, says string) {
		t.Helper()
		told := ""
		m, err := board.New(file, board.Options{Agent: labtest.Agent(t, runtime.GOARCH), Progress: func(text string) { told += text + "\n" }})
		must.Do(t, err)
		with := spec(t)
		with.Programs, with.Tools = parsed.Candidate(candidate).Filesystem().Needs, plan.ToolsLab
		s, err := m.Start(t.Context(), with)
		if err != nil {
			t.Fatal(machinetest.Explain(err))
		}
		support, err := s.Support(t.Context(), parsed.Candidates(candidate))
		must.Do(t, err)
		if !slices.ContainsFunc(support.Conditions, func(one result.Condition) bool { return one.Name == "sent to the board" }) {
			t.Errorf("%+v", support.Conditions)
		}
		must.Do(t, s.Close())
		if sent := regexp.MustCompile(`sending .*fs\.\w+ |cannot keep`).FindString(told); (sent != "") != (says != "") || !strings.Contains(told, says) {
			t.Errorf("%s: %q, want %q in\n%s", candidate, sent, says, told)
		}
	}
	session("ext4", "mkfs.ext4")
	session("ext4", "")
	must.Do(t, os.WriteFile(at+".tools", []byte("torn"), 0o600))
	session("ext4", "mkfs.ext4")
	session("vfat", "mkfs.vfat")
	session("vfat", "")
	must.Do(t, os.Remove(at+".tools"))
	must.Do(t, os.Mkdir(at+".tools~", 0o755)) // where it would be written
	session("vfat", "cannot keep it as "+at+".tools")
	nothingLeft(t, c)
}

// What BusyBox has under the name of a program of GNU is not what the published command means: that one is sent, but over
// a serial line only to those who ask for it. Without it its phase is absent, and says why.
func TestToolsOfBusyBox(t *testing.T) {
	t.Parallel()
	needs.Devices(t)
	labtest.Guest(t, lab.Native())
	little := boardtest.Options{BusyBox: []string{"cat", "chmod", "cp", "grep", "gzip", "head", "id", "ln", "md5sum", "mkdir", "mv", "readlink", "rm", "sha256sum", "sleep", "stty", "tail", "tar", "uname"}, Only: []string{"busybox"}}
	near, far := boardtest.Start(t, little), boardtest.StartConsole(t, boardtest.ConsoleOptions{Options: little})
	agent := labtest.Agent(t, runtime.GOARCH)
	kind, _ := workload.ByName("tar-null")
	begin := func(b boardtest.Board, o board.Options, which string, sent bool) machine.Session {
		t.Helper()
		told := ""
		o.Config, o.Progress = b.Config, func(text string) { told += text + "\n" }
		m, err := board.New(b.Name, o)
		must.Do(t, err)
		with := spec(t)
		with.Spare, with.Tools = []filesystem.Tool{kind.Program}, which
		s, err := m.Start(t.Context(), with)
		if err != nil {
			t.Fatal(machinetest.Explain(err))
		}
		if strings.Contains(told, "tar (") != sent {
			t.Errorf("%s, tools %s: %s", b.Name, which, told)
		}
		return s
	}
	for which, sent := range map[string]bool{plan.ToolsBoard: false, plan.ToolsMissing: true} {
		s := begin(*near, board.Options{Agent: agent}, which, sent)
		listed := scenario.Step{Work: kind.Name, Phase: "listed", Data: "tree", Dir: "copies"}
		got := machinetest.CarryOut(t, s, "ext4", slices.Insert(machinetest.Scenario(), 9, listed))
		must.Do(t, s.Close())
		wall := got.Figures["listed"][result.Wall]
		said := slices.ContainsFunc(got.Notes, func(n result.Note) bool { return strings.Contains(n.Text, "GNU tar") })
		if said != sent || sent != (wall.Absent == "") || !sent && !strings.Contains(wall.Absent, "tar is not GNU tar") {
			t.Errorf("tools %s: noted %v, %+v", which, said, wall)
		}
	}
	for which, sent := range map[string]bool{plan.ToolsMissing: false, plan.ToolsLab: true} {
		must.Do(t, begin(far.Board, board.Options{Agent: agent, Installed: agent}, which, sent).Close())
	}
	nothingLeft(t, near)
}
