package qemu

import (
	"slices"
	"strings"
	"testing"

	"whichfs/internal/filesystem"
	"whichfs/internal/filesystem/tried"
	"whichfs/internal/host/dataset"
	"whichfs/internal/host/machine"
	"whichfs/internal/host/machine/machinetest"
	"whichfs/internal/plan/scenario"
	"whichfs/internal/plan/study"
	"whichfs/internal/result"
	"whichfs/internal/testing/parsed"
	"whichfs/internal/testing/wait"
	"whichfs/internal/wire"
)

// fastDisk is a disk whose limits are never reached.
const fastDisk = "disk:1G,bps=1T,iops=1000000"

// tinyData is a tree of a few files and a stream of 64 KiB.
func tinyData(t *testing.T) []scenario.Data {
	t.Helper()
	data := machinetest.Data(t)
	data[1] = dataset.Stream(data[1].Name, 64<<10, 1)
	return data
}

// issued are candidates that must work whether or not a study has them, in addition to each
// filesystem with its tools' defaults.
var issued = []string{
	"ext4 -O ^has_journal", "btrfs -m single", "btrfs -m dup",
	"btrfs -m single -o compress=none", "btrfs -m single -o compress=lzo",
	"btrfs -m single -o compress=zlib", "btrfs -m single -o compress=zstd",
	"btrfs -m single -o ssd", "btrfs -m single -o nossd", "btrfs -m single -o ssd_spread",
	"f2fs -o lazytime", "f2fs -o atgc,gc_merge",
	"f2fs -O extra_attr,inode_checksum,sb_checksum,compression -o compress_algorithm=lzo,compress_extension=*",
	"f2fs -O extra_attr,inode_checksum,sb_checksum,compression -o compress_algorithm=lz4,compress_extension=*",
	"f2fs -O extra_attr,inode_checksum,sb_checksum,compression -o compress_algorithm=zstd,compress_extension=*",
	"f2fs -O extra_attr,inode_checksum,sb_checksum,compression -o compress_algorithm=lzo-rle,compress_extension=*",
	"squashfs -comp gzip", "squashfs -comp lzo", "squashfs -comp xz", "squashfs -comp lz4", "squashfs -comp zstd",
	"erofs -zlz4", "erofs -zlz4hc", "erofs -zlz4hc,12", "erofs -zlz4hc,12 -C65536",
}

// unverified are the only options that leave no visible trace, with the reason.
var unverified = map[string]string{
	"-zlz4hc":    "the image holds lz4, which lz4hc also produces; it does not show the effort of the compressor",
	"-zlz4hc,12": "the image holds lz4, which lz4hc also produces; it does not show the effort of the compressor (level 12)",
}

// trialOf is everything that a trial reported.
type trialOf struct {
	done     wire.Done
	figures  map[string]map[string]result.Measurement // by phase and metric
	options  []result.Option
	notes    []result.Note
	scenario scenario.Scenario
}

// carryOut runs a trial. An error of the machinery ends the test: the guest is no longer usable.
func carryOut(t *testing.T, s machine.Session, candidate string, plan scenario.Scenario) trialOf {
	t.Helper()
	return carryOutOn(t, s, candidate, scenario.Variant{}, plan)
}

// carryOutOn runs the trial of a variant.
func carryOutOn(t *testing.T, s machine.Session, candidate string, v scenario.Variant, plan scenario.Scenario) trialOf {
	t.Helper()
	got := trialOf{figures: map[string]map[string]result.Measurement{}, scenario: plan}
	var err error
	got.done, err = s.Trial(t.Context(), wire.Trial{Candidate: parsed.Candidate(candidate), Variant: v, Scenario: plan, StepLimit: wait.Patience.Seconds()}, machine.Events{
		Figures: func(f wire.Figures) {
			if got.figures[f.Phase] == nil {
				got.figures[f.Phase] = map[string]result.Measurement{}
			}
			for _, m := range f.Measurements {
				got.figures[f.Phase][m.Metric] = m
			}
			got.options = append(got.options, f.Options...)
			got.notes = append(got.notes, f.Notes...)
		},
	})
	if err != nil {
		t.Fatal(machinetest.Explain(err))
	}
	return got
}

// One guest runs a trial of every candidate of every study, each with the widest of their scenarios
// and little data.
func TestEveryCandidate(t *testing.T) {
	t.Parallel()
	s := begin(t, theLab(t, Options{}), machine.Spec{Storage: fastDisk, Data: tinyData(t)})
	candidates := slices.Clone(issued)
	for _, x := range triedWith(t, "holds") {
		if reason, _ := x.c.Misfit(1 << 30); reason == "" {
			candidates = append(candidates, x.Line)
		}
	}
	for _, st := range study.All {
		for _, name := range []string{"full", "quick"} {
			for _, line := range st.Scales[name].Candidates {
				c, err := filesystem.Parse(line)
				if err != nil {
					t.Fatal(err)
				}
				// Those for raw flash are tried on a chip (TestEveryRawCandidate).
				if elsewhere, _ := c.Misplaced(false); elsewhere == "" && !slices.Contains(candidates, line) {
					candidates = append(candidates, line)
				}
			}
		}
	}
	support, err := s.Support(t.Context(), parsed.Candidates(candidates...))
	if err != nil {
		t.Fatal(machinetest.Explain(err))
	}
	wide := study.Bootlin2023()
	for i, candidate := range candidates {
		t.Run(strings.ReplaceAll(candidate, " ", "_"), func(t *testing.T) {
			if c := support.Candidates[i]; c.Reason != "" {
				t.Errorf("not supported: %s: %s", c.Outcome, c.Reason)
			}
			c, err := filesystem.Parse(candidate)
			if err != nil {
				t.Fatal(err)
			}
			checkTrial(t, c, carryOut(t, s, candidate, wide.Scenario(c.Filesystem().ReadOnly, wide.Scales["quick"])))
		})
	}
}

// Every study's own scenario is run, with little data.
func TestEveryStudy(t *testing.T) {
	t.Parallel()
	for _, x := range []struct {
		study     study.Study
		candidate string
	}{
		{study.Pandora2012(), "vfat"},
		{study.DevbuildGist(), "btrfs -o compress=lzo"},
		{study.Elc2015(), "ext4"},
	} {
		t.Run(x.study.Name, func(t *testing.T) {
			scale := x.study.Scales["quick"]
			var data []scenario.Data
			for _, d := range scale.Data {
				tiny := tinyData(t)[0]
				tiny.Name = d.Name
				data = append(data, tiny)
			}
			s := begin(t, theLab(t, Options{}), machine.Spec{Storage: fastDisk, Data: data})
			steps := x.study.Scenario(false, scale)
			for i := range steps {
				steps[i].Files, steps[i].Ops = min(steps[i].Files, 64), min(steps[i].Ops, 8)
			}
			got := carryOut(t, s, x.candidate, steps)
			if d := got.done; d.Outcome != result.Done {
				t.Fatalf("%s in phase %s: %s (%s)", d.Outcome, d.Phase, d.Reason, d.Hint)
			}
			for _, phase := range got.scenario.Phases() {
				if m, ok := got.figures[phase][result.Wall]; !ok || m.Absent == "" && m.Value <= 0 {
					t.Errorf("phase %s: %+v", phase, m)
				}
			}
		})
	}
}

func checkTrial(t *testing.T, c filesystem.Candidate, got trialOf) {
	t.Helper()
	if d := got.done; d.Outcome != result.Done {
		t.Fatalf("%s in phase %s: %s (%s)", d.Outcome, d.Phase, d.Reason, d.Hint)
	}
	checkFigures(t, c, got)
	checkModule(t, got.figures["module-load"])
	checkOptions(t, c, got.options)
	seen, err := tried.Of(c.FS)
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range got.notes {
		if n.Level == result.Warning && !slices.ContainsFunc(seen[0].All("warns"), func(known string) bool { return strings.Contains(n.Text, known) }) {
			t.Errorf("warning in phase %q: %s (if the kernel gives it each time: \"warns\" in tried/%s.txt)", n.Phase, n.Text, c.FS)
		}
	}
}

// checkFigures: every figure of every phase has a value or a reason.
func checkFigures(t *testing.T, c filesystem.Candidate, got trialOf) {
	t.Helper()
	for _, phase := range got.scenario.Phases() {
		for _, metric := range machinetest.Metrics {
			m, ok := got.figures[phase][metric]
			if !ok {
				t.Errorf("phase %s: %s is neither there nor absent with a reason", phase, metric)
			}
			if metric == result.Wall && ok && (m.Absent == "") != (m.Value > 0) {
				t.Errorf("phase %s: wall time %v, absent %q", phase, m.Value, m.Absent)
			}
		}
	}
	absent := func(phase, why string) {
		if m := got.figures[phase][result.Wall]; m.Absent != why {
			t.Errorf("phase %s is absent with the reason %q, want %q", phase, m.Absent, why)
		}
	}
	fs := c.Filesystem()
	for _, phase := range got.scenario.Phases() {
		switch {
		case phase == "check":
			absent(phase, fs.NoCheck)
		case phase == "clone" && !fs.Reflink:
			absent(phase, fs.Title+" does not share blocks between files")
		default:
			absent(phase, "")
		}
	}
}

// checkModule: the module was loaded in this trial, so it was unloaded after the previous one, or
// the figures are those of the guest's start.
func checkModule(t *testing.T, got map[string]result.Measurement) {
	t.Helper()
	for _, metric := range []string{result.Wall, result.ModuleSize, result.ModuleOwn, result.ModuleRAM, result.ModuleCount} {
		if m := got[metric]; m.Absent != "" || m.Value <= 0 {
			t.Errorf("%s of the module is %v, absent %q", metric, m.Value, m.Absent)
		}
	}
}

// checkOptions: every option that the candidate names was verified, and is in force.
func checkOptions(t *testing.T, c filesystem.Candidate, options []result.Option) {
	t.Helper()
	for _, o := range options {
		want := result.InForce
		if why, ok := unverified[o.Text]; ok && o.Evidence == why {
			want = result.Unverified
		}
		if o.State != want {
			t.Errorf("option %q is %s: %s", o.Text, o.State, o.Evidence)
		}
	}
	named := func(word string) bool {
		return slices.ContainsFunc(options, func(o result.Option) bool { return strings.Contains(o.Text, word) })
	}
	for _, o := range c.Mount() {
		if !named("-o " + o) {
			t.Errorf("nothing is said of mount option %s: %v", o, options)
		}
	}
	for _, words := range c.Make() {
		for word := range strings.SplitSeq(words, ",") {
			if !named(word) {
				t.Errorf("nothing is said of mkfs option %s: %v", word, options)
			}
		}
	}
}
