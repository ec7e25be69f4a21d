package main

import (
	"io"

	"whichfs/internal/app"
	"whichfs/internal/judge/history"
	"whichfs/internal/report"
	"whichfs/internal/report/doc"
	"whichfs/internal/result"
	"whichfs/internal/result/store"
)

type historyCmd struct {
	Study string `complete:"study" arg:"" optional:"" help:"The study (default: that of the latest run)."`

	By      string  `enum:"runs,kernels" default:"runs" help:"Order: runs, by time, or kernels, by version, with all runs of a kernel together." placeholder:"runs|kernels"`
	Machine string  `help:"Only runs on machines whose name contains this." placeholder:"NAME"`
	Storage string  `help:"Only runs on storage whose name contains this." placeholder:"STORAGE"`
	Kernel  string  `help:"Only runs on kernels whose version contains this." placeholder:"VERSION"`
	Label   string  `help:"Only runs with this label (whichfs serve)." placeholder:"LABEL"`
	Last    int     `help:"At most so many runs or kernels of each group, the latest; 0: all." default:"100" placeholder:"N"`
	Margin  float64 `help:"Relative changes below this are none; 0 takes the latest run's." placeholder:"0.10"`
	Group   int     `help:"Which group of comparable runs to show; the report lists them." default:"1" placeholder:"N"`

	pages `group:"Output"`
	CSV   string `name:"csv" group:"Output" help:"Write one row per figure to FILE; - is standard output." placeholder:"FILE"`
}

func (c *historyCmd) Run(a *shell) error {
	to := c.pages.files()
	to["csv"] = c.CSV
	if err := to.check(); err != nil {
		return err
	}
	h, err := a.History(&app.Memory{}, store.Query{Study: c.Study, Machine: c.Machine, Storage: c.Storage, Kernel: c.Kernel, Label: c.Label},
		history.Question{By: history.Order(c.By), Margin: c.Margin, Last: c.Last})
	if err != nil {
		return err
	}
	if c.Group < 1 || c.Group > len(h.Groups) {
		return result.Refuse("leave --group out, and the report lists them", "--group: there are groups 1 to %d", len(h.Groups))
	}
	d, err := report.HistoryDoc(h, c.Group-1)
	if err != nil {
		return err
	}
	return a.publish(map[string]writer{
		"":     func(w io.Writer) error { return doc.Text(w, d, a.textOptions()) },
		"html": func(w io.Writer) error { return doc.HTML(w, d) },
		"json": func(w io.Writer) error { return report.HistoryJSON(w, h) },
		"csv":  func(w io.Writer) error { return report.HistoryCSV(w, h) },
	}, to)
}
