package main

import (
	"errors"
	"fmt"
	"os"

	"whichfs/internal/app"
	"whichfs/internal/leftover"
)

type cleanCmd struct {
	DryRun bool     `short:"n" help:"Only say what would be removed."`
	Work   []string `help:"Also look into this directory: the --work of a run that was killed." placeholder:"DIR" sep:"none"`
}

func (c *cleanCmd) Run(a *shell) error {
	found, err := findLeft(c.Work...)
	if err != nil {
		return err
	}
	if len(found) == 0 {
		_, err := fmt.Fprintln(a.stdout, "nothing to clean")
		return err
	}
	stay := &problem{code: exitRefused}
	kept := 0
	for _, item := range found {
		line := "found    " + item.What
		if !c.DryRun {
			line = "removed  " + item.What
			if err := item.Remove(); err != nil {
				line = fmt.Sprintf("kept     %s: %v", item.What, err)
				kept++
				if !errors.Is(err, leftover.ErrNotRoot) {
					stay.code = exitLab
				}
			}
		}
		if _, err := fmt.Fprintln(a.stdout, line); err != nil {
			return err
		}
	}
	if kept == 0 {
		return nil
	}
	stay.Reason = fmt.Sprintf("%d of %d could not be removed", kept, len(found))
	if os.Geteuid() != 0 {
		stay.Hint = "sudo whichfs clean"
	}
	return stay
}

// findLeft finds what was left in the usual places and in these.
func findLeft(work ...string) ([]leftover.Item, error) {
	if usual, err := app.UsualWork(); err == nil {
		work = append(work, usual)
	}
	return leftover.Find(work...)
}

// leftFindings are what doctor says of what a killed whichfs left.
func leftFindings(found []leftover.Item) []string {
	command := "whichfs clean"
	var lines []string
	for _, item := range found {
		lines = append(lines, "  left     "+item.What)
		if item.Root && os.Geteuid() != 0 {
			command = "sudo whichfs clean"
		}
	}
	return append(lines, "  → "+command)
}
