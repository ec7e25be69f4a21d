package report

import (
	"bytes"
	"io"
	"reflect"
	"strings"
	"testing"
	"time"

	"whichfs/internal/judge/tune"
	"whichfs/internal/plan/media"
	"whichfs/internal/probe"
	"whichfs/internal/report/chromium"
	"whichfs/internal/report/doc"
)

// sampleProbe is invented; it has one of everything that a report prints.
func sampleProbe() probe.Report {
	sweep := probe.Curve{Key: "sweep-write", Title: "Writing 64 MiB by block size", XName: "block size", XUnit: "B",
		YName: "time for 1 MiB", YUnit: "s", LogX: true, LogY: true, Mark: 16 << 10,
		Lines: []probe.Line{{Name: "each request on its own"}, {Name: "with a flush at the end"}}}
	y := 1.6
	for x := 512.0; x <= 64<<20; x *= 2 {
		sweep.Lines[0].Points = append(sweep.Lines[0].Points, probe.Point{X: x, Y: y, Low: y * 0.97, High: y * 1.1, N: 3})
		sweep.Lines[1].Points = append(sweep.Lines[1].Points, probe.Point{X: x, Y: y * 0.9, Low: y * 0.9, High: y * 0.9, N: 1})
		if x < 16<<10 {
			y /= 2
		}
	}
	places := probe.Curve{Key: "map-read", Title: "Reading over the whole device", XName: "place", XUnit: "B", YName: "speed", YUnit: "B/s", Lines: []probe.Line{{}}}
	for i := range 128 {
		speed := 20e6
		if i > 90 && i < 100 {
			speed = 6e6
		}
		places.Lines[0].Points = append(places.Lines[0].Points, probe.Point{X: float64(i) * (128 << 20), Y: speed, N: 1})
	}
	return probe.Report{
		Format: 1, Storage: "/dev/mmcblk0", Identity: "0x1234abcd", Size: 16 << 30, Machine: "local", Kernel: "6.1.0",
		Clock: "wall", Version: "sample", Started: time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC), Seconds: 213.4, Wrote: true, Written: 1234 << 20, Effort: "normal", Seed: 7,
		Stated: []probe.Stated{{Name: "preferred_erase_size", Value: "4 MiB", From: "/sys/block/mmcblk0/device/preferred_erase_size"}},
		Findings: []probe.Finding{
			{Key: probe.PageSize, Name: "Page size", Value: 16 << 10, Unit: "B", Confidence: 0.97, Evidence: "a write of 512 B takes 812 µs and one of 16 KiB 815 µs; 32 KiB take 1.61 ms",
				Meaning: "Smaller writes cost as much as one of 16 KiB.", Curves: []string{"sweep-write"}},
			{Key: probe.SegmentSize, Name: "Segment size", Value: 4 << 20, Unit: "B", Confidence: 0.7, Evidence: "crossing a multiple of 4 MiB costs 140 µs more (12 of 12 pairs)"},
			{Key: probe.FATArea, Name: "FAT area", Unit: "B", Confidence: 0.9, Evidence: "small writes at the start take as long as elsewhere"},
			{Key: probe.WriteSpeed, Name: "Write speed", Value: 15.2e6, Unit: "B/s", Confidence: 0.95, Evidence: "64 MiB in 4.41 s"},
			{Key: probe.SlowZones, Name: "Slow zones", Text: "one, at 11.4 to 12.4 GiB", Confidence: 0.5, Evidence: "6.0 MB/s there against 20.0 MB/s", Curves: []string{"map-read"}},
			{Key: probe.Rotation, Name: "Rotation", Value: 90, Unit: "r/min", Text: "rotating", Confidence: 0.3, Evidence: "not to be believed"},
			{Key: probe.RandomRead, Name: "Random reads", Value: 1523.4, Unit: "1/s", Confidence: 1},
			{Key: probe.FastCache, Name: "Fast cache", Undetermined: "writing 2 GiB did not slow down, and no more was free"},
		},
		Curves:   []probe.Curve{places, sweep},
		Warnings: []string{"Real-time priority was not allowed: other programs may be in the figures."},
	}
}

func sampleAdvice() tune.Advice {
	return tune.Advise(sampleProbe(), []media.Place{{Name: "mmcblk0p1", Start: 4 << 20, Size: 1 << 30}, {Name: "mmcblk0p2", Start: 63 * 512, Size: 1 << 30}})
}

// writeProbe writes a probe for a terminal, or as a page if there is none.
func writeProbe(w io.Writer, r probe.Report, id string, s *TextOptions) error {
	d, err := ProbeDoc(r, id)
	if err != nil {
		return err
	}
	if s == nil {
		return doc.HTML(w, d)
	}
	return doc.Text(w, d, *s)
}

func TestProbeGolden(t *testing.T) {
	for name, s := range map[string]TextOptions{"probe.text": {}, "probe.ascii80": {Width: 80, ASCII: true}, "probe.summary": {Summary: true}} {
		var b bytes.Buffer
		if err := writeProbe(&b, sampleProbe(), "20260301-120000-abcd", &s); err != nil {
			t.Fatal(err)
		}
		golden(t, name, b.Bytes())
	}
	var b bytes.Buffer
	if err := writeProbe(&b, sampleProbe(), "20260301-120000-abcd", nil); err != nil {
		t.Fatal(err)
	}
	golden(t, "probe.html", b.Bytes())
}

func TestTuneGolden(t *testing.T) {
	var b bytes.Buffer
	if err := doc.Text(&b, TuneDoc(sampleAdvice()), TextOptions{}); err != nil {
		t.Fatal(err)
	}
	golden(t, "tune.text", b.Bytes())
}

// Names of devices and their evidence come from outside.
func TestHostileProbe(t *testing.T) {
	r := sampleProbe()
	n := 0
	poison(reflect.ValueOf(&r).Elem(), &n)
	for i := range r.Findings { // looked up by name
		r.Findings[i].Unit = sampleProbe().Findings[i].Unit
	}
	var text, page bytes.Buffer
	if err := writeProbe(&text, r, "x", &TextOptions{}); err != nil {
		t.Fatal(err)
	}
	if i := strings.IndexFunc(text.String(), func(r rune) bool { return r != '\n' && harmful(r) }); i >= 0 {
		t.Errorf("the text has a harmful character: %q", text.String()[max(0, i-20):i+20])
	}
	if err := writeProbe(&page, r, "<b>", nil); err != nil {
		t.Fatal(err)
	}
	ctx, w := browse(t, page.Bytes())
	if ask[bool](t, ctx, "window.pwned === true") {
		t.Error("the page runs what a device says")
	}
	w.check(t)
}

func TestProbePage(t *testing.T) {
	var page bytes.Buffer
	if err := writeProbe(&page, sampleProbe(), "20260301-120000-abcd", nil); err != nil {
		t.Fatal(err)
	}
	ctx, w := browse(t, page.Bytes())
	for _, width := range []int64{360, 1280} {
		look(t, ctx, chromium.View{Width: width, Height: 900})
		if out := ask[[]string](t, ctx, chromium.Overflowing); len(out) > 0 {
			t.Errorf("%d wide: sticks out: %q", width, out)
		}
	}
	if n := ask[int](t, ctx, "document.querySelectorAll('svg.curve path').length"); n < 20 {
		t.Errorf("%d paths: the curves are not drawn", n)
	}
	if s := ask[string](t, ctx, "getComputedStyle(document.querySelector('svg.curve text')).fill"); strings.Contains(s, "rgb(1, 2, 3)") || s == "none" {
		t.Errorf("text of a curve is painted %s", s)
	}
	if strings.Contains(page.String(), "#010203") || strings.Contains(page.String(), "#-") {
		t.Error("a colour of the drawing was left as it was")
	}
	w.check(t)
}

// Points that are not numbers, and curves without points, must not stop a
// report.
func TestOddCurves(t *testing.T) {
	zero := 0.0
	for name, lines := range map[string][]probe.Line{
		"none":         nil,
		"empty":        {{Name: "a"}},
		"one point":    {{Points: []probe.Point{{X: 1, Y: 1}}}},
		"not a number": {{Points: []probe.Point{{X: 1, Y: zero / zero}, {X: 2, Y: 1 / zero}, {X: 4, Y: 2}}}},
		"below zero":   {{Points: []probe.Point{{X: -1, Y: -1}, {X: 2, Y: 1}}}},
		"huge":         {{Points: []probe.Point{{X: 1, Y: 1e-300}, {X: 1e300, Y: 1e300}}}},
		"all zero":     {{Points: []probe.Point{{}, {}}}},
	} {
		for _, log := range []bool{true, false} {
			r := sampleProbe()
			r.Curves = []probe.Curve{{Key: "x", Title: name, XUnit: "B", YUnit: "s", LogX: log, LogY: log, Lines: lines}}
			if err := writeProbe(&bytes.Buffer{}, r, "", nil); err != nil {
				t.Errorf("%s: %v", name, err)
			}
			if err := writeProbe(&bytes.Buffer{}, r, "", &TextOptions{}); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
}
