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
	All         bool   `help:"Every entry; otherwise long stretches in which little is to be seen are folded."`
	UntilDamage bool   `name:"until-damage" help:"Of a damaged log, show the entries before the damage."`
}

func (c *crashShowCmd) Run(a *shell) error {
	f, l, err := findingOrLog(c.File)
	switch damage := (*writelog.Damage)(nil); {
	case errors.As(err, &damage) && c.UntilDamage:
		a.note("whichfs: " + c.File + ": " + damage.Error() + "; what is before is shown")
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
