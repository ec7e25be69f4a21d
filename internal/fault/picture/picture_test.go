package picture

import (
	"bytes"
	"testing"

	"whichfs/internal/fault/script"
	"whichfs/internal/fault/states"
	"whichfs/internal/fault/writelog"
)

func write(sector uint64, data []byte, flags writelog.Flags) writelog.Entry {
	data = append(data, make([]byte, 8*writelog.SectorSize-len(data))...)
	return writelog.Entry{Sector: sector, Sectors: 8, Flags: flags, Data: data}
}

func text(words string) writelog.Entry {
	return writelog.Entry{Flags: writelog.Mark, Data: []byte(words)}
}

func TestFates(t *testing.T) {
	l := writelog.Log{Entries: []writelog.Entry{
		write(0, []byte{1}, 0), {Flags: writelog.Flush}, text("begin 1"), write(8, []byte{1}, 0), write(16, []byte{1}, 0),
		write(24, []byte{1}, writelog.FUA), write(32, []byte{1}, 0), text("end 1"), write(40, []byte{1}, 0), {Flags: writelog.Flush},
	}}
	s := script.Script{Ops: []script.Op{{Do: "fsync", Path: "a"}}}
	rows := Of(l, &states.State{Point: 8, Kept: []int{3, 6}, Torn: &states.Torn{Entry: 6, First: 2, Sectors: 3}}, s, nil)
	want := []Fate{Durable, None, None, Kept, Lost, Durable, Torn, None, Unsent, Unsent}
	for i, r := range rows {
		if r.Fate != want[i] || r.Entry != i {
			t.Errorf("entry %d: %q, not %q", i, r.Fate, want[i])
		}
	}
	if rows[6].First != 2 || rows[6].Reached != 3 {
		t.Errorf("torn: %+v", rows[6])
	}
	if rows[2].What != "1 begins: fsync a" || rows[7].What != "1 has returned" || !rows[2].Mark() {
		t.Errorf("marks: %+v, %+v", rows[2], rows[7])
	}
	if !rows[1].Flushes() || rows[5].Kind != "write FUA" {
		t.Errorf("%+v, %+v", rows[1], rows[5])
	}
	for _, r := range Of(l, nil, s, nil) {
		if r.Fate != None {
			t.Errorf("without a cut entry %d is %q", r.Entry, r.Fate)
		}
	}
}

func TestKinds(t *testing.T) {
	for want, e := range map[string]writelog.Entry{
		"write": {Sectors: 1}, "write FUA": {Sectors: 1, Flags: writelog.FUA | writelog.Metadata}, "flush": {Flags: writelog.Flush},
		"flush, write": {Sectors: 1, Flags: writelog.Flush}, "flush, write FUA": {Sectors: 1, Flags: writelog.Flush | writelog.FUA},
		"discard": {Sectors: 1, Flags: writelog.Discard}, "mark": {Flags: writelog.Mark},
	} {
		if got := kindOf(e); got != want {
			t.Errorf("%q, not %q", got, want)
		}
	}
}

func TestNames(t *testing.T) {
	at := func(offset int, magic string) []byte { return append(bytes.Repeat([]byte{1}, offset), magic...) }
	n := names{script.Script{Ops: []script.Op{{Do: "create", Path: "a"}}}, []Magic{
		{At: 1024 + 56, Bytes: "\x53\xef", Name: "superblock"},
		{At: Anywhere, Bytes: "\xc0\x3b\x39\x98\x00\x00\x00\x02", Name: "journal: commit"},
	}}
	for _, one := range []struct {
		want string
		e    writelog.Entry
	}{
		{"superblock", write(0, at(1024+56, "\x53\xef"), 0)},
		{"superblock", write(2, at(56, "\x53\xef"), 0)},
		{"", write(8, at(1024+56, "\x53\xef"), 0)}, // not the place of a superblock
		{"journal: commit", write(500, []byte("\xc0\x3b\x39\x98\x00\x00\x00\x02"), writelog.FUA)},
		{"", write(500, []byte("\xc0\x3b\x39\x98\x00\x00\x00\x03"), writelog.FUA)},
		{"", writelog.Entry{Sectors: 1, Data: []byte("\xc0\x3b")}}, // shorter than a magic number
		{"SQLite database, first page", write(500, []byte("SQLite format 3\x00"), 0)},
		{"SQLite rollback journal", write(500, []byte("\xd9\xd5\x05\xf9\x20\xa1\x63\xd7"), 0)},
		{"zeros", write(500, nil, 0)},
		{"metadata", write(500, []byte{1}, writelog.Metadata)},
		{"", write(500, []byte{1}, 0)},
		{"", writelog.Entry{Sectors: 8, Flags: writelog.Discard}},
		{"checkpoint", text("checkpoint")},
	} {
		if got := n.what(one.e); got != one.want {
			t.Errorf("%q, not %q", got, one.want)
		}
	}
}

func TestOp(t *testing.T) {
	for want, o := range map[string]script.Op{
		"rename a to b":          {Do: "rename", Path: "a", To: "b"},
		"fsync of directory /":   {Do: "fsync-dir"},
		"fsync of directory d":   {Do: "fsync-dir", Path: "d"},
		"write a (7 bytes at 3)": {Do: "write", Path: "a", Offset: 3, Size: 7},
		"append a (7 bytes)":     {Do: "append", Path: "a", Size: 7},
		"truncate a to 0 bytes":  {Do: "truncate", Path: "a"},
		"sync":                   {Do: "sync"},
	} {
		if got := Op(o); got != want {
			t.Errorf("%q, not %q", got, want)
		}
	}
	if got := Turn(script.Script{Program: "sqlite-wal", Turns: 4}, 2); got != "transaction 2 of sqlite-wal" {
		t.Error(got)
	}
}
