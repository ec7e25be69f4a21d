package aftermath

import (
	"testing"

	"whichfs/internal/fault/script"
	"whichfs/internal/fault/writelog"
)

func TestMarks(t *testing.T) {
	mark := func(text string) writelog.Entry {
		return writelog.Entry{Flags: writelog.Mark, Data: []byte(text)}
	}
	p := ReadMarks(writelog.Log{Entries: []writelog.Entry{
		mark(markMounted), writelog.Entry{Sector: 8, Sectors: 1, Data: make([]byte, 512)}, mark(script.Begin + " 1"), mark(script.End + " 1"), mark("end of it"), mark("begin x"),
		mark(script.Begin + " 2"), mark(script.End + " 3"), mark(script.Begin + " 1"),
	}})
	for point, want := range [][2]int{{0, 0}, {0, 0}, {0, 0}, {1, 0}, {1, 1}, {1, 1}, {1, 1}, {2, 1}, {3, 3}, {3, 3}} {
		if began, acked := p.At(point); began != want[0] || acked != want[1] {
			t.Errorf("after %d entries %d had begun and %d had returned, want %v", point, began, acked, want)
		}
	}
}

// An operation that returned had begun, whether that was marked or not.
func TestEnd(t *testing.T) {
	p := ReadMarks(writelog.Log{Entries: []writelog.Entry{{Sectors: 1, Data: make([]byte, 512)}, {Flags: writelog.Mark, Data: []byte(End(3))}}})
	if began, acked := p.At(2); began != 3 || acked != 3 {
		t.Errorf("%d had begun and %d had returned", began, acked)
	}
}
