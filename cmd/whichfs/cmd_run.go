package main

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"whichfs/internal/dataset"
	"whichfs/internal/filesystem"
	"whichfs/internal/machine"
	"whichfs/internal/plan"
	"whichfs/internal/result"
	"whichfs/internal/scenario"
	"whichfs/internal/storage"
	"whichfs/internal/study"
	"whichfs/internal/wire"
)

// outputs are the files that a run or a report writes, one flag a format.
type outputs struct {
	HTML    string `name:"html" help:"Write the page to FILE." placeholder:"FILE"`
	JSON    string `name:"json" help:"Write verdict and measurements as JSON to FILE; - is standard output." placeholder:"FILE"`
	CSV     string `name:"csv" help:"Write one row per measurement to FILE; - is standard output." placeholder:"FILE"`
	JUnit   string `name:"junit" help:"Write JUnit XML to FILE; - is standard output." placeholder:"FILE"`
	Daily   string `name:"daily" help:"What the work writes a day, for the years that simulated storage lives; default 10G." placeholder:"SIZE"`
	GoBench string `name:"gobench" help:"Write Go benchmark format, as benchstat reads it, to FILE; - is standard output." placeholder:"FILE"`
}

type runCmd struct {
	Study string `arg:"" help:"A study (whichfs list studies), or a plan file that ends in .toml."`

	Quick bool `xor:"scale" help:"Small data and few repetitions; every phase all the same. The default."`
	Full  bool `xor:"scale" help:"The published sizes and all candidates."`

	Machine      string        `help:"Where trials execute: lab (a guest, no root needed) or local (this kernel, needs root)." placeholder:"NAME"`
	Storage      string        `help:"What is under test: /dev/sdX, loop:2G (local); disk:1G[,bps=…,iops=…], sd:1G, sim:MODEL[,SIZE], ram:512M (lab)." placeholder:"STORAGE"`
	Destroy      string        `help:"Allow this very device to be overwritten: its serial number or by-id name." placeholder:"ID"`
	Candidates   []string      `name:"candidates" sep:";" help:"Filesystems with options, separated by semicolons or given repeatedly: 'ext4; btrfs -m single -o compress=lzo'." placeholder:"LIST"`
	Clock        string        `help:"What figures are taken with: wall (time as it passes) or instructions (what the processor executes, on a disk in memory; lab only)." placeholder:"NAME"`
	Precondition bool          `help:"First bring the storage to a steady speed, in every trial, after making and mounting the filesystem."`
	Tuned        bool          `help:"Set beside each candidate the one tuned to the storage, which must have been probed: whichfs tune shows the options."`
	Rounds       int           `help:"How many rounds; 0 takes the study's." placeholder:"N"`
	Budget       time.Duration `help:"Stop after this time; whichfs resume goes on." placeholder:"10m"`
	Seed         *uint64       `help:"Seed of the order of trials; recorded, and drawn by chance if not given." placeholder:"N"`
	Margin       float64       `help:"Differences below this share are ties; 0 takes 0.10." placeholder:"0.10"`
	Data         string        `help:"A directory of your own as the tree that work is done on." placeholder:"DIR"`
	Work         string        `help:"Directory for loop files and lab disks." placeholder:"DIR" type:"path"`

	outputs `group:"Output"`
}

func (c *runCmd) Run(a *app) error {
	p, data, err := c.plan()
	if err != nil {
		return err
	}
	m, err := machineNamed(p.Machine, a.note)
	if err != nil {
		return err
	}
	if early, ok := m.(machine.Checker); ok { // before data sets are made for nothing
		if err := early.Check(machine.Spec{Storage: p.Storage, Destroy: c.Destroy, Work: c.Work, Instructions: p.Counts()}); err != nil {
			return err
		}
	}
	if err := c.outputs.check(); err != nil {
		return err
	}
	st, err := a.openStore()
	if err != nil {
		return err
	}
	defer st.Close() //nolint:errcheck // every write was synced
	var extra []result.Condition
	if c.Tuned {
		spec, _ := storage.ParseSpec(p.Storage) // it was read before
		var tuned result.Condition
		if p.Candidates, tuned, err = addTuned(p.Candidates, st, p.Storage, spec.Size); err != nil {
			return err
		}
		extra = append(extra, tuned)
	}
	if p.Data, err = data(a); err != nil {
		return err
	}
	if err := p.Check(); err != nil {
		return &problem{code: exitRefused, text: err.Error()}
	}
	run, err := newRun(p)
	if err != nil {
		return err
	}
	run.Conditions = append(run.Conditions, extra...)
	release, err := a.holdRun(run.ID)
	if err != nil {
		return err
	}
	defer release()
	if err := st.CreateRun(run, len(plan.Trials(p))); err != nil {
		return err
	}
	for _, n := range run.Notes {
		a.note(n.Text)
	}
	return a.carry(st, run, p, m, c.Destroy, c.Work, c.outputs)
}

// plan joins study, plan file and flags; flags win. Its data sets come apart,
// since making them takes time.
func (c *runCmd) plan() (p plan.Plan, data func(*app) ([]scenario.Data, error), err error) {
	var file plan.File
	name, where := c.Study, ""
	if strings.HasSuffix(name, ".toml") {
		if file, err = plan.Load(name); err != nil {
			return p, nil, &problem{code: exitRefused, text: err.Error()}
		}
		where = file.Where("study") + ": "
		if name = value(file.Study); name == "" {
			return p, nil, refuse(`study = "bootlin-2023", for instance`, "%sthe plan names no study", where)
		}
	}
	st, ok := study.ByName(name)
	if !ok {
		return p, nil, refuse("whichfs list studies", "%sunknown study %q; known are %s", where, name, strings.Join(study.Names(), ", "))
	}
	scaleName := first(named(c.Full, "full"), named(c.Quick, "quick"), value(file.Scale), "quick")
	scale, ok := st.Scales[scaleName]
	if !ok {
		return p, nil, refuse("", "study %s has no scale %q", st.Name, scaleName)
	}
	p = plan.Plan{
		Study: st.Name, Scale: scaleName,
		Machine:      first(c.Machine, value(file.Machine), "lab"),
		Storage:      first(c.Storage, value(file.Storage)),
		Clock:        first(c.Clock, value(file.Clock), result.ClockWall),
		Precondition: c.Precondition || value(file.Precondition),
		Rounds:       firstPositive(c.Rounds, value(file.Rounds)),
		Margin:       firstPositive(c.Margin, value(file.Margin), plan.DefaultMargin),
		Budget:       firstPositive(c.Budget, value(file.Budget)),
		Seed:         plan.NewSeed(), StepLimit: scale.StepLimit,
		ReadWrite: st.Scenario(false, scale), ReadOnly: st.Scenario(true, scale),
	}
	if c.Rounds < 0 || c.Margin < 0 || c.Budget < 0 {
		return p, nil, refuse("", "--rounds, --margin and --budget cannot be negative")
	}
	switch {
	case p.Storage != "":
	case p.Counts():
		p.Storage = scale.RAM
	case p.Machine == "local":
		return p, nil, refuse("for instance --storage loop:2G, which touches no device; whichfs list storage shows devices",
			"no storage is named, and on this machine's own kernel there is no default")
	default:
		p.Storage = scale.Storage
	}
	switch {
	case c.Seed != nil:
		p.Seed = *c.Seed
	case file.Seed != nil:
		p.Seed = *file.Seed
	}
	if p.Rounds == 0 {
		p.Rounds = scale.Rounds
		if p.Counts() {
			p.Rounds = min(p.Rounds, plan.CountingRounds)
		}
	}
	if p.Precondition {
		p.ReadWrite = scenario.Precondition(p.ReadWrite)
	}
	p.Candidates = scale.Candidates
	if len(file.Candidates) > 0 {
		p.Candidates = file.Candidates
	}
	if len(c.Candidates) > 0 {
		p.Candidates = c.Candidates
	}
	if p.Candidates, err = canonical(p.Candidates); err != nil {
		return p, nil, err
	}
	if err := checkStorage(p); err != nil {
		return p, nil, err
	}
	return p, func(a *app) ([]scenario.Data, error) {
		tree, err := c.tree(a, scale.Tree)
		if err != nil {
			return nil, err
		}
		tree.Name = "tree"
		return []scenario.Data{tree, dataset.Stream("stream", scale.Stream, 1)}, nil
	}, nil
}

// tree makes or finds the tree that work is done on.
func (c *runCmd) tree(a *app, name string) (scenario.Data, error) {
	if c.Data != "" {
		d, err := dataset.FromDirectory(a.ctx, c.Data)
		if err != nil && a.ctx.Err() == nil {
			err = refuse("", "%v", err)
		}
		return d, err
	}
	return dataset.Get(a.ctx, name, a.note)
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
		c, err := filesystem.Parse(strings.TrimSpace(line))
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

func newRun(p plan.Plan) (result.Run, error) {
	now := time.Now().UTC()
	r := result.Run{
		// Chance, and not the seed: two runs of one seed may begin in one second.
		ID:    fmt.Sprintf("%s-%04x", now.Format("20060102-150405"), rand.Uint32N(1<<16)),
		Study: p.Study, Scale: p.Scale, Machine: p.Machine, Storage: p.Storage, Clock: p.Clock, Seed: p.Seed, Rounds: p.Rounds,
		Candidates: p.Candidates, Margin: p.Margin, Version: version, Started: now, State: result.Running,
	}
	var err error
	if r.Plan, err = p.Encode(); err != nil {
		return r, err
	}
	if p.Precondition {
		r.Notes = append(r.Notes, unconditioned(p.Candidates)...)
	}
	for _, d := range p.Data {
		value := fmt.Sprintf("%d bytes, %s", d.Size, d.Digest)
		if d.Files > 0 {
			value = fmt.Sprintf("%d files, %d bytes, %s", d.Files, d.Size, d.Digest)
		}
		r.Conditions = append(r.Conditions, result.Condition{Group: "data", Name: d.Name, Value: value, Matters: true})
		if text := leftOut(d.Skipped); text != "" {
			r.Notes = append(r.Notes, result.Note{Level: result.Warning, Text: "left out of the " + d.Name + ": " + text})
		}
		for _, text := range d.Notes {
			r.Notes = append(r.Notes, result.Note{Level: result.Warning, Text: text})
		}
	}
	r.Conditions = append(r.Conditions, clockCondition(p), preconditioned(p),
		result.Condition{Group: "run", Name: "whichfs", Value: version},
		result.Condition{Group: "run", Name: "copies of tree and stream", Value: copies(p)},
	)
	return r, nil
}

// leftOut counts what a data set lacks: "block devices (2), sockets (1)".
func leftOut(skipped map[string]int) string {
	var parts []string
	for _, kind := range slices.Sorted(maps.Keys(skipped)) {
		parts = append(parts, fmt.Sprintf("%s (%d)", kind, skipped[kind]))
	}
	return strings.Join(parts, ", ")
}

func copies(p plan.Plan) string {
	for _, s := range p.ReadWrite {
		if s.Phase == "write" {
			return fmt.Sprint(s.Count)
		}
	}
	return "1"
}

// value is what a plan file says, or nothing.
func value[T any](p *T) T {
	if p == nil {
		var zero T
		return zero
	}
	return *p
}

func named(is bool, name string) string {
	if is {
		return name
	}
	return ""
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
