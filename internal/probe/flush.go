package probe

import "time"

// flush times flushes with nothing to write, and flushes after one small
// write.
func (p *prober) flush() error {
	n := level(p, 8, 24, 64)
	unit := p.unit()
	at := p.base(0.9)
	if _, err := p.write(at, unit); err != nil {
		return err
	}
	if _, err := p.sync(); err != nil {
		return err
	}
	var empty, one, both []float64
	for i := range n {
		if i >= 3 && p.left() <= 0 {
			break
		}
		d, err := p.sync()
		if err != nil {
			return err
		}
		empty = append(empty, sec(d))
		w, err := p.write(at+unit*int64(i+1), unit)
		if err != nil {
			return err
		}
		if d, err = p.sync(); err != nil {
			return err
		}
		one = append(one, sec(d))
		both = append(both, sec(w+d))
		if err := p.pause(5 * time.Millisecond); err != nil {
			return err
		}
	}
	f := Finding{Key: FlushCost, Value: middle(one), Unit: "s", Confidence: trust(one)}
	f.Evidence = "a flush takes " + timeText(middle(one)) + " after a write of " + bytesText(float64(unit)) +
		" and " + timeText(middle(empty)) + " with nothing to write; write and flush together take " + timeText(middle(both))
	f.Meaning = "Every fsync of a program, and every commit of a journal, waits at least this long. "
	if middle(both) > 0.01 {
		f.Meaning += "That is slow: databases and package managers will feel it. Longer commit intervals and batching help."
	} else {
		f.Meaning += "That is fast: the device does not slow down programs that call fsync often."
	}
	p.found(f)
	return nil
}
