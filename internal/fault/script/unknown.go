package script

import (
	"maps"
	"slices"

	"whichfs/internal/fault"
)

// unknown judges trees whose history is unknown: logs that others recorded. The
// only promise about their files is that they can be read.
type unknown struct{}

// Judge implements Judge.
func (unknown) Judge(_, _ int, found Tree, _ string) (breaches []fault.Breach, looked int) {
	for _, path := range slices.Sorted(maps.Keys(found)) {
		if f := found[path]; f.Err != "" {
			breaches = append(breaches, fault.Breach{Promise: PromiseReadable, Path: path, Outcome: fault.IOError, What: "it is listed and cannot be read: " + f.Err})
		}
	}
	return breaches, len(found)
}
