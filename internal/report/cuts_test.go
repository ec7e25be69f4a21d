package report

import (
	"strings"
	"testing"

	"whichfs/internal/judge/verdict"
)

func TestCutsAreReported(t *testing.T) {
	v, trials := sample()
	v.Cuts = &verdict.Cuts{About: "Each cut kills a guest.", Rows: []verdict.CutRow{
		{Candidate: "ubifs", Cuts: 20, Mounted: 20, Promises: 2310, Whole: 1502,
			Mount: verdict.Figure{Unit: "s", Estimate: verdict.Interval{Value: 0.12}}, MountLongest: verdict.Figure{Unit: "s", Estimate: verdict.Interval{Value: 0.34}}},
		{Candidate: "ext2", Cuts: 20, Promises: 1200, Lost: 77, WithLoss: 20,
			Mount: verdict.Figure{Unit: "s", Absent: "it could not be mounted after any cut"}, MountLongest: verdict.Figure{Unit: "s", Absent: "it could not be mounted after any cut"}},
	}}
	var text, page strings.Builder
	if err := Text(&text, v, TextOptions{Width: 100}); err != nil {
		t.Fatal(err)
	}
	if err := writeHTML(&page, v, trials); err != nil {
		t.Fatal(err)
	}
	for name, got := range map[string]string{"text": text.String(), "page": page.String()} {
		for _, want := range []string{"Power cuts in mid-write", "Promises", "ubifs", "2310", "120 ms", "340 ms", "77", "it could not be mounted after any cut", "Each cut kills a guest."} {
			if !strings.Contains(got, want) {
				t.Errorf("%s: %q is missing", name, want)
			}
		}
	}
}
