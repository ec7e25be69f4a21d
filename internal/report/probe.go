package report

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"slices"

	"whichfs/internal/harmless"
	"whichfs/internal/probe"
	"whichfs/internal/units"
)

// What the text and the page of a probe have in common.

// FindingValue is a finding's figure for people; "cannot be determined" where
// there is none.
func FindingValue(f probe.Finding) string {
	switch {
	case !f.Known():
		return "cannot be determined"
	case f.Text != "" && (f.Unit == "" || f.Value == 0):
		return f.Text
	}
	value := units.Value(f.Value, f.Unit)
	switch {
	case f.Unit == "1/s":
		value = units.Value(f.Value, "1") + " per second"
		if f.Value >= 100 {
			value = units.Value(math.Round(f.Value), "1") + " per second"
		}
	case f.Unit == "B" && f.Value == 0:
		value = "none"
	case f.Key == probe.PageSize || f.Key == probe.SegmentSize || f.Key == probe.RealSize:
		value = units.Size(int64(math.Round(f.Value))) // geometry is exact
	}
	if f.Text != "" {
		value = f.Text + ", " + value
	}
	return value
}

// sure adds the word of confidence to a value.
func sure(f probe.Finding) string {
	if s := f.Sureness(); s != "" {
		return s
	}
	return "–"
}

// probeFacts are the names and values that open a probe's report.
func probeFacts(r probe.Report, id string) []string {
	took := units.Value(r.Seconds, "s")
	if r.Clock == "simulated" {
		took += " on the model's own clock"
	}
	wrote := "no: it only read"
	if r.Wrote {
		wrote = "yes"
		if r.Written > 0 {
			wrote = units.Value(float64(r.Written), "B")
		}
	}
	seed := ""
	if r.Seed != 0 {
		seed = fmt.Sprint(r.Seed)
	}
	began := ""
	if !r.Started.IsZero() {
		began = r.Started.UTC().Format("2006-01-02 15:04 UTC")
	}
	return []string{
		"storage", r.Storage,
		"identity", r.Identity,
		"size", units.Size(r.Size),
		"probe", id,
		"machine", r.Machine,
		"kernel", r.Kernel,
		"began", began,
		"took", took,
		"wrote", wrote,
		"effort", r.Effort,
		"seed", seed,
	}
}

// probeReach says what figures of a probe contain besides the device.
func probeReach(r probe.Report) string {
	switch {
	case r.Clock == "simulated":
		return "The model was probed on its own clock: no kernel, no bus and no processor is in these figures."
	case r.Emulated:
		return "Probed from a guest with an emulated processor, which adds about 0.2 ms to each request: small and fast figures contain it."
	}
	return ""
}

func cleanedProbe(r probe.Report) probe.Report {
	return harmless.Copy(r, 0)
}

// ProbeJSON writes a probe for programs.
func ProbeJSON(w io.Writer, r probe.Report) error {
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	return e.Encode(r)
}

// spread is the median of a point with its range.
func spread(p probe.Point, unit string) string {
	text := rate(units.Value(p.Y, unit))
	if p.N > 1 && p.High > p.Low {
		text += " (" + rate(units.Value(p.Low, unit)) + " – " + rate(units.Value(p.High, unit)) + ")"
	}
	return text
}

// curvesOf picks the curves in the order of the findings that they belong to,
// each once, those of no finding last.
func curvesOf(r probe.Report) []probe.Curve {
	var out []probe.Curve
	taken := map[string]bool{}
	take := func(key string) {
		for _, c := range r.Curves {
			if c.Key == key && !taken[key] {
				taken[key] = true
				out = append(out, inOrder(c))
			}
		}
	}
	for _, f := range r.Findings {
		for _, key := range f.Curves {
			take(key)
		}
	}
	for _, c := range r.Curves {
		take(c.Key)
	}
	return out
}

// inOrder sorts the points of a curve's lines: a search does not take them in
// order.
func inOrder(c probe.Curve) probe.Curve {
	lines := slices.Clone(c.Lines)
	for i := range lines {
		lines[i].Points = slices.Clone(lines[i].Points)
		slices.SortStableFunc(lines[i].Points, func(a, b probe.Point) int { return cmp.Compare(a.X, b.X) })
	}
	c.Lines = lines
	return c
}
