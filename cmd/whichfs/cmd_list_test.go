package main

import (
	"strings"
	"testing"
	"text/tabwriter"

	"whichfs/internal/filesystem"
)

// Every filesystem has its line, in the order of the list.
func TestListFilesystems(t *testing.T) {
	var out strings.Builder
	w := tabwriter.NewWriter(&out, 0, 0, 2, ' ', 0)
	listFilesystems(w)
	if err := w.Flush(); err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")[1:]
	if len(lines) != len(filesystem.All) {
		t.Fatalf("%d lines of %d filesystems", len(lines), len(filesystem.All))
	}
	for i, name := range filesystem.Names() {
		if words := strings.Fields(lines[i]); words[0] != name {
			t.Errorf("line %d is of %s, not of %s", i+1, words[0], name)
		}
	}
}
