// Package script holds workloads of a few file operations that crash states are
// made of, and the oracle: what the filesystem has promised when, and what of it
// is not kept in a tree that was found after a cut.
package script

import "whichfs/internal/fault"

// Op is one operation on paths below the mount point.
type Op struct {
	// Do is what is done: "create", "write", "append", "truncate", "fallocate",
	// "punch", "mmap-write", "rename", "link", "symlink", "unlink", "mkdir",
	// "rmdir", "fsync", "fdatasync", "fsync-dir", "sync" (syncfs).
	Do     string `json:"do"`
	Path   string `json:"path,omitempty"`
	To     string `json:"to,omitempty"` // of rename, link, symlink
	Offset int64  `json:"offset,omitempty"`
	Size   int64  `json:"size,omitempty"`
	// KeepSize of fallocate and punch.
	KeepSize bool `json:"keep_size,omitempty"`
}

// Script is one workload. Setup is carried out and synced before recording.
type Script struct {
	Name  string `json:"name"`
	About string `json:"about,omitempty"`
	Setup []Op   `json:"setup,omitempty"`
	Ops   []Op   `json:"ops,omitempty"`
	// Program, if not empty, takes the place of Ops: one of a few real programs
	// ("sqlite-rollback", "sqlite-wal"), and Turns how many transactions.
	Program string `json:"program,omitempty"`
	Turns   int    `json:"turns,omitempty"`
	// Relies on more than POSIX and the filesystem's documents promise: breaches
	// are what the author of such a program must expect ("rename without fsync").
	Careless bool `json:"careless,omitempty"`
	// Fails: must be seen to lose something where nothing is promised.
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
	// Source of all these.
	Source string `json:"source,omitempty"`
}

// Found is what is at a path after a cut.
type Found struct {
	Kind  string // "file", "dir", "symlink", "other"
	Size  int64
	Data  []byte // of a file; the target of a symlink
	Links int
	Err   string // why it could not be looked at or read
}

// Tree is all that was found, by path below the mount point ("a/b"); the root is
// "".
type Tree map[string]Found

var _ = fault.Whole
