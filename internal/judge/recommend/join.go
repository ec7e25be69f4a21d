package recommend

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"whichfs/internal/filesystem"
	"whichfs/internal/judge/stats"
	"whichfs/internal/judge/verdict"
	"whichfs/internal/plan"
	"whichfs/internal/plan/study"
	"whichfs/internal/result"
)

// data is the runs, joined as far as that is allowed.
type data struct {
	pools    []*pool
	margin   float64
	warnings []string
	// candidates of all runs, in plan order; without a run, those known by facts.
	candidates []candidate
	faults     []verdict.Judged // runs that show what survives
}

// candidate is a candidate with the runs' results for it.
type candidate struct {
	filesystem.Candidate
	name string
	seen []verdict.Candidate
}

// pool is the runs of one study under the same conditions: their rounds are
// blocks of one experiment.
type pool struct {
	study   study.Study
	runs    []verdict.Judged
	columns []verdict.Sampled
	blocks  int // rounds of all runs, numbered from 1 throughout
}

// join pools runs of one study and puts different studies side by side. It
// refuses runs that differ in a condition that matters, and names the
// condition. Runs of faults are kept beside them.
func join(runs, faults []verdict.Judged) (*data, error) {
	d := &data{faults: faults}
	for i, s := range runs {
		for _, before := range runs[:i] {
			if list := differences(before, s); len(list) > 0 {
				return nil, cannotJoin(before.Verdict.Run, s.Verdict.Run, list)
			}
			if a, b := before.Verdict.Run.Version, s.Verdict.Run.Version; a != b && i == len(runs)-1 {
				d.warn(fmt.Sprintf("The runs were made by different versions of whichfs (%s and %s).", a, b))
			}
		}
		d.pool(s)
	}
	d.margin = marginOf(runs)
	for _, p := range d.pools {
		p.merge()
		if n := len(p.runs); n > 1 {
			d.warn(fmt.Sprintf("%d runs of %s under the same conditions are pooled; each keeps its own rounds.", n, p.study.Name))
		}
	}
	d.otherKernel()
	if len(runs) == 0 {
		runs = faults
	}
	d.gather(runs)
	return d, nil
}

// marginOf is the largest margin of interest of the runs.
func marginOf(runs []verdict.Judged) float64 {
	margin := 0.0
	for _, s := range runs {
		margin = max(margin, s.Verdict.Run.Margin)
	}
	if margin == 0 {
		return plan.DefaultMargin
	}
	return margin
}

func (d *data) warn(text string) {
	if !slices.Contains(d.warnings, text) {
		d.warnings = append(d.warnings, text)
	}
}

func (d *data) pool(s verdict.Judged) {
	for _, p := range d.pools {
		if p.study.Name == s.Study.Name {
			p.runs = append(p.runs, s)
			return
		}
	}
	d.pools = append(d.pools, &pool{study: s.Study, runs: []verdict.Judged{s}})
}

// merge numbers the rounds of all runs consecutively and merges the columns.
func (p *pool) merge() {
	for _, s := range p.runs {
		number := map[int]int{}
		var rounds []int
		for _, c := range s.Columns {
			for _, sample := range c.Of {
				for r := range sample {
					if _, there := number[r]; !there {
						number[r] = 0
						rounds = append(rounds, r)
					}
				}
			}
		}
		slices.Sort(rounds)
		for _, r := range rounds {
			p.blocks++
			number[r] = p.blocks
		}
		for _, c := range s.Columns {
			p.add(c, number)
		}
	}
}

func (p *pool) add(c verdict.Sampled, number map[int]int) {
	at := slices.IndexFunc(p.columns, func(have verdict.Sampled) bool { return have.Key == c.Key })
	if at < 0 {
		p.columns = append(p.columns, verdict.Sampled{Column: c.Column, Of: map[string]stats.Sample{}, Absent: map[string]string{}})
		at = len(p.columns) - 1
	}
	into := p.columns[at]
	for name, sample := range c.Of {
		if into.Of[name] == nil {
			into.Of[name] = stats.Sample{}
		}
		delete(into.Absent, name)
		for r, v := range sample {
			into.Of[name][number[r]] = v
		}
	}
	for name, why := range c.Absent {
		if into.Of[name] == nil {
			into.Absent[name] = why
		}
	}
}

// difference of two runs in one condition.
type difference struct{ name, a, b string }

// differences names what keeps two runs from being joined. Runs of one study
// must have done the same work on the same data; runs of different studies did
// different work, so only their machine, storage and tools must be the same.
func differences(a, b verdict.Judged) []difference {
	x, y := a.Verdict.Run, b.Verdict.Run
	var out []difference
	add := func(name, p, q string) {
		if d := (difference{name, p, q}); p != q && !slices.Contains(out, d) {
			out = append(out, d)
		}
	}
	same := x.Study == y.Study
	add("machine", x.Machine, y.Machine)
	add("storage", x.Storage, y.Storage)
	add("clock", x.ClockName(), y.ClockName())
	add("charged processor", charged(x), charged(y))
	add("emulation", yes(x.Emulated), yes(y.Emulated))
	if same {
		add("scale", x.Scale, y.Scale)
		if a.Scenarios != "" && b.Scenarios != "" && a.Scenarios != b.Scenarios {
			out = append(out, difference{"the steps of the scenario", "", ""})
		}
	}
	for _, c := range x.Conditions {
		if !c.Matters || !same && (c.Group == "data" || ownMemory(c)) {
			continue
		}
		for _, o := range y.Conditions {
			if o.Group == c.Group && o.Name == c.Name {
				add(label(c), c.Value, o.Value)
			}
		}
	}
	return out
}

// charged is the processor that guests were charged for, with all its figures: two that were measured, or
// whose profiles are in two files, may have one name. The condition of that name has the same text.
func charged(r result.Run) string {
	if p := plan.Kept(r.Plan).Processor; p != nil {
		return p.String()
	}
	return cmp.Or(r.Processor, "none")
}

// ownMemory: each study sets the memory that its data must not fit into.
func ownMemory(c result.Condition) bool {
	return c.Group == "machine" && (c.Name == "guest memory" || c.Name == "memory")
}

func label(c result.Condition) string {
	if c.Group == c.Name || c.Group == "machine" || c.Group == "run" || strings.HasPrefix(c.Name, c.Group) {
		return c.Name
	}
	return c.Group + " " + c.Name
}

func yes(b bool) string {
	if b {
		return "yes"
	}
	return "no"
}

func cannotJoin(a, b result.Run, list []difference) error {
	var texts []string
	storage := false
	for _, d := range list {
		storage = storage || d.name == "storage"
		if d.a == "" && d.b == "" {
			texts = append(texts, d.name)
			continue
		}
		texts = append(texts, fmt.Sprintf("%s (%s, %s)", d.name, d.a, d.b))
	}
	hint := "name runs of one kind; whichfs compare " + a.ID + " " + b.ID + " compares them"
	if storage {
		hint = "choose with --storage " + a.Storage + " or --storage " + b.Storage + ", or name runs of one kind"
	}
	return result.Refuse(hint, "runs %s and %s were made under different conditions and cannot be joined: %s", a.ID, b.ID, strings.Join(texts, "; "))
}

// gather lists the candidates.
func (d *data) gather(runs []verdict.Judged) {
	add := func(name string, parsed filesystem.Candidate) *candidate {
		for i := range d.candidates {
			if d.candidates[i].name == name {
				return &d.candidates[i]
			}
		}
		d.candidates = append(d.candidates, candidate{Candidate: parsed, name: name})
		return &d.candidates[len(d.candidates)-1]
	}
	for _, s := range runs {
		for _, seen := range s.Verdict.Candidates {
			c := add(seen.Name, seen.Parsed)
			c.seen = append(c.seen, seen)
		}
	}
	if len(runs) > 0 {
		return
	}
	for _, c := range known() {
		add(c.String(), c)
	}
}

// known are the candidates that facts can describe without a run: every
// filesystem as its tools make it by default, and the first candidates of the
// studies. Those for raw flash alone are left out: most users have storage with
// a controller, where these cannot be used, and a run on raw flash brings its
// own; and those whose driver few kernels have.
func known() []filesystem.Candidate {
	var list []filesystem.Candidate
	add := func(c filesystem.Candidate) {
		if !slices.Contains(list, c) && !misplaced(c, false) {
			list = append(list, c)
		}
	}
	for _, name := range filesystem.Names() {
		if c := (filesystem.Candidate{FS: name}); !c.Filesystem().Rare() {
			add(c)
		}
	}
	for _, st := range study.All {
		for _, line := range st.Scales["quick"].Candidates {
			add(filesystem.Kept(line))
		}
	}
	// Each next to its kind, in the order of the list of filesystems.
	place := func(c filesystem.Candidate) int { return slices.Index(filesystem.Names(), c.FS) }
	slices.SortStableFunc(list, func(a, b filesystem.Candidate) int { return place(a) - place(b) })
	return list
}

// misplaced reports whether a candidate cannot be used on storage of this kind.
func misplaced(c filesystem.Candidate, rawFlash bool) bool {
	reason, _ := c.Misplaced(rawFlash)
	return reason != ""
}

// imaged reports whether the candidate is made as an image.
func (c candidate) imaged() bool {
	if c.Err() == nil {
		return c.Imaged()
	}
	return slices.ContainsFunc(c.seen, func(v verdict.Candidate) bool { return v.Imaged })
}
