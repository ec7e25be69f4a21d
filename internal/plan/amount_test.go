package plan

import (
	"testing"

	"whichfs/internal/plan/scenario"
)

// The amount of work follows from the steps: bytes in both directions, and what is done besides.
func TestAmount(t *testing.T) {
	p := Plan{Data: []scenario.Data{{Name: "tree", Kind: "tree", Size: 1000, Files: 10}, {Name: "stream", Kind: "stream", Size: 5000}}}
	for name, c := range map[string]struct {
		step scenario.Step
		want Amount
	}{
		"copies":       {scenario.Step{Work: "tree-copy", Data: "tree", Count: 3}, Amount{Written: 3000, Ops: 30}},
		"read":         {scenario.Step{Work: "tree-read", Data: "tree"}, Amount{Read: 1000, Ops: 10}},
		"rotated":      {scenario.Step{Work: "tree-rotate", Data: "tree", Count: 2}, Amount{Read: 2000, Written: 2000, Ops: 60}},
		"removed":      {scenario.Step{Work: "tree-remove", Dir: "copies"}, Amount{}},
		"stream":       {scenario.Step{Work: "stream-write", Data: "stream", Count: 2}, Amount{Written: 10_000, Ops: 2}},
		"filled":       {scenario.Step{Work: "fill", Data: "tree", Share: 0.5}, Amount{Written: 50_000, Ops: 500}},
		"file":         {scenario.Step{Work: "file-rewrite", Size: 80_000, Block: 1000}, Amount{Read: 80_000, Written: 80_000, Ops: 10}},
		"seeks":        {scenario.Step{Work: "seeks", Size: 80_000, Block: 1000, Ops: 7}, Amount{Ops: 7}},
		"empty files":  {scenario.Step{Work: "meta-create", Files: 9}, Amount{Ops: 9}},
		"fio reads":    {scenario.Step{Work: "fio", Size: 8000, Job: "[a]\nrw=randread\nblocksize=4k\nio_size=40960\n"}, Amount{Read: 40_960, Ops: 10}},
		"fio writes":   {scenario.Step{Work: "fio", Size: 8192, Job: "[a]\nrw=write\nblocksize=4k\n"}, Amount{Written: 8192, Ops: 2}},
		"rest":         {scenario.Step{Work: "settle", Count: 60}, Amount{Rest: 60}},
		"daemon's":     {scenario.Step{Work: "settle", Count: 60, Only: "daemon"}, Amount{}},
		"unknown data": {scenario.Step{Work: "tree-copy", Data: "other"}, Amount{}},
	} {
		if got := p.Amount(scenario.Scenario{c.step}, 100_000); got != c.want {
			t.Errorf("%s: %+v, want %+v", name, got, c.want)
		}
	}
}
