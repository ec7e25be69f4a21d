package writelog

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"math"
	"reflect"
	"strings"
	"testing"
	"testing/iotest"
)

func sample() Log {
	return Log{Entries: []Entry{
		{Sector: 8, Sectors: 2, Data: bytes.Repeat([]byte{1}, 1024)},
		{Flags: Mark, Data: []byte("end 1")},
		{Flags: Flush},
		{Sector: 3, Sectors: 1, Flags: Flush | FUA | Metadata, Data: bytes.Repeat([]byte{2}, 512)},
		{Sector: 0, Sectors: 1 << 30, Flags: Discard},
		{Flags: Mark},
		{Flags: Mark, Data: bytes.Repeat([]byte{'m'}, maxMark)},
		{Sector: maxByte/SectorSize - 1, Sectors: 1, Data: make([]byte, 512)},
	}}
}

func encoded(t testing.TB, l Log) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := l.Write(&b); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func read(b []byte) (Log, error) { return Read(bytes.NewReader(b), int64(len(b))) }

func TestRoundTrip(t *testing.T) {
	for _, l := range []Log{{}, sample()} {
		got, err := read(encoded(t, l))
		if err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(got, l) {
			t.Errorf("read %+v, written %+v", got, l)
		}
	}
}

// Write produces the same bytes as the kernel, superblock included.
func TestWriteAsTheKernel(t *testing.T) {
	b := capture(t, "kernel-512")
	l, err := read(b)
	if err != nil {
		t.Fatal(err)
	}
	ours := encoded(t, l)
	if len(ours) > len(b) || !bytes.Equal(ours, b[:len(ours)]) {
		t.Errorf("the %d bytes written differ from the %d read", len(ours), len(b))
	}
}

func TestWriteRefuses(t *testing.T) {
	for _, c := range []struct {
		e    Entry
		says string
	}{
		{Entry{Sectors: 2, Data: make([]byte, 512)}, "512 bytes of data for 2 sectors"},
		{Entry{Flags: Mark, Data: make([]byte, maxMark+1)}, "a mark of 481 bytes"},
		{Entry{Flags: Mark, Sectors: 1}, "a mark that has sectors"},
		{Entry{Flags: Discard, Sectors: 1, Data: []byte{1}}, "belongs to no write"},
		{Entry{}, "neither a write nor a flush nor a mark"},
		{Entry{Flags: 32, Sectors: 1, Data: make([]byte, 512)}, "unknown flags"},
		{Entry{Sector: math.MaxUint64, Sectors: 1, Data: make([]byte, 512)}, "no device has"},
	} {
		var b bytes.Buffer
		err := Log{Entries: []Entry{{Flags: Flush}, c.e}}.Write(&b)
		if err == nil || !strings.Contains(err.Error(), "entry 1") || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%+v: error %v, want one with %q", c.e, err, c.says)
		}
		if b.Len() > 0 {
			t.Errorf("%+v: %d bytes were written despite the error", c.e, b.Len())
		}
	}
	if err := sample().Write(failing{}); !errors.Is(err, io.ErrShortWrite) {
		t.Errorf("a full disk: %v", err)
	}
}

type failing struct{}

func (failing) Write([]byte) (int, error) { return 0, io.ErrShortWrite }

func TestDamage(t *testing.T) {
	good := encoded(t, sample())
	put := func(at int, v uint64) []byte {
		b := bytes.Clone(good)
		binary.LittleEndian.PutUint64(b[at:], v)
		return b
	}
	const second, third, fourth = 512 + 512 + 1024, 512 + 512 + 1024 + 512, 512 + 512 + 1024 + 1024
	for name, c := range map[string]struct {
		b      []byte
		entry  int
		offset int64
		says   string
	}{
		"empty file":              {nil, -1, 0, "0 bytes"},
		"shorter than superblock": {good[:511], -1, 0, "511 bytes"},
		"zeros":                   {make([]byte, 4096), -1, 0, "nothing was recorded"},
		"magic":                   {put(0, magic+1), -1, 0, "magic number is 0x6a736677736873"},
		"version":                 {put(8, 2), -1, 0, "version is 2"},
		"sector size 0":           {put(24, 0), -1, 0, "sector size is 0"},
		"sector size 513":         {put(24, 513), -1, 0, "sector size is 513"},
		"sector size 2 GiB":       {put(24, 1<<31), -1, 0, "sector size is 2147483648"},
		"only superblock":         {good[:512], 0, 512, "the file ends; the superblock counts 8 entries"},
		"truncated header":        {good[:second+100], 1, second, "the file ends"},
		"truncated data":          {good[:512+512+1023], 0, 512, "1024 bytes of which 1023 are there"},
		"more entries counted":    {put(16, math.MaxUint64), 8, int64(len(good)), "counts 18446744073709551615"},
		"absurd sectors":          {put(512+8, math.MaxUint64), 0, 512, "no device has"},
		"many sectors":            {put(512+8, 1<<40), 0, 512, "the file ends in the entry's data"},
		"absurd sector":           {put(512, math.MaxUint64-1), 0, 512, "no device has"},
		"unknown flag":            {put(512+16, 1<<63), 0, 512, "unknown flags"},
		"data longer than write":  {put(512+24, 1025), 0, 512, "1025 bytes of data in 2 sectors"},
		"long mark":               {put(second+24, maxMark+1), 1, second, "a mark of 481 bytes"},
		"absurd mark":             {put(second+24, math.MaxUint64), 1, second, "a mark of 18446744073709551615 bytes"},
		"empty entry":             {put(third+16, 0), 2, third, "neither"},
		"mark with sectors":       {put(second+8, 1), 1, second, "a mark that has sectors"},
		"discard with data":       {put(fourth+512+512+24, 1), 4, fourth + 1024, "a discard with 1 bytes"},
	} {
		t.Run(name, func(t *testing.T) {
			l, err := read(c.b)
			var d *Damage
			if !errors.As(err, &d) {
				t.Fatalf("error %v, want damage", err)
			}
			if d.Entry != c.entry || d.Offset != c.offset || !strings.Contains(err.Error(), c.says) {
				t.Errorf("entry %d, offset %d, %q; want %d, %d and %q", d.Entry, d.Offset, err, c.entry, c.offset, c.says)
			}
			want := sample().Entries[:max(c.entry, 0)]
			if len(l.Entries) != len(want) || len(want) > 0 && !reflect.DeepEqual(l.Entries, want) {
				t.Errorf("%d entries before the damage, or not the %d good ones", len(l.Entries), len(want))
			}
		})
	}
}

// Wherever a log is truncated, Read returns all entries that are complete.
func TestTruncatedEverywhere(t *testing.T) {
	l := sample()
	good := encoded(t, l)
	ends := []int{512} // of the superblock and each entry
	for _, e := range l.Entries {
		end := ends[len(ends)-1] + 512
		if e.IsWrite() {
			end += len(e.Data)
		}
		ends = append(ends, end)
	}
	for n := 512; n < len(good); n++ {
		whole := 0
		for whole+1 < len(ends) && ends[whole+1] <= n {
			whole++
		}
		got, err := read(good[:n])
		var d *Damage
		if !errors.As(err, &d) || d.Entry != whole || d.Offset != int64(ends[whole]) || len(got.Entries) != whole {
			t.Fatalf("cut at %d: %d entries, error %v; want %d", n, len(got.Entries), err, whole)
		}
	}
}

// Entries beyond those that the superblock counts are read while they are valid,
// but never beyond the kernel's end mark.
func TestUncounted(t *testing.T) {
	l := sample()
	good := encoded(t, l)
	binary.LittleEndian.PutUint64(good[16:], 2)
	got, err := read(append(bytes.Clone(good), make([]byte, 2048)...))
	if err != nil || len(got.Entries) != 8 || got.Uncounted != 6 {
		t.Errorf("%d entries, %d uncounted, error %v; want 8, 6", len(got.Entries), got.Uncounted, err)
	}
	junk := append(bytes.Clone(good), bytes.Repeat([]byte{1}, 2048)...)
	if got, err = read(junk); err != nil || len(got.Entries) != 8 {
		t.Errorf("with trailing junk: %d entries, error %v; want 8", len(got.Entries), err)
	}
	odd := bytes.Clone(good)
	odd[512+512+1024+512+511] = 1 // after the flush, which is not counted
	if got, err = read(odd); err != nil || len(got.Entries) != 2 {
		t.Errorf("with data in the unused part of an entry: %d entries, error %v; want 2", len(got.Entries), err)
	}
	for _, counted := range []uint64{1, 2} {
		ended := encoded(t, Log{Entries: append([]Entry{{Flags: Flush}, {Flags: Mark, Data: []byte(endMark)}}, l.Entries...)})
		binary.LittleEndian.PutUint64(ended[16:], counted)
		got, err := read(ended)
		if err != nil || len(got.Entries) != 2 || got.Uncounted != int(2-counted) {
			t.Errorf("after the end mark, %d counted: %d entries, %d uncounted, error %v", counted, len(got.Entries), got.Uncounted, err)
		}
	}
}

// An error of the disk is not damage of the log, and a false size does not consume
// memory.
func TestReaderFails(t *testing.T) {
	var d *Damage
	if _, err := Read(broken{}, 4096); !errors.Is(err, iotest.ErrTimeout) || errors.As(err, &d) {
		t.Errorf("error %v", err)
	}
	b := encoded(t, sample())
	binary.LittleEndian.PutUint64(b[512+8:], 1<<41)
	if _, err := Read(bytes.NewReader(b), math.MaxInt64); !errors.As(err, &d) || d.Entry != 0 {
		t.Errorf("a false size: %v", err)
	}
}

type broken struct{}

func (broken) ReadAt([]byte, int64) (int, error) { return 0, iotest.ErrTimeout }

func FuzzRead(f *testing.F) {
	f.Add(encoded(f, sample()))
	for _, name := range []string{"kernel-512", "kernel-4096", "qemu-512", "qemu-killed"} {
		b := capture(f, name)
		f.Add(b[:min(len(b), 4<<10)])
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		l, err := read(b)
		var d *Damage
		if err != nil && !errors.As(err, &d) {
			t.Fatalf("an error other than damage: %v", err)
		}
		held := 0
		for _, e := range l.Entries {
			held += len(e.Data)
		}
		if held > len(b) {
			t.Fatalf("%d bytes of data from a log of %d", held, len(b))
		}
		for _, e := range l.Entries {
			if e.Flags&Mark != 0 && len(e.Data) > maxMark {
				return // it fits only into larger sectors
			}
		}
		again, err := read(encoded(t, l))
		if err != nil || len(again.Entries) != len(l.Entries) {
			t.Fatalf("written and read again: %d entries, error %v; want %d", len(again.Entries), err, len(l.Entries))
		}
		for i := range l.Entries {
			if !reflect.DeepEqual(again.Entries[i], l.Entries[i]) {
				t.Fatalf("entry %d: %+v became %+v", i, l.Entries[i], again.Entries[i])
			}
		}
	})
}
