package machine

import (
	"bytes"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing"
)

// Input that arrives in pieces, with foreign line ends and escapes, is kept as lines that a
// terminal can show.
func TestLines(t *testing.T) {
	var seen []string
	l := &Lines{Seen: func(line string) { seen = append(seen, line) }}
	for _, piece := range []string{"on", "e\r\n\x1b[2Jtwo\n", "\xff\n", "three"} {
		if n, err := l.Write([]byte(piece)); n != len(piece) || err != nil {
			t.Fatal(n, err)
		}
	}
	if want := []string{"one", `\x1b[2Jtwo`, "\uFFFD", "three"}; !slices.Equal(l.Last(), want) {
		t.Errorf("%q, want %q", l.Last(), want)
	}
	if want := []string{"one", "\x1b[2Jtwo", "\xff"}; !slices.Equal(seen, want) {
		t.Errorf("seen %q, want %q", seen, want)
	}
	l.Add(strings.Repeat("x", 5000))
	if last := l.Last(); len(last[3]) > keptBytes+len("…") || len(seen[3]) != keptBytes {
		t.Errorf("%d bytes are kept and %d were seen", len(last[3]), len(seen[3]))
	}
}

// However much is written, in lines or not, little is kept.
func TestLinesAreBounded(t *testing.T) {
	l := &Lines{}
	endless := bytes.Repeat([]byte("x"), 1<<20)
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	for range 64 {
		_, _ = l.Write(endless)
	}
	for n := range 10 * keptLines {
		l.Add(fmt.Sprint(n, strings.Repeat("\x1b", 1<<16)))
	}
	runtime.GC()
	runtime.ReadMemStats(&after)
	last := l.Last()
	if len(last) != keptLines+1 || !strings.HasPrefix(last[0], fmt.Sprint(9*keptLines)) || len(last[keptLines]) != keptBytes {
		t.Errorf("%d lines are kept, the first begins with %.8q", len(last), last[0])
	}
	if grown := int64(after.HeapAlloc) - int64(before.HeapAlloc); grown > 8<<20 {
		t.Errorf("%d bytes are kept", grown)
	}
}

func TestStaleCode(t *testing.T) {
	for text, want := range map[string]bool{
		"[    4.745931] Oops: int3: 0000 [#1] PREEMPT SMP NOPTI": true, // Linux 6.12
		"[    4.745931] int3: 0000 [#1] PREEMPT SMP NOPTI":       true, // Linux 6.1
		"[    8.1] Oops: general protection fault: 0000 [#1]":    false,
		"[    8.1] kernel BUG at fs/btrfs/inode.c:1":             false,
	} {
		if got := StaleCode([]string{"[    0.1] Linux", text}); got != want {
			t.Errorf("%q: %v", text, got)
		}
	}
}
