package main

import (
	"path/filepath"

	"whichfs/internal/plan"
	"whichfs/internal/plan/media"
	"whichfs/internal/result"
)

// checkCuts refuses cuts where killing a machine is no power cut, or kills more
// than was asked for.
func checkCuts(p plan.Plan) error {
	if p.Cuts == 0 {
		return nil
	}
	if p.Cuts < 0 || p.Cuts > plan.MaxRounds {
		return result.Refuse("", "--cuts must be from 0 to %d, not %d", plan.MaxRounds, p.Cuts)
	}
	if p.Machine == "local" {
		return result.Refuse("use --machine lab", "--cuts: the power of this machine is not cut")
	}
	s, err := media.Parse(p.Storage)
	if err != nil {
		return result.Refuse("", "%v", err)
	}
	if s.Kind != media.KindNAND && s.Kind != media.KindSim {
		return result.Refuse("use --storage nand:128M or --storage sim:sd-basic,256M",
			"--cuts: storage %s keeps all that it was ever sent, or nothing at all, when its guest is killed: that is no power cut", p.Storage)
	}
	if s.Kind == media.KindNAND && p.Arch != "" && p.Arch != "amd64" {
		return result.Refuse("leave --arch out", "--cuts: a simulated chip ends with its guest, and only in the memory of amd64 guests is it found again")
	}
	return nil
}

// evidence is the directory for what a run keeps besides its figures.
func (a *app) evidence(run string) (string, error) {
	path, err := a.storePath()
	if err != nil {
		return "", err
	}
	return filepath.Abs(filepath.Join(filepath.Dir(path), "evidence", run))
}
