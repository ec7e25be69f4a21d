package serve

import (
	"bytes"
	"io"
	"net/http"
	"net/url"
	"slices"

	"whichfs/internal/judge/contrast"
	"whichfs/internal/report"
	"whichfs/internal/report/doc"
	"whichfs/internal/result"
)

// mostCompared is the largest number of runs or probes side by side.
const mostCompared = 12

// compare shows what differs between runs, or between probes.
func (s *Server) compare(w http.ResponseWriter, r *http.Request) error {
	values := r.URL.Query()
	runs, probes := named(values["run"]), named(values["probe"])
	switch {
	case len(runs)+len(probes) == 0:
		return s.show(w, r, compareForm(s.App.Version), doc.Site{})
	case len(runs) > 0 && len(probes) > 0:
		return result.Refuse("compare runs with runs, and probes with probes", "%s is a run, and %s is a probe", runs[0], probes[0])
	case len(runs)+len(probes) < 2:
		return result.Refuse("choose two or more in the list", "one alone cannot be compared")
	case len(runs)+len(probes) > mostCompared:
		return result.Refuse("", "at most %d are compared at once", mostCompared)
	case len(probes) > 0:
		return s.compareProbes(w, r, probes)
	}
	list, err := s.App.CompareRuns(runs)
	if err != nil {
		return err
	}
	if as := values.Get("as"); as != "" {
		return sendContrast(w, as, list)
	}
	d := report.ContrastDoc(list[0])
	links := doc.Links{Name: "Data", List: []doc.Link{{Text: "csv", Href: compareAs(values, "csv")}}}
	if len(list) > 1 {
		d = report.SideBySideDoc(list)
	} else {
		links.List = append(links.List, doc.Link{Text: "json", Href: compareAs(values, "json")})
	}
	for _, id := range append([]string{list[0].A.ID}, others(list)...) {
		links.List = append(links.List, doc.Link{Text: "Run " + id, Href: "/runs/" + id})
	}
	d.Version = s.App.Version
	d.Sections = append(d.Sections, doc.Section{ID: "data", Title: "Data and runs", Body: []doc.Block{links}})
	return s.show(w, r, d, doc.Site{})
}

func others(list []contrast.Contrast) (ids []string) {
	for _, c := range list {
		ids = append(ids, c.B.ID)
	}
	return ids
}

func named(list []string) []string {
	return slices.DeleteFunc(slices.Clone(list), func(x string) bool { return x == "" })
}

func compareAs(values url.Values, as string) string {
	v := url.Values{"run": values["run"], "probe": values["probe"], "as": {as}}
	if len(v["probe"]) == 0 {
		v.Del("probe")
	}
	return "/compare?" + v.Encode()
}

func compareForm(version string) doc.Doc {
	return doc.Doc{Title: "Compare", Kicker: "whichfs serve", Version: version, Sections: []doc.Section{{ID: "runs", Title: "Two runs", Body: []doc.Block{
		doc.Para{Text: "The list of runs, and that of probes, compare as many as are chosen there."},
		doc.Form{Name: "Compare", Action: "/compare", Submit: "Compare", Fields: []doc.Field{
			{Name: "run", Label: "Before", Hint: "the start of its name"}, {Name: "run", Label: "After", Hint: "last", Value: "last"}}}}}}}
}

func sendContrast(w http.ResponseWriter, as string, list []contrast.Contrast) error {
	name := "whichfs-compare-" + list[0].A.ID + "-" + list[0].B.ID
	switch {
	case as == "csv":
		return send(w, name+".csv", types["csv"], func(b *bytes.Buffer) error { return report.ContrastCSV(b, list...) })
	case as == "json" && len(list) == 1:
		return send(w, name+".json", types["json"], func(b *bytes.Buffer) error { return report.ContrastJSON(b, list[0]) })
	}
	return refuse(http.StatusNotFound, "", "there is no such format of this comparison")
}

func (s *Server) compareProbes(w http.ResponseWriter, r *http.Request, names []string) error {
	// Only of the store, or published: an address must not name files of this machine.
	for _, name := range names {
		if err := s.storedProbe(name); err != nil {
			return err
		}
	}
	all, err := s.App.CompareCards(names)
	if err != nil {
		return err
	}
	for as, write := range map[string]func(io.Writer, contrast.Cards) error{"json": report.CardsJSON, "csv": report.CardsCSV} {
		if r.URL.Query().Get("as") == as {
			return send(w, "whichfs-probes."+as, types[as], func(b *bytes.Buffer) error { return write(b, all) })
		}
	}
	d, err := report.CardsDoc(all)
	if err != nil {
		return err
	}
	d.Version = s.App.Version
	d.Sections = append(d.Sections, doc.Section{ID: "data", Title: "Data", Body: []doc.Block{doc.Links{Name: "Data", List: []doc.Link{
		{Text: "json", Href: compareAs(r.URL.Query(), "json")}, {Text: "csv", Href: compareAs(r.URL.Query(), "csv")}}}}})
	return s.show(w, r, d, doc.Site{})
}
