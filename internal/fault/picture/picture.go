// Package picture describes each entry of a log in the order of time: what it was
// and what a power loss left of it, for readers who want to see a finding and not
// only its name. It does no I/O.
package picture

import (
	"fmt"
	"strconv"
	"strings"

	"whichfs/internal/fault/script"
	"whichfs/internal/fault/states"
	"whichfs/internal/fault/writelog"
)

// Fate is what became of an entry. The zero value is invalid.
type Fate int

// The fates.
const (
	// None: flushes and marks leave nothing on the medium, and without a power loss
	// no entry has a fate.
	None Fate = iota + 1
	// Durable: a flush or FUA put it onto the medium.
	Durable
	// Kept: nothing made it durable, but it reached the medium.
	Kept
	// Torn: the same, but only some of its sectors did.
	Torn
	// Lost: nothing made it durable, and it is gone.
	Lost
	// Unsent: the power failed before it was sent.
	Unsent
)

var fateWords = map[Fate]string{None: "", Durable: "durable", Kept: "kept", Torn: "torn", Lost: "lost", Unsent: "not sent"}

func (f Fate) String() string { return fateWords[f] }

// Row is one entry.
type Row struct {
	Entry           int    // its index in the log
	Kind            string // "write", "write FUA", "flush", "flush, write", "discard", "mark"
	Sector, Sectors uint64 // of 512 bytes; 0 and 0 of flushes and marks
	What            string // what it is, if it was recognised
	Fate            Fate
	// First is the first sector of a torn write that reached the medium, Reached
	// how many did.
	First, Reached int
}

// Flushes reports whether the entry makes all earlier requests durable.
func (r Row) Flushes() bool { return strings.HasPrefix(r.Kind, "flush") }

// Mark reports whether the entry is a mark and not a request.
func (r Row) Mark() bool { return r.Kind == "mark" }

// Of makes the rows of a log. cut is the state that a power loss left, nil if
// there was none; s is the script that ran, as far as it is known; magics are
// those of the filesystem that it ran on.
func Of(l writelog.Log, cut *states.State, s script.Script, magics []Magic) []Row {
	rows := make([]Row, len(l.Entries))
	names := names{s, magics}
	for i, e := range l.Entries {
		rows[i] = Row{Entry: i, Kind: kindOf(e), Sector: e.Sector, Sectors: e.Sectors, Fate: None, What: names.what(e)}
		if e.Flags&writelog.Mark != 0 {
			rows[i].Sector, rows[i].Sectors = 0, 0
		}
	}
	if cut == nil {
		return rows
	}
	for i := range rows {
		switch {
		case i >= cut.Point:
			rows[i].Fate = Unsent
		case rows[i].Sectors > 0:
			rows[i].Fate = Durable
		}
	}
	for _, i := range states.Volatile(l, cut.Point) {
		rows[i].Fate = Lost
	}
	for _, i := range cut.Kept {
		rows[i].Fate = Kept
	}
	if t := cut.Torn; t != nil {
		rows[t.Entry].Fate, rows[t.Entry].First, rows[t.Entry].Reached = Torn, t.First, t.Sectors
	}
	return rows
}

func kindOf(e writelog.Entry) string {
	switch {
	case e.Flags&writelog.Mark != 0:
		return "mark"
	case e.Flags&writelog.Discard != 0:
		return "discard"
	case e.Sectors == 0:
		return "flush"
	case e.Flags&writelog.Flush != 0 && e.Flags&writelog.FUA != 0:
		return "flush, write FUA"
	case e.Flags&writelog.Flush != 0:
		return "flush, write"
	case e.Flags&writelog.FUA != 0:
		return "write FUA"
	}
	return "write"
}

// Op describes an operation: "rename new to old".
func Op(o script.Op) string {
	text := strings.ReplaceAll(o.Do, "-", " ")
	if o.Do == "fsync-dir" {
		text = "fsync of directory"
	}
	if o.Path != "" {
		text += " " + o.Path
	} else if o.Do == "fsync-dir" {
		text += " /"
	}
	if o.To != "" {
		text += " to " + o.To
	}
	switch {
	case o.Do == "truncate":
		text += fmt.Sprintf(" to %d bytes", o.Size)
	case o.Size > 0 && o.Offset > 0:
		text += fmt.Sprintf(" (%d bytes at %d)", o.Size, o.Offset)
	case o.Size > 0:
		text += fmt.Sprintf(" (%d bytes)", o.Size)
	}
	return text
}

// Turn describes the nth thing that a script does, counted from 1.
func Turn(s script.Script, n int) string {
	switch {
	case n >= 1 && n <= len(s.Ops):
		return Op(s.Ops[n-1])
	case s.Program != "":
		return "transaction " + strconv.Itoa(n) + " of " + s.Program
	}
	return "operation " + strconv.Itoa(n)
}

// mark describes a mark.
func mark(s script.Script, text string) string {
	if s.Steps() == 0 {
		return text // the script is unknown
	}
	word, number, _ := strings.Cut(text, " ")
	n, err := strconv.Atoi(number)
	switch {
	case err == nil && word == script.Begin:
		return number + " begins: " + Turn(s, n)
	case err == nil && word == script.End:
		return number + " has returned"
	}
	return text
}
