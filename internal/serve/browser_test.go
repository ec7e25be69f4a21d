package serve

import (
	"context"
	"net/url"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"whichfs/internal/report/chromium"
	"whichfs/internal/result/store"
	"whichfs/internal/testing/needs"
	"whichfs/internal/testing/wait"
)

// browser is a browser's window with what it complained about and asked other hosts for.
type browser struct {
	ctx context.Context
	*chromium.Watch
}

func browse(t *testing.T, address string) *browser {
	t.Helper()
	needs.Browser(t)
	parent, cancel := context.WithTimeout(t.Context(), wait.Patience)
	t.Cleanup(cancel)
	ctx, stop, err := chromium.New(parent)
	if err != nil {
		t.Fatalf("chromium does not start (apt install chromium): %v", err)
	}
	t.Cleanup(stop)
	at, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	w, err := chromium.Observe(ctx, func(text string) bool {
		u, err := url.Parse(text)
		return err == nil && (u.Host == at.Host || u.Scheme == "data")
	})
	if err != nil {
		t.Fatal(err)
	}
	return &browser{ctx, w}
}

func (b *browser) do(t *testing.T, actions ...chromedp.Action[chromedp.Void]) {
	t.Helper()
	if err := chromedp.Do(b.ctx, actions...); err != nil {
		t.Fatal(err)
	}
}

func value[T any](t *testing.T, b *browser, script string) T {
	t.Helper()
	v, err := chromedp.Run(b.ctx, chromedp.Evaluate[T](script))
	if err != nil {
		t.Fatalf("%s: %v", script, err)
	}
	return v
}

func (b *browser) scripts(on bool) chromedp.Action[chromedp.Void] {
	return chromedp.Func(func(ctx context.Context, tab *chromedp.Target) error {
		_, err := cdp.Call(ctx, tab, emulation.SetScriptExecutionDisabled, emulation.SetScriptExecutionDisabledParams{Value: !on})
		return err
	})
}

func (b *browser) check(t *testing.T) {
	t.Helper()
	for _, one := range b.Problems() {
		t.Errorf("the browser: %s", one)
	}
}

// Every page fits a phone and a wide window, can be read in both themes, has tables and fields with
// names, and asks nobody else; with scripts and without.
func TestPagesInABrowser(t *testing.T) {
	_, web := site(t)
	b := browse(t, web.URL)
	pages := []string{"/runs", "/runs/with-output", "/runs/with-output/figures?column=read", "/runs/with-output/trials/19",
		"/compare?run=fill-0001&run=fill-0002", "/compare?run=fill-0001&run=fill-0002&run=with-output", "/compare", "/history", "/history?by=kernels",
		"/matrix", "/recommend", "/recommend?profile=boot-medium", "/probes", "/findings", "/token", "/nowhere"}
	for i, at := range pages {
		b.do(t, b.scripts(i%2 == 0), chromedp.Navigate(web.URL+at))
		for _, view := range []chromium.View{{Width: 360, Height: 800, Dark: i%4 < 2}, {Width: 1400, Height: 900, Dark: i%4 >= 2}} {
			b.do(t, chromium.Look(view))
			if got := value[int64](t, b, `document.documentElement.scrollWidth`); got > view.Width {
				t.Errorf("%s: at %d pixels the page is %d wide: %v", at, view.Width, got, value[[]string](t, b, chromium.Overflowing))
			}
			for _, poor := range value[[]string](t, b, chromium.PoorContrast) {
				t.Errorf("%s: %+v: contrast below 4.5: %s", at, view, poor)
			}
		}
		for _, bad := range value[[]string](t, b, chromium.Tables) {
			t.Errorf("%s: %s", at, bad)
		}
		if at == "/nowhere" {
			// The browser reports the status, as it should.
			b.Forget(func(problem string) bool { return strings.Contains(problem, "404") })
		}
	}
	b.check(t)
}

// With the keyboard alone: search, open a run, and choose two for a comparison.
func TestKeyboardAlone(t *testing.T) {
	_, web := site(t)
	b := browse(t, web.URL)
	b.do(t, chromium.Look(chromium.View{Width: 1400, Height: 900}), chromedp.Navigate(web.URL+"/runs"))
	// Tab until the element with the focus is the one that is wanted.
	to := func(want string) {
		t.Helper()
		for range 80 {
			b.do(t, chromedp.KeyEvent(kb.Tab))
			if value[bool](t, b, `document.activeElement.matches(`+quoted(want)+`)`) {
				if !value[bool](t, b, `getComputedStyle(document.activeElement).outlineStyle !== 'none'`) {
					t.Errorf("%s does not show that it has the focus", want)
				}
				return
			}
		}
		t.Fatalf("the Tab key does not lead to %s", want)
	}
	at := func(want string) {
		t.Helper()
		wait.Until(t, "the page "+want, func() bool { return strings.Contains(value[string](t, b, `location.pathname + location.search`), want) })
	}
	to(`input[name="storage"]`)
	b.do(t, chromedp.KeyEvent("sd:"), chromedp.KeyEvent(kb.Enter))
	at("storage=sd")
	to(`a[href="/runs/with-output"]`)
	b.do(t, chromedp.KeyEvent(kb.Enter))
	at("/runs/with-output")
	b.do(t, chromedp.Navigate(web.URL+"/runs"))
	to(`input[value="fill-0002"]`)
	b.do(t, chromedp.KeyEvent(" "))
	to(`input[value="fill-0001"]`)
	b.do(t, chromedp.KeyEvent(" "))
	to(`#compare-form button`)
	b.do(t, chromedp.KeyEvent(kb.Enter))
	at("/compare?run=fill-0002&run=fill-0001")
}

func quoted(s string) string { return "`" + s + "`" }

// A page that is open shows what happens in the store, and leaves what somebody types alone.
func TestPageIsLive(t *testing.T) {
	s, web := site(t)
	b := browse(t, web.URL)
	b.do(t, chromium.Look(chromium.View{Width: 1400, Height: 900}), chromedp.Navigate(web.URL+"/runs"))
	wait.Until(t, "the first event", func() bool { return value[bool](t, b, `!!document.documentElement.dataset.updated`) })
	value[chromedp.Void](t, b, `document.querySelector('input[name="kernel"]').value = 'typed'`)
	st, err := store.Open(s.App.Path)
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	if err := st.DeleteRun("fill-0001"); err != nil {
		t.Fatal(err)
	}
	wait.Until(t, "the run to go", func() bool { return value[bool](t, b, `!document.querySelector('a[href="/runs/fill-0001"]')`) })
	if got := value[string](t, b, `document.querySelector('input[name="kernel"]').value`); got != "typed" {
		t.Errorf("what was typed became %q", got)
	}
	b.check(t)
}
