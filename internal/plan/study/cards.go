package study

import "whichfs/internal/probe"

// CardNames are the names of all published cards.
func CardNames() []string {
	var names []string
	for _, s := range All {
		for _, c := range s.Cards {
			names = append(names, c.Storage)
		}
	}
	return names
}

// CardByName finds a card that a study describes: "bootlin-2023/kingston-16g".
func CardByName(name string) (probe.Report, Study, bool) {
	for _, s := range All {
		for _, c := range s.Cards {
			if c.Storage == name {
				return c, s, true
			}
		}
	}
	return probe.Report{}, Study{}, false
}

// published is a card as its source describes it, in the form of a probe.
func published(study, key, label string, findings []probe.Finding, curves ...probe.Curve) probe.Report {
	for i := range findings {
		findings[i].Name = probe.Name(findings[i].Key)
	}
	return probe.Report{Format: probe.Format, Storage: study + "/" + key, Identity: label, Clock: probe.Published, Findings: findings, Curves: curves}
}
