package main

import (
	"errors"
	"strings"

	"whichfs/internal/plan/media"
	"whichfs/internal/probe"
	"whichfs/internal/report"
	"whichfs/internal/result"
	"whichfs/internal/result/store"
	"whichfs/internal/storage"
	"whichfs/internal/tune"
)

type tuneCmd struct {
	Subject string `arg:"" name:"storage|probe" help:"Storage that was probed (/dev/sdX, sim:MODEL), a probe's number (whichfs probes), or a file that probe --json wrote."`
	JSON    bool   `name:"json" help:"Write the advice as JSON."`
}

func (c *tuneCmd) Run(a *app) error {
	id, r, err := c.probe(a)
	if err != nil {
		return err
	}
	advice := tune.Advise(r, c.places(r))
	advice.Probe = id
	if c.JSON {
		return report.TuneJSON(a.stdout, advice)
	}
	return report.TuneText(a.stdout, advice, a.textOptions())
}

// probe finds what the advice stands on.
func (c *tuneCmd) probe(a *app) (string, probe.Report, error) {
	if strings.HasSuffix(c.Subject, ".json") {
		r, err := readProbe(c.Subject)
		return "", r, err
	}
	path, err := a.storePath()
	if err != nil {
		return "", probe.Report{}, err
	}
	st, err := store.OpenReadOnly(path)
	if errors.Is(err, store.ErrMissing) {
		return "", probe.Report{}, result.Refuse("whichfs probe STORAGE", "nothing was probed yet")
	}
	if err != nil {
		return "", probe.Report{}, err
	}
	defer st.Close() //nolint:errcheck // read only
	find := st.Probe
	if strings.HasPrefix(c.Subject, "/") || strings.Contains(c.Subject, ":") {
		find = func(text string) (string, probe.Report, error) { return probeOf(st, text) }
	}
	return find(c.Subject)
}

// places are today's partitions, where the device that was probed is here.
func (c *tuneCmd) places(r probe.Report) []media.Place {
	path := r.Storage
	if strings.HasPrefix(c.Subject, "/") {
		path = c.Subject
	}
	if !strings.HasPrefix(path, "/") {
		return nil
	}
	d, places, err := storage.Layout(path, storage.System)
	if err != nil || r.Identity != "" && !d.Is(r.Identity) && d.Partition == 0 {
		return nil // gone, or another device has its name now
	}
	return places
}
