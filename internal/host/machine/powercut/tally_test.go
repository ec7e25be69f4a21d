package powercut

import (
	"strings"
	"testing"

	"whichfs/internal/result"
)

// However many notes the verifying guest has, the note of its cut is short.
func TestCutNoteIsShort(t *testing.T) {
	one := oneCut{Number: 1, Reason: "x"}
	for range 1000 {
		one.Notes = append(one.Notes, result.Note{Phase: phaseVerify, Level: result.Warning, Text: strings.Repeat("y", 1000)})
	}
	var all tally
	all.add(one)
	if n := len(all.notes); n != 1 || len(all.notes[0].Text) > mostNote+len("…") {
		t.Errorf("%d notes, the first of %d bytes", n, len(all.notes[0].Text))
	}
}

// Where the storage itself lost flushed data, the note of the cut and a figure say so: it is not the
// filesystem's fault.
func TestLossOfStorageIsTold(t *testing.T) {
	var all tally
	all.add(oneCut{Number: 1, Reason: "mount -t ext4: invalid argument", Merge: 4 << 20})
	all.add(oneCut{Number: 2, Merge: 4 << 20})
	all.add(oneCut{Number: 3, Reason: "mount -t ext4: invalid argument"})
	f := all.figures()
	for _, m := range f.Measurements {
		if m.Metric == result.CutsOfMerges && m.Value != 2 {
			t.Errorf("%+v", m)
		}
	}
	const want = "interrupted a merge, and the storage lost 4096 KiB"
	if len(f.Notes) != 2 || !strings.Contains(f.Notes[0].Text, want) || strings.Contains(f.Notes[1].Text, want) {
		t.Errorf("%+v", f.Notes)
	}
}
