// Package script holds workloads of a few file operations from which crash states
// are made, and the oracle: what the filesystem has promised at each point, and
// which promises a tree found after a power loss breaks.
package script

import "errors"

// ErrAbsent is wrapped by errors that mean that a script cannot run here: the
// filesystem does not support an operation, or a program is not installed. It is
// not a finding.
var ErrAbsent = errors.New("absent here")

// Op is one operation on paths below the mount point.
type Op struct {
	// Do is the operation: "create", "write", "append", "truncate", "fallocate",
	// "punch", "mmap-write", "rename", "link", "symlink", "unlink", "mkdir",
	// "rmdir", "fsync", "fdatasync", "msync", "fsync-dir", "sync" (syncfs).
	Do     string `json:"do"`
	Path   string `json:"path,omitempty"`
	To     string `json:"to,omitempty"` // new name of rename and link; target of a symlink
	Offset int64  `json:"offset,omitempty"`
	Size   int64  `json:"size,omitempty"` // bytes; the new size of truncate
	// KeepSize is for fallocate; punch always keeps the size.
	KeepSize bool `json:"keep_size,omitempty"`
	// Sync: write and append open the file with O_SYNC.
	Sync bool `json:"sync,omitempty"`
	// Claimed: the program's author assumes that the effect is on storage when the
	// call returns, although no document promises it.
	Claimed bool `json:"claimed,omitempty"`
}

// Script is one workload. Setup is carried out and synced before recording.
type Script struct {
	Name  string `json:"name"`
	About string `json:"about,omitempty"`
	Setup []Op   `json:"setup,omitempty"`
	Ops   []Op   `json:"ops,omitempty"`
	// Program, if not empty, replaces Ops: one of a few real programs (see
	// Programs); Turns is the number of its transactions.
	Program string `json:"program,omitempty"`
	Turns   int    `json:"turns,omitempty"`
	// Careless: it relies on more than POSIX and the filesystem's documents
	// promise. Its breaches are losses that the author of such a program must
	// expect.
	Careless bool `json:"careless,omitempty"`
	// Claims are promises that a careless author assumes, whatever the filesystem
	// documents.
	Claims Promises `json:"claims,omitzero"`
}

// Steps is the number of the script's operations or transactions: the largest
// number that Run marks.
func (s Script) Steps() int {
	if s.Program != "" {
		return s.Turns
	}
	return len(s.Ops)
}

// Promises that a filesystem makes beyond POSIX, which promises that after fsync a
// file's contents are kept, and after fsync of its directory its name.
type Promises struct {
	// NewName: fsync of a new file keeps its name as well.
	NewName bool `json:"new_name,omitempty"`
	// AtomicReplace: rename over a file leaves either file, complete, if the new
	// one was synced before.
	AtomicReplace bool `json:"atomic_replace,omitempty"`
	// ReplaceSyncs: rename over a file leaves either file, complete, even if the
	// new one was never synced.
	ReplaceSyncs bool `json:"replace_syncs,omitempty"`
	// Ordered: metadata operations are kept in their order (if one is there, so are
	// all before it).
	Ordered bool `json:"ordered,omitempty"`
	// NoStale: a file never shows previous contents of the storage, even where it
	// was not synced.
	NoStale bool `json:"no_stale,omitempty"`
	// NoJournal: a single metadata operation may be incomplete until the
	// filesystem's own tool has repaired it (ext2, vfat), so link counts and names
	// that were being changed are not breaches.
	NoJournal bool `json:"no_journal,omitempty"`
	// Source of all these.
	Source string `json:"source,omitempty"`
}

// with returns the union of both sets of promises.
func (p Promises) with(q Promises) Promises {
	p.NewName = p.NewName || q.NewName
	p.AtomicReplace = p.AtomicReplace || q.AtomicReplace
	p.ReplaceSyncs = p.ReplaceSyncs || q.ReplaceSyncs
	p.Ordered = p.Ordered || q.Ordered
	p.NoStale = p.NoStale || q.NoStale
	return p
}

// Found is what is at a path after a power loss.
type Found struct {
	Kind  string // "file", "dir", "symlink", "other"
	Size  int64
	Data  []byte // of a file; the target of a symlink
	Links int
	Inode uint64 // 0: not known
	Err   string // why it could not be read
}

// Tree is everything found, by path below the mount point ("a/b"); the root is "".
type Tree map[string]Found
