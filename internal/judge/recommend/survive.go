package recommend

import (
	"fmt"
	"slices"
	"strings"

	"whichfs/internal/judge/verdict"
	"whichfs/internal/result"
)

// The effects of faults on a candidate, from runs of their own. They depend on
// the filesystem with its options and the kernel, and not on the storage: such
// runs join those of speed whatever storage they used, and their figures are
// never mixed with those of speed, nor with another run of faults.

// mostUnknown is the largest upper limit that counts as shown; 59 iterations
// without a loss reach it.
const mostUnknown = 0.05

// proven are the needs that only runs of faults can show.
var proven = []struct{ name, value, about string }{
	{"survives", "power-cut", "kept all promised data through every power cut and in every crash state of a run of faults"},
	{"detects", "corruption", "never returned corrupt data without an error in a run of faults"},
}

// isProven reports whether runs of faults decide the need.
func (n Need) isProven() bool {
	return slices.ContainsFunc(proven, func(p struct{ name, value, about string }) bool { return p.name == n.Name })
}

// parseProven parses such a need; ok is false for any other name.
func parseProven(name, value string) (n Need, ok bool, err error) {
	for _, p := range proven {
		if p.name != name {
			continue
		}
		if strings.TrimSpace(value) != p.value {
			return Need{}, true, result.Refuse("--need "+p.name+"="+p.value, "need %s: %q is not %s", name, value, p.value)
		}
		return Need{Name: p.name, Written: p.value}, true, nil
	}
	return Need{}, false, nil
}

// faultsOnly reports whether a run shows what survives and no speed.
func faultsOnly(s verdict.Judged) bool {
	if s.Verdict.Reliability == nil {
		return false
	}
	for _, c := range s.Study.Columns {
		if len(c.Uses) > 0 {
			return false
		}
	}
	return true
}

// parted separates runs of speed from those that show what survives.
func parted(runs []verdict.Judged) (speed, faults []verdict.Judged, err error) {
	for i, s := range runs {
		if slices.ContainsFunc(runs[:i], func(o verdict.Judged) bool { return o.Verdict.Run.ID == s.Verdict.Run.ID }) {
			return nil, nil, result.Refuse("name each run once", "run %s is named twice", s.Verdict.Run.ID)
		}
		if s.Verdict.Reliability != nil {
			faults = append(faults, s)
		}
		if !faultsOnly(s) {
			speed = append(speed, s)
		}
	}
	return speed, faults, nil
}

// otherKernel warns where speed and faults were measured on different kernels.
func (d *data) otherKernel() {
	kernel := func(s verdict.Judged) string { return condition(s.Verdict.Run, "machine", "kernel") }
	for _, p := range d.pools {
		for _, s := range p.runs {
			for _, f := range d.faults {
				if a, b := kernel(s), kernel(f); a != b && a != "" && b != "" {
					d.warn(fmt.Sprintf("Faults were tested on kernel %s (%s), and speed was measured on kernel %s: a driver may differ between them.", b, f.Verdict.Run.ID, a))
				}
			}
		}
	}
}

// proof tests a candidate against a need that runs of faults show. One breach
// in any run rules it out; runs without a breach show only as much as their
// upper limit.
func (d *data) proof(n Need, c candidate) (out *Exclusion, doubt *Doubt) {
	not := func(why string) *Doubt {
		return &Doubt{Need: n.String(), Text: fmt.Sprintf("%s is not shown: %s", n, why)}
	}
	best, why := 2.0, "no run of faults includes it"
	for _, s := range d.faults {
		row, ok := s.Verdict.Reliability.Row(c.name)
		if !ok {
			continue
		}
		breach, bound, lack := breachOf(n, s.Verdict.Reliability, row)
		if breach != "" {
			return &Exclusion{Candidate: c.name, Need: n.String(), Why: breach, Source: "measured in " + whereOf(s)}, nil
		}
		if bound < best || why == "no run of faults includes it" {
			best, why = bound, lack
		}
	}
	if why == "" {
		return nil, nil
	}
	return nil, not(why)
}

func whereOf(s verdict.Judged) string {
	text := s.Verdict.Run.ID
	if k := condition(s.Verdict.Run, "machine", "kernel"); k != "" {
		text += " (kernel " + k + ")"
	}
	return text
}

// breachOf returns what a row shows about a need: a breach, as a clause whose
// subject is the candidate; or the upper limit of the rate, and what is
// missing.
func breachOf(n Need, r *verdict.Reliability, row verdict.FaultRow) (breach string, bound float64, lack string) {
	if n.Name == "detects" {
		return silence(row)
	}
	cuts, states := row.Sum(verdict.PowerCuts), row.Sum(verdict.CrashStates)
	switch {
	case cuts.Tried > 0 && cuts.Lost.Hits > 0:
		return fmt.Sprintf("lost promised data after %s power cuts (%s); the worst outcome: %s", cuts.Lost.Count(), cuts.Lost.Limits(), cuts.Worst), 1, ""
	case states.Tried > 0 && states.Lost.Hits > 0:
		return fmt.Sprintf("lost promised data in %s crash states; the worst outcome: %s", states.Lost.Count(), states.Worst), 1, ""
	case cuts.Broken+states.Broken > 0:
		return fmt.Sprintf("broke %d of %d promises when the power was cut", cuts.Broken+states.Broken, cuts.Promises+states.Promises), 1, ""
	case cuts.Tried == 0:
		return "", 1, "it was not tested with power cuts (" + cuts.Absent + ")"
	case len(cuts.Missing) > 0:
		return "", cuts.Lost.High, "some power cuts were not judged (" + strings.Join(cuts.Missing, "; ") + ")"
	case notesOf(r, row, verdict.PowerCuts) != "":
		return "", cuts.Lost.High, "some power cuts were not judged (" + notesOf(r, row, verdict.PowerCuts) + ")"
	case cuts.Lost.High > mostUnknown:
		return "", cuts.Lost.High, fmt.Sprintf("%s power cuts lost promised data, which shows only that %s do; 59 without a loss show at most 5 %%", cuts.Lost.Count(), cuts.Lost.Limits())
	}
	return "", cuts.Lost.High, ""
}

// notesOf are the notes of a row's cells in a class.
func notesOf(r *verdict.Reliability, row verdict.FaultRow, class string) string {
	var out []string
	for i, c := range row.Cells {
		if c.Note != "" && r.Cases[i].Class == class {
			out = append(out, c.Name+": "+c.Note)
		}
	}
	return strings.Join(out, "; ")
}

// silence is breachOf of corruption.
func silence(row verdict.FaultRow) (breach string, bound float64, lack string) {
	c := row.Detection
	switch {
	case c.Tried > 0 && c.Silent.Hits > 0:
		return fmt.Sprintf("returned corrupt data without an error in %s iterations (%s)", c.Silent.Count(), c.Silent.Limits()), 1, ""
	case c.Tried == 0:
		return "", 1, "it was not tested with corruption (" + c.Absent + ")"
	case c.Unnoticed.Of == 0:
		return "", 1, fmt.Sprintf("%d iterations did no damage, so there was nothing to detect", c.Tried)
	case len(c.Missing) > 0:
		return "", c.Unnoticed.High, "some corruption was not judged (" + strings.Join(c.Missing, "; ") + ")"
	case c.Unnoticed.High > mostUnknown:
		return "", c.Unnoticed.High, fmt.Sprintf("%s iterations with damage were silent, which shows only that %s are; 59 show at most 5 %%", c.Unnoticed.Count(), c.Unnoticed.Limits())
	}
	return "", c.Unnoticed.High, ""
}

// unproven lists the needs that no run here can show.
func (d *data) unproven(needs []Need) (out []Missing) {
	for _, n := range needs {
		if n.isProven() && len(d.faults) == 0 {
			out = append(out, Missing{Keys: []string{n.Name}, Text: fmt.Sprintf("No evidence on %s: there is no run of faults.", n), Remedy: "whichfs run " + faultStudy})
		}
	}
	return out
}

// faultStudy is the study whose runs show what survives.
const faultStudy = "elc-2015-reliability"
