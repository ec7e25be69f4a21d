package verdict

import (
	"cmp"
	"slices"
	"strings"

	"whichfs/internal/plan/study"
	"whichfs/internal/result"
)

// reachOfInstructions says what counts of instructions show.
const reachOfInstructions = "These figures count the instructions that the processor executes, on a disk in memory: they show each filesystem's own processor cost " +
	"and repeat on any machine. They are not wall time, include no device time, and do not show how storage handles the requests."

// reachOfModel does the same for times that include a simulated chip's delays.
const reachOfModel = "These times come from a model: every processor instruction takes 2 ns, and the simulated chip takes the delays listed under the conditions. " +
	"They include nothing else, neither waiting nor other work, and repeat on any machine; they show the order, ratios and growth on a real board, not its times."

// reachOfStorage does the same for times of the storage alone.
const reachOfStorage = "These times are what the simulated storage makes each filesystem wait; the processor takes none. " +
	"They are the same on every machine and under any load. Where a processor is slow or has much to do (compression, checksums, many small files), its time comes on top or overlaps, and the order may be another one."

// reachOfProcessor does the same for times of the storage and a processor.
func reachOfProcessor(name string) string {
	return "These times are what the simulated storage makes each filesystem wait, and what the instructions that the kernel executes take on the processor " + name + "; programs' own instructions take none. " +
		"They are the same under any load and at every repetition on one kind of processor. The instructions are those of an amd64 kernel; waits for caches are not in them. Order and ratios can be compared; the times are as good as the processor's figures."
}

// reachOfPrediction comes first where the processor and the storage stand for hardware.
const reachOfPrediction = "This is a prediction: nothing was measured on the hardware that it is for. docs/virtual-time.md has what is known of how far predictions have been from measurements, " +
	"and whichfs compare shows it for this one, once there is a measurement. "

// reachOfCharged does the same for a run whose guests were charged for a processor.
func reachOfCharged(run result.Run, processor string) string {
	if run.Predicted != "" {
		return reachOfPrediction + reachOfProcessor(processor)
	}
	return reachOfProcessor(processor)
}

// instructionUnit is the unit in which counts of instructions are printed.
var instructionUnit = shownUnit(result.Instructions, "")

// counting is the study as measured with a clock that counts instructions:
// columns of time become columns of instructions, and published times are not
// compared with them. (Published tables are mostly grades of time and are not
// shown.)
func counting(st study.Study) study.Study {
	timed := map[string]bool{}
	st.Columns = slices.Clone(st.Columns)
	for i := range st.Columns {
		c := &st.Columns[i]
		timed[c.Key] = c.Unit == "s" || len(c.Over) > 0
		if c.Unit != "s" {
			continue
		}
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
			c.Check = study.Untested("the claim is about time on storage, and this run counts instructions")
		}
	}
	return st
}

// shownUnit is the unit in which figures of a metric are printed: their own,
// unless the metric says otherwise.
func shownUnit(metric, unit string) string {
	m, _ := result.MetricOf(metric)
	return cmp.Or(m.Shown, unit)
}
