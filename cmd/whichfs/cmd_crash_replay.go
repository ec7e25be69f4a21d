package main

import (
	"os"

	"whichfs/internal/report"
)

type crashReplayCmd struct {
	File    string `arg:"" help:"A finding; whichfs crash explore keeps them." type:"path"`
	Machine string `help:"Whose kernel mounts the state: lab (a guest, no root needed) or local (this machine's own, which may die of it; needs root)." default:"lab" placeholder:"NAME"`
	All     bool   `help:"Every entry of the log; otherwise long stretches in which little is to be seen are folded."`
}

// Run shows a finding again. Its status is that of explore: findings when the
// state still breaks a promise, ok when it does not, so that git bisect can tell
// kernels apart by it.
func (c *crashReplayCmd) Run(a *app) error {
	was, err := readFinding(c.File)
	if err != nil {
		return err
	}
	switch {
	case c.Machine != "lab" && c.Machine != "local" && c.Machine != "fake":
		return refuse("", "unknown machine %q; known are lab and local", c.Machine)
	case c.Machine == "local" && os.Geteuid() != 0:
		return refuse("run it with sudo, or use --machine lab", "no permission: mounting a state on this machine's own kernel needs root")
	}
	now, err := replayCrash(a, c.Machine, was)
	if err != nil {
		return err
	}
	again := report.Replay{Was: was, Now: now, Machine: c.Machine}
	if err := report.ReplayText(a.stdout, again, c.All, a.textOptions()); err != nil {
		return err
	}
	if again.Shows() {
		return &problem{code: exitFindings}
	}
	return nil
}
