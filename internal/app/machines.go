package app

import (
	"cmp"
	"fmt"
	"os"
	"runtime"
	"slices"

	"whichfs/internal/filesystem"
	"whichfs/internal/host/dataset"
	"whichfs/internal/host/machine"
	"whichfs/internal/host/machine/board"
	"whichfs/internal/host/machine/fake"
	"whichfs/internal/host/machine/labguest"
	"whichfs/internal/host/machine/local"
	"whichfs/internal/host/machine/qemu"
	"whichfs/internal/host/machine/usermode"
	"whichfs/internal/plan"
	"whichfs/internal/plan/media"
	"whichfs/internal/plan/scenario"
	"whichfs/internal/result"
	"whichfs/internal/target/workload"
)

// machine makes the machine that a user names, with guests for a clock.
func (a *App) machine(name, clock string) (machine.Machine, error) {
	if plan.OnBoard(name) {
		return board.New(name, board.Options{Progress: a.Note, Installed: a.AgentPath})
	}
	if a.AgentPath != "" {
		return nil, result.Refuse("leave it out", "--agent-path: machine %s is no board", name)
	}
	switch {
	case name == "lab":
		if clock == result.ClockVirtual {
			return usermode.New(usermode.Options{Progress: a.Note}), nil
		}
		return qemu.New(qemu.Options{Progress: a.Note}), nil
	case name == "local":
		return local.New(), nil
	case plan.Fake(name):
		// For tests of the program itself; its figures are invented and every
		// report says so.
		script, err := fake.Read(os.Getenv("WHICHFS_FAKE"))
		if err != nil {
			return nil, result.Refuse("", "%v", err)
		}
		return fake.New(script), nil
	}
	return nil, result.Refuse("", "unknown machine %q; the machines are lab, local, and the boards "+plan.Boards, name)
}

// giveBack gives a machine back that somebody has lent. What fails there changes no answer.
func (a *App) giveBack(m machine.Machine) {
	lent, ok := m.(machine.Lent)
	if !ok {
		return
	}
	if err := lent.GiveBack(); err != nil {
		text := err.Error()
		if f := result.FailureOf(err); f != nil && f.Hint != "" {
			text += "; " + f.Hint
		}
		a.Note(text)
	}
}

// verifyData checks that the archive of an earlier run still exists unchanged.
func verifyData(d scenario.Data) error {
	if d.Kind != "tree" {
		return nil
	}
	if _, err := os.Stat(d.Path); err != nil {
		return result.Refuse("begin a new run", "the data set of this run is gone: %v", err)
	}
	if err := dataset.Verify(d); err != nil {
		return result.Refuse("begin a new run", "%v", fmt.Errorf("the data set of this run: %w", err))
	}
	return nil
}

// Permission is what a user allows, and the work directory.
type Permission struct {
	// Destroy are the IDs of the devices that may be overwritten, one for each of several machines.
	Destroy []string
	// Risk: broken filesystems may be mounted on this machine's own kernel.
	Risk bool
	// Work is the directory for loop files and lab disks, on a board one of the board's; empty: the
	// usual one.
	Work string
}

// id is the device that may be overwritten on the machine of a run of a series, by its place there. A board's
// file knows its own.
func (p Permission) id(machine string, at int) string {
	if plan.BoardFile(machine) {
		if f, err := board.ReadFile(machine); err == nil && slices.Contains(p.Destroy, f.Identity) {
			return f.Identity
		}
	}
	if len(p.Destroy) == 0 {
		return ""
	}
	return p.Destroy[min(at, len(p.Destroy)-1)]
}

// specOf is the spec of the sessions of a plan, by its place in a series.
func specOf(p plan.Plan, may Permission, at int) machine.Spec {
	return machine.Spec{Storage: p.Storage, Destroy: may.id(p.Machine, at), Damages: p.ReadWrite.Damages() || p.ReadOnly.Damages(), RiskKernel: may.Risk,
		Data: p.Data, Trees: held(p), Work: may.Work, Memory: p.Memory, CPUs: p.CPUs, Arch: p.Arch, Instructions: p.Instructions(), Virtual: p.Virtual(), Processor: p.Processor, Untimed: p.Untimed, Kernel: p.Kernel, Modules: p.Modules, Given: p.Programs, Programs: programs(p), Spare: spare(p), Tools: p.Tools}
}

// programs are those that a plan's work starts.
func programs(p plan.Plan) []filesystem.Tool {
	var tools []filesystem.Tool
	for _, c := range p.Candidates {
		tools = append(tools, c.Filesystem().Needs...)
	}
	if slices.ContainsFunc(slices.Concat(p.ReadWrite, p.ReadOnly), func(s scenario.Step) bool { return s.Work == "fio" }) {
		tools = append(tools, filesystem.Tool{Program: "fio", Package: "fio"})
	}
	if p.Boots != nil && plan.OnBoard(p.Machine) {
		tools = append(tools, filesystem.Tool{Program: workload.Userspace, Package: "busybox-static"})
	}
	return tools
}

// spare are programs that phases of a plan measure, beside their own work.
func spare(p plan.Plan) (tools []filesystem.Tool) {
	for _, s := range slices.Concat(p.ReadWrite, p.ReadOnly) {
		if k, _ := workload.ByName(s.Work); k.Program.Program != "" {
			tools = append(tools, k.Program)
		}
	}
	return tools
}

// held is how often a plan's work holds each tree in memory at once.
func held(p plan.Plan) map[string]int {
	times := map[string]int{}
	for _, d := range p.Data {
		times[d.Name] = 1
	}
	steps := p.ReadWrite
	if slices.ContainsFunc(p.Candidates, filesystem.Candidate.Imaged) {
		steps = slices.Concat(steps, p.ReadOnly)
	}
	for _, s := range steps {
		switch s.Work {
		case "image":
			times[s.Data] = 3 // as the archive, as a directory and as the image
		case "tree-fetch":
			times[s.Data] = max(times[s.Data], 2)
		}
	}
	return times
}

// cloneRoom is what the inodes of a cloned root filesystem take until they are on storage, in bytes, of a guest whose
// memory is not held back meanwhile: XFS's, of 50,000 files.
const cloneRoom = 256 << 20

// roomy are plans whose guests have at least the memory that they need, if the study sets it, and the caches that
// their work leaves: all of the data are in memory besides.
func roomy(plans []plan.Plan) []plan.Plan {
	plans = slices.Clone(plans)
	for i, p := range plans {
		on, err := media.Parse(p.Storage)
		if err == nil && p.Memory > 0 && p.Machine == "lab" {
			caches := min(spared(p), max(0, p.Memory-labguest.LeastMemory)) // no more than the study's machine could have
			if caches > 0 && slices.ContainsFunc(p.ReadWrite, func(s scenario.Step) bool { return s.Work == "tree-clone" }) {
				caches += cloneRoom
			}
			plans[i].Memory = max(p.Memory, labguest.Least(specOf(p, Permission{}, 0), on)+caches)
		}
	}
	return plans
}

// spared is what a plan's work leaves of a guest's memory for caches while it holds the rest back, in bytes; 0: it
// holds none back.
func spared(p plan.Plan) (size int64) {
	for _, s := range slices.Concat(p.ReadWrite, p.ReadOnly) {
		if s.Work == "hold-memory" {
			size = max(size, s.Size)
		}
	}
	return size
}

// check rejects what a machine cannot do, before anything is made for it.
func (j *Job) check(plans []plan.Plan) error {
	for i, p := range plans {
		early, ok := j.machines[p.Machine].(machine.Checker)
		if !ok {
			continue
		}
		for _, v := range append(p.Guests(), scenario.Variant{}) {
			spec := specOf(p, j.may, i)
			spec.Memory = cmp.Or(v.Memory, p.Memory)
			spec.Kernel, spec.CPUs = cmp.Or(v.Kernel, p.Kernel), cmp.Or(v.CPUs, p.CPUs)
			if err := early.Check(spec); err != nil {
				return err
			}
		}
	}
	return nil
}

// Lanes is how many guests may work in parallel if that affects no figure: two, or, where a guest is
// small, one on each of this host's processors.
func Lanes(p plan.Plan) int {
	switch {
	case p.Machine != "lab":
		return 1
	case p.Virtual():
		return runtime.NumCPU()
	case p.Instructions() || p.Untimed:
		return min(2, runtime.NumCPU())
	}
	return 1
}
