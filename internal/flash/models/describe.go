package models

import (
	"fmt"
	"strings"

	"whichfs/internal/flash"
	"whichfs/internal/sys/units"
)

// Inside describes in a few words how a model works: "segments of 4.00 MiB, 8
// open".
func Inside(m flash.Model) string {
	switch m.Kind {
	case flash.KindFree:
		return "takes no time"
	case flash.KindDisk:
		return "disk, " + units.Value(m.Disk.RPM, "1") + " r/min"
	}
	var parts []string
	segment := units.Value(float64(m.Map.Segment), "B")
	switch m.Map.Scheme {
	case flash.SchemeSegment:
		order := "onward"
		if m.Map.Random {
			order = "in any order"
		}
		parts = append(parts, fmt.Sprintf("segments of %s, %d open, written %s", segment, m.Map.Open, order))
	case flash.SchemeHybrid:
		parts = append(parts, fmt.Sprintf("segments of %s, %d log blocks", segment, m.Map.Open))
	default:
		parts = append(parts, fmt.Sprintf("pages of %s, %s spare", units.Value(float64(m.Media.Page), "B"), units.Share(m.Map.Spare)))
	}
	if m.FAT > 0 {
		parts = append(parts, "FAT area")
	}
	if m.Buffer.Size > 0 {
		parts = append(parts, "write buffer")
	}
	if m.Fast.Size > 0 {
		parts = append(parts, "fast cache")
	}
	return strings.Join(parts, "; ")
}
