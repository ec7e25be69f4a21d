package probe

import (
	"errors"
	"fmt"
	"slices"
)

// queue finds the queue depth beyond which more requests gain nothing: random
// reads of 4 KiB at depths of 1 to 64. It is the smallest depth within 10 % of
// the best rate.
func (p *prober) queue() error {
	depths := []int{1, 2, 4, 8, 16, 32, 64}
	length := p.unit()
	each := level(p, 128, 384, 1024)
	// No more than time allows: a depth of 1 takes longest.
	first, err := p.read(p.pick(p.places(), length), length)
	if err != nil {
		return err
	}
	repeats := level(p, 2, 3, 5)
	if most := sec(p.left()) / (sec(first) + 1e-6) / float64(len(depths)*repeats); most < float64(each) {
		each = max(32, int(most))
	}
	rates := make([][]float64, len(depths))
	for range repeats {
		for _, i := range p.random.Perm(len(depths)) {
			offsets := make([]int64, max(each, 4*depths[i]))
			for k := range offsets {
				offsets[k] = p.pick(p.places(), length)
			}
			d, err := p.together(false, offsets, length, depths[i])
			if errors.Is(err, ErrUnsupported) {
				if depths[i] <= 2 {
					p.unknown(QueueDepth, "this machine can issue only one request at a time")
					return nil
				}
				continue
			}
			if err != nil {
				return err
			}
			if d > 0 {
				rates[i] = append(rates[i], float64(len(offsets))/sec(d))
			}
		}
	}
	return p.queueFinding(depths, rates)
}

func (p *prober) queueFinding(depths []int, rates [][]float64) error {
	c := Curve{Key: "queue", Title: "Random reads by queue depth", XName: "queue depth", XUnit: "1",
		YName: "rate", YUnit: "1/s", LogX: true, Lines: []Line{{Name: "reads of 4 KiB"}}}
	var all []float64
	for i, r := range rates {
		if len(r) > 0 {
			all = append(all, middle(r))
			c.Lines[0].Points = append(c.Lines[0].Points, point(float64(depths[i]), r))
		}
	}
	// The median of the three best: the best alone may be chance.
	slices.Sort(all)
	best := middle(all[max(0, len(all)-3):])
	if len(rates[0]) == 0 || !(best > 0) {
		p.unknown(QueueDepth, "the requests were too fast to measure")
		return nil
	}
	for i, r := range rates {
		if len(r) == 0 || middle(r) < 0.9*best {
			continue
		}
		c.Mark = float64(depths[i])
		p.curve(c)
		f := Finding{Key: QueueDepth, Value: float64(depths[i]), Unit: "1", Confidence: trust(r), Curves: []string{c.Key},
			Evidence: fmt.Sprintf("at depth 1 it serves %.0f random reads per second, at depth %d %.0f; the best three depths reach %.0f",
				middle(rates[0]), depths[i], middle(r), best)}
		if depths[i] == 1 {
			f.Meaning = "The device serves one request at a time. Concurrent readers share that rate; parallel reads gain nothing."
		} else {
			f.Meaning = fmt.Sprintf("Programs that keep %d requests in flight get %.1f times the rate of one that waits for each. More requests gain nothing.", depths[i], middle(r)/middle(rates[0]))
		}
		p.found(f)
		return nil
	}
	return nil
}
