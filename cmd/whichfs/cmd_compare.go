package main

import (
	"io"

	"whichfs/internal/report"
	"whichfs/internal/report/doc"
)

type compareCmd struct {
	Before string `arg:"" name:"run" help:"The earlier run, or the start of its name."`
	After  string `arg:"" name:"other-run" help:"The later run; last means the latest."`

	pages `group:"Output"`
	CSV   string `name:"csv" group:"Output" help:"Write one row per comparison to FILE; - is standard output." placeholder:"FILE"`
}

func (c *compareCmd) files() files {
	f := c.pages.files()
	f["csv"] = c.CSV
	return f
}

func (c *compareCmd) Run(a *shell) error {
	if err := c.files().check(); err != nil {
		return err
	}
	both, err := a.Compare(c.Before, c.After)
	if err != nil {
		return err
	}
	return a.publish(map[string]writer{
		"":     func(w io.Writer) error { return doc.Text(w, report.ContrastDoc(both), a.textOptions()) },
		"html": func(w io.Writer) error { return doc.HTML(w, report.ContrastDoc(both)) },
		"json": func(w io.Writer) error { return report.ContrastJSON(w, both) },
		"csv":  func(w io.Writer) error { return report.ContrastCSV(w, both) },
	}, c.files())
}
