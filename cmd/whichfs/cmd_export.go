package main

import (
	"io"
	"strings"

	"whichfs/internal/report"
	"whichfs/internal/result"
	"whichfs/internal/result/store"
)

type exportCmd struct {
	Runs []string `complete:"run" arg:"" name:"run" optional:"" help:"Runs, or the starts of their names (default: all that the flags choose)."`

	Format     string `required:"" complete:"format" help:"csv, parquet, json, gobench, openmetrics or lava." placeholder:"NAME"`
	Output     string `required:"" short:"o" help:"The file; - is standard output." placeholder:"FILE"`
	Study      string `complete:"study" help:"Only runs of this study." placeholder:"STUDY"`
	Machine    string `help:"Only runs on machines whose name contains this." placeholder:"NAME"`
	Storage    string `help:"Only runs on storage whose name contains this." placeholder:"STORAGE"`
	Kernel     string `help:"Only runs on kernels whose version contains this." placeholder:"VERSION"`
	Filesystem string `help:"Only runs with this filesystem." placeholder:"NAME"`
	Label      string `help:"Only runs with this label (whichfs serve)." placeholder:"LABEL"`
	State      string `enum:",running,interrupted,finished" default:"" help:"Only runs in this state." placeholder:"running|interrupted|finished"`
}

func (c *exportCmd) Run(a *shell) error {
	f, ok := report.ByName(c.Format)
	if !ok || f.Export == nil {
		var names []string
		for _, f := range report.All {
			if f.Export != nil {
				names = append(names, f.Name)
			}
		}
		return result.Refuse("", "--format: there is no %q; the formats for several runs are %s", c.Format, strings.Join(names, ", "))
	}
	q := store.Query{Study: c.Study, Machine: c.Machine, Storage: c.Storage, Kernel: c.Kernel, Filesystem: c.Filesystem, Label: c.Label, State: c.State}
	if len(c.Runs) > 0 && q != (store.Query{}) {
		return result.Refuse("leave one of them out", "runs are either named or chosen by flags")
	}
	if err := (files{"output": c.Output}).check(); err != nil {
		return err
	}
	ids, err := a.Exported(q, c.Runs)
	if err != nil {
		return err
	}
	return a.writeFile(c.Output, func(w io.Writer) error {
		e := f.Export(w)
		show := a.quietly("", "exporting")
		err := a.Export(a.ctx, f, e, ids, func(done int) { show.count("exporting", "run", done, len(ids)) })
		show.end(err == nil)
		if err != nil {
			return err
		}
		return e.Close()
	})
}
