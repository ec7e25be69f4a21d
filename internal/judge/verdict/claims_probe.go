package verdict

import (
	"fmt"
	"strings"

	"whichfs/internal/plan/study"
	"whichfs/internal/probe"
	"whichfs/internal/sys/units"
)

// checkFinding tests a claim about the bare storage by a probe of it. A finding
// that is only a guess decides nothing.
func (f *figures) checkFinding(out *Claim, k study.FindingCheck) {
	r := f.probed(out)
	if r == nil {
		return
	}
	found := r.Find(k.Key)
	if !found.Known() {
		out.Figures = "cannot be determined on this device: " + found.Undetermined
		return
	}
	measured := found.Value
	value := units.Value(found.Value, found.Unit)
	if found.Unit == "B" && found.Value == 0 {
		value = "none"
	}
	guess := found.Sureness() == "unsure"
	if k.Of != "" {
		base := r.Find(k.Of)
		if !base.Known() || base.Value <= 0 {
			out.Figures = fmt.Sprintf("%s is %s, and %s cannot be determined: %s", lowered(found.Name), value, k.Of, base.Undetermined)
			return
		}
		measured /= base.Value
		guess = guess || base.Sureness() == "unsure"
		value += fmt.Sprintf(", %s of %s", units.Ratio(measured), lowered(base.Name))
	}
	holds := measured >= k.Low && (k.High == 0 && !k.Zero || measured <= k.High)
	if k.Text != "" {
		value, holds = found.Text, strings.HasPrefix(found.Text, k.Text)
	}
	out.Figures = fmt.Sprintf("the probe of this storage found: %s, %s (%s)", lowered(found.Name), value, found.Sureness())
	if found.Evidence != "" {
		out.Figures += "; " + found.Evidence
	}
	switch {
	case guess:
		out.Result = Undecided
	case holds:
		out.Result = Agrees
	default:
		out.Result = Disagrees
	}
}

// probed is the probe of the run's storage; nil, and the claim says so, if there is none.
func (f *figures) probed(out *Claim) *probe.Report {
	if f.beside.Probe == nil {
		out.Figures = "the storage of this run was not probed; whichfs probe " + f.run.Storage + " does that"
	}
	return f.beside.Probe
}

// lowered begins a name in lower case, unless it begins with an abbreviation.
func lowered(name string) string {
	if len(name) > 1 && name[1] >= 'A' && name[1] <= 'Z' {
		return name
	}
	return strings.ToLower(name[:min(1, len(name))]) + name[min(1, len(name)):]
}
