package main

import (
	"fmt"
	"strings"
	"text/tabwriter"

	"whichfs/internal/filesystem"
	"whichfs/internal/flash/models"
	"whichfs/internal/host/dataset"
	"whichfs/internal/plan/media"
	"whichfs/internal/plan/processor"
	"whichfs/internal/plan/study"
	"whichfs/internal/result"
	"whichfs/internal/sys/units"
)

type listCmd struct {
	What    string `arg:"" enum:"filesystems,abilities,studies,storage,models,processors,data,needs,keys,profiles" help:"filesystems, abilities, studies, storage, models, processors, data, or for recommend: needs, keys, profiles."`
	Machine string `complete:"machine" help:"With storage: whose: local, ssh:[USER@]HOST[:PORT], serial:DEVICE[@BAUD], labgrid:PLACE (a board; needs root there)." default:"local" placeholder:"NAME"`
	agentFlag
}

func (c *listCmd) Run(a *shell) error {
	a.AgentPath = c.AgentPath
	w := tabwriter.NewWriter(a.stdout, 0, 0, 2, ' ', 0)
	var err error
	if c.Machine != "local" && c.What != "storage" {
		return result.Refuse("leave --machine out", "--machine: only storage belongs to a machine, and not %s", c.What)
	}
	switch c.What {
	case "filesystems":
		listFilesystems(w)
	case "abilities":
		listAbilities(w)
	case "studies":
		for _, s := range study.All {
			fmt.Fprintf(w, "%s\t%s\t%s\n", s.Name, s.Title, s.Source)
		}
	case "storage":
		err = listStorage(a, w, c.Machine)
	case "models":
		err = listModels(w)
	case "processors":
		err = listProcessors(w)
	case "data":
		err = listData(w)
	case "needs":
		err = listNeeds(w)
	case "keys":
		listKeys(w)
	case "profiles":
		listProfiles(w)
	}
	if err != nil {
		return err
	}
	return w.Flush()
}

func listFilesystems(w *tabwriter.Writer) {
	fmt.Fprintln(w, "NAME\tSINCE\tDESIGN\tCOMPRESSION\tDATES UNTIL\tMINIMUM\tMAXIMUM\tRAW FLASH\tPACKAGES")
	for _, fs := range filesystem.All {
		var packages []string
		seen := map[string]bool{}
		for _, t := range fs.Needs {
			if !seen[t.Package] {
				seen[t.Package] = true
				name := t.Package
				if t.From != "" {
					name += " (not in Debian)"
				}
				packages = append(packages, name)
			}
		}
		c := filesystem.Candidate{FS: fs.Name}
		least, largest := units.Value(float64(fs.MinSize(c)), "B"), "-"
		if most, _ := fs.MaxSize(c); most < 1<<50 { // a larger limit does not matter
			largest = units.Value(float64(most), "B")
		}
		var ways []string
		for _, way := range fs.Ways {
			ways = append(ways, string(way))
		}
		fmt.Fprintf(w, "%s\t%d\t%s\t%s\t%s\t%s\t%s\t%s\t%s\n", fs.Name, fs.Facts.Year, fs.Facts.Design, dash(fs.Facts.Compression),
			dash(fs.Facts.DatesUntil), least, largest, dash(strings.Join(ways, ", ")), dash(strings.Join(packages, " ")))
	}
}

// listAbilities lists what can be done to each filesystem.
func listAbilities(w *tabwriter.Writer) {
	heads, rows := filesystem.AbilityTable()
	fmt.Fprintln(w, strings.ToUpper(strings.Join(heads, "\t")))
	for _, row := range rows {
		for i := range row {
			row[i] = dash(row[i])
		}
		fmt.Fprintln(w, strings.Join(row, "\t"))
	}
}

func listStorage(a *shell, w *tabwriter.Writer, on string) error {
	devices, err := a.Devices(a.ctx, on)
	if err != nil {
		return err
	}
	fmt.Fprintln(w, "DEVICE\tSIZE\tKIND\tIDENTITY\tUSABLE")
	for _, d := range devices {
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\n", d.Path, units.Value(float64(d.Size), "B"), d.Kind, dash(d.ID), d.Usable)
	}
	if on != "local" {
		fmt.Fprintf(w, "loop:256M\t\t\t\talways, in the directory of --work\n")
		return nil
	}
	fmt.Fprintln(w, "loop:2G\t\t\t\talways, with --machine local as root")
	fmt.Fprintln(w, "disk:1G, sd:1G\t\t\t\talways, in the lab")
	fmt.Fprintln(w, "nand:128M\t\traw NAND flash\t\talways, in the lab: "+media.NANDSizes())
	fmt.Fprintln(w, "sim:MODEL[,SIZE]\t\t\t\talways, in the lab; whichfs list models")
	return nil
}

// listModels lists the simulated storage that comes with whichfs.
func listModels(w *tabwriter.Writer) error {
	all, err := models.All()
	if err != nil {
		return err
	}
	fmt.Fprintln(w, "NAME\tSIZE\tINSIDE\tWHAT")
	for _, m := range all {
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\n", m.Name, units.Value(float64(m.Size), "B"), models.Inside(m), m.Title)
	}
	return nil
}

// listProcessors lists those that guests with the virtual clock can be charged for, by name.
func listProcessors(w *tabwriter.Writer) error {
	all, err := processor.Boards()
	if err != nil {
		return err
	}
	fmt.Fprintln(w, "NAME\tSPEED\tCOMPRESSING\tCHECKSUMS\tCOPYING\tWHAT")
	for _, p := range all {
		fmt.Fprintf(w, "%s\t%.0f MIPS\t%.0f MIPS\t%.0f MIPS\t%.0f MB/s\t%s\n", p.Name, p.Other/1e6, p.Compressing/1e6, p.Checksums/1e6, p.Copying/1e6, p.Title)
	}
	fmt.Fprintln(w, "600MIPS\t600 MIPS\t600 MIPS\t600 MIPS\t2400 MB/s\tany speed: every instruction takes the same time")
	return nil
}

func listData(w *tabwriter.Writer) error {
	fmt.Fprintln(w, "NAME\tWHAT\tHERE")
	for _, d := range dataset.List() {
		here := "made when first needed"
		if d.Cached {
			here = d.Path
		}
		fmt.Fprintf(w, "%s\t%s\t%s\n", d.Name, d.About, here)
	}
	return nil
}

func dash(s string) string {
	if s == "" {
		return "-"
	}
	return s
}
