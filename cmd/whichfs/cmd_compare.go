package main

import (
	"io"

	"whichfs/internal/report"
	"whichfs/internal/report/doc"
)

type compareCmd struct {
	Before string   `complete:"compare" arg:"" name:"run" help:"The earlier run, or the start of its name; or a probe: its name, the start of its name, the probed storage, a .json file, or a card of a study, like bootlin-2023/kingston-16g."`
	After  string   `complete:"compare" arg:"" name:"other-run" help:"The later run; last means the latest. Or another probe."`
	More   []string `complete:"probe" arg:"" optional:"" name:"probe" help:"Further probes."`

	pages `group:"Output"`
	CSV   string `name:"csv" group:"Output" help:"Write one row per comparison, or finding of a probe, to FILE; - is standard output." placeholder:"FILE"`
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
	names := append([]string{c.Before, c.After}, c.More...)
	cards, err := a.AreCards(names)
	if err != nil {
		return err
	}
	if cards {
		return c.cards(a, names)
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

// cards compares probes.
func (c *compareCmd) cards(a *shell, names []string) error {
	all, err := a.CompareCards(names)
	if err != nil {
		return err
	}
	d, err := report.CardsDoc(all)
	if err != nil {
		return err
	}
	return a.publish(map[string]writer{
		"":     func(w io.Writer) error { return doc.Text(w, d, a.textOptions()) },
		"html": func(w io.Writer) error { return doc.HTML(w, d) },
		"json": func(w io.Writer) error { return report.CardsJSON(w, all) },
		"csv":  func(w io.Writer) error { return report.CardsCSV(w, all) },
	}, c.files())
}
