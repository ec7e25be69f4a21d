package report

import (
	"slices"
	"strings"
	"testing"
	"time"

	"whichfs/internal/judge/verdict"
	"whichfs/internal/result"
)

func TestLoad(t *testing.T) {
	const said = "This machine was busy 38 % of the time; 11 of 30 trials were taken again."
	v, trials := sample()
	if v.Load != nil || strings.Contains(string(render(t, "html", v, trials)), "This machine was") {
		t.Fatal("the sample has a load")
	}
	v.Load = &verdict.Load{Share: 0.38, Trials: 30, Again: 11, Text: said, Marked: []verdict.MarkedPhase{
		{Candidate: "ext4", Phase: "write", Rounds: []int{1, 3}, Share: 0.41}, {Candidate: "xfs", Variant: "noatime", Phase: "read", Rounds: []int{2}, Share: 0.07}}}
	v.Warnings = append([]string{said}, v.Warnings...)
	v.Columns[0].Cells[0].Waited = 0.41
	marked := v.Columns[0].Cells[0].Candidate + " (41 %)"
	plain := func(name string) string { return strings.Join(strings.Fields(string(render(t, name, v, trials))), " ") }
	for name, wants := range map[string][]string{
		"text":    {said, "waited for other work of this machine, of their time at most: " + marked},
		"summary": {said},
		"html":    {said, "at most: erofs <span", "busy machine", "Phases measured while this machine was busy", "xfs [noatime]", "1, 3"},
		"json":    {`"again": 11`, `"waited": 0.41`, `"phase": "read", "rounds": [ 2 ], "share": 0.07`},
	} {
		got := plain(name)
		for _, want := range wants {
			if !strings.Contains(got, want) {
				t.Errorf("%s lacks %q", name, want)
			}
		}
	}
	// Of two attempts the page says which is left out, and the formats of figures have only the other.
	again := trials[0]
	again.Attempt, again.Measurements = 2, slices.Clone(again.Measurements)
	trials[0].Measurements = nil
	for _, m := range append(result.LoadFigures(time.Second, time.Second/2, 0, 0, "", ""), result.Figure(result.Wall, 123.5)) {
		trials[0].Measurements = append(trials[0].Measurements, m.In("write"))
	}
	trials = append(trials, again)
	if got := plain("html"); !strings.Contains(got, "disturbed: phase write waited 50 % of its time for a processor; left out") {
		t.Error("the page does not say what was left out")
	}
	if got := plain("gobench"); strings.Contains(got, "123.5") || strings.Count(got, "BenchmarkWrite") == 0 {
		t.Error("the benchmark format has a figure that does not count")
	}
	v.Load = &verdict.Load{Trials: 30, Absent: "this kernel does not count how long threads wait"}
	if got := plain("html"); !strings.Contains(got, "How busy this machine was is unknown: this kernel does not count how long threads wait.") {
		t.Error("the page does not say that the load is unknown")
	}
}
