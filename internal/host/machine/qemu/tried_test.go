package qemu

import (
	"testing"

	"whichfs/internal/filesystem"
	"whichfs/internal/filesystem/tried"
)

// triedCandidate is a candidate on a block device, with what the laboratory
// showed of it before.
type triedCandidate struct {
	tried.Candidate
	c filesystem.Candidate
}

// triedWith are the candidates of all filesystems of block devices of which a key
// was seen; "": all of them.
func triedWith(t *testing.T, key string) []triedCandidate {
	t.Helper()
	var all []triedCandidate
	for _, fs := range filesystem.All {
		if fs.Raw {
			continue // on a chip: TestEveryRawCandidate, TestRawDates
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
