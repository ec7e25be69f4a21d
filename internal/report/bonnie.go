package report

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"

	"whichfs/internal/judge/verdict"
	"whichfs/internal/plan/scenario"
	"whichfs/internal/result"
)

// writeBonnie writes CSV of format 1.98, which Bonnie++ 1.98 to 2.00 prints and
// bon_csv2html reads: a header line, then one line per trial that counts and
// did any of its tests. Fields are in the order that bon_csv2html reads
// (Bonnie++ itself writes the number of directories one field later).
//
// The name is the candidate with its variant. Commas would end a field, and
// bon_csv2html copies names into a page unescaped: commas and markup become
// spaces. Rates are in KiB, operations or files a second; as in Bonnie++ a test
// of less than half a second has "+++++" in place of a rate, and one that was
// not run has an empty field. The tests of single characters are never run.
func writeBonnie(w io.Writer, v verdict.Verdict, trials []result.Trial) error {
	b := bufio.NewWriter(w)
	if v.Run.Counts() {
		// Every reader skips a line that begins like the header.
		fmt.Fprintln(b, "format_version,none: this run counts instructions and has no rates")
		return b.Flush()
	}
	fmt.Fprintln(b, strings.Join(bonnieHead(), ","))
	shape := bonnieShape(v.Run.Plan)
	for _, t := range result.Counted(trials) {
		if fields, any := shape.line(v.Run, t); any {
			fmt.Fprintln(b, strings.Join(fields, ","))
		}
	}
	return b.Flush()
}

// Tests of Bonnie++ in the order of the fields.
const (
	bonnieChars = iota // never run
	bonnieWrite
	bonnieRewrite
	bonnieGetChars // never run
	bonnieRead
	bonnieSeeks
	bonnieFiles // the first of six
	bonnieTests = bonnieFiles + 6
)

var bonnieNames = [bonnieTests]string{
	"putc", "put_block", "rewrite", "getc", "get_block", "seeks",
	"seq_create", "seq_stat", "seq_del", "ran_create", "ran_stat", "ran_del",
}

// bonnieOf says which test a step is, or -1.
func bonnieOf(s scenario.Step) int {
	at := map[string]int{
		"file-write": bonnieWrite, "file-rewrite": bonnieRewrite, "file-read": bonnieRead, "seeks": bonnieSeeks,
		"meta-create": bonnieFiles, "meta-stat": bonnieFiles + 1, "meta-delete": bonnieFiles + 2,
	}
	test, ok := at[s.Work]
	if !ok || s.Phase == "" {
		return -1
	}
	if test >= bonnieFiles && s.Order == scenario.OrderRandom {
		test += 3
	}
	return test
}

func bonnieHead() []string {
	head := []string{"format_version", "bonnie_version", "name", "concurrency", "seed", "file_size", "io_chunk_size", "num_seeks", "seek_proc_count"}
	pair := func(name string) { head = append(head, name, name+"_cpu") }
	for _, name := range bonnieNames[:bonnieFiles] {
		pair(name)
	}
	head = append(head, "num_files", "max_size", "min_size", "num_dirs", "file_chunk_size")
	for _, name := range bonnieNames[bonnieFiles:] {
		pair(name)
	}
	for _, name := range bonnieNames {
		head = append(head, name+"_latency")
	}
	return head
}

// bonniePlan is the part of a run's plan that sets the amount of work.
type bonniePlan struct {
	ReadWrite scenario.Scenario `json:"read_write"`
	Factors   []scenario.Factor `json:"factors"`
}

func bonnieShape(text []byte) bonniePlan {
	var p bonniePlan
	if json.Unmarshal(text, &p) != nil {
		return bonniePlan{} // a run without its plan has unknown steps
	}
	return p
}

// steps are the tests of a trial: for each, the first step that runs it.
func (p bonniePlan) steps(variant string) [bonnieTests]scenario.Step {
	steps := p.ReadWrite
	for _, f := range p.Factors {
		if i := slices.IndexFunc(f.Levels, func(l scenario.Variant) bool { return l.Name == variant }); i >= 0 && variant != "" {
			steps = f.Levels[i].Apply(steps)
		}
	}
	var tests [bonnieTests]scenario.Step
	for _, s := range steps {
		if at := bonnieOf(s); at >= 0 && tests[at].Work == "" {
			tests[at] = s
		}
	}
	return tests
}

// line returns the fields of a trial, and whether it ran any of the tests.
func (p bonniePlan) line(run result.Run, t result.Trial) ([]string, bool) {
	tests := p.steps(t.Variant)
	var rates, latencies [bonnieTests]string
	var cpus [bonnieTests]string
	any := false
	for i, s := range tests {
		if s.Work == "" {
			continue
		}
		f := figuresIn(t, s.Phase)
		rates[i], cpus[i] = bonnieRate(f, i)
		latencies[i] = bonnieLatency(f)
		any = any || rates[i] != ""
	}
	name := t.Candidate
	if t.Variant != "" {
		name += " [" + t.Variant + "]"
	}
	fields := []string{"1.98", bonnieText("whichfs " + run.Version), bonnieText(name), "1", strconv.FormatUint(run.Seed, 10),
		bonnieSize(tests[bonnieWrite].Size), bonnieChunk(tests[bonnieWrite].Block), bonnieCount(tests[bonnieSeeks].Ops), bonnieCount(tests[bonnieSeeks].Jobs)}
	for i := range bonnieFiles {
		fields = append(fields, rates[i], cpus[i])
	}
	files := ""
	if n := tests[bonnieFiles].Files; n > 0 { // counted in units of 1024
		files = strconv.FormatFloat(math.Round(float64(n)/1.024)/1000, 'f', -1, 64)
	}
	dirs := ""
	if n := tests[bonnieFiles].Dirs; n > 1 {
		dirs = strconv.Itoa(n)
	}
	fields = append(fields, files, "", "", dirs, "")
	for i := bonnieFiles; i < bonnieTests; i++ {
		fields = append(fields, rates[i], cpus[i])
	}
	return append(fields, latencies[:]...), any
}

// figuresIn returns the figures of a phase by metric, without absent ones.
func figuresIn(t result.Trial, phase string) map[string]float64 {
	f := map[string]float64{}
	for _, m := range t.Measurements {
		if m.Phase == phase && m.Absent == "" && !math.IsNaN(m.Value) && !math.IsInf(m.Value, 0) {
			f[m.Metric] = m.Value
		}
	}
	return f
}

// bonnieLeast is the time, in seconds, below which no rate is given.
const bonnieLeast = 0.5

func bonnieRate(f map[string]float64, test int) (rate, cpu string) {
	metric, scale := result.DataFiles, 1.0
	switch {
	case test == bonnieSeeks:
		metric = result.Ops
	case test < bonnieFiles:
		metric, scale = result.DataBytes, 1024
	}
	wall, done := f[result.Wall], f[metric]
	if wall <= 0 || done <= 0 {
		return "", ""
	}
	if wall < bonnieLeast {
		return "+++++", "+++"
	}
	decimals, each := 0, done/scale/wall
	if test == bonnieSeeks && each < 1000 {
		decimals = 1
	} else {
		each = math.Floor(each)
	}
	user, known := f[result.CPUUser]
	system, too := f[result.CPUSystem]
	if known && too {
		cpu = strconv.Itoa(int(100 * (user + system) / wall))
	}
	return strconv.FormatFloat(each, 'f', decimals, 64), cpu
}

// bonnieLatency is the longest time of one operation, as Bonnie++ writes it.
func bonnieLatency(f map[string]float64) string {
	switch s := f[result.LatMax]; {
	case s <= 0:
		return ""
	case s > 99.999999:
		return strconv.Itoa(int(s)) + "s"
	case s > 0.099999:
		return strconv.Itoa(int(s*1e3)) + "ms"
	default:
		return strconv.Itoa(int(s*1e6)) + "us"
	}
}

// bonnieSize formats a file's size in MiB, or in GiB if that is a whole number.
func bonnieSize(bytes int64) string {
	switch {
	case bytes == 0:
		return ""
	case bytes%(1<<30) == 0:
		return strconv.FormatInt(bytes>>30, 10) + "G"
	}
	return strconv.FormatFloat(float64(bytes)/(1<<20), 'f', -1, 64) + "M"
}

// bonnieChunk is empty for Bonnie++'s own default.
func bonnieChunk(bytes int64) string {
	switch {
	case bytes == 0 || bytes == 8<<10:
		return ""
	case bytes%1024 == 0:
		return strconv.FormatInt(bytes>>10, 10) + "k"
	}
	return strconv.FormatInt(bytes, 10)
}

func bonnieCount(n int) string {
	if n == 0 {
		return ""
	}
	return strconv.Itoa(n)
}

// bonnieText makes text safe as a field, and in a page.
func bonnieText(s string) string {
	return strings.Map(func(r rune) rune {
		if strings.ContainsRune(`,<>&"'`, r) {
			return ' '
		}
		return r
	}, clean(s))
}
