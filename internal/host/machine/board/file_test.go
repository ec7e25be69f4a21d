package board

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"whichfs/internal/host/machine"
	"whichfs/internal/result"
	"whichfs/internal/testing/must"
	"whichfs/internal/testing/wait"
)

func TestFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "board.toml")
	must.Do(t, os.WriteFile(path, []byte("connect = \"serial:/dev/ttyUSB0\"\npower = [\"relay\", \"3={action}\"]\noff_seconds = 0.5\nstorage = \"/dev/mmcblk1\"\nidentity = \"SD32G-0x1\"\nnotes = '''\nrevision C,\nwithout a case'''\n"), 0o644))
	m, err := New(path, Options{})
	must.Do(t, err)
	if m.place.Device != "/dev/ttyUSB0" || m.place.Baud != usualBaud || m.Name() != path || m.power.Off != time.Second/2 || m.power.Start != usualStart {
		t.Errorf("%+v, %+v", m.place, m.power)
	}
	for want, spec := range map[string]machine.Spec{
		"":                              {Storage: "/dev/mmcblk1", Destroy: "SD32G-0x1"},
		"board.toml names /dev/mmcblk1": {Storage: "/dev/mmcblk0", Destroy: "SD32G-0x1"},
		"its storage is SD32G-0x1":      {Storage: "/dev/mmcblk1", Destroy: "other"},
	} {
		if err := m.Check(spec); (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", want, err)
		}
	}
}

func TestFileRefused(t *testing.T) {
	const good, console = "connect = \"ssh:root@board\"\n", "connect = \"serial:/dev/ttyUSB0\"\n"
	for text, want := range map[string]string{
		"":                                    "board.toml: connect is missing",
		"connect = \"board\"":                 "board.toml:1: connect machine \"board\" is neither",
		good + "colour = \"red\"":             "board.toml:2:1: unknown key \"colour\"",
		good + "power = \"relay\"":            "board.toml:2:",
		good + "power = [\"relay\"]":          "board.toml:2: power must be a program",
		good + "power = [\"\", \"{action}\"]": "board.toml:2: power must be a program",
		good + "\noff_seconds = -1":           "board.toml:3: off_seconds must be from 0 to 3600",
		good + "start_seconds = nan":          "board.toml:2: start_seconds must be",
		good + "storage = \"loop:1G\"":        "board.toml:2: storage must be a device",
		good + "identity = \"x\"":             "board.toml:2: identity is that of storage",
		good + "notes = ":                     "board.toml:2:",
		good + "[login]\npassword = \"x\"":    "board.toml:3:1: unknown key \"login.password\"",
		good + "[login]\nuser = \"x\"":        "board.toml:3: login.user is for a serial console",
		console + "[agent]\npath = \"x\"":     "board.toml:3: agent.path must be a file of the board",
		console + "[agent]\npath = \"/x y\"":  "board.toml:3: agent.path must be a file of the board",
		console + "[agent]\npath = \"/x/\"":   "board.toml:3: agent.path must be a file of the board",
		console + "[login]\npassword_file = \"x\"\npassword_variable = \"x\"":                                                              "board.toml:3: login.password_file and password_variable",
		console + "[boot_loader]\nboot = [\"boot\"]":                                                                                       "board.toml:2: boot_loader.prompt is missing",
		console + "[boot_loader]\nprompt = \"=>\"\nboot_from = [\"boot\"]":                                                                 "board.toml:4: boot_loader.boot_from must give the kernel {root}",
		console + "power = [\"{action}\"]\n[boot_loader]\nprompt = \"=>\"\nboot_from = [\"{kernel}\", \"{root}\"]":                         "board.toml:3: boot_loader.kernels are what {kernel}",
		console + "power = [\"{action}\"]\n[boot_loader]\nprompt = \"=>\"\nboot_from = [\"{root}\"]\nkernels = { \"6.1\" = \"x\" }":        "board.toml:6: boot_loader.kernels are what {kernel}",
		console + "power = [\"{action}\"]\n[boot_loader]\nprompt = \"=>\"\nboot_from = [\"{kernel} {root}\"]\nkernels = { \"x\" = \"x\" }": "board.toml:6: boot_loader.kernels must be by version",
		console + "[boot_loader]\nprompt = \"=>\"\nboot_from = [\"{root}\"]":                                                               "board.toml:4: boot_loader.boot_from needs power",
		good + "[boot_loader]\nprompt = \"=>\"":                                                                                            "board.toml:3: boot_loader.prompt is that of a serial console",
	} {
		_, err := parseFile("board.toml", []byte(text))
		var e *result.Failure
		if !errors.As(err, &e) || e.Outcome != result.Refused || !strings.HasPrefix(e.Error(), want) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
	if _, err := ReadFile(filepath.Join(t.TempDir(), "none.toml")); err == nil || !strings.Contains(err.Error(), "no such file") {
		t.Errorf("%v", err)
	}
}

func FuzzFile(f *testing.F) {
	f.Add("connect = \"serial:/dev/ttyUSB0\"\n[login]\npassword_file = \"p\"\n[boot_loader]\nprompt = \"=> \"\nboot = [\"boot\"]\n")
	f.Add("connect = \"serial:/dev/ttyUSB0@9600\"\npower = [\"relay\", \"{action}\"]\nstart_seconds = 1e3\n")
	f.Fuzz(func(t *testing.T, text string) {
		b, err := parseFile("board.toml", []byte(text))
		if err != nil {
			if result.FailureOf(err) == nil {
				t.Errorf("%v", err)
			}
			return
		}
		if _, err := Parse(b.Connect); err != nil || b.Power != nil && (b.Power.Off < 0 || b.Power.Start > time.Hour) {
			t.Errorf("%+v: %v", b, err)
		}
	})
}

// A program that switches power may be missing, fail or hang, and an interrupted run leaves the board on.
func TestPower(t *testing.T) {
	dir := t.TempDir()
	did := filepath.Join(dir, "did")
	record := &Power{Command: []string{"sh", "-c", `echo "$1" >>"$2"`, "sh", "{action}", did}}
	must.Do(t, record.turn(t.Context(), "off"))
	must.Do(t, record.restore(t.Context()))
	ctx, cancel := context.WithCancel(t.Context())
	record.Off = wait.Patience
	late := make(chan error, 1)
	must.Do(t, record.turn(ctx, "off"))
	go func() { late <- record.restore(ctx) }()
	cancel()
	if err := <-late; !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
	// Nor does an abandoned cut leave it off.
	record.Off = 0
	(&powerless{cutter: &cutter{session: &session{machine: &Machine{power: record}}}, off: true}).Close()
	if text, _ := os.ReadFile(did); string(text) != "off\non\noff\non\non\n" {
		t.Errorf("%q", text)
	}
	// Nor does one that is given up while it is switched off.
	ctx, cancel = context.WithCancel(t.Context())
	must.Do(t, os.Remove(did))
	slow := &Machine{power: &Power{Command: []string{"sh", "-c", `echo "$1" >>"$2"; [ "$1" = on ] || exec sleep 1000`, "sh", "{action}", did}}}
	go func() { late <- slow.off(ctx) }()
	wait.Until(t, "it is being switched off", func() bool { text, _ := os.ReadFile(did); return string(text) == "off\n" })
	cancel()
	if err := <-late; !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
	if text, _ := os.ReadFile(did); string(text) != "off\non\n" {
		t.Errorf("%q", text)
	}
	defer func(limit time.Duration) { switchLimit = limit }(switchLimit)
	for _, c := range []struct {
		argv       []string
		limit      time.Duration
		want, said string
	}{
		{[]string{"no-such-relay", "{action}"}, time.Minute, "no-such-relay", ""},
		{[]string{"sh", "-c", "echo the relay is stuck: $1 >&2; exit 3", "sh", "{action}"}, time.Minute, "status 3", "the relay is stuck: off"},
		{[]string{"sh", "-c", "sleep 1000 # $1", "sh", "{action}"}, 50 * time.Millisecond, "it has not ended after 50ms", ""},
	} {
		switchLimit = c.limit
		err := (&Power{Command: c.argv}).turn(t.Context(), "off")
		var e *result.Failure
		if !errors.As(err, &e) || e.Outcome != result.LabFailed || !strings.Contains(err.Error(), c.want) || !strings.Contains(e.Hint, c.argv[0]) || c.said != "" && !slices.Contains(e.Console, c.said) {
			t.Errorf("%q: %v, %+v", c.argv, err, e)
		}
	}
}
