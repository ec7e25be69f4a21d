package report

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/parquet-go/parquet-go"
	"golang.org/x/perf/benchfmt"

	"whichfs/internal/judge/verdict"
	"whichfs/internal/result"
)

// exported are two runs in one file.
func exported(t *testing.T, name string, v verdict.Verdict, trials []result.Trial) string {
	t.Helper()
	f, ok := ByName(name)
	if !ok || f.Export == nil {
		t.Fatalf("no export %q", name)
	}
	var b bytes.Buffer
	e := f.Export(&b)
	second := v
	second.Run.ID, second.Run.Scale = "second", ""
	for _, one := range []verdict.Verdict{v, second} {
		if !f.Judged {
			one = verdict.Verdict{Run: one.Run}
		}
		if err := e.Add(one, trials); err != nil {
			t.Fatal(err)
		}
	}
	if err := e.Close(); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// A Parquet file has what the CSV has, also of hostile runs.
func TestParquetHasWhatTheCSVHas(t *testing.T) {
	for _, make := range []func() (verdict.Verdict, []result.Trial){sample, hostile} {
		v, trials := make()
		file := exported(t, "parquet", v, trials)
		if again := exported(t, "parquet", v, trials); again != file {
			t.Error("the same runs do not give the same bytes")
		}
		rows, err := parquet.Read[ParquetRow](strings.NewReader(file), int64(len(file)))
		if err != nil {
			t.Fatal(err)
		}
		want, err := csv.NewReader(strings.NewReader(exported(t, "csv", v, trials))).ReadAll()
		if err != nil {
			t.Fatal(err)
		}
		if len(rows) != len(want)-1 {
			t.Fatalf("%d rows, %d in the CSV", len(rows), len(want)-1)
		}
		plain := func(s string) string { return strings.ReplaceAll(s, "\r\n", "\n") } // as the reader of CSV has it
		for i, r := range rows {
			value, absent := "", ""
			if r.Value != nil {
				value = strconv.FormatFloat(*r.Value, 'g', -1, 64)
			}
			if r.Absent != nil {
				absent = *r.Absent
			}
			started := ""
			if r.Started != nil {
				started = csvTime(*r.Started)
			}
			is := []string{r.Run, r.Study, r.Scale, r.Machine, r.Storage, strconv.Itoa(int(r.Round)), strconv.Itoa(int(r.Place)), r.Candidate, strconv.Itoa(int(r.Attempt)), r.Outcome,
				started, r.Phase, r.Metric, value, r.Unit, absent, r.Variant}
			for k := range is {
				if plain(is[k]) != plain(want[i+1][k]) {
					t.Fatalf("row %d, %s: %q, in the CSV %q", i, want[0][k], is[k], want[i+1][k])
				}
			}
		}
	}
}

// The grammar of OpenMetrics 1.0, as far as gauges take it.
var (
	openMetricsSample = regexp.MustCompile(`^([a-z_]+)\{(?:[a-z]+="(?:[^"\\\n]|\\["\\n])*",?)+\} [-+]?\d[\d.e+-]*( \d+\.\d{3})?$`)
	openMetricsType   = regexp.MustCompile(`^# TYPE ([a-z_]+) gauge$`)
	openMetricsHelp   = regexp.MustCompile(`^# HELP ([a-z_]+) .+$`)
)

func TestOpenMetrics(t *testing.T) {
	for _, make := range []func() (verdict.Verdict, []result.Trial){sample, hostile} {
		v, trials := make()
		text, ok := strings.CutSuffix(exported(t, "openmetrics", v, trials), "# EOF\n")
		if !ok {
			t.Fatal("the end is missing")
		}
		family, seen, figures := "", map[string]bool{}, map[string]bool{}
		for line := range strings.Lines(text) {
			line = strings.TrimSuffix(line, "\n")
			if m := openMetricsType.FindStringSubmatch(line); m != nil {
				if seen[m[1]] {
					t.Errorf("family %s is in two places", m[1])
				}
				family, seen[m[1]] = m[1], true
				continue
			}
			if m := openMetricsHelp.FindStringSubmatch(line); m != nil && m[1] == family {
				continue
			}
			m := openMetricsSample.FindStringSubmatch(line)
			if m == nil || m[1] != family {
				t.Fatalf("not a sample of %s: %q", family, line)
			}
			name := line[:strings.LastIndex(line, "} ")]
			if figures[name] {
				t.Errorf("twice: %s", name)
			}
			figures[name] = true
		}
		if len(figures) < 100 {
			t.Errorf("%d figures", len(figures))
		}
	}
	v, _ := sample()
	var b bytes.Buffer
	if err := Metrics(&b, []verdict.Verdict{v}); err != nil {
		t.Fatal(err)
	}
	c := v.Columns[0].Cells[0]
	want := `measure="` + v.Columns[0].Key + `",unit="s",candidate="` + c.Candidate + `"} ` + strconv.FormatFloat(c.Estimate.Value, 'g', -1, 64) + "\n"
	if !strings.Contains(b.String(), want) {
		t.Errorf("no sample has %s", want)
	}
}

var lavaSignal = regexp.MustCompile(`^<LAVA_SIGNAL_(TESTSET START \S+|TESTSET STOP|TESTCASE TEST_CASE_ID=[\w.=+-]+ RESULT=(pass|fail|skip|unknown)( UNITS=\w+ MEASUREMENT=-?\d+(\.\d+)?)?)>$`)

func TestLAVA(t *testing.T) {
	for _, make := range []func() (verdict.Verdict, []result.Trial){sample, hostile} {
		v, trials := make()
		seen := map[string]bool{}
		for line := range strings.Lines(exported(t, "lava", v, trials)) {
			line = strings.TrimSuffix(line, "\n")
			if !lavaSignal.MatchString(line) {
				t.Errorf("not a signal: %q", line)
			}
			if strings.Contains(line, "TESTSET START") {
				seen = map[string]bool{}
			}
			if name, _, ok := strings.Cut(strings.TrimPrefix(line, "<LAVA_SIGNAL_TESTCASE "), " "); ok && strings.Contains(line, "TESTCASE") {
				if seen[name] {
					t.Errorf("twice in a set: %s", name)
				}
				seen[name] = true
			}
		}
	}
}

func TestExportsOfSeveralRuns(t *testing.T) {
	v, trials := sample()
	var list []Document
	if err := json.Unmarshal([]byte(exported(t, "json", v, trials)), &list); err != nil || len(list) != 2 || list[1].Verdict.Run.ID != "second" || len(list[0].Trials) != len(trials) {
		t.Errorf("JSON: %v, %d documents", err, len(list))
	}
	var none bytes.Buffer
	if err := newJSONList(&none).Close(); err != nil || !json.Valid(none.Bytes()) {
		t.Errorf("JSON of no runs: %q, %v", none.String(), err)
	}
	runs := map[string][]string{}
	r := benchfmt.NewReader(strings.NewReader(exported(t, "gobench", v, trials)), "file")
	for r.Scan() {
		if one, ok := r.Result().(*benchfmt.Result); ok {
			id, scale := one.GetConfig("run"), one.GetConfig("scale")
			if !slices.Contains(runs[id], scale) {
				runs[id] = append(runs[id], scale)
			}
		}
	}
	// What the second run lacks does not stay from the first.
	if len(runs) != 2 || !slices.Equal(runs["second"], []string{""}) || !slices.Equal(runs[v.Run.ID], []string{v.Run.Scale}) {
		t.Errorf("benchmarks of runs %v", runs)
	}
	for _, f := range All {
		if f.Export == nil {
			continue
		}
		e := f.Export(&brokenPipe{})
		if err := e.Add(v, trials); err == nil {
			if err = e.Close(); err == nil {
				t.Errorf("%s: no error although nothing can be written", f.Name)
			}
		}
	}
}
