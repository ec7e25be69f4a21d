package finding

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"reflect"
	"slices"
	"strings"
	"testing"

	"whichfs/internal/fault"
	"whichfs/internal/fault/script"
	"whichfs/internal/fault/states"
	"whichfs/internal/fault/writelog"
	"whichfs/internal/sys/bounded"
	"whichfs/internal/sys/harmless"
)

func sample() Finding {
	data := func(b byte, sectors int) []byte { return bytes.Repeat([]byte{b}, sectors*writelog.SectorSize) }
	return Finding{
		Format: Format, Version: "v", Kernel: "6.1", Candidate: "ext4 -o nobarrier", Size: 1 << 20,
		Script: script.Script{Name: "append", Ops: []script.Op{{Do: "append", Path: "a", Size: 4096}, {Do: "fsync", Path: "a"}}},
		Began:  2, Acked: 2, Outcome: fault.Lost, Breaches: []fault.Breach{{Promise: "fsync", Path: "a", Outcome: fault.Lost, What: "the file is gone"}},
		Messages: []string{"EXT4-fs (loop0): recovery complete"}, Seed: 7, Number: 12, Minimal: true, Same: 3,
		State: states.State{Point: 4, Kept: []int{1, 3}, Torn: &states.Torn{Entry: 3, First: 1, Sectors: 2}},
		Base:  fault.Image{Size: 1 << 20, Blocks: map[int64][]byte{3: bytes.Repeat([]byte{9}, fault.BlockSize)}},
		Log: writelog.Log{Entries: []writelog.Entry{
			{Flags: writelog.Mark, Data: []byte("begin 1")},
			{Sector: 8, Sectors: 8, Data: data(1, 8)}, {Sector: 16, Sectors: 8, Data: data(2, 8)}, {Sector: 24, Sectors: 8, Data: data(3, 8)},
			{Flags: writelog.Flush},
		}},
	}
}

func encoded(t testing.TB, f Finding) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := f.Encode(&b); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func TestFile(t *testing.T) {
	text := encoded(t, sample())
	back, err := Decode(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(back, sample()) {
		t.Errorf("became\n%+v\nof\n%+v", back, sample())
	}
	if again := encoded(t, back); !bytes.Equal(again, text) {
		t.Error("the same finding gives a different file")
	}
	// What people and jq look for comes first.
	var head struct {
		Candidate, Outcome string
		Breaches           []struct{ Promise, Path, Outcome, What string }
	}
	if err := json.Unmarshal(text, &head); err != nil || head.Outcome != "lost" || len(head.Breaches) != 1 || head.Breaches[0].Outcome != "lost" {
		t.Errorf("%+v, %v", head, err)
	}
	if i, j := bytes.Index(text, []byte(`"breaches"`)), bytes.Index(text, []byte(`"base"`)); i < 0 || j < i {
		t.Errorf("breaches at %d, base at %d", i, j)
	}
}

func TestFileErrors(t *testing.T) {
	good := string(encoded(t, sample()))
	with := func(old, new string) string {
		if !strings.Contains(good, old) {
			t.Fatalf("%q is not in the file", old)
		}
		return strings.Replace(good, old, new, 1)
	}
	at := strings.Index(good, `"base": "`) + 40 // in the middle of the packed base
	damaged := good[:at] + string('A'+(good[at]-'A'+1)%26) + good[at+1:]
	for name, one := range map[string]struct{ text, want string }{
		"empty":          {"", "the file is empty"},
		"text":           {"Dear diary,\n", "it is not JSON"},
		"other JSON":     {`{"a": 1}`, "no format number"},
		"list":           {`[1]`, "it is not JSON"},
		"other format":   {with(`"format": 1`, `"format": 2`), "a finding of format 2, and this whichfs reads format 1"},
		"cut in head":    {good[:60], "cut short: it ends after 60 bytes"},
		"cut in log":     {good[:len(good)-100], "cut short"},
		"damaged":        {damaged, "its checksum does not match its base and log"},
		"no JSON inside": {with(`"outcome": "lost"`, `"outcome" "lost"`), "invalid JSON at byte"},
		"outcome":        {with(`"outcome": "lost"`, `"outcome": "eaten"`), `there is no outcome "eaten"`},
		"more behind it": {good + "x", "invalid JSON"},
		"point":          {with(`"point": 4`, `"point": 6`), "at point 6 of a log of 5 entries"},
		"kept":           {with("1,\n   3\n", "3,\n   1\n"), "keeps entry 1, which is not a volatile write there, or is out of order"},
		"torn":           {with(`"sectors": 2`, `"sectors": 8`), "which has 8"},
		"torn not kept":  {with(`"entry": 3`, `"entry": 2`), "has entry 2 torn, which cannot be torn there"},
		"acked":          {with(`"acked": 2`, `"acked": 3`), "3 had returned"},
		"size":           {with(`"size": 1048576`, `"size": 1000`), "a disk of 1000 bytes"},
		"small disk":     {with(`"size": 1048576`, `"size": 8192`), "for a disk of 8192"},
	} {
		f, err := Decode(strings.NewReader(one.text))
		if err == nil || !strings.Contains(err.Error(), one.want) {
			t.Errorf("%s: %v, not %q", name, err, one.want)
		}
		if err != nil && (f.Candidate != "" || f.Log.Entries != nil) {
			t.Errorf("%s: a finding was returned despite the error", name)
		}
	}
}

// Text in a finding comes from a kernel, a tool or an agent.
func TestWordsAreCleaned(t *testing.T) {
	f := sample()
	const dirty = "\x1b[2J\u202e"
	f.Version, f.Kernel, f.Check, f.Whole = dirty, dirty, dirty+strings.Repeat("x", 1<<20), dirty
	f.Messages = slices.Repeat([]string{dirty}, mostMessages+1)
	f.Breaches[0].What, f.Breaches[0].Path = dirty, dirty
	back, err := Decode(bytes.NewReader(encoded(t, f)))
	if err != nil {
		t.Fatal(err)
	}
	words := append(back.Messages, back.Version, back.Kernel, back.Check, back.Whole, back.Breaches[0].What, back.Breaches[0].Path)
	if len(words) != mostMessages+6 {
		t.Errorf("%d messages", len(back.Messages))
	}
	for _, w := range words {
		if w != harmless.Line(w) || !strings.HasPrefix(w, `\x1b[2J`) || len(w) > 2*mostText {
			t.Fatalf("%d bytes, %.40q", len(w), w)
		}
	}
}

// A small file cannot expand without limit, and pack refuses what could not be
// unpacked.
func TestPartsAreBounded(t *testing.T) {
	zeros := func(w io.Writer) error { _, err := w.Write(make([]byte, 1<<16)); return err }
	packed, err := pack(zeros, 1<<16)
	if err != nil || len(packed) > 1000 {
		t.Fatal(len(packed), err)
	}
	if data, err := unpack(packed, 1<<16); err != nil || len(data) != 1<<16 {
		t.Error(len(data), err)
	}
	if _, err := unpack(packed, 1<<16-1); !errors.Is(err, bounded.ErrTooLong) {
		t.Error(err)
	}
	if _, err := pack(zeros, 1<<16-1); err == nil || !strings.Contains(err.Error(), "no more than 65535 are read back") {
		t.Error(err)
	}
}

// A finding that could not be read back is not written.
func TestEncodeRefuses(t *testing.T) {
	f := sample()
	f.State.Point = 99
	if err := f.Encode(&bytes.Buffer{}); err == nil {
		t.Error("a state beyond the log was written")
	}
	f = sample()
	f.Log.Entries[1].Sector = 1 << 40
	if err := f.Encode(&bytes.Buffer{}); err == nil {
		t.Error("a write beyond the disk was written")
	}
}

// The assumptions of a careless program excuse the filesystem only where the
// filesystem does not make the same promise itself.
func TestExcused(t *testing.T) {
	f := sample()
	f.Breaches[0].Promise = script.PromiseReplaceSyncs
	f.Script.Claims.ReplaceSyncs = true
	if f.Excused(script.Promises{}) {
		t.Error("a finding of a careful script is excused")
	}
	f.Script.Careless = true
	if !f.Excused(script.Promises{}) {
		t.Error("a finding of a careless script is not excused")
	}
	if f.Excused(script.Promises{ReplaceSyncs: true}) {
		t.Error("the filesystem's own promise is excused")
	}
	f.Breaches = append(f.Breaches, fault.Breach{Promise: script.PromiseNoStale})
	if f.Excused(script.Promises{}) {
		t.Error("another promise is excused, too")
	}
	f.Breaches, f.Outcome = f.Breaches[:1], fault.Died
	if f.Excused(script.Promises{}) {
		t.Error("a kernel that died is excused")
	}
}

func FuzzDecode(f *testing.F) {
	good := encoded(f, sample())
	f.Add(good)
	f.Add(good[:len(good)/2])
	f.Add([]byte(`{"format": 1, "size": 512, "base": "", "log": ""}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		one, err := Decode(bytes.NewReader(data))
		if err != nil {
			return
		}
		// A finding that was read can be written and read again.
		if _, err := Decode(bytes.NewReader(encoded(t, one))); err != nil {
			t.Fatal(err)
		}
	})
}
