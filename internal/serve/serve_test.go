package serve

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"golang.org/x/net/html"

	"whichfs/internal/app"
	"whichfs/internal/fault"
	"whichfs/internal/fault/finding"
	"whichfs/internal/fault/script"
	"whichfs/internal/fault/states"
	"whichfs/internal/fault/writelog"
	"whichfs/internal/result"
	"whichfs/internal/result/store"
	"whichfs/internal/result/store/storetest"
	"whichfs/internal/testing/database"
	"whichfs/internal/testing/must"
)

const testToken = "a-token-that-only-tests-have"

// site serves a store with three runs, of which one has output of another program.
func site(t testing.TB) (*Server, *httptest.Server) {
	t.Helper()
	return siteAt(t, filepath.Join(t.TempDir(), "results.db"))
}

// engines runs a test on a site over a file and on one over a database.
func engines(t *testing.T, f func(t *testing.T, s *Server, web *httptest.Server)) {
	t.Helper()
	t.Run("file", func(t *testing.T) {
		s, web := site(t)
		f(t, s, web)
	})
	t.Run("database", func(t *testing.T) {
		s, web := siteAt(t, database.Shared(t).URL())
		f(t, s, web)
	})
}

func siteAt(t testing.TB, path string) (*Server, *httptest.Server) {
	t.Helper()
	if err := storetest.Fill(path, 2, storetest.Shape{Candidates: 3, Rounds: 3, Phases: 14, Metrics: 3}); err != nil {
		t.Fatal(err)
	}
	st, err := store.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	run, trials := storetest.Run("with-output", storetest.Shape{Candidates: 3, Rounds: 2, Phases: 14, Metrics: 3}, 9)
	run.Storage = "sd:1G"
	run.Conditions[0].Value = "6.12.95"
	trials[0].Artifacts = []result.Artifact{{Phase: "read", Name: "fio.json", Text: "{}\n<script>alert(1)</script>\n"}}
	if err := st.Import(run, len(trials), trials); err != nil {
		t.Fatal(err)
	}
	s := &Server{App: &app.App{Path: path, Version: "test", Note: func(string) {}}, Token: testToken}
	web := httptest.NewServer(s.Handler())
	t.Cleanup(web.Close)
	return s, web
}

// ask asks for a page and returns its status and text.
func ask(t testing.TB, r *http.Request) (int, string, http.Header) {
	t.Helper()
	client := http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	answer, err := client.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	return answer.StatusCode, string(text), answer.Header
}

func get(t testing.TB, address string) (int, string, http.Header) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, address, nil)
	if err != nil {
		t.Fatal(err)
	}
	return ask(t, r)
}

// post sends a form; token may be empty.
func post(t testing.TB, address, token string, form url.Values) (int, string, http.Header) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, address, strings.NewReader(form.Encode()))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	if token != "" {
		r.Header.Set("Authorization", "Bearer "+token)
	}
	return ask(t, r)
}

// tags are those of a page, as they are written or as a browser's parser has them.
func tags(n *html.Node) (out []string) {
	if n.Type == html.ElementNode {
		out = append(out, "<"+n.Data)
	}
	for c := range n.ChildNodes() {
		out = append(out, tags(c)...)
	}
	if n.Type == html.ElementNode && !void[n.Data] {
		out = append(out, "</"+n.Data)
	}
	return out
}

var void = map[string]bool{"meta": true, "link": true, "input": true, "br": true, "wbr": true, "hr": true, "img": true}

func written(text string) (out []string) {
	z := html.NewTokenizer(strings.NewReader(text))
	for {
		switch z.Next() {
		case html.ErrorToken:
			return out
		case html.StartTagToken:
			name, _ := z.TagName()
			out = append(out, "<"+string(name))
			if string(name) == "noscript" { // the tokenizer takes its content for text
				z.Next()
				out = append(out, written(string(z.Text()))...)
			}
		case html.SelfClosingTagToken:
			name, _ := z.TagName()
			out = append(out, "<"+string(name), "</"+string(name))
		case html.EndTagToken:
			name, _ := z.TagName()
			out = append(out, "</"+string(name))
		}
	}
}

// lower has the names of drawings' elements in lower case, as the tokenizer does.
func lower(list []string) []string {
	for i := range list {
		list[i] = strings.ToLower(list[i])
	}
	return list
}

// valid checks that a parser of HTML has nothing to repair, that every id is there once and every
// reference to one leads somewhere, and that every field has a name. It returns the links.
func valid(t *testing.T, at, text string) (links []string) {
	t.Helper()
	page, err := html.ParseWithOptions(strings.NewReader(text), html.ParseOptionEnableScripting(false))
	if err != nil {
		t.Fatalf("%s: %v", at, err)
	}
	if is, want := lower(tags(page)), written(text); !slices.Equal(is, want) {
		for i := range want {
			if i >= len(is) || is[i] != want[i] {
				t.Errorf("%s: the parser repairs tag %d: %v, of %v", at, i, is[max(0, i-3):min(len(is), i+3)], want[max(0, i-3):min(len(want), i+3)])
				break
			}
		}
	}
	ids, fields := map[string]bool{}, map[string]bool{}
	var refers []string
	var walk func(*html.Node)
	walk = func(n *html.Node) {
		attrs := map[string]string{}
		if n.Type != html.ElementNode {
			n = &html.Node{FirstChild: n.FirstChild}
		}
		for _, a := range n.Attr {
			if _, twice := attrs[a.Key]; twice {
				t.Errorf("%s: <%s> has two attributes %s", at, n.Data, a.Key)
			}
			attrs[a.Key] = a.Val
			if strings.HasPrefix(a.Key, "on") {
				t.Errorf("%s: <%s %s>", at, n.Data, a.Key)
			}
		}
		if id, ok := attrs["id"]; ok {
			if ids[id] || id == "" {
				t.Errorf("%s: id %q occurs twice or is empty", at, id)
			}
			ids[id] = true
		}
		switch n.Data {
		case "a":
			if id, ok := strings.CutPrefix(attrs["href"], "#"); ok {
				refers = append(refers, id)
			} else {
				if attrs["href"] == "" {
					t.Errorf("%s: a link leads nowhere: %v", at, n.Attr)
				}
				links = append(links, attrs["href"])
			}
		case "label":
			fields[attrs["for"]] = true
		case "input", "select", "textarea":
			if attrs["type"] != "hidden" && attrs["aria-label"] == "" && !fields[attrs["id"]] {
				t.Errorf("%s: field %q has no label before it", at, attrs["name"])
			}
		}
		for c := range n.ChildNodes() {
			walk(c)
		}
	}
	walk(page)
	for _, id := range refers {
		if !ids[id] {
			t.Errorf("%s: a link leads to #%s, which is not there", at, id)
		}
	}
	return links
}

// reached asks for every page that links lead to from the first ones, of each kind a few.
func reached(t *testing.T, from string) map[string]string {
	t.Helper()
	pages, kinds := map[string]string{}, map[string]int{}
	todo := []string{"/runs"}
	for len(todo) > 0 {
		at := todo[0]
		todo = todo[1:]
		parsed, err := url.Parse(at)
		if err != nil {
			t.Fatalf("link %q: %v", at, err)
		}
		if parsed.Host != "" || !strings.HasPrefix(at, "/") {
			t.Errorf("a link leads to another host: %s", at)
			continue
		}
		parsed.Fragment = ""
		at = parsed.String()
		kind := kindOf(parsed)
		if strings.HasPrefix(parsed.Path, "/export/") {
			kind = parsed.Path
		}
		if _, seen := pages[at]; seen || kinds[kind] >= 2 {
			continue
		}
		kinds[kind]++
		status, text, head := get(t, from+at)
		pages[at] = text
		if status != http.StatusOK {
			t.Errorf("%s: status %d", at, status)
		}
		if strings.HasPrefix(head.Get("Content-Type"), "text/html") && head.Get("Content-Disposition") == "" {
			todo = append(todo, valid(t, at, text)...)
		}
	}
	return pages
}

// kindOf is the address of a page without what is only of one run.
func kindOf(u *url.URL) string {
	parts := strings.Split(u.Path, "/")
	for i := 2; i < len(parts); i++ {
		if parts[i-1] != "data" && !slices.Contains([]string{"figures", "trials", "data"}, parts[i]) {
			parts[i] = "*"
		}
	}
	return fmt.Sprint(strings.Join(parts, "/"), len(u.Query()))
}

func TestEveryLinkLeadsToAValidPage(t *testing.T) { engines(t, everyLink) }

func everyLink(t *testing.T, _ *Server, web *httptest.Server) {
	pages := reached(t, web.URL)
	for _, want := range []string{"/runs", "/runs/with-output", "/runs/with-output/data/csv", "/runs/with-output/data/json", "/export/csv", "/export/json", "/export/parquet", "/export/openmetrics", "/compare", "/probes", "/token", "/history", "/matrix", "/recommend", "/findings"} {
		if _, ok := pages[want]; !ok {
			t.Errorf("no link leads to %s", want)
		}
	}
	for _, kind := range []string{"/figures?", "/trials/"} {
		if !slices.ContainsFunc(slices.Collect(mapsKeys(pages)), func(at string) bool { return strings.Contains(at, kind) }) {
			t.Errorf("no link leads to a page %s", kind)
		}
	}
	for _, at := range []string{"/compare?run=fill-0001&run=fill-0002", "/compare?run=fill-0001&run=fill-0002&run=with-output", "/nowhere", "/runs?filesystem=xfs&label=none", "/probes/nosuch"} {
		_, text, _ := get(t, web.URL+at)
		valid(t, at, text)
	}
}

func mapsKeys[V any](m map[string]V) func(func(string) bool) {
	return func(yield func(string) bool) {
		for k := range m {
			if !yield(k) {
				return
			}
		}
	}
}

// Every figure leads to the trials that it was made from, and they to the output of other programs.
func TestFiguresAreTraceable(t *testing.T) {
	s, web := site(t)
	_, page, _ := get(t, web.URL+"/runs/with-output")
	var figure string
	for _, l := range valid(t, "run", page) {
		if strings.Contains(l, "figures?") && strings.Contains(l, "column=read") && strings.Contains(l, "candidate=ext4&") {
			figure = l
		}
	}
	_, text, _ := get(t, web.URL+figure)
	var trials []string
	for _, l := range valid(t, figure, text) {
		if strings.Contains(l, "/trials/") {
			trials = append(trials, l)
		}
	}
	if len(trials) != 2 { // rounds
		t.Fatalf("%s leads to trials %v", figure, trials)
	}
	st, err := store.OpenReadOnly(s.App.Path)
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	all, err := st.Trials("with-output")
	if err != nil {
		t.Fatal(err)
	}
	for _, one := range all {
		_, text, _ := get(t, fmt.Sprintf("%s/runs/with-output/trials/%d", web.URL, one.ID))
		for _, m := range one.Measurements {
			if !strings.Contains(text, ">"+inBase(m.Value)+"<") {
				t.Errorf("trial %d does not show %s of %s: %v", one.ID, m.Metric, m.Phase, m.Value)
			}
		}
	}
	status, text, head := get(t, fmt.Sprintf("%s/runs/with-output/trials/%d/0", web.URL, all[0].ID))
	if status != http.StatusOK || !strings.Contains(text, "<script>") || !strings.HasPrefix(head.Get("Content-Type"), "text/plain") || !strings.HasPrefix(head.Get("Content-Disposition"), "attachment") {
		t.Errorf("the output of a program: %d, %q as %v", status, text, head)
	}
	if status, _, _ := get(t, fmt.Sprintf("%s/runs/fill-0001/trials/%d", web.URL, all[0].ID)); status != http.StatusNotFound {
		t.Errorf("a trial is shown as that of another run: %d", status)
	}
}

func TestRunsAreFound(t *testing.T) { engines(t, found) }

func found(t *testing.T, _ *Server, web *httptest.Server) {
	if status, text, _ := post(t, web.URL+"/runs/fill-0002/notes", testToken, url.Values{"text": {"#Slow-Card, seen twice\n<b>"}}); status != http.StatusSeeOther {
		t.Fatalf("a note: %d, %s", status, text)
	}
	for search, want := range map[string][]string{
		"":                  {"with-output", "fill-0002", "fill-0001"},
		"study=nosuch":      nil,
		"storage=SD":        {"with-output"},
		"kernel=6.12":       {"with-output"},
		"kernel=6.1.0":      {"fill-0002", "fill-0001"},
		"machine=ak":        {"with-output", "fill-0002", "fill-0001"},
		"machine=%25":       nil,
		"filesystem=ext4":   {"with-output", "fill-0002", "fill-0001"},
		"filesystem=ext":    nil,
		"label=slow-card":   {"fill-0002"},
		"label=slow":        nil,
		"state=interrupted": nil,
		"before=fill-0002":  {"fill-0001"},
	} {
		_, text, _ := get(t, web.URL+"/runs?"+search)
		var found []string
		for _, l := range valid(t, search, text) {
			if id, ok := strings.CutPrefix(l, "/runs/"); ok {
				found = append(found, id)
			}
		}
		if !slices.Equal(found, want) {
			t.Errorf("%s finds %v, not %v", search, found, want)
		}
	}
	if _, text, _ := get(t, web.URL+"/runs/fill-0002"); !strings.Contains(text, "#Slow-Card, seen twice &lt;b&gt;") {
		t.Error("the page of the run does not show the note")
	}
}

// Pages are for this machine, and writing is for whoever has the token.
func TestWhoMayDoWhat(t *testing.T) {
	s, web := site(t)
	from := func(remote, method, path string, change func(*http.Request)) (int, string) {
		r := httptest.NewRequest(method, "http://localhost"+path, nil)
		r.RemoteAddr = remote
		if change != nil {
			change(r)
		}
		w := httptest.NewRecorder()
		s.Handler().ServeHTTP(w, r)
		return w.Code, w.Body.String()
	}
	bearer := func(token string) func(*http.Request) {
		return func(r *http.Request) { r.Header.Set("Authorization", "Bearer "+token) }
	}
	session := func(r *http.Request) { r.AddCookie(&http.Cookie{Name: cookieName, Value: s.session()}) }
	const here, there = "127.0.0.1:5000", "192.0.2.7:5000"
	for _, c := range []struct {
		what, remote, method, path string
		change                     func(*http.Request)
		want                       int
	}{
		{"localhost reads", here, "GET", "/runs", nil, 200},
		{"localhost reads over IPv6", "[::1]:5000", "GET", "/runs", nil, 200},
		{"another host", there, "GET", "/runs", nil, 401},
		{"another host that says it is localhost", there, "GET", "/runs", func(r *http.Request) { r.Header.Set("X-Forwarded-For", "127.0.0.1") }, 401},
		{"another host's data", there, "GET", "/runs/fill-0001/data/csv", nil, 401},
		{"another host's events", there, "GET", "/events/runs", nil, 401},
		{"another host with the token", there, "GET", "/runs", bearer(testToken), 200},
		{"another host with a wrong token", there, "GET", "/runs", bearer("wrong"), 401},
		{"another host with an empty token", there, "GET", "/runs", bearer(""), 401},
		{"another host with the cookie", there, "GET", "/runs", session, 200},
		{"another host with the token as the cookie", there, "GET", "/runs", func(r *http.Request) { r.AddCookie(&http.Cookie{Name: cookieName, Value: testToken}) }, 401},
		{"another host's form for the token", there, "GET", "/token", nil, 200},
		{"a note without the token", here, "POST", "/runs/fill-0001/notes", nil, 401},
		{"cancelling without the token", here, "POST", "/runs/fill-0001/cancel", nil, 401},
		{"cancelling what does not run", here, "POST", "/runs/fill-0001/cancel", bearer(testToken), 400},
		{"a note from another site", here, "POST", "/runs/fill-0001/notes", func(r *http.Request) { session(r); r.Header.Set("Sec-Fetch-Site", "cross-site") }, 403},
		{"a name of the domain name system", here, "GET", "/runs", func(r *http.Request) { r.Host = "whichfs.example:80" }, 421},
		{"an address", here, "GET", "/runs", func(r *http.Request) { r.Host = "[::1]:80" }, 200},
		{"writing a page", here, "PUT", "/runs", bearer(testToken), 405},
		{"a file of this machine as a probe", here, "GET", "/compare?probe=/etc/passwd&probe=x.json", nil, 404},
		{"a path upwards", here, "GET", "/runs/fill-0001/data/..%2f..%2fpasswd", nil, 404},
	} {
		if got, text := from(c.remote, c.method, c.path, c.change); got != c.want {
			t.Errorf("%s: status %d, not %d: %s", c.what, got, c.want, text[max(0, len(text)-400):])
		}
	}
	s.Locked, s.Names = true, []string{"whichfs.example"}
	if got, _ := from(here, "GET", "/runs", func(r *http.Request) { r.Host = "whichfs.example:80" }); got != 401 {
		t.Errorf("a locked server by its name: status %d", got)
	}
	status, _, head := post(t, web.URL+"/token", "", url.Values{"token": {testToken}, "next": {"//evil.example"}})
	if status != 303 || head.Get("Location") != "/runs" || !strings.Contains(head.Get("Set-Cookie"), "HttpOnly") || strings.Contains(head.Get("Set-Cookie"), testToken) {
		t.Errorf("the form for the token: %d, %v", status, head)
	}
	if status, _, _ := post(t, web.URL+"/token", "", url.Values{"token": {"wrong"}}); status != 401 {
		t.Errorf("a wrong token: %d", status)
	}
}

// A run that is carried out changes its page, and can be cancelled there.
func TestRunsAreLive(t *testing.T) { engines(t, live) }

func live(t *testing.T, s *Server, web *httptest.Server) {
	ctx, end := context.WithCancel(t.Context())
	defer end()
	tree := t.TempDir()
	if err := os.WriteFile(filepath.Join(tree, "one"), []byte("one\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	job, err := s.App.Begin(ctx, app.Ask{Study: "bootlin-2023", Scale: "quick", Machine: "fake", Data: tree, Candidates: []string{"ext4", "xfs"}})
	if err != nil {
		t.Fatal(err)
	}
	defer job.Close()
	id := job.Runs[0].ID
	if _, text, _ := get(t, web.URL+"/runs/"+id); !strings.Contains(text, "/events/runs/"+id) || !strings.Contains(text, "/runs/"+id+"/cancel") {
		t.Fatal("the page of a run that is carried out does not ask for events, or cannot cancel it")
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, web.URL+"/events/runs/"+id, nil)
	if err != nil {
		t.Fatal(err)
	}
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	next := events(answer.Body)
	if e := next(); e != "change" {
		t.Fatalf("the first event is %q", e)
	}
	if err := job.Store.AddRemark(id, "while it runs"); err != nil {
		t.Fatal(err)
	}
	if e := next(); e != "change" {
		t.Fatalf("after a change the event is %q", e)
	}
	if status, text, _ := post(t, web.URL+"/runs/"+id+"/cancel", testToken, nil); status != http.StatusSeeOther {
		t.Fatalf("cancelling: %d, %s", status, text)
	}
	<-job.Cancelled()
	job.Close()
	for e := next(); e != "end"; e = next() {
		if e == "" {
			t.Fatal("the events ended without saying so")
		}
	}
}

// events returns the next event at each call, and nothing at the end.
func events(r io.Reader) func() string {
	var rest []byte
	part := make([]byte, 512)
	return func() string {
		for {
			if head, tail, ok := bytes.Cut(rest, []byte("\n\n")); ok {
				rest = tail
				name, _, _ := strings.Cut(strings.TrimPrefix(string(head), "event: "), "\n")
				return name
			}
			n, err := r.Read(part)
			rest = append(rest, part[:n]...)
			if err != nil && n == 0 {
				return ""
			}
		}
	}
}

// Findings beside the store are shown with their pictures, and nothing else is.
func TestFindings(t *testing.T) {
	s, web := site(t)
	dir, content := addFinding(t, s)
	outside := filepath.Join(filepath.Dir(s.App.Path), "outside.json")
	older := strings.Replace(dir, "crash-2026", "crash-2025", 1)
	must.Do(t, os.Mkdir(older, 0o755))
	for path, text := range map[string]string{filepath.Join(dir, "bad.json"): "{}", filepath.Join(older, "old.json"): content, outside: content} {
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink(outside, filepath.Join(dir, "link.json")); err != nil {
		t.Fatal(err)
	}
	_, list, _ := get(t, web.URL+"/findings")
	links := valid(t, "/findings", list)
	const at = "/findings/crash-20260101-000000-0001/ext4-append-1.json"
	if i, k := slices.Index(links, at), slices.Index(links, "/findings/crash-20250101-000000-0001/old.json"); i < 0 || k < i {
		t.Fatalf("the list leads to %v, and not to the latest first", links)
	}
	status, page, _ := get(t, web.URL+at)
	if status != http.StatusOK || !strings.Contains(page, "<svg class=\"crash\"") || !strings.Contains(page, "the file is gone") {
		t.Errorf("the finding: %d, without its picture or its breach", status)
	}
	valid(t, at, page)
	for path, want := range map[string]int{"crash-20260101-000000-0001/bad.json": 400, "crash-20260101-000000-0001/link.json": 404, "crash-x/..%2f..%2foutside.json": 404, "crash-20260101-000000-0001%2f..%2f..%2f/outside.json": 404, "fill-0001/ext4-append-1.json": 404} {
		if status, _, _ := get(t, web.URL+"/findings/"+path); status != want {
			t.Errorf("%s: status %d, not %d", path, status, want)
		}
	}
}

func TestMain(m *testing.M) { database.Main(m) }

// addFinding writes a finding beside the store, and returns its directory and text.
func addFinding(t *testing.T, s *Server) (dir, content string) {
	t.Helper()
	dir, err := s.App.Evidence("crash-20260101-000000-0001")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	f := finding.Finding{Format: finding.Format, Version: "v", Kernel: "6.1", Candidate: "ext4 -o nobarrier", Size: 1 << 20,
		Script: script.Script{Name: "append", Ops: []script.Op{{Do: "append", Path: "a", Size: 4096}, {Do: "fsync", Path: "a"}}},
		Began:  2, Acked: 2, Outcome: fault.Lost, Breaches: []fault.Breach{{Promise: "fsync", Path: "a", Outcome: fault.Lost, What: "the file is gone"}},
		Seed: 7, Number: 12, Minimal: true, Same: 3, State: states.State{Point: 2, Kept: []int{}}, Base: fault.Image{Size: 1 << 20},
		Log: writelog.Log{Entries: []writelog.Entry{{Flags: writelog.Mark, Data: []byte("begin 1")}, {Sector: 8, Sectors: 8, Data: bytes.Repeat([]byte{1}, 8*writelog.SectorSize)}}}}
	var text bytes.Buffer
	if err := f.Encode(&text); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "ext4-append-1.json"), text.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
	return dir, text.String()
}

// The runs of a search are sent as one file, and no others.
func TestExportOfASearch(t *testing.T) {
	_, web := site(t)
	for at, want := range map[string]struct {
		status       int
		begins, ends string
		has, lacks   string
	}{
		"csv?storage=sd":         {200, "run,study,", "\r\n", "with-output,", "fill-0001"},
		"csv?before=fill-0002":   {200, "run,study,", "\r\n", "with-output,", ""},
		"json?kernel=6.1.0":      {200, "[", "]\n", `"fill-0002"`, "with-output"},
		"openmetrics?storage=sd": {200, "# TYPE", "# EOF\n", `run="with-output"`, "fill-0001"},
		"parquet":                {200, "PAR1", "PAR1", "with-output", ""},
		"parquet?storage=sd":     {200, "PAR1", "PAR1", "with-output", "fill-0001"},
		"csv?label=none":         {400, "<!DOCTYPE", "", "no run is like this", ""},
		"html":                   {404, "<!DOCTYPE", "", "no format", ""},
	} {
		status, text, head := get(t, web.URL+"/export/"+at)
		if status != want.status || !strings.HasPrefix(text, want.begins) || !strings.HasSuffix(text, want.ends) || !strings.Contains(text, want.has) || want.lacks != "" && strings.Contains(text, want.lacks) {
			t.Errorf("%s: %d, %q…%q", at, status, text[:min(len(text), 60)], text[max(0, len(text)-60):])
		}
		if status == 200 && !strings.HasPrefix(head.Get("Content-Disposition"), "attachment") {
			t.Errorf("%s: %v", at, head)
		}
	}
	if _, page, _ := get(t, web.URL+"/runs?storage=sd%3A1G"); !strings.Contains(page, `href="/export/csv?storage=sd%3A1G"`) || !strings.Contains(page, "<span>whichfs</span> <span>export</span> <span>--storage</span> <span>sd:1G</span>") {
		t.Error("the page does not lead to the export of its search")
	}
}

// A server whose user may only read shows all, and refuses to write; one of a worker writes.
func TestRolesOfADatabase(t *testing.T) {
	server := database.Shared(t)
	s, _ := siteAt(t, server.URL())
	owner, err := store.Open(s.App.Path)
	must.Do(t, err)
	defer owner.Close()
	roles, err := owner.Roles()
	must.Do(t, err)
	db, err := pgx.Connect(t.Context(), s.App.Path)
	must.Do(t, err)
	defer db.Close(context.Background())
	for _, sql := range []string{roles, "DROP USER IF EXISTS reader, writer", fmt.Sprintf("CREATE USER reader PASSWORD '%[1]s' IN ROLE whichfs_viewer; CREATE USER writer PASSWORD '%[1]s' IN ROLE whichfs_worker", os.Getenv("PGPASSWORD"))} {
		_, err := db.Exec(t.Context(), sql)
		must.Do(t, err)
	}
	// The owner carries a run out.
	release, err := owner.Hold("fill-0001", func() { t.Error("the run was cancelled by another user") })
	must.Do(t, err)
	defer release()
	for user, want := range map[string]int{"reader": http.StatusForbidden, "writer": http.StatusSeeOther} {
		path := strings.Replace(s.App.Path, database.User+"@", user+"@", 1)
		of := &Server{App: &app.App{Path: path, Version: "test", Note: func(string) {}}, Token: testToken}
		web := httptest.NewServer(of.Handler())
		defer web.Close()
		for _, at := range []string{"/runs", "/runs/with-output", "/history", "/matrix", "/recommend", "/probes", "/export/csv"} {
			if status, text, _ := get(t, web.URL+at); status != http.StatusOK {
				t.Errorf("%s, %s: %d, %s", user, at, status, text)
			}
		}
		if status, text, _ := post(t, web.URL+"/runs/fill-0001/notes", testToken, url.Values{"text": {"#by-" + user}}); status != want {
			t.Errorf("%s writes a note: %d, %s", user, status, text)
		}
		if status, text, _ := post(t, web.URL+"/runs/fill-0001/cancel", testToken, nil); status != http.StatusForbidden {
			t.Errorf("%s cancels another's run: %d, %s", user, status, text)
		}
	}
	if list, total, err := owner.Find(store.Query{Label: "by-writer"}); err != nil || total != 1 || list[0].Run.ID != "fill-0001" {
		t.Errorf("the note of the worker: %v, %v", list, err)
	}
	if _, total, err := owner.Find(store.Query{Label: "by-reader"}); err != nil || total != 0 {
		t.Errorf("the note of the viewer is there: %v", err)
	}
}
