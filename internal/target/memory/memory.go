// Package memory holds data sets in the agent's memory, laid out so that they
// can be written without a single allocation.
package memory

// EntryKind is the kind of an entry. The zero value is invalid.
type EntryKind uint8

// Kinds of entry. Hard links are separate entries that name the first entry of
// the file.
const (
	Dir EntryKind = iota + 1
	File
	Symlink
	Hardlink
)

// Entry is one directory, file or link of a tree. Parents come before their
// children.
type Entry struct {
	Kind EntryKind
	Mode uint32
	// Path is relative to the top of the tree, ends in a NUL byte, and
	// never begins with a slash: ready for the kernel.
	Path []byte
	// Target of a symbolic link, with its NUL; for a hard link the Path of
	// the entry that it links to.
	Target []byte
	// Data of a file, in the tree's arena.
	Data     []byte
	UID, GID uint32
	// Time of the last modification, in nanoseconds since 1970.
	Time int64
	// Attributes are extended ones, which are rare.
	Attributes []Attribute
}

// Attribute is an extended attribute.
type Attribute struct {
	Name  []byte // with its NUL: "user.comment"
	Value []byte
}

// Tree is a file tree in memory.
type Tree struct {
	Name    string
	Entries []Entry
	Files   int   // regular files
	Bytes   int64 // contents of regular files
	// Digest is the sha256 of the archive that the tree was loaded from,
	// in hexadecimal; empty for a tree from elsewhere.
	Digest string

	arena []byte
}

// Stream is a file of incompressible bytes.
type Stream struct {
	Name string
	Data []byte

	arena []byte
}
