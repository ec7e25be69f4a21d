package serve

import (
	"errors"
	"net/http"

	"whichfs/internal/plan/study"
	"whichfs/internal/report"
	"whichfs/internal/report/doc"
	"whichfs/internal/result/store"
	"whichfs/internal/sys/units"
)

// storedProbe refuses a name that is neither of a probe of the store nor of a study's card.
func (s *Server) storedProbe(name string) error {
	if _, _, ok := study.CardByName(name); ok {
		return nil
	}
	st, err := s.App.ReadStore()
	if err != nil {
		return err
	}
	defer st.Close() //nolint:errcheck // read only
	_, _, err = st.Probe(name)
	return err
}

func (s *Server) listProbes(w http.ResponseWriter, r *http.Request) error {
	d := doc.Doc{Title: "Probes", Kicker: "whichfs serve", Version: s.App.Version}
	t := doc.Table{Name: "Probes", Columns: []doc.Column{{Head: "Probe", Kind: doc.Names}, {Head: "Storage"}, {Head: "Identity"}, {Head: "Machine"}, {Head: "Wrote"}, {Head: "Started"}}}
	row := func(id, href string, rest ...string) {
		t.Rows = append(t.Rows, doc.Row{Cells: append([]doc.Cell{{Text: id, Href: href, Check: &doc.Check{Name: "probe", Value: id, Label: "compare " + id}}}, doc.Texts(rest...).Cells...)})
	}
	st, err := s.App.ReadStore()
	if err != nil && !errors.Is(err, store.ErrMissing) {
		return err
	}
	if err == nil {
		defer st.Close() //nolint:errcheck // read only
		list, err := st.Probes()
		if err != nil {
			return err
		}
		for _, p := range list {
			wrote := "no"
			if p.Wrote {
				wrote = "yes"
			}
			row(p.ID, "/probes/"+p.ID, p.Storage, p.Identity, p.Machine, wrote, p.Started.Format("2006-01-02 15:04 UTC"))
		}
	}
	own := len(t.Rows)
	for _, name := range study.CardNames() {
		row(name, "", "published")
	}
	d.Sections = []doc.Section{{ID: "probes", Title: units.Count(own, "probe") + " and the published cards", Body: []doc.Block{
		doc.Para{Text: "A probe infers from timing what storage is like inside: whichfs probe STORAGE makes one."},
		doc.Form{Name: "Compare", Action: "/compare", Submit: "Compare the chosen ones", Body: []doc.Block{t}}}}}
	return s.show(w, r, d, doc.Site{})
}

func (s *Server) showProbe(w http.ResponseWriter, r *http.Request) error {
	st, err := s.App.ReadStore()
	if err != nil {
		return err
	}
	defer st.Close() //nolint:errcheck // read only
	id, p, err := st.Probe(r.PathValue("probe"))
	if err != nil {
		return err
	}
	d, err := report.ProbeDoc(p, id)
	if err != nil {
		return err
	}
	return s.show(w, r, d, doc.Site{})
}
