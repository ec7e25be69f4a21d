// Package history orders runs of one study by time or by kernel and says what changed, and when: each
// change is named with the first run or kernel that has it. It computes, and prints nothing.
//
// Runs are in one line only if they did the same work on the same data, storage and machine. Figures
// of a run, or of a kernel, are compared with the level of all before it back to the last change. A
// change is beyond chance, with Bonferroni's correction for all comparisons of the group, and by more
// than the margin; of runs, it is also beyond the noise from one run to the next, which is larger than
// that of their rounds.
package history

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"whichfs/internal/judge/contrast"
	"whichfs/internal/judge/stats"
	"whichfs/internal/judge/verdict"
	"whichfs/internal/plan"
	"whichfs/internal/plan/study"
	"whichfs/internal/result"
)

// Order is what the steps of a history are.
type Order string

// The orders.
const (
	ByRun    Order = "runs"
	ByKernel Order = "kernels"
)

// Run is a run with the figures that count.
type Run struct {
	result.Run
	Columns []verdict.Sampled
}

// History is that of one study.
type History struct {
	Study  string  `json:"study"`
	Title  string  `json:"title"`
	By     Order   `json:"by"`
	Margin float64 `json:"margin"`
	Groups []Group `json:"groups"`
}

// Group has the runs that are comparable.
type Group struct {
	Scale   string   `json:"scale"`
	Machine string   `json:"machine"`
	On      string   `json:"processor,omitempty"` // that guests were charged for
	Storage string   `json:"storage"`
	Clock   string   `json:"clock"`
	Data    []string `json:"data,omitempty"`
	Steps   []Step   `json:"steps"`
	Columns []Column `json:"columns"`
	// Family is the number of comparisons that the correction is for.
	Family int `json:"family"`
	// Earlier is the number of steps that were left out.
	Earlier int `json:"earlier,omitempty"`
	// Older is the number of runs before them that were not read.
	Older int `json:"older,omitempty"`
}

// Step is a run, or all runs of a kernel.
type Step struct {
	Name    string    `json:"name"` // of the run, or the kernel
	Runs    []string  `json:"runs"`
	Kernel  string    `json:"kernel"`
	Version string    `json:"version"` // of whichfs
	Started time.Time `json:"started"` // the first of them
	// Differs are the conditions that matter and differ from the step before: "kernel 6.1 → 6.12".
	Differs []string `json:"differs,omitempty"`
}

// Column is one measure of the study.
type Column struct {
	Key   string `json:"key"`
	Name  string `json:"name"`
	Unit  string `json:"unit"`
	Lines []Line `json:"lines"`
}

// Line is that of one candidate.
type Line struct {
	Candidate string   `json:"candidate"`
	Points    []Point  `json:"points"` // steps without a figure have none
	Changes   []Change `json:"changes,omitempty"`
}

// Point is the figure of a step.
type Point struct {
	Step     int              `json:"step"` // index
	Estimate verdict.Interval `json:"estimate"`

	values []float64
}

// Change is where a level ends.
type Change struct {
	Step   int              `json:"step"` // index of the first that has it
	Before verdict.Interval `json:"before"`
	After  verdict.Interval `json:"after"`
	Ratio  verdict.Interval `json:"ratio"`
	// P of no change, corrected; 0 where figures repeat bit by bit.
	P     float64 `json:"p"`
	Worse bool    `json:"worse"`
}

// Question is what is asked of runs.
type Question struct {
	By     Order
	Margin float64 // 0: that of the latest run
	Last   int     // steps of each group; 0: all
}

// Make makes the history of runs of a study, oldest first.
func Make(st study.Study, runs []Run, q Question) (History, error) {
	h := History{Study: st.Name, Title: st.Title, By: cmp.Or(q.By, ByRun), Margin: q.Margin}
	if h.By != ByRun && h.By != ByKernel {
		return h, result.Refuse("", "a history is by %s or by %s, not by %q", ByRun, ByKernel, h.By)
	}
	if len(runs) > 0 && h.Margin == 0 {
		h.Margin = runs[len(runs)-1].Margin
	}
	if h.Margin == 0 {
		h.Margin = plan.DefaultMargin
	}
	members := map[string][]Run{}
	var keys []string
	for _, r := range runs {
		key := fmt.Sprintf("%q", groupOf(r))
		if members[key] == nil {
			keys = append(keys, key)
		}
		members[key] = append(members[key], r)
	}
	// The group with the latest run first.
	slices.SortStableFunc(keys, func(a, b string) int {
		return last(members[b]).Started.Compare(last(members[a]).Started)
	})
	for _, key := range keys {
		g, err := group(members[key], h, q.Last)
		if err != nil {
			return h, err
		}
		h.Groups = append(h.Groups, g)
	}
	return h, nil
}

func last(runs []Run) Run { return runs[len(runs)-1] }

// groupOf is what runs of one line have in common.
func groupOf(r Run) []string {
	return append([]string{r.Scale, r.Machine, r.Processor, r.Storage, r.ClockName()}, dataOf(r.Run)...)
}

func dataOf(r result.Run) (out []string) {
	for _, c := range r.Conditions {
		if c.Group == "data" {
			out = append(out, c.Name+" "+c.Value)
		}
	}
	slices.Sort(out)
	return out
}

// steps puts runs in the order of the history.
func steps(runs []Run, by Order) [][]Run {
	var out [][]Run
	for _, r := range runs {
		at := -1
		if by == ByKernel {
			at = slices.IndexFunc(out, func(have []Run) bool { return have[0].Kernel() == r.Kernel() })
		}
		if at < 0 {
			out = append(out, nil)
			at = len(out) - 1
		}
		out[at] = append(out[at], r)
	}
	if by == ByKernel {
		slices.SortStableFunc(out, func(a, b []Run) int { return Versions(a[0].Kernel(), b[0].Kernel()) })
	}
	return out
}

// Versions compares two versions number by number, and the rest as text.
func Versions(a, b string) int {
	for a != "" || b != "" {
		var x, y string
		x, a = part(a)
		y, b = part(b)
		if x == y {
			continue
		}
		if digits(x) && digits(y) {
			p, q := strings.TrimLeft(x, "0"), strings.TrimLeft(y, "0")
			if c := cmp.Or(cmp.Compare(len(p), len(q)), cmp.Compare(p, q)); c != 0 {
				return c
			}
			continue
		}
		// 6.1-rc2 is before 6.1.
		if x == "" || y == "" {
			if strings.HasPrefix(x+y, "-rc") || strings.HasPrefix(x+y, "~") {
				return -cmp.Compare(len(x), len(y))
			}
			return cmp.Compare(len(x), len(y))
		}
		return cmp.Compare(x, y)
	}
	return 0
}

// part splits a version after its first number or its first text.
func part(s string) (first, rest string) {
	if s == "" {
		return "", ""
	}
	digit := func(r rune) bool { return r >= '0' && r <= '9' }
	is := digit(rune(s[0]))
	if i := strings.IndexFunc(s, func(r rune) bool { return digit(r) != is }); i >= 0 {
		return s[:i], s[i:]
	}
	return s, ""
}

func digits(s string) bool { return s != "" && s[0] >= '0' && s[0] <= '9' }

// Head is the group of a run, without steps.
func Head(r result.Run) Group {
	return Group{Scale: r.Scale, Machine: r.Machine, On: r.Processor, Storage: r.Storage, Clock: r.ClockName(), Data: dataOf(r)}
}

func group(runs []Run, h History, most int) (Group, error) {
	r := last(runs)
	g := Head(r.Run)
	ordered := steps(runs, h.By)
	if most > 0 && len(ordered) > most {
		g.Earlier = len(ordered) - most
		ordered = ordered[g.Earlier:]
	}
	for i, of := range ordered {
		step := Step{Name: of[0].ID, Kernel: of[0].Kernel(), Version: last(of).Version, Started: of[0].Started}
		if h.By == ByKernel {
			step.Name = cmp.Or(step.Kernel, "unknown")
		}
		for _, one := range of {
			step.Runs = append(step.Runs, one.ID)
		}
		if i > 0 {
			step.Differs = contrast.Differs(last(ordered[i-1]).Run, of[0].Run)
		}
		g.Steps = append(g.Steps, step)
	}
	g.lines(ordered)
	for _, c := range g.Columns {
		for _, l := range c.Lines {
			g.Family += max(0, len(l.Points)-1)
		}
	}
	for i := range g.Columns {
		for k := range g.Columns[i].Lines {
			l := &g.Columns[i].Lines[k]
			if err := l.detect(rule{h.Margin, g.Family, r.Virtual(), h.By == ByRun}); err != nil {
				return g, fmt.Errorf("%s of %s: %w", g.Columns[i].Name, l.Candidate, err)
			}
		}
	}
	return g, nil
}

// lines fills in the columns with their points.
func (g *Group) lines(ordered [][]Run) {
	for i, of := range ordered {
		for _, r := range of {
			for _, c := range r.Columns {
				if c.Extra || c.Level {
					continue
				}
				for _, name := range r.Candidates {
					if values := c.Of[name].Values(); len(values) > 0 {
						g.add(c.Column, name, i, values)
					}
				}
			}
		}
	}
}

func (g *Group) add(c study.Column, candidate string, step int, values []float64) {
	at := slices.IndexFunc(g.Columns, func(have Column) bool { return have.Key == c.Key })
	if at < 0 {
		at = len(g.Columns)
		g.Columns = append(g.Columns, Column{Key: c.Key, Name: c.Name, Unit: c.Unit})
	}
	col := &g.Columns[at]
	k := slices.IndexFunc(col.Lines, func(l Line) bool { return l.Candidate == candidate })
	if k < 0 {
		k = len(col.Lines)
		col.Lines = append(col.Lines, Line{Candidate: candidate})
	}
	l := &col.Lines[k]
	if n := len(l.Points); n > 0 && l.Points[n-1].Step == step {
		l.Points[n-1].values = append(l.Points[n-1].values, values...)
		return
	}
	l.Points = append(l.Points, Point{Step: step, values: values})
}

// rule is what a change must be.
type rule struct {
	margin float64
	family int
	exact  bool // figures repeat bit by bit
	noisy  bool // steps have a noise of their own
}

// detect fills in the estimates and the changes of a line.
func (l *Line) detect(r rule) error {
	var all []float64
	for i := range l.Points {
		e, err := stats.GeoMean(l.Points[i].values)
		if err != nil {
			return err
		}
		l.Points[i].Estimate = verdict.IntervalOf(e)
		all = append(all, e.Value)
	}
	noise, err := stats.NoiseOfSteps(all)
	if err != nil {
		return err
	}
	begin := 0 // of the level
	for i := 1; i < len(l.Points); i++ {
		c, changed, err := r.compare(l.Points[begin:i], l.Points[i], noise)
		if err != nil {
			return err
		}
		if changed {
			l.Changes = append(l.Changes, c)
			begin = i
		}
	}
	return nil
}

// compare compares a point with the level before it.
func (r rule) compare(level []Point, p Point, noise stats.StepNoise) (c Change, changed bool, err error) {
	var values, means []float64
	for _, q := range level {
		values, means = append(values, q.values...), append(means, q.Estimate.Value)
	}
	// Most steps are within the margin, and need no test.
	if math.Abs(meanLog(p.values)-meanLog(values)) < math.Log1p(r.margin)-1e-9 {
		return c, false, nil
	}
	w, err := stats.Unpaired(values, p.values)
	if err != nil {
		return c, false, err
	}
	far := noise.P(p.Estimate.Value/math.Exp(meanLog(means)), len(means))
	c = Change{Step: p.Step, After: p.Estimate, Worse: w.Ratio > 1,
		Ratio: verdict.Interval{Value: w.Ratio, Low: w.Ratio, High: w.Ratio, N: len(p.values), Single: true}}
	chance := 1.0
	switch {
	case w.Known:
		chance = w.P
		c.Ratio = verdict.Interval{Value: w.Ratio, Low: w.Low, High: w.High, N: min(len(values), len(p.values))}.Finite()
	case r.exact:
		chance = 0
	case r.noisy:
		chance = far
	}
	if r.noisy && noise.Known && !r.exact {
		chance = max(chance, far)
	}
	c.P = min(1, chance*float64(r.family))
	if math.Abs(math.Log(w.Ratio)) <= math.Log1p(r.margin) || c.P >= stats.Alpha {
		return c, false, nil
	}
	before, err := stats.GeoMean(values)
	c.Before = verdict.IntervalOf(before)
	return c, true, err
}

func meanLog(list []float64) float64 {
	sum := 0.0
	for _, x := range list {
		sum += math.Log(x)
	}
	return sum / float64(len(list))
}
