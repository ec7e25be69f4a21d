package serve

import (
	"bytes"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"whichfs/internal/app"
	"whichfs/internal/judge/recommend"
	"whichfs/internal/report"
	"whichfs/internal/report/doc"
	"whichfs/internal/result"
	"whichfs/internal/result/store"
)

// mostLeaders is the number of conditions of the matrix, the latest.
const mostLeaders = 40

func conditions(v url.Values) store.Query {
	return store.Query{Study: v.Get("study"), Machine: v.Get("machine"), Storage: v.Get("storage"), Kernel: v.Get("kernel"), Label: v.Get("label"), Limit: mostLeaders}
}

// showMatrix shows which filesystem leads where.
func (s *Server) showMatrix(w http.ResponseWriter, r *http.Request) error {
	v := r.URL.Query()
	list, err := s.App.Leaders(&s.memory, conditions(v))
	if err != nil && !errors.Is(err, store.ErrMissing) {
		return err
	}
	known, err := s.known()
	if err != nil {
		return err
	}
	d := report.MatrixDoc(list)
	d.Version = s.App.Version
	d.Sections = append(d.Sections, doc.Section{ID: "ask", Title: "Other conditions", Body: []doc.Block{doc.Form{Name: "Conditions", Action: "/matrix", Submit: "Show", Fields: []doc.Field{
		{Name: "study", Label: "Study", Value: v.Get("study"), Kind: doc.Choice, Options: choices("any study", known.Studies)},
		{Name: "machine", Label: "Machine", Value: v.Get("machine"), Options: options(known.Machines), Hint: "part of its name"},
		{Name: "storage", Label: "Storage", Value: v.Get("storage"), Options: options(known.Storages), Hint: "part of its name"},
		{Name: "kernel", Label: "Kernel", Value: v.Get("kernel"), Hint: "such as 6.12"},
		{Name: "label", Label: "Label", Value: v.Get("label")},
	}}}})
	return s.show(w, r, d, doc.Site{Base: "/"})
}

// scrape answers with the figures of the matrix's runs for OpenMetrics.
func (s *Server) scrape(w http.ResponseWriter, r *http.Request) error {
	list, err := s.App.Leaders(&s.memory, conditions(r.URL.Query()))
	if err != nil && !errors.Is(err, store.ErrMissing) {
		return err
	}
	var b bytes.Buffer
	if err := report.Metrics(&b, list); err != nil {
		return err
	}
	w.Header().Set("Content-Type", report.MetricsType)
	_, _ = w.Write(b.Bytes()) // who asked may be gone
	return nil
}

// showRecommendation answers a form of needs and weights.
func (s *Server) showRecommendation(w http.ResponseWriter, r *http.Request) error {
	v := r.URL.Query()
	known, err := s.known()
	if err != nil {
		return err
	}
	var needs, profiles []doc.Option
	for _, n := range recommend.Needs() {
		needs = append(needs, doc.Option{Value: n.Name, Text: n.About})
	}
	profiles = append(profiles, doc.Option{Text: "none"})
	for _, p := range recommend.Profiles {
		profiles = append(profiles, doc.Option{Value: p.Name, Text: p.Name + ": " + p.About})
	}
	form := doc.Section{ID: "ask", Title: "What is needed", Body: []doc.Block{doc.Form{Name: "Needs", Action: "/recommend", Submit: "Recommend", Fields: []doc.Field{
		{Name: "profile", Label: "Profile", Value: v.Get("profile"), Kind: doc.Choice, Options: profiles},
		{Name: "need", Label: "Needs, separated by commas", Value: strings.Join(words(v["need"]), ","), Options: needs, Hint: "power-loss-safe,max-boot=0.5s"},
		{Name: "weight", Label: "Weights of measures", Value: strings.Join(words(v["weight"]), ","), Hint: "write=3,boot=1"},
		{Name: "storage", Label: "Storage", Value: v.Get("storage"), Options: options(known.Storages), Hint: "that of the latest run"},
		{Name: "run", Label: "Runs, separated by commas", Value: strings.Join(words(v["run"]), ","), Hint: "the latest"},
	}}, needList()}}
	answer, err := s.App.Recommend(app.Wish{Runs: words(v["run"]), Needs: words(v["need"]), Weights: words(v["weight"]), Profile: v.Get("profile"), Storage: v.Get("storage")})
	if failure := result.FailureOf(err); failure != nil && failure.Outcome == result.Refused {
		body := []doc.Block{doc.Para{Role: doc.Answer, Text: failure.Error()}}
		if failure.Hint != "" {
			body = append(body, doc.Items{List: []doc.Item{{Mark: "→", Text: failure.Hint}}})
		}
		d := doc.Doc{Title: "Which filesystem for these needs", Kicker: "whichfs recommend", Version: s.App.Version, Sections: []doc.Section{{ID: "none", Title: "No answer", Body: body}, form}}
		s.write(w, r, statusOf(err), d, doc.Site{})
		return nil
	}
	if err != nil {
		return err
	}
	if v.Get("as") == "json" {
		return send(w, "whichfs-recommend.json", types["json"], func(b *bytes.Buffer) error { return report.RecommendJSON(b, answer) })
	}
	d := report.RecommendDoc(answer)
	d.Version = s.App.Version
	if len(v) == 0 {
		d.Sections = append([]doc.Section{form}, d.Sections...)
	} else {
		d.Sections = append(d.Sections, form)
	}
	d.Sections = append(d.Sections, doc.Section{ID: "data", Title: "Data", Body: []doc.Block{doc.Links{Name: "Data", List: []doc.Link{{Text: "json", Href: query("/recommend", changed(v, "as", "json"))}}}}})
	return s.show(w, r, d, doc.Site{Base: "/"})
}

// words splits lists that are separated by commas.
func words(lists []string) (out []string) {
	for _, list := range lists {
		for word := range strings.SplitSeq(list, ",") {
			if word = strings.TrimSpace(word); word != "" && !slices.Contains(out, word) {
				out = append(out, word)
			}
		}
	}
	return out
}

func needList() doc.Fold {
	var list []doc.Fact
	for _, n := range recommend.Needs() {
		list = append(list, doc.Fact{Name: n.Name, Text: n.About})
	}
	return doc.Fold{Summary: "The needs", Body: []doc.Block{doc.Facts{List: list}}}
}
