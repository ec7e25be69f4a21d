package tune

import (
	"slices"
	"strings"
	"testing"

	"whichfs/internal/filesystem"
	"whichfs/internal/plan/media"
	"whichfs/internal/probe"
)

func card(more ...probe.Finding) probe.Report {
	r := probe.Report{Storage: "/dev/mmcblk0", Identity: "0x1234", Size: 16 << 30, Findings: []probe.Finding{
		{Key: probe.PageSize, Name: "Page size", Value: 16 << 10, Unit: "B", Confidence: 0.95},
		{Key: probe.SegmentSize, Name: "Segment size", Value: 4 << 20, Unit: "B", Confidence: 0.95},
	}}
	for _, f := range more {
		if i := slices.IndexFunc(r.Findings, func(x probe.Finding) bool { return x.Key == f.Key }); i >= 0 {
			r.Findings[i] = f
		} else {
			r.Findings = append(r.Findings, f)
		}
	}
	return r
}

func find(t *testing.T, a Advice, fs string) Make {
	t.Helper()
	for _, m := range a.Make {
		if m.Filesystem == fs {
			return m
		}
	}
	t.Fatalf("no advice for %s", fs)
	return Make{}
}

func TestAdvise(t *testing.T) {
	a := Advise(card(), []media.Place{{Name: "mmcblk0p1", Start: 4 << 20, Size: 1 << 30}, {Name: "mmcblk0p2", Start: 63 * 512, Size: 1 << 30}})
	if m := find(t, a, "ext4"); m.Candidate != "ext4 -E stride=4,stripe_width=1024" {
		t.Errorf("%+v", m)
	}
	if a.Partition.Start != 4<<20 || a.Partition.Step != 4<<20 {
		t.Errorf("%+v", a.Partition)
	}
	one, two := a.Partition.Today[0], a.Partition.Today[1]
	if !one.Aligned || one.To != 4<<20 {
		t.Errorf("%+v", one)
	}
	if two.Aligned || two.To != 512 || !strings.Contains(two.Text, "aligned to only 512 B") {
		t.Errorf("%+v", two)
	}
	if len(a.Warnings) != 1 || !strings.Contains(a.Warnings[0], "mmcblk0p2") {
		t.Errorf("%q", a.Warnings)
	}
	for _, m := range a.Make {
		if m.Reason == "" {
			t.Errorf("%s: no reason", m.Filesystem)
		}
		if _, err := filesystem.Parse(m.Candidate); m.Candidate != "" && err != nil {
			t.Error(err)
		}
	}
}

// A guess is no ground for an option.
func TestUnsure(t *testing.T) {
	r := card(probe.Finding{Key: probe.SegmentSize, Name: "Segment size", Value: 4 << 20, Unit: "B", Confidence: 0.5})
	a := Advise(r, nil)
	if m := find(t, a, "ext4"); m.Candidate != "" || a.Geometry.Segment != 0 {
		t.Errorf("%+v, %+v", m, a.Geometry)
	}
	if a.Partition.Step != safeStep || !strings.Contains(a.Partition.Reason, "unknown") {
		t.Errorf("%+v", a.Partition)
	}
	r = card(probe.Finding{Key: probe.SegmentSize, Name: "Segment size", Undetermined: "it shows none"})
	if a := Advise(r, nil); a.Geometry.Segment != 0 {
		t.Errorf("%+v", a.Geometry)
	}
}

func TestStartOfOddSegments(t *testing.T) {
	a := Advise(card(probe.Finding{Key: probe.SegmentSize, Name: "Segment size", Value: 1536 << 10, Unit: "B", Confidence: 1}), nil)
	if a.Partition.Start != 3<<20 {
		t.Errorf("start %d: must be a multiple of the segment and of 1 MiB", a.Partition.Start)
	}
}

func TestDiscard(t *testing.T) {
	for _, c := range []struct {
		f    probe.Finding
		use  string
		says string
	}{
		{probe.Finding{}, "no", "unknown"},
		{probe.Finding{Key: probe.DiscardCost, Undetermined: "the probe only read"}, "no", "the probe only read"},
		{probe.Finding{Key: probe.DiscardCost, Text: "unsupported", Confidence: 1}, "no", "neither"},
		{probe.Finding{Key: probe.DiscardCost, Value: 2, Unit: "s", Confidence: 1}, "no", "2.00 s"},
		{probe.Finding{Key: probe.DiscardCost, Value: 0.01, Unit: "s", Confidence: 1}, "as you like", "10.0 ms"},
	} {
		r := card()
		if c.f.Key != "" {
			r = card(c.f)
		}
		if m := discard(r); m.Use != c.use || !strings.Contains(m.Reason, c.says) {
			t.Errorf("%+v: %+v", c.f, m)
		}
	}
}
