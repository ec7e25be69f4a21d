// Package picture says of each entry of a log, in the order of time, what it was
// and what a power cut left of it, for those who want to see a finding and not
// only read its name. It computes alone.
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
	// None: flushes and marks leave nothing on the medium; and nothing has a fate
	// in a log whose power was not cut.
	None Fate = iota + 1
	// Durable: a flush or FUA had put it onto the medium.
	Durable
	// Kept: nothing had made it durable, and it reached the medium all the same.
	Kept
	// Torn: likewise, and only some of its sectors.
	Torn
	// Lost: nothing had made it durable, and it is gone.
	Lost
	// Unsent: the power went before.
	Unsent
)

var fateWords = map[Fate]string{None: "", Durable: "durable", Kept: "kept", Torn: "torn", Lost: "lost", Unsent: "not sent"}

func (f Fate) String() string { return fateWords[f] }

// Row is one entry.
type Row struct {
	Entry           int    // its index in the log
	Kind            string // "write", "write FUA", "flush", "flush, write", "discard", "mark"
	Sector, Sectors uint64 // of 512 bytes; 0 and 0 of flushes and marks
	What            string // what it is, as far as it can be recognised
	Fate            Fate
	// First and Reached sectors of a torn write.
	First, Reached int
}

// Flushes reports whether the entry makes durable what was sent before.
func (r Row) Flushes() bool { return strings.HasPrefix(r.Kind, "flush") }

// Mark reports whether the entry is no request at all.
func (r Row) Mark() bool { return r.Kind == "mark" }

// Of makes the rows of a log. cut is the state that a power cut left, nil if the
// power was not cut; s is the script that ran, as far as it is known, and magics are
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

// Op is an operation in words: "rename new to old".
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

// Turn is the n-th thing that a script does, from 1, in words.
func Turn(s script.Script, n int) string {
	switch {
	case n >= 1 && n <= len(s.Ops):
		return Op(s.Ops[n-1])
	case s.Program != "":
		return "transaction " + strconv.Itoa(n) + " of " + s.Program
	}
	return "operation " + strconv.Itoa(n)
}

// mark is the text of a mark in words.
func mark(s script.Script, text string) string {
	if s.Steps() == 0 {
		return text // of a script that nobody knows
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
