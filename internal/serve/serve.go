// Package serve shows a results store to browsers: the same documents as in files and terminals, with
// links from every figure to what it was made from. Its point of view: pages are made by the server
// and need no script, no other host and no state; whoever may read them can change nothing without
// the token.
package serve

import (
	"bytes"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/http"
	"net/url"
	"time"

	"whichfs/internal/app"
	"whichfs/internal/judge/verdict"
	"whichfs/internal/report/doc"
	"whichfs/internal/result"
	"whichfs/internal/result/store"
)

// Server shows one store.
type Server struct {
	App *app.App
	// Token is asked of everyone but localhost, and of everyone who writes.
	Token string
	// Locked: localhost is asked for the token to read as well, as behind a proxy.
	Locked bool
	// Names are host names, besides localhost and addresses, by which the server may be called.
	Names []string

	runs   verdicts
	memory app.Memory
	ends   context.Context // of the server; streams of events end with it
}

// Timeouts of connections. An answer may take as long as a large run takes to judge.
const (
	headTime   = 10 * time.Second
	readTime   = 30 * time.Second
	answerTime = 2 * time.Minute
	idleTime   = 2 * time.Minute
	endTime    = 10 * time.Second // for answers under way when the server ends
	maxHead    = 64 << 10         // B
	maxBody    = 16 << 10         // B
)

// Serve answers at a listener until ctx ends, and closes it.
func (s *Server) Serve(ctx context.Context, l net.Listener) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	s.ends = ctx
	server := &http.Server{Handler: s.Handler(), ReadHeaderTimeout: headTime, ReadTimeout: readTime, WriteTimeout: answerTime, IdleTimeout: idleTime, MaxHeaderBytes: maxHead}
	ended := make(chan error, 1)
	go func() {
		<-ctx.Done()
		late, stop := context.WithTimeout(context.Background(), endTime)
		defer stop()
		ended <- server.Shutdown(late)
	}()
	err := server.Serve(l)
	cancel()
	if second := <-ended; errors.Is(err, http.ErrServerClosed) {
		err = second
	}
	return err
}

// Handler answers requests.
func (s *Server) Handler() http.Handler {
	if s.ends == nil {
		s.ends = context.Background()
	}
	s.App.Judging = func(st *store.Store, run result.Run) (verdict.Judged, error) {
		j, _, err := s.runs.of(st, run)
		return j, err
	}
	mux := http.NewServeMux()
	for pattern, f := range map[string]handler{
		"GET /{$}":                              s.start,
		"GET /runs":                             s.listRuns,
		"GET /runs/{run}":                       s.showRun,
		"GET /runs/{run}/figures":               s.showFigures,
		"GET /runs/{run}/trials/{trial}":        s.showTrial,
		"GET /runs/{run}/trials/{trial}/{file}": s.sendArtifact,
		"GET /runs/{run}/data/{format}":         s.sendData,
		"POST /runs/{run}/notes":                s.writeNote,
		"POST /runs/{run}/cancel":               s.cancelRun,
		"GET /export/{format}":                  s.export,
		"GET /compare":                          s.compare,
		"GET /history":                          s.showHistory,
		"GET /matrix":                           s.showMatrix,
		"GET /metrics":                          s.scrape,
		"GET /recommend":                        s.showRecommendation,
		"GET /findings":                         s.listFindings,
		"GET /findings/{exploration}/{file}":    s.showFinding,
		"GET /probes":                           s.listProbes,
		"GET /probes/{probe}":                   s.showProbe,
		"GET /events/runs":                      s.listEvents,
		"GET /events/runs/{run}":                s.runEvents,
		"GET /live.js":                          s.script,
		"GET /token":                            s.askToken,
		"POST /token":                           s.takeToken,
		"GET /":                                 nowhere,
	} {
		mux.Handle(pattern, s.page(f))
	}
	return s.guard(mux)
}

// handler answers a request, or says why it cannot.
type handler func(w http.ResponseWriter, r *http.Request) error

// page turns errors into pages.
func (s *Server) page(f handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		r.Body = http.MaxBytesReader(w, r.Body, maxBody)
		if err := f(w, r); err != nil {
			s.fail(w, r, err)
		}
	})
}

// problem is an error with its status.
type problem struct {
	*result.Failure
	status int
}

func refuse(status int, hint, format string, args ...any) error {
	return &problem{result.Refuse(hint, format, args...), status}
}

func nowhere(_ http.ResponseWriter, r *http.Request) error {
	return refuse(http.StatusNotFound, "the links at the top lead to all pages", "there is no page %s", r.URL.Path)
}

func (s *Server) start(w http.ResponseWriter, r *http.Request) error {
	http.Redirect(w, r, "/runs", http.StatusSeeOther)
	return nil
}

// statusOf is the status of an error.
func statusOf(err error) int {
	var own *problem
	failure := result.FailureOf(err)
	switch {
	case errors.As(err, &own):
		return own.status
	case errors.Is(err, store.ErrNoRun), errors.Is(err, store.ErrNoProbe), errors.Is(err, store.ErrNoTrial), errors.Is(err, store.ErrMissing):
		return http.StatusNotFound
	case errors.Is(err, store.ErrNotWritable):
		return http.StatusForbidden
	case errors.Is(err, store.ErrUnreachable), errors.Is(err, store.ErrBusy):
		return http.StatusServiceUnavailable
	case failure != nil && failure.Outcome == result.Refused:
		return http.StatusBadRequest
	}
	return http.StatusInternalServerError
}

// fail shows an error.
func (s *Server) fail(w http.ResponseWriter, r *http.Request, err error) {
	status, hint := statusOf(err), ""
	if failure := result.FailureOf(err); failure != nil {
		hint = failure.Hint
	}
	d := doc.Doc{Title: http.StatusText(status), Kicker: "whichfs serve", Version: s.App.Version, Sections: []doc.Section{{ID: "error", Title: "What happened", Body: []doc.Block{doc.Para{Role: doc.Answer, Text: err.Error()}}}}}
	if hint != "" {
		d.Sections[0].Body = append(d.Sections[0].Body, doc.Items{List: []doc.Item{{Mark: "→", Text: hint}}})
	}
	if status == http.StatusUnauthorized {
		d.Sections[0].Body = append(d.Sections[0].Body, tokenForm(r.URL.Path))
	}
	s.write(w, r, status, d, doc.Site{})
}

// show answers with a document.
func (s *Server) show(w http.ResponseWriter, r *http.Request, d doc.Doc, site doc.Site) error {
	s.write(w, r, http.StatusOK, d, site)
	return nil
}

func (s *Server) write(w http.ResponseWriter, r *http.Request, status int, d doc.Doc, site doc.Site) {
	for _, l := range places {
		l.Current = l.Href == r.URL.Path
		site.Links = append(site.Links, l)
	}
	if site.Events != "" {
		site.Script = "/live.js"
	}
	if d.Foot == "" {
		d.Foot = "whichfs " + s.App.Version
	}
	var b bytes.Buffer
	if err := site.HTML(&b, d); err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	h := w.Header()
	h.Set("Content-Type", "text/html; charset=utf-8")
	h.Set("Cache-Control", "no-store")
	h.Set("Content-Length", fmt.Sprint(b.Len()))
	w.WriteHeader(status)
	_, _ = w.Write(b.Bytes()) // the browser may be gone
}

// places are the pages that every page leads to.
var places = []doc.Link{{Text: "Runs", Href: "/runs"}, {Text: "Matrix", Href: "/matrix"}, {Text: "History", Href: "/history"}, {Text: "Compare", Href: "/compare"}, {Text: "Recommend", Href: "/recommend"}, {Text: "Probes", Href: "/probes"}, {Text: "Findings", Href: "/findings"}, {Text: "Token", Href: "/token"}}

// query is the address of a page with the values that are not empty.
func query(path string, values url.Values) string {
	full := url.Values{}
	for name, list := range values {
		if values.Get(name) != "" {
			full[name] = list
		}
	}
	if len(full) == 0 {
		return path
	}
	return path + "?" + full.Encode()
}

// changed are the values of an address with another one.
func changed(values url.Values, name, value string) url.Values {
	out := maps.Clone(values)
	out[name] = []string{value}
	return out
}
