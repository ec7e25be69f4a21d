package serve

import (
	"bytes"
	"cmp"
	"fmt"
	"math"
	"net/http"
	"strconv"
	"strings"
	"sync"

	"whichfs/internal/app"
	"whichfs/internal/judge/verdict"
	"whichfs/internal/report"
	"whichfs/internal/report/doc"
	"whichfs/internal/result"
	"whichfs/internal/result/store"
	"whichfs/internal/sys/units"
)

// verdicts keeps the latest verdicts, each until its run changes.
type verdicts struct {
	mu   sync.Mutex
	list []kept // the one that was used last at the end
}

type kept struct {
	run    string
	of     stamp
	judged verdict.Judged
	trials []result.Trial
}

// stamp changes whenever a verdict does.
type stamp struct {
	store.Progress
	probes int
}

// mostVerdicts is the number of verdicts that are kept, and mostKept the number of their figures.
const (
	mostVerdicts = 64
	mostKept     = 2 << 20
)

func (k kept) size() (n int) {
	for _, t := range k.trials {
		n += len(t.Measurements)
	}
	return n
}

// of judges a run, or returns its verdict from before.
func (v *verdicts) of(st *store.Store, run result.Run) (verdict.Judged, []result.Trial, error) {
	progress, err := st.Progress(run.ID)
	if err != nil {
		return verdict.Judged{}, nil, err
	}
	probes, err := st.Probes()
	if err != nil {
		return verdict.Judged{}, nil, err
	}
	now := stamp{progress, len(probes)}
	now.Remarks = 0
	v.mu.Lock()
	for i, k := range v.list {
		if k.run == run.ID && k.of == now {
			v.list = append(append(v.list[:i:i], v.list[i+1:]...), k)
			v.mu.Unlock()
			return k.judged, k.trials, nil
		}
	}
	v.mu.Unlock()
	one := kept{run: run.ID, of: now}
	if one.judged, one.trials, err = app.Judged(st, run); err != nil {
		return one.judged, nil, err
	}
	v.keep(one)
	return one.judged, one.trials, nil
}

func (v *verdicts) keep(one kept) {
	v.mu.Lock()
	defer v.mu.Unlock()
	rest := []kept{}
	for _, k := range v.list {
		if k.run != one.run {
			rest = append(rest, k)
		}
	}
	v.list = append(rest, one)
	sum := 0
	for i := len(v.list) - 1; i >= 0; i-- {
		if sum += v.list[i].size(); sum > mostKept || len(v.list)-i > mostVerdicts {
			v.list = append([]kept{}, v.list[i+1:]...)
			break
		}
	}
}

// runOf finds the run of an address. A name that is not its whole ID leads to the address that has it.
func runOf(w http.ResponseWriter, r *http.Request, st *store.Store) (run result.Run, elsewhere bool, err error) {
	name := r.PathValue("run")
	if run, err = st.Run(name); err != nil || run.ID == name {
		return run, false, err
	}
	rest := strings.TrimPrefix(r.URL.Path, "/runs/"+name)
	http.Redirect(w, r, query("/runs/"+run.ID+rest, r.URL.Query()), http.StatusFound)
	return run, true, nil
}

// withRun calls f with the run of an address.
func (s *Server) withRun(w http.ResponseWriter, r *http.Request, f func(st *store.Store, run result.Run) error) error {
	st, err := s.App.ReadStore()
	if err != nil {
		return err
	}
	defer st.Close() //nolint:errcheck // read only
	run, elsewhere, err := runOf(w, r, st)
	if err != nil || elsewhere {
		return err
	}
	return f(st, run)
}

func base(run result.Run) string { return "/runs/" + run.ID + "/" }

func (s *Server) showRun(w http.ResponseWriter, r *http.Request) error {
	return s.withRun(w, r, func(st *store.Store, run result.Run) error {
		j, trials, err := s.runs.of(st, run)
		if err != nil {
			return err
		}
		d, err := report.VerdictDoc(j.Verdict, trials)
		if err != nil {
			return err
		}
		site := doc.Site{Base: base(run)}
		state := st.StateOf(run)
		d.Facts = append([]doc.Fact{{Name: "state", Text: state}}, d.Facts...)
		if state == string(result.Running) {
			site.Events = "/events/runs/" + run.ID
		}
		series, err := seriesSection(st, run)
		if err != nil {
			return err
		}
		notes, err := notesSection(st, run)
		if err != nil {
			return err
		}
		d.Sections = append(d.Sections, series, dataSection(run), notes, cancelSection(run, state))
		return s.show(w, r, d, site)
	})
}

// seriesSection leads to the other runs of a series.
func seriesSection(st *store.Store, run result.Run) (doc.Section, error) {
	runs, err := app.SeriesOf(st, run)
	if err != nil || len(runs) < 2 {
		return doc.Section{In: doc.Brief}, err
	}
	t := doc.Table{Name: "Runs of the series", Columns: doc.Heads(doc.Words, false, "Run", "Storage", "Processor", "State")}
	for _, one := range runs {
		t.Rows = append(t.Rows, doc.Row{Cells: []doc.Cell{{Text: one.ID, Href: "/runs/" + one.ID}, doc.T(one.Storage), doc.T(one.Processor), doc.T(string(one.State))}})
	}
	return doc.Section{ID: "series", Title: "Series", Body: []doc.Block{t}}, nil
}

// dataSection leads to the run in the formats of programs.
func dataSection(run result.Run) doc.Section {
	links := doc.Links{Name: "Data"}
	for _, f := range report.All {
		if f.Help != "" {
			links.List = append(links.List, doc.Link{Text: f.Name, Href: base(run) + "data/" + f.Name})
		}
	}
	return doc.Section{ID: "data", Title: "Data", Body: []doc.Block{doc.Para{Text: "The run for other programs."}, links}}
}

// types of files, by extension.
var types = map[string]string{"html": "text/html; charset=utf-8", "json": "application/json", "csv": "text/csv; charset=utf-8", "xml": "application/xml", "parquet": "application/vnd.apache.parquet"}

func (s *Server) sendData(w http.ResponseWriter, r *http.Request) error {
	return s.withRun(w, r, func(st *store.Store, run result.Run) error {
		f, ok := report.ByName(r.PathValue("format"))
		if !ok {
			return refuse(http.StatusNotFound, "the run's page leads to all of them", "there is no format %q", r.PathValue("format"))
		}
		j, trials, err := s.runs.of(st, run)
		if err != nil {
			return err
		}
		return send(w, "whichfs-"+run.ID+"."+f.Extension, types[f.Extension], func(b *bytes.Buffer) error { return f.Write(b, j.Verdict, trials) })
	})
}

// send answers with a file that the browser saves. It is complete, or an error.
func send(w http.ResponseWriter, name, kind string, write func(*bytes.Buffer) error) error {
	var b bytes.Buffer
	if err := write(&b); err != nil {
		return err
	}
	attach(w, name, kind, int64(b.Len()))
	_, _ = w.Write(b.Bytes()) // the browser may be gone
	return nil
}

// attach has the browser save an answer as a file.
func attach(w http.ResponseWriter, name, kind string, size int64) {
	h := w.Header()
	h.Set("Content-Type", cmp.Or(kind, "text/plain; charset=utf-8"))
	h.Set("Content-Disposition", "attachment; filename="+strconv.Quote(name))
	h.Set("Cache-Control", "no-store")
	h.Set("Content-Length", fmt.Sprint(size))
}

// showTrial shows everything about one trial.
func (s *Server) showTrial(w http.ResponseWriter, r *http.Request) error {
	return s.withRun(w, r, func(st *store.Store, run result.Run) error {
		t, err := trialOf(r, st, run)
		if err != nil {
			return err
		}
		return s.show(w, r, trialDoc(run, t), doc.Site{Base: base(run)})
	})
}

func trialOf(r *http.Request, st *store.Store, run result.Run) (result.Trial, error) {
	id, err := strconv.ParseInt(r.PathValue("trial"), 10, 64)
	if err != nil {
		return result.Trial{}, refuse(http.StatusNotFound, "the page of the run lists its trials", "%q is not the number of a trial", r.PathValue("trial"))
	}
	return st.Trial(run.ID, id)
}

func trialDoc(run result.Run, t result.Trial) doc.Doc {
	stage := ""
	if t.Phase != "" {
		stage = " in " + t.Phase
	}
	d := doc.Doc{Title: fmt.Sprintf("%s, round %d", t.Named(), t.Round), Window: fmt.Sprintf("Trial %d of %s", t.ID, run.ID), Kicker: "Trial of run " + run.ID, Version: run.Version,
		Facts: []doc.Fact{{Name: "outcome", Text: string(t.Outcome) + stage}, {Name: "reason", Text: t.Reason}, {Name: "what would help", Text: t.Hint},
			{Name: "place in the round", Text: fmt.Sprint(t.Place)}, {Name: "attempt", Text: fmt.Sprint(t.Attempt)},
			{Name: "time outside phases", Text: units.Value(t.Overhead, "s")}}}
	if !t.Started.IsZero() {
		d.Facts = append(d.Facts, doc.Fact{Name: "started", Text: t.Started.UTC().Format("2006-01-02 15:04:05 UTC")})
	}
	more := doc.Links{Name: "Related", List: []doc.Link{{Text: "Run " + run.ID, Href: "/runs/" + run.ID}, {Text: "Conditions", Href: "/runs/" + run.ID + "#conditions"}}}
	figures := doc.Section{ID: "figures", Title: "Figures", Body: []doc.Block{more}}
	for i := 0; i < len(t.Measurements); {
		phase := t.Measurements[i].Phase
		table := doc.Table{Style: doc.Scroll, Name: "Figures of " + phase, Columns: []doc.Column{{Head: "Metric"}, {Head: "Figure", Kind: doc.Figures}, {Head: "In base units", Kind: doc.Figures}, {Head: "Unit"}}}
		for ; i < len(t.Measurements) && t.Measurements[i].Phase == phase; i++ {
			m := t.Measurements[i]
			if m.Absent != "" {
				table.Rows = append(table.Rows, doc.Row{Cells: []doc.Cell{doc.T(m.Metric), {Absent: m.Absent}, {}, doc.T(m.Unit)}})
				continue
			}
			table.Rows = append(table.Rows, doc.Texts(m.Metric, units.Value(m.Value, m.Unit), inBase(m.Value), m.Unit))
		}
		title := phase
		if title == "" {
			title = "whole trial"
		}
		figures.Body = append(figures.Body, doc.Part{Title: title, Body: []doc.Block{table, doc.Footnotes{}}})
	}
	d.Sections = append([]doc.Section{figures}, trialMore(run, t)...)
	return d
}

// inBase is a figure in its base unit: counts in full, others with six digits; the data formats have all.
func inBase(x float64) string {
	if x == math.Trunc(x) && math.Abs(x) < 1<<53 {
		return strconv.FormatFloat(x, 'f', 0, 64)
	}
	return strconv.FormatFloat(x, 'g', 6, 64)
}

// trialMore are the notes, options, artifacts and the console of a trial.
func trialMore(run result.Run, t result.Trial) (out []doc.Section) {
	var notes []doc.Item
	for _, n := range t.Notes {
		mark := doc.Item{Mark: "·", Lead: n.Phase, Text: n.Text}
		if n.Level == result.Warning {
			mark.Mark, mark.Tone = "!", doc.Warn
		}
		notes = append(notes, mark)
	}
	if len(notes) > 0 {
		out = append(out, doc.Section{ID: "notes", Title: "Notes", Body: []doc.Block{doc.Items{List: notes}}})
	}
	if len(t.Options) > 0 {
		table := doc.Table{Name: "Options", Columns: doc.Heads(doc.Words, true, "Option", "State", "Evidence")}
		for _, o := range t.Options {
			table.Rows = append(table.Rows, doc.Texts(o.Text, string(o.State), o.Evidence))
		}
		out = append(out, doc.Section{ID: "options", Title: "Options", Body: []doc.Block{table}})
	}
	if len(t.Artifacts) > 0 {
		table := doc.Table{Name: "Artifacts", Columns: doc.Heads(doc.Words, false, "File", "Phase", "Size")}
		for i, a := range t.Artifacts {
			table.Rows = append(table.Rows, doc.Row{Cells: []doc.Cell{{Text: a.Name, Href: fmt.Sprintf("%strials/%d/%d", base(run), t.ID, i)}, doc.T(a.Phase), doc.T(units.Value(float64(len(a.Text)), "B"))}})
		}
		out = append(out, doc.Section{ID: "artifacts", Title: "Output of other programs", Body: []doc.Block{table}})
	}
	if len(t.Console) > 0 {
		out = append(out, doc.Section{ID: "console", Title: "Last lines of the console", Body: []doc.Block{doc.Pre{Lines: t.Console}}})
	}
	return out
}

// sendArtifact sends the output of another program, by its place among the trial's. It is never shown
// as a page of this server: whoever wrote it is not trusted.
func (s *Server) sendArtifact(w http.ResponseWriter, r *http.Request) error {
	return s.withRun(w, r, func(st *store.Store, run result.Run) error {
		t, err := trialOf(r, st, run)
		if err != nil {
			return err
		}
		i, err := strconv.Atoi(r.PathValue("file"))
		if err != nil || i < 0 || i >= len(t.Artifacts) {
			return refuse(http.StatusNotFound, "the trial's page lists them", "trial %d has no artifact %q", t.ID, r.PathValue("file"))
		}
		name := doc.Slug(run.ID) + "-" + fmt.Sprint(t.ID) + "-" + strings.Map(plainLetter, t.Artifacts[i].Name)
		return send(w, name, "", func(b *bytes.Buffer) error { _, err := b.WriteString(t.Artifacts[i].Text); return err })
	})
}

// plainLetter keeps letters, digits, dots and hyphens of a file's name.
func plainLetter(r rune) rune {
	if r < 128 && (r == '.' || r == '-' || r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z') {
		return r
	}
	return '_'
}

// showFigures shows the trials that a figure was made from: of a column of the study, or of a metric
// of a phase.
func (s *Server) showFigures(w http.ResponseWriter, r *http.Request) error {
	return s.withRun(w, r, func(st *store.Store, run result.Run) error {
		values := r.URL.Query()
		j, trials, err := s.runs.of(st, run)
		if err != nil {
			return err
		}
		var d doc.Doc
		if key := values.Get("column"); key != "" {
			d, err = columnDoc(j, trials, key, values.Get("candidate"))
		} else {
			d, err = metricDoc(trials, values.Get("phase"), values.Get("metric"), values.Get("candidate"))
		}
		if err != nil {
			return err
		}
		links := []doc.Link{{Text: "Run " + run.ID, Href: "/runs/" + run.ID}, {Text: "Conditions", Href: "/runs/" + run.ID + "#conditions"}}
		if values.Get("candidate") != "" {
			links = append(links, doc.Link{Text: "All candidates", Href: query(base(run)+"figures", changed(values, "candidate", ""))})
		}
		d.Kicker, d.Version = "Figures of run "+run.ID, run.Version
		d.Sections[0].Body = append([]doc.Block{doc.Links{Name: "Related", List: links}}, d.Sections[0].Body...)
		return s.show(w, r, d, doc.Site{Base: base(run)})
	})
}

func columnDoc(j verdict.Judged, trials []result.Trial, key, candidate string) (doc.Doc, error) {
	run := j.Verdict.Run
	type place struct {
		candidate string
		round     int
	}
	counted := map[place]result.Trial{}
	for _, t := range result.Counted(trials) {
		if t.Variant == "" {
			counted[place{t.Candidate, t.Round}] = t
		}
	}
	for _, c := range j.Columns {
		if c.Key != key {
			continue
		}
		d := doc.Doc{Title: c.Name, Window: c.Name + " of " + run.ID}
		t := doc.Table{Style: doc.Scroll, Name: "Figures of " + c.Name, Columns: []doc.Column{{Head: "Candidate", Kind: doc.Names}, {Head: "Round", Kind: doc.Figures}, {Head: "Figure", Kind: doc.Figures}, {Head: "Trial", Kind: doc.Figures}, {Head: "In base units", Kind: doc.Figures}}}
		for _, name := range run.Candidates {
			if candidate != "" && name != candidate {
				continue
			}
			if why := c.Absent[name]; why != "" {
				t.Rows = append(t.Rows, doc.Row{Cells: []doc.Cell{doc.T(name), {}, {Absent: why}}})
			}
			for round := 1; round <= run.Rounds; round++ {
				x, ok := c.Of[name][round]
				if !ok {
					continue
				}
				id := counted[place{name, round}].ID
				t.Rows = append(t.Rows, doc.Row{Cells: []doc.Cell{doc.T(name), doc.T(fmt.Sprint(round)), doc.T(units.Value(x, c.Unit)), {Text: fmt.Sprint(id), Origin: fmt.Sprintf("trials/%d", id)}, doc.T(inBase(x))}})
			}
		}
		var terms []string
		for _, term := range c.Terms {
			terms = append(terms, term.Metric+" of "+term.Phase)
		}
		about := doc.Facts{List: []doc.Fact{{Name: "contains", Text: c.About}, {Name: "sum of", Text: strings.Join(terms, ", ")}, {Name: "unit", Text: c.Unit}}}
		d.Sections = []doc.Section{{ID: "trials", Title: "One figure per round", Body: []doc.Block{about, t}}}
		return d, nil
	}
	return doc.Doc{}, refuse(http.StatusNotFound, "the run's page has its columns", "run %s has no column %q", run.ID, key)
}

func metricDoc(trials []result.Trial, phase, metric, candidate string) (doc.Doc, error) {
	t := doc.Table{Style: doc.Scroll, Name: metric + " of " + phase, Columns: []doc.Column{{Head: "Candidate", Kind: doc.Names}, {Head: "Round", Kind: doc.Figures}, {Head: "Figure", Kind: doc.Figures}, {Head: "Trial", Kind: doc.Figures}, {Head: "In base units", Kind: doc.Figures}}}
	for _, one := range result.Counted(trials) {
		if candidate != "" && one.Candidate != candidate {
			continue
		}
		for _, m := range one.Measurements {
			if m.Phase != phase || m.Metric != metric {
				continue
			}
			figure, plain := doc.Cell{Absent: m.Absent}, doc.Cell{}
			if m.Absent == "" {
				figure, plain = doc.T(units.Value(m.Value, m.Unit)), doc.T(inBase(m.Value)+" "+m.Unit)
			}
			t.Rows = append(t.Rows, doc.Row{Cells: []doc.Cell{doc.T(one.Named()), doc.T(fmt.Sprint(one.Round)), figure, {Text: fmt.Sprint(one.ID), Origin: fmt.Sprintf("trials/%d", one.ID)}, plain}})
		}
	}
	if len(t.Rows) == 0 {
		return doc.Doc{}, refuse(http.StatusNotFound, "the run's page has its phases", "no trial that counts has the metric %q of a phase %q", metric, phase)
	}
	return doc.Doc{Title: metric + " of " + phase, Sections: []doc.Section{{ID: "trials", Title: "One figure per trial", Body: []doc.Block{t}}}}, nil
}
