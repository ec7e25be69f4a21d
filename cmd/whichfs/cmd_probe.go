package main

import (
	"cmp"
	"fmt"
	"io"
	"strings"
	"time"

	"whichfs/internal/app"
	"whichfs/internal/probe"
	"whichfs/internal/report"
	"whichfs/internal/report/doc"
	"whichfs/internal/result/store"
	"whichfs/internal/sys/units"
	"whichfs/internal/wire"
)

type probeCmd struct {
	Storage string `complete:"storage" arg:"" help:"What to probe: /dev/sdX (read only, unless --destroy); loop:2G; disk:1G, sd:1G, sim:MODEL[,SIZE] (lab)."`

	Destroy string        `help:"Allow this very device to be overwritten, by the name that whichfs list storage shows. Writing finds out much more." placeholder:"ID"`
	InUse   bool          `name:"in-use" help:"Read a device that is in use; the figures include that use."`
	Machine string        `complete:"machine" help:"Where the probe runs: lab (a guest, no root needed), local (this kernel, needs root), ssh:[USER@]HOST[:PORT], serial:DEVICE[@BAUD], labgrid:PLACE (a board) (default: as the storage needs)." placeholder:"NAME"`
	Clock   string        `help:"wall, or simulated: for sim: storage, runs the model on its own clock without a guest." enum:"wall,simulated" default:"wall" placeholder:"CLOCK"`
	Effort  string        `help:"How much to do: quick (about a minute on a slow card), normal or thorough." enum:"quick,normal,thorough" default:"normal" placeholder:"EFFORT"`
	Limit   time.Duration `help:"Time limit; parts that no longer fit are left out, and the report says so." placeholder:"10m"`
	Only    []string      `help:"Run only these parts, separated by commas." placeholder:"PARTS"`
	Seed    *uint64       `help:"Seed of every random choice; recorded (default: random)." placeholder:"N"`
	workFlag
	agentFlag
	NoStore bool `name:"no-store" help:"Do not keep the report in the result store."`

	pages `group:"Output"`
}

func (c *probeCmd) Run(a *shell) error {
	a.AgentPath = c.AgentPath
	var show *working // made when there is something to show
	q := app.ProbeAsk{
		Permission: app.Permission{Work: c.Work},
		Storage:    c.Storage, InUse: c.InUse, Machine: c.Machine, Clock: c.Clock, Effort: c.Effort, Limit: c.Limit, Only: c.Only, Seed: c.Seed,
		Progress: func(p wire.Progress) {
			if show == nil { // a model on its own clock announces nothing
				show = a.working("")
			}
			show.progress(p)
		},
	}
	if c.Destroy != "" {
		q.Destroy = []string{c.Destroy}
	}
	q.Announce = func(identity string, size int64, readOnly bool) {
		a.note(announce(c.Storage, identity, size, readOnly, q.AtMost()))
		show = a.working(strings.Join([]string{"probe", c.Storage, identity, c.Effort, strings.Join(c.Only, ",")}, " "))
	}
	if _, err := q.Check(); err != nil {
		return err
	}
	if err := c.files().check(); err != nil {
		return err
	}
	var st *store.Store
	if !c.NoStore {
		var err error
		if st, err = a.Store(); err != nil {
			return err
		}
		defer st.Close() //nolint:errcheck // every write was synced
	}
	r, err := a.Probe(a.ctx, q)
	if show != nil {
		show.end(err == nil)
	}
	if len(r.Findings) == 0 && err != nil {
		return err
	}
	return a.conclude(st, r, err, c.pages)
}

// announce says what the probe will do to the storage.
func announce(named, identity string, size int64, readOnly bool, atMost time.Duration) string {
	text := fmt.Sprintf("probing %s (%s, %s)", named, identity, units.Value(float64(size), "B"))
	if readOnly {
		return text + ": only reading; with --destroy " + identity + " the probe also writes and finds out more"
	}
	return text + fmt.Sprintf(": writing to it for at most %s, which destroys everything on it", units.Rough(atMost))
}

// conclude stores, shows and writes a report. ended says why the probe ended early; the report of
// such a probe is shown but not stored.
func (a *shell) conclude(st *store.Store, r probe.Report, ended error, to pages) error {
	if ended != nil {
		r.Partial = cmp.Or(r.Partial, ended.Error())
		r.Warnings = append([]string{"partial: " + r.Partial + "; the results below are from before"}, r.Warnings...)
	}
	id := ""
	if st != nil && ended == nil {
		id = app.NewID(r.Started)
		if err := st.SaveProbe(id, r); err != nil {
			return err
		}
		defer a.note("stored as " + id + "; whichfs probes " + id + " shows it again")
	}
	if err := a.showProbe(r, id, to); err != nil {
		return err
	}
	if ended == nil {
		return nil
	}
	p := *explain(ended)
	p.more = "the results up to then are shown but not stored"
	if a.ctx.Err() != nil {
		p.code, p.Reason, p.Hint = exitInterrupted, "interrupted", ""
	}
	return &p
}

// showProbe writes a report in every format that was requested. id is its name in the store, "" if
// it is not stored.
func (a *shell) showProbe(r probe.Report, id string, to pages) error {
	d, err := report.ProbeDoc(r, id)
	if err != nil {
		return err
	}
	return a.publish(map[string]writer{
		"":     func(w io.Writer) error { return doc.Text(w, d, a.textOptions()) },
		"html": func(w io.Writer) error { return doc.HTML(w, d) },
		"json": func(w io.Writer) error { return report.ProbeJSON(w, r) },
	}, to.besidesText())
}
