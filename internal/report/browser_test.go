package report

import (
	"context"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"

	"whichfs/internal/report/chromium"
	"whichfs/internal/testing/needs"
	"whichfs/internal/testing/wait"
)

// The page is tested in a real browser. These tests need Debian's chromium,
// which make test installs.

// browse opens the page of the sample, or of html if that is not empty, and
// records the page's errors and network requests.
func browse(t *testing.T, html []byte) (context.Context, *watch) {
	t.Helper()
	needs.Browser(t)
	path := filepath.Join(t.TempDir(), "page.html")
	if err := os.WriteFile(path, html, 0o644); err != nil {
		t.Fatal(err)
	}
	parent, cancel := context.WithTimeout(context.Background(), wait.Patience)
	t.Cleanup(cancel)
	ctx, stop, err := chromium.New(parent)
	if err != nil {
		t.Fatalf("chromium does not start (apt install chromium): %v", err)
	}
	t.Cleanup(stop)
	w, err := chromium.Observe(ctx, func(url string) bool { return url == "file://"+path || strings.HasPrefix(url, "data:") })
	if err != nil {
		t.Fatal(err)
	}
	load, err := chromium.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := chromedp.Do(ctx, chromium.Look(chromium.View{Width: 1280, Height: 900}), load); err != nil {
		t.Fatal(err)
	}
	return ctx, &watch{w, path}
}

type watch struct {
	*chromium.Watch
	path string // of the page
}

func (w *watch) check(t *testing.T) {
	t.Helper()
	for _, p := range w.Problems() {
		t.Errorf("the page caused: %s", p)
	}
}

func ask[T any](t *testing.T, ctx context.Context, script string) T {
	t.Helper()
	v, err := chromedp.Run(ctx, chromedp.Evaluate[T](script))
	if err != nil {
		t.Fatalf("%s: %v", script, err)
	}
	return v
}

func look(t *testing.T, ctx context.Context, v chromium.View) {
	t.Helper()
	if err := chromedp.Do(ctx, chromium.Look(v)); err != nil {
		t.Fatal(err)
	}
}

const openAll = `document.querySelectorAll('details').forEach(d => d.open = true)`

func TestPageFitsEveryWindow(t *testing.T) {
	v, trials := sample()
	ctx, w := browse(t, render(t, "html", v, trials))
	ask[chromedp.Void](t, ctx, openAll)
	for _, width := range []int64{320, 360, 390, 640, 820, 1024, 1280, 1900} {
		for _, dark := range []bool{false, true} {
			look(t, ctx, chromium.View{Width: width, Height: 800, Dark: dark})
			if got := ask[int64](t, ctx, `document.documentElement.scrollWidth`); got > width {
				t.Errorf("at %d pixels the page is %d wide; %v", width, got, ask[[]string](t, ctx, chromium.Overflowing))
			}
		}
	}
	w.check(t)
}

func TestBarsShowTheirFigures(t *testing.T) {
	v, trials := sample()
	ctx, _ := browse(t, render(t, "html", v, trials))
	type bar struct {
		Bar, Left, Right, Room float64
		Whisker                bool
	}
	for _, width := range []int64{390, 1280} {
		look(t, ctx, chromium.View{Width: width, Height: 800})
		for i, col := range v.Columns {
			bars := ask[[]bar](t, ctx, fmt.Sprintf(`[...document.querySelectorAll('#column-%d tbody .bar')].map(b => {
				const room = b.getBoundingClientRect(), bar = b.querySelector('i').getBoundingClientRect(), whiskerOf = b.querySelector('b'), whisker = (whiskerOf || b).getBoundingClientRect();
				return {Bar: bar.width, Left: whisker.left - room.left, Right: whisker.right - room.left, Whisker: !!whiskerOf, Room: room.width} })`, i+1))
			top, n := scaleOf(col), 0
			for _, c := range col.Cells {
				if c.Absent != "" {
					continue
				}
				if n >= len(bars) {
					t.Fatalf("%s at %d: %d bars, more cells", col.Name, width, len(bars))
				}
				b := bars[n]
				n++
				want := max(1, c.Estimate.Value/top*b.Room)
				if math.Abs(b.Bar-want) > 0.75 {
					t.Errorf("%s of %s at %d pixels: the bar is %.1f wide, not %.1f", col.Name, c.Candidate, width, b.Bar, want)
				}
				if b.Room != bars[0].Room {
					t.Errorf("%s of %s at %d pixels: drawn to another scale (%.1f, the first %.1f)", col.Name, c.Candidate, width, b.Room, bars[0].Room)
				}
				wide := !c.Estimate.Single && c.Estimate.High > c.Estimate.Low
				if b.Whisker != wide {
					t.Errorf("%s of %s: a whisker: %v, an interval: %v", col.Name, c.Candidate, b.Whisker, wide)
				}
				if wide {
					low, high := c.Estimate.Low/top*b.Room, c.Estimate.High/top*b.Room
					// The whisker's two ends are at least a pixel each.
					if math.Abs(b.Left-low) > 0.75 || math.Abs(b.Right-max(high, low+2)) > 0.75 {
						t.Errorf("%s of %s at %d pixels: the whisker goes from %.1f to %.1f, not %.1f to %.1f", col.Name, c.Candidate, width, b.Left, b.Right, low, high)
					}
				}
			}
			if n != len(bars) {
				t.Errorf("%s: %d bars for %d figures", col.Name, len(bars), n)
			}
		}
	}
}

func TestContrast(t *testing.T) {
	v, trials := sample()
	ctx, _ := browse(t, render(t, "html", v, trials))
	ask[chromedp.Void](t, ctx, openAll)
	for _, view := range []chromium.View{{Width: 1280, Height: 800}, {Width: 1280, Height: 800, Dark: true}, {Width: 390, Height: 800, Dark: true}, {Width: 700, Height: 900, Print: true}} {
		look(t, ctx, view)
		for _, poor := range ask[[]string](t, ctx, chromium.PoorContrast) {
			t.Errorf("%+v: contrast below 4.5: %s", view, poor)
		}
	}
	// The themes differ: otherwise the emulation did not work.
	look(t, ctx, chromium.View{Width: 800, Height: 800})
	lightPaper := ask[string](t, ctx, `getComputedStyle(document.body).backgroundColor`)
	look(t, ctx, chromium.View{Width: 800, Height: 800, Dark: true})
	if dark := ask[string](t, ctx, `getComputedStyle(document.body).backgroundColor`); dark == lightPaper {
		t.Errorf("light and dark paper are both %s", dark)
	}
}

func TestPageWithoutScripts(t *testing.T) {
	v, trials := sample()
	html := render(t, "html", v, trials)
	if strings.Contains(string(html), "<script") {
		t.Error("the page has a script")
	}
	ctx, w := browse(t, html)
	off := chromedp.Func(func(ctx context.Context, tab *chromedp.Target) error {
		_, err := cdp.Call(ctx, tab, emulation.SetScriptExecutionDisabled, emulation.SetScriptExecutionDisabledParams{Value: true})
		return err
	})
	reload, err := chromium.Open(w.path)
	if err != nil {
		t.Fatal(err)
	}
	if err := chromedp.Do(ctx, off, reload); err != nil {
		t.Fatal(err)
	}
	text := ask[string](t, ctx, `document.body.innerText`)
	for _, want := range []string{v.Uses[0].Answer, "Boot time", "very good", "seed 4242", "reiserfs", "Kendall"} {
		if !strings.Contains(text, want) {
			t.Errorf("without scripts the page does not show %q", want)
		}
	}
	w.check(t)
}

// dangling are internal links without a target, doubled are ids that occur
// twice.
const (
	dangling = `[...document.querySelectorAll('a[href^="#"]')].map(a => a.hash.slice(1)).filter(id => !document.getElementById(id))`
	doubled  = `[...document.querySelectorAll('[id]')].map(e => e.id).filter((id, i, all) => all.indexOf(id) !== i)`
)

// Tables laid out as cards must remain tables for screen readers.
func TestTablesStayTables(t *testing.T) {
	v, trials := sample()
	ctx, _ := browse(t, render(t, "html", v, trials))
	look(t, ctx, chromium.View{Width: 390, Height: 800})
	for _, bad := range ask[[]string](t, ctx, chromium.Tables) {
		t.Error(bad)
	}
	for _, bad := range ask[[]string](t, ctx, dangling) {
		t.Errorf("the contents lead to #%s, which is not there", bad)
	}
	if ids := ask[[]string](t, ctx, doubled); len(ids) > 0 {
		t.Errorf("twice the same id: %v", ids)
	}
}

func TestHostilePage(t *testing.T) {
	v, trials := hostile()
	html := render(t, "html", v, trials)
	ctx, w := browse(t, html)
	ask[chromedp.Void](t, ctx, openAll)
	if n := ask[int](t, ctx, `document.querySelectorAll('script, img, iframe, object, svg, body [onload], body [onerror], body [onclick]').length`); n != 0 {
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
