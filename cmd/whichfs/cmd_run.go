package main

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"whichfs/internal/lab"
	"whichfs/internal/machine"
	"whichfs/internal/plan"
	"whichfs/internal/plan/media"
	"whichfs/internal/result"
	"whichfs/internal/result/store"
	"whichfs/internal/scenario"
	"whichfs/internal/study"
)

// outputs are the files that a run or a report writes, one flag a format.
type outputs struct {
	HTML      string `name:"html" help:"Write the page to FILE." placeholder:"FILE"`
	JSON      string `name:"json" help:"Write verdict and measurements as JSON to FILE; - is standard output." placeholder:"FILE"`
	CSV       string `name:"csv" help:"Write one row per measurement to FILE; - is standard output." placeholder:"FILE"`
	Artifacts string `name:"artifacts" help:"Write what other programs said (fio's json+, for instance), whole, into DIR." placeholder:"DIR"`
	JUnit     string `name:"junit" help:"Write JUnit XML to FILE; - is standard output." placeholder:"FILE"`
	Daily     string `name:"daily" help:"What the work writes a day, for the years that simulated storage lives; default 10G." placeholder:"SIZE"`
	Bonnie    string `name:"bonnie" help:"Write Bonnie++'s CSV, as bon_csv2html reads it, to FILE; - is standard output." placeholder:"FILE"`
	GoBench   string `name:"gobench" help:"Write Go benchmark format, as benchstat reads it, to FILE; - is standard output." placeholder:"FILE"`
}

type runCmd struct {
	Study string `arg:"" help:"A study (whichfs list studies), a plan file that ends in .toml, or a fio job file that ends in .fio."`

	Quick bool `xor:"scale" help:"Small data and few repetitions; every phase all the same. The default."`
	Full  bool `xor:"scale" help:"The published sizes and all candidates."`

	Machine      string        `help:"Where trials execute: lab (a guest, no root needed) or local (this kernel, needs root)." placeholder:"NAME"`
	Storage      []string      `sep:";" help:"What is under test: /dev/sdX, mtd:/dev/mtdN, loop:2G (local); disk:1G[,bps=…,iops=…], sd:1G, sim:MODEL[,SIZE], ram:512M, nand:128M[,page=2k,bad=5:6,weak=7/100,bitflips=1,…] (lab). Several, separated by semicolons or given repeatedly, make a series: a run on each." placeholder:"STORAGE"`
	Destroy      string        `help:"Allow this very device to be overwritten, by the name that whichfs list storage shows. Every real device needs it, also an empty one." placeholder:"ID"`
	Risk         bool          `name:"risk-this-kernel" help:"With --machine local: mount broken filesystems on this machine's own kernel, which may crash of them or corrupt what it holds."`
	Candidates   []string      `name:"candidates" sep:";" help:"Filesystems with options, separated by semicolons or given repeatedly: 'ext4; btrfs -m single -o compress=lzo'." placeholder:"LIST"`
	Factors      bool          `negatable:"" default:"true" help:"Vary the study's factors (mount options, alignment, place), too."`
	Clock        string        `help:"What figures are taken with: wall (time as it passes) or instructions (what the processor executes, on a disk in memory; lab only)." placeholder:"NAME"`
	Precondition bool          `help:"First bring the storage to a steady speed, in every trial, after making and mounting the filesystem."`
	Tuned        bool          `help:"Set beside each candidate the one tuned to the storage, which must have been probed: whichfs tune shows the options."`
	Rounds       int           `help:"How many rounds, with --until the most; 0 takes the study's." placeholder:"N"`
	Until        string        `help:"settled: go on until the best candidate of each use is known within the margin, leaving out those that can no longer win." placeholder:"settled"`
	Settle       []string      `help:"Columns that --until settles besides the uses, by their keys: write,boot." placeholder:"KEY"`
	Budget       time.Duration `help:"Stop after this time; whichfs resume goes on." placeholder:"10m"`
	Seed         *uint64       `help:"Seed of the order of trials; recorded, and drawn by chance if not given." placeholder:"N"`
	Margin       float64       `help:"Differences below this share are ties; 0 takes 0.10." placeholder:"0.10"`
	Kernels      []string      `help:"Kernels to boot from the filesystem with, by their versions: 6.1,6.12 (lab only)." placeholder:"VERSION"`
	Cuts         int           `help:"Cut the power N times in mid-write after each trial, and look what is left of what was synced (lab, nand: and sim: only)." placeholder:"N"`
	Arch         string        `help:"Architecture of the lab's guests: armhf, arm64 or amd64; this host's if not given." placeholder:"NAME"`
	Module       []string      `sep:"none" help:"A kernel module file (.ko) that a filesystem needs and the kernel lacks, or another build of one that it has; repeatable." placeholder:"FILE" type:"path"`
	Data         string        `help:"A directory of your own as the tree that work is done on, or one of whichfs list data." placeholder:"DIR"`
	Work         string        `help:"Directory for loop files and lab disks." placeholder:"DIR" type:"existingdir"`

	outputs `group:"Output"`
}

func (c *runCmd) Run(a *app) error {
	plans, data, err := c.plans()
	if err != nil {
		return err
	}
	m, err := machineNamed(plans[0].Machine, a.note)
	if err != nil {
		return err
	}
	if early, ok := m.(machine.Checker); ok { // before data sets are made for nothing
		for _, p := range plans {
			if err := early.Check(specOf(p, c.Destroy, c.Work, c.Risk)); err != nil {
				return err
			}
		}
	}
	if err := c.findKernels(a, plans[0].Arch); err != nil {
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
	sets, err := data(a)
	if err != nil {
		return err
	}
	runs, err := c.runs(st, plans, sets)
	if err != nil {
		return err
	}
	release, err := a.holdRuns(runs)
	if err != nil {
		return err
	}
	defer release()
	for i, run := range runs {
		if err := st.CreateRun(run, len(plan.Trials(plans[i]))); err != nil {
			return err
		}
	}
	for _, n := range runs[0].Notes {
		a.note(n.Text)
	}
	return a.carryAll(st, runs, plans, m, c.Destroy, c.Work, c.Risk, c.outputs)
}

// findKernels makes sure that every kernel that is asked for is to be had. It
// is fetched when it is booted for the first time.
func (c *runCmd) findKernels(a *app, arch string) error {
	of, err := archNamed(arch)
	if err != nil {
		return err
	}
	for _, version := range c.Kernels {
		if _, err := lab.FindKernel(a.ctx, of, version); err != nil {
			return fmt.Errorf("--kernels: %w", err)
		}
	}
	return nil
}

// runs makes the runs of the plans, and completes the plans.
func (c *runCmd) runs(st *store.Store, plans []plan.Plan, sets []scenario.Data) ([]result.Run, error) {
	var runs []result.Run
	for i := range plans {
		p := &plans[i]
		p.Data = used(sets, *p)
		var extra []result.Condition
		if c.Tuned {
			spec, _ := media.Parse(p.Storage) // it was read before
			var tuned result.Condition
			var err error
			if p.Candidates, tuned, err = addTuned(p.Candidates, st, p.Storage, spec.Size); err != nil {
				return nil, err
			}
			extra = append(extra, tuned)
		}
		if err := p.Check(); err != nil {
			return nil, result.Refuse("", "%v", err)
		}
		run, err := newRun(*p)
		if err != nil {
			return nil, err
		}
		run.Conditions = append(run.Conditions, extra...)
		if len(plans) > 1 {
			run.State = result.Interrupted // until it is its turn
			run.Series = append(runs, run)[0].ID
		}
		runs = append(runs, run)
	}
	return runs, nil
}

// used are the data sets that a plan's steps name: on another storage of the
// study the work may be on others.
func used(sets []scenario.Data, p plan.Plan) []scenario.Data {
	return slices.DeleteFunc(slices.Clone(sets), func(d scenario.Data) bool {
		names := func(s scenario.Step) bool { return s.Data == d.Name }
		return !slices.ContainsFunc(p.ReadWrite, names) && !slices.ContainsFunc(p.ReadOnly, names)
	})
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
	if st, _ := study.ByName(p.Study); len(p.Modules) > 0 && st.Scales[p.Scale].Boots > 0 {
		r.Notes = append(r.Notes, result.Note{Level: result.Info, Text: "nothing boots from the filesystems: a guest that does so takes its kernel's own modules, and not those given with --module"})
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

// unsupported lists what cannot run, for the terminal.
func unsupported(s []result.Support) []result.Support {
	var out []result.Support
	for _, c := range s {
		if c.Reason != "" {
			out = append(out, c)
		}
	}
	return out
}
