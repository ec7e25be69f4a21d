package main

import (
	"whichfs/internal/app"
	"whichfs/internal/report"
	"whichfs/internal/report/doc"
)

type crashReplayCmd struct {
	File    string `arg:"" help:"A finding; whichfs crash explore keeps them." type:"path"`
	Machine string `complete:"lab|local" help:"Whose kernel mounts the state: lab (a guest, no root needed) or local (this machine's own, which needs root and --risk-this-kernel)." default:"lab" placeholder:"NAME"`
	Risk    bool   `name:"risk-this-kernel" help:"With --machine local: mount a broken filesystem on this machine's own kernel, which may crash or corrupt its own data."`

	crashClock

	All bool `help:"Show every entry of the log; by default, long uneventful stretches are folded."`
}

// Run reproduces a finding. It exits like explore, with findings if the state still breaks a
// promise and with ok if it does not, so that git bisect can use it to tell kernels apart.
func (c *crashReplayCmd) Run(a *shell) error {
	was, err := readFinding(c.File)
	if err != nil {
		return err
	}
	now, err := a.Replay(a.ctx, app.CrashPlace{Machine: c.Machine, Clock: c.Clock, Risk: c.Risk, Seed: was.Seed}, was)
	if err != nil {
		return err
	}
	again := report.Replay{Was: was, Now: now, Machine: c.Machine}
	if err := doc.Text(a.stdout, report.ReplayDoc(again, c.All), a.textOptions()); err != nil {
		return err
	}
	if again.Shows() {
		return &problem{code: exitFindings}
	}
	return nil
}
