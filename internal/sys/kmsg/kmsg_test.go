package kmsg

import (
	"fmt"
	"os"
	"slices"
	"testing"
)

func TestText(t *testing.T) {
	for record, want := range map[string]string{
		"6,100,5,-;EXT4-fs (loop1): recovery complete\n SUBSYSTEM=x\n": "EXT4-fs (loop1): recovery complete",
		"4,1,2,c;a;b\n": "a;b",
		"nonsense":      "",
		"":              "",
	} {
		if got := Text(record); got != want {
			t.Errorf("%q: %q", record, got)
		}
	}
}

// A message logged after SinceNow appears there once, and in Whole along with
// everything before it.
func TestLog(t *testing.T) {
	l := SinceNow()
	defer l.Close()
	line := fmt.Sprintf("whichfs: a test of %d", os.Getpid())
	// Without a newline the line could be continued, and stays hidden
	// until another one follows.
	if err := os.WriteFile(device, []byte(line+"\n"), 0); err != nil {
		t.Fatal(err)
	}
	if got := l.Lines(); !slices.Contains(got, line) {
		t.Errorf("%q is not in %q", line, got)
	}
	if got := l.Lines(); slices.Contains(got, line) {
		t.Errorf("%q came twice", line)
	}
	all := Whole()
	defer all.Close()
	if !slices.Contains(all.Lines(), line) {
		t.Errorf("%q is not in the whole log", line)
	}
	if got := (Log{-1}).Lines(); got != nil {
		t.Errorf("an unreadable log yields %q", got)
	}
}
