package board

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"whichfs/internal/host/machine"
	"whichfs/internal/result"
	"whichfs/internal/sys/command"
	"whichfs/internal/testing/must"
)

func TestParse(t *testing.T) {
	for name, want := range map[string]string{
		"ssh:board":                  "-- board",
		"ssh:root@board":             "-l root -- board",
		"ssh:root@board:2222":        "-l root -p 2222 -- board",
		"ssh:a@b@board":              "-l a@b -- board",
		"ssh:192.168.1.7:22":         "-p 22 -- 192.168.1.7",
		"ssh:[fe80::1%eth0]":         "-- fe80::1%eth0",
		"ssh:pi@[2001:db8::1]:22022": "-l pi -p 22022 -- 2001:db8::1",
	} {
		p, err := Parse(name)
		if got := strings.Join(p.words(), " "); err != nil || got != want {
			t.Errorf("%s: %q %v, want %q", name, got, err, want)
		}
	}
	for name, want := range map[string]Place{
		"serial:/dev/ttyUSB0":                         {Device: "/dev/ttyUSB0", Baud: 115200},
		"serial:/dev/ttyS1@921600":                    {Device: "/dev/ttyS1", Baud: 921600},
		"serial:/dev/serial/by-id/usb-1@a-port0@9600": {Device: "/dev/serial/by-id/usb-1@a-port0", Baud: 9600},
	} {
		p, err := Parse(name)
		if want.Name = name; err != nil || p != want {
			t.Errorf("%s: %+v %v", name, p, err)
		}
	}
	for name, why := range map[string]string{
		"ssh:": "names no host", "ssh:@board": "empty user", "ssh:root@": "names no host", "ssh:board:": "not a port",
		"ssh:board:0": "not a port", "ssh:board:99999": "not a port", "ssh:fe80::1": "too many colons", "ssh:-oProxyCommand=reboot": "neither a user nor a host",
		"ssh:-l@board": "neither a user nor a host", "ssh:a b": "neither a user nor a host", "ssh:$(reboot)": "neither a user nor a host", "tcp:x": "neither reached by ssh",
		"serial:": "names no device", "serial:ttyUSB0": "named from the root", "serial:/dev/ttyUSB0@fast": "not a speed", "serial:/dev/ttyUSB0@0": "not a speed",
	} {
		_, err := Parse(name)
		if f := result.FailureOf(err); f == nil || f.Outcome != result.Refused || !strings.Contains(f.Error(), why) {
			t.Errorf("%s: %v does not say %q", name, err, why)
		}
	}
}

// words that shells read differently.
var odd = []string{"", "plain", "two words", "it's", `back\slash`, `two\\`, `end\`, "wait!", "!!", "$HOME", "`id`", `"quoted"`, "a;b&c|d<e>f", "*?[a]{b,c}~#", "(x)", "%s^", `'\''`, "-n", "tab\there", "äöü"}

// Every shell that a login may have reads a quoted word as it was.
func TestQuoted(t *testing.T) {
	for _, shell := range [][]string{{"sh", "-c"}, {"bash", "-c"}, {"busybox", "sh", "-c"}, {"fish", "-c"}, {"tcsh", "-f", "-c"}} {
		if _, err := command.Look(shell[0]); err != nil {
			t.Logf("%s is not installed", shell[0])
			continue
		}
		for _, word := range odd {
			text, err := commandLine([]string{"exec", "printf", "%s|", word, "end"})
			must.Do(t, err)
			r, err := command.Run(t.Context(), command.Options{}, append(slices.Clone(shell), text)...)
			if want := word + "|end|"; err != nil || r.Stdout != want {
				t.Errorf("%s reads %s as %q, %v", shell[0], text, r.Stdout, err)
			}
		}
	}
	for _, word := range []string{"two\nlines", "nul\x00", "carriage\r"} {
		if text, err := quoted(word); err == nil {
			t.Errorf("%q became %s", word, text)
		}
	}
}

// What fish and csh read differently is not in scripts, and BusyBox and dash accept them.
func TestScripts(t *testing.T) {
	for name, script := range map[string]string{"ask": ask, "keep": keep, "receive": receive, "forget": forget, "start": start, "takeOver": takeOver, "askPlace": askPlace, "adopt": adopt, "describing": describing, "lacking": lacking, "clockScript": clockScript, "speedScript": speedScript, "unfold": unfold} {
		if strings.ContainsAny(script, "'!\\\n") {
			t.Errorf("%s: %s", name, script)
		}
		for _, shell := range [][]string{{"sh"}, {"busybox", "sh"}} {
			if _, err := command.Look(shell[0]); err != nil {
				continue
			}
			if _, err := command.Run(t.Context(), command.Options{}, append(shell, "-n", "-c", script)...); err != nil {
				t.Errorf("%s, %s: %v", name, shell[0], err)
			}
		}
	}
}

func TestDescribe(t *testing.T) {
	d := describe(strings.Split(`machine=aarch64
as=sudo
user=pi
MemTotal:=460000
MemFree:=10000
MemAvailable:=200000
memory=rootfs / rw 0 0
memory=tmpfs /run rw,nosuid,nodev,noexec,size=92000k 92000 91000
memory=tmpfs /dev/shm rw 230000 1000
memory=tmpfs /dev/shm rw,nosuid,nodev 230000 150000
memory=tmpfs /tmp rw 230000 149000
memory=tmpfs /run/user/1000 rw 46000 460000
memory=tmpfs /my\040dir rw 460000 460000
memory=tmpfs /sys/fs/cgroup rw 460000 460000
has=gunzip
has=sha256sum
work=/var/tmp`, "\n"))
	if arch, err := d.goarch(); arch != "arm64" || err != nil || d.memory != 200000<<10 || d.work != "/var/tmp" || d.unpacker() != "gunzip -c" || d.digester("/x/agent") != "sha256sum" {
		t.Errorf("%+v", d)
	}
	d.places = d.places[1:] // without the root, which has no limit
	if dir, err := d.choose(10 << 20); dir != "/dev/shm" || err != nil {
		t.Errorf("%s %v", dir, err)
	}
	refused := func(err error, words ...string) {
		t.Helper()
		f := result.FailureOf(err)
		for _, word := range words {
			if f == nil || f.Outcome != result.Refused || !strings.Contains(f.Error()+f.Hint, word) {
				t.Errorf("%v does not say %q", err, word)
			}
		}
	}
	_, err := d.choose(200 << 20)
	refused(err, "146 MiB are free in /dev/shm", "200 MiB", "remount,size=400M")
	_, err = described{places: d.places[:1]}.choose(1)
	refused(err, "/run is mounted noexec", "mount -t tmpfs")
	_, err = described{}.choose(1)
	refused(err, "no filesystem in memory (tmpfs)")
	refused(d.afford(30<<20, 300<<20), "195 MiB are available", "330 MiB", "30 for the agent and 300 for data")
	if err := d.afford(30<<20, 100<<20); err != nil {
		t.Error(err)
	}
	_, err = described{as: "none", user: "pi"}.asRoot()
	refused(err, "pi has no root rights", "NOPASSWD")
	old := describe([]string{"MemFree:=1000", "memory=ramfs /tmp rw"})
	if dir, err := old.choose(1000); dir != "/tmp" || err != nil || old.memory != 1000<<10 {
		t.Errorf("%+v %s %v", old, dir, err)
	}
	for _, machine := range []string{"ppc", "sparc64", "i686", ""} {
		if _, err := (described{machine: machine}).goarch(); result.FailureOf(err).Outcome != result.Unsupported {
			t.Errorf("%q: %v", machine, err)
		}
	}
	for line, want := range map[string]string{"mips": "mips", "mips order=\x02": "mips", "mips order=\x01": "mipsle", "mips64 order=\x01": "mipsle", "armv5tejl order=\x01": "armv5", "armv6l order=\x01": "armv5", "ppc64": "ppc64"} {
		arch, err := describe(strings.Fields("machine=" + line)).goarch()
		if arch != want || err != nil || !slices.Contains(machine.Architectures, arch) {
			t.Errorf("%s: %s %v", line, arch, err)
		}
	}
}

// What no board can do is refused before anything is started.
func TestCheck(t *testing.T) {
	m, err := New("ssh:board", Options{})
	must.Do(t, err)
	for word, spec := range map[string]machine.Spec{
		"only in the lab":                     {Storage: "disk:1G"},
		"unknown kind":                        {Storage: "porridge:1G"},
		"counts instructions":                 {Storage: "loop:64M", Instructions: true},
		"no virtual clock":                    {Storage: "loop:64M", Virtual: true},
		"cannot be given 2 processors":        {Storage: "loop:64M", CPUs: 2},
		"cannot be given 128 MiB":             {Storage: "loop:64M", Memory: 128 << 20},
		"broken filesystems":                  {Storage: "loop:64M", Damages: true},
		"named from its root":                 {Storage: "loop:64M", Work: "here"},
		"what a lab guest calls its own disk": {Storage: "serial:whichfs"},
		"no kernel module /nonexistent.ko":    {Storage: "loop:64M", Modules: []string{"/nonexistent.ko"}},
	} {
		err := m.Check(spec)
		if f := result.FailureOf(err); f == nil || f.Outcome != result.Refused || !strings.Contains(f.Error(), word) {
			t.Errorf("%+v: %v does not say %q", spec, err, word)
		}
	}
	for _, storage := range []string{"/dev/mmcblk1", "loop:64M", "mtd:/dev/mtd0"} {
		must.Do(t, m.Check(machine.Spec{Storage: storage, Arch: "arm64", Damages: true, RiskKernel: true}))
	}
}

func TestLogin(t *testing.T) {
	p, err := Parse("ssh:pi@board:2222")
	must.Do(t, err)
	if p.typed() != "ssh -p 2222 pi@board" {
		t.Error(p.typed())
	}
	l := &ssh{place: p, words: &machine.Lines{}}
	if f := result.FailureOf(l.refusal(nil)); f == nil || f.Outcome != result.LabFailed || f.Reason != "the connection to ssh:pi@board:2222 ended" {
		t.Error(f)
	}
	for _, c := range causes {
		l.words = &machine.Lines{}
		l.words.Add("ssh: " + c.says + "more")
		if f := result.FailureOf(l.refusal(nil)); f.Outcome != c.outcome || !strings.Contains(f.Hint, "pi@board") || !strings.Contains(f.Reason, p.Name) {
			t.Errorf("%q: %+v", c.says, f)
		}
	}
}

// User and password of a console come from the board's file, or else from the environment.
func TestCredentials(t *testing.T) {
	file := filepath.Join(t.TempDir(), "password")
	must.Do(t, os.WriteFile(file, []byte("of the file\r\nmore\n"), 0o600))
	for name, c := range map[string]struct {
		login       Login
		environment map[string]string
		want        string // user, password, whether it is known; or the error and its help
	}{
		"nothing":       {Login{}, nil, "root, , false"},
		"environment":   {Login{}, map[string]string{userVariable: "pi", passwordVariable: "let me in"}, "pi, let me in, true"},
		"empty":         {Login{}, map[string]string{passwordVariable: ""}, "root, , true"},
		"its file":      {Login{}, map[string]string{fileVariable: file}, "root, of the file, true"},
		"no such file":  {Login{}, map[string]string{fileVariable: file + "~"}, fileVariable + ": open " + file + "~: no such file"},
		"board's":       {Login{User: "me", Variable: "PI_PASSWORD"}, map[string]string{"PI_PASSWORD": "x", passwordVariable: "y"}, "me, x, true"},
		"unset":         {Login{Variable: "PI_PASSWORD", file: "board.toml"}, nil, "board.toml names the variable PI_PASSWORD for the password, which is not set set it: read -rs PI_PASSWORD"},
		"board's file":  {Login{Path: file}, map[string]string{passwordVariable: "y"}, "root, of the file, true"},
		"more than one": {Login{Variable: "PI_PASSWORD"}, map[string]string{"PI_PASSWORD": "a\nb"}, "one line each"},
		"no such one":   {Login{Path: file + "~"}, nil, "password_file: open"},
	} {
		t.Run(name, func(t *testing.T) {
			for _, variable := range []string{userVariable, passwordVariable, fileVariable, "PI_PASSWORD"} {
				t.Setenv(variable, "")
				must.Do(t, os.Unsetenv(variable))
			}
			for variable, value := range c.environment {
				t.Setenv(variable, value)
			}
			user, password, known, err := c.login.credentials()
			got := fmt.Sprintf("%s, %s, %v", user, password, known)
			if err != nil {
				got = err.Error() + " " + result.FailureOf(err).Hint
			}
			if !strings.Contains(got, c.want) {
				t.Errorf("%q, want %q", got, c.want)
			}
		})
	}
}
