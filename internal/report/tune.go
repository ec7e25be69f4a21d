package report

import (
	"encoding/json"
	"io"

	"whichfs/internal/judge/tune"
	"whichfs/internal/report/doc"
	"whichfs/internal/sys/units"
)

// TuneDoc is the advice that follows from a probe.
func TuneDoc(a tune.Advice) doc.Doc {
	var findings, today []doc.Item
	for _, text := range a.Findings {
		findings = append(findings, doc.Item{Mark: "·", Text: text})
	}
	for _, t := range a.Partition.Today {
		item := doc.Item{Mark: "✓", Tone: doc.Good, Text: t.Name + " " + t.Text}
		if !t.Aligned {
			item.Mark, item.Tone = "✗", doc.Warn
		}
		today = append(today, item)
	}
	makes := doc.Table{Columns: []doc.Column{{Head: "Filesystem"}, {Head: "Options"}, {Head: "Reason", Flex: true}}}
	for _, m := range a.Make {
		makes.Rows = append(makes.Rows, doc.Texts(m.Filesystem, dash(m.Options), m.Reason))
	}
	mounts := doc.Table{Columns: []doc.Column{{Head: "Option"}, {Head: "Use it"}, {Head: "Reason", Flex: true}}}
	for _, m := range a.Mount {
		mounts.Rows = append(mounts.Rows, doc.Texts(m.Option, m.Use, m.Reason))
	}
	return doc.Doc{
		Title: "What follows for " + a.Storage, Kicker: "whichfs tune", Warnings: a.Warnings,
		Facts: []doc.Fact{{Name: "identity", Text: a.Identity}, {Name: "size", Text: units.Size(a.Geometry.Size)}, {Name: "probe", Text: a.Probe}},
		Sections: []doc.Section{
			{ID: "findings", Title: "Basis", Body: []doc.Block{doc.Items{List: findings}}},
			{ID: "partitions", Title: "Partitions", Body: []doc.Block{
				doc.Para{Text: "Let partitions begin at " + units.Size(a.Partition.Start) + " or another multiple of " + units.Size(a.Partition.Step) + ". " + a.Partition.Reason},
				doc.Items{List: today}}},
			{ID: "mkfs", Title: "mkfs options", Body: []doc.Block{makes}},
			{ID: "mount", Title: "Mount options", Body: []doc.Block{mounts,
				doc.Para{Text: "Only a run can show whether any of it gains something: whichfs run STUDY --storage " + a.Storage + " --tuned compares each tuned filesystem with its default."}}},
		},
	}
}

// dash replaces an empty text.
func dash(s string) string {
	if s == "" {
		return "–"
	}
	return s
}

// TuneJSON writes advice for programs.
func TuneJSON(w io.Writer, a tune.Advice) error {
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	return e.Encode(a)
}
