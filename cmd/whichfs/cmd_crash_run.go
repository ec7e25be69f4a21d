package main

import (
	"errors"
	"fmt"
	"os"

	"whichfs/internal/crash"
	"whichfs/internal/fault/explore"
	lost "whichfs/internal/fault/finding"
	"whichfs/internal/fault/script"
	"whichfs/internal/filesystem"
	"whichfs/internal/machine"
	"whichfs/internal/report"
	"whichfs/internal/result"
	"whichfs/internal/units"
	"whichfs/internal/wire"
	"whichfs/internal/workload"
)

// crashMachine says what is wrong with the machine that a user names to look at
// states.
func crashMachine(name string, risk bool) error {
	switch {
	case name != "lab" && name != "local" && name != "fake":
		return result.Refuse("", "unknown machine %q; known are lab and local", name)
	case name == "local" && !risk:
		no := workload.AtRisk()
		return result.Refuse(no.Hint, "%s", no.Reason)
	case name == "local" && os.Geteuid() != 0:
		return result.Refuse("run it with sudo, or use --machine lab", "no permission: mounting states on this machine's own kernel needs root")
	}
	return nil
}

// crashPlace is the machine that a user names, with what a session on it needs.
func crashPlace(a *app, name string, risk bool) (crash.Place, error) {
	m, err := machineNamed(name, a.note)
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

// crashPlaces are where states are looked at and where scripts are recorded:
// what records is never this machine's kernel, which has no reason to load the
// modules for that. nil: where they are looked at.
func crashPlaces(a *app, name string, risk bool) (look crash.Place, record *crash.Place, err error) {
	if look, err = crashPlace(a, name, risk); err != nil || name != "local" {
		return look, nil, err
	}
	lab, err := crashPlace(a, "lab", false)
	return look, &lab, err
}

// exploreCrash has a candidate explored. What was found until an error comes
// with it.
func exploreCrash(a *app, machineName string, risk bool, order crash.Order, tell func(wire.Progress)) (report.CrashCandidate, crash.Result, error) {
	out := report.CrashCandidate{Candidate: order.Candidate}
	c, err := filesystem.Parse(order.Candidate)
	if err != nil {
		return out, crash.Result{}, err
	}
	promised := c.Promises()
	if out.Unknown = order.Given == "log" && len(order.Scripts) == 0; !out.Unknown {
		out.Source = promised.Source
	}
	for _, s := range order.Scripts {
		if s.Careless {
			out.Loose = append(out.Loose, s.Name)
		}
	}
	look, record, err := crashPlaces(a, machineName, risk)
	if err != nil {
		return out, crash.Result{}, err
	}
	order.Record = record
	r, err := crash.Run(a.ctx, look.Machine, look.Spec, order, tell)
	out.Scripts, out.Looking = r.Tallies, r.Looking
	for _, f := range r.Findings {
		out.Findings = append(out.Findings, report.CrashFinding{Finding: f, Excused: report.Excused(f, promised)})
	}
	return out, r, err
}

// deathsOf says how many guests died, for the report; what they died of is among
// the findings.
func deathsOf(candidate string, deaths []crash.Death) string {
	if len(deaths) == 0 {
		return ""
	}
	return fmt.Sprintf("%s: %s ended; the last one: %s", candidate, units.Count(len(deaths), "guest"), deaths[len(deaths)-1].Reason)
}

// recordCrash has one script recorded in the lab.
func recordCrash(a *app, machineName, candidate string, s script.Script, tell func(wire.Progress)) (explore.Recording, error) {
	place, err := crashPlace(a, machineName, false)
	if err != nil {
		return explore.Recording{}, err
	}
	order := crash.Order{Explore: wire.Explore{Candidate: candidate, Scripts: []script.Script{s}, RecordOnly: true}}
	r, err := crash.Run(a.ctx, place.Machine, place.Spec, order, tell)
	switch {
	case err != nil:
		return explore.Recording{}, err
	case len(r.Tallies) > 0 && r.Tallies[0].Stopped != "":
		return explore.Recording{}, result.Fail(result.SubjectFailed, "", "%s could not be recorded on %s: %s", s.Name, candidate, r.Tallies[0].Stopped)
	case len(r.Recordings) == 0 || len(r.Recordings[0].Log.Entries) == 0:
		return explore.Recording{}, errors.New("the machine recorded nothing, and did not say why")
	}
	return r.Recordings[0], nil
}

// replayCrash looks at the state of a finding again.
func replayCrash(a *app, machineName string, risk bool, f lost.Finding) (lost.Finding, error) {
	place, err := crashPlace(a, machineName, risk)
	if err != nil {
		return f, err
	}
	now, facts, err := crash.Replay(a.ctx, place.Machine, place.Spec, f, 0)
	now.Kernel = first(now.Kernel, facts.Kernel)
	return now, err
}
