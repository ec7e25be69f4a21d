package filesystem

import (
	"strings"

	"whichfs/internal/fault/script"
)

// Promises of filesystems about the state after a power loss, beyond fsync(2), which by itself
// promises that a file's contents are kept after fsync, and its name after fsync of its directory.
// Only documented promises count; a filesystem may do better than it promises.
//
// Options that keep flushes from the storage (nobarrier, barrier=0, fsync_mode=nobarrier) withdraw
// no promise: programs that call fsync cannot know about them, so the resulting losses count.

// Promises are those of the candidate, with the additions of its general mount options.
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

// unjournaled filesystems say nothing about the state after a power loss except that it needs a
// check.
func unjournaled(source string) func(Candidate) script.Promises {
	return func(Candidate) script.Promises { return script.Promises{NoJournal: true, Source: source} }
}

// logged filesystems perform single metadata operations completely or not at all.
func logged(source string) func(Candidate) script.Promises {
	return func(Candidate) script.Promises { return script.Promises{AtomicReplace: true, Source: source} }
}
