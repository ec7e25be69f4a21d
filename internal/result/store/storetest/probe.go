package storetest

import (
	"fmt"
	"time"

	"whichfs/internal/probe"
)

// Probe returns a made-up report; every second one wrote to the device.
func Probe(seed uint64) probe.Report {
	return probe.Report{
		Format: 1, Storage: "/dev/sdx", Identity: fmt.Sprintf("Card-%d", seed), Size: 1 << 30, Machine: "local", Kernel: "6.1.0",
		Clock: "wall", Version: "test", Started: time.Date(2026, 1, 1, 12, 0, int(seed%60), 5, time.UTC), Seconds: 42.5,
		Wrote: seed%2 == 1, Effort: "normal", Seed: seed | 1<<63,
		Stated: []probe.Stated{{Name: "preferred_erase_size", Value: "4M", From: "/sys/block/sdx/device/preferred_erase_size"}},
		Findings: []probe.Finding{
			{Key: probe.SegmentSize, Name: "Segment size", Value: 4 << 20, Unit: "B", Confidence: 0.95, Evidence: "a step every 4 MiB", Curves: []string{"segment"}},
			{Key: probe.FATArea, Name: "FAT area", Undetermined: "the probe only read"},
		},
		Curves: []probe.Curve{{Key: "segment", Title: "Boundaries", XName: "boundary", XUnit: "B", YName: "time", YUnit: "s",
			Lines: []probe.Line{{Name: "on", Points: []probe.Point{{X: 4 << 20, Y: 0.1, Low: 0.05, High: 0.2, N: 5}}}}}},
		Warnings: []string{"a warning"},
	}
}
