package serve

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"whichfs/internal/filesystem"
	"whichfs/internal/report/doc"
	"whichfs/internal/result"
	"whichfs/internal/result/store"
	"whichfs/internal/sys/units"
)

// perPage is the number of runs on a page.
const perPage = 50

// searchWords are the fields of a search, as the page and whichfs export name them.
var searchWords = []string{"study", "machine", "storage", "kernel", "filesystem", "label", "state"}

// searched are the fields by which runs are searched, as the address names them.
func searched(v url.Values) store.Query {
	return store.Query{Study: v.Get("study"), Machine: v.Get("machine"), Storage: v.Get("storage"), Kernel: v.Get("kernel"),
		Filesystem: v.Get("filesystem"), Label: v.Get("label"), State: v.Get("state"), Before: v.Get("before"), Limit: perPage}
}

func (s *Server) listRuns(w http.ResponseWriter, r *http.Request) error {
	d := doc.Doc{Title: "Runs", Kicker: "whichfs serve", Version: s.App.Version}
	values := r.URL.Query()
	st, err := s.App.ReadStore()
	if errors.Is(err, store.ErrMissing) {
		d.Sections = []doc.Section{{ID: "runs", Title: "None yet", Body: []doc.Block{doc.Commands{List: []doc.Command{{Line: "whichfs run bootlin-2023 --quick", About: "makes one"}}}}}}
		return s.show(w, r, d, doc.Site{})
	}
	if err != nil {
		return err
	}
	defer st.Close() //nolint:errcheck // read only
	list, total, err := st.Find(searched(values))
	if err != nil {
		return err
	}
	known, err := st.Values()
	if err != nil {
		return err
	}
	d.Sections = []doc.Section{
		{ID: "search", Title: "Search", Body: []doc.Block{searchForm(values, known)}},
		{ID: "runs", Title: units.Count(total, "run"), Body: []doc.Block{runTable(st, list), pager(values, list)}},
		exportSection(values, total),
	}
	return s.show(w, r, d, doc.Site{Events: query("/events/runs", values)})
}

// options are the suggestions of a field.
func options(list []string) (out []doc.Option) {
	for _, x := range list {
		out = append(out, doc.Option{Value: x})
	}
	return out
}

// choices are options with one for all.
func choices(all string, list []string) []doc.Option {
	return append([]doc.Option{{Text: all}}, options(list)...)
}

func searchForm(v url.Values, known store.Values) doc.Form {
	states := []string{string(result.Running), string(result.Interrupted), string(result.Finished)}
	return doc.Form{ID: "search-form", Name: "Search", Action: "/runs", Submit: "Search", Fields: []doc.Field{
		{Name: "study", Label: "Study", Value: v.Get("study"), Kind: doc.Choice, Options: choices("any study", known.Studies)},
		{Name: "machine", Label: "Machine", Value: v.Get("machine"), Options: options(known.Machines), Hint: "part of its name"},
		{Name: "storage", Label: "Storage", Value: v.Get("storage"), Options: options(known.Storages), Hint: "part of its name"},
		{Name: "kernel", Label: "Kernel", Value: v.Get("kernel"), Hint: "such as 6.12"},
		{Name: "filesystem", Label: "Filesystem", Value: v.Get("filesystem"), Options: options(filesystem.Names()), Hint: "such as f2fs"},
		{Name: "label", Label: "Label", Value: v.Get("label"), Hint: "such as slow-card"},
		{Name: "state", Label: "State", Value: v.Get("state"), Kind: doc.Choice, Options: choices("any state", states)},
	}}
}

// runTable lists runs, to choose some for a comparison.
func runTable(st *store.Store, list []store.Found) doc.Block {
	const labels = 8 // the column, which is shown if there are any
	t := doc.Table{Name: "Runs", Columns: []doc.Column{{Head: "Run", Kind: doc.Names}, {Head: "Study"}, {Head: "Machine"}, {Head: "Storage"}, {Head: "Kernel"}, {Head: "Trials", Kind: doc.Figures}, {Head: "State"}, {Head: "Started"}, {Head: "Labels", In: doc.Brief}}}
	for _, one := range list {
		state := st.StateOf(one.Run)
		trials := doc.Cell{Text: fmt.Sprintf("%d/%d", one.Done, one.Planned)}
		if one.Failed > 0 {
			trials.Under = fmt.Sprintf("%d failed", one.Failed)
		}
		t.Rows = append(t.Rows, doc.Row{Cells: []doc.Cell{
			{Text: one.Run.ID, Href: "/runs/" + one.Run.ID, Check: &doc.Check{Name: "run", Value: one.Run.ID, Label: "compare run " + one.Run.ID}},
			{Text: one.Run.Study, Under: one.Run.Scale}, doc.T(one.Run.Where()), doc.T(one.Run.Storage), doc.T(one.Kernel), trials,
			{Text: state, Tone: map[string]doc.Tone{"running": doc.Good, store.Killed: doc.Bad}[state]},
			doc.T(one.Run.Started.UTC().Format("2006-01-02 15:04 UTC")), doc.T(strings.Join(one.Labels, ", "))}})
		if len(one.Labels) > 0 {
			t.Columns[labels].In = 0 // all media
		}
	}
	if len(t.Rows) == 0 {
		return doc.Para{Text: "No run is like this."}
	}
	return doc.Form{ID: "compare-form", Name: "Compare", Action: "/compare", Submit: "Compare the chosen runs", Body: []doc.Block{t}}
}

// pager leads to the older runs, and back to the latest.
func pager(v url.Values, list []store.Found) doc.Links {
	out := doc.Links{Name: "Pages"}
	if v.Get("before") != "" {
		out.List = append(out.List, doc.Link{Text: "Latest", Href: query("/runs", changed(v, "before", ""))})
	}
	if len(list) == perPage {
		out.List = append(out.List, doc.Link{Text: "Older", Href: query("/runs", changed(v, "before", list[len(list)-1].Run.ID))})
	}
	return out
}
