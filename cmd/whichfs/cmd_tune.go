package main

import (
	"whichfs/internal/report"
	"whichfs/internal/report/doc"
)

type tuneCmd struct {
	Subject string `complete:"probe" arg:"" name:"storage|probe" help:"Probed storage (/dev/sdX, sim:MODEL), a probe's name (whichfs probes), or a file from probe --json."`
	JSON    bool   `name:"json" help:"Write the advice as JSON."`
}

func (c *tuneCmd) Run(a *shell) error {
	advice, err := a.Tune(c.Subject)
	if err != nil {
		return err
	}
	if c.JSON {
		return report.TuneJSON(a.stdout, advice)
	}
	return doc.Text(a.stdout, report.TuneDoc(advice), a.textOptions())
}
