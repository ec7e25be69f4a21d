package machinetest

import (
	"bytes"
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"whichfs/internal/host/dataset"
	"whichfs/internal/host/machine"
	"whichfs/internal/plan/scenario"
	"whichfs/internal/result"
	"whichfs/internal/testing/must"
	"whichfs/internal/testing/parsed"
	"whichfs/internal/testing/wait"
	"whichfs/internal/wire"
)

// Metrics are the figures of every phase.
var Metrics = []string{
	result.Wall, result.CPUUser, result.CPUSystem, result.CPUFilesystem, result.CPUKernel,
	result.DeviceRead, result.DeviceWritten, result.DeviceReads, result.DeviceWrites, result.DeviceFlushes,
	result.DeviceDiscards, result.DeviceDiscard, result.DeviceBusy, result.DevicePeakRead, result.DevicePeakWritten,
	result.MemFreeBefore, result.MemFreeAfter, result.MemSlabBefore, result.MemSlabAfter,
	result.KernelMessages, result.AgentMallocs,
}

// copies of tree and stream.
const copies = 2

// Data returns a tree of 24 files, with links and an empty directory, and a stream of 2 MiB. They
// are small enough for an emulated guest.
func Data(t *testing.T) []scenario.Data {
	t.Helper()
	dir := t.TempDir()
	top := filepath.Join(dir, "tree")
	must.Do(t, os.MkdirAll(filepath.Join(top, "empty"), 0o755))
	r := rand.NewChaCha8([32]byte{1})
	for i := range 24 {
		sub := filepath.Join(top, fmt.Sprintf("d%d", i%3))
		must.Do(t, os.MkdirAll(sub, 0o755))
		body := make([]byte, i*i*64) // the first one is empty
		_, _ = r.Read(body)
		must.Do(t, os.WriteFile(filepath.Join(sub, fmt.Sprintf("file %02d", i)), body, 0o644))
	}
	must.Do(t, os.Symlink("../d1/file 01", filepath.Join(top, "d0/link")))
	must.Do(t, os.Link(filepath.Join(top, "d1/file 22"), filepath.Join(top, "d2/same")))
	var archive bytes.Buffer
	info, err := dataset.Pack(context.Background(), top, &archive, dataset.Limits{})
	must.Do(t, err)
	path := filepath.Join(dir, "tree.tar")
	must.Do(t, os.WriteFile(path, archive.Bytes(), 0o644))
	tree := scenario.Data{Name: "tree", Kind: "tree", Size: info.Size, Digest: info.Digest, Files: info.Files, Archive: info.Archive, Path: path}
	return []scenario.Data{tree, dataset.Stream("stream", 2<<20, 1)}
}

// Scenario is a complete one with little data.
func Scenario() scenario.Scenario {
	return scenario.Scenario{
		{Work: "discard"},
		{Work: "module-load", Phase: "module-load"},
		{Work: "mkfs", Phase: "mkfs"},
		{Work: "mount", Phase: "mount"},
		{Work: "space", Phase: "space-empty"},
		{Work: "tree-copy", Phase: "write", Data: "tree", Dir: "copies", Count: copies},
		{Work: "space", Phase: "space-filled"},
		{Work: "remount", Phase: "mount-again"},
		{Work: "tree-read", Phase: "read", Data: "tree", Dir: "copies", Count: copies},
		{Work: "tree-clone", Phase: "clone", Data: "tree", Dir: "copies", Only: "reflink"},
		{Work: "tree-rotate", Phase: "read-write", Data: "tree", Dir: "copies", Count: copies},
		{Work: "tree-remove", Phase: "remove", Dir: "copies"},
		{Work: "stream-write", Phase: "seq-write", Data: "stream", Dir: "streams", Count: copies},
		{Work: "remount"},
		{Work: "stream-read", Phase: "seq-read", Data: "stream", Dir: "streams", Count: copies},
		{Work: "unmount", Phase: "unmount"},
		{Work: "check", Phase: "check"},
	}
}

// figures are those of a trial, by phase and metric.
type figures map[string]map[string]result.Measurement

func testTrial(t *testing.T, s machine.Session, candidate string) {
	plan := Scenario()
	var events []string
	got := figures{}
	var options []result.Option
	trial := wire.Trial{Candidate: parsed.Candidate(candidate), Scenario: plan, StepLimit: wait.Patience.Seconds()}
	d, err := s.Trial(within(t), trial, machine.Events{
		Phase: func(name string) { events = append(events, "begin "+name) },
		Figures: func(f wire.Figures) {
			events = append(events, "figures "+f.Phase)
			options = append(options, f.Options...)
			got.add(t, f)
		},
	})
	if err != nil {
		t.Fatalf("trial: %v", Explain(err))
	}
	if d.Outcome != result.Done || d.Reason != "" {
		t.Fatalf("it ended with %+v", d)
	}
	order(t, plan.Phases(), events)
	for _, phase := range plan.Phases() {
		wall(t, got, phase)
	}
	for _, phase := range []string{"write", "read", "read-write", "remove", "seq-write", "seq-read"} {
		complete(t, got[phase], phase)
	}
	amounts(t, got)
	for _, o := range options {
		if o.Text == "" || o.Evidence == "" || !slices.Contains([]result.OptionState{result.InForce, result.Altered, result.Ignored, result.Unverified}, o.State) {
			t.Errorf("option %+v", o)
		}
	}
	if strings.Contains(candidate, "noatime") && !slices.ContainsFunc(options, func(o result.Option) bool {
		return strings.Contains(o.Text, "noatime") && o.State == result.InForce
	}) {
		t.Errorf("noatime is not reported to be in force: %v", options)
	}
}

// add checks the form of every figure: one value or one reason, once.
func (all figures) add(t *testing.T, f wire.Figures) {
	if all[f.Phase] == nil {
		all[f.Phase] = map[string]result.Measurement{}
	}
	for _, m := range f.Measurements {
		if _, twice := all[f.Phase][m.Metric]; twice {
			t.Errorf("%s of phase %s comes twice", m.Metric, f.Phase)
		}
		all[f.Phase][m.Metric] = m
		switch {
		case m.Phase != f.Phase:
			t.Errorf("%s of phase %q among the figures of %q", m.Metric, m.Phase, f.Phase)
		case !slices.Contains([]string{"s", "B", "B/s", "1"}, m.Unit):
			t.Errorf("%s of phase %s in unit %q", m.Metric, f.Phase, m.Unit)
		case m.Absent != "" && m.Value != 0:
			t.Errorf("%s of phase %s is absent (%s) and %v", m.Metric, f.Phase, m.Absent, m.Value)
		case m.Metric == result.MemTaken || m.Metric == result.MemSlabTaken:
			// A phase may have freed memory.
		case m.Absent == "" && (m.Value < 0 || math.IsNaN(m.Value) || math.IsInf(m.Value, 0)):
			t.Errorf("%s of phase %s is %v", m.Metric, f.Phase, m.Value)
		}
	}
	for _, n := range f.Notes {
		if n.Text == "" || n.Level != result.Info && n.Level != result.Warning {
			t.Errorf("note %+v of phase %s", n, f.Phase)
		}
	}
}

// order: each measured phase begins, then has figures, then the next begins. The machine may have
// its own phases in between.
func order(t *testing.T, phases, events []string) {
	t.Helper()
	var want []string
	for _, p := range phases {
		want = append(want, "begin "+p, "figures "+p)
	}
	kept := slices.DeleteFunc(slices.Clone(events), func(e string) bool { return !slices.Contains(want, e) })
	if !slices.Equal(kept, want) {
		t.Errorf("events came as %q, want %q", kept, want)
	}
}

// wall: a phase that took place took time; one that did not says why.
func wall(t *testing.T, got figures, phase string) {
	t.Helper()
	m, ok := got[phase][result.Wall]
	switch {
	case !ok && strings.HasPrefix(phase, "space"):
		// Reading the space is not work: its time is meaningless.
	case !ok:
		t.Errorf("phase %s has no wall time", phase)
	case m.Absent == "" && m.Value <= 0:
		t.Errorf("phase %s took %v s", phase, m.Value)
	case m.Absent != "" && slices.Contains([]string{"mkfs", "mount", "write", "mount-again", "read", "read-write", "remove", "seq-write", "seq-read", "unmount"}, phase):
		t.Errorf("phase %s was not measured: %s", phase, m.Absent)
	}
}

// complete: every figure of a phase is there, as a value or as a reason.
func complete(t *testing.T, got map[string]result.Measurement, phase string) {
	t.Helper()
	for _, metric := range Metrics {
		if _, ok := got[metric]; !ok {
			t.Errorf("phase %s has no %s, and no reason why", phase, metric)
		}
	}
	for _, metric := range []string{result.MemFreeBefore, result.MemFreeAfter, result.MemSlabBefore, result.MemSlabAfter} {
		if m := got[metric]; m.Absent == "" && m.Value == 0 {
			t.Errorf("%s of phase %s is 0", metric, phase)
		}
	}
}

// amounts: the requested data was handled, and reached the device.
func amounts(t *testing.T, got figures) {
	t.Helper()
	data := Data(t)
	value := func(phase, metric string) float64 {
		m, ok := got[phase][metric]
		if !ok || m.Absent != "" {
			t.Errorf("phase %s: %s is absent: %s", phase, metric, m.Absent)
			return math.NaN()
		}
		return m.Value
	}
	for phase, want := range map[string]int64{
		"write": copies * data[0].Size, "seq-write": copies * data[1].Size, "seq-read": copies * data[1].Size,
	} {
		if b := value(phase, result.DataBytes); b != float64(want) {
			t.Errorf("phase %s handled %v bytes, want %d", phase, b, want)
		}
	}
	if b := value("read", result.DataBytes); !(b >= float64(copies*data[0].Size)) {
		t.Errorf("phase read saw %v bytes of %d trees of %d", b, copies, data[0].Size)
	}
	for phase, metric := range map[string]string{"write": result.DeviceWritten, "seq-write": result.DeviceWritten, "read": result.DeviceRead, "seq-read": result.DeviceRead} {
		if m := got[phase][metric]; m.Absent == "" && m.Value == 0 {
			t.Errorf("nothing reached the device in phase %s, %s is 0", phase, metric)
		}
	}
	empty, filled := value("space-empty", result.SpaceUsed), value("space-filled", result.SpaceUsed)
	if !(filled > empty) {
		t.Errorf("%v bytes are used when empty and %v when filled", empty, filled)
	}
	if total := value("space-filled", result.SpaceTotal); !(total > filled) {
		t.Errorf("%v bytes of %v are used", filled, total)
	}
}
