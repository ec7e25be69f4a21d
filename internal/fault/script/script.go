// Package script holds workloads of a few file operations that crash states are
// made of, and the oracle: what the filesystem has promised when, and what of it
// is not kept in a tree that was found after a cut.
package script

import "errors"

// ErrAbsent is wrapped by errors that say that a script cannot be carried out
// here: the filesystem has no such operation, or a program is not installed. It
// is no finding.
var ErrAbsent = errors.New("absent here")

// Op is one operation on paths below the mount point.
type Op struct {
	// Do is what is done: "create", "write", "append", "truncate", "fallocate",
	// "punch", "mmap-write", "rename", "link", "symlink", "unlink", "mkdir",
	// "rmdir", "fsync", "fdatasync", "msync", "fsync-dir", "sync" (syncfs).
	Do     string `json:"do"`
	Path   string `json:"path,omitempty"`
	To     string `json:"to,omitempty"` // new name of rename and link; where a symlink points
	Offset int64  `json:"offset,omitempty"`
	Size   int64  `json:"size,omitempty"` // bytes; the new size of truncate
	// KeepSize of fallocate; punch always keeps it.
	KeepSize bool `json:"keep_size,omitempty"`
	// Sync: write and append open the file with O_SYNC.
	Sync bool `json:"sync,omitempty"`
	// Claimed: the program's author takes the effect to be on storage when the
	// call returns, although nobody promises that.
	Claimed bool `json:"claimed,omitempty"`
}

// Script is one workload. Setup is carried out and synced before recording.
type Script struct {
	Name  string `json:"name"`
	About string `json:"about,omitempty"`
	Setup []Op   `json:"setup,omitempty"`
	Ops   []Op   `json:"ops,omitempty"`
	// Program, if not empty, takes the place of Ops: one of a few real programs
	// (see Programs), and Turns how many transactions.
	Program string `json:"program,omitempty"`
	Turns   int    `json:"turns,omitempty"`
	// Careless: it relies on more than POSIX and the filesystem's documents
	// promise. Breaches are what the author of such a program must expect.
	Careless bool `json:"careless,omitempty"`
	// Claims are promises that a careless author takes for granted, whatever the
	// filesystem says.
	Claims Promises `json:"claims,omitzero"`
}

// Steps is how many operations or transactions the script has: the largest
// number that Run marks.
func (s Script) Steps() int {
	if s.Program != "" {
		return s.Turns
	}
	return len(s.Ops)
}

// Promises that a filesystem makes beyond POSIX's, which promises that after
// fsync a file's contents, and after fsync of its directory its name, are kept.
type Promises struct {
	// NewName: fsync of a new file keeps its name as well.
	NewName bool `json:"new_name,omitempty"`
	// AtomicReplace: rename over a file leaves one or the other, whole, where the
	// new one was synced before.
	AtomicReplace bool `json:"atomic_replace,omitempty"`
	// ReplaceSyncs: rename over a file leaves one or the other, whole, although
	// the new one was never synced.
	ReplaceSyncs bool `json:"replace_syncs,omitempty"`
	// Ordered: metadata operations are kept in their order (what is there proves
	// that all before it is there).
	Ordered bool `json:"ordered,omitempty"`
	// NoStale: a file never shows what the storage held before, even where it was
	// not synced.
	NoStale bool `json:"no_stale,omitempty"`
	// NoJournal: a single metadata operation may be half done until the
	// filesystem's own tool has repaired it (ext2, vfat), so that link counts and
	// names that were being changed are not held against it.
	NoJournal bool `json:"no_journal,omitempty"`
	// Source of all these.
	Source string `json:"source,omitempty"`
}

// with are both promises together.
func (p Promises) with(q Promises) Promises {
	p.NewName = p.NewName || q.NewName
	p.AtomicReplace = p.AtomicReplace || q.AtomicReplace
	p.ReplaceSyncs = p.ReplaceSyncs || q.ReplaceSyncs
	p.Ordered = p.Ordered || q.Ordered
	p.NoStale = p.NoStale || q.NoStale
	return p
}

// Found is what is at a path after a cut.
type Found struct {
	Kind  string // "file", "dir", "symlink", "other"
	Size  int64
	Data  []byte // of a file; the target of a symlink
	Links int
	Inode uint64 // 0: not known
	Err   string // why it could not be looked at or read
}

// Tree is all that was found, by path below the mount point ("a/b"); the root is
// "".
type Tree map[string]Found
