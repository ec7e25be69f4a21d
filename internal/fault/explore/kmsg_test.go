package explore

import (
	"regexp"
	"testing"

	"whichfs/internal/fault/script"
	"whichfs/internal/fault/writelog"
	"whichfs/internal/kmsg"
)

func TestKernelLinesOfOneDevice(t *testing.T) {
	l := kernelLog{own: regexp.MustCompile(`\bloop1\b`)}
	for record, want := range map[string]string{
		"6,100,5,-;EXT4-fs (loop1): recovery complete\n SUBSYSTEM=x\n":   "EXT4-fs (disk): recovery complete",
		"3,101,5,-;JBD2: journal transaction 5 on loop1-8 is corrupt.\n": "JBD2: journal transaction 5 on disk-8 is corrupt.",
		"6,102,5,-;EXT4-fs (loop12): recovery complete\n":                "",
		"6,103,5,-;EXT4-fs (loop2): recovery complete\n":                 "",
		"4,104,5,-;hrtimer: interrupt took 5 ns\n":                       "",
		"1,105,5,-;BUG: kernel NULL pointer dereference, address: 0\n":   "BUG: kernel NULL pointer dereference, address: 0",
		"nonsense": "",
	} {
		if text, ours := l.take(kmsg.Text(record)); ours != (want != "") || ours && text != want {
			t.Errorf("%q: %q, %v", record, text, ours)
		}
	}
	if died([]string{"WARNING: CPU: 0 PID: 1 at fs/x.c:5", "EXT4-fs (loop1): error"}) || !died([]string{"x", "kernel BUG at fs/ext4/inode.c:5!"}) {
		t.Error("a warning is not the end, and a BUG is")
	}
}

func TestMarks(t *testing.T) {
	mark := func(text string) writelog.Entry {
		return writelog.Entry{Flags: writelog.Mark, Data: []byte(text)}
	}
	p := readMarks(writelog.Log{Entries: []writelog.Entry{
		mark(markMounted), sectorOf(8, 1), mark(script.Begin + " 1"), mark(script.End + " 1"), mark("end of it"), mark("begin x"),
		mark(script.Begin + " 2"), mark(script.End + " 3"), mark(script.Begin + " 1"),
	}})
	for point, want := range [][2]int{{0, 0}, {0, 0}, {0, 0}, {1, 0}, {1, 1}, {1, 1}, {1, 1}, {2, 1}, {3, 3}, {3, 3}} {
		if began, acked := p.at(point); began != want[0] || acked != want[1] {
			t.Errorf("after %d entries %d had begun and %d had returned, want %v", point, began, acked, want)
		}
	}
}
