package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"text/tabwriter"

	"whichfs/internal/recommend"
	"whichfs/internal/report"
	"whichfs/internal/result"
	"whichfs/internal/result/store"
	"whichfs/internal/study"
	"whichfs/internal/verdict"
)

type recommendCmd struct {
	Runs    []string `arg:"" name:"run" optional:"" help:"Runs that the figures come from; the last one if none is given."`
	Need    []string `help:"What a filesystem must have or keep to, as power-loss-safe or max-boot=0.5s; help lists all." placeholder:"NEED,…"`
	Weight  []string `help:"How much measures count, as write=3,boot=1 (whichfs list keys); all those of the study alike if none is given." placeholder:"KEY=N,…"`
	Profile string   `help:"Needs and weights by a name (whichfs list profiles); those given beside it are added." placeholder:"NAME"`
	Storage string   `help:"Of the runs only those on this storage." placeholder:"STORAGE"`

	pages `group:"Output"`
}

// pages are the outputs of commands whose answer is no report of a run.
type pages struct {
	HTML string `name:"html" help:"Write the page to FILE." placeholder:"FILE"`
	JSON string `name:"json" help:"Write the answer as JSON to FILE; - is standard output." placeholder:"FILE"`
}

func (c *recommendCmd) Run(a *app) error {
	if slices.Contains(c.Need, "help") {
		return listNeeds(a.stdout)
	}
	q, err := c.question()
	if err != nil {
		return err
	}
	if err := (outputs{HTML: c.HTML, JSON: c.JSON}).check(); err != nil {
		return err
	}
	sources, err := c.sources(a)
	if err != nil {
		return err
	}
	answer, err := recommend.Make(q, sources)
	if err != nil {
		return err
	}
	err = a.publish(map[string]writer{
		"":     func(w io.Writer) error { return report.RecommendText(w, answer, a.textOptions()) },
		"html": func(w io.Writer) error { return report.RecommendHTML(w, answer) },
		"json": func(w io.Writer) error { return report.RecommendJSON(w, answer) },
	}, map[string]string{"html": c.HTML, "json": c.JSON})
	if err == nil && answer.Excludes() {
		return &problem{code: exitRefused}
	}
	return err
}

// question is what the flags ask. What is given beside a profile comes on top
// of it; a weight that it has too takes its place.
func (c *recommendCmd) question() (recommend.Question, error) {
	q := recommend.Question{Profile: c.Profile}
	if c.Profile != "" {
		p, ok := recommend.ProfileByName(c.Profile)
		if !ok {
			return q, result.Refuse("whichfs list profiles shows them", "unknown profile %q", c.Profile)
		}
		q.Needs, q.Weights = slices.Clone(p.Needs), slices.Clone(p.Weights)
	}
	for _, text := range c.Need {
		n, err := recommend.ParseNeed(text)
		if err != nil {
			return q, err
		}
		if !slices.Contains(q.Needs, n) {
			q.Needs = append(q.Needs, n)
		}
	}
	var own []recommend.Weight
	for _, text := range c.Weight {
		w, err := recommend.ParseWeight(text)
		if err != nil {
			return q, err
		}
		q.Weights = slices.DeleteFunc(q.Weights, func(old recommend.Weight) bool { return old.Key == w.Key })
		own = append(own, w)
	}
	q.Weights = append(q.Weights, own...)
	return q, nil
}

// sources loads the runs; none where nothing was measured yet.
func (c *recommendCmd) sources(a *app) ([]recommend.Source, error) {
	st, err := a.readStore()
	if errors.Is(err, store.ErrMissing) && len(c.Runs) == 0 {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer st.Close() //nolint:errcheck // read only
	runs, err := c.chosen(st)
	if err != nil {
		return nil, err
	}
	var out []recommend.Source
	for _, run := range runs {
		v, columns, s, err := sampled(st, run)
		if err != nil {
			return nil, err
		}
		scenarios, err := work(run)
		if err != nil {
			return nil, err
		}
		out = append(out, recommend.Source{Verdict: v, Study: s, Columns: columns, Scenarios: scenarios})
	}
	return out, nil
}

// chosen are the runs that were named, or else the last one of speed with its
// series and the last one of faults; where a storage was named, of the runs of
// speed those that are on it.
func (c *recommendCmd) chosen(st *store.Store) ([]result.Run, error) {
	names := c.Runs
	if len(names) == 0 {
		all, err := st.Runs()
		if err != nil {
			return nil, err
		}
		have := map[bool]bool{}
		for _, one := range all {
			faults := ofFaults(one.Run)
			if one.Done > 0 && !have[faults] && (faults || c.on(one.Run)) {
				have[faults] = true
				names = append(names, one.Run.ID)
			}
		}
		if len(names) == 0 && len(all) > 0 {
			if c.Storage != "" {
				return nil, result.Refuse("whichfs runs lists them", "no run on storage %s has any figures", c.Storage)
			}
			return nil, result.Refuse("whichfs runs lists them", "no run has any figures yet")
		}
	}
	var out []result.Run
	for _, name := range names {
		run, err := st.Run(name)
		if err != nil {
			return nil, err
		}
		series := []result.Run{run}
		if len(c.Runs) == 0 || c.Storage != "" {
			if series, err = seriesOf(st, run); err != nil {
				return nil, err
			}
		}
		for _, r := range series {
			if (c.on(r) || ofFaults(r)) && !slices.ContainsFunc(out, func(have result.Run) bool { return have.ID == r.ID }) {
				out = append(out, r)
			}
		}
	}
	if len(out) == 0 && len(names) > 0 {
		return nil, result.Refuse("whichfs runs lists them", "none of these runs is on storage %s", c.Storage)
	}
	return out, nil
}

// ofFaults reports whether a run shows what survives and no speed, by its study.
func ofFaults(r result.Run) bool {
	s, ok := study.ByName(r.Study)
	return ok && verdict.FaultsOnly(s)
}

// on reports whether a run is on the storage that was named, as the user wrote
// it or by the study's word for it.
func (c *recommendCmd) on(r result.Run) bool {
	if c.Storage == "" || r.Storage == c.Storage {
		return true
	}
	s, ok := study.ByName(r.Study)
	if !ok {
		return false
	}
	named, ok := s.Storage(r.Scale, r.Storage)
	return ok && named.Key == c.Storage
}

// sampled loads a run with its verdict and the figures that it stands on.
func sampled(st *store.Store, run result.Run) (v verdict.Verdict, columns []verdict.Sampled, s study.Study, err error) {
	v, trials, err := judge(st, run)
	if err != nil {
		return v, nil, s, err
	}
	support, err := st.Support(run.ID)
	if err != nil {
		return v, nil, s, err
	}
	s, _ = study.ByName(run.Study) // judge has found it
	return v, verdict.Samples(run, support, trials, s), s, nil
}

// work is what the plan of a run does in a trial, as one text to compare.
func work(run result.Run) (string, error) {
	var p struct {
		ReadWrite json.RawMessage `json:"read_write"`
		ReadOnly  json.RawMessage `json:"read_only"`
	}
	if len(run.Plan) == 0 {
		return "", nil
	}
	if err := json.Unmarshal(run.Plan, &p); err != nil {
		return "", fmt.Errorf("plan of run %s: %w", run.ID, err)
	}
	return string(p.ReadWrite) + "\n" + string(p.ReadOnly), nil
}

// writer writes one format.
type writer func(io.Writer) error

// publish writes every format that a file was named for, and the one without a
// name to standard output if there is none.
func (a *app) publish(formats map[string]writer, files map[string]string) error {
	any := false
	for _, name := range []string{"html", "json", "csv"} {
		path, write := files[name], formats[name]
		if path == "" || write == nil {
			continue
		}
		any = true
		if err := a.writeFile(path, write); err != nil {
			return err
		}
	}
	if any {
		return nil
	}
	return formats[""](a.stdout)
}

func listNeeds(w io.Writer) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, n := range recommend.Needs() {
		fmt.Fprintf(t, "%s\t%s\n", n.Name, n.About)
	}
	return t.Flush()
}

func listProfiles(w io.Writer) {
	fmt.Fprintln(w, "NAME\tFOR STORAGE THAT")
	for _, p := range recommend.Profiles {
		fmt.Fprintf(w, "%s\t%s\n", p.Name, p.About)
	}
}

// listKeys lists what can be weighed, study by study.
func listKeys(w io.Writer) {
	fmt.Fprintln(w, "STUDY\tKEY\tWHAT")
	for _, s := range study.All {
		for _, c := range s.Columns {
			if !c.Level {
				fmt.Fprintf(w, "%s\t%s\t%s\n", s.Name, c.Key, c.Name)
			}
		}
	}
}
