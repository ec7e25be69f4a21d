package main

import (
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"whichfs/internal/cache"
	"whichfs/internal/machine"
	"whichfs/internal/plan"
	"whichfs/internal/plan/media"
	"whichfs/internal/probe"
	"whichfs/internal/report"
	"whichfs/internal/result"
	"whichfs/internal/result/store"
	"whichfs/internal/units"
	"whichfs/internal/wire"
)

type probeCmd struct {
	Storage string `arg:"" help:"What to probe: /dev/sdX (read only, unless --destroy); loop:2G; disk:1G, sd:1G, sim:MODEL[,SIZE] (lab)."`

	Destroy string        `help:"Allow this very device to be overwritten, by the name that whichfs list storage shows. Much more is found out by writing." placeholder:"ID"`
	InUse   bool          `name:"in-use" help:"Read a device although somebody uses it; the figures contain that use."`
	Machine string        `help:"Where the probe executes: lab (a guest, no root needed) or local (this kernel, needs root); default as the storage needs." placeholder:"NAME"`
	Clock   string        `help:"wall; or simulated, for sim: storage: the model on its own clock, without a guest." enum:"wall,simulated" default:"wall" placeholder:"CLOCK"`
	Effort  string        `help:"How much to do: quick (about a minute on a slow card), normal or thorough." enum:"quick,normal,thorough" default:"normal" placeholder:"EFFORT"`
	Limit   time.Duration `help:"How long the probe may take; parts that no longer fit are left out, and the report says so." placeholder:"10m"`
	Only    []string      `help:"Only these parts, separated by commas." placeholder:"PARTS"`
	Seed    *uint64       `help:"Seed of every random choice; recorded, and drawn by chance if not given." placeholder:"N"`
	Work    string        `help:"Directory for loop files and lab disks." placeholder:"DIR" type:"existingdir"`
	NoStore bool          `name:"no-store" help:"Do not keep the report in the result store."`

	HTML string `name:"html" help:"Write the page to FILE." placeholder:"FILE" group:"Output"`
	JSON string `name:"json" help:"Write the report as JSON to FILE; - is standard output." placeholder:"FILE" group:"Output"`
}

func (c *probeCmd) Run(a *app) error {
	spec, err := c.check()
	if err != nil {
		return err
	}
	out := outputs{HTML: c.HTML, JSON: c.JSON}
	if err := out.check(); err != nil {
		return err
	}
	var st *store.Store
	if !c.NoStore {
		if st, err = a.openStore(); err != nil {
			return err
		}
		defer st.Close() //nolint:errcheck // every write was synced
	}
	ask := wire.Probe{Effort: c.Effort, Limit: c.Limit.Seconds(), Only: c.Only, Seed: plan.NewSeed()}
	if c.Seed != nil {
		ask.Seed = *c.Seed
	}
	var r probe.Report
	if c.Clock == "simulated" {
		r, err = c.simulate(a, spec, ask)
	} else {
		r, err = c.measure(a, ask)
	}
	if len(r.Findings) == 0 && err != nil {
		return err
	}
	r.Storage, r.Version = c.Storage, version
	return a.conclude(st, r, err, c.HTML, c.JSON)
}

// check looks for what cannot be, before anything is started.
func (c *probeCmd) check() (media.Storage, error) {
	spec, err := media.Parse(c.Storage)
	if err != nil {
		return spec, result.Refuse("whichfs list storage shows devices", "%v", err)
	}
	device := spec.Kind == media.KindDevice
	switch {
	case c.Limit < 0:
		return spec, result.Refuse("", "--limit cannot be negative")
	case spec.Raw():
		return spec, result.Refuse("give it a block device, a card or a disk of the lab", "a probe finds out what a block device keeps to itself, and %s is raw flash, "+
			"whose pages, erase blocks and error correction the kernel shows: whichfs run writes them into its report", c.Storage)
	case c.InUse && !device:
		return spec, result.Refuse("leave --in-use out", "--in-use is for devices, and nobody uses %s", c.Storage)
	case c.InUse && c.Destroy != "":
		return spec, result.Refuse("unmount the device, or leave --destroy out", "--in-use only reads, and --destroy writes: nothing is written to a device in use")
	case c.Clock == "simulated" && spec.Kind != media.KindSim:
		return spec, result.Refuse("for instance sim:sd-basic", "--clock simulated is for simulated storage, and %s is not", c.Storage)
	}
	var known []string
	for _, part := range probe.Parts {
		known = append(known, part.Name)
	}
	for _, part := range c.Only {
		if !slices.Contains(known, part) {
			return spec, result.Refuse("", "--only: unknown part %q; known are %s", part, strings.Join(known, ", "))
		}
	}
	if c.Machine == "" {
		c.Machine = "local"
		if spec.Lab() {
			c.Machine = "lab"
		}
	}
	return spec, nil
}

// measure has a machine probe the storage. The report goes with an error where
// the probe ended early.
func (c *probeCmd) measure(a *app, ask wire.Probe) (probe.Report, error) {
	spec, err := media.Parse(c.Storage)
	if err != nil {
		return probe.Report{}, err
	}
	m, err := machineNamed(c.Machine, a.note)
	if err != nil {
		return probe.Report{}, err
	}
	work, err := workDir(c.Work)
	if err != nil {
		return probe.Report{}, err
	}
	needs := machine.Spec{Storage: c.Storage, Destroy: c.Destroy, Work: work, InUse: c.InUse,
		ReadOnly: spec.Kind == media.KindDevice && c.Destroy == ""}
	if early, ok := m.(machine.Checker); ok {
		if err := early.Check(needs); err != nil {
			return probe.Report{}, err
		}
	}
	s, err := m.Start(a.ctx, needs)
	if err != nil {
		return probe.Report{}, err
	}
	defer s.Close() //nolint:errcheck // what was found is here already
	p, ok := s.(machine.Prober)
	if !ok {
		return probe.Report{}, result.Refuse("", "machine %s cannot probe", c.Machine)
	}
	for _, n := range s.Ready().Notes {
		a.note(n.Text)
	}
	ready := s.Ready()
	if m.Name() == "lab" { // every disk of the lab has the same serial number
		ready.Identity = "made for this probe in the lab"
	}
	a.note(announce(c.Storage, ready, needs.ReadOnly, c.atMost()))
	show := newProbeProgress(a)
	r, err := p.Probe(a.ctx, ask, show.progress)
	show.end()
	r.Machine, r.Identity = m.Name(), ready.Identity
	if e, ok := s.(machine.Emulator); ok {
		r.Emulated = e.Emulated()
	}
	return r, err
}

// announce says what is about to happen to the storage.
func announce(named string, ready wire.Ready, readOnly bool, atMost time.Duration) string {
	text := fmt.Sprintf("probing %s (%s, %s)", named, ready.Identity, units.Value(float64(ready.Size), "B"))
	if readOnly {
		return text + ": it is only read; with --destroy " + ready.Identity + " it is written to, and more is found out"
	}
	return text + fmt.Sprintf(": it is written to for about %s, and nothing that was on it is left", rough(atMost))
}

// atMost is how long the probe may take.
func (c *probeCmd) atMost() time.Duration {
	if c.Limit > 0 {
		return min(c.Limit, probe.Budget(c.Effort))
	}
	return probe.Budget(c.Effort)
}

// conclude keeps, shows and writes a report. ended is why the probe ended
// early; a report of such a one is shown and not kept.
func (a *app) conclude(st *store.Store, r probe.Report, ended error, page, data string) error {
	if ended != nil {
		r.Partial = first(r.Partial, ended.Error())
		r.Warnings = append([]string{"partial: " + r.Partial + "; what follows was found until then"}, r.Warnings...)
	}
	id := ""
	if st != nil && ended == nil {
		id = probeID(r.Started)
		if err := st.SaveProbe(id, r); err != nil {
			return err
		}
		defer a.note("stored as " + id + "; whichfs probes " + id + " shows it again")
	}
	if err := a.showProbe(r, id, page, data); err != nil {
		return err
	}
	if ended == nil {
		return nil
	}
	p := *explain(ended)
	p.more = "what was found until then is shown, and not stored"
	if a.ctx.Err() != nil {
		p.code, p.Reason, p.Hint = exitInterrupted, "interrupted", ""
	}
	return &p
}

// showProbe writes a report in every form that was asked for. id is its name in
// the store, "" if it is in none.
func (a *app) showProbe(r probe.Report, id, page, data string) error {
	if page != "" {
		if err := toFile(page, func(w io.Writer) error { return report.ProbeHTML(w, r, id) }); err != nil {
			return err
		}
	}
	if data == "-" {
		return report.ProbeJSON(a.stdout, r)
	}
	if data != "" {
		if err := toFile(data, func(w io.Writer) error { return report.ProbeJSON(w, r) }); err != nil {
			return err
		}
	}
	return report.ProbeText(a.stdout, r, id, a.textOptions())
}

// probeID names a probe like a run.
func probeID(started time.Time) string {
	return fmt.Sprintf("%s-%04x", started.UTC().Format("20060102-150405"), rand.Uint32N(1<<16))
}

// workDir is the directory for loop files and lab disks.
func workDir(named string) (string, error) {
	if named != "" {
		return named, nil
	}
	dir, err := usualWork()
	if err != nil {
		return "", err
	}
	return dir, os.MkdirAll(dir, 0o700)
}

func usualWork() (string, error) {
	dir, err := cache.Dir()
	return filepath.Join(dir, "work"), err
}

// probeCondition is what the store knows of a run's storage, for its report. It
// never stands in the way of a run.
func probeCondition(st *store.Store, named string) func(identity string) []result.Condition {
	spec, err := media.Parse(named)
	if err != nil {
		return nil
	}
	if !spec.Lab() {
		named = "" // a device is itself, whatever path it is found at
	}
	return func(identity string) []result.Condition {
		if named != "" {
			identity = "" // every disk of the lab has the same
		}
		_, r, err := st.LatestProbe(identity, named)
		if err != nil {
			return nil
		}
		return []result.Condition{{Group: "storage", Name: "probe", Value: inBrief(r)}}
	}
}

// inBrief is a report in a line: "segment 4 MiB, page 16 KiB, 5 open; probed 2026-11-21".
func inBrief(r probe.Report) string {
	var parts []string
	for _, one := range []struct{ key, form string }{
		{probe.SegmentSize, "segment %s"}, {probe.PageSize, "page %s"}, {probe.OpenLinear, "%s open"}, {probe.FATArea, "FAT area %s"},
		{probe.Rotation, "%s"},
	} {
		f := r.Find(one.key)
		if !f.Known() || one.key == probe.FATArea && f.Value == 0 {
			continue
		}
		parts = append(parts, fmt.Sprintf(one.form, report.FindingValue(f)))
	}
	if len(parts) == 0 {
		parts = []string{"its inside could not be determined"}
	}
	return strings.Join(parts, ", ") + "; probed " + r.Started.UTC().Format("2006-01-02")
}
