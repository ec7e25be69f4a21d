package serve

import (
	"context"
	"crypto/sha256"
	_ "embed"
	"encoding/hex"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"whichfs/internal/report/chromium"
	"whichfs/internal/result"
	"whichfs/internal/result/store"
	"whichfs/internal/result/store/storetest"
	"whichfs/internal/sys/cache"
	"whichfs/internal/testing/must"
	"whichfs/internal/testing/needs"
	"whichfs/internal/testing/wait"
)

// browser is a browser's window with what it complained about and asked other hosts for.
type browser struct {
	ctx context.Context
	*chromium.Watch
}

func browse(t testing.TB, address string) *browser {
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

func (b *browser) do(t testing.TB, actions ...chromedp.Action[chromedp.Void]) {
	t.Helper()
	if err := chromedp.Do(b.ctx, actions...); err != nil {
		t.Fatal(err)
	}
}

func value[T any](t testing.TB, b *browser, script string) T {
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

// busySite has something on every page: a probe, a finding, and a run that is carried out.
func busySite(t *testing.T) (*Server, *httptest.Server) {
	t.Helper()
	s, web := site(t)
	addFinding(t, s)
	st, err := store.Open(s.App.Path)
	must.Do(t, err)
	t.Cleanup(func() { _ = st.Close() })
	must.Do(t, st.SaveProbe("probe-1", storetest.Probe(1)))
	run, trials := storetest.Run("goes-on", storetest.Shape{Candidates: 3, Rounds: 2, Phases: 14, Metrics: 3}, 4)
	run.State = result.Running
	trials[0].Outcome, trials[0].Phase, trials[0].Reason = result.SubjectFailed, "read", "input/output error"
	must.Do(t, st.Import(run, 9, trials))
	must.Do(t, st.AddRemark("goes-on", "#before-the-fix the card was replaced"))
	release, err := st.Hold("goes-on", nil)
	must.Do(t, err)
	t.Cleanup(release)
	return s, web
}

// pages are those that tests open, one of each kind.
var pages = []string{"/runs", "/runs?storage=sd", "/runs/with-output", "/runs/goes-on", "/runs/with-output/figures?column=read", "/runs/with-output/figures?phase=read&metric=wall", "/runs/with-output/trials/19",
	"/compare?run=fill-0001&run=fill-0002", "/compare?run=fill-0001&run=fill-0002&run=with-output", "/compare?probe=probe-1&probe=bootlin-2023/kingston-16g", "/compare", "/history", "/history?by=kernels",
	"/matrix", "/recommend", "/recommend?profile=boot-medium", "/probes", "/probes/probe-1", "/findings", "/findings/crash-20260101-000000-0001/ext4-append-1.json", "/token", "/nowhere"}

// One browser visits every page.
func TestInABrowser(t *testing.T) {
	s, web := busySite(t)
	b := browse(t, web.URL)
	for name, test := range map[string]func(*testing.T, *browser, *Server, string){"layout": layout, "accessibility": accessibility, "keyboard": keyboard, "live": isLive} {
		t.Run(name, func(t *testing.T) { test(t, b, s, web.URL) })
	}
}

// Every page fits a phone and a wide window, can be read in both themes, has tables and fields with
// names, and asks nobody else; without scripts it says the same.
func layout(t *testing.T, b *browser, _ *Server, address string) {
	for _, at := range pages {
		said := map[bool]string{}
		for _, scripts := range []bool{false, true} {
			b.do(t, b.scripts(scripts), chromedp.Navigate(address+at))
			said[scripts] = value[string](t, b, `document.querySelector('main').textContent`)
			for _, view := range []chromium.View{{Width: 360, Height: 800, Dark: scripts}, {Width: 1400, Height: 900, Dark: !scripts}} {
				b.do(t, chromium.Look(view))
				if got := value[int64](t, b, `document.documentElement.scrollWidth`); got > view.Width {
					t.Errorf("%s: at %d pixels the page is %d wide: %v", at, view.Width, got, value[[]string](t, b, chromium.Overflowing))
				}
				for _, poor := range value[[]string](t, b, chromium.PoorContrast) {
					t.Errorf("%s: %+v: contrast below 4.5: %s", at, view, poor)
				}
			}
		}
		if said[true] != said[false] || len(said[true]) < 20 {
			t.Errorf("%s says something else without scripts", at)
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

//go:embed testdata/axe-core.txt
var axePinned string

// axe is the checker of accessibility that scripts/axe-core fetches.
func axe(t *testing.T) string {
	t.Helper()
	version, digest, _ := strings.Cut(strings.TrimSpace(axePinned), " ")
	dir, err := cache.Dir()
	must.Do(t, err)
	path := filepath.Join(dir, "axe-core-"+version+".js")
	needs.Fetched(t, path)
	program, err := os.ReadFile(path)
	must.Do(t, err)
	if sum := sha256.Sum256(program); hex.EncodeToString(sum[:]) != digest {
		t.Fatalf("%s has the digest %x and not %s: remove it, and make packages-test", path, sum, digest)
	}
	return string(program)
}

// axe-core finds nothing on any page, on a phone in the light and in a wide window in the dark.
func accessibility(t *testing.T, b *browser, _ *Server, address string) {
	program := axe(t)
	check := func(t *testing.T, view chromium.View) (passed int) {
		t.Helper()
		b.do(t, chromium.Look(view))
		answer, err := chromedp.Run(b.ctx, chromedp.Evaluate[axeAnswer](`axe.run({resultTypes: ['violations']}).then(r => ({Passes: r.passes.length,
			Violations: r.violations.map(v => v.id + ' (' + v.help + '): ' + v.nodes.slice(0, 4).map(n => n.html.slice(0, 160)).join(' '))}))`, chromedp.EvalAwaitPromise))
		must.Do(t, err)
		for _, v := range answer.Violations {
			t.Errorf("%+v: %s", view, v)
		}
		return answer.Passes
	}
	b.do(t, b.scripts(true))
	for _, at := range pages {
		t.Run(at, func(t *testing.T) {
			b.do(t, chromedp.Navigate(address+at))
			value[chromedp.Void](t, b, program+`;undefined`)
			for _, view := range []chromium.View{{Width: 360, Height: 800}, {Width: 1400, Height: 900, Dark: true}} {
				if passed := check(t, view); passed < 10 {
					t.Errorf("only %d rules apply", passed)
				}
			}
		})
	}
	b.Forget(func(problem string) bool { return strings.Contains(problem, "404") })
}

type axeAnswer struct {
	Passes     int
	Violations []string
}

// With the keyboard alone: every page can be walked through in its order, and shows where one is;
// search, open a run, and choose two for a comparison.
func keyboard(t *testing.T, b *browser, _ *Server, address string) {
	b.do(t, b.scripts(true), chromium.Look(chromium.View{Width: 1400, Height: 900}))
	for _, at := range pages {
		b.do(t, chromedp.Navigate(address+at))
		want := value[[]string](t, b, stops+`; stops().slice(0, 12).map(named)`)
		for i, w := range want {
			b.do(t, chromedp.KeyEvent(kb.Tab))
			if got := value[string](t, b, `named(document.activeElement)`); got != w {
				t.Errorf("%s: the Tab key leads to %s at place %d, not to %s", at, got, i+1, w)
				break
			}
			if !value[bool](t, b, `getComputedStyle(document.activeElement).outlineStyle !== 'none'`) {
				t.Errorf("%s: %s does not show that it has the focus", at, w)
			}
		}
		if len(want) < 6 {
			t.Errorf("%s: the Tab key leads to %v alone", at, want)
		}
	}
	b.Forget(func(problem string) bool { return strings.Contains(problem, "404") })
	b.do(t, chromedp.Navigate(address+"/runs"))
	// Tab until the element with the focus is the one that is wanted.
	to := func(want string) {
		t.Helper()
		for range 80 {
			b.do(t, chromedp.KeyEvent(kb.Tab))
			if value[bool](t, b, `document.activeElement.matches(`+quoted(want)+`)`) {
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
	b.do(t, chromedp.Navigate(address+"/runs"))
	to(`input[value="fill-0002"]`)
	b.do(t, chromedp.KeyEvent(" "))
	to(`input[value="fill-0001"]`)
	b.do(t, chromedp.KeyEvent(" "))
	to(`#compare-form button`)
	b.do(t, chromedp.KeyEvent(kb.Enter))
	at("/compare?run=fill-0002&run=fill-0001")
}

// stops are the elements that the Tab key leads to, in the order of the page, and their names.
const stops = `stops = () => [...document.querySelectorAll('a[href], button, input:not([type=hidden]), select, textarea, summary, [tabindex="0"]')].filter(e => e.checkVisibility() && !e.hidden);
	named = e => e.tagName + ' ' + [...document.querySelectorAll('*')].indexOf(e) + ' ' + (e.name || e.textContent).trim().slice(0, 20)`

func quoted(s string) string { return "`" + s + "`" }

// A page that is open shows what happens in the store, and leaves what somebody types alone.
func isLive(t *testing.T, b *browser, s *Server, address string) {
	st, err := store.Open(s.App.Path)
	must.Do(t, err)
	defer st.Close()
	run, trials := storetest.Run("to-go", storetest.Shape{Candidates: 1, Rounds: 1, Phases: 1, Metrics: 1}, 1)
	run.Machine = "only-this" // which the form suggests as long as the run is there
	must.Do(t, st.Import(run, 1, trials))
	b.do(t, b.scripts(true), chromium.Look(chromium.View{Width: 1400, Height: 900}), chromedp.Navigate(address+"/runs"))
	wait.Until(t, "the first event", func() bool { return value[bool](t, b, `!!document.documentElement.dataset.updated`) })
	if !value[bool](t, b, `!!document.querySelector('a[href="/runs/to-go"]')`) {
		t.Fatal("the run is not there")
	}
	value[chromedp.Void](t, b, `document.querySelector('input[name="kernel"]').value = 'typed'`)
	must.Do(t, st.DeleteRun("to-go"))
	wait.Until(t, "the run to go", func() bool { return value[bool](t, b, `!document.querySelector('a[href="/runs/to-go"]')`) })
	// What is typed stays, with all of its form.
	if got := value[string](t, b, `document.querySelector('input[name="kernel"]').value`); got != "typed" {
		t.Errorf("what was typed became %q", got)
	}
	b.check(t)
}
