package main

import (
	"fmt"
	"io"
	"slices"
	"text/tabwriter"

	"whichfs/internal/app"
	"whichfs/internal/judge/recommend"
	"whichfs/internal/plan/study"
	"whichfs/internal/report"
	"whichfs/internal/report/doc"
)

type recommendCmd struct {
	Runs    []string `complete:"run" arg:"" name:"run" optional:"" help:"Runs to take the figures from (default: the latest that is finished)."`
	Need    []string `complete:"need" help:"What a filesystem must provide or not exceed, such as power-loss-safe or max-boot=0.5s; help lists all." placeholder:"NEED,…"`
	Weight  []string `complete:"weight" help:"How much each measure counts, such as write=3,boot=1 (whichfs list keys) (default: all measures of the study equally)." placeholder:"KEY=N,…"`
	Profile string   `complete:"profile" help:"Use a named set of needs and weights (whichfs list profiles); --need and --weight add to it." placeholder:"NAME"`
	Storage string   `help:"Use only runs on this storage." placeholder:"STORAGE"`

	pages `group:"Output"`
}

func (c *recommendCmd) Run(a *shell) error {
	if slices.Contains(c.Need, "help") {
		return listNeeds(a.stdout)
	}
	if err := c.files().check(); err != nil {
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
	}, c.files())
	if err == nil && answer.Excludes() {
		return &problem{code: exitRefused}
	}
	return err
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

// listKeys lists the measures that can be weighted, study by study.
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
