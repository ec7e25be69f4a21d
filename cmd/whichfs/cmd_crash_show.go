package main

import (
	"errors"

	"whichfs/internal/fault/writelog"
	"whichfs/internal/report"
	"whichfs/internal/report/doc"
	"whichfs/internal/result"
)

type crashShowCmd struct {
	File        string `arg:"" help:"A finding (whichfs crash explore keeps them), or a log in the format of dm-log-writes." type:"path"`
	All         bool   `help:"Show every entry; by default, long uneventful stretches are folded."`
	UntilDamage bool   `name:"until-damage" help:"Show a damaged log up to the damage."`
}

func (c *crashShowCmd) Run(a *shell) error {
	f, l, err := findingOrLog(c.File)
	switch damage := (*writelog.Damage)(nil); {
	case errors.As(err, &damage) && c.UntilDamage:
		a.note("whichfs: " + c.File + ": " + damage.Error() + "; showing the entries before it")
	case errors.As(err, &damage):
		return result.Refuse("--until-damage shows the "+plural(damage.Entry, "entry", "entries")+" before it", "%s: %v", c.File, err)
	case err != nil:
		return err
	}
	if f != nil {
		return doc.Text(a.stdout, report.FindingDoc(*f, c.All), a.textOptions())
	}
	return doc.Text(a.stdout, report.LogDoc(c.File, l, c.All), a.textOptions())
}
