package workload

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unsafe"

	"whichfs/internal/filesystem"
	"whichfs/internal/plan/scenario"
	"whichfs/internal/result"
	"whichfs/internal/target/memory"
)

// The structures have the kernel's layout.
func TestUBIRequests(t *testing.T) {
	for _, x := range []struct {
		got, want uintptr
	}{{unsafe.Sizeof(ubiAttachTo{}), 24}, {unsafe.Sizeof(ubiVolume{}), 152}} {
		if x.got != x.want {
			t.Errorf("a structure of %d bytes, want %d", x.got, x.want)
		}
	}
	var v ubiVolume
	if at := unsafe.Offsetof(v.bytes); at != 8 {
		t.Errorf("the volume's size lies at %d", at)
	}
	if at := unsafe.Offsetof(v.name); at != 24 {
		t.Errorf("the volume's name lies at %d", at)
	}
}

// The MTD device of a volume is found among those of chips and of other volumes; where gluebi made
// none, or two have the name, it is not guessed.
func TestMTDOfVolume(t *testing.T) {
	class := t.TempDir()
	put := func(name, kind, label string) {
		t.Helper()
		dir := filepath.Join(class, name)
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		for file, text := range map[string]string{"type": kind, "name": label} {
			if err := os.WriteFile(filepath.Join(dir, file), []byte(text+"\n"), 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	put("mtd0", "nand", volumeName)
	put("mtd1", "ubi", "other")
	var f *result.Failure
	if n, err := mtdOf(class, volumeName); !errors.As(err, &f) || f.Outcome != result.Unsupported {
		t.Errorf("without one: mtd%d, %v", n, err)
	}
	put("mtd12", "ubi", volumeName)
	put("mtd12ro", "ubi", volumeName)
	if n, err := mtdOf(class, volumeName); n != 12 || err != nil {
		t.Errorf("mtd%d, %v", n, err)
	}
	put("mtd3", "ubi", volumeName)
	if n, err := mtdOf(class, volumeName); !errors.As(err, &f) || f.Outcome != result.Refused {
		t.Errorf("of two: mtd%d, %v", n, err)
	}
}

// Where the kernel's module tree has no gluebi, there is no such way onto the chip.
func TestNoGluebi(t *testing.T) {
	env := rawEnv(t, "squashfs@gluebi")
	env.Modules = moduleTree(t)
	_, err := LayerLoad.Setup(t.Context(), env, scenario.Step{Work: "layer-load"})
	var f *result.Failure
	if !errors.As(err, &f) || f.Outcome != result.Unsupported || !strings.Contains(f.Reason, "no driver gluebi") {
		t.Errorf("%v", err)
	}
	env.Modules.deps["gluebi"] = []string{"kernel/drivers/mtd/ubi/gluebi.ko", "kernel/drivers/mtd/ubi/ubi.ko"}
	env.Modules.deps["mtdblock_ro"] = []string{"kernel/drivers/mtd/mtdblock_ro.ko"}
	if names := env.layerModules(); env.lacksGluebi() || !slices.Equal(names, []string{"gluebi", "mtdblock_ro"}) {
		t.Errorf("with it: %v", names)
	}
}

// UBI names its threshold when it attaches; work that cannot reach it shows no levelling, and says so.
func TestWearThreshold(t *testing.T) {
	log := []string{"ubi0: user volume: 0, internal volumes: 1", "ubi0: max/mean erase counter: 1/0, WL threshold: 4096, image sequence number: 7"}
	if n := wearThreshold(log); n != 4096 {
		t.Errorf("threshold %d", n)
	}
	if n := wearThreshold(append(log[:1], "ubi0: WL threshold: many")); n != 0 {
		t.Errorf("without one: %d", n)
	}
	env := rawEnv(t, "ubifs")
	env.Mount, env.Size, env.layer = t.TempDir(), 8<<20, layer{attached: true, threshold: 4096}
	env.Streams = map[string]*memory.Stream{"piece": {Data: make([]byte, 1<<20)}}
	step := scenario.Step{Work: "wear", Phase: "wear", Data: "piece", Dir: "again", Count: 8 * 4096}
	for count, absent := range map[int]bool{step.Count - 1: true, step.Count: false} {
		step.Count = count
		job, err := Wear.Setup(t.Context(), env, step)
		if err != nil || (job.Absent != "") != absent || absent && !strings.Contains(job.Absent, "differ by 4096") {
			t.Errorf("%d times: absent %q, %v", count, job.Absent, err)
		}
	}
}

func rawEnv(t *testing.T, line string) *Env {
	t.Helper()
	c, err := filesystem.Parse(line)
	if err != nil {
		t.Fatal(err)
	}
	env := &Env{Candidate: c, FS: c.Filesystem(), Device: "/dev/mtd3", Name: "mtd3", Raw: true, Mount: "/run/x"}
	env.Way, _ = c.OnFlash()
	return env
}

func TestRawSource(t *testing.T) {
	up := layer{attached: true, ubi: 1, volume: 2}
	for _, x := range []struct {
		line         string
		layer        layer
		source, node string
	}{
		{"jffs2", layer{}, "mtd3", "/dev/mtd3"},
		{"jffs2@image", layer{}, "mtd3", "/dev/mtd3"},
		{"ubifs", up, "ubi1_2", "/dev/ubi1_2"},
		{"ubifs@ubi+fastmap", up, "ubi1_2", "/dev/ubi1_2"},
		{"squashfs", layer{}, "/dev/mtdblock3", "/dev/mtdblock3"},
		{"squashfs@ubiblock", up, "/dev/ubiblock1_2", "/dev/ubiblock1_2"},
		{"erofs@ubiblock", up, "/dev/ubiblock1_2", "/dev/ubiblock1_2"},
		{"ubifs", layer{}, "", "/dev/mtd3"},
		{"ubifs", layer{attached: true, volume: noVolume}, "", "/dev/mtd3"},
	} {
		env := rawEnv(t, x.line)
		env.layer = x.layer
		source, err := env.source()
		var f *result.Failure
		if source != x.source || (err != nil) != (x.source == "") || err != nil && !errors.As(err, &f) {
			t.Errorf("%s: source %q, %v", x.line, source, err)
		}
		if got := env.node(); got != x.node {
			t.Errorf("%s: node %q, want %q", x.line, got, x.node)
		}
	}
}

// UBI's messages about how it attached, and the consequence for a requested fastmap: the first time
// there was none yet.
func TestHowAttached(t *testing.T) {
	scanned := []string{"ubi0: default fastmap pool size: 25", "ubi0: attaching mtd0", "ubi0: scanning is finished", "ubi0: attached mtd0 (name \"x\", size 64 MiB)"}
	fast := []string{"ubi0: attaching mtd0", "ubi0: attached by fastmap", "ubi0: fastmap pool size: 25"}
	for _, x := range []struct {
		line     string
		attaches int
		log      []string
		note     string
		state    result.OptionState
	}{
		{"ubifs", 2, scanned, "headers of all blocks", ""},
		{"ubifs@ubi+fastmap", 1, scanned, "headers of all blocks", ""},
		{"ubifs@ubi+fastmap", 2, scanned, "headers of all blocks", result.Ignored},
		{"ubifs@ubi+fastmap", 2, fast, "by its fastmap", result.InForce},
		{"ubifs@ubi+fastmap", 2, nil, "does not say", ""},
	} {
		env := rawEnv(t, x.line)
		env.layer.attaches = x.attaches
		got := env.howAttached(x.log)
		if len(got.Notes) != 1 || !strings.Contains(got.Notes[0].Text, x.note) {
			t.Errorf("%s: %+v", x.line, got.Notes)
		}
		var state result.OptionState
		if len(got.Options) > 0 {
			state = got.Options[0].State
		}
		if state != x.state {
			t.Errorf("%s, attached %d times: %q, want %q", x.line, x.attaches, state, x.state)
		}
	}
}

// Steps for a missing layer are absent, with the reason, and nothing is touched.
func TestLayerAbsent(t *testing.T) {
	for _, x := range []struct{ line, work, want string }{
		{"jffs2", "layer-load", "JFFS2 works on the chip itself"},
		{"jffs2", "layer-format", "there is no UBI below it"},
		{"jffs2", "attach", "there is no UBI below it"},
		{"jffs2", "volume", "there is no UBI below it"},
		{"jffs2", "layer-block", "JFFS2 needs no block device"},
		{"yaffs2", "mkfs", "an erased chip is an empty filesystem"},
		{"ubifs", "layer-block", "UBIFS needs no block device"},
		{"squashfs@gluebi", "layer-block", "the block device of an MTD device comes with its module"},
		{"squashfs", "layer-block", "the block device of an MTD device comes with its module"},
		{"squashfs", "attach", "there is no UBI below it"},
	} {
		kind, ok := ByName(x.work)
		if !ok {
			t.Fatalf("no work %q", x.work)
		}
		job, err := kind.Setup(t.Context(), rawEnv(t, x.line), scenario.Step{Work: x.work, Phase: "p"})
		if err != nil || job.Absent != x.want || job.Run != nil {
			t.Errorf("%s, %s: absent %q, %v; want %q", x.line, x.work, job.Absent, err, x.want)
		}
	}
	if err := rawEnv(t, "ubifs").LeaveFlash(); err != nil {
		t.Errorf("leaving what was never set up: %v", err)
	}
}
