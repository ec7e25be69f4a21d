package main

import (
	"errors"
	"fmt"
	"os"

	"whichfs/internal/app"
	"whichfs/internal/host/leftover"
)

type cleanCmd struct {
	DryRun bool     `short:"n" help:"Show what would be removed, and remove nothing."`
	Work   []string `help:"Also search this directory, the --work of a killed run." placeholder:"DIR" sep:"none"`
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

// findLeft finds leftovers in the usual places and in the given directories.
func findLeft(work ...string) ([]leftover.Item, error) {
	if usual, err := app.UsualWork(); err == nil {
		work = append(work, usual)
	}
	return leftover.Find(work...)
}

// leftFindings are doctor's lines about what a killed whichfs left.
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
