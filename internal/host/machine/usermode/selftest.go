package usermode

import (
	"context"
	_ "embed"
	"fmt"
	"math"
	"slices"
	"strings"

	"whichfs/internal/filesystem"
	"whichfs/internal/host/dataset"
	"whichfs/internal/host/lab/virtual"
	"whichfs/internal/host/machine"
	"whichfs/internal/plan/processor"
	"whichfs/internal/plan/scenario"
	"whichfs/internal/result"
	"whichfs/internal/target/agent/pid1"
	"whichfs/internal/wire"
)

// SelfTest checks a kernel that was just built: its clock is ours, programs keep their vector
// registers, and a known run gives the known figures, which are those of every machine. Mirrors keep
// only the newest source of most series: no figures of them are known, and the run must give the same
// ones twice. The progress has a line that says how programs are kept from the host.
func (m *Machine) SelfTest(ctx context.Context, kernel virtual.Choice) error {
	h, err := m.host(ctx, kernel)
	if err != nil {
		return err
	}
	if err := h.vectors(ctx); err != nil {
		return &result.Failure{Outcome: result.LabFailed, Reason: "the virtual lab's kernel fails its self-test", Err: err, Hint: "whichfs lab build --virtual --force"}
	}
	got, way, err := m.knownRun(ctx, kernel)
	if err != nil {
		return err
	}
	if m.o.Progress != nil {
		m.o.Progress(aboutIsolation[way])
	}
	if k := h.kernel.Manifest; kernel.Counting || k.Series != virtual.Default || k.Wanted != "" {
		again, _, err := m.knownRun(ctx, kernel)
		if err == nil && again != got {
			err = result.Fail(result.LabFailed, "", "a run with the virtual lab's kernel does not repeat: it measured\n%sand then\n%s", got, again)
		}
		return err
	}
	if other := differing(known, got); other != "" {
		return result.Fail(result.LabFailed, "compare kernel and compiler with those of another machine: whichfs lab list",
			"the virtual lab's known run has other figures here than elsewhere:\n%s", other)
	}
	return nil
}

// vectors starts a guest that checks its vector registers.
func (h *host) vectors(ctx context.Context) error {
	p, err := h.plan(machine.Spec{Storage: "sim:free,64M", Virtual: true}, nil)
	if err != nil {
		return err
	}
	p.append = []string{"whichfs.vectors"}
	g, err := h.alone(ctx, p)
	if err != nil {
		return err
	}
	said := g.console.Last()
	if !slices.ContainsFunc(said, func(line string) bool { return strings.Contains(line, pid1.VectorsMark) }) {
		return fmt.Errorf("vector registers: %s: %s", g.reason(), strings.Join(said, "; "))
	}
	return nil
}

// known are the figures of the known run, with Debian's source of the fixed version.
//
//go:embed known.txt
var known string

// knownRun measures a small run on a simulated card, and says how the guest's programs are isolated.
func (m *Machine) knownRun(ctx context.Context, kernel virtual.Choice) (figures, way string, err error) {
	spec := machine.Spec{
		Storage: "sim:sd-basic,256M", Seed: 1, Virtual: true, Kernel: kernel.Series, Data: []scenario.Data{dataset.Stream("stream", 8<<20, 1)},
	}
	if kernel.Counting {
		p, err := processor.Parse("600MIPS")
		if err != nil {
			return "", "", err
		}
		spec.Processor = &p
	}
	s, err := m.Start(ctx, spec)
	if err != nil {
		return "", "", err
	}
	defer s.Close() //nolint:errcheck // it is discarded
	if way, err = s.(*Session).guest.isolation(); err != nil {
		return "", "", &result.Failure{Outcome: result.LabFailed, Reason: "the virtual lab's kernel does not isolate its programs", Err: err, Hint: "whichfs lab build --virtual --force"}
	}
	var text strings.Builder
	for _, name := range []string{"ext4", "btrfs", "f2fs"} {
		c, err := filesystem.Parse(name)
		if err != nil {
			return "", "", err
		}
		work := scenario.Scenario{
			{Work: "mkfs", Phase: "mkfs"},
			{Work: "mount", Phase: "mount"},
			{Work: "stream-write", Phase: "write", Data: "stream", Dir: "streams", Count: 1},
			{Work: "remount"},
			{Work: "stream-read", Phase: "read", Data: "stream", Dir: "streams", Count: 1},
			{Work: "unmount", Phase: "unmount"},
		}
		done, err := s.Trial(ctx, wire.Trial{Candidate: c, Scenario: work}, machine.Events{Figures: func(f wire.Figures) {
			for _, x := range f.Measurements {
				if x.Metric == result.Wall {
					fmt.Fprintf(&text, "%s %s %.9f s\n", name, f.Phase, x.Value)
				}
			}
		}})
		if err != nil {
			return "", "", err
		}
		if done.Outcome != result.Done {
			return "", "", result.Fail(result.LabFailed, done.Hint, "the known run: %s ended in %s: %s", name, done.Phase, done.Reason)
		}
	}
	return text.String(), way, nil
}

// differing are the lines of the known run that differ from those expected by more than the slack of
// the clock: another build of the agent, if only with another version in its text, collects its garbage
// at other moments, and reads the clock some times more or less. The same build gives the same figures.
func differing(want, got string) string {
	var out strings.Builder
	have := strings.Split(strings.TrimSpace(got), "\n")
	for i, line := range strings.Split(strings.TrimSpace(want), "\n") {
		if i < len(have) && same(line, have[i]) {
			continue
		}
		fmt.Fprintf(&out, "expected %s", line)
		if i < len(have) {
			fmt.Fprintf(&out, ", measured %s", have[i])
		}
		out.WriteByte('\n')
	}
	return strings.TrimSpace(out.String())
}

// same reports whether two lines have the same time of the same phase.
func same(a, b string) bool {
	var nameA, phaseA, nameB, phaseB string
	var x, y float64
	if n, _ := fmt.Sscan(a, &nameA, &phaseA, &x); n != 3 {
		return false
	}
	if n, _ := fmt.Sscan(b, &nameB, &phaseB, &y); n != 3 {
		return false
	}
	return nameA == nameB && phaseA == phaseB && math.Abs(x-y) <= result.VirtualSlack
}
