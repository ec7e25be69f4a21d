package app

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"whichfs/internal/filesystem"
	"whichfs/internal/host/dataset"
	"whichfs/internal/host/lab"
	"whichfs/internal/host/machine/board"
	"whichfs/internal/plan"
	"whichfs/internal/plan/fio"
	"whichfs/internal/plan/media"
	"whichfs/internal/plan/processor"
	"whichfs/internal/plan/scenario"
	"whichfs/internal/plan/study"
	"whichfs/internal/result"
	"whichfs/internal/sys/units"
)

// Ask is a user's request for a run. For zero fields the plan file or the study decides.
type Ask struct {
	Permission
	// Fleet: workers that have these labels carry the run out.
	Fleet  bool
	Labels []string
	// Study is the name of a study, a plan file that ends in .toml, or a fio job
	// file that ends in .fio.
	Study   string
	Scale   string // "quick", "claims", "full"
	Machine string
	// Machines make a series with a run on each, at the same time; Machine is then empty, and --destroy names
	// the device of each.
	Machines []string
	// Storage is what to measure on, or the study's own keys for it; several make a series with a
	// run on each.
	Storage    []string
	Candidates []string
	Factors    bool // vary those of the study
	Clock      string
	// Processors to charge guests for: speeds, boards or paths of profiles. Several make a series with a
	// run on each, on one storage.
	Processors []string
	// Predict: the run stands for the hardware that Storage (the models of cards) and Processors describe.
	Predict      bool
	Precondition bool
	// KeepDisturbed: trials that other work of the machine disturbed are not taken again.
	KeepDisturbed bool
	// Tuned: add a variant of each candidate tuned to the storage.
	Tuned  bool
	Rounds int
	Until  string
	Settle []string // keys of columns
	Budget time.Duration
	Seed   *uint64
	Margin float64
	// Kernels of the guests by version; several are the levels of a factor. In a study that boots from its
	// filesystems these boot, too, and with the virtual clock they do nothing else.
	Kernels []string
	Cuts    int
	// CPUs of a guest; empty: as many as the study's machine had. Several are the levels of a factor.
	CPUs     []int
	Memory   []string // of a guest, "512M"; empty: the study's. Several are the levels of a factor.
	Arch     string
	Tools    string   // that are sent to a board: plan.ToolsMissing, the default, or another
	Programs []string // that take the place of the machine's: FILE or NAME=FILE
	Modules  []string // kernel modules: paths of files, or names of those that the lab has built
	// FioMap are devices and existing files that a fio job file names, and the sizes of the files that
	// stand for them: "/dev/sda=1G".
	FioMap []string
	// Data is a directory, or the name of a data set, for the study's first tree.
	Data string
}

// settleRounds is the maximum number of rounds of --until settled unless the user sets another.
const settleRounds = 20

// Plans combines the study, the plan file and the request, which takes precedence. There is one
// plan per storage or processor. The data sets that they need are returned separately, since making them takes
// time.
func (q Ask) Plans() (plans []plan.Plan, data []study.DataSet, err error) {
	if len(q.Machines) > 1 {
		return q.onMachines()
	}
	q.Machine = cmp.Or(append(q.Machines, q.Machine)...)
	st, file, err := q.study()
	if err != nil {
		return nil, nil, err
	}
	if q.Predict && st.Untimed {
		return nil, nil, result.Refuse("", "study %s measures no times, and nothing else can be predicted", st.Name)
	}
	scaleName := cmp.Or(q.Scale, value(file.Scale), "quick")
	scale, ok := st.Scales[scaleName]
	if !ok {
		return nil, nil, result.Refuse("", "study %s has no scale %q", st.Name, scaleName)
	}
	processors, err := q.processors(file)
	if err != nil {
		return nil, nil, err
	}
	board, err := q.board(st, scaleName)
	if err != nil {
		return nil, nil, err
	}
	p, err := q.common(st, scale, file, processors)
	if err != nil {
		return nil, nil, err
	}
	p.Scale = scaleName
	storages, err := q.storages(st, scaleName, scale, p, file)
	if err != nil {
		return nil, nil, err
	}
	if len(processors) > 1 && len(storages) > 1 {
		return nil, nil, result.Refuse("name one storage, for instance --storage "+storages[0]+", or one processor",
			"a series is over several storages or over several processors, not both: these are %d storages (%s) and %d processors", len(storages), units.List(storages, 3), len(processors))
	}
	asked := p.Clock
	for _, text := range storages {
		one := p
		one.Storage = text
		one.Budget = p.Budget / time.Duration(len(storages))
		near := st.Near(scaleName, text)
		if one.Clock = asked; one.Clock == "" && p.Machine == "lab" {
			one.Clock = near.Clock
		}
		one.Clock = cmp.Or(one.Clock, result.ClockWall)
		if one.Virtual() && one.Processor == nil && near.Clock != result.ClockVirtual { // where it is, counts are what matters
			one.Processor = board
		}
		fitted := st.Fit(scaleName, near)
		if inLabByWall(one) {
			fitted = fitted.Short()
		}
		if one.Candidates, err = q.candidates(fitted, file); err != nil {
			return nil, nil, err
		}
		one.Rounds = rounds(one, fitted, q.Predict)
		one.ReadWrite, one.ReadOnly = st.Scenario(false, fitted), st.Scenario(true, fitted)
		if p.Precondition {
			one.ReadWrite = scenario.Precondition(one.ReadWrite)
		}
		if on, _ := st.Storage(scaleName, text); q.Factors && (!one.Instructions() || near.Clock == one.Clock) {
			if near.Clock != "" {
				on = near // the factors depend on the kind of storage
			}
			one.Factors = st.Vary(fitted, on)
		}
		q.shorten(&one, fitted, st, file)
		// With the virtual clock several kernels only boot, where a study boots.
		if one.Boots == nil || !one.Virtual() || len(q.Kernels) == 1 {
			one.OnKernels(q.Kernels)
		}
		if err := q.cpus(&one, st); err != nil {
			return nil, nil, err
		}
		if err := q.memory(&one, fitted); err != nil {
			return nil, nil, err
		}
		if q.Predict {
			one.Predicted = predicted(one)
		}
		if one.Modules, err = ModuleFiles(one); err != nil {
			return nil, nil, err
		}
		if one.Programs, err = programFiles(one); err != nil {
			return nil, nil, err
		}
		if err := checkStorage(one); err != nil {
			return nil, nil, err
		}
		if err := checkCuts(one); err != nil {
			return nil, nil, err
		}
		plans = append(plans, one)
	}
	if len(processors) > 1 {
		plans = onProcessors(plans[0], processors, q.Predict)
	}
	return plans, scale.Data, nil
}

// shorten leaves out of a plan what the lab has no time for by wall clock, and what the user did not ask for.
func (q Ask) shorten(p *plan.Plan, scale study.Scale, st study.Study, file plan.File) {
	if !inLabByWall(*p) {
		return
	}
	var less []string
	all := 0
	for _, one := range st.Storages {
		if one.In(p.Scale) {
			all++
		}
	}
	if n := scale.ByWall.Storages; n > 0 && n < all && len(q.Storage) == 0 && value(file.Storage) == "" {
		less = append(less, fmt.Sprintf("%d of the study's %d storages", n, all))
	}
	if p.Rounds < scale.Rounds && p.Rounds == scale.ByWall.Rounds {
		less = append(less, fmt.Sprintf("%s instead of %d", units.Count(p.Rounds, "round"), scale.Rounds))
	}
	switch {
	case len(p.Factors) == 0:
	case scale.ByWall.NoFactors:
		p.Factors = nil
		less = append(less, "no options")
	case scale.ByWall.Once && p.Rounds > 1:
		p.Factors = slices.Clone(p.Factors)
		for i := range p.Factors {
			p.Factors[i].Once = true
		}
		less = append(less, "options in the first round only")
	}
	if scale.ByWall.NoBoots {
		less = append(less, "no boots")
	}
	less = append(less, scale.ByWall.Lacks...)
	if len(less) > 0 {
		p.Changed = append(slices.Clone(p.Changed), "to take some ten minutes by wall clock, this run has "+units.List(less, len(less))+"; with --clock virtual or --claims all it has the rest")
	}
}

// inLabByWall reports whether a plan is for the lab, by wall clock.
func inLabByWall(p plan.Plan) bool {
	return p.Machine == "lab" && (p.Clock == "" || p.Clock == result.ClockWall)
}

// onMachines makes a plan for each of the machines, which have the order of trials in common.
func (q Ask) onMachines() (plans []plan.Plan, data []study.DataSet, err error) {
	names := q.Machines
	for i, name := range names {
		switch {
		case slices.Contains(names[:i], name):
			return nil, nil, result.Refuse("", "machine %s is named twice", name)
		case !plan.OnBoard(name) && !plan.Fake(name):
			return nil, nil, result.Refuse("run them one after the other, and compare them: whichfs compare RUN RUN", "a series over several machines is one of boards, and %s is none", name)
		}
		one := q
		one.Machine, one.Machines = name, nil
		own, sets, err := one.Plans()
		switch {
		case err != nil:
			return nil, nil, err
		case len(own) > 1:
			return nil, nil, result.Refuse("name one storage and one processor", "a series is over several machines or over several storages, not both: these are %d machines and %d storages", len(names), len(own))
		}
		if i > 0 {
			own[0].Seed = plans[0].Seed
		}
		plans, data = append(plans, own[0]), sets
	}
	return plans, data, nil
}

// onProcessors repeats a plan on each of the processors.
func onProcessors(p plan.Plan, processors []processor.Profile, predict bool) (plans []plan.Plan) {
	p.Budget /= time.Duration(len(processors))
	for i := range processors {
		p.Processor = &processors[i]
		if predict {
			p.Predicted = predicted(p)
		}
		plans = append(plans, p)
	}
	return plans
}

// study finds the study named directly or in a plan file, or makes one from a fio job file.
func (q Ask) study() (st study.Study, file plan.File, err error) {
	name, where := q.Study, ""
	switch {
	case strings.HasSuffix(name, ".fio"):
		st, err = q.fioStudy()
		return st, file, err
	case len(q.FioMap) > 0:
		return st, file, result.Refuse("leave --fio-map out", "--fio-map is for fio job files, and %s is none", name)
	case strings.HasSuffix(name, ".toml"):
		if file, err = plan.Load(name); err != nil {
			return st, file, result.Refuse("", "%v", err)
		}
		where = file.Where("study") + ": "
		if name = value(file.Study); name == "" {
			return st, file, result.Refuse(`study = "bootlin-2023", for instance`, "%sthe plan names no study", where)
		}
	}
	st, ok := study.ByName(name)
	if !ok {
		return st, file, result.Refuse("whichfs list studies", "%sunknown study %q; the studies are %s", where, name, strings.Join(study.Names(), ", "))
	}
	return st, file, nil
}

// common is the part of the plans that all storages share, with the first of the processors.
func (q Ask) common(st study.Study, scale study.Scale, file plan.File, processors []processor.Profile) (plan.Plan, error) {
	p := plan.Plan{
		Study:         st.Name,
		Machine:       cmp.Or(q.Machine, value(file.Machine), "lab"),
		Clock:         cmp.Or(q.Clock, value(file.Clock)),
		KeepDisturbed: q.KeepDisturbed,
		Precondition:  q.Precondition || value(file.Precondition),
		Rounds:        cmp.Or(q.Rounds, value(file.Rounds)),
		Margin:        cmp.Or(q.Margin, value(file.Margin), plan.DefaultMargin),
		Budget:        cmp.Or(q.Budget, value(file.Budget)),
		Until:         cmp.Or(q.Until, value(file.Until)),
		Questions:     q.Settle,
		Changed:       st.Changed,
		Modules:       file.Modules,
		Programs:      file.Programs,
		Arch:          cmp.Or(q.Arch, value(file.Arch)),
		Untimed:       st.Untimed,
		Cuts:          q.Cuts,
		StepLimit:     scale.StepLimit,
	}
	if _, err := ArchNamed(p.Arch); err != nil {
		return p, err
	}
	if err := q.send(&p); err != nil {
		return p, err
	}
	if err := q.charge(&p, processors); err != nil {
		return p, err
	}
	if q.Rounds < 0 || q.Margin < 0 || q.Budget < 0 {
		return p, result.Refuse("", "--rounds, --margin and --budget cannot be negative")
	}
	if len(q.Modules) > 0 {
		p.Modules = q.Modules
	}
	if len(q.Programs) > 0 {
		p.Programs = q.Programs
	}
	if err := q.kernels(p); err != nil {
		return p, err
	}
	boots, err := bootable(p)
	if err != nil {
		return p, err
	}
	if inLabByWall(p) {
		scale = scale.Short()
	}
	if scale.Boots > 0 && boots && !p.Instructions() && len(p.Modules) == 0 {
		p.Boots = &plan.Boots{Repeats: scale.Boots, Kernels: q.Kernels}
	}
	for _, key := range p.Questions {
		if _, ok := st.Column(key); !ok {
			return p, result.Refuse("", "--settle: study %s has no column %q; it has %s", st.Name, key, strings.Join(columnKeys(st), ", "))
		}
	}
	if len(p.Questions) > 0 && p.Until == "" {
		p.Until = plan.UntilSettled
	}
	switch {
	case q.Seed != nil:
		p.Seed = *q.Seed
	case file.Seed != nil:
		p.Seed = *file.Seed
	case p.Virtual():
		p.Seed = plan.VirtualSeed
	default:
		p.Seed = plan.NewSeed()
	}
	return p, nil
}

// bootable reports whether a plan's machine can boot from the filesystem under test.
func bootable(p plan.Plan) (bool, error) {
	if !plan.BoardFile(p.Machine) {
		return !p.OwnKernel(), nil
	}
	f, err := board.ReadFile(p.Machine)
	return len(f.Loader.BootFrom) > 0, err
}

// send sets which programs are sent to a board.
func (q Ask) send(p *plan.Plan) error {
	switch q.Tools {
	case "", plan.ToolsMissing, plan.ToolsLab, plan.ToolsBoard:
	default:
		return result.Refuse("--tools missing, lab or board", "--tools: %q is none of missing, lab and board", q.Tools)
	}
	if plan.OnBoard(p.Machine) {
		p.Tools = cmp.Or(q.Tools, plan.ToolsMissing)
	} else if q.Tools != "" {
		return result.Refuse("leave it out", "--tools: machine %s has its own tools; they are sent to boards only ("+plan.Boards+")", p.Machine)
	}
	return nil
}

// rounds is the requested number, or the default for the study, the clock, a prediction and the way of
// stopping.
func rounds(p plan.Plan, scale study.Scale, predict bool) int {
	switch {
	case p.Rounds != 0:
		return p.Rounds
	case p.Until != "":
		return settleRounds
	case p.Instructions():
		return min(scale.Rounds, plan.CountingRounds)
	case predict:
		return max(scale.Rounds, plan.PredictionRounds)
	case inLabByWall(p):
		return cmp.Or(scale.ByWall.Rounds, scale.Rounds)
	}
	return scale.Rounds
}

// candidates are those of the user, of the plan file, or of the study.
func (q Ask) candidates(scale study.Scale, file plan.File) ([]filesystem.Candidate, error) {
	switch {
	case len(q.Candidates) > 0:
		return Candidates(q.Candidates)
	case len(file.Candidates) > 0:
		return file.Candidates, nil
	}
	return Candidates(scale.Candidates)
}

// kernels refuses --kernels where there is no choice of kernels.
func (q Ask) kernels(p plan.Plan) error {
	for i, k := range q.Kernels {
		if slices.Contains(q.Kernels[:i], k) {
			return result.Refuse("", "--kernels: %s is named twice", k)
		}
	}
	switch {
	case len(q.Kernels) == 0:
		return nil
	case p.OwnKernel():
		return result.Refuse("use --machine lab", "--kernels: machine %s has only its own kernel", p.Machine)
	case len(p.Modules) > 0 && (p.Virtual() || len(q.Kernels) > 1):
		return result.Refuse("leave one of them out", "--kernels and --module: a module belongs to one kernel")
	}
	return nil
}

// freeProcessor is the value of --cpu with which the processor takes no time.
const freeProcessor = "free"

// processors are those to charge guests for.
func (q Ask) processors(file plan.File) (list []processor.Profile, err error) {
	free := false
	for _, text := range q.Processors {
		switch text = strings.TrimSpace(text); text {
		case "":
			continue
		case freeProcessor:
			free = true
			continue
		}
		one, err := processor.Resolve(text)
		if err != nil {
			return nil, result.Refuse("whichfs list processors", "--cpu: %v", err)
		}
		if slices.ContainsFunc(list, func(have processor.Profile) bool { return have.Name == one.Name }) {
			return nil, result.Refuse("leave one of them out, or give its profile another name", "--cpu: two processors have the name %s", one.Name)
		}
		list = append(list, one)
	}
	switch {
	case free && len(list) > 0:
		return nil, result.Refuse("leave one of them out", "--cpu: the processor takes no time (%s), and that of %s", freeProcessor, list[0].Name)
	case free && q.Predict:
		return nil, result.Refuse("whichfs list processors", "a prediction needs the processor, and --cpu is %s", freeProcessor)
	case !free && len(list) == 0 && file.Processor != nil:
		list = append(list, *file.Processor)
	}
	return list, nil
}

// board is the processor of the study's machine, for which scales above quick are charged unless
// --cpu says otherwise; nil: none.
func (q Ask) board(st study.Study, scale string) (*processor.Profile, error) {
	named := slices.ContainsFunc(q.Processors, func(text string) bool { return strings.TrimSpace(text) != "" })
	if st.Board == "" || scale == "quick" || named {
		return nil, nil
	}
	board, err := processor.Resolve(st.Board)
	return &board, err
}

// charge makes a plan charge guests for the first of the processors, which implies the virtual clock.
func (q Ask) charge(p *plan.Plan, processors []processor.Profile) error {
	switch {
	case len(processors) == 0 && q.Predict:
		return result.Refuse("--cpu with a board of whichfs list processors, a speed (600MIPS), or the profile that whichfs-agent speed writes on the board",
			"a prediction needs the processor, and no --cpu is given")
	case len(processors) == 0:
		return nil
	}
	p.Processor = &processors[0]
	p.Clock = cmp.Or(p.Clock, result.ClockVirtual)
	switch {
	case p.Instructions():
		return result.Refuse("leave one of them out", "--cpu: instruction counts do not depend on a processor's speed")
	case !p.Virtual() && len(processors) > 1:
		return result.Refuse("use --clock virtual, or one processor", "--cpu: only runs with the virtual clock compare processors")
	case !p.Virtual() && q.Predict:
		return result.Refuse("leave --clock out", "a prediction is made with --clock virtual")
	}
	return nil
}

// cpus sets the number of the guests' processors: by wall clock, unless another is asked for, as many as
// the study's machine had, if this host has them.
func (q Ask) cpus(p *plan.Plan, st study.Study) error {
	for i, n := range q.CPUs {
		if n < 1 || n > plan.MaxCPUs {
			return result.Refuse("", "--cpus must be from 1 to %d, not %d", plan.MaxCPUs, n)
		}
		if slices.Contains(q.CPUs[:i], n) {
			return result.Refuse("", "--cpus: %d is named twice", n)
		}
	}
	single := p.Repeats() || p.Processor != nil
	switch more := len(q.CPUs) > 1 || slices.Max(append(q.CPUs, 1)) > 1; {
	case p.OwnKernel() && len(q.CPUs) > 0:
		return result.Refuse("leave --cpus out", "--cpus: machine %s has the processors that it has", p.Machine)
	case more && p.Repeats():
		return result.Refuse("use --clock wall, or --cpus 1", "--cpus: a guest with the clock %s has one processor", p.Clock)
	case more && single:
		return result.Refuse("leave --cpu out, or use --cpus 1", "--cpus: a guest with a processor of a fixed speed has one")
	case len(q.CPUs) > 0:
		p.OnCPUs(q.CPUs)
	case p.Machine == "lab" && !single && st.Processors > 1:
		p.CPUs = min(st.Processors, runtime.NumCPU())
	}
	return nil
}

// memory sets that of the guests: unless another is asked for, the study's, which depends on the scale.
// This machine's is fixed, and instruction counts do not depend on a cache's size.
func (q Ask) memory(p *plan.Plan, scale study.Scale) error {
	if len(q.Memory) == 0 {
		if !p.OwnKernel() && !p.Instructions() {
			p.Memory = scale.Memory
		}
		return nil
	}
	if p.OwnKernel() {
		return result.Refuse("leave --memory out", "--memory: machine %s has the memory that it has", p.Machine)
	}
	if p.Instructions() {
		return result.Refuse("leave --memory out", "--memory: instruction counts do not depend on a cache's size")
	}
	var sizes []int64
	for _, text := range q.Memory {
		size, err := media.ParseSize(text)
		if err != nil {
			return result.Refuse("", "--memory: %v", err)
		}
		if slices.Contains(sizes, size) {
			return result.Refuse("", "--memory: %s is named twice", media.FormatSize(size))
		}
		sizes = append(sizes, size)
	}
	p.OnMemory(sizes)
	return nil
}

// storages are the storages to measure on: those that the user names, or the
// lab's substitute for the study's.
func (q Ask) storages(st study.Study, scaleName string, scale study.Scale, p plan.Plan, file plan.File) ([]string, error) {
	if q.Predict {
		if len(q.Storage) == 0 && value(file.Storage) != "" {
			q.Storage = []string{*file.Storage}
		}
		var err error
		if q.Storage, err = twins(q.Storage); err != nil {
			return nil, err
		}
	}
	var out []string
	for _, text := range q.Storage {
		text = strings.TrimSpace(text)
		if one, ok := st.Storage(scaleName, text); ok {
			text = one.Specs[scaleName] // by its key
		}
		switch {
		case text == "":
		case slices.Contains(out, text):
			return nil, result.Refuse("", "storage %s is named twice", text)
		default:
			out = append(out, text)
		}
	}
	switch {
	case len(out) > 0:
		return out, nil
	case value(file.Storage) != "":
		return []string{value(file.Storage)}, nil
	case p.Instructions() && scale.RAM != "":
		return []string{scale.RAM}, nil
	case plan.BoardFile(p.Machine):
		f, err := board.ReadFile(p.Machine)
		if err != nil {
			return nil, err
		}
		if f.Storage != "" {
			return []string{f.Storage}, nil
		}
		fallthrough
	case plan.OnBoard(p.Machine):
		return nil, result.Refuse("whichfs list storage --machine "+p.Machine+" shows its devices; --storage loop:256M touches none",
			"no storage is named, and on a board there is no default")
	case p.Machine == "local":
		return nil, result.Refuse("for instance --storage loop:2G, which touches no device; whichfs list storage shows devices",
			"no storage is named, and on this machine's own kernel there is no default")
	}
	for _, one := range st.Storages {
		if one.In(scaleName) && (!p.Instructions() || one.Clock == p.Clock) && (p.Virtual() || one.Clock != result.ClockVirtual) {
			out = append(out, one.Specs[scaleName])
		}
	}
	if n := scale.ByWall.Storages; n > 0 && inLabByWall(p) {
		out = out[:min(n, len(out))]
	}
	return out, nil
}

// isSet reports whether a name is that of a data set rather than a directory.
func isSet(name string) bool {
	return strings.HasPrefix(name, "gen:") || slices.ContainsFunc(dataset.List(), func(s dataset.Set) bool { return s.Name == name })
}

func columnKeys(st study.Study) []string {
	var keys []string
	for _, c := range st.Columns {
		keys = append(keys, c.Key)
	}
	return keys
}

// dataSets makes or finds the data sets. A directory of the user's own replaces the first tree, and the
// larger one of the same kind.
func (a *App) dataSets(ctx context.Context, q Ask, sets []study.DataSet) ([]scenario.Data, error) {
	var out []scenario.Data
	own := q.Data != ""
	for _, d := range sets {
		if d.Set == "" {
			out = append(out, dataset.Stream(d.Name, d.Stream, 1))
			continue
		}
		tree, err := a.tree(ctx, q, d.Set, own || q.Data != "" && d.Same)
		if err != nil {
			return nil, err
		}
		tree.Name, own = d.Name, false
		out = append(out, tree)
	}
	if own {
		return nil, result.Refuse("leave --data out", "study %s does not use a tree", q.Study)
	}
	return out, nil
}

// tree makes or finds one tree.
func (a *App) tree(ctx context.Context, q Ask, name string, own bool) (scenario.Data, error) {
	if own && isSet(q.Data) {
		return dataset.Get(ctx, q.Data, a.Note)
	}
	if own {
		d, err := dataset.FromDirectory(ctx, q.Data)
		if err != nil && ctx.Err() == nil {
			err = result.Refuse("", "%v", err)
		}
		return d, err
	}
	return dataset.Get(ctx, name, a.Note)
}

// Candidates parses candidates and drops empty and repeated ones.
func Candidates(lines []string) ([]filesystem.Candidate, error) {
	var out []filesystem.Candidate
	for _, line := range lines {
		if strings.TrimSpace(line) == "" {
			continue
		}
		c, err := filesystem.Parse(strings.TrimSpace(line))
		if err != nil {
			return nil, result.Refuse("whichfs list filesystems", "%v", err)
		}
		out = append(out, c)
	}
	if len(out) == 0 {
		return nil, result.Refuse("whichfs list filesystems", "no candidates are left")
	}
	return distinct(out), nil
}

// distinct drops repeated candidates.
func distinct(list []filesystem.Candidate) []filesystem.Candidate {
	var out []filesystem.Candidate
	for _, c := range list {
		if !slices.Contains(out, c) {
			out = append(out, c)
		}
	}
	return out
}

// value is the value of a plan file's key, or zero.
func value[T any](p *T) T {
	if p == nil {
		var zero T
		return zero
	}
	return *p
}

// checkStorage checks the storage's form and its fit with the clock.
func checkStorage(p plan.Plan) error {
	s, err := media.Parse(p.Storage)
	if err != nil {
		return result.Refuse("", "%v", err)
	}
	if !slices.Contains(result.Clocks, p.Clock) {
		return result.Refuse("", "unknown clock %q; the clocks are wall, instructions and virtual", p.Clock)
	}
	if p.Virtual() && p.Machine == "lab" && !s.Modelled() {
		return result.Refuse("use --storage sim:sd-basic,"+media.FormatSize(cmp.Or(s.Size, 1<<30))+" or another model (whichfs list models), or --clock wall",
			"--clock virtual needs storage whose time is modelled: it cannot measure storage %s", p.Storage)
	}
	if !p.Instructions() {
		return nil
	}
	if p.Machine == "lab" && !s.InMemory() {
		return result.Refuse("leave --storage out, or give ram:SIZE or nand:SIZE",
			"--clock instructions counts what the processor executes, not the time of a device: it cannot measure storage %s", p.Storage)
	}
	if p.Precondition {
		return result.Refuse("leave one of them out", "--precondition brings a device to a steady speed, but --clock instructions has no device")
	}
	return nil
}

// checkCuts refuses cuts where killing a machine is not a power loss, or kills more than requested.
func checkCuts(p plan.Plan) error {
	if p.Cuts == 0 {
		return nil
	}
	if p.Cuts < 0 || p.Cuts > plan.MaxRounds {
		return result.Refuse("", "--cuts must be from 0 to %d, not %d", plan.MaxRounds, p.Cuts)
	}
	s, err := media.Parse(p.Storage)
	if err != nil {
		return result.Refuse("", "%v", err)
	}
	if p.OwnKernel() {
		return checkBoardCuts(p, s)
	}
	if p.Virtual() && s.Kind == media.KindNAND {
		return result.Refuse("use --clock wall, or --storage sim:sd-basic,256M",
			"--cuts: a simulated chip ends with its guest, and can be recovered only from the memory of guests under QEMU, which have no virtual clock")
	}
	if s.Kind != media.KindNAND && s.Kind != media.KindSim {
		return result.Refuse("use --storage nand:128M or --storage sim:sd-basic,256M",
			"--cuts: when its guest is killed, storage %s keeps everything that it was sent, or nothing at all: that does not simulate a power loss", p.Storage)
	}
	if s.Kind == media.KindNAND && p.Arch != "" && p.Arch != "amd64" {
		return result.Refuse("leave --arch out", "--cuts: a simulated chip ends with its guest, and can be recovered only from the memory of amd64 guests")
	}
	return nil
}

// checkBoardCuts refuses cuts of what has no switch.
func checkBoardCuts(p plan.Plan, s media.Storage) error {
	if !plan.OnBoard(p.Machine) {
		return result.Refuse("use --machine lab", "--cuts: the power of machine %s cannot be cut", p.Machine)
	}
	var f board.File
	if plan.BoardFile(p.Machine) {
		var err error
		if f, err = board.ReadFile(p.Machine); err != nil {
			return err
		}
	}
	switch {
	case f.Power == nil && !strings.HasPrefix(cmp.Or(f.Connect, p.Machine), plan.Labgrid): // which says so when it lends the board
		return result.Refuse("use --machine board.toml, a file that names a program which does (docs/boards.md), or --machine lab", "--cuts: nothing is known that switches the power of machine %s", p.Machine)
	case s.Kind != media.KindDevice:
		return result.Refuse("name a device of the board", "--cuts: storage %s is a file on the board's own storage, which is not to lose its power in mid-write for that", p.Storage)
	}
	return nil
}

// longestJob is the largest plausible size of a fio job file, in bytes.
const longestJob = 1 << 20

// fioStudy makes a study from a fio job file, which is run unchanged but for its paths. A job that
// would leave the storage under test is refused.
func (q Ask) fioStudy() (study.Study, error) {
	path := q.Study
	sizes := map[string]int64{}
	for _, one := range q.FioMap {
		name, text, _ := strings.Cut(one, "=")
		size, err := media.ParseSize(text)
		if err != nil || !strings.HasPrefix(name, "/") {
			return study.Study{}, result.Refuse("for instance --fio-map /dev/sda=1G", "--fio-map: %q is not an absolute path and a size", one)
		}
		sizes[name] = size
	}
	f, err := os.Open(path)
	if err != nil {
		return study.Study{}, result.Refuse("", "fio job file: %v", err)
	}
	defer f.Close() //nolint:errcheck // read only
	text, err := io.ReadAll(io.LimitReader(f, longestJob+1))
	if err != nil {
		return study.Study{}, result.Refuse("", "fio job file: %v", err)
	}
	if len(text) > longestJob {
		return study.Study{}, result.Refuse("", "%s is larger than %d KiB: is it a fio job file?", path, longestJob>>10)
	}
	mapped, changed, err := fio.Map(string(text), sizes)
	if err != nil {
		return study.Study{}, result.Refuse(result.FailureOf(err).Hint, "%s: %v", path, err)
	}
	st := study.FromFio(filepath.Base(path), mapped)
	st.Changed = changed
	return st, nil
}

// ArchNamed finds an architecture for a user.
func ArchNamed(name string) (lab.Arch, error) {
	arch, err := lab.ArchNamed(name)
	if err != nil {
		return arch, result.Refuse("", "--arch: %v", err)
	}
	return arch, nil
}
