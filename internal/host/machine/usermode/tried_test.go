package usermode

import (
	"testing"

	"whichfs/internal/filesystem"
	"whichfs/internal/filesystem/tried"
)

// triedCandidate is a candidate on a block device, with earlier observations from the laboratory.
type triedCandidate struct {
	tried.Candidate
	c filesystem.Candidate
}

// triedWith are the candidates of all filesystems of block devices that have an observation for a
// key; "": all of them.
func triedWith(t *testing.T, key string) []triedCandidate {
	t.Helper()
	var all []triedCandidate
	for _, fs := range filesystem.All {
		if fs.Raw || fs.NotMainline != "" {
			continue // on a chip: TestEveryRawCandidate, TestRawDates; or there is nothing to try it with
		}
		seen, err := tried.Of(fs.Name)
		if err != nil {
			t.Fatal(err)
		}
		for _, one := range seen {
			c, err := filesystem.Parse(one.Line)
			if err != nil {
				t.Fatal(err)
			}
			if _, ok := one.Get(key); ok || key == "" {
				all = append(all, triedCandidate{one, c})
			}
		}
	}
	return all
}
