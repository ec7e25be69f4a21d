package main

import (
	"crypto/rand"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"whichfs/internal/cache"
	"whichfs/internal/dataset"
	"whichfs/internal/experiment"
	"whichfs/internal/filesystem"
	"whichfs/internal/machine"
	"whichfs/internal/plan"
	"whichfs/internal/result"
	"whichfs/internal/result/store"
	"whichfs/internal/scenario"
	"whichfs/internal/study"
	"whichfs/internal/wire"
)

// outputs are the files that a run or a report writes, one flag a format.
type outputs struct {
	HTML    string `name:"html" help:"Write the page to FILE." placeholder:"FILE"`
	JSON    string `name:"json" help:"Write verdict and measurements as JSON to FILE; - is standard output." placeholder:"FILE"`
	CSV     string `name:"csv" help:"Write one row per measurement to FILE; - is standard output." placeholder:"FILE"`
	JUnit   string `name:"junit" help:"Write JUnit XML to FILE; - is standard output." placeholder:"FILE"`
	GoBench string `name:"gobench" help:"Write Go benchmark format, as benchstat reads it, to FILE; - is standard output." placeholder:"FILE"`
}

type runCmd struct {
	Study string `arg:"" help:"A study (whichfs list studies), or a plan file that ends in .toml."`

	Quick bool `xor:"scale" help:"Small data and few repetitions; every phase all the same. The default."`
	Full  bool `xor:"scale" help:"The published sizes and all candidates."`

	Machine    string        `help:"Where trials execute: lab (a guest, no root needed) or local (this kernel, needs root)." placeholder:"NAME"`
	Storage    string        `help:"What is under test: /dev/sdX, loop:2G (local); disk:1G[,bps=…,iops=…], sd:1G (lab)." placeholder:"STORAGE"`
	Destroy    string        `help:"Allow this very device to be overwritten: its serial number or by-id name." placeholder:"ID"`
	Candidates []string      `name:"candidates" sep:";" help:"Filesystems with options, separated by semicolons or given repeatedly: 'ext4; btrfs -m single -o compress=lzo'." placeholder:"LIST"`
	Rounds     int           `help:"How many rounds; 0 takes the study's." placeholder:"N"`
	Budget     time.Duration `help:"Stop after this time; whichfs resume goes on." placeholder:"10m"`
	Seed       *uint64       `help:"Seed of the order of trials; recorded, and drawn by chance if not given." placeholder:"N"`
	Margin     float64       `help:"Differences below this share are ties; 0 takes 0.10." placeholder:"0.10"`
	Data       string        `help:"A directory of your own as the tree that work is done on." placeholder:"DIR"`
	Work       string        `help:"Directory for loop files and lab disks." placeholder:"DIR" type:"path"`

	outputs `group:"Output"`
}

func (c *runCmd) Run(a *app) error {
	p, err := c.plan()
	if err != nil {
		return err
	}
	m, err := machineNamed(p.Machine, a.note)
	if err != nil {
		return err
	}
	if err := c.outputs.check(); err != nil {
		return err
	}
	st, err := a.openStore()
	if err != nil {
		return err
	}
	defer st.Close() //nolint:errcheck // every write was synced
	if p.Data, err = c.data(a, p); err != nil {
		return err
	}
	run := newRun(p)
	if err := st.CreateRun(run); err != nil {
		return err
	}
	return a.carry(st, run, p, m, c.Destroy, c.Work, c.outputs)
}

// plan joins study, plan file and flags; flags win.
func (c *runCmd) plan() (plan.Plan, error) {
	var file plan.File
	name := c.Study
	if strings.HasSuffix(name, ".toml") {
		var err error
		if file, err = plan.Load(name); err != nil {
			return plan.Plan{}, &problem{code: exitRefused, text: err.Error()}
		}
		name = file.Study
	}
	st, ok := study.ByName(name)
	if !ok {
		var names []string
		for _, s := range study.All {
			names = append(names, s.Name)
		}
		return plan.Plan{}, refuse("whichfs list studies", "unknown study %q; known are %s", name, strings.Join(names, ", "))
	}
	scaleName := first(map[bool]string{true: "full"}[c.Full], map[bool]string{true: "quick"}[c.Quick], file.Scale, "quick")
	scale, ok := st.Scales[scaleName]
	if !ok {
		return plan.Plan{}, refuse("", "study %s has no scale %q", st.Name, scaleName)
	}
	p := plan.Plan{
		Study: st.Name, Scale: scaleName,
		Machine: first(c.Machine, file.Machine, "lab"),
		Rounds:  firstPositive(c.Rounds, file.Rounds, scale.Rounds),
		Margin:  firstPositive(c.Margin, file.Margin, 0.10),
		Budget:  firstPositive(c.Budget, file.Budget),
		Tree:    first(c.Data, file.Data, scale.Tree), Stream: scale.Stream, StepLimit: scale.StepLimit,
		ReadWrite: st.Scenario(false, scale), ReadOnly: st.Scenario(true, scale),
	}
	p.Storage = first(c.Storage, file.Storage)
	if p.Storage == "" && p.Machine != "local" {
		p.Storage = scale.Storage
	}
	if p.Storage == "" {
		return p, refuse("for instance --storage loop:2G, which touches no device; whichfs list storage shows devices",
			"no storage is named, and on this machine's own kernel there is no default")
	}
	p.Candidates = scale.Candidates
	if len(file.Candidates) > 0 {
		p.Candidates = file.Candidates
	}
	if len(c.Candidates) > 0 {
		p.Candidates = c.Candidates
	}
	var err error
	if p.Candidates, err = canonical(p.Candidates); err != nil {
		return p, err
	}
	switch {
	case c.Seed != nil:
		p.Seed = *c.Seed
	case file.Seed != nil:
		p.Seed = *file.Seed
	default:
		if p.Seed, err = drawSeed(); err != nil {
			return p, err
		}
	}
	if err := p.Validate(); err != nil {
		return p, &problem{code: exitRefused, text: err.Error()}
	}
	return p, nil
}

// canonical parses candidates, drops empty and repeated ones, and writes each
// as it will be shown.
func canonical(lines []string) ([]string, error) {
	var out []string
	seen := map[string]bool{}
	for _, line := range lines {
		if strings.TrimSpace(line) == "" {
			continue
		}
		c, err := filesystem.Parse(line)
		if err != nil {
			return nil, refuse("whichfs list filesystems", "%v", err)
		}
		if s := c.String(); !seen[s] {
			seen[s] = true
			out = append(out, s)
		}
	}
	if len(out) == 0 {
		return nil, refuse("whichfs list filesystems", "no candidates are left")
	}
	return out, nil
}

// data makes or finds the data sets of a plan.
func (c *runCmd) data(a *app, p plan.Plan) ([]scenario.Data, error) {
	var tree scenario.Data
	var err error
	if strings.ContainsRune(p.Tree, filepath.Separator) || p.Tree == "." {
		tree, err = dataset.FromDirectory(a.ctx, p.Tree)
	} else {
		tree, err = dataset.Get(a.ctx, p.Tree, a.note)
	}
	if err != nil {
		return nil, err
	}
	tree.Name = "tree"
	return []scenario.Data{tree, dataset.Stream("stream", p.Stream, 1)}, nil
}

func newRun(p plan.Plan) result.Run {
	now := time.Now().UTC()
	r := result.Run{
		ID:    fmt.Sprintf("%s-%04x", now.Format("20060102-150405"), uint16(p.Seed^p.Seed>>16^p.Seed>>32^p.Seed>>48)),
		Study: p.Study, Scale: p.Scale, Machine: p.Machine, Storage: p.Storage, Seed: p.Seed, Rounds: p.Rounds,
		Candidates: p.Candidates, Margin: p.Margin, Version: version, Started: now, State: result.Running,
	}
	r.Plan, _ = json.Marshal(p) // plain data
	for _, d := range p.Data {
		value := fmt.Sprintf("%d bytes, %s", d.Size, d.Digest)
		if d.Files > 0 {
			value = fmt.Sprintf("%d files, %d bytes, %s", d.Files, d.Size, d.Digest)
		}
		r.Conditions = append(r.Conditions, result.Condition{Group: "data", Name: d.Name, Value: value, Matters: true})
		for kind, n := range d.Skipped {
			r.Notes = append(r.Notes, result.Note{Level: result.Warning, Text: fmt.Sprintf("the tree's %d %s were left out of the data set", n, kind)})
		}
		for _, text := range d.Notes {
			r.Notes = append(r.Notes, result.Note{Level: result.Warning, Text: text})
		}
	}
	r.Conditions = append(r.Conditions,
		result.Condition{Group: "run", Name: "whichfs", Value: version},
		result.Condition{Group: "run", Name: "copies of tree and stream", Value: copies(p)},
	)
	return r
}

func copies(p plan.Plan) string {
	for _, s := range p.ReadWrite {
		if s.Phase == "write" {
			return fmt.Sprint(s.Count)
		}
	}
	return "1"
}

// carry runs what remains of a run, shows it as it goes, and reports.
func (a *app) carry(st *store.Store, run result.Run, p plan.Plan, m machine.Machine, destroy, work string, out outputs) error {
	if work == "" {
		dir, err := cache.Dir()
		if err != nil {
			return err
		}
		work = filepath.Join(dir, "work")
		if err := os.MkdirAll(work, 0o700); err != nil {
			return err
		}
	}
	show := newProgress(a, run)
	e := &experiment.Experiment{
		Run: run, Plan: p, Machine: m, Store: st, Observer: show.observer(),
		Spec: machine.Spec{Storage: p.Storage, Destroy: destroy, Data: p.Data, Work: work},
	}
	ctx, cancel := show.start(a.ctx)
	err := e.Carry(ctx)
	cancel()
	show.stop()
	stopped := a.ctx.Err() != nil || errors.Is(err, errInterrupted)
	switch {
	case errors.Is(err, experiment.ErrBudget):
		a.note(fmt.Sprintf("The budget of %s is spent; whichfs resume %s goes on.", p.Budget, run.ID))
	case stopped:
	case err != nil:
		return err
	}
	code, rerr := a.reportRun(st, run.ID, out, true)
	if stopped {
		return &problem{code: exitInterrupted, text: "interrupted; every finished trial is stored",
			hint: "whichfs resume " + run.ID + " goes on where it stopped"}
	}
	if rerr != nil {
		return rerr
	}
	if code != exitOK {
		return &problem{code: code}
	}
	return nil
}

func drawSeed() (uint64, error) {
	var b [8]byte
	if _, err := rand.Read(b[:]); err != nil {
		return 0, err
	}
	// 32 bits are easier to type again.
	return uint64(binary.LittleEndian.Uint32(b[:4])), nil
}

func (a *app) note(text string) { fmt.Fprintln(a.stderr, text) }

func (a *app) storePath() (string, error) {
	if a.cli.Store != "" {
		return a.cli.Store, nil
	}
	return store.DefaultPath()
}

func (a *app) openStore() (*store.Store, error) {
	path, err := a.storePath()
	if err != nil {
		return nil, err
	}
	return store.Open(path)
}

func first(words ...string) string {
	for _, w := range words {
		if w != "" {
			return w
		}
	}
	return ""
}

func firstPositive[T int | float64 | time.Duration](values ...T) T {
	for _, v := range values {
		if v > 0 {
			return v
		}
	}
	return 0
}

var _ experiment.Store = (*store.Store)(nil)

// unsupported lists what cannot run, for the terminal.
func unsupported(s []wire.CandidateSupport) []wire.CandidateSupport {
	var out []wire.CandidateSupport
	for _, c := range s {
		if c.Reason != "" {
			out = append(out, c)
		}
	}
	return out
}
