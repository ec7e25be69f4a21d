package report

import (
	"bytes"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"whichfs/internal/report/chromium"
)

// newPages are the pages with factors, published figures, choices and costs.
func newPages(t *testing.T) map[string][]byte {
	t.Helper()
	v, trials := toySample(t)
	var series bytes.Buffer
	if err := writeSeriesHTML(&series, toySeries(t)); err != nil {
		t.Fatal(err)
	}
	return map[string][]byte{"run": render(t, "html", v, trials), "series": series.Bytes()}
}

func TestNewPagesFitEveryWindow(t *testing.T) {
	for name, html := range newPages(t) {
		ctx, w := browse(t, html)
		ask[chromedp.Void](t, ctx, openAll)
		for _, width := range []int64{320, 390, 640, 820, 1024, 1280, 1900} {
			look(t, ctx, chromium.View{Width: width, Height: 800})
			if got := ask[int64](t, ctx, `document.documentElement.scrollWidth`); got > width {
				t.Errorf("%s at %d pixels is %d wide; %v", name, width, got, ask[[]string](t, ctx, chromium.Overflowing))
			}
			// No text overlaps another.
			for _, bad := range ask[[]string](t, ctx, overlapping) {
				t.Errorf("%s at %d pixels: %s", name, width, bad)
			}
		}
		for _, view := range []chromium.View{{Width: 1280, Height: 800}, {Width: 1280, Height: 800, Dark: true}, {Width: 390, Height: 800, Dark: true}} {
			look(t, ctx, view)
			for _, poor := range ask[[]string](t, ctx, chromium.PoorContrast) {
				t.Errorf("%s, %+v: contrast below 4.5: %s", name, view, poor)
			}
		}
		for _, bad := range ask[[]string](t, ctx, chromium.Tables) {
			t.Errorf("%s: %s", name, bad)
		}
		for _, bad := range ask[[]string](t, ctx, dangling) {
			t.Errorf("%s: the contents lead to #%s, which is not there", name, bad)
		}
		if ids := ask[[]string](t, ctx, doubled); len(ids) > 0 {
			t.Errorf("%s: twice the same id: %v", name, ids)
		}
		if strings.Contains(string(html), "<script") {
			t.Errorf("%s has a script", name)
		}
		w.check(t)
	}
}

// overlapping names table cells with overlapping texts.
const overlapping = `[...document.querySelectorAll('main tr')].flatMap(tr => {
	const boxes = [];
	for (const c of tr.cells) {
		const walk = document.createTreeWalker(c, NodeFilter.SHOW_TEXT);
		for (let n; n = walk.nextNode();) {
			if (!n.data.trim() || n.parentElement.closest('.away, sup') || !n.parentElement.getClientRects().length) continue;
			const r = document.createRange(); r.selectNodeContents(n);
			for (const line of r.getClientRects()) boxes.push([n.parentElement, line]);
		}
	}
	const out = [];
	for (let i = 0; i < boxes.length; i++) for (let j = i + 1; j < boxes.length; j++) {
		const [a, p] = boxes[i], [b, q] = boxes[j];
		if (Math.min(p.right, q.right) - Math.max(p.left, q.left) > 1 && Math.min(p.bottom, q.bottom) - Math.max(p.top, q.top) > 3) out.push(a.innerText + ' upon ' + b.innerText);
	}
	return out }).slice(0, 5)`

// An effect's bar extends from the middle to its ratio, its whisker to the ends
// of the interval, on a logarithmic scale.
func TestEffectBars(t *testing.T) {
	v, trials := toySample(t)
	ctx, _ := browse(t, render(t, "html", v, trials))
	type bar struct {
		Name, Figure                                 string
		Left, Right, WhiskerLeft, WhiskerRight, Room float64
		Whisker                                      bool
	}
	for _, width := range []int64{390, 1280} {
		look(t, ctx, chromium.View{Width: width, Height: 800})
		seen := 0
		for i, f := range v.Effects {
			rows, _ := effectRows(f)
			top := effectTop(rows)
			for k := range f.Levels {
				bars := ask[[]bar](t, ctx, fmt.Sprintf(`[...document.querySelectorAll('#factor-%[1]d-table tbody tr')].filter(tr => tr.cells[%[2]d].querySelector('.bar')).map(tr => {
					const cell = tr.cells[%[2]d], room = cell.querySelector('.bar').getBoundingClientRect(), i = cell.querySelector('i').getBoundingClientRect(), b = cell.querySelector('b'), w = (b || cell.querySelector('i')).getBoundingClientRect();
					return {Name: tr.querySelector('th').innerText, Figure: cell.querySelector('.word').innerText, Left: i.left - room.left, Right: i.right - room.left, WhiskerLeft: w.left - room.left, WhiskerRight: w.right - room.left, Room: room.width, Whisker: !!b} })`, i+1, k+1))
				n := 0
				for _, row := range rows {
					e := row[k]
					if e.Absent != "" {
						continue
					}
					b := bars[n]
					n++
					if b.Room != bars[0].Room {
						t.Errorf("%s of %s at %d pixels: drawn to another scale (%.1f, the first %.1f)", f.Levels[k].Name, e.Name, width, b.Room, bars[0].Room)
					}
					at := func(x float64) float64 { return b.Room * min(max(0.5+math.Log(x)/top/2, 0), 1) }
					left, right := min(at(1), at(e.Ratio.Value)), max(at(1), at(e.Ratio.Value))
					if b.Name != e.Name || b.Figure != ratio(e.Ratio) || math.Abs(b.Left-left) > 0.75 || math.Abs(b.Right-max(right, left+1)) > 1.1 {
						t.Errorf("%s of %s at %d pixels: the bar %+v, want %.1f to %.1f", f.Levels[k].Name, e.Name, width, b, left, right)
					}
					if b.Whisker != !e.Ratio.Single {
						t.Errorf("%s of %s: a whisker: %v", f.Levels[k].Name, e.Name, b.Whisker)
					}
					if b.Whisker && (math.Abs(b.WhiskerLeft-at(e.Ratio.Low)) > 0.75 || math.Abs(b.WhiskerRight-max(at(e.Ratio.High), at(e.Ratio.Low)+2)) > 0.75) {
						t.Errorf("%s of %s at %d pixels: the whisker %+v, want %.1f to %.1f", f.Levels[k].Name, e.Name, width, b, at(e.Ratio.Low), at(e.Ratio.High))
					}
				}
				if n != len(bars) {
					t.Errorf("%s: %d bars for %d effects", f.Levels[k].Name, len(bars), n)
				}
				seen += n
			}
		}
		if seen < 15 {
			t.Errorf("only %d bars were looked at", seen)
		}
	}
}
