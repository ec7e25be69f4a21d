package serve

import (
	"net/http/httptest"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"whichfs/internal/app"
	"whichfs/internal/report/chromium"
	"whichfs/internal/result/store"
	"whichfs/internal/result/store/storetest"
	"whichfs/internal/testing/database"
)

// BenchmarkPages measures pages of a store with 10,000 runs and 1,120,000 measurements, in a file and in
// a database: the first answer of a new server, the later ones, and the first one until a browser has
// loaded it. It takes a minute to fill the stores; WHICHFS_PAGES_STORE names one that is there already.
//
//	go test -run - -bench Pages ./internal/serve
func BenchmarkPages(b *testing.B) {
	if path := os.Getenv("WHICHFS_PAGES_STORE"); path != "" {
		benchmarkPages(b, path)
		return
	}
	for name, path := range map[string]string{"file": filepath.Join(b.TempDir(), "results.db"), "database": database.Shared(b).URL()} {
		st, err := store.Open(path)
		if err == nil {
			err = storetest.Years(st, 10000, storetest.Shape{Candidates: 4, Rounds: 2, Phases: 14, Metrics: 1})
		}
		if err != nil {
			b.Fatal(err)
		}
		_ = st.Close() // every write was synced
		if name == "database" {
			database.Analyze(b)
		}
		b.Run(name, func(b *testing.B) { benchmarkPages(b, path) })
	}
}

func benchmarkPages(b *testing.B, path string) {
	window := browse(b, "http://127.0.0.1")
	serve := func(b *testing.B) string {
		s := &Server{App: &app.App{Path: path, Version: "test", Note: func(string) {}}, Token: testToken}
		web := httptest.NewServer(s.Handler())
		b.Cleanup(func() { web.CloseClientConnections(); web.Close() })
		return web.URL
	}
	for _, at := range []string{"/runs", "/runs?filesystem=xfs&kernel=6.1&machine=fake&storage=disk", "/runs?label=nightly", "/runs?before=fill-05000", "/runs/fill-09000", "/runs/fill-09000/figures?column=read",
		"/runs/fill-09000/trials/71999", "/compare?run=fill-00001&run=fill-08001", "/history?study=bootlin-2023", "/history?study=bootlin-2023&by=kernels", "/matrix", "/recommend?profile=boot-medium", "/probes", "/metrics"} {
		b.Run(at, func(b *testing.B) {
			address := serve(b)
			ask := func() {
				if status, text, _ := get(b, address+at); status != 200 {
					b.Fatalf("%s: %d: %s", at, status, text[max(0, len(text)-500):])
				}
			}
			begun, used := time.Now(), processor(b)
			ask()
			first, own := time.Since(begun), processor(b)-used
			used = processor(b)
			for b.Loop() {
				ask()
			}
			// What the processor did does not depend on how busy the machine is.
			if at != "/metrics" {
				window.do(b, chromium.Look(chromium.View{Width: 1400, Height: 900}), chromedp.Navigate(serve(b)+at))
				b.ReportMetric(value[float64](b, window, `performance.getEntriesByType('navigation')[0].duration`), "ms/browser")
				window.do(b, chromedp.Navigate("about:blank")) // which ends its events
			}
			for unit, d := range map[string]time.Duration{"ms/first": first, "cpu-ms/first": own, "cpu-ms/op": (processor(b) - used) / time.Duration(b.N)} {
				b.ReportMetric(float64(d.Microseconds())/1e3, unit)
			}
		})
	}
}

// processor is the time that this process had of it.
func processor(b *testing.B) time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
