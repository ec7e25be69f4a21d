package probe

import (
	"fmt"
	"time"
)

// randoms measures random reads and writes of 4 KiB, one at a time, over the
// whole device.
func (p *prober) randoms() error {
	unit := p.unit()
	most := level(p, 512, 2048, 16384)
	share := p.left()
	if p.t.Writable() {
		share /= 3
	}
	stop := p.t.Elapsed() + share
	var reads []float64
	for i := 0; i < most && (i < 16 || p.t.Elapsed() < stop); i++ {
		d, err := p.read(p.pick(p.places(), unit), unit)
		if err != nil {
			return err
		}
		reads = append(reads, sec(d))
	}
	where := "over the whole device"
	if len(p.written) > 0 {
		where = "at places that the probe had written"
	} else if !p.t.Writable() {
		where += "; places that were never written may answer faster"
	}
	p.rate(RandomRead, reads, where, "Starting programs and opening many small files runs at this rate at best.")
	if !p.t.Writable() {
		p.unknown(RandomWrite, onlyReads)
		return nil
	}
	return p.randomWrites(unit, most)
}

// randomWrites continues until time is up; the first half brings the device
// into its steady state and does not count.
func (p *prober) randomWrites(unit int64, most int) error {
	if err := p.pause(100 * time.Millisecond); err != nil {
		return err
	}
	all := []extent{{0, p.t.Size()}}
	stop := p.until
	var writes []float64
	for i := 0; i < 4*most && (i < 16 || p.t.Elapsed() < stop); i++ {
		d, err := p.write(p.pick(all, unit), unit)
		if err != nil {
			return err
		}
		writes = append(writes, sec(d))
	}
	d, err := p.sync()
	if err != nil {
		return err
	}
	half := writes[len(writes)/2:]
	// What is still buffered counts towards the writes.
	half = append(half[:len(half):len(half)], sec(d)/2)
	p.rate(RandomWrite, half, "over the whole device, the second half of "+fmt.Sprint(len(writes))+" writes and the flush at their end",
		"Databases, package managers and logs in many files write like this. If it is far below the sequential speed, filesystems that write sequentially gain most.")
	return nil
}

// rate adds a finding of requests per second. It uses the mean time: rare slow
// requests are part of what a user experiences.
func (p *prober) rate(key string, times []float64, where, meaning string) {
	sum := 0.0
	for _, t := range times {
		sum += t
	}
	if sum <= 0 {
		p.unknown(key, "the requests were too fast to measure")
		return
	}
	var parts []float64
	for i := range 4 {
		part := times[i*len(times)/4 : (i+1)*len(times)/4]
		s := 0.0
		for _, t := range part {
			s += t
		}
		if s > 0 {
			parts = append(parts, float64(len(part))/s)
		}
	}
	p.found(Finding{Key: key, Value: float64(len(times)) / sum, Unit: "1/s", Confidence: trust(parts),
		Evidence: fmt.Sprintf("%d requests %s took %s each in the median, and %s at worst", len(times), where, timeText(middle(times)), timeText(quantile(times, 1))),
		Meaning:  meaning})
}
