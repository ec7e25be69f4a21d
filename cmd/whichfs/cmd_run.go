package main

import (
	"strings"
	"time"

	"whichfs/internal/app"
	"whichfs/internal/result"
)

// planned are the flags of a run and of a prediction.
type planned struct {
	Study string `complete:"study" arg:"" optional:"" help:"A study (whichfs list studies), a plan file (.toml) or a fio job file (.fio). In a terminal run asks for it."`

	Quick  bool   `xor:"scale" help:"Small data and few repetitions, but every phase. The default."`
	Claims string `complete:"all" xor:"scale" help:"Small data, and the candidates, storages and repetitions that the study's claims need." placeholder:"all"`
	Full   bool   `xor:"scale" help:"Published sizes and all candidates."`

	Candidates   []string      `complete:"candidate" name:"candidates" sep:";" help:"Filesystems with options, separated by semicolons or given repeatedly: 'ext4; btrfs -m single -o compress=lzo'." placeholder:"LIST"`
	Factors      bool          `negatable:"" default:"true" help:"Also vary the study's factors (mount options, alignment, place)."`
	Retake       bool          `negatable:"" default:"true" env:"WHICHFS_RETAKE" help:"Take trials again that other work of the machine disturbed, once."`
	Precondition bool          `help:"Write until the speed is steady, in every trial, after making and mounting the filesystem."`
	Tuned        bool          `help:"Add a tuned variant of each candidate. The storage must have been probed; whichfs tune shows the options."`
	Rounds       int           `help:"Number of rounds, with --until the maximum; 0 takes the study's." placeholder:"N"`
	Until        string        `complete:"settled" help:"settled: continue until the best candidate of each use is known within the margin, dropping candidates that can no longer win." placeholder:"settled"`
	Settle       []string      `complete:"key" help:"Columns that --until settled also settles, by key: write,boot." placeholder:"KEY"`
	Budget       time.Duration `help:"Stop after this time; whichfs resume continues." placeholder:"10m"`
	Seed         *uint64       `help:"Seed of the order of trials, and of what guests with the virtual clock draw; recorded (default: random; 1 with the virtual clock)." placeholder:"N"`
	Margin       float64       `help:"Relative differences below this are ties; 0 takes 0.10." placeholder:"0.10"`
	Memory       []string      `help:"Memory of the lab's guests; figures from caches depend on it; several are a factor: 256M,512M (default: the study's)." placeholder:"SIZE"`
	Kernel       string        `xor:"kernels" help:"Kernel of the lab's guests by version: 6.12, or 6.12.95 for that one alone." placeholder:"VERSION"`
	Kernels      []string      `xor:"kernels" help:"Several: 6.1,6.12. Every trial is repeated on each of them, and the report lists what changed. Studies that boot from the filesystem boot under each as well; with the virtual clock they only do that." placeholder:"VERSION"`
	FioMap       []string      `name:"fio-map" sep:"," help:"With a fio job file: a device, or an existing file, that it names, and the size of the file on the filesystem under test that stands for it: /dev/sda=1G. Repeatable." placeholder:"DEVICE=SIZE"`
	Data         string        `complete:"data" help:"Tree to work on: a directory of your own, or a name from whichfs list data." placeholder:"DIR"`
	workFlag

	outputs `group:"Output"`
}

type runCmd struct {
	planned

	Machine []string `complete:"machine" help:"Where trials run: lab (a guest, no root needed), local (this kernel, needs root), ssh:[USER@]HOST[:PORT], serial:DEVICE[@BAUD], labgrid:PLACE or a board's file (a board, see docs/boards.md). Several boards, separated by commas or given repeatedly, make a series with a run on each, at the same time." placeholder:"NAME"`
	Storage []string `complete:"storage" sep:";" help:"What is under test: /dev/sdX, mtd:/dev/mtdN, loop:2G (local, boards); disk:1G[,bps=…,iops=…], sd:1G, sim:MODEL[,SIZE], ram:512M, nand:128M[,page=2k,bad=5:6,weak=7/100,bitflips=1,…] (lab). Several, separated by semicolons or given repeatedly, make a series with a run on each." placeholder:"STORAGE"`
	Destroy []string `sep:"none" help:"Allow this very device to be overwritten, by the name that whichfs list storage shows. Every real device needs it, even an empty one; with several boards, each needs its own, in the same order." placeholder:"ID"`
	Risk    bool     `name:"risk-this-kernel" help:"With --machine local or a board: mount broken filesystems on that machine's own kernel, which may crash or corrupt its own data."`
	Clock   string   `complete:"wall|virtual|instructions" help:"What to measure: wall (elapsed time), virtual (the time that simulated storage takes, the same on every machine, and with --cpu also that of a processor; lab only) or instructions (executed by the processor, on a disk in memory; lab only)." placeholder:"NAME"`
	CPU     []string `complete:"processor" name:"cpu" sep:"none" help:"With the virtual clock, which is the default then: the processor that guests are charged for: 600MIPS (each instruction takes the same time), a board (whichfs list processors), the path of a profile, or host, this machine's, which is measured first. free: it takes no time. Default: free, and with --claims and --full the board of the study. Several, separated by commas or given repeatedly (with a comma in the path of a profile), make a series with a run on each, and the report says what the processor changes. With --clock wall a guest of the lab has an emulated processor of that speed: 15.625MIPS, doubled up to 500MIPS." placeholder:"PROFILE"`
	Cuts    int      `help:"After each trial, cut the power N times in mid-write and check which synced data survived (lab: sim:, and nand: with --clock wall or instructions; a board whose file names a program that switches its power)." placeholder:"N"`
	CPUs    []int    `name:"cpus" help:"Number of processors of the lab's guests, with --clock wall; several are a factor: 1,2,4 (default: as many as the study's machine had, at most this host's)." placeholder:"N"`
	Arch    string   `complete:"arch" help:"Architecture of the lab's guests: armhf, arm64 or amd64 (default: this host's)." placeholder:"NAME"`
	Tools   string   `complete:"missing|lab|board" help:"With a board: the tools that are sent to the board's memory from the lab's image for its processor: missing (those that it lacks, the default), lab (all that the run needs, so that their versions are the lab's) or board (none)." placeholder:"WHICH"`
	Fleet   bool     `help:"Have the workers of the fleet carry it out, in a store in a database: docs/fleet.md. Ctrl-C leaves it to them."`
	Label   []string `help:"With --fleet: only workers with this label; repeatable." placeholder:"NAME"`
	agentFlag
	Module  []string `complete:"module" sep:"none" help:"Kernel module that a filesystem needs and the kernel lacks, or another build of one that it has: the path of a .ko file, or the name of one that whichfs lab module has built; repeatable." placeholder:"MODULE"`
	Program []string `sep:"none" help:"A program of your own in place of the machine's, a newer mkfs for instance: its file, named like the program that it stands for, or NAME=FILE; repeatable." placeholder:"FILE"`
}

func (c *runCmd) Run(a *shell) error {
	a.AgentPath = c.AgentPath
	if err := c.question(a); err != nil {
		return err
	}
	q := c.ask()
	q.Permission.Destroy, q.Permission.Risk = c.Destroy, c.Risk
	if len(c.Label) > 0 && !c.Fleet {
		return result.Refuse("add --fleet, or leave it out", "--label chooses among the workers of a fleet")
	}
	q.Fleet, q.Labels = c.Fleet, c.Label
	q.Machines, q.Storage, q.Clock, q.Processors = c.Machine, c.Storage, c.Clock, processors(c.CPU)
	q.Cuts, q.CPUs, q.Arch, q.Tools, q.Modules, q.Programs = c.Cuts, c.CPUs, c.Arch, c.Tools, c.Module, c.Program
	return c.begin(a, q)
}

// processors are the values of --cpu: a single one is a list, several are one processor each.
func processors(values []string) []string {
	if len(values) == 1 {
		return strings.Split(values[0], ",")
	}
	return values
}

// begin carries out a request and reports.
func (c *planned) begin(a *shell, q app.Ask) error {
	if c.Study == "" {
		return result.Refuse("whichfs list studies; in a terminal, whichfs run asks", "expected \"<study>\"")
	}
	if c.Claims != "" && c.Claims != "all" {
		return result.Refuse("use --claims all", "--claims: %q is not all", c.Claims)
	}
	if err := c.outputs.check(); err != nil {
		return err
	}
	job, err := a.Begin(a.ctx, q)
	if err != nil {
		return err
	}
	defer job.Close()
	return a.carry(job, c.outputs)
}

func (c *planned) ask() app.Ask {
	scale := ""
	switch {
	case c.Full:
		scale = "full"
	case c.Claims != "":
		scale = "claims"
	case c.Quick:
		scale = "quick"
	}
	kernels := c.Kernels
	if c.Kernel != "" {
		kernels = []string{c.Kernel}
	}
	return app.Ask{
		Permission: app.Permission{Work: c.Work},
		Study:      c.Study, Scale: scale, Candidates: c.Candidates, Factors: c.Factors, KeepDisturbed: !c.Retake, Precondition: c.Precondition, Tuned: c.Tuned,
		Rounds: c.Rounds, Until: c.Until, Settle: c.Settle, Budget: c.Budget, Seed: c.Seed, Margin: c.Margin, Memory: c.Memory, Kernels: kernels, Data: c.Data, FioMap: c.FioMap,
	}
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

// agentFlag is where boards have the agent.
type agentFlag struct {
	AgentPath string `name:"agent-path" help:"With a board: where the agent is installed on it; otherwise it is sent." placeholder:"PATH"`
}

// workFlag is the directory of run, probe and resume.
type workFlag struct {
	Work string `help:"Directory for loop files and lab disks; with a board: one of the board's." placeholder:"DIR"`
}
