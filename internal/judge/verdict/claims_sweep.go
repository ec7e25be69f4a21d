package verdict

import (
	"fmt"
	"slices"

	"whichfs/internal/plan/study"
	"whichfs/internal/probe"
	"whichfs/internal/sys/units"
)

// checkSweep compares the speed at one block size with the best at others, by
// the medians of a probe and by the extremes of their repetitions. One pass
// alone decides nothing.
func (f *figures) checkSweep(out *Claim, k study.SweepCheck) {
	r := f.probed(out)
	if r == nil {
		return
	}
	block, guess := k.Block, false
	if k.Of != "" {
		found := r.Find(k.Of)
		if !found.Known() {
			out.Figures = fmt.Sprintf("%s cannot be determined on this device: %s", k.Of, found.Undetermined)
			return
		}
		block, guess = found.Value, found.Sureness() == "unsure"
	}
	at := slices.IndexFunc(r.Curves, func(c probe.Curve) bool { return c.Key == k.Curve })
	if at < 0 || len(r.Curves[at].Lines) == 0 {
		out.Figures = "the probe of this storage has no curve " + k.Curve
		return
	}
	own, other, what := sweepPoints(r.Curves[at], block, k.Than)
	if what != "" {
		out.Figures = what
		return
	}
	iv := Interval{Value: own.Y / other.Y, Low: own.Low / other.High, High: own.High / other.Low, Single: guess || own.N < 2 || other.N < 2}
	out.Result = within(iv, k.Low, k.High)
	out.Figures = fmt.Sprintf("the probe of this storage found: blocks of %s are %s as fast as the best of %s sizes, %s",
		units.Size(int64(own.X)), ratioOf(iv), k.Than, units.Size(int64(other.X)))
	if guess {
		out.Figures += "; the block size itself is unsure"
	}
}

// sweepPoints are the points of a block size and of the fastest size to compare
// it with, as speeds; what says why there are none.
func sweepPoints(c probe.Curve, block float64, than study.Blocks) (own, other probe.Point, what string) {
	for _, p := range c.Lines[len(c.Lines)-1].Points { // the last line includes the flush
		if c.YUnit == "s" { // of the same data each
			p.Y, p.Low, p.High = 1/p.Y, 1/p.High, 1/p.Low
		}
		switch {
		case p.X == block:
			own = p
		case than == study.LargerBlocks && p.X < block, than == study.SmallerBlocks && p.X > block:
			continue
		}
		if (p.X != block || than == study.AllBlocks) && p.Y > other.Y {
			other = p
		}
	}
	switch {
	case own.Y == 0:
		what = fmt.Sprintf("the probe of this storage has no figure for blocks of %s", units.Size(int64(block)))
	case other.Y == 0:
		what = fmt.Sprintf("the probe of this storage has no figure for blocks %s than %s", than, units.Size(int64(block)))
	}
	return own, other, what
}
