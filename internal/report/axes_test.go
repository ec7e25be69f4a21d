package report

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"

	"charm.land/lipgloss/v2"
	"github.com/chromedp/chromedp"
	"golang.org/x/perf/benchfmt"

	"whichfs/internal/judge/verdict"
	"whichfs/internal/judge/verdict/toy"
	"whichfs/internal/report/chromium"
)

func TestFlashGolden(t *testing.T) {
	v, trials := toyFlash(t)
	for _, name := range []string{"text", "summary", "html", "junit"} {
		golden(t, "flash."+name, render(t, name, v, trials))
	}
	golden(t, "flash.json", render(t, "json", v, nil))
	var b bytes.Buffer
	if err := Text(&b, v, TextOptions{Width: 80, ASCII: true}); err != nil {
		t.Fatal(err)
	}
	golden(t, "flash.ascii80", b.Bytes())
}

// Names with a way onto flash appear unchanged in every format.
func TestNamesWithWays(t *testing.T) {
	v, trials := toyFlash(t)
	junit := string(render(t, "junit", v, trials))
	for _, name := range []string{toy.Summary, toy.Squashfs} {
		if !strings.Contains(junit, `classname="trials.`+name+`"`) {
			t.Errorf("no JUnit class for %s", name)
		}
	}
	names := map[string]bool{}
	r := benchfmt.NewReader(bytes.NewReader(render(t, "gobench", v, trials)), "toy")
	for r.Scan() {
		if rec, ok := r.Result().(*benchfmt.Result); ok {
			names[rec.Name.String()] = true
		}
	}
	for _, want := range []string{"Mount/fs=jffs2@image+summary", "Mount/fs=squashfs@ubiblock_-comp_lzo", "Mount/fs=squashfs@ubiblock_-comp_lzo/variant=16_MiB"} {
		if !names[want] {
			t.Errorf("no benchmark %s in %v", want, slices.Sorted(maps.Keys(names)))
		}
	}
	rows, err := csv.NewReader(bytes.NewReader(render(t, "csv", v, trials))).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	seen := map[[2]string]bool{}
	for _, row := range rows[1:] {
		seen[[2]string{row[7], row[len(row)-1]}] = true
	}
	for _, want := range [][2]string{{toy.Summary, "16 MiB"}, {toy.Squashfs, toy.BitFlips}, {toy.UBIFS, "8 MiB"}} {
		if !seen[want] {
			t.Errorf("the CSV has no row of %v", want)
		}
	}
}

func TestFlashJSON(t *testing.T) {
	v, trials := toyFlash(t)
	first := render(t, "json", v, trials)
	var d Document
	if err := json.Unmarshal(first, &d); err != nil {
		t.Fatal(err)
	}
	if len(d.Verdict.Curves) != len(v.Curves) || d.Verdict.Medium == nil || len(d.Verdict.Medium.Rows) != 4 {
		t.Errorf("%d curves, medium %+v", len(d.Verdict.Curves), d.Verdict.Medium)
	}
	if again := render(t, "json", d.Verdict, d.Trials); !bytes.Equal(first, again) {
		t.Error("the document changes when it is read and written again")
	}
}

func TestFlashKeepsItsWidth(t *testing.T) {
	v, _ := toyFlash(t)
	for _, width := range []int{60, 80, 100, 120} {
		var b bytes.Buffer
		if err := Text(&b, v, TextOptions{Width: width}); err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(b.String()) {
			if w := lipgloss.Width(strings.TrimSuffix(line, "\n")); w > width {
				t.Errorf("width %d: a line of %d: %q", width, w, line)
			}
		}
	}
}

// The chart draws every point of the table, and every line ends at a number of
// the legend.
func TestChartsShowTheirFigures(t *testing.T) {
	v, trials := toyFlash(t)
	ctx, w := browse(t, render(t, "html", v, trials))
	ask[chromedp.Void](t, ctx, openAll)
	for _, width := range []int64{320, 390, 800, 1280} {
		for _, dark := range []bool{false, true} {
			look(t, ctx, chromium.View{Width: width, Height: 800, Dark: dark})
			if got := ask[int64](t, ctx, `document.documentElement.scrollWidth`); got > width {
				t.Errorf("at %d pixels the page is %d wide; %v", width, got, ask[[]string](t, ctx, chromium.Overflowing))
			}
		}
	}
	for i, c := range axesOf(v)[0].curves {
		lines := 0
		for _, l := range c.Lines {
			if plotted(l) {
				lines++
			}
		}
		at := fmt.Sprintf("#axis-1-chart-%d", i+1)
		if got := ask[int](t, ctx, `document.querySelectorAll('`+at+` table.growth tbody tr svg').length`); got != lines {
			t.Errorf("%s: %d lines in the legend, want %d", c.Name, got, lines)
		}
		texts := ask[[]string](t, ctx, `[...document.querySelectorAll('`+at+` svg.curve text')].map(e => e.textContent)`)
		for n := range c.Lines {
			if l := c.Lines[n]; plotted(l) != slices.Contains(texts, fmt.Sprint(n+1)) {
				t.Errorf("%s: the number of %s is drawn: %v, in %v", c.Name, l.Candidate, !plotted(l), texts)
			}
		}
		for _, size := range []string{"8 MiB", "16 MiB", "32 MiB", "64 MiB", "128 MiB"} {
			if !slices.Contains(texts, size) {
				t.Errorf("%s: no tick %s in %v", c.Name, size, texts)
			}
		}
		// No label of the chart overlaps another.
		if over := ask[[]string](t, ctx, `(() => { const b = [...document.querySelectorAll('`+at+` svg.curve text')].map(e => [e.textContent, e.getBoundingClientRect()]), out = [];
			for (let i = 0; i < b.length; i++) for (let k = i + 1; k < b.length; k++) { const x = b[i][1], y = b[k][1];
				if (Math.min(x.right, y.right) - Math.max(x.left, y.left) > 1.5 && Math.min(x.bottom, y.bottom) - Math.max(x.top, y.top) > 4) out.push(b[i][0] + ' over ' + b[k][0]) } return out })()`); len(over) > 0 {
			t.Errorf("%s: %v", c.Name, over)
		}
	}
	if n := ask[int](t, ctx, `document.querySelectorAll('#medium tbody td').length`); n != 20 {
		t.Errorf("%d cells of faults, want 20", n)
	}
	w.check(t)
}

// hostileFlash has hostile strings in every place, and invalid figures.
func hostileFlash(t *testing.T) verdict.Verdict {
	v, _ := toyFlash(t)
	q := &v.Curves[0].Lines[0]
	q.Points[0].Estimate.Value, q.Points[1].Estimate.High = math.NaN(), math.Inf(1)
	q.Growth.Ratio.Value, q.Growth.Exponent = math.Inf(1), math.NaN()
	v.Curves[1].Lines[0].Points[0].Value = math.NaN()
	v.Curves[2].Lines = nil
	v.Medium.Rows[0].Cells = v.Medium.Rows[0].Cells[:2]
	calm, _ := toyFlash(t)
	n := 0
	poison(reflect.ValueOf(&v).Elem(), &n)
	for i := range v.Curves { // units are of the study's own code, not from outside
		v.Curves[i].Unit, v.Curves[i].AxisUnit = calm.Curves[i].Unit, calm.Curves[i].AxisUnit
	}
	for i := range v.Columns {
		v.Columns[i].Unit, v.Columns[i].RateUnit = calm.Columns[i].Unit, calm.Columns[i].RateUnit
	}
	for i := range v.Extra {
		v.Extra[i].Unit = calm.Extra[i].Unit
	}
	return v
}

func TestHostileFlash(t *testing.T) {
	v := hostileFlash(t)
	for _, s := range []TextOptions{{Width: 80}, {Width: 80, ASCII: true}, {Width: 1}, {Width: 100, Color: true}, {Width: 80, Summary: true}} {
		var b bytes.Buffer
		if err := Text(&b, v, s); err != nil {
			t.Fatal(err)
		}
		if !s.Color {
			checkPrintable(t, s, b.String())
		} else if strings.Contains(b.String(), "\x1b]") || strings.Contains(b.String(), "\x1b[2J") {
			t.Errorf("%+v: a control sequence came through", s)
		}
	}
	if !json.Valid(render(t, "json", v, nil)) {
		t.Error("hostile strings or figures make the JSON invalid")
	}
	ctx, w := browse(t, render(t, "html", v, nil))
	ask[chromedp.Void](t, ctx, openAll)
	if n := ask[int](t, ctx, `document.querySelectorAll('script, img, iframe, object, svg:not(.curve):not(.key-line), body [onload], body [onerror], body [onclick]').length`); n != 0 {
		t.Errorf("%d elements came from hostile strings", n)
	}
	if ask[bool](t, ctx, `window.pwned === true`) {
		t.Error("a hostile string was run")
	}
	for _, width := range []int64{320, 1280} {
		look(t, ctx, chromium.View{Width: width, Height: 800})
		if got := ask[int64](t, ctx, `document.documentElement.scrollWidth`); got > width {
			t.Errorf("at %d pixels the hostile page is %d wide; %v", width, got, ask[[]string](t, ctx, chromium.Overflowing))
		}
	}
	w.check(t)
}

// Incomplete verdicts are written too.
func TestIncompleteCurves(t *testing.T) {
	v := verdict.Verdict{
		Trials: verdict.Trials{Done: 1},
		Curves: []verdict.Curve{{}, {Axis: "size", Lines: []verdict.CurveLine{{}}}, {Axis: "size", Lines: []verdict.CurveLine{{Candidate: "x", Points: []verdict.CurvePoint{{}, {Value: 1}}}}}},
		Medium: &verdict.Medium{Rows: []verdict.MediumRow{{}, {Cells: []verdict.MediumCell{{}, {Class: "x"}}}}},
	}
	for _, name := range []string{"text", "html", "json", "summary", "junit"} {
		if len(render(t, name, v, nil)) == 0 {
			t.Errorf("%s: nothing written", name)
		}
	}
}
