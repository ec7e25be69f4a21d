package machinetest

import (
	"slices"
	"strings"
	"testing"

	"whichfs/internal/filesystem"
	"whichfs/internal/filesystem/tried"
	"whichfs/internal/host/dataset"
	"whichfs/internal/host/machine"
	"whichfs/internal/plan/scenario"
	"whichfs/internal/result"
	"whichfs/internal/testing/parsed"
	"whichfs/internal/testing/wait"
	"whichfs/internal/wire"
)

// Trial is everything that a trial reported.
type Trial struct {
	Done     wire.Done
	Figures  map[string]map[string]result.Measurement // by phase and metric
	Options  []result.Option
	Notes    []result.Note
	Scenario scenario.Scenario
}

// OwnWork is the reason that times of programs' own work are absent with the virtual clock.
const OwnWork = "programs' own work takes no time on this clock"

// CarryOut runs a trial. An error of the machinery ends the test: the guest is no longer usable.
func CarryOut(t *testing.T, s machine.Session, candidate string, plan scenario.Scenario) Trial {
	t.Helper()
	return CarryOutOn(t, s, candidate, scenario.Variant{}, plan)
}

// CarryOutOn runs the trial of a variant.
func CarryOutOn(t *testing.T, s machine.Session, candidate string, v scenario.Variant, plan scenario.Scenario) Trial {
	t.Helper()
	got := Trial{Figures: map[string]map[string]result.Measurement{}, Scenario: plan}
	var err error
	got.Done, err = s.Trial(t.Context(), wire.Trial{Candidate: parsed.Candidate(candidate), Variant: v, Scenario: plan, StepLimit: wait.Patience.Seconds()}, machine.Events{
		Figures: func(f wire.Figures) {
			if got.Figures[f.Phase] == nil {
				got.Figures[f.Phase] = map[string]result.Measurement{}
			}
			for _, m := range f.Measurements {
				got.Figures[f.Phase][m.Metric] = m
			}
			got.Options = append(got.Options, f.Options...)
			got.Notes = append(got.Notes, f.Notes...)
		},
	})
	if err != nil {
		t.Fatal(Explain(err))
	}
	return got
}

// TinyData is a tree of a few files and a stream of 64 KiB.
func TinyData(t *testing.T) []scenario.Data {
	t.Helper()
	data := Data(t)
	data[1] = dataset.Stream(data[1].Name, 64<<10, 1)
	return data
}

// HasCondition reports whether a condition has this name, and a value.
func HasCondition(list []result.Condition, name string) bool {
	return slices.ContainsFunc(list, func(c result.Condition) bool { return c.Name == name && c.Value != "" })
}

// CheckTrial: the trial was completed, with every figure, the module and the options of its candidate, and
// without unknown warnings.
func CheckTrial(t *testing.T, c filesystem.Candidate, got Trial) {
	t.Helper()
	if d := got.Done; d.Outcome != result.Done {
		t.Fatalf("%s in phase %s: %s (%s)", d.Outcome, d.Phase, d.Reason, d.Hint)
	}
	checkFigures(t, c, got)
	CheckModule(t, got.Figures["module-load"])
	CheckOptions(t, c, got.Options)
	seen, err := tried.Of(c.FS)
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range got.Notes {
		if n.Level == result.Warning && !slices.ContainsFunc(seen[0].All("warns"), func(known string) bool { return strings.Contains(n.Text, known) }) {
			t.Errorf("warning in phase %q: %s (if the kernel gives it each time: \"warns\" in tried/%s.txt)", n.Phase, n.Text, c.FS)
		}
	}
}

// checkFigures: every figure of every phase has a value or a reason.
func checkFigures(t *testing.T, c filesystem.Candidate, got Trial) {
	t.Helper()
	for _, phase := range got.Scenario.Phases() {
		for _, metric := range Metrics {
			m, ok := got.Figures[phase][metric]
			if !ok {
				t.Errorf("phase %s: %s is neither there nor absent with a reason", phase, metric)
			}
			if metric == result.Wall && ok && (m.Absent == "") != (m.Value > 0) {
				t.Errorf("phase %s: wall time %v, absent %q", phase, m.Value, m.Absent)
			}
		}
	}
	absent := func(phase, why string) {
		if m := got.Figures[phase][result.Wall]; m.Absent != why {
			t.Errorf("phase %s is absent with the reason %q, want %q", phase, m.Absent, why)
		}
	}
	fs := c.Filesystem()
	_, cleans := c.Daemon()
	for _, phase := range got.Scenario.Phases() {
		switch {
		case phase == "check":
			absent(phase, fs.NoCheck)
		case phase == "clone" && !fs.Reflink:
			absent(phase, fs.Title+" does not share blocks between files")
		case phase == "space-cleaned" && !cleans:
			absent(phase, "no program works beside it")
		case phase == "stream-compression" && fs.Compressed == filesystem.CompressedBlocks && !c.Properties().Compression.Has:
			absent(phase, "this F2FS was made without compression")
		case phase == "stream-compression" && fs.Compressed != filesystem.CompressedBlocks && fs.Compressed != filesystem.CompressedExtents:
			absent(phase, fs.Title+" does not compress")
		case phase == "image": // images are made in the virtual lab only
			absent(phase, OwnWork)
		default:
			absent(phase, "")
		}
	}
}

// CheckModule: the module was loaded in this trial, so it was unloaded after the previous one, or
// the figures are those of the guest's start.
func CheckModule(t *testing.T, got map[string]result.Measurement) {
	t.Helper()
	for _, metric := range []string{result.Wall, result.ModuleSize, result.ModuleOwn, result.ModuleRAM, result.ModuleCount} {
		if m := got[metric]; m.Absent != "" || m.Value <= 0 {
			t.Errorf("%s of the module is %v, absent %q", metric, m.Value, m.Absent)
		}
	}
}

// unverified are the only options that leave no visible trace, with the reason.
var unverified = map[string]string{
	"-zlz4hc":    "the image holds lz4, which lz4hc also produces; it does not show the effort of the compressor",
	"-zlz4hc,12": "the image holds lz4, which lz4hc also produces; it does not show the effort of the compressor (level 12)",
}

// CheckOptions: every option that the candidate names was verified, and is in force.
func CheckOptions(t *testing.T, c filesystem.Candidate, options []result.Option) {
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
