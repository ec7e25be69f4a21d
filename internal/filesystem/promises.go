package filesystem

import (
	"strings"

	"whichfs/internal/fault/script"
)

// What filesystems promise of the state after a power cut, beyond fsync(2),
// which alone promises that a file's contents are kept after fsync, and its name
// after fsync of its directory. Only what documents say counts; a filesystem may
// do better than it promises.
//
// Options that keep flushes from the storage (nobarrier, barrier=0,
// fsync_mode=nobarrier) withdraw nothing here: programs that call fsync know
// nothing of them, so that what they lose is a loss, and to be found.

// Promises are those of the candidate, with what its general mount options add.
func (c Candidate) Promises() script.Promises {
	var p script.Promises
	if f := c.Filesystem().Promises; f != nil {
		p = f(c)
	}
	if switched(c, false, []string{"sync", "dirsync"}, []string{"async"}) {
		p.NewName = true
		p.Source = strings.TrimPrefix(p.Source+"; mount(8): with sync or dirsync directories are updated at once", "; ")
	}
	return p
}

// unjournaled are filesystems that say nothing of the state after a cut but that
// it needs a check.
func unjournaled(source string) func(Candidate) script.Promises {
	return func(Candidate) script.Promises { return script.Promises{NoJournal: true, Source: source} }
}

// logged filesystems carry out single metadata operations wholly or not at all.
func logged(source string) func(Candidate) script.Promises {
	return func(Candidate) script.Promises { return script.Promises{AtomicReplace: true, Source: source} }
}
