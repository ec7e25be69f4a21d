package meter

import (
	"bytes"
	"errors"
	"fmt"
)

// Fields of /sys/class/block/NAME/stat (Documentation/block/stat.rst).
const (
	reads = iota
	_
	readSectors
	_
	writes
	_
	writtenSectors
	_
	_
	busyTicks // ms
	_
	discards // from 4.18
	_
	discardedSectors
	_
	flushes // from 5.5
	_
	diskFields
)

// sector is the kernel's unit for traffic, whatever the device's own.
const sector = 512

// disk holds the counters of a device; those that this kernel does not have
// are missing.
type disk [diskFields]uint64

const missing = ^uint64(0)

func has(d disk, field int) bool { return d[field] != missing }

// parseDisk reads the text of a stat file: 11 fields, later 15, later 17.
func parseDisk(text []byte) (disk, error) {
	var d disk
	n := 0
	for n < diskFields {
		value, rest, ok := number(text)
		if !ok {
			break
		}
		d[n], text = value, rest
		n++
	}
	if n < discards {
		return disk{}, fmt.Errorf("%d counters of the device where at least %d are expected", n, discards)
	}
	for ; n < diskFields; n++ {
		d[n] = missing
	}
	return d, nil
}

// number takes a decimal number from text, with the blanks before it.
func number(text []byte) (value uint64, rest []byte, ok bool) {
	i := 0
	for i < len(text) && (text[i] == ' ' || text[i] == '\t' || text[i] == '\n') {
		i++
	}
	begin := i
	for i < len(text) && text[i] >= '0' && text[i] <= '9' {
		digit := uint64(text[i] - '0')
		if value > (missing-1-digit)/10 {
			return 0, text, false
		}
		value = value*10 + digit
		i++
	}
	if i < len(text) && text[i] != ' ' && text[i] != '\t' && text[i] != '\n' {
		return 0, text, false
	}
	return value, text[i:], i > begin
}

// memory is taken from /proc/meminfo, in bytes. kernel is what the kernel has
// taken for itself: slabs, mappings for modules, tables and stacks, and memory per
// processor. Kernels before 5.3 do not count the mappings, those before 4.20 not
// the memory per processor.
type memory struct{ free, slab, kernel uint64 }

func parseMeminfo(text []byte) (memory, error) {
	free, ok := kilobytes(text, "MemFree:")
	if !ok {
		return memory{}, errors.New("meminfo has no MemFree")
	}
	slab, ok := kilobytes(text, "Slab:")
	if !ok {
		return memory{}, errors.New("meminfo has no Slab")
	}
	mapped, _ := kilobytes(text, "VmallocUsed:")
	processors, _ := kilobytes(text, "Percpu:")
	return memory{free: free, slab: slab, kernel: slab + mapped + processors}, nil
}

func kilobytes(text []byte, key string) (uint64, bool) {
	for len(text) > 0 {
		line, rest, _ := bytes.Cut(text, []byte{'\n'})
		if len(line) > len(key) && string(line[:len(key)]) == key {
			value, unit, ok := number(line[len(key):])
			return value * 1024, ok && string(unit) == " kB" && value < 1<<53
		}
		text = rest
	}
	return 0, false
}
