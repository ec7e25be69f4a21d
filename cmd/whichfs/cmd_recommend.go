package main

import (
	"fmt"
	"io"
	"slices"
	"text/tabwriter"

	"whichfs/internal/app"
	"whichfs/internal/recommend"
	"whichfs/internal/report"
	"whichfs/internal/report/doc"
	"whichfs/internal/study"
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

func (c *recommendCmd) Run(a *shell) error {
	if slices.Contains(c.Need, "help") {
		return listNeeds(a.stdout)
	}
	if err := (files{"html": c.HTML, "json": c.JSON}).check(); err != nil {
		return err
	}
	answer, err := a.Recommend(app.Wish{Runs: c.Runs, Needs: c.Need, Weights: c.Weight, Profile: c.Profile, Storage: c.Storage})
	if err != nil {
		return err
	}
	err = a.publish(map[string]writer{
		"":     func(w io.Writer) error { return doc.Text(w, report.RecommendDoc(answer), a.textOptions()) },
		"html": func(w io.Writer) error { return doc.HTML(w, report.RecommendDoc(answer)) },
		"json": func(w io.Writer) error { return report.RecommendJSON(w, answer) },
	}, map[string]string{"html": c.HTML, "json": c.JSON})
	if err == nil && answer.Excludes() {
		return &problem{code: exitRefused}
	}
	return err
}

// writer writes one format.
type writer func(io.Writer) error

// publish writes every format that a file was named for, and the one without a
// name to standard output if there is none.
func (a *shell) publish(formats map[string]writer, files map[string]string) error {
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
