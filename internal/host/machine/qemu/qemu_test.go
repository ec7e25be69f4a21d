package qemu

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"whichfs/internal/host/lab"
	"whichfs/internal/host/machine"
	"whichfs/internal/host/machine/labguest"
	"whichfs/internal/plan/media"
	"whichfs/internal/plan/processor"
	"whichfs/internal/plan/scenario"
	"whichfs/internal/result"
	"whichfs/internal/testing/golden"
)

func fakeHost() *host {
	return &host{
		program: "/usr/bin/qemu-system-x86_64", version: "7.2.22",
		image:   lab.Image{Kernel: "/cache/vmlinux", Root: "/cache/a,b \"c\"/root.erofs", Manifest: lab.Manifest{Arch: "amd64", Digest: "0123456789abcdef", Suite: "bookworm"}},
		archive: []byte("archive"), noKVM: "no such device",
	}
}

func TestArgv(t *testing.T) {
	data := filepath.Join(t.TempDir(), "tree,1.tar")
	if err := os.WriteFile(data, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		storage string
		kvm     bool
		o       Options
		counts  bool
		cpu     string
		cpus    int
	}{
		"disk":      {storage: "disk:1G"},
		"cpus":      {storage: "disk:1G", cpus: 2},
		"cpus-kvm":  {storage: "disk:1G", cpus: 2, kvm: true},
		"unlimited": {storage: "disk:512M,bps=1T,iops=1000000"},
		"card-kvm":  {storage: "sd:256M,bps_wr=10M", kvm: true, o: Options{Memory: 1 << 30, Append: []string{"whichfs.fault=hang@phase"}}},
		// KVM counts no instructions, so it is not used.
		"instructions": {storage: "ram:256M", kvm: true, counts: true},
		"paced":        {storage: "ram:256M", kvm: true, cpu: "62.5MIPS"},
	} {
		h := fakeHost()
		h.kvm = c.kvm
		var cpu *processor.Profile
		if c.cpu != "" {
			one, err := processor.Parse(c.cpu)
			if err != nil {
				t.Fatal(err)
			}
			cpu = &one
		}
		c.o.processors = 2
		p, err := New(c.o).plan(h, machine.Spec{Storage: c.storage, Instructions: c.counts, Processor: cpu, CPUs: c.cpus, Work: t.TempDir(), Data: []scenario.Data{
			{Name: "tree", Kind: "tree", Size: 10 << 20, Archive: 11<<20 + 512, Path: data},
			{Name: "video", Kind: "stream", Size: 5<<20 + 1},
		}})
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range p.files {
			defer f.Close()
		}
		p.config.console, p.config.agent = 5, 6
		text := strings.ReplaceAll(strings.Join(p.config.argv(), "\n"), filepath.Dir(data), "/DATA")
		text += fmt.Sprintf("\n\nprepare %s, data %s and %q\n", p.prepare.Storage, p.prepare.Data[0].Path, p.prepare.Data[1].Path)
		for _, c := range append(h.conditions(p), p.conditions()...) {
			text += fmt.Sprintf("%s: %s: %s\n", c.Group, c.Name, c.Value)
		}
		golden.Check(t, name+".txt", text)
	}
}

// Only an emulated x86 whose clock is this host's is told its rate.
func TestKnownClock(t *testing.T) {
	for name, c := range map[string]struct {
		config
		known bool
	}{
		"emulated": {config{arch: "amd64"}, runtime.GOARCH == "amd64"},
		"kvm":      {config{arch: "amd64", kvm: true}, false},
		"counts":   {config{arch: "amd64", counts: true}, false},
		"paced":    {config{arch: "amd64", paced: fastest}, false},
		"foreign":  {config{arch: "arm64"}, false},
	} {
		argv := strings.Join(c.knownClock().argv(), " ")
		if strings.Contains(argv, " tsc_early_khz=") != c.known {
			t.Errorf("%s: %s", name, argv)
		}
	}
}

func TestPlanRefuses(t *testing.T) {
	paced, err := processor.Parse("62.5MIPS")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		spec      machine.Spec
		o         Options
		want, how string
	}{
		{machine.Spec{Storage: "/dev/sda"}, Options{}, "not in the lab", "--machine local"},
		{machine.Spec{Storage: "loop:1G"}, Options{}, "not in the lab", "disk:SIZE"},
		{machine.Spec{Storage: "sd:100M"}, Options{}, "power of two", ""},
		{machine.Spec{Storage: "disk:1G", Instructions: true}, Options{}, "the guest would wait for disk:1G", "ram:SIZE"},
		{machine.Spec{Storage: "tape:1G"}, Options{}, "unknown kind", ""},
		{machine.Spec{Storage: "disk:8000000G"}, Options{}, "not enough space", "TMPDIR"},
		{machine.Spec{Storage: "disk:1M"}, Options{Memory: 1 << 60}, "of memory", "--quick"},
		{machine.Spec{Storage: "disk:1M", Memory: 127<<20 + 1}, Options{}, "needs at least 128M", "128M"},
		{machine.Spec{Storage: "ram:64M", Memory: 128 << 20}, Options{}, "needs at least 194M", "194M"},
		{machine.Spec{Storage: "disk:1M", Memory: 1}, Options{Memory: 1 << 30}, "a guest with 1 of memory is too small", ""},
		{machine.Spec{Storage: "disk:1M", Memory: 150 << 20, Data: []scenario.Data{
			{Name: "s", Kind: "stream", Size: 5 << 20}, {Name: "t", Kind: "tree", Size: 6 << 20, Archive: 7 << 20, Path: "/dev/null"},
		}}, Options{}, "needs at least 154M", "154M"},
		{machine.Spec{Storage: "disk:1M", CPUs: 1000}, Options{}, "not 1000", "--cpus "},
		{machine.Spec{Storage: "ram:64M", CPUs: 2, Instructions: true}, Options{}, "a guest whose clock counts instructions has one processor, not 2", "--clock wall"},
		{machine.Spec{Storage: "ram:64M", CPUs: 2, Processor: &paced}, Options{}, "has one, not 2", "leave --cpu out"},
		{machine.Spec{Storage: "disk:1M", Data: []scenario.Data{{Name: "t", Kind: "tree", Path: "/nonexistent/t.tar"}}}, Options{}, "data set t: open /nonexistent/t.tar", ""},
	} {
		_, err := New(c.o).plan(fakeHost(), c.spec)
		var e *result.Failure
		if !errors.As(err, &e) || e.Outcome != result.Refused || !strings.Contains(e.Error(), c.want) || !strings.Contains(e.Hint, c.how) {
			t.Errorf("%v: %+v", c.spec, err)
		}
	}
}

// The guest gets the requested memory, whatever its options say.
func TestRequestedMemoryIsUsed(t *testing.T) {
	for asked, want := range map[int64]string{128 << 20: "128M", 200<<20 + 1: "201M"} {
		h := fakeHost()
		p, err := New(Options{Memory: 1 << 30}).plan(h, machine.Spec{Storage: "disk:64M", Memory: asked, Work: t.TempDir()})
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range p.files {
			defer f.Close()
		}
		argv := p.config.argv()
		if got := argv[slices.Index(argv, "-m")+1]; got != want {
			t.Errorf("with %d bytes requested: -m %s, want %s", asked, got, want)
		}
		if !slices.ContainsFunc(h.conditions(p), func(c result.Condition) bool {
			return c.Name == "guest memory" && c.Matters && c.Value == strings.TrimSuffix(want, "M")+" MiB"
		}) {
			t.Errorf("conditions %v", h.conditions(p))
		}
	}
}

func TestLimits(t *testing.T) {
	for text, want := range map[string]string{
		"disk:1G":                      "reads 40 MB/s and 1500 requests/s; writes 20 MB/s and 500 requests/s",
		"disk:1G,bps=1M":               "reads 1500 requests/s; writes 500 requests/s; together 1.048576 MB/s",
		"disk:1G,iops_wr=7,bps_rd=10M": "reads 10.48576 MB/s and 1500 requests/s; writes 20 MB/s and 7 requests/s",
		"sd:1G,bps=1M,iops=2":          "together 1.048576 MB/s and 2 requests/s",
		"sd:1G":                        "none",
		"sd:1G,bps_wr=1M":              "writes 1.048576 MB/s",
	} {
		s, err := media.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		if got := limitsOf(s).String(); got != want {
			t.Errorf("%s: %q, want %q", text, got, want)
		}
	}
	if got := (limits{}).String(); got != "none" {
		t.Errorf("no limits: %q", got)
	}
}

// A guest's last output, whether or not the line ended, is available when its console ends, and so
// is the kernel's message about its own end.
func TestConsole(t *testing.T) {
	var seen []string
	c := labguest.Watch(strings.NewReader("up\r\n[    2.5] Kernel panic - not syncing: sysrq triggered crash\nthe end"), func(line string) { seen = append(seen, line) })
	<-c.Ended()
	if lines := c.Last(); len(lines) != 3 || len(seen) != 3 || lines[0] != "up" || seen[2] != "the end" {
		t.Errorf("%q, seen %q", lines, seen)
	}
	if got := labguest.PanicLine(c.Last()); got != "Kernel panic - not syncing: sysrq triggered crash" {
		t.Errorf("panic %q", got)
	}
}

func TestKVMAnswer(t *testing.T) {
	cache := filepath.Join(t.TempDir(), "kvm.json")
	probes := 0
	var device, probe error
	ask := func(ctx context.Context, key string) (bool, string) {
		return kvmQuestion{
			device: func() error { return device },
			probe:  func(context.Context) error { probes++; return probe },
			cache:  cache, key: key,
		}.answer(ctx)
	}
	expect := func(works, wantWorks bool, why, wantWhy string, wantProbes int) {
		t.Helper()
		if works != wantWorks || !strings.Contains(why, wantWhy) || probes != wantProbes {
			t.Errorf("works %v (%s) after %d probes", works, why, probes)
		}
	}
	device = errors.New("permission denied")
	works, why := ask(t.Context(), "boot1")
	expect(works, false, why, "permission denied", 0)

	device, probe = nil, errors.New("no sign of life")
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	works, why = ask(ended, "boot1")
	expect(works, false, why, "interrupted", 1) // and not remembered

	works, why = ask(t.Context(), "boot1")
	expect(works, false, why, "no sign of life", 2)
	works, why = ask(t.Context(), "boot1") // remembered
	expect(works, false, why, "no sign of life", 2)

	probe = nil
	works, why = ask(t.Context(), "boot2") // another start of the host
	expect(works, true, why, "", 3)
	works, why = ask(t.Context(), "boot2")
	expect(works, true, why, "", 3)

	if err := os.WriteFile(cache, []byte("{damaged"), 0o644); err != nil {
		t.Fatal(err)
	}
	works, why = ask(t.Context(), "boot2")
	expect(works, true, why, "", 4)
}

func TestScratchHasNoName(t *testing.T) {
	dir := t.TempDir()
	f, err := scratch(dir, 1<<30)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if left, _ := os.ReadDir(dir); len(left) > 0 {
		t.Errorf("names: %v", left)
	}
	if info, _ := f.Stat(); info.Size() != 1<<30 {
		t.Errorf("size %d", info.Size())
	}
	if _, err := scratch(filepath.Join(dir, "none"), 1); err == nil {
		t.Error("a missing directory is no error")
	}
}

func TestQEMUVersion(t *testing.T) {
	text := "QEMU emulator version 7.2.22 (Debian 1:7.2+dfsg-7)\nCopyright (c) 2003-2022 Fabrice Bellard\n"
	if got := qemuVersion(text); got != "7.2.22 (Debian 1:7.2+dfsg-7)" {
		t.Errorf("%q", got)
	}
}
