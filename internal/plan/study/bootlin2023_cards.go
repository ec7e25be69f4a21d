package study

import "whichfs/internal/probe"

// b23Kingston is "SD card 2" of the talk: what flashbench -a printed for it, and the speaker's conclusion.
func b23Kingston() probe.Report {
	beside, across := probe.Line{Name: "before and after"}, probe.Line{Name: "across"}
	longer := probe.Line{}
	for _, l := range []struct {
		align                int64
		pre, on, post, extra float64 // ms, ms, ms, µs
	}{
		{32 << 10, 1.18, 1.28, 1.17, 103}, {64 << 10, 1.16, 1.25, 1.18, 74.4}, {128 << 10, 1.16, 1.25, 1.18, 81.2},
		{256 << 10, 1.19, 1.28, 1.17, 96.5}, {512 << 10, 1.19, 1.27, 1.19, 77.5}, {1 << 20, 1.18, 1.26, 1.19, 81.4},
		{2 << 20, 1.21, 1.28, 1.2, 78.4}, {4 << 20, 1.17, 1.32, 1.18, 147}, {8 << 20, 1.22, 1.41, 1.32, 140},
		{16 << 20, 1.35, 1.47, 1.35, 116}, {32 << 20, 1.3, 1.48, 1.33, 161}, {64 << 20, 1.4, 1.54, 1.52, 81.6},
		{128 << 20, 1.26, 1.38, 1.24, 130}, {256 << 20, 1.24, 1.38, 1.25, 131}, {512 << 20, 1.26, 1.39, 1.29, 114},
		{1 << 30, 1.24, 1.36, 1.21, 139}, {2 << 30, 1.3, 1.47, 1.33, 158}, {4 << 30, 1.39, 1.47, 1.28, 139},
	} {
		const ms, us = 1e-3, 1e-6
		x := float64(l.align)
		single := func(y float64) probe.Point { return probe.Point{X: x, Y: y, Low: y, High: y, N: 1} }
		pre, post := l.pre*ms, l.post*ms
		beside.Points = append(beside.Points, probe.Point{X: x, Y: (pre + post) / 2, Low: min(pre, post), High: max(pre, post), N: 2})
		across.Points = append(across.Points, single(l.on*ms))
		longer.Points = append(longer.Points, single(l.extra*us))
	}
	curve := func(key, title string, lines ...probe.Line) probe.Curve {
		return probe.Curve{Key: key, Title: title, XName: "alignment", XUnit: "B", YName: "time", YUnit: "s", LogX: true, Mark: 4 << 20, Lines: lines}
	}
	return published("bootlin-2023", "kingston-16g", "Kingston 16 GB, class 10, U1", []probe.Finding{
		{Key: probe.SegmentSize, Value: 4 << 20, Unit: "B", Curves: []string{probe.CrossingCurve},
			Evidence: "slide “How to infer the segment size?”: “there is a clear level change at 4M”"},
	}, curve(probe.AlignCurve, "Reading across aligned places", beside, across),
		curve(probe.CrossingCurve, "Reading across aligned places, longer than next to them", longer)) // printed with more digits than the times
}
