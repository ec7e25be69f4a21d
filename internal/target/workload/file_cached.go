package workload

import (
	"fmt"
	"os"
	"strconv"
	"strings"

	"whichfs/internal/plan/scenario"
	"whichfs/internal/result"
	"whichfs/internal/sys/units"
)

// cached records how much of a file the machine's memory could hold when a pass over it began:
// reads from the cache say nothing about the storage.
//
// The page cache is bounded by the memory of the machine (a guest's is part of the plan) and by
// what HoldMemory holds back. The limit of a control group is unsuitable: filesystems that do not
// account their dirty pages to groups (vfat, for one) stall in it or are killed by it, and metadata
// read by kernel threads is outside it, so filesystems would be compared with different caches.
type cached struct {
	size             int64 // B, of the file
	available, total int64 // B
	err              error
}

// newCached reads the current state of the memory; nil for a step that is not measured.
func newCached(step scenario.Step) *cached {
	if step.Phase == "" {
		return nil
	}
	c := &cached{size: step.Size}
	c.available, c.total, c.err = memoryLeft()
	return c
}

func (c *cached) notes() []result.Note {
	switch {
	case c == nil:
		return nil
	case c.err != nil:
		return []result.Note{{Level: result.Warning, Text: fmt.Sprintf("cannot determine how much of the file the page cache can hold: %v", c.err)}}
	case c.size <= c.available:
		return []result.Note{{Level: result.Warning, Text: fmt.Sprintf(
			"the file of %s fits into the page cache (%s of %s of memory are available): reads may never have reached the storage; use a larger file, or a guest with less memory",
			units.Size(c.size), units.Size(c.available), units.Size(c.total))}}
	}
	return []result.Note{{Level: result.Info, Text: fmt.Sprintf("the file is %.1f times as large as the %s of memory (of %s) left for caches",
		float64(c.size)/float64(max(c.available, 1)), units.Size(c.available), units.Size(c.total))}}
}

// memoryLeft returns how much memory the kernel could use for the page cache, and the total, in
// bytes. Memory of resident programs is excluded, though the kernel counts their pages as
// reclaimable.
func memoryLeft() (available, total int64, err error) {
	text, err := os.ReadFile("/proc/meminfo")
	if err != nil {
		return 0, 0, err
	}
	available, total, err = parseMeminfo(string(text))
	return max(0, available-programs.held.Load()), total, err
}

// parseMeminfo finds MemAvailable and MemTotal.
func parseMeminfo(text string) (available, total int64, err error) {
	available, total = -1, -1
	for line := range strings.Lines(text) {
		name, rest, _ := strings.Cut(line, ":")
		var to *int64
		switch name {
		case "MemAvailable":
			to = &available
		case "MemTotal":
			to = &total
		default:
			continue
		}
		number, unit, _ := strings.Cut(strings.TrimSpace(rest), " ")
		n, err := strconv.ParseInt(number, 10, 64)
		if err != nil || n < 0 || n > 1<<50 || unit != "kB" {
			return 0, 0, fmt.Errorf("meminfo: %q", strings.TrimSpace(line))
		}
		*to = n << 10
	}
	if available < 0 || total < 0 {
		return 0, 0, fmt.Errorf("meminfo has no MemAvailable or no MemTotal")
	}
	return available, total, nil
}
