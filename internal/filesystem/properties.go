package filesystem

import "slices"

// Properties are those of a candidate by design, given its mkfs and mount options. They do not say
// whether an option took effect on a real machine: Verify does.
type Properties struct {
	// PowerLoss: after a power loss it mounts again, consistent, and with everything that a program
	// had synced.
	PowerLoss Property
	// Compression of files, without a request for each file.
	Compression Property
	// Encryption of directories with separate keys, by the filesystem itself (fscrypt).
	Encryption Property
	// Checksums of data and metadata, verified on every read.
	Checksums Property
	// MetaChecksums: at least those of metadata.
	MetaChecksums Property
	// Journal: at least changes of metadata are written twice, first to the journal.
	Journal Property
	Dates   Dates
}

// Property is something that a candidate has or lacks.
type Property struct {
	Has bool
	// Why it has or lacks it: a clause whose subject is the candidate ("keeps
	// a journal of its metadata").
	Why string
	// With are the options that would give it to the filesystem; empty if there are none, or
	// nothing is missing.
	With string
	// Source is the source of this knowledge.
	Source string
}

// Dates is the range of file times.
type Dates struct {
	Until  int64 // the last year, part of which may be missing
	Why    string
	Source string
}

// farFuture is the last year that 64 bits of seconds hold.
const farFuture = 292277026596

// labSource marks results tested in a guest: a file was dated, read back after unmounting and
// mounting, and the flushes of one fsync were counted.
const labSource = "tested in the whichfs lab (Linux 6.1)"

const (
	noFlush     = "does not flush the storage's own cache, so a power loss loses synced data"
	noFscrypt   = "has no encryption of its own"
	noCompress  = "does not compress"
	noChecksums = "keeps no checksums"
	noJournal   = "keeps no journal"
)

func has(why, source string) Property { return Property{Has: true, Why: why, Source: source} }

func lacks(why, source string) Property { return Property{Why: why, Source: source} }

// lacksUnless lacks something that options would give.
func lacksUnless(with, why, source string) Property {
	return Property{Why: why, With: with, Source: source}
}

// Properties of the candidate, which must come from Parse.
func (c Candidate) Properties() Properties { return c.Filesystem().Properties(c) }

// switched says whether something is on after all mount options: the last word that is in one of
// the lists decides; without any, the default holds.
func switched(c Candidate, on bool, turnOn, turnOff []string) bool {
	for _, o := range c.Mount() {
		switch {
		case slices.Contains(turnOn, o):
			on = true
		case slices.Contains(turnOff, o):
			on = false
		}
	}
	return on
}

// featured says whether a feature is on after all words of the mkfs options in the list flag:
// "name" turns it on, "^name" off, and "none" empties the list.
func featured(c Candidate, s syntax, flag, name string, on bool) bool {
	for _, o := range s.read(c.Make()) {
		if o.Flag != flag {
			continue
		}
		switch o.Value {
		case name:
			on = true
		case "^" + name, "none":
			on = false
		}
	}
	return on
}
