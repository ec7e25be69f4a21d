package filesystem

import "slices"

// inMemory is the word by which a candidate's journal is on a disk in memory, which stands for
// storage that is faster than any other: "ext4 -J device=memory".
const inMemory = "device=memory"

// Journal is how a filesystem keeps its journal on another device.
type Journal struct {
	// Size is that of the journal in bytes for storage of the given size, as inside it.
	Size func(storage int64) int64
	// Make is the argument vector that makes an empty journal on device.
	Make func(c Candidate, device string) []string
}

// JournalInMemory reports whether the candidate's journal is not on the storage but in memory. Parse accepts
// the word only of a filesystem that has a Journal.
func (c Candidate) JournalInMemory() bool { return slices.Contains(c.Make(), inMemory) }

// MakeWith is Filesystem.Make of a candidate whose journal is in memory, on the given device.
func (c Candidate) MakeWith(device, journal string) []string {
	argv := c.Filesystem().Make(c, device)
	for i, w := range argv {
		if w == inMemory {
			argv[i] = "device=" + journal
		}
	}
	return argv
}

// Forgets says what of a candidate a power loss takes although it was never on the storage, a clause; "":
// nothing.
func (c Candidate) Forgets() string {
	if c.JournalInMemory() {
		return "its journal is in memory, and gone after a power loss"
	}
	return ""
}
