package verdict

import (
	"cmp"
	"slices"
	"strings"

	"whichfs/internal/plan/study"
	"whichfs/internal/result"
)

// reachOfInstructions says what figures that count instructions show.
const reachOfInstructions = "These figures count the instructions that the processor executes, on a disk in memory: they are each filesystem's own processor cost, " +
	"and repeat on any machine. They are no wall time, hold no time of any device, and say nothing of what storage makes of the requests."

// reachOfModel says the same of times that hold a simulated chip's delays.
const reachOfModel = "These times are those of a model: every instruction of the processor takes 2 ns, and the simulated chip takes the delays that the conditions name. " +
	"They hold nothing else, no waiting and no other work, and repeat on any machine; of a real board they show order, ratio and growth, not the time itself."

// instructionUnit is what counts of instructions are printed as.
var instructionUnit = shownUnit(result.Instructions, "")

// counting is the study as it is measured with a clock that counts
// instructions: columns of time become columns of instructions, and what was
// published about time is not held against them. (Published tables are grades
// of time for the most part and are not shown.)
func counting(st study.Study) study.Study {
	timed := map[string]bool{}
	st.Columns = slices.Clone(st.Columns)
	for i := range st.Columns {
		c := &st.Columns[i]
		if c.Unit != "s" {
			continue
		}
		timed[c.Key] = true
		c.Unit, c.Name = instructionUnit, strings.TrimSuffix(c.Name, " time")
		c.About = "instructions for " + c.About
		c.Terms = slices.Clone(c.Terms)
		for k := range c.Terms {
			if c.Terms[k].Metric == result.Wall {
				c.Terms[k].Metric = result.Instructions
			}
		}
	}
	st.Claims = slices.Clone(st.Claims)
	for i := range st.Claims {
		c := &st.Claims[i]
		if c.Check == nil {
			continue
		}
		if _, published := c.Check.(study.NumbersCheck); published || slices.ContainsFunc(c.Check.Columns(), func(key string) bool { return timed[key] }) {
			c.Check = study.Untested("this is about time on storage, and this run counts instructions without any")
		}
	}
	return st
}

// shownUnit is the unit that figures of a metric are printed in: their own, but
// for metrics that say otherwise.
func shownUnit(metric, unit string) string {
	m, _ := result.MetricOf(metric)
	return cmp.Or(m.Shown, unit)
}
