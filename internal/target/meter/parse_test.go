package meter

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestParseDisk(t *testing.T) {
	for name, fields := range map[string]int{"linux-4.9-mmcblk0p2": 11, "linux-4.19-sda": 15, "linux-6.18-vda": 17} {
		d, err := parseDisk([]byte(fixtureText(t, "stat/"+name)))
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if has(d, discards) != (fields >= 15) || has(d, flushes) != (fields >= 17) || !has(d, busyTicks) {
			t.Errorf("%s: %v", name, d)
		}
	}
	for _, text := range []string{"", "1 2 3", "1 2 3 4 5 6 7 8 9 10 x", "99999999999999999999999 2 3 4 5 6 7 8 9 10 11"} {
		if d, err := parseDisk([]byte(text)); err == nil {
			t.Errorf("%q: %v", text, d)
		}
	}
}

func TestParseMeminfo(t *testing.T) {
	m, err := parseMeminfo([]byte(fixtureText(t, "meminfo/linux-4.9-arm")))
	if err != nil || m != (memory{free: 402396 * 1024, slab: 16032 * 1024, kernel: 16032 * 1024}) {
		t.Errorf("%+v, %v", m, err)
	}
	if m, err := parseMeminfo([]byte(fixtureText(t, "meminfo/linux-6.18-amd64"))); err != nil || m.kernel != (404624+14976+712)*1024 {
		t.Errorf("%+v, %v", m, err)
	}
	if m, err := parseMeminfo([]byte("MemFree: 12 kB\n")); err == nil {
		t.Errorf("without Slab: %+v", m)
	}
}

func TestBelongs(t *testing.T) {
	cases := []struct {
		name, pattern string
		want          bool
	}{
		{"jbd2/vdb-8", "jbd2/vdb-*", true},
		{"jbd2/vda-8", "jbd2/vdb-*", false},
		{"jbd2/mmcblk0p3-", "jbd2/mmcblk0p3-*", true},
		{"xfs-reclaim/mmc", "xfs-reclaim/mmcblk0p3", true}, // cut off by an old kernel
		{"xfs-reclaim/mm", "xfs-reclaim/mmcblk0p3", false},
		{"kworker/0:1-eve", "xfs*", false},
	}
	for _, c := range cases {
		if got := belongs(c.name, []string{c.pattern}); got != c.want {
			t.Errorf("%q, %q: %v", c.name, c.pattern, got)
		}
	}
}

func seeds(f *testing.F, dir string) {
	f.Helper()
	names, err := filepath.Glob(filepath.Join("testdata", dir, "*"))
	if err != nil || len(names) == 0 {
		f.Fatalf("no seeds in %s: %v", dir, err)
	}
	for _, name := range names {
		b, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
	}
}

func FuzzParseDisk(f *testing.F) {
	seeds(f, "stat")
	f.Fuzz(func(t *testing.T, text []byte) {
		if d, err := parseDisk(text); err == nil && !has(d, busyTicks) {
			t.Fatalf("%q: %v", text, d)
		}
	})
}

func FuzzParseMeminfo(f *testing.F) {
	seeds(f, "meminfo")
	f.Fuzz(func(t *testing.T, text []byte) {
		if m, err := parseMeminfo(text); err == nil && (m.free%1024 != 0 || m.slab%1024 != 0) {
			t.Fatalf("%q: %+v", text, m)
		}
	})
}

func FuzzMessages(f *testing.F) {
	seeds(f, "kmsg")
	f.Add([]byte(`4,1,1,-;\x`))
	f.Fuzz(func(t *testing.T, text []byte) {
		var m messages
		m.add(text)
		if len(m.warnings) > maxNotes || m.warned > m.count {
			t.Fatalf("%q: %+v", text, m)
		}
		for _, w := range m.warnings {
			if strings.Contains(w, "\n") {
				t.Fatalf("%q: %q", text, w)
			}
		}
	})
}

// A report of the kernel's own fault is one warning: what happened, and where.
func TestKernelReport(t *testing.T) {
	report := func(lines ...string) (text []byte) {
		for _, line := range lines {
			text = append(text, "4,1,1,-;"+line+"\n"...)
		}
		return text
	}
	m := messages{}
	m.add(report("before", "------------[ cut here ]------------", "WARNING: CPU: 0 PID: 89 at x.c:119 f+0x35a/0x370 [x]", "Modules linked in: x", "RIP: 0010:f+0x35a"))
	rest := messages{report: m.report} // as the log goes on
	rest.add(report("Call Trace:", " g+0x1/0x2", "---[ end trace 0000000000000000 ]---", "after"))
	got := append(m.warnings, rest.warnings...)
	want := []string{"before", "WARNING: CPU: 0 PID: 89 at x.c:119 f+0x35a/0x370 [x]", "after"}
	if !slices.Equal(got, want) || m.count+rest.count != 9 || m.warned+rest.warned != 3 {
		t.Errorf("%q, %d of %d", got, m.warned+rest.warned, m.count+rest.count)
	}
	m = messages{}
	m.add(report("------------[ cut here ]------------", "kernel BUG at x.c:1!"))
	for range longestReport {
		m.add(report("the end of it is lost"))
	}
	if m.add(report("after")); m.warnings[0] != "kernel BUG at x.c:1!" || m.warnings[len(m.warnings)-1] != "after" {
		t.Errorf("%q", m.warnings)
	}
	if len(m.last) != maxNotes || m.last[maxNotes-1] != "after" {
		t.Errorf("the last messages: %q", m.last)
	}
	m = messages{} // an old kernel's, whose beginning is lost
	if m.add(report(" [<ffffffff810fc77a>] ? vfs_mkdir+0xaa/0x110", "after")); !slices.Equal(m.warnings, []string{"after"}) {
		t.Errorf("%q", m.warnings)
	}
}
