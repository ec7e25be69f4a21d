package report

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"encoding/xml"
	"io"
	"maps"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"

	"charm.land/lipgloss/v2"
	"github.com/chromedp/chromedp"
	"github.com/google/go-cmp/cmp"
	"golang.org/x/perf/benchfmt"

	"whichfs/internal/judge/verdict"
	"whichfs/internal/judge/verdict/toy"
	"whichfs/internal/report/chromium"
	"whichfs/internal/result"
)

// toyRun is a made-up run of a study with factors, published figures, choices,
// and rounds that ended once the questions were settled.
func toyRun(t *testing.T, r toy.Run) (verdict.Verdict, []result.Trial) {
	t.Helper()
	run, trials, st := r.Make()
	v, err := verdict.Compute(run, nil, trials, st, verdict.Beside{})
	if err != nil {
		t.Fatal(err)
	}
	return v, trials
}

// toySample is the run behind the golden files: it ends once the questions are
// settled, and leaves out candidates that can no longer win.
func toySample(t *testing.T) (verdict.Verdict, []result.Trial) {
	run, all, st := toy.Run{Seed: 6, Noise: 0.06, Until: true, Rounds: 20, Drift: 0.1, Questions: []string{"read"}, Change: func(x *result.Trial) bool {
		if x.Candidate != toy.Ext4 || x.Variant != toy.Shifted {
			return true
		}
		for i := range x.Measurements {
			if m := &x.Measurements[i]; m.Phase == "create" && m.Metric == result.Wall {
				m.Value /= 1.6
			}
		}
		return true
	}}.Make()
	var trials []result.Trial
	for round := 1; round <= run.Rounds; round++ {
		s := verdict.Settle(run, trials, st, []string{"read"}, run.Rounds)
		if s.Done {
			break
		}
		for _, x := range all {
			if _, gone := s.Dropped[x.Candidate]; x.Round == round && !gone {
				trials = append(trials, x)
			}
		}
	}
	run.Active, run.Ended = 40*float64(len(trials)), trials[len(trials)-1].Ended
	v, err := verdict.Compute(run, nil, trials, st, verdict.Beside{})
	if err != nil {
		t.Fatal(err)
	}
	return v, trials
}

func TestToyGolden(t *testing.T) {
	v, trials := toySample(t)
	for _, name := range []string{"text", "summary", "html", "junit"} {
		golden(t, "toy."+name, render(t, name, v, trials))
	}
	golden(t, "toy.json", render(t, "json", v, nil))
	var b bytes.Buffer
	if err := Text(&b, v, TextOptions{Width: 80, ASCII: true}); err != nil {
		t.Fatal(err)
	}
	golden(t, "toy.ascii80", b.Bytes())
}

// toySeries is a series over the three storages of the study.
func toySeries(t *testing.T) verdict.SeriesVerdict {
	t.Helper()
	var all []verdict.Verdict
	for i, on := range []string{toy.Card, toy.SSD, toy.Disk} {
		v, _ := toyRun(t, toy.Run{Storage: on, Seed: uint64(i + 1), Rounds: 4, Noise: 0.04})
		all = append(all, v)
	}
	return verdict.Series("20200102-030405-toy", all, toy.Study())
}

func TestSeriesGolden(t *testing.T) {
	v := toySeries(t)
	for name, write := range map[string]func(*bytes.Buffer) error{
		"series.text":    func(b *bytes.Buffer) error { return SeriesText(b, v, TextOptions{}) },
		"series.ascii80": func(b *bytes.Buffer) error { return SeriesText(b, v, TextOptions{Width: 80, ASCII: true}) },
		"series.summary": func(b *bytes.Buffer) error { return SeriesText(b, v, TextOptions{Summary: true}) },
		"series.html":    func(b *bytes.Buffer) error { return writeSeriesHTML(b, v) },
	} {
		var b bytes.Buffer
		if err := write(&b); err != nil {
			t.Fatal(err)
		}
		golden(t, name, b.Bytes())
	}
}

// hostileToy is the sample with hostile strings in every place, and figures
// that are not finite.
func hostileToy(t *testing.T) (verdict.Verdict, []result.Trial) {
	v, trials := toySample(t)
	spoil(&v)
	n := 0
	poison(reflect.ValueOf(&v).Elem(), &n)
	calm, _ := toySample(t) // units are of the study's own code, not from outside
	for i := range v.Columns {
		v.Columns[i].Unit, v.Columns[i].RateUnit = calm.Columns[i].Unit, calm.Columns[i].RateUnit
	}
	for i := range v.Extra {
		v.Extra[i].Unit = calm.Extra[i].Unit
	}
	for name := range v.Settling.Dropped {
		v.Settling.Dropped[hostileStrings[0]+name] = 2
	}
	for i := range trials {
		poison(reflect.ValueOf(&trials[i]).Elem(), &n)
	}
	return v, trials
}

// spoil puts invalid figures into new places.
func spoil(v *verdict.Verdict) {
	v.Effects[0].Levels[0].Effects[0].Ratio.High = math.Inf(1)
	v.Effects[0].Levels[1].Effects[1].Ratio.Value = math.NaN()
	v.Effects[1].Levels[0].Effects[0].Candidates[0].Ratio = verdict.Interval{}
	v.Numbers.Tables[0].Cells[0].Measured.Low = math.NaN()
	v.Numbers.Tables[0].Cells[1].Ratio.Value = math.Inf(1)
	v.Numbers.Tables[1].Labels = nil
	v.Numbers.Card.Tau = math.NaN()
	v.Costs.Rows[0].PerByte.Estimate.Value = math.NaN()
	v.Columns[0].Cells[0].Rate.Value = math.Inf(-1)
}

func hostileSeries(t *testing.T) verdict.SeriesVerdict {
	v := toySeries(t)
	for i := range v.Storages {
		one := v.Storages[i].Verdict
		one.Numbers.Tables[0].Cells[0].Ratio.Value = math.NaN()
		one.Costs = nil
	}
	v.Numbers.Tables[0].Median.Value = math.Inf(1)
	n := 0
	poison(reflect.ValueOf(&v).Elem(), &n)
	return v
}

func TestHostileToy(t *testing.T) {
	v, trials := hostileToy(t)
	series := hostileSeries(t)
	for _, s := range []TextOptions{{Width: 80}, {Width: 80, ASCII: true}, {Width: 1}, {Width: 100, Color: true}} {
		for name, write := range map[string]func(*bytes.Buffer) error{
			"run":    func(b *bytes.Buffer) error { return Text(b, v, s) },
			"series": func(b *bytes.Buffer) error { return SeriesText(b, series, s) },
		} {
			var b bytes.Buffer
			if err := write(&b); err != nil {
				t.Fatal(err)
			}
			if !s.Color {
				checkPrintable(t, s, b.String())
			} else if strings.Contains(b.String(), "\x1b]") || strings.Contains(b.String(), "\x1b[2J") {
				t.Errorf("%s, %+v: a control sequence came through", name, s)
			}
		}
	}
	var b bytes.Buffer
	if err := writeSeriesHTML(&b, series); err != nil {
		t.Fatal(err)
	}
	for name, html := range map[string][]byte{"run": render(t, "html", v, trials), "series": b.Bytes()} {
		ctx, w := browse(t, html)
		ask[chromedp.Void](t, ctx, openAll)
		if n := ask[int](t, ctx, `document.querySelectorAll('script, img, iframe, object, svg, body [onload], body [onerror], body [onclick]').length`); n != 0 {
			t.Errorf("%s: %d elements came from hostile strings", name, n)
		}
		if ask[bool](t, ctx, `window.pwned === true`) {
			t.Errorf("%s: a hostile string was run", name)
		}
		for _, width := range []int64{320, 1280} {
			look(t, ctx, chromium.View{Width: width, Height: 800})
			if got := ask[int64](t, ctx, `document.documentElement.scrollWidth`); got > width {
				t.Errorf("%s: at %d pixels the hostile page is %d wide; %v", name, width, got, ask[[]string](t, ctx, chromium.Overflowing))
			}
		}
		w.check(t)
	}
}

// Trials of variants are kept apart in every format that lists trials.
func TestVariantsInFormats(t *testing.T) {
	v, trials := toySample(t)
	var d junitSuites
	if err := xml.Unmarshal(render(t, "junit", v, trials), &d); err != nil {
		t.Fatal(err)
	}
	if s := d.Suites[0]; s.Tests != len(trials) {
		t.Errorf("%d test cases for %d trials", s.Tests, len(trials))
	}
	names := map[string]bool{}
	r := benchfmt.NewReader(bytes.NewReader(render(t, "gobench", v, trials)), "toy")
	for r.Scan() {
		if rec, ok := r.Result().(*benchfmt.Result); ok {
			names[rec.Name.String()] = true
		}
	}
	for _, want := range []string{"Create/fs=ext4", "Create/fs=ext4/variant=noatime,dirsync", "Create/fs=ext4/variant=shifted"} {
		if !names[want] {
			t.Errorf("no benchmark %s in %v", want, slices.Sorted(maps.Keys(names)))
		}
	}
	rows, err := csv.NewReader(bytes.NewReader(render(t, "csv", v, trials))).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	levels := map[string]bool{}
	for _, row := range rows[1:] {
		levels[row[len(row)-1]] = true
	}
	if len(levels) != 4 {
		t.Errorf("levels in the CSV: %v", levels)
	}
}

// No line is wider than the screen.
func TestToyKeepsItsWidth(t *testing.T) {
	v, _ := toySample(t)
	series := toySeries(t)
	for _, width := range []int{60, 80, 100, 120} {
		var b bytes.Buffer
		if err := Text(&b, v, TextOptions{Width: width}); err != nil {
			t.Fatal(err)
		}
		if err := SeriesText(&b, series, TextOptions{Width: width}); err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(b.String()) {
			if w := lipgloss.Width(strings.TrimSuffix(line, "\n")); w > width {
				t.Errorf("width %d: a line of %d: %q", width, w, line)
			}
		}
	}
}

// JSON output is read back without loss, and invalid figures are null.
func TestToyJSON(t *testing.T) {
	v, trials := toySample(t)
	var d Document
	if err := json.Unmarshal(render(t, "json", v, trials), &d); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(render(t, "json", v, trials)), string(render(t, "json", d.Verdict, d.Trials))); diff != "" {
		t.Errorf("the document changes when it is read and written again:\n%s", diff)
	}
	hv, ht := hostileToy(t)
	if !json.Valid(render(t, "json", hv, ht)) {
		t.Error("hostile strings or figures make the JSON invalid")
	}
	for name, v := range map[string]verdict.SeriesVerdict{"calm": toySeries(t), "hostile": hostileSeries(t)} {
		var b bytes.Buffer
		if err := SeriesJSON(&b, v); err != nil {
			t.Fatal(err)
		}
		var d struct {
			Schema  string
			Version int
			Series  verdict.SeriesVerdict
		}
		if err := json.Unmarshal(b.Bytes(), &d); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if d.Schema != "whichfs-series" || d.Version != JSONVersion || len(d.Series.Storages) != 3 || len(d.Series.Claims) != len(v.Claims) {
			t.Errorf("%s: %s %d, %d storages, %d claims", name, d.Schema, d.Version, len(d.Series.Storages), len(d.Series.Claims))
		}
	}
}

// A series without runs and incomplete verdicts are written too; a full disk is
// reported.
func TestSeriesWriters(t *testing.T) {
	series := toySeries(t)
	for name, write := range map[string]func(io.Writer, verdict.SeriesVerdict) error{
		"text": func(w io.Writer, v verdict.SeriesVerdict) error { return SeriesText(w, v, TextOptions{}) }, "html": writeSeriesHTML, "json": SeriesJSON,
	} {
		for _, v := range []verdict.SeriesVerdict{{}, {Storages: []verdict.SeriesStorage{{Label: "card"}}, Choices: []verdict.SeriesChoice{{Rows: []verdict.Choice{{}}}}, Claims: []verdict.SeriesClaim{{}}}} {
			var b bytes.Buffer
			if err := write(&b, v); err != nil || b.Len() == 0 {
				t.Errorf("%s: %d bytes, %v", name, b.Len(), err)
			}
		}
		var b bytes.Buffer
		if err := write(&b, series); err != nil {
			t.Fatal(err)
		}
		for _, room := range []int{0, b.Len() / 2, b.Len() - 1} {
			if err := write(&brokenPipe{room}, series); err == nil {
				t.Errorf("%s: no error when only %d of %d bytes can be written", name, room, b.Len())
			}
		}
	}
	halves := verdict.Verdict{
		Trials:   verdict.Trials{Done: 1},
		Effects:  []verdict.Factor{{}, {Name: "f", Levels: []verdict.Level{{Name: "a"}, {Name: "b", Effects: []verdict.Effect{{Name: "Read"}}}}}},
		Numbers:  &verdict.Numbers{Tables: []verdict.NumbersTable{{Rows: []string{""}, Columns: []string{"x", "y", "z"}, Heads: []string{"x", "y", "z"}, Cells: []verdict.NumberCell{{}, {}, {}}}}},
		Choices:  []verdict.Choice{{}},
		Costs:    &verdict.Costs{Rows: []verdict.CostRow{{}}},
		Settling: &verdict.Settling{},
		Drift:    &verdict.DriftUse{},
	}
	for _, name := range []string{"text", "html", "json", "summary", "junit"} {
		if len(render(t, name, halves, nil)) == 0 {
			t.Errorf("%s: nothing written", name)
		}
	}
}

// toyFlash is a made-up run on raw flash: curves, and faults of the medium.
func toyFlash(t *testing.T) (verdict.Verdict, []result.Trial) {
	t.Helper()
	run, trials, st := toy.FlashRun(1)
	v, err := verdict.Compute(run, nil, trials, st, verdict.Beside{})
	if err != nil {
		t.Fatal(err)
	}
	return v, trials
}
