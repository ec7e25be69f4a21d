package serve

import (
	"net/http/httptest"
	"path/filepath"
	"testing"
	"time"

	"whichfs/internal/app"
	"whichfs/internal/result/store/storetest"
)

// BenchmarkPages measures pages of a store with 10,000 runs and 1,120,000 measurements: the first
// answer of a new server, and the later ones. It takes minutes to fill the store.
//
//	go test -run - -bench Pages ./internal/serve
func BenchmarkPages(b *testing.B) {
	path := filepath.Join(b.TempDir(), "results.db")
	if err := storetest.Fill(path, 10000, storetest.Shape{Candidates: 4, Rounds: 2, Phases: 14, Metrics: 1}); err != nil {
		b.Fatal(err)
	}
	for _, at := range []string{"/runs", "/runs?filesystem=xfs&kernel=6.1&machine=fake&storage=disk", "/runs?before=fill-5000", "/runs/fill-9000", "/runs/fill-9000/figures?column=read",
		"/runs/fill-9000/trials/71999", "/compare?run=fill-0001&run=fill-9000", "/history?study=bootlin-2023", "/history?study=bootlin-2023&by=kernels", "/matrix", "/recommend?profile=boot-medium", "/probes", "/metrics"} {
		b.Run(at, func(b *testing.B) {
			s := &Server{App: &app.App{Path: path, Version: "test", Note: func(string) {}}, Token: testToken}
			web := httptest.NewServer(s.Handler())
			defer web.Close()
			ask := func() {
				if status, text, _ := get(b, web.URL+at); status != 200 {
					b.Fatalf("%s: %d: %s", at, status, text[max(0, len(text)-500):])
				}
			}
			begun := time.Now()
			ask()
			b.ReportMetric(float64(time.Since(begun).Milliseconds()), "ms/first")
			for b.Loop() {
				ask()
			}
		})
	}
}
