package report

import (
	"encoding/json"
	"io"

	"whichfs/internal/harmless"
	"whichfs/internal/tune"
	"whichfs/internal/units"
)

// TuneText writes advice for a terminal or a serial line.
func TuneText(w io.Writer, a tune.Advice, s TextOptions) error {
	p := &printer{TextOptions: s}
	a = harmless.Copy(a, 0)
	p.para(0, "", "What follows for "+a.Storage, nil)
	p.line("")
	p.facts("identity", a.Identity, "size", units.Size(a.Geometry.Size), "probe", a.Probe)
	for _, text := range a.Warnings {
		p.para(0, "!", text, p.yellow)
	}
	p.head("What it stands on")
	for _, text := range a.Findings {
		p.para(0, "·", text, nil)
	}
	p.head("Partitions")
	p.para(0, "", "Let partitions begin at "+units.Size(a.Partition.Start)+" or another multiple of "+units.Size(a.Partition.Step)+". "+a.Partition.Reason, nil)
	for _, t := range a.Partition.Today {
		mark, paint := "✓", p.green
		if !t.Aligned {
			mark, paint = "✗", p.yellow
		}
		p.para(0, mark, t.Name+" "+t.Text, paint)
	}
	p.head("mkfs options")
	t := Table{Columns: []TableColumn{{Head: "Filesystem"}, {Head: "Options"}, {Head: "Reason", Flex: true}}}
	for _, m := range a.Make {
		options := m.Options
		if options == "" {
			options = "–"
		}
		t.Rows = append(t.Rows, []string{m.Filesystem, options, m.Reason})
	}
	p.table(t)
	p.head("Mount options")
	t = Table{Columns: []TableColumn{{Head: "Option"}, {Head: "Use it"}, {Head: "Reason", Flex: true}}}
	for _, m := range a.Mount {
		t.Rows = append(t.Rows, []string{m.Option, m.Use, m.Reason})
	}
	p.table(t)
	p.line("")
	p.para(0, "", "Whether any of it gains something is for a run to show: whichfs run STUDY --storage "+a.Storage+" --tuned sets each tuned filesystem beside its default.", nil)
	_, err := w.Write(p.b.Bytes())
	return err
}

// TuneJSON writes advice for programs.
func TuneJSON(w io.Writer, a tune.Advice) error {
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	return e.Encode(a)
}
