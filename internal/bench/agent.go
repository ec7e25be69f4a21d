package bench

import (
	"context"
	"debug/elf"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"text/tabwriter"

	"whichfs/internal/filesystem"
	"whichfs/internal/host/machine"
	"whichfs/internal/plan/scenario"
	"whichfs/internal/result"
	"whichfs/internal/wire"
)

// agentLimit is the largest agent that suits a small board, in bytes.
const agentLimit = 10_000_000

func agent(ctx context.Context, c Config, out io.Writer) error {
	return errors.Join(agentSizes(c, out), agentAllocations(ctx, c, out))
}

func agentSizes(c Config, out io.Writer) error {
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "architecture\tbytes\tlinked\tlimit\t")
	for _, arch := range machine.Architectures {
		path := filepath.Join(c.Bin, "whichfs-agent-linux-"+arch)
		size, linked, err := program(path)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			fmt.Fprintf(table, "%s\tnot built: make agents\t\t\t\n", arch)
		case err != nil:
			return fmt.Errorf("%s: %w", path, err)
		default:
			fmt.Fprintf(table, "%s\t%d\t%s\tat most %d\t%s\n", arch, size, linked, agentLimit, holds(size <= agentLimit))
		}
	}
	return table.Flush()
}

// program returns a program's size and how it is linked.
func program(path string) (size int64, linked string, err error) {
	info, err := os.Stat(path)
	if err != nil {
		return 0, "", err
	}
	f, err := elf.Open(path)
	if err != nil {
		return 0, "", err
	}
	defer f.Close() //nolint:errcheck // read only
	for _, p := range f.Progs {
		if p.Type == elf.PT_INTERP {
			return info.Size(), "dynamically", nil
		}
	}
	return info.Size(), "statically", nil
}

// startsProgram are the kinds of work whose timed section starts another program, which allocates
// memory.
var startsProgram = []string{"mkfs", "check", "image"}

// allocations are those of one kind of work.
type allocations struct {
	phases int
	most   float64 // in one phase
	absent string
}

// agentAllocations runs one trial with a filesystem that is written in place and one with one that
// is not; together they include every kind of work.
func agentAllocations(ctx context.Context, c Config, out io.Writer) error {
	p, err := newPlace(ctx, c)
	if err != nil {
		return err
	}
	byWork := map[string]*allocations{}
	var order []string
	for _, t := range []struct {
		candidate string
		readOnly  bool
	}{{"xfs", false}, {"erofs", true}} {
		steps := p.study.Scenario(t.readOnly, p.scale)
		done, figures, err := p.trial(ctx, wire.Trial{Candidate: filesystem.Candidate{FS: t.candidate}, Scenario: steps, StepLimit: p.scale.StepLimit})
		if err != nil {
			return fmt.Errorf("trial of %s on %s: %w", t.candidate, p.name, err)
		}
		if done.Outcome != result.Done {
			fmt.Fprintf(out, "the trial of %s ended in phase %s: %s\n", t.candidate, done.Phase, done.Reason)
		}
		for _, m := range figures {
			work, ok := workOf(steps, m.Phase)
			if !ok || m.Metric != result.AgentMallocs {
				continue
			}
			a := byWork[work]
			if a == nil {
				a = &allocations{}
				byWork[work], order = a, append(order, work)
			}
			if m.Absent != "" {
				a.absent = m.Absent
				continue
			}
			a.phases++
			a.most = max(a.most, m.Value)
		}
	}
	fmt.Fprintf(out, "\nallocations in trials on %s\n", p.name)
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "kind of work\tphases\tmost in one\tlimit\t")
	for _, work := range order {
		a := byWork[work]
		switch {
		case a.phases == 0:
			fmt.Fprintf(table, "%s\t0\t%s\t\t\n", work, a.absent)
		case slices.Contains(startsProgram, work):
			fmt.Fprintf(table, "%s\t%d\t%.0f\tnone: it starts a program\t\n", work, a.phases, a.most)
		default:
			fmt.Fprintf(table, "%s\t%d\t%.0f\t0\t%s\n", work, a.phases, a.most, holds(a.most == 0))
		}
	}
	return table.Flush()
}

// workOf finds the kind of work of a phase.
func workOf(steps scenario.Scenario, phase string) (string, bool) {
	for _, s := range steps {
		if s.Phase == phase && phase != "" {
			return s.Work, true
		}
	}
	return "", false
}

// trial runs one trial on a fresh agent.
func (p *place) trial(ctx context.Context, t wire.Trial) (done wire.Done, figures []result.Measurement, err error) {
	s, err := p.machine.Start(ctx, p.spec)
	if err != nil {
		return wire.Done{}, nil, err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	done, err = s.Trial(ctx, t, machine.Events{Figures: func(f wire.Figures) { figures = append(figures, f.Measurements...) }})
	return done, figures, err
}
