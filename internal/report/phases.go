package report

import (
	"cmp"
	"net/url"
	"slices"
	"strings"

	"whichfs/internal/judge/verdict"
	"whichfs/internal/report/doc"
	"whichfs/internal/result"
	"whichfs/internal/sys/units"
)

// rateMetric follows the time; a verdict computes it from time and volume.
const rateMetric = "rate"

// metricsOf lists the metrics of a phase in the order of result.Metrics, with
// those unknown to this version last.
func metricsOf(p verdict.Phase) (metrics, heads []string) {
	var found []string
	for _, row := range p.Rows {
		for m := range row.Figures {
			if !slices.Contains(found, m) {
				found = append(found, m)
			}
		}
	}
	slices.Sort(found)
	take := func(metric, head string) {
		if i := slices.Index(found, metric); i >= 0 {
			metrics, heads = append(metrics, metric), append(heads, head)
			found = slices.Delete(found, i, i+1)
		}
	}
	for _, m := range result.Metrics {
		take(m.Name, cmp.Or(m.Head, m.Name))
		if m.Name == result.Wall {
			take(rateMetric, "Rate")
		}
	}
	return append(metrics, found...), append(heads, found...)
}

// phasesSection shows the costs of each phase.
func phasesSection(v verdict.Verdict) doc.Section {
	about := "The costs of each step besides time: processor time of the agent and of kernel threads, device traffic, memory."
	if v.Run.Counts() {
		about = "The costs of each step: instructions, in total and per file and byte, and memory."
	}
	s := doc.Section{ID: "phases", Title: "Costs by phase", In: doc.Page}
	for _, p := range v.Phases {
		s.Body = append(s.Body, phaseFold(p))
	}
	if len(s.Body) > 0 {
		s.Body = append([]doc.Block{doc.Para{Text: about}}, s.Body...)
	}
	return s
}

// phaseFold leaves out the metrics that no candidate has, and says why.
func phaseFold(p verdict.Phase) doc.Fold {
	t := doc.Table{Style: doc.Scroll, Name: "Costs of " + p.Name, Columns: []doc.Column{{Head: "Candidate"}}}
	for _, row := range p.Rows {
		t.Rows = append(t.Rows, doc.Texts(row.Candidate))
	}
	var missing doc.Groups
	metrics, heads := metricsOf(p)
	for i, m := range metrics {
		if why := neverHad(p, m); why != "" {
			missing.Add(why, heads[i])
			continue
		}
		t.Columns = append(t.Columns, doc.Column{Head: heads[i], Kind: doc.Figures})
		for k, row := range p.Rows {
			f, ok := row.Figures[m]
			cell := doc.Cell{Absent: f.Absent, Text: estimate(f.Estimate, f.Unit)}
			if m != rateMetric {
				cell.Origin = "figures?" + url.Values{"phase": {p.Name}, "metric": {m}, "candidate": {row.Candidate}}.Encode()
			}
			if !ok {
				cell.Absent = "not measured"
			}
			t.Rows[k].Cells = append(t.Rows[k].Cells, cell)
		}
	}
	for _, g := range missing {
		t.Below = append(t.Below, doc.Item{Mark: "–", Muted: true, Text: strings.Join(g.Names, ", ") + ": not available: " + g.Text})
	}
	return doc.Fold{Summary: p.Name, Small: units.Count(len(p.Rows), "candidate"), Body: []doc.Block{t, doc.Footnotes{}}}
}

// neverHad returns the reason why a metric is absent, if it is absent for every
// candidate for the same reason.
func neverHad(p verdict.Phase, metric string) string {
	why := ""
	for _, row := range p.Rows {
		f, ok := row.Figures[metric]
		if !ok {
			continue
		}
		if f.Absent == "" || why != "" && f.Absent != why {
			return ""
		}
		why = f.Absent
	}
	return why
}
