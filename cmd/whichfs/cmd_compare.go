package main

import (
	"fmt"
	"io"

	"whichfs/internal/report"
	"whichfs/internal/report/doc"
	"whichfs/internal/result"
	"whichfs/internal/sys/units"
)

type compareCmd struct {
	Before string   `complete:"compare" arg:"" name:"run" help:"The earlier run, or the start of its name; or a probe: its name, the start of its name, the probed storage, a .json file, or a card of a study, like bootlin-2023/kingston-16g."`
	After  string   `complete:"compare" arg:"" name:"other-run" help:"The later run; last means the latest. Or another probe."`
	More   []string `complete:"probe" arg:"" optional:"" name:"probe" help:"Further probes."`

	pages  `group:"Output"`
	FailOn string `name:"fail-on" enum:",worse" default:"" help:"worse: exit with status 5 if a figure of the study's measures is worse in the later run, beyond chance and by more than the margin." placeholder:"worse"`
	CSV    string `name:"csv" group:"Output" help:"Write one row per comparison, or finding of a probe, to FILE; - is standard output." placeholder:"FILE"`
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
	if cards && c.FailOn != "" {
		return result.Refuse("leave --fail-on out", "probes have nothing that is worse")
	}
	if cards {
		return c.cards(a, names)
	}
	both, err := a.Compare(c.Before, c.After)
	if err != nil {
		return err
	}
	if c.FailOn != "" && both.Prediction != nil {
		return result.Refuse("leave --fail-on out", "run %s predicts what run %s measured: neither is worse", both.A.ID, both.B.ID)
	}
	err = a.publish(map[string]writer{
		"":     func(w io.Writer) error { return doc.Text(w, report.ContrastDoc(both), a.textOptions()) },
		"html": func(w io.Writer) error { return doc.HTML(w, report.ContrastDoc(both)) },
		"json": func(w io.Writer) error { return report.ContrastJSON(w, both) },
		"csv":  func(w io.Writer) error { return report.ContrastCSV(w, both) },
	}, c.files())
	if worse := both.Worse(); err == nil && c.FailOn != "" && len(worse) > 0 {
		err = &problem{code: exitFindings, Failure: result.Failure{Reason: fmt.Sprintf("%s worse in run %s: %s", plural(len(worse), "figure is", "figures are"), both.B.ID, units.List(worse, 6))}}
	}
	return err
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
