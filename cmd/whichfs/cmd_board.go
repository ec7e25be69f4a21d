package main

import (
	"encoding/json"
	"fmt"
	"strings"
	"text/tabwriter"

	"whichfs/internal/host/machine/board"
	"whichfs/internal/sys/units"
)

// boardCmd is about boards themselves.
type boardCmd struct {
	Check boardCheckCmd `cmd:"" help:"Show what a board has of what a run needs, what to do where something is missing, and the command of a run."`
}

type boardCheckCmd struct {
	Machine string `complete:"machine" arg:"" help:"ssh:[USER@]HOST[:PORT], serial:DEVICE[@BAUD], labgrid:PLACE or the path of a board's file." placeholder:"BOARD"`
	Power   bool   `help:"Also switch the board's power off and on, by the program that its file names."`
	AsJSON  bool   `name:"json" help:"Write JSON."`
	agentFlag
}

func (c *boardCheckCmd) Run(a *shell) error {
	a.AgentPath = c.AgentPath
	e, err := a.ExamineBoard(a.ctx, c.Machine, c.Power)
	if err != nil {
		return err
	}
	if c.AsJSON {
		out := json.NewEncoder(a.stdout)
		out.SetIndent("", "  ")
		err = out.Encode(e)
	} else {
		_, err = fmt.Fprint(a.stdout, boardText(e))
	}
	if err == nil && !e.Works {
		return &problem{code: exitUnsupported}
	}
	return err
}

// boardText is what is known of a board, for a reader.
func boardText(e board.Examined) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n", e.Machine)
	for _, p := range e.Points {
		mark := "ok     "
		if !p.OK {
			mark = "failed "
		}
		fmt.Fprintf(&b, "  %s  %-22s %s\n", mark, p.Name, p.Note)
		if p.Help != "" {
			fmt.Fprintf(&b, "  → %s\n", p.Help)
		}
	}
	if len(e.Conditions) > 0 {
		fmt.Fprintf(&b, "\nThe board\n")
		for _, c := range e.Conditions {
			if c.Name == "agent" || c.Name == "transport" {
				continue // points have them
			}
			fmt.Fprintf(&b, "  %-32s %s\n", c.Name, c.Value)
		}
	}
	if s := e.Speed; s != nil {
		fmt.Fprintf(&b, "  %-32s %.0f MIPS, compressing %.0f, checksums %.0f; copying %s/s\n", "speed", s.Other/1e6, s.Compressing/1e6, s.Checksums/1e6, units.Value(s.Copying, "B"))
		if e.Doubt != "" {
			fmt.Fprintf(&b, "  → %s\n", e.Doubt)
		}
	}
	columns(&b, "Storage", len(e.Devices), func(w *tabwriter.Writer) {
		for _, d := range e.Devices {
			fmt.Fprintf(w, "  %s\t%s\t%s\t%s\n", d.Path, units.Value(float64(d.Size), "B"), dash(d.ID), d.Usable)
		}
	})
	columns(&b, "Filesystems", len(e.Filesystems), func(w *tabwriter.Writer) {
		for _, fs := range e.Filesystems {
			mark, note := "ok", fs.Reason
			if !fs.Works {
				mark = "missing"
			}
			if len(fs.Sent) > 0 {
				note = strings.TrimPrefix(note+"; a run sends "+strings.Join(fs.Sent, ", "), "; ")
			}
			if fs.Works && len(fs.Lacks) > 0 {
				note = strings.TrimPrefix(note+"; without "+strings.Join(fs.Lacks, ", "), "; ")
			}
			if fs.Help != "" && (!fs.Works || len(fs.Lacks) > 0) {
				note += " → " + fs.Help
			}
			fmt.Fprintln(w, strings.TrimRight(fmt.Sprintf("  %s\t%s\t%s", mark, fs.Filesystem, note), "\t"))
		}
	})
	if e.Run != nil {
		fmt.Fprintf(&b, "\nTo measure on it, type\n  %s\n", board.Typed(e.Run))
	}
	return b.String()
}

// columns prints a section with columns, if it has any rows.
func columns(b *strings.Builder, heading string, rows int, print func(w *tabwriter.Writer)) {
	if rows == 0 {
		return
	}
	fmt.Fprintf(b, "\n%s\n", heading)
	w := tabwriter.NewWriter(b, 0, 0, 2, ' ', 0)
	print(w)
	_ = w.Flush() // into memory
}
