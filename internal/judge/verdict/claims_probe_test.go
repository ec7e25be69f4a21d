package verdict

import (
	"strings"
	"testing"

	"whichfs/internal/plan/study"
	"whichfs/internal/probe"
	"whichfs/internal/result"
)

func TestCheckFinding(t *testing.T) {
	found := func(key string, value float64, unit string, confidence float64) probe.Finding {
		return probe.Finding{Key: key, Name: "Thing " + key, Value: value, Unit: unit, Confidence: confidence}
	}
	r := &probe.Report{Findings: []probe.Finding{
		found(probe.SmallWrites, 1.9, "1", 0.95), found(probe.LargeWrites, 1.4, "1", 0.95), found(probe.SegmentSize, 8<<20, "B", 0.7),
		found(probe.BestReadBlock, 4<<20, "B", 0.95), found(probe.FATArea, 0, "B", 0.5), found(probe.PageSize, 4096, "B", 1),
		{Key: probe.FastCache, Name: "Fast cache", Undetermined: "too small a device"}, {Key: probe.Rotation, Name: "Rotation", Text: "solid state", Confidence: 1},
	}}
	for _, c := range []struct {
		k    study.FindingCheck
		r    *probe.Report
		want string
		says string
	}{
		{study.FindingCheck{Key: probe.SmallWrites, Low: 1.25}, r, Agrees, "1.90 (sure)"},
		{study.FindingCheck{Key: probe.LargeWrites, High: 1.1}, r, Disagrees, "1.40"},
		{study.FindingCheck{Key: probe.SegmentSize, High: 4 << 20}, r, Disagrees, "8.00 MiB (likely)"},
		{study.FindingCheck{Key: probe.BestReadBlock, Of: probe.SegmentSize, Low: 0.5, High: 2}, r, Agrees, "0.50× of thing segment-size"},
		{study.FindingCheck{Key: probe.BestReadBlock, Of: probe.FastCache, Low: 0.5, High: 2}, r, NotTested, "too small a device"},
		{study.FindingCheck{Key: probe.BestReadBlock, Of: probe.FATArea, Low: 0.5, High: 2}, r, NotTested, ""},
		{study.FindingCheck{Key: probe.FATArea, Zero: true}, r, Undecided, "none (unsure)"},
		{study.FindingCheck{Key: probe.PageSize, Zero: true}, r, Disagrees, "4.00 KiB"},
		{study.FindingCheck{Key: probe.FastCache, Zero: true}, r, NotTested, "too small a device"},
		{study.FindingCheck{Key: probe.Rotation, Text: "solid"}, r, Agrees, "solid state"},
		{study.FindingCheck{Key: probe.Rotation, Text: "rotating"}, r, Disagrees, "solid state"},
		{study.FindingCheck{Key: probe.OpenLinear, Low: 1}, r, NotTested, "not measured"},
		{study.FindingCheck{Key: probe.SmallWrites, Low: 1.25}, nil, NotTested, "whichfs probe sim:x"},
	} {
		f := &figures{run: result.Run{Storage: "sim:x"}, beside: Beside{Probe: c.r}}
		out := Claim{Result: NotTested}
		f.checkFinding(&out, c.k)
		if out.Result != c.want || !strings.Contains(out.Figures, c.says) {
			t.Errorf("%+v: %s, %q; want %s, %q", c.k, out.Result, out.Figures, c.want, c.says)
		}
	}
}
