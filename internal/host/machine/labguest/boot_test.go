package labguest

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"

	"whichfs/internal/host/lab"
	"whichfs/internal/host/machine"
	"whichfs/internal/plan/media"
	"whichfs/internal/plan/scenario"
	"whichfs/internal/result"
	"whichfs/internal/target/agent/pid1"
	"whichfs/internal/testing/parsed"
	"whichfs/internal/wire"
)

func TestNotBootable(t *testing.T) {
	for _, c := range []struct {
		boot machine.Boot
		kind string
		want result.Outcome
		text string
	}{
		{boot: machine.Boot{Candidate: parsed.Candidate("ext4"), Repeats: 1, Variant: scenario.Variant{Part: &scenario.Part{}}}, want: result.Refused, text: "part of the storage"},
		{boot: machine.Boot{Candidate: parsed.Candidate("ext4 -o 'a b'"), Repeats: 1}, want: result.Refused, text: "command line"},
		{boot: machine.Boot{Candidate: parsed.Candidate("ext4"), Repeats: 1}, kind: media.KindRAM, want: result.Unsupported, text: "memory"},
		{boot: machine.Boot{Candidate: parsed.Candidate("erofs"), Repeats: 1}, want: result.Unsupported, text: "image"},
	} {
		if _, d := Bootable(c.boot, media.Storage{Kind: cmp.Or(c.kind, media.KindDisk)}); d.Outcome != c.want || !strings.Contains(d.Reason, c.text) {
			t.Errorf("%+v: %+v", c.boot, d)
		}
	}
}

// message is the line that a guest prints.
func message(t testing.TB, b pid1.Booted) string {
	t.Helper()
	var out bytes.Buffer
	if err := wire.New(nil, &out, nil).Send(pid1.KindBooted, 1, b); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

// The cause of a failed boot is identified.
func TestFailedBootIsAttributed(t *testing.T) {
	console := []string{"whichfs: " + pid1.RootMark, "[ 1.5] EXT4-fs error", "", strings.TrimSpace(message(t, pid1.Booted{}))}
	for _, c := range []struct {
		b    pid1.Booted
		late bool
		free bool
		plan BootPlan
		want result.Outcome
		text string
	}{
		{b: pid1.Booted{Kernel: 1, Root: 2, Outcome: result.Done}},
		{plan: BootPlan{Login: true}, b: pid1.Booted{Kernel: 1, Root: 2, Login: 3, Outcome: result.Done}},
		{plan: BootPlan{Login: true}, b: pid1.Booted{Kernel: 1, Root: 2, Login: 1.5, Outcome: result.Done}, want: result.LabFailed, text: "times of 1 s and 1.5 s"},
		{plan: BootPlan{Login: true}, b: pid1.Booted{Kernel: 1, Root: 2, Outcome: result.Done}, want: result.LabFailed, text: "times of 1 s and 0 s"},
		{b: pid1.Booted{Kernel: 1, Root: 2, Outcome: result.Done}, late: true, want: result.SubjectFailed, text: "did not power off"},
		{b: pid1.Booted{Outcome: result.SubjectFailed, Failed: "mount: no"}, want: result.SubjectFailed, text: "mount: no (the console's last lines: [ 1.5] EXT4-fs error)"},
		{b: pid1.Booted{Outcome: result.LabFailed, Failed: "no disk"}, want: result.LabFailed, text: "no disk"},
		{b: pid1.Booted{Kernel: 1, Root: -2, Outcome: result.Done}, want: result.LabFailed, text: "times of 1 s and -2 s"},
		{b: pid1.Booted{Root: 2, Outcome: result.Done}, want: result.LabFailed, text: "times of 0 s and 2 s"},
		{b: pid1.Booted{Root: 2, Outcome: result.Done}, free: true},
		{b: pid1.Booted{Kernel: -1, Root: 2, Outcome: result.Done}, free: true, want: result.LabFailed, text: "times of -1 s and 2 s"},
	} {
		_, err := c.plan.JudgeBoot(c.b, c.late, c.free, console)
		var subject *result.Failure
		var e *result.Failure
		got := result.Outcome("")
		switch {
		case errors.As(err, &subject):
			got = subject.Outcome
		case errors.As(err, &e):
			got = e.Outcome
		}
		if got != c.want || err != nil && !strings.Contains(err.Error(), c.text) {
			t.Errorf("%+v: %v", c.b, err)
		}
	}
}

func TestBootFigures(t *testing.T) {
	p := BootPlan{Phase: "boot 6.1", Kernel: lab.Kernel{Offer: lab.Offer{Release: "6.1.0-1-amd64"}}, own: "f2fs",
		sizes:  map[string]int64{"f2fs": 3, "crc32_generic": 2, "crc32_pclmul": 90},
		booted: []pid1.Booted{{Kernel: 1, Root: 2}, {Kernel: 4, Root: 8, Refused: "crc32_pclmul,x", Unclean: "it cannot be made read-only: no"}}}
	values := map[string]float64{}
	f := p.figures()
	for _, m := range f.Measurements {
		values[m.Metric] = m.Value
	}
	for metric, want := range map[string]float64{result.Wall: 4, result.BootRoot: 4, result.BootKernel: 2, result.BootSpread: 3,
		result.BootRepeats: 2, result.ModuleSize: 5, result.ModuleOwn: 3} {
		if math.Abs(values[metric]-want) > 1e-9 {
			t.Errorf("%s is %v, want %v", metric, values[metric], want)
		}
	}
	if text := fmt.Sprint(f.Notes); !strings.Contains(text, "6.1.0-1-amd64") || !strings.Contains(text, "before power-off it cannot be made read-only") {
		t.Error(text)
	}
	p.booted[0].Kernel, p.NoKernel = 0, "it takes none"
	for _, m := range p.figures().Measurements {
		if m.Metric == result.BootKernel && m.Absent == "" {
			t.Errorf("a kernel that takes no time: %+v", m)
		}
	}
	p.sizes, p.booted[0].Kernel, p.NoKernel = nil, 1, ""
	for _, m := range p.figures().Measurements {
		if strings.HasPrefix(m.Metric, "module.") != (m.Absent != "") {
			t.Errorf("%+v", m)
		}
	}
}

// To the prompt, the spread is that of the prompts, and the modules are those of the other boots.
func TestLoginFigures(t *testing.T) {
	p := BootPlan{Phase: "login 6.1", Login: true, booted: []pid1.Booted{{Kernel: 1, Root: 1, Login: 2}, {Kernel: 1, Root: 4, Login: 8}}}
	values := map[string]float64{}
	for _, m := range p.figures().Measurements {
		values[m.Metric] = m.Value
	}
	for metric, want := range map[string]float64{result.Wall: 4, result.BootInit: 2, result.BootLogin: 4, result.BootSpread: 3, result.BootRepeats: 2} {
		if math.Abs(values[metric]-want) > 1e-9 {
			t.Errorf("%s is %v, want %v", metric, values[metric], want)
		}
	}
	if len(values) != 5 {
		t.Errorf("figures %v", values)
	}
}

func FuzzBootedLine(f *testing.F) {
	f.Add("[  1.0] noise " + message(f, pid1.Booted{Kernel: 1, Root: 2, Outcome: result.Done}))
	f.Add("@wfs 2 00000000 {}")
	f.Fuzz(func(t *testing.T, line string) {
		if b, ok := BootedLine(line); ok {
			if again, ok := BootedLine(message(t, b)); !ok || again != b {
				t.Errorf("%+v became %+v", b, again)
			}
		}
	})
}
