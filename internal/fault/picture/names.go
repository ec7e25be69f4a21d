package picture

import (
	"bytes"
	"encoding/binary"
	"strconv"

	"whichfs/internal/fault/script"
	"whichfs/internal/fault/writelog"
)

// names recognises what is written by its contents. What it does not recognise
// it does not name.
type names struct{ script script.Script }

func newNames(s script.Script) names { return names{s} }

func (n names) what(e writelog.Entry) string {
	switch {
	case e.Flags&writelog.Mark != 0:
		return mark(n.script, string(e.Data))
	case !e.IsWrite():
		return ""
	case blank(e.Data):
		return "zeros"
	}
	if name := superblock(e); name != "" {
		return name
	}
	if name := journal(e.Data); name != "" {
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

// Magic numbers of superblocks: the byte of the device that they are at, as the
// kernel has them in include/uapi/linux/magic.h and fs/*.
var superblocks = []struct {
	at    int64
	magic string
	name  string
}{
	{0, "XFSB", "xfs superblock"},
	{1024 + 56, "\x53\xef", "ext superblock"},
	{1024, "\x10\x20\xf5\xf2", "f2fs superblock"},
	{4096 + 1024, "\x10\x20\xf5\xf2", "f2fs superblock"},
	{1024 + 6, "\x34\x34", "nilfs2 superblock"},
	{64<<10 + 64, "_BHRfS_M", "btrfs superblock"},
	{64<<20 + 64, "_BHRfS_M", "btrfs superblock, second copy"},
	{32 << 10, "JFS1", "jfs superblock"},
	{510, "\x55\xaa", "boot sector"},
}

func superblock(e writelog.Entry) string {
	start := int64(e.Sector) * writelog.SectorSize
	for _, s := range superblocks {
		from := s.at - start
		if from < 0 || from+int64(len(s.magic)) > int64(len(e.Data)) {
			continue
		}
		if string(e.Data[from:from+int64(len(s.magic))]) == s.magic {
			return s.name
		}
	}
	return ""
}

// journal recognises blocks of jbd2 (include/linux/jbd2.h: magic 0xC03B3998 and
// the kind of block, big endian), and records of xfs's log (fs/xfs/libxfs/
// xfs_log_format.h: XLOG_HEADER_MAGIC_NUM 0xFEEDbabe).
func journal(data []byte) string {
	if len(data) < 8 {
		return ""
	}
	switch binary.BigEndian.Uint32(data) {
	case 0xFEEDBABE:
		return "log record"
	case 0xC03B3998:
		switch binary.BigEndian.Uint32(data[4:]) {
		case 1:
			return "journal: descriptor and blocks"
		case 2:
			return "journal: commit"
		case 3, 4:
			return "journal: superblock"
		case 5:
			return "journal: revoke"
		}
	}
	return ""
}

// files recognises the data of files: what the script's operations wrote, and
// SQLite's files (https://www.sqlite.org/fileformat.html).
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
