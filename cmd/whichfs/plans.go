package main

import (
	"slices"
	"strings"
	"time"

	"whichfs/internal/dataset"
	"whichfs/internal/filesystem"
	"whichfs/internal/machine"
	"whichfs/internal/plan"
	"whichfs/internal/result"
	"whichfs/internal/scenario"
	"whichfs/internal/study"
)

// settleRounds is how many rounds --until settled may take where the user sets
// no other limit.
const settleRounds = 20

// plans joins study, plan file and flags; flags win. There is one plan for
// every storage. Their data sets come apart, since making them takes time.
func (c *runCmd) plans() (plans []plan.Plan, data func(*app) ([]scenario.Data, error), err error) {
	st, file, err := c.study()
	if err != nil {
		return nil, nil, err
	}
	scaleName := first(named(c.Full, "full"), named(c.Quick, "quick"), value(file.Scale), "quick")
	scale, ok := st.Scales[scaleName]
	if !ok {
		return nil, nil, result.Refuse("", "study %s has no scale %q", st.Name, scaleName)
	}
	p, err := c.common(st, scale, file)
	if err != nil {
		return nil, nil, err
	}
	p.Scale = scaleName
	storages, err := c.storages(st, scaleName, scale, p, file)
	if err != nil {
		return nil, nil, err
	}
	asked := first(c.Clock, value(file.Clock))
	for _, text := range storages {
		one := p
		one.Storage = text
		one.Budget = p.Budget / time.Duration(len(storages))
		near := st.Near(scaleName, text)
		if one.Clock = first(asked, named(p.Machine == "lab", near.Clock), result.ClockWall); one.Instructions() {
			one.Memory = 0 // instructions do not see a cache's size
		}
		fitted := st.Fit(scaleName, near)
		if one.Candidates, err = c.candidates(fitted, file); err != nil {
			return nil, nil, err
		}
		one.Rounds = rounds(one, fitted)
		one.ReadWrite, one.ReadOnly = st.Scenario(false, fitted), st.Scenario(true, fitted)
		if p.Precondition {
			one.ReadWrite = scenario.Precondition(one.ReadWrite)
		}
		if on, _ := st.Storage(scaleName, text); c.Factors && (!one.Instructions() || near.Clock == one.Clock) {
			if near.Clock != "" {
				on = near // what is varied belongs to the sort of storage
			}
			one.Factors = st.Vary(fitted, on)
		}
		if err := checkStorage(one); err != nil {
			return nil, nil, err
		}
		if err := checkCuts(one); err != nil {
			return nil, nil, err
		}
		plans = append(plans, one)
	}
	return plans, func(a *app) ([]scenario.Data, error) { return c.dataSets(a, scale.Data) }, nil
}

// study finds the study that is named, in a plan file or directly, or makes one
// of a fio job file.
func (c *runCmd) study() (st study.Study, file plan.File, err error) {
	name, where := c.Study, ""
	switch {
	case strings.HasSuffix(name, ".fio"):
		st, err = fioStudy(name)
		return st, file, err
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
		return st, file, result.Refuse("whichfs list studies", "%sunknown study %q; known are %s", where, name, strings.Join(study.Names(), ", "))
	}
	return st, file, nil
}

// common is what the plans of all storages share.
func (c *runCmd) common(st study.Study, scale study.Scale, file plan.File) (plan.Plan, error) {
	p := plan.Plan{
		Study:        st.Name,
		Machine:      first(c.Machine, value(file.Machine), "lab"),
		Clock:        first(c.Clock, value(file.Clock)),
		Precondition: c.Precondition || value(file.Precondition),
		Rounds:       firstPositive(c.Rounds, value(file.Rounds)),
		Margin:       firstPositive(c.Margin, value(file.Margin), plan.DefaultMargin),
		Budget:       firstPositive(c.Budget, value(file.Budget)),
		Until:        first(c.Until, value(file.Until)),
		Questions:    c.Settle,
		Modules:      file.Modules,
		Arch:         first(c.Arch, value(file.Arch)),
		Memory:       scale.Memory,
		Untimed:      st.Untimed,
		Cuts:         c.Cuts,
		Seed:         plan.NewSeed(), StepLimit: scale.StepLimit,
	}
	if _, err := archNamed(p.Arch); err != nil {
		return p, err
	}
	if c.Rounds < 0 || c.Margin < 0 || c.Budget < 0 {
		return p, result.Refuse("", "--rounds, --margin and --budget cannot be negative")
	}
	if p.Machine == "local" || p.Instructions() {
		p.Memory = 0 // this machine has the memory that it has; instructions do not see a cache's size
	}
	if len(c.Module) > 0 {
		p.Modules = c.Module
	}
	if _, err := machine.CheckModules(p.Modules, ""); err != nil {
		return p, err
	}
	if err := c.boots(&p, scale); err != nil {
		return p, err
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
	case c.Seed != nil:
		p.Seed = *c.Seed
	case file.Seed != nil:
		p.Seed = *file.Seed
	}
	return p, nil
}

// rounds are those that were asked for, or what the study, the clock and the
// way of stopping make of it.
func rounds(p plan.Plan, scale study.Scale) int {
	switch {
	case p.Rounds != 0:
		return p.Rounds
	case p.Until != "":
		return settleRounds
	case p.Instructions():
		return min(scale.Rounds, plan.CountingRounds)
	}
	return scale.Rounds
}

// candidates are those of the user, of the plan file, or of the study.
func (c *runCmd) candidates(scale study.Scale, file plan.File) ([]string, error) {
	lines := scale.Candidates
	if len(file.Candidates) > 0 {
		lines = file.Candidates
	}
	if len(c.Candidates) > 0 {
		lines = c.Candidates
	}
	return canonical(lines)
}

// boots says how often and with which kernels the filesystem is booted from.
func (c *runCmd) boots(p *plan.Plan, scale study.Scale) error {
	switch {
	case scale.Boots == 0 && len(c.Kernels) > 0:
		return result.Refuse("whichfs run elc-2015 --kernels "+strings.Join(c.Kernels, ","), "--kernels: study %s boots from no filesystem", p.Study)
	case p.Machine == "local" && len(c.Kernels) > 0:
		return result.Refuse("use --machine lab", "--kernels: this machine's own kernel is the only one here")
	case len(p.Modules) > 0 && len(c.Kernels) > 0:
		return result.Refuse("leave one of them away", "--kernels and --module: a guest that boots from the filesystem takes its kernel's own modules")
	case scale.Boots > 0 && p.Machine != "local" && !p.Instructions() && len(p.Modules) == 0:
		p.Boots = &plan.Boots{Repeats: scale.Boots, Kernels: c.Kernels}
	}
	return nil
}

// storages are what is measured on: what the user names, or what stands for
// the study's in the lab.
func (c *runCmd) storages(st study.Study, scaleName string, scale study.Scale, p plan.Plan, file plan.File) ([]string, error) {
	var out []string
	for _, text := range c.Storage {
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
	case p.Machine == "local":
		return nil, result.Refuse("for instance --storage loop:2G, which touches no device; whichfs list storage shows devices",
			"no storage is named, and on this machine's own kernel there is no default")
	}
	for _, one := range st.Storages {
		if !p.Instructions() || one.Clock == p.Clock {
			out = append(out, one.Specs[scaleName])
		}
	}
	return out, nil
}

// isSet reports whether a name is that of a data set and not of a directory.
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

// dataSets makes or finds what work is done on. A directory of the user's own
// stands for the first tree.
func (c *runCmd) dataSets(a *app, sets []study.DataSet) ([]scenario.Data, error) {
	var out []scenario.Data
	own := c.Data != ""
	for _, d := range sets {
		if d.Set == "" {
			out = append(out, dataset.Stream(d.Name, d.Stream, 1))
			continue
		}
		tree, err := c.tree(a, d.Set, own)
		if err != nil {
			return nil, err
		}
		tree.Name, own = d.Name, false
		out = append(out, tree)
	}
	if own {
		return nil, result.Refuse("leave --data out", "study %s works on no tree", c.Study)
	}
	return out, nil
}

// tree makes or finds one tree.
func (c *runCmd) tree(a *app, name string, own bool) (scenario.Data, error) {
	if own && isSet(c.Data) {
		return dataset.Get(a.ctx, c.Data, a.note)
	}
	if own {
		d, err := dataset.FromDirectory(a.ctx, c.Data)
		if err != nil && a.ctx.Err() == nil {
			err = result.Refuse("", "%v", err)
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
			return nil, result.Refuse("whichfs list filesystems", "%v", err)
		}
		if s := c.String(); !seen[s] {
			seen[s] = true
			out = append(out, s)
		}
	}
	if len(out) == 0 {
		return nil, result.Refuse("whichfs list filesystems", "no candidates are left")
	}
	return out, nil
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
