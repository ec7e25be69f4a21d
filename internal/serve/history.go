package serve

import (
	"bytes"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"

	"whichfs/internal/judge/history"
	"whichfs/internal/report"
	"whichfs/internal/report/doc"
	"whichfs/internal/result"
	"whichfs/internal/result/store"
)

// lastSteps is the number of runs of a group that a page shows.
const lastSteps = 50

// showHistory shows the figures of a study over time or over kernels.
func (s *Server) showHistory(w http.ResponseWriter, r *http.Request) error {
	values := r.URL.Query()
	ask := history.Question{By: history.Order(values.Get("by")), Last: lastSteps}
	var err error
	if text := values.Get("margin"); text != "" {
		if ask.Margin, err = strconv.ParseFloat(text, 64); err != nil || !(ask.Margin > 0 && ask.Margin < 10) {
			return result.Refuse("for instance 0.05", "margin: %q is not a relative difference above 0", text)
		}
	}
	if text := values.Get("last"); text != "" {
		if ask.Last, err = strconv.Atoi(text); err != nil || ask.Last < 1 || ask.Last > 1000 {
			return result.Refuse("", "last: %q is not a number from 1 to 1000", text)
		}
	}
	form, err := s.historyForm(values)
	if err != nil {
		return err
	}
	at := 1
	if text := values.Get("group"); text != "" {
		if at, err = strconv.Atoi(text); err != nil {
			return result.Refuse("the page lists the groups", "group: %q is no number", text)
		}
	}
	q := conditions(values)
	q.Limit = 0
	var h history.History
	if as := values.Get("as"); as == "" {
		h, err = s.App.RecentHistory(&s.memory, q, ask, at-1)
	} else {
		h, err = s.App.History(&s.memory, q, ask)
	}
	if failure := result.FailureOf(err); failure != nil && failure.Outcome == result.Refused {
		// The form stays, to ask for something else.
		d := doc.Doc{Title: "History", Kicker: "whichfs serve", Version: s.App.Version, Sections: []doc.Section{form, {ID: "none", Title: "Nothing to show", Body: []doc.Block{doc.Para{Role: doc.Answer, Text: failure.Error()}}}}}
		s.write(w, r, statusOf(err), d, doc.Site{})
		return nil
	}
	if err != nil {
		return err
	}
	switch values.Get("as") {
	case "csv":
		return send(w, "whichfs-history-"+h.Study+".csv", types["csv"], func(b *bytes.Buffer) error { return report.HistoryCSV(b, h) })
	case "json":
		return send(w, "whichfs-history-"+h.Study+".json", types["json"], func(b *bytes.Buffer) error { return report.HistoryJSON(b, h) })
	}
	d, err := report.HistoryDoc(h, at-1)
	if err != nil {
		return err
	}
	with := func(name, value string) string { return query("/history", changed(values, name, value)) }
	for i, section := range d.Sections {
		if section.ID != "groups" {
			continue
		}
		t, ok := section.Body[0].(doc.Table)
		for k := range t.Rows {
			if ok && k != at-1 {
				t.Rows[k].Cells[0].Href = with("group", fmt.Sprint(k+1))
			}
		}
		d.Sections[i].Body[0] = t
	}
	d.Version = s.App.Version
	d.Sections = append(d.Sections, form, doc.Section{ID: "data", Title: "Data", Body: []doc.Block{doc.Links{Name: "Data", List: []doc.Link{{Text: "csv", Href: with("as", "csv")}, {Text: "json", Href: with("as", "json")}}}}})
	return s.show(w, r, d, doc.Site{Base: "/"})
}

func (s *Server) historyForm(v url.Values) (doc.Section, error) {
	known, err := s.known()
	if err != nil {
		return doc.Section{}, err
	}
	return doc.Section{ID: "ask", Title: "Other runs", Body: []doc.Block{doc.Form{Name: "History", Action: "/history", Submit: "Show", Fields: []doc.Field{
		{Name: "study", Label: "Study", Value: v.Get("study"), Kind: doc.Choice, Options: choices("that of the latest run", known.Studies)},
		{Name: "by", Label: "Order", Value: v.Get("by"), Kind: doc.Choice, Options: []doc.Option{{Value: string(history.ByRun), Text: "runs, by time"}, {Value: string(history.ByKernel), Text: "kernels, by version"}}},
		{Name: "machine", Label: "Machine", Value: v.Get("machine"), Options: options(known.Machines), Hint: "part of its name"},
		{Name: "storage", Label: "Storage", Value: v.Get("storage"), Options: options(known.Storages), Hint: "part of its name"},
		{Name: "kernel", Label: "Kernel", Value: v.Get("kernel"), Hint: "such as 6.12"},
		{Name: "label", Label: "Label", Value: v.Get("label")},
		{Name: "margin", Label: "Margin", Value: v.Get("margin"), Hint: "0.10"},
		{Name: "last", Label: "Steps at most", Value: v.Get("last"), Hint: fmt.Sprint(lastSteps)},
	}}}}, nil
}

// known are the values that runs can be chosen by; none where there is no store yet.
func (s *Server) known() (store.Values, error) {
	st, err := s.App.ReadStore()
	if errors.Is(err, store.ErrMissing) {
		return store.Values{}, nil
	}
	if err != nil {
		return store.Values{}, err
	}
	defer st.Close() //nolint:errcheck // read only
	return st.Values()
}
