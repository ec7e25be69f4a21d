package recommend

import (
	"fmt"
	"strings"

	"whichfs/internal/filesystem"
	"whichfs/internal/judge/verdict"
)

// Evidence is what one run of faults showed of one candidate.
type Evidence struct {
	Candidate string         `json:"candidate"`
	Run       string         `json:"run"`
	Kernel    string         `json:"kernel,omitempty"`
	Lines     []EvidenceLine `json:"lines"`
}

// EvidenceLine compares the measurement with the design.
type EvidenceLine struct {
	What     string `json:"what"`     // "power cuts", "corruption"
	Measured string `json:"measured"` // or why nothing was
	Judged   bool   `json:"judged"`
	// Design is what is known about the candidate without a run, with its source.
	Design string `json:"design,omitempty"`
	Source string `json:"source,omitempty"`
	// Conflict is a clause that says how the two disagree.
	Conflict string `json:"conflict,omitempty"`
}

// evidence is what all runs of faults show about the candidates.
func (d *data) evidence() []Evidence {
	var out []Evidence
	for _, s := range d.faults {
		for _, c := range d.candidates {
			row, ok := s.Verdict.Reliability.Row(c.name)
			if !ok {
				continue
			}
			out = append(out, Evidence{Candidate: c.name, Run: s.Verdict.Run.ID, Kernel: condition(s.Verdict.Run, "machine", "kernel"),
				Lines: []EvidenceLine{c.cutLine(row), c.corruptionLine(row)}})
		}
	}
	return out
}

func (c candidate) cutLine(row verdict.FaultRow) EvidenceLine {
	l := EvidenceLine{What: verdict.PowerCuts}
	cuts, states := row.Sum(verdict.PowerCuts), row.Sum(verdict.CrashStates)
	var parts []string
	if cuts.Tried > 0 {
		parts = append(parts, "lost promised data after "+cuts.Lost.String())
	} else {
		parts = append(parts, "not tested: "+cuts.Absent)
	}
	if states.Tried > 0 {
		parts = append(parts, "crash states: "+states.Lost.Count()+" lost promised data")
	}
	l.Measured, l.Judged = strings.Join(parts, "; "), cuts.Tried+states.Tried > 0
	if c.Err() != nil {
		return l
	}
	p := c.Properties().PowerLoss
	l.Design, l.Source = designText("power-loss-safe", p), p.Source
	broken := cuts.Tried > 0 && !cuts.Kept() || states.Tried > 0 && !states.Kept()
	switch {
	case p.Has && broken:
		l.Conflict = "its design promises to keep synced data, but the run shows that it lost some"
	case !p.Has && l.Judged && !broken:
		l.Conflict = "its design does not promise this; the run lost nothing, which proves no promise"
	}
	return l
}

func (c candidate) corruptionLine(row verdict.FaultRow) EvidenceLine {
	l := EvidenceLine{What: verdict.Corruption}
	d := row.Detection
	l.Judged = d.Tried > 0
	switch {
	case d.Tried == 0:
		l.Measured = "not tested: " + d.Absent
	case d.Unnoticed.Of == 0:
		l.Measured = fmt.Sprintf("no damage in %d iterations", d.Tried)
	default:
		l.Measured = fmt.Sprintf("silent in %s; reported in %d", d.Silent, d.Unnoticed.Of-d.Silent.Hits)
	}
	if c.Err() != nil {
		return l
	}
	p := c.Properties().Checksums
	l.Design, l.Source = designText("checksums", p), p.Source
	switch {
	case p.Has && d.Silent.Hits > 0:
		l.Conflict = "by design it verifies checksums of everything, but the run read corrupt data without an error"
	case !p.Has && d.Unnoticed.Of > 0 && d.Silent.Hits == 0:
		l.Conflict = "its design has nothing to detect this, but the run saw all damage reported"
	}
	return l
}

func designText(need string, p filesystem.Property) string {
	if p.Has {
		return need + ": " + p.Why
	}
	return "not " + need + ": " + p.Why
}

// conflicts are the doubts that evidence casts on a need that the candidate
// meets by design.
func (d *data) conflicts(n Need, c candidate) []Doubt {
	what := map[string]string{"power-loss-safe": verdict.PowerCuts, "checksums": verdict.Corruption}[n.Name]
	if what == "" {
		return nil
	}
	var out []Doubt
	for _, s := range d.faults {
		row, ok := s.Verdict.Reliability.Row(c.name)
		if !ok {
			continue
		}
		for _, l := range []EvidenceLine{c.cutLine(row), c.corruptionLine(row)} {
			if l.What == what && l.Conflict != "" {
				out = append(out, Doubt{Need: n.String(), Text: fmt.Sprintf("%s: %s (%s; %s)", n, l.Conflict, l.Measured, whereOf(s))})
			}
		}
	}
	return out
}
