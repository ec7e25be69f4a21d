package board

import (
	"fmt"
	"strings"
	"testing"

	"whichfs/internal/filesystem"
	"whichfs/internal/result"
	"whichfs/internal/wire"
)

// What a filesystem lacks is sent, or named with what helps. That its driver is missing no program mends.
func TestSupported(t *testing.T) {
	fs := filesystem.Filesystem{Name: "x", Needs: []filesystem.Tool{{Program: "mkfs.x", Package: "x"}, {Program: "fsck.x", Package: "x", Optional: true}}}
	absent := result.Support{Outcome: result.Unsupported, Reason: fs.Needs[0].Absent(), Hint: "apt-get install x"}
	driver := result.Support{Outcome: result.Unsupported, Reason: "this kernel has no driver for X", Hint: "use another"}
	both := []string{"mkfs.x", "fsck.x"}
	for name, c := range map[string]struct {
		agent         result.Support
		missing, sent []string
		want          string // what works, is sent, lacks, reason and help
	}{
		"all there":      {result.Support{}, nil, nil, "true [] [] "},
		"all sent":       {absent, both, both, "true [mkfs.x fsck.x] [] "},
		"maker sent":     {absent, both, both[:1], "true [mkfs.x] [fsck.x] "},
		"check missing":  {result.Support{}, both[1:], nil, "true [] [fsck.x] build it"},
		"none sent":      {absent, both, nil, "false [] [mkfs.x fsck.x] mkfs.x is not installedbuild it"},
		"no driver":      {driver, both, both, "false [] [] this kernel has no driver for Xuse another"},
		"nothing at all": {driver, both, nil, "false [] [mkfs.x fsck.x] this kernel has no driver for Xuse another"},
	} {
		help := "build it"
		if len(c.sent) > 0 {
			help = ""
		}
		got := supported(fs, c.agent, c.missing, c.sent, help)
		if text := fmt.Sprintf("%v %v %v %s%s", got.Works, got.Sent, got.Lacks, got.Reason, got.Help); text != c.want {
			t.Errorf("%s: %s, want %s", name, text, c.want)
		}
	}
}

// The device under test is the file's, and exactly that one, or any that may be overwritten.
func TestTested(t *testing.T) {
	devices := []wire.Device{{Path: "/dev/mmcblk0", ID: "root", Usable: "no: it carries the root filesystem"}, {Path: "/dev/mmcblk1", ID: "card's", Usable: "with --destroy card's", Takes: true}}
	for name, c := range map[string]struct {
		file    File
		devices []wire.Device
		run     string // the end of the command
		fails   string
	}{
		"any":      {File{}, devices, "--storage /dev/mmcblk1 --destroy 'card'\\''s'", ""},
		"none":     {File{}, devices[:1], "--storage loop:256M", ""},
		"file's":   {File{Storage: "/dev/mmcblk1", Identity: "card's"}, devices, "--machine board.toml --destroy 'card'\\''s'", ""},
		"gone":     {File{Storage: "/dev/mmcblk1"}, devices[:1], "", "no device /dev/mmcblk1"},
		"in use":   {File{Storage: "/dev/mmcblk0"}, devices, "", "/dev/mmcblk0 cannot be used: it carries"},
		"another":  {File{Storage: "/dev/mmcblk1", Identity: "mine"}, devices, "", "/dev/mmcblk1 is card's, and the file says mine"},
		"no board": {File{}, nil, "--storage loop:256M", ""},
	} {
		e := Examined{Works: true}
		e.Devices = c.devices
		e.storage(c.file, "/var/tmp")
		p := e.Points[0]
		if e.Works != (c.fails == "") || !strings.Contains(p.Note, c.fails) || (p.Help == "") != e.Works {
			t.Errorf("%s: %+v", name, p)
		}
		m := &Machine{place: Place{Name: "board.toml"}, file: c.file}
		if run := Typed(m.command(c.devices)); e.Works && !strings.HasSuffix(run, c.run) {
			t.Errorf("%s: %s", name, run)
		}
	}
}

func TestClockOfBoard(t *testing.T) {
	for text, want := range map[string]string{"52": "steps of 52.0 ns", "4000000": "too coarse", "0": "too coarse"} {
		var e Examined
		if err := e.clock(text); err != nil || !strings.Contains(e.Points[0].Note, want) {
			t.Errorf("%s: %+v, %v", text, e.Points, err)
		}
	}
	if err := new(Examined).clock("fast"); result.FailureOf(err) == nil {
		t.Errorf("%v", err)
	}
}
