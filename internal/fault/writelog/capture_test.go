package writelog

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"io"
	"os"
	"strings"
	"testing"
)

// capture reads a log that a real recorder wrote.
func capture(t testing.TB, name string) []byte {
	t.Helper()
	f, err := os.Open("testdata/" + name + ".log.gz")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close() //nolint:errcheck // read only
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	b, err := io.ReadAll(z)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// apply returns the contents of a device after the whole log.
func apply(l Log, size int) []byte {
	disk := make([]byte, size)
	for _, e := range l.Entries {
		if at := e.Sector * SectorSize; e.IsWrite() {
			copy(disk[at:], e.Data)
		} else if e.IsDiscard() {
			clear(disk[at : at+e.Sectors*SectorSize])
		}
	}
	return disk
}

// Each capture was recorded above an empty disk in memory, whose checksum was taken
// when the recorder had ended: replaying the log must give the same checksum. The
// kernel logs come from dm-log-writes of Linux 6.1 above loop devices with sectors
// of 512 and 4096 bytes, the QEMU logs from blklogwrites of 7.2 with
// log-sector-size 512 and 4096; qemu-killed from a QEMU that was killed before its
// superblock counted all entries.
func TestCaptures(t *testing.T) {
	for _, c := range []struct {
		name            string
		disk            int // bytes
		sum             string
		entries         int
		marks           string
		writes, flushes int
		fua, discards   int
		metadata        int
		uncounted       int
	}{
		{"kernel-512", 1 << 20, "43870780d9de55b1d581d644328d709b1e42363be3ce22edf381fea3b6ba20ce", 30,
			"hello,last," + endMark, 18, 6, 1, 3, 0, 0},
		{"kernel-4096", 4 << 20, "c4da3bdfe538d6fa227438b5ab180d1fb6a0eab661dc9d0780a8a7cf0c970d18", 43,
			"hello,begin 2,made,end 2," + endMark, 28, 9, 2, 1, 9, 0},
		{"qemu-512", 256 << 10, "b32f20c29dee182e233c737ed1f5e12903780eb97cdf704d544e6bf587347b05", 11, "", 6, 4, 0, 1, 0, 0},
		{"qemu-4096", 256 << 10, "b32f20c29dee182e233c737ed1f5e12903780eb97cdf704d544e6bf587347b05", 11, "", 6, 4, 0, 1, 0, 0},
		{"qemu-killed", 256 << 10, "d7e7981f044d960b6e4de4218f76c2e6b13857cc1e79c2a3a4156a886dfbec69", 4, "", 3, 1, 0, 0, 0, 2},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := capture(t, c.name)
			l, err := Read(bytes.NewReader(b), int64(len(b)))
			if err != nil {
				t.Fatal(err)
			}
			var marks []string
			writes, flushes, fua, discards, metadata := 0, 0, 0, 0, 0
			for _, e := range l.Entries {
				if e.Flags&Mark != 0 {
					marks = append(marks, string(e.Data))
				}
				count := func(n *int, b bool) {
					if b {
						*n++
					}
				}
				count(&writes, e.IsWrite())
				count(&flushes, e.Flags&Flush != 0)
				count(&fua, e.Flags&FUA != 0)
				count(&discards, e.IsDiscard())
				count(&metadata, e.Flags&Metadata != 0)
			}
			if got := strings.Join(marks, ","); len(l.Entries) != c.entries || got != c.marks {
				t.Errorf("%d entries with the marks %q, want %d with %q", len(l.Entries), got, c.entries, c.marks)
			}
			if writes != c.writes || flushes != c.flushes || fua != c.fua || discards != c.discards || metadata != c.metadata {
				t.Errorf("%d writes, %d flushes, %d FUA, %d discards, %d metadata; want %d, %d, %d, %d, %d",
					writes, flushes, fua, discards, metadata, c.writes, c.flushes, c.fua, c.discards, c.metadata)
			}
			if l.Uncounted != c.uncounted {
				t.Errorf("%d uncounted entries, want %d", l.Uncounted, c.uncounted)
			}
			sum := sha256.Sum256(apply(l, c.disk))
			if got := hex.EncodeToString(sum[:]); got != c.sum {
				t.Errorf("the disk after the whole log has checksum %s, the real one had %s", got, c.sum)
			}
		})
	}
}

// A discard is logged when it completes and has no data.
func TestCapturedDiscard(t *testing.T) {
	b := capture(t, "kernel-4096")
	l, err := Read(bytes.NewReader(b), int64(len(b)))
	if err != nil {
		t.Fatal(err)
	}
	e := l.Entries[6]
	if e.Flags != Discard || e.Sector != 16384/SectorSize || e.Sectors != 8192/SectorSize || e.Data != nil {
		t.Errorf("entry 6 is %+v, want that of blkdiscard -o 16384 -l 8192", e)
	}
}
