package main

import (
	"time"

	"whichfs/internal/app"
	"whichfs/internal/result"
)

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

func (c *runCmd) Run(a *shell) error {
	if err := c.outputs.check(); err != nil {
		return err
	}
	job, err := a.Begin(a.ctx, c.ask())
	if err != nil {
		return err
	}
	defer job.Close()
	return a.carry(job, c.outputs)
}

func (c *runCmd) ask() app.Ask {
	scale := ""
	switch {
	case c.Full:
		scale = "full"
	case c.Quick:
		scale = "quick"
	}
	return app.Ask{
		Permission: app.Permission{Destroy: c.Destroy, Risk: c.Risk, Work: c.Work},
		Study:      c.Study, Scale: scale, Machine: c.Machine, Storage: c.Storage, Candidates: c.Candidates, Factors: c.Factors,
		Clock: c.Clock, Precondition: c.Precondition, Tuned: c.Tuned, Rounds: c.Rounds, Until: c.Until, Settle: c.Settle,
		Budget: c.Budget, Seed: c.Seed, Margin: c.Margin, Kernels: c.Kernels, Cuts: c.Cuts, Arch: c.Arch, Modules: c.Module, Data: c.Data,
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
