package main

import (
	"io"

	"whichfs/internal/contrast"
	"whichfs/internal/report"
	"whichfs/internal/result/store"
)

type compareCmd struct {
	Before string `arg:"" name:"run" help:"The run before, or the beginning of its name."`
	After  string `arg:"" name:"other-run" help:"The run after; last is the last one."`

	pages `group:"Output"`
	CSV   string `name:"csv" group:"Output" help:"Write one row per comparison to FILE; - is standard output." placeholder:"FILE"`
}

func (c *compareCmd) Run(a *app) error {
	if err := (outputs{HTML: c.HTML, JSON: c.JSON, CSV: c.CSV}).check(); err != nil {
		return err
	}
	st, err := a.readStore()
	if err != nil {
		return err
	}
	defer st.Close() //nolint:errcheck // read only
	before, err := compared(st, c.Before)
	if err != nil {
		return err
	}
	after, err := compared(st, c.After)
	if err != nil {
		return err
	}
	result, err := contrast.Compare(before, after)
	if err != nil {
		return err
	}
	return a.publish(map[string]writer{
		"":     func(w io.Writer) error { return report.ContrastText(w, result, a.textOptions()) },
		"html": func(w io.Writer) error { return report.ContrastHTML(w, result) },
		"json": func(w io.Writer) error { return report.ContrastJSON(w, result) },
		"csv":  func(w io.Writer) error { return report.ContrastCSV(w, result) },
	}, map[string]string{"html": c.HTML, "json": c.JSON, "csv": c.CSV})
}

// compared is one of the runs with everything that it is compared by.
func compared(st *store.Store, id string) (contrast.Source, error) {
	run, err := st.Run(id)
	if err != nil {
		return contrast.Source{}, err
	}
	v, columns, s, err := sampled(st, run)
	if err != nil {
		return contrast.Source{}, err
	}
	scenarios, err := work(run)
	return contrast.Source{Verdict: v, Study: s, Columns: columns, Scenarios: scenarios}, err
}
