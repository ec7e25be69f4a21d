package main

import (
	"fmt"
	"os"

	"whichfs/internal/app"
	"whichfs/internal/fault/writelog"
	"whichfs/internal/result"
	"whichfs/internal/sys/units"
	"whichfs/internal/sys/whole"
)

type crashRecordCmd struct {
	Candidate string `complete:"candidate" arg:"" help:"A filesystem with its options, in quotes: 'ext4 -o nobarrier'."`
	Script    string `complete:"script" arg:"" help:"A script; whichfs crash list shows them."`

	Output string `short:"o" required:"" help:"Write the log to FILE, in the format of dm-log-writes, with a mark before and after each operation." placeholder:"FILE" type:"path"`
	Base   string `help:"Write the image of the disk before the log to FILE, raw and sparse." placeholder:"FILE" type:"path"`

	crashClock

	Machine string `help:"Where to record: lab (a guest, no root needed)." default:"lab" enum:"lab,fake" placeholder:"NAME" hidden:""`
}

func (c *crashRecordCmd) Run(a *shell) error {
	candidates, err := app.Candidates([]string{c.Candidate})
	if err != nil {
		return err
	}
	s, err := scriptNamed(c.Script)
	if err != nil {
		return err
	}
	for flag, path := range map[string]string{"--output": c.Output, "--base": c.Base} {
		if path == "" {
			continue
		}
		if err := writable(path); err != nil {
			return result.Refuse("name another file", "%s: %v", flag, err)
		}
	}
	if c.Base == c.Output {
		return result.Refuse("name another file", "--output and --base both write to %s", c.Base)
	}
	show := a.working("crash record")
	r, err := a.Record(a.ctx, app.CrashPlace{Machine: c.Machine, Clock: c.Clock}, candidates[0], s, show.progress)
	show.end(err == nil)
	if err != nil {
		return err
	}
	if err := whole.Write(c.Output, func(w *os.File) error { return r.Log.Write(w) }); err != nil {
		return fmt.Errorf("the log could not be written: %w", err)
	}
	if c.Base != "" {
		if err := whole.Write(c.Base, func(w *os.File) error { return writeBase(w, r.Base) }); err != nil {
			return fmt.Errorf("the base image could not be written: %w", err)
		}
	}
	writes, flushes := 0, 0
	for _, e := range r.Log.Entries {
		if e.IsWrite() {
			writes++
		}
		if e.Flags&writelog.Flush != 0 {
			flushes++
		}
	}
	_, err = fmt.Fprintf(a.stdout, "Wrote %s: %s, %s, of %s on a disk of %s\n", c.Output, units.Count(writes, "write"), plural(flushes, "flush", "flushes"),
		candidates[0], units.Size(r.Base.Size))
	return err
}

func plural(n int, one, more string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, more)
}
