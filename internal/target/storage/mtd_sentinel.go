package storage

import (
	"bytes"
	"fmt"
	"time"

	"whichfs/internal/plan/media"
	"whichfs/internal/target/mtd"
)

// sentinelFlash programs SentinelBytes of erased flash, reads them back and erases the blocks
// again. That costs the first blocks of a real chip one erase per trial; filling and emptying the
// chip costs every block one or more.
func sentinelFlash(named string, d *mtd.Device) (write, read Timing) {
	fail := func(err error) (Timing, Timing) {
		t := Timing{Absent: err.Error()}
		if write.Seconds > 0 {
			return write, t
		}
		return t, t
	}
	piece := min(d.EraseSize, SentinelBytes)
	data, back := make([]byte, piece), make([]byte, piece)
	places, err := erasedPlaces(d, back)
	if err != nil {
		return fail(err)
	}
	defer func() {
		for _, at := range places {
			_ = d.Erase(int(at / int64(d.EraseSize))) // a failing block is noticed at its next erase
		}
	}()
	pattern(data)
	start := time.Now()
	for _, at := range places {
		if _, err := d.WriteAt(data, at); err != nil {
			return fail(fmt.Errorf("programming: %w", err))
		}
	}
	write.Seconds = time.Since(start).Seconds()
	start = time.Now()
	for _, at := range places {
		if _, err := d.ReadAt(back, at); err != nil {
			return fail(fmt.Errorf("reading: %w", err))
		}
	}
	read.Seconds = time.Since(start).Seconds()
	if !bytes.Equal(data, back) {
		return fail(fmt.Errorf("%s returns different data than was written at offset %d", named, places[len(places)-1]))
	}
	return write, read
}

// erasedPlaces finds good blocks for SentinelBytes in pieces as long as back, and ensures that they
// are erased.
func erasedPlaces(d *mtd.Device, back []byte) (places []int64, err error) {
	if SentinelBytes%len(back) != 0 {
		return nil, fmt.Errorf("its erase blocks of %d B do not divide %d", d.EraseSize, SentinelBytes)
	}
	for block := 0; block < d.Blocks() && len(places) < SentinelBytes/len(back); block++ {
		bad, err := d.Bad(block)
		if err != nil {
			return nil, err
		}
		if bad {
			continue
		}
		at := int64(block) * int64(d.EraseSize)
		if _, err := d.ReadAt(back, at); err != nil {
			return nil, fmt.Errorf("reading block %d: %w", block, err)
		}
		// Usually they are erased: the storage was just emptied.
		if !mtd.Erased(back) {
			if err := d.Erase(block); err != nil {
				return nil, err
			}
		}
		places = append(places, at)
	}
	if len(places) < SentinelBytes/len(back) {
		return nil, fmt.Errorf("it has less than %s in good erase blocks", media.FormatSize(SentinelBytes))
	}
	return places, nil
}
