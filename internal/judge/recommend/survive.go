package recommend

import (
	"fmt"
	"slices"
	"strings"

	"whichfs/internal/judge/verdict"
	"whichfs/internal/result"
)

// What faults did to a candidate in runs of their own. It is about the
// filesystem with its options on a kernel, and not about the storage: such runs
// stand beside those of speed whatever they were made on, and no figure of one
// is ever mixed with a figure of the other, nor with another run of faults.

// mostUnknown is the largest upper limit that passes for shown: 59 iterations
// without a loss have it.
const mostUnknown = 0.05

// proven are the needs that only runs of faults can show.
var proven = []struct{ name, value, about string }{
	{"survives", "power-cut", "kept what was promised after every power cut, and in every crash state, of a run of faults"},
	{"detects", "corruption", "never gave out corrupted data without an error in a run of faults"},
}

// isProven reports whether runs of faults decide the need.
func (n Need) isProven() bool {
	return slices.ContainsFunc(proven, func(p struct{ name, value, about string }) bool { return p.name == n.Name })
}

// parseProven reads such a need; ok is false where the name is none.
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

// faultsOnly reports whether a run shows what survives and nothing of speed.
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

// parted separates runs of speed from all that show what survives.
func parted(runs []verdict.Judged) (speed, faults []verdict.Judged, err error) {
	for i, s := range runs {
		if slices.ContainsFunc(runs[:i], func(o verdict.Judged) bool { return o.Verdict.Run.ID == s.Verdict.Run.ID }) {
			return nil, nil, result.Refuse("name each run once", "run %s is there twice", s.Verdict.Run.ID)
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
					d.warn(fmt.Sprintf("What survives was tried on kernel %s (%s), and speed was measured on kernel %s: a driver may differ between them.", b, f.Verdict.Run.ID, a))
				}
			}
		}
	}
}

// proof holds a candidate against a need that runs of faults show. One breach in
// any run rules it out; that none was seen shows as much as its limit does.
func (d *data) proof(n Need, c candidate) (out *Exclusion, doubt *Doubt) {
	not := func(why string) *Doubt {
		return &Doubt{Need: n.String(), Text: fmt.Sprintf("%s is not shown: %s", n, why)}
	}
	best, why := 2.0, "no run of faults has it"
	for _, s := range d.faults {
		row, ok := s.Verdict.Reliability.Row(c.name)
		if !ok {
			continue
		}
		breach, bound, lack := breachOf(n, s.Verdict.Reliability, row)
		if breach != "" {
			return &Exclusion{Candidate: c.name, Need: n.String(), Why: breach, Source: "measured in " + whereOf(s)}, nil
		}
		if bound < best || why == "no run of faults has it" {
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

// breachOf says what a row shows of a need: a breach, as a clause whose subject
// is the candidate; or the upper limit of what can be, and what is lacking.
func breachOf(n Need, r *verdict.Reliability, row verdict.FaultRow) (breach string, bound float64, lack string) {
	if n.Name == "detects" {
		return silence(row)
	}
	cuts, states := row.Sum(verdict.PowerCuts), row.Sum(verdict.CrashStates)
	switch {
	case cuts.Tried > 0 && cuts.Lost.Hits > 0:
		return fmt.Sprintf("lost something that was promised after %s power cuts (%s), at worst: %s", cuts.Lost.Count(), cuts.Lost.Limits(), cuts.Worst), 1, ""
	case states.Tried > 0 && states.Lost.Hits > 0:
		return fmt.Sprintf("lost something that was promised in %s crash states, at worst: %s", states.Lost.Count(), states.Worst), 1, ""
	case cuts.Broken+states.Broken > 0:
		return fmt.Sprintf("broke %d of %d promises when the power was cut", cuts.Broken+states.Broken, cuts.Promises+states.Promises), 1, ""
	case cuts.Tried == 0:
		return "", 1, "no power cut was judged with it (" + cuts.Absent + ")"
	case len(cuts.Missing) > 0:
		return "", cuts.Lost.High, "some power cuts were not judged (" + strings.Join(cuts.Missing, "; ") + ")"
	case notesOf(r, row, verdict.PowerCuts) != "":
		return "", cuts.Lost.High, "some power cuts were not judged (" + notesOf(r, row, verdict.PowerCuts) + ")"
	case cuts.Lost.High > mostUnknown:
		return "", cuts.Lost.High, fmt.Sprintf("%s power cuts lost something, which shows only that %s do; 59 without a loss show at most 5 %%", cuts.Lost.Count(), cuts.Lost.Limits())
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
		return fmt.Sprintf("gave out corrupted data without an error in %s iterations (%s)", c.Silent.Count(), c.Silent.Limits()), 1, ""
	case c.Tried == 0:
		return "", 1, "no corruption was judged with it (" + c.Absent + ")"
	case c.Unnoticed.Of == 0:
		return "", 1, fmt.Sprintf("nothing was damaged in %d iterations, so nothing could be noticed", c.Tried)
	case len(c.Missing) > 0:
		return "", c.Unnoticed.High, "some corruption was not judged (" + strings.Join(c.Missing, "; ") + ")"
	case c.Unnoticed.High > mostUnknown:
		return "", c.Unnoticed.High, fmt.Sprintf("%s iterations with damage were silent, which shows only that %s are; 59 show at most 5 %%", c.Unnoticed.Count(), c.Unnoticed.Limits())
	}
	return "", c.Unnoticed.High, ""
}

// unproven says which needs no run here can show.
func (d *data) unproven(needs []Need) (out []Missing) {
	for _, n := range needs {
		if n.isProven() && len(d.faults) == 0 {
			out = append(out, Missing{Keys: []string{n.Name}, Text: fmt.Sprintf("Whether %s is kept is not shown: there is no run of faults.", n), Remedy: "whichfs run " + faultStudy})
		}
	}
	return out
}

// faultStudy is the study whose runs show what survives.
const faultStudy = "elc-2015-reliability"
