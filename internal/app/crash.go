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
	"whichfs/internal/report"
	"whichfs/internal/result"
	"whichfs/internal/sys/units"
	"whichfs/internal/target/explore"
	"whichfs/internal/target/workload"
	"whichfs/internal/wire"
)

// CheckCrash rejects a machine that cannot explore states.
func CheckCrash(name string, risk bool) error {
	switch {
	case name != "lab" && name != "local" && name != "fake":
		return result.Refuse("", "unknown machine %q; the machines are lab and local", name)
	case name == "local" && !risk:
		no := workload.AtRisk()
		return result.Refuse(no.Hint, "%s", no.Reason)
	case name == "local" && os.Geteuid() != 0:
		return result.Refuse("run it with sudo, or use --machine lab", "no permission: mounting states on this machine's own kernel needs root")
	}
	return nil
}

// crashPlace is the machine that a user names, with the needs of a session on it.
func (a *App) crashPlace(name string, risk bool) (crash.Place, error) {
	m, err := a.machine(name, result.ClockWall)
	if err != nil {
		return crash.Place{}, err
	}
	p := crash.Place{Machine: m, Spec: crash.SpecFor(name)}
	p.Spec.RiskKernel = risk
	if p.Spec.Work, err = workDir(""); err != nil {
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
func (a *App) crashPlaces(name string, risk bool) (look crash.Place, record *crash.Place, err error) {
	if look, err = a.crashPlace(name, risk); err != nil || name != "local" {
		return look, nil, err
	}
	lab, err := a.crashPlace("lab", false)
	return look, &lab, err
}

// Explore explores a candidate. On an error it also returns the findings so far.
func (a *App) Explore(ctx context.Context, machineName string, risk bool, order crash.Order, tell func(wire.Progress)) (report.CrashCandidate, crash.Result, error) {
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
	look, record, err := a.crashPlaces(machineName, risk)
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
func (a *App) Record(ctx context.Context, machineName string, candidate filesystem.Candidate, s script.Script, tell func(wire.Progress)) (explore.Recording, error) {
	place, err := a.crashPlace(machineName, false)
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
func (a *App) Replay(ctx context.Context, machineName string, risk bool, f finding.Finding) (finding.Finding, error) {
	place, err := a.crashPlace(machineName, risk)
	if err != nil {
		return f, err
	}
	now, facts, err := crash.Replay(ctx, place.Machine, place.Spec, f, 0)
	now.Kernel = cmp.Or(now.Kernel, facts.Kernel)
	return now, err
}
