package probe

import (
	"encoding/binary"
	"errors"
	"fmt"
	"time"

	"whichfs/internal/sys/units"
)

// discard times discards and reads discarded places back.
func (p *prober) discard() error {
	size := p.t.Size()
	length := min(1<<30, down(size/8, 1<<20))
	if length == 0 {
		length = down(size/8, p.unit())
	}
	small := min(1<<20, length)
	at := p.base(0.25)
	var large, one []float64
	for i := range level(p, 2, 4, 8) {
		if i > 1 && p.left() < 0 {
			break
		}
		// Write something to discard: discarding unwritten space costs
		// nothing.
		for k := range int64(8) {
			if _, err := p.write(at+k*length/8/small*small, small); err != nil {
				return err
			}
		}
		if _, err := p.sync(); err != nil {
			return err
		}
		for k := range int64(4) {
			d, err := p.drop(at+k*length/8/small*small, small)
			if errors.Is(err, ErrUnsupported) {
				p.noDiscards()
				return nil
			}
			if err != nil {
				return err
			}
			one = append(one, sec(d))
		}
		d, err := p.drop(at, length)
		if err != nil {
			return err
		}
		large = append(large, sec(d)*float64(1<<30)/float64(length))
	}
	p.found(Finding{Key: DiscardCost, Value: middle(large), Unit: "s", Confidence: trust(large),
		Evidence: fmt.Sprintf("discarding %s at once takes %s per GiB, and %s alone takes %s (%d times each)",
			units.Size(length), timeText(middle(large)), units.Size(small), timeText(middle(one)), len(large)),
		Meaning: discardMeaning(middle(one))})
	return p.zeroes(at)
}

func (p *prober) noDiscards() {
	p.found(Finding{Key: DiscardCost, Text: "unsupported", Confidence: 1,
		Evidence: "the device or its driver refuses discards",
		Meaning:  "Neither the mount option discard nor fstrim has an effect here. The device cannot learn what has been deleted."})
	p.unknown(DiscardZeroes, "the device does not support discards")
}

func discardMeaning(one float64) string {
	if one > 0.01 {
		return "A discard after each deletion (the mount option discard) would delay other work. Run fstrim periodically instead."
	}
	return "Discards are cheap enough for the mount option discard; running fstrim periodically works as well."
}

// zeroes determines whether discarded places read as zeros, at once and later.
func (p *prober) zeroes(at int64) error {
	const places, length = 4, 1 << 20
	n := min(length, down(p.t.Size()/64, p.unit()))
	buf := make([]byte, n)
	clean, later := 0, 0
	for i := range int64(places) {
		for k := 0; k < len(buf); k += 8 {
			binary.LittleEndian.PutUint64(buf[k:], p.random.Uint64()|1)
		}
		if err := p.store(at+i*n, buf); err != nil {
			return err
		}
	}
	for i := range int64(places) {
		if _, err := p.drop(at+i*n, n); err != nil {
			return err
		}
	}
	count := func(good *int) error {
		for i := range int64(places) {
			if err := p.load(at+i*n, buf); err != nil {
				return err
			}
			if allZero(buf) {
				*good++
			}
		}
		return nil
	}
	if err := count(&clean); err != nil {
		return err
	}
	if err := p.pause(level(p, 500*time.Millisecond, 2*time.Second, 10*time.Second)); err != nil {
		return err
	}
	if err := count(&later); err != nil {
		return err
	}
	f := Finding{Key: DiscardZeroes, Text: "no", Confidence: 0.95, Evidence: fmt.Sprintf(
		"of %d places of %s that held data and were discarded, %d read as zeros at once and %d after a pause", places, units.Size(n), clean, later)}
	f.Meaning = "Discarding does not erase: old contents can still be read. A tool that needs zeros must write them."
	if clean == places && later == places {
		f.Text = "yes"
		f.Meaning = "Tools may discard to get zeros (mkfs does so and saves time), as long as the device behaves consistently."
	} else if clean+later > 0 {
		f.Text, f.Confidence = "not always", 0.9
	}
	p.found(f)
	return nil
}

func allZero(b []byte) bool {
	for _, x := range b {
		if x != 0 {
			return false
		}
	}
	return true
}
