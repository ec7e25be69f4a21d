package picture

import (
	"bytes"
	"strconv"

	"whichfs/internal/fault/script"
	"whichfs/internal/fault/writelog"
)

// names identifies writes by their contents. A write that it does not recognise
// gets no name.
type names struct {
	script script.Script
	magics []Magic
}

func (n names) what(e writelog.Entry) string {
	switch {
	case e.Flags&writelog.Mark != 0:
		return mark(n.script, string(e.Data))
	case !e.IsWrite():
		return ""
	case blank(e.Data):
		return "zeros"
	}
	if name := n.magic(e); name != "" {
		return name
	}
	if name := n.files(e.Data); name != "" {
		return name
	}
	if e.Flags&writelog.Metadata != 0 {
		return "metadata"
	}
	return ""
}

func blank(data []byte) bool {
	return len(bytes.TrimLeft(data, "\x00")) == 0
}

// Magic identifies a block of a filesystem.
type Magic struct {
	At    int64 // byte offset on the device, or Anywhere
	Bytes string
	Name  string // of the block: "xfs superblock"
}

// Anywhere is the place of a magic number that may begin a block of any write.
const Anywhere = -1

func (n names) magic(e writelog.Entry) string {
	start := int64(e.Sector) * writelog.SectorSize
	for _, m := range n.magics {
		from := int64(0)
		if m.At != Anywhere {
			from = m.At - start
		}
		if from >= 0 && from < int64(len(e.Data)) && bytes.HasPrefix(e.Data[from:], []byte(m.Bytes)) {
			return m.Name
		}
	}
	return ""
}

// files recognises file data: what the script's operations wrote, and SQLite's
// files (https://www.sqlite.org/fileformat.html).
func (n names) files(data []byte) string {
	for at := 0; at+writelog.SectorSize <= len(data); at += writelog.SectorSize {
		if path, op, ok := n.script.Whose(data[at : at+writelog.SectorSize]); ok {
			if op == 0 {
				return "data of " + path + ", from the setup"
			}
			return "data of " + path + ", from operation " + strconv.Itoa(op)
		}
	}
	for _, m := range []struct{ magic, name string }{
		{"SQLite format 3\x00", "SQLite database, first page"}, {"\xd9\xd5\x05\xf9\x20\xa1\x63\xd7", "SQLite rollback journal"},
		{"\x37\x7f\x06\x82", "SQLite write-ahead log"}, {"\x37\x7f\x06\x83", "SQLite write-ahead log"},
	} {
		if bytes.HasPrefix(data, []byte(m.magic)) {
			return m.name
		}
	}
	return ""
}
