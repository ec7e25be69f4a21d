package report

import (
	"strings"
	"testing"

	"whichfs/internal/judge/verdict"
	"whichfs/internal/report/doc"
)

// A column with figures of 0 and below shows differences from the best, and no
// ratio and no grade.
func TestAdditiveColumn(t *testing.T) {
	cell := func(name string, v, more float64) verdict.Cell {
		return verdict.Cell{Candidate: name, Estimate: verdict.Interval{Value: v, Low: v - 1<<20, High: v + 1<<20, N: 3}, RankLow: 1, RankHigh: 2,
			Difference: &verdict.Interval{Value: more, Low: more - 1<<20, High: more + 1<<20, N: 3}}
	}
	col := verdict.Column{Key: "memory", Name: "Memory", Unit: "B", Additive: true, Cells: []verdict.Cell{cell("ext4", -1<<20, 0), cell("xfs", 3<<20, 4<<20)}}
	v := verdict.Verdict{Candidates: []verdict.Candidate{{Name: "ext4", Done: 3}, {Name: "xfs", Done: 3}}, Columns: []verdict.Column{col}, Trials: verdict.Trials{Done: 6}}
	d, err := VerdictDoc(v, nil)
	if err != nil {
		t.Fatal(err)
	}
	var text, page strings.Builder
	for _, err := range []error{doc.Text(&text, d, TextOptions{Width: 120}), doc.HTML(&page, d)} {
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, want := range []string{"−1.0 MiB ±1.0", "3.0 MiB (2.0–4.0)"} {
		if !strings.Contains(text.String(), want) {
			t.Errorf("the text lacks %q:\n%s", want, text.String())
		}
	}
	for _, want := range []string{"+<wbr>4.00 MiB", "+<wbr>0 B"} {
		if !strings.Contains(page.String(), want) {
			t.Errorf("the page lacks %q", want)
		}
	}
	if row := matrixRow(col, []string{"ext4", "xfs"}); row.Cells[2].Text != "+0 B" || row.Cells[3].Text != "+4.00 MiB" {
		t.Errorf("%+v", row)
	}
	for _, bad := range []string{"0×", "NaN"} {
		if strings.Contains(text.String(), bad) {
			t.Errorf("the text has %q:\n%s", bad, text.String())
		}
	}
}
