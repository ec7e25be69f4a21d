package probe

import (
	"fmt"
	"math"
	"time"
)

// Two read-only measurements reveal rotation. The time of a read against its
// distance from the previous one shows the seeks of an arm. And a sector
// passes under the head once per revolution: reads of it that are issued at
// random moments still complete at multiples of the period from each other.
// The moments are random because the probe waits at random in between, so only
// the medium can synchronise them. What the kernel reports is ignored.

// rotation determines whether the device rotates, and how fast.
func (p *prober) rotation() error {
	unit := p.unit()
	near, far, err := p.seeks(unit)
	if err != nil {
		return err
	}
	turn, strength, n, err := p.turn(unit)
	if err != nil {
		return err
	}
	p.found(rotates(near, far, turn, strength, n))
	return nil
}

// seeks reads pairs of places at increasing distances and adds the curve
// "seek". It returns the times of the second read at the shortest and longest
// distances.
func (p *prober) seeks(unit int64) (near, far []float64, err error) {
	size := p.t.Size()
	var distances []int64
	for d := int64(1 << 20); d <= size/2; d *= 4 {
		distances = append(distances, d)
	}
	if last := len(distances) - 1; last < 0 || distances[last] < size/2 {
		distances = append(distances, down(size/2, unit))
	}
	times := make([][]float64, len(distances))
	for i := range level(p, 8, 16, 48) {
		if i >= 4 && p.left() < p.budgetOf(0.5) {
			break
		}
		for _, k := range p.random.Perm(len(distances)) {
			at := down(p.random.Int64N(size-distances[k]-unit+1), unit)
			to := at + down(distances[k], unit)
			if p.random.IntN(2) == 0 {
				at, to = to, at
			}
			if _, err := p.read(at, unit); err != nil {
				return nil, nil, err
			}
			d, err := p.read(to, unit)
			if err != nil {
				return nil, nil, err
			}
			times[k] = append(times[k], sec(d))
		}
	}
	c := Curve{Key: "seek", Title: "Reading by distance from the previous read", XName: "distance", XUnit: "B",
		YName: "time", YUnit: "s", LogX: true, Lines: []Line{{Name: "reads of 4 KiB"}}}
	for i, t := range times {
		c.Lines[0].Points = append(c.Lines[0].Points, point(float64(distances[i]), t))
	}
	p.curve(c)
	return times[0], times[len(times)-1], nil
}

// budgetOf is a share of the part's total time.
func (p *prober) budgetOf(share float64) time.Duration {
	total, err := budget(p.o.Effort)
	if err != nil {
		return 0
	}
	return time.Duration(share * 0.03 * float64(total))
}

// turn looks for the period of a rotation: a revolution in seconds, how
// strongly completions are synchronised to it (0 to 1), and the number of
// reads.
func (p *prober) turn(unit int64) (turn, strength float64, n int, err error) {
	size := p.t.Size()
	at := down(size/3, 1<<20)
	if at == 0 {
		at = down(size/3, unit)
	}
	var ends []float64
	for i := range level(p, 48, 80, 200) {
		if i >= 32 && p.left() <= 0 {
			break
		}
		// Reads elsewhere move the arm away and evict the place from
		// its cache.
		for range 2 {
			if _, err := p.read(down(p.random.Int64N(size-unit+1), unit), unit); err != nil {
				return 0, 0, 0, err
			}
		}
		if err := p.pause(time.Duration(p.random.Int64N(int64(25 * time.Millisecond)))); err != nil {
			return 0, 0, 0, err
		}
		d, err := p.read(at, unit)
		if err != nil {
			return 0, 0, 0, err
		}
		if d > 800*time.Microsecond { // anything faster came from a cache
			ends = append(ends, sec(p.t.Elapsed()))
		}
	}
	turn, strength = period(ends)
	return turn, strength, len(ends), nil
}

// period finds the longest period to which moments are synchronised, between
// 3000 and 21000 revolutions per minute: the Rayleigh statistic, the length of
// the mean of all moments as unit vectors around the period. Whatever matches
// a period matches half of it, too, hence the longest.
func period(at []float64) (turn, strength float64) {
	if len(at) < 16 {
		return 0, 0
	}
	span := at[len(at)-1] - at[0]
	const low, high = 50.0, 350.0 // Hz
	step := 1 / (10 * span)
	var all []float64
	best := 0.0
	for f := low; f <= high; f += step {
		r := concentration(at, f)
		all = append(all, r)
		best = max(best, r)
	}
	for i := range all {
		if all[i] < 0.85*best {
			continue
		}
		k := i // to the top of this peak
		for k+1 < len(all) && (all[k+1] >= all[k] || all[min(k+2, len(all)-1)] > all[k]) {
			k++
		}
		return 1 / (low + float64(k)*step), all[k]
	}
	return 0, 0
}

func concentration(at []float64, f float64) float64 {
	var x, y float64
	for _, t := range at {
		s, c := math.Sincos(2 * math.Pi * f * (t - at[0]))
		x, y = x+c, y+s
	}
	return math.Hypot(x, y) / float64(len(at))
}

// rotates derives the finding.
func rotates(near, far []float64, turn, strength float64, n int) Finding {
	f := Finding{Key: Rotation, Curves: []string{"seek"}}
	a, b := middle(near), middle(far)
	slow := fmt.Sprintf("a read takes %s after one nearby and %s after one far away", timeText(a), timeText(b))
	// The probability that chance produces a strength of s at one of the
	// about 1000 tested frequencies is 1000·exp(-n·s²) (Rayleigh's test).
	chance := min(1, 1000*math.Exp(-float64(n)*strength*strength))
	switch {
	case n >= 16 && chance < 1e-3 && strength > 0.6 && b > 0.002:
		f.Text, f.Value, f.Unit = "rotating", 60/turn, "r/min"
		f.Confidence = min(0.99, 0.5+strength/2)
		f.Evidence = fmt.Sprintf("%s; %d reads of one place at random moments completed in step with a period of %s (strength %.2f of 1)", slow, n, timeText(turn), strength)
	case b > 0.003 && b > 1.3*a && quantile(far, 0.9)-quantile(far, 0.1) > 0.003:
		f.Text, f.Confidence = "rotating", 0.7
		f.Evidence = slow + "; and far reads scatter by milliseconds, as rotational latency would cause, but no period could be found"
	case b < 0.0015 || b < 1.25*a:
		f.Text, f.Confidence = "solid state", 0.97
		if b > 1.15*a {
			f.Confidence = 0.85
		}
		f.Evidence = slow + "; no read waits for a rotation"
	default:
		f.Undetermined = slow + ": that matches neither an arm nor solid state"
		return f
	}
	if f.Text == "rotating" {
		f.Meaning = "Random access costs milliseconds: filesystems that keep related files together and write sequentially gain most. Discards and flash options are useless."
	} else {
		f.Meaning = "Distance costs nothing, so defragmenting gains little. What the device does internally on writes matters more."
	}
	return f
}
