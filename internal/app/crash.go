package app

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"

	"whichfs/internal/fault/finding"
	"whichfs/internal/fault/script"
	"whichfs/internal/filesystem"
	"whichfs/internal/host/crash"
	"whichfs/internal/host/machine"
	"whichfs/internal/host/machine/usermode"
	"whichfs/internal/plan"
	"whichfs/internal/report"
	"whichfs/internal/result"
	"whichfs/internal/sys/units"
	"whichfs/internal/target/explore"
	"whichfs/internal/target/workload"
	"whichfs/internal/wire"
)

// CrashPlace is where crash states are recorded and explored, as a user says it.
type CrashPlace struct {
	Machine string
	// Clock of the lab's guests: result.ClockVirtual, for the virtual lab, or result.ClockWall, for
	// QEMU. Empty: virtual if the virtual lab's kernel has been built.
	Clock string
	// Risk: states may be mounted on this machine's own kernel.
	Risk bool
	Seed uint64 // of what guests of the virtual lab draw at random
}

// Settle rejects what cannot explore states, and fills in the clock.
func (p *CrashPlace) Settle() error {
	switch {
	case plan.OnBoard(p.Machine):
		return result.Refuse("use --machine lab", "crash states are not explored on boards: some crash the kernel that mounts them")
	case p.Machine != "lab" && p.Machine != "local" && p.Machine != "fake":
		return result.Refuse("", "unknown machine %q; the machines are lab and local", p.Machine)
	case p.Clock != "" && p.Clock != result.ClockWall && p.Clock != result.ClockVirtual:
		return result.Refuse("", "crash states have the clock %s or %s, not %q", result.ClockVirtual, result.ClockWall, p.Clock)
	case p.Clock == result.ClockVirtual && p.Machine != "lab":
		return result.Refuse("use --machine lab, or leave --clock out", "machine %s has no virtual clock: only guests of the lab do", p.Machine)
	case p.Machine == "local" && !p.Risk:
		no := workload.AtRisk()
		return result.Refuse(no.Hint, "%s", no.Reason)
	case p.Machine == "local" && os.Geteuid() != 0:
		return result.Refuse("run it with sudo, or use --machine lab", "no permission: mounting states on this machine's own kernel needs root")
	}
	if p.Clock == "" {
		p.Clock = result.ClockWall
		if p.Machine == "lab" && usermode.Built() {
			p.Clock = result.ClockVirtual
		}
	}
	return nil
}

// crashPlace is the machine of a place, with the needs of a session on it.
func (a *App) crashPlace(at CrashPlace) (crash.Place, error) {
	if err := at.Settle(); err != nil {
		return crash.Place{}, err
	}
	m, err := a.machine(at.Machine, at.Clock)
	if err != nil {
		return crash.Place{}, err
	}
	p := crash.Place{Machine: m, Spec: crash.SpecFor(at.Machine, at.Clock)}
	p.Spec.RiskKernel, p.Spec.Seed = at.Risk, at.Seed
	if p.Spec.Work, err = workDir(at.Machine, ""); err != nil {
		return p, err
	}
	if early, ok := m.(machine.Checker); ok {
		return p, early.Check(p.Spec)
	}
	return p, nil
}

// crashPlaces are the machines that explore states and record scripts.
// Recording never uses this machine's own kernel, which has no reason to load
// the modules for it. A nil record means the same machine as look.
func (a *App) crashPlaces(at CrashPlace) (look crash.Place, record *crash.Place, err error) {
	if look, err = a.crashPlace(at); err != nil || at.Machine != "local" {
		return look, nil, err
	}
	lab, err := a.crashPlace(CrashPlace{Machine: "lab", Seed: at.Seed})
	return look, &lab, err
}

// Explore explores a candidate. On an error it also returns the findings so far.
func (a *App) Explore(ctx context.Context, at CrashPlace, order crash.Order, tell func(wire.Progress)) (report.CrashCandidate, crash.Result, error) {
	out := report.CrashCandidate{Candidate: order.Candidate.String()}
	promised := order.Candidate.Promises()
	if out.Unknown = order.Given == "log" && len(order.Scripts) == 0; !out.Unknown {
		out.Source = promised.Source
	}
	for _, s := range order.Scripts {
		if s.Careless {
			out.Loose = append(out.Loose, s.Name)
		}
	}
	look, record, err := a.crashPlaces(at)
	if err != nil {
		return out, crash.Result{}, err
	}
	order.Record = record
	r, err := crash.Run(ctx, look.Machine, look.Spec, order, tell)
	out.Scripts, out.Looking = r.Tallies, r.Looking
	for _, f := range r.Findings {
		out.Findings = append(out.Findings, report.CrashFinding{Finding: f, Excused: f.Excused(promised)})
	}
	return out, r, err
}

// DeathsOf reports for the report how many guests died; the states that killed them are among the
// findings.
func DeathsOf(candidate string, deaths []crash.Death) string {
	if len(deaths) == 0 {
		return ""
	}
	return fmt.Sprintf("%s: %s ended; the last one: %s", candidate, units.Count(len(deaths), "guest"), deaths[len(deaths)-1].Reason)
}

// Record records one script in the lab.
func (a *App) Record(ctx context.Context, at CrashPlace, candidate filesystem.Candidate, s script.Script, tell func(wire.Progress)) (explore.Recording, error) {
	place, err := a.crashPlace(at)
	if err != nil {
		return explore.Recording{}, err
	}
	order := crash.Order{Explore: wire.Explore{Candidate: candidate, Scripts: []script.Script{s}, RecordOnly: true}}
	r, err := crash.Run(ctx, place.Machine, place.Spec, order, tell)
	switch {
	case err != nil:
		return explore.Recording{}, err
	case len(r.Tallies) > 0 && r.Tallies[0].Stopped != "":
		return explore.Recording{}, result.Fail(result.SubjectFailed, "", "%s could not be recorded on %s: %s", s.Name, candidate, r.Tallies[0].Stopped)
	case len(r.Recordings) == 0 || len(r.Recordings[0].Log.Entries) == 0:
		return explore.Recording{}, errors.New("the machine recorded nothing and gave no reason")
	}
	return r.Recordings[0], nil
}

// Replay explores the state of a finding again.
func (a *App) Replay(ctx context.Context, at CrashPlace, f finding.Finding) (finding.Finding, error) {
	place, err := a.crashPlace(at)
	if err != nil {
		return f, err
	}
	now, facts, err := crash.Replay(ctx, place.Machine, place.Spec, f, 0)
	now.Kernel = cmp.Or(now.Kernel, facts.Kernel)
	return now, err
}
