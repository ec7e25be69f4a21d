package report

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"whichfs/internal/judge/verdict"
	"whichfs/internal/plan/scenario"
	"whichfs/internal/result"
	"whichfs/internal/sys/command"
)

// bonnieRun has every test of Bonnie++ and a level with a tenth of the files.
func bonnieRun(t *testing.T) result.Run {
	t.Helper()
	steps := scenario.Scenario{
		{Work: "mkfs", Phase: "mkfs"},
		{Work: "file-write", Dir: "discarded", Size: 1 << 20}, // not measured
		{Work: "file-write", Phase: "out", Size: 32 << 20, Block: 8 << 10},
		{Work: "file-rewrite", Phase: "over", Size: 32 << 20},
		{Work: "file-read", Phase: "in", Size: 32 << 20},
		{Work: "seeks", Phase: "seeks", Ops: 128, Jobs: 5},
	}
	for _, order := range []string{scenario.OrderSequential, scenario.OrderRandom} {
		for _, work := range []string{"create", "stat", "delete"} {
			steps = append(steps, scenario.Step{Work: "meta-" + work, Phase: order + "-" + work, Order: order, Files: 20480, Dirs: 20})
		}
	}
	text, err := json.Marshal(map[string]any{
		"read_write": steps,
		"factors":    []scenario.Factor{{Name: "mount options", Levels: []scenario.Variant{{Name: "noatime,dirsync", Files: 0.1}}}},
	})
	if err != nil {
		t.Fatal(err)
	}
	return result.Run{Version: "1.2,3", Seed: 42, Plan: text}
}

func bonnieTrials() []result.Trial {
	figures := func(phase, metric string, done, wall, longest float64) []result.Measurement {
		return []result.Measurement{
			{Phase: phase, Metric: result.Wall, Value: wall, Unit: "s"},
			{Phase: phase, Metric: metric, Value: done},
			{Phase: phase, Metric: result.CPUUser, Value: wall / 10, Unit: "s"},
			{Phase: phase, Metric: result.CPUSystem, Value: wall / 5, Unit: "s"},
			{Phase: phase, Metric: result.LatMax, Value: longest, Unit: "s"},
		}
	}
	whole := result.Trial{Candidate: "ext4 -O ^has_journal", Outcome: result.Done, Measurements: slices.Concat(
		figures("mkfs", result.DataBytes, 1, 1, 1),
		figures("out", result.DataBytes, 32<<20, 2.5, 1.25),
		figures("over", result.DataBytes, 32<<20, 8.0, 120.5),
		figures("in", result.DataBytes, 32<<20, 0.3, 0.0042), // too fast
		figures("seeks", result.Ops, 128, 4.0, 0.0625),
		figures("sequential-create", result.DataFiles, 20480, 5.0, 0.001),
		figures("sequential-stat", result.DataFiles, 20480, 0.6, 0.002),
		figures("random-create", result.DataFiles, 20480, 10.0, 0.003),
		figures("random-delete", result.DataFiles, 20480, 100.0, 0.004),
		[]result.Measurement{{Phase: "sequential-delete", Metric: result.Wall, Absent: "not done"}},
	)}
	few := result.Trial{Candidate: "vfat", Variant: "noatime,dirsync", Outcome: result.Done,
		Measurements: slices.Concat(figures("sequential-create", result.DataFiles, 2048, 46.5, 0.2), figures("seeks", result.Ops, 128, 0.064, 0.01))}
	none := result.Trial{Candidate: "xfs", Outcome: result.Done, Measurements: figures("mkfs", result.DataBytes, 1, 1, 1)}
	failed := whole
	failed.Outcome, failed.Candidate = result.LabFailed, "failed"
	evil := few
	evil.Candidate, evil.Variant = "<b>x&y</b>, \"z\"\n", ""
	return []result.Trial{whole, few, none, failed, evil}
}

// The header is a superset of what bonnie++ 2.00a prints with -x 2 (it omits
// the seeks from the header but fills their two fields); the figures of the
// lines can be checked by hand: 32 MiB in 2.5 s are 13107.2 KiB/s.
func TestBonnieLines(t *testing.T) {
	var b strings.Builder
	if err := writeBonnie(&b, verdict.Verdict{Run: bonnieRun(t)}, bonnieTrials()); err != nil {
		t.Fatal(err)
	}
	const want = `format_version,bonnie_version,name,concurrency,seed,file_size,io_chunk_size,num_seeks,seek_proc_count,putc,putc_cpu,put_block,put_block_cpu,rewrite,rewrite_cpu,getc,getc_cpu,get_block,get_block_cpu,seeks,seeks_cpu,num_files,max_size,min_size,num_dirs,file_chunk_size,seq_create,seq_create_cpu,seq_stat,seq_stat_cpu,seq_del,seq_del_cpu,ran_create,ran_create_cpu,ran_stat,ran_stat_cpu,ran_del,ran_del_cpu,putc_latency,put_block_latency,rewrite_latency,getc_latency,get_block_latency,seeks_latency,seq_create_latency,seq_stat_latency,seq_del_latency,ran_create_latency,ran_stat_latency,ran_del_latency
1.98,whichfs 1.2 3,ext4 -O ^has_journal,1,42,32M,,128,5,,,13107,30,4096,30,,,+++++,+++,32.0,30,20,,,20,,4096,30,34133,30,,,2048,30,,,204,30,,1250ms,120s,,4200us,62500us,1000us,2000us,,3000us,,4000us
1.98,whichfs 1.2 3,vfat [noatime dirsync],1,42,32M,,128,5,,,,,,,,,,,+++++,+++,2,,,2,,44,30,,,,,,,,,,,,,,,,10000us,200ms,,,,,
1.98,whichfs 1.2 3, b x y /b    z  ,1,42,32M,,128,5,,,,,,,,,,,+++++,+++,20,,,20,,44,30,,,,,,,,,,,,,,,,10000us,200ms,,,,,
`
	if got := b.String(); got != want {
		t.Errorf("got:\n%s", got)
	}
	for _, line := range strings.Split(strings.TrimSpace(b.String()), "\n") {
		if n := strings.Count(line, ",") + 1; n != 50 {
			t.Errorf("%d fields, bon_csv2html knows 50: %s", n, line)
		}
	}
}

// A run without a plan, or with the plan of another run, has only the header.
func TestBonnieWithoutPlan(t *testing.T) {
	for _, text := range []string{"", "{", `{"read_write":[{"work":"tree-copy","phase":"out"}]}`} {
		var b strings.Builder
		if err := writeBonnie(&b, verdict.Verdict{Run: result.Run{Plan: []byte(text)}}, bonnieTrials()); err != nil || strings.Count(b.String(), "\n") != 1 {
			t.Errorf("%q: %v\n%s", text, err, b.String())
		}
	}
}

// The real bon_csv2html puts every figure in the cell of its test.
func TestBonnieInHTML(t *testing.T) {
	var b strings.Builder
	if err := writeBonnie(&b, verdict.Verdict{Run: bonnieRun(t)}, bonnieTrials()); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "bonnie.csv")
	if err := os.WriteFile(file, []byte(b.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	program, err := command.Look("bon_csv2html")
	if err != nil {
		t.Fatal(err)
	}
	ran, err := command.Run(t.Context(), command.Options{}, program, file)
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(ran.Stderr, "Can't process") {
		t.Errorf("it refuses a line: %s", ran.Stderr)
	}
	var rows [][]string
	cell, tag := regexp.MustCompile(`<td[^>]*>(.*?)</td>`), regexp.MustCompile(`<[^>]*>`)
	for _, row := range strings.Split(ran.Stdout, "<tr>")[1:] {
		var cells []string
		for _, m := range cell.FindAllStringSubmatch(row, -1) {
			cells = append(cells, tag.ReplaceAllString(m[1], ""))
		}
		rows = append(rows, cells)
	}
	got, err := json.MarshalIndent(rows, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	golden(t, "bonnie.cells.json", append(got, '\n'))
}
