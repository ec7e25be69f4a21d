// Package parsed parses what tests name.
package parsed

import (
	"github.com/google/go-cmp/cmp/cmpopts"

	"whichfs/internal/filesystem"
)

// ByValue has cmp compare candidates.
var ByValue = cmpopts.EquateComparable(filesystem.Candidate{})

// Candidate parses a candidate that is known to be right.
func Candidate(line string) filesystem.Candidate {
	c, err := filesystem.Parse(line)
	if err != nil {
		panic(err)
	}
	return c
}

// Candidates parses several.
func Candidates(lines ...string) []filesystem.Candidate {
	out := make([]filesystem.Candidate, len(lines))
	for i, line := range lines {
		out[i] = Candidate(line)
	}
	return out
}
