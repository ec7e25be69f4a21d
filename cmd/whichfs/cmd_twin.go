package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"whichfs/internal/flash"
	"whichfs/internal/flash/models"
	"whichfs/internal/flash/twin"
	"whichfs/internal/plan/media"
	"whichfs/internal/result"
)

// twinCmd works with the models of simulated storage.
type twinCmd struct {
	Fit   twinFitCmd   `cmd:"" help:"Make a model file from a probe, to simulate the device in runs."`
	Show  twinShowCmd  `cmd:"" help:"Show the parameters of a model and the source of each."`
	Check twinCheckCmd `cmd:"" help:"Probe a model in its own time and compare it with a probe of a device."`
}

type twinFitCmd struct {
	Probe  string `complete:"probe" arg:"" help:"A probe: its name (whichfs probes), probed storage, or a .json file from probe --json."`
	Output string `short:"o" help:"Write the model file to FILE, which must not exist, and a summary to standard output." placeholder:"FILE"`
}

type twinShowCmd struct {
	Model  string `complete:"model" arg:"" help:"A model (whichfs list models), the path of a model file, or sim:MODEL,SIZE."`
	Speeds bool   `help:"Also show the speeds that result from the parameters."`
	TOML   bool   `name:"toml" help:"Print the model file, to start your own from."`
}

type twinCheckCmd struct {
	Model string `complete:"model" arg:"" help:"A model (whichfs list models), the path of a model file, or sim:MODEL,SIZE."`
	Probe string `complete:"probe" arg:"" help:"A probe: its name (whichfs probes), probed storage, or a .json file from probe --json."`
}

const modelHint = "whichfs list models shows the models; docs/models.md explains how to write a model file"

// resolve finds a model by name, path, or storage as written on the command line (sim:MODEL,SIZE).
func resolve(spec string) (flash.Model, error) {
	var size int64
	if strings.HasPrefix(spec, media.KindSim+":") {
		s, err := media.Parse(spec)
		if err != nil {
			return flash.Model{}, result.Refuse(modelHint, "%v", err)
		}
		spec, size = s.Path, s.Size
	}
	m, err := models.Resolve(spec)
	if err == nil {
		m, err = models.Sized(m, size)
	}
	if err != nil {
		return m, result.Refuse(modelHint, "%v", err)
	}
	return m, nil
}

func (c *twinShowCmd) Run(a *shell) error {
	m, err := resolve(c.Model)
	if err != nil {
		return err
	}
	if c.TOML {
		_, err := io.WriteString(a.stdout, models.Write(m))
		return err
	}
	if err := twin.Show(a.stdout, m); err != nil || !c.Speeds {
		return err
	}
	speeds, err := models.Measure(m)
	if err != nil {
		return err
	}
	return twin.ShowSpeeds(a.stdout, speeds)
}

func (c *twinFitCmd) Run(a *shell) error {
	_, report, err := a.FindProbe(c.Probe)
	if err != nil {
		return err
	}
	if c.Output != "" {
		if _, err := os.Lstat(c.Output); err == nil {
			return result.Refuse("give another name, or remove it", "%s already exists", c.Output)
		}
	}
	show := a.quietly("twin fit", "fitting the model")
	m, rows, err := twin.Fit(a.ctx, report, twin.Virtual)
	show.end(err == nil)
	if err != nil {
		return err
	}
	if c.Output == "" {
		_, err := io.WriteString(a.stdout, models.Write(m))
		return err
	}
	// O_EXCL: do not overwrite a file created since the check.
	f, err := os.OpenFile(c.Output, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return result.Refuse("", "model file: %v", err)
	}
	_, err = f.WriteString(models.Write(m))
	if err = errors.Join(err, f.Close()); err != nil {
		return fmt.Errorf("model file: %w", err)
	}
	fmt.Fprintf(a.stdout, "%s is a twin of %s. Use it as sim:%s\n\n", c.Output, dash(report.Identity), asPath(c.Output))
	return twin.ShowComparison(a.stdout, rows, m.Fit)
}

func (c *twinCheckCmd) Run(a *shell) error {
	m, err := resolve(c.Model)
	if err != nil {
		return err
	}
	_, report, err := a.FindProbe(c.Probe)
	if err != nil {
		return err
	}
	show := a.quietly("twin check", "probing the model")
	found, err := twin.Virtual(a.ctx, m, report)
	show.end(err == nil)
	if err != nil {
		return err
	}
	rows := twin.Compare(report, found)
	return twin.ShowComparison(a.stdout, rows, twin.Summary(report, rows))
}

// asPath writes a path so that it cannot be mistaken for a model's name.
func asPath(path string) string {
	if models.IsPath(path) {
		return path
	}
	return "./" + path
}
