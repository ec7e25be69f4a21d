package bench

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"whichfs/internal/fault/finding"
	"whichfs/internal/fault/script"
	"whichfs/internal/result"
)

// A turn counts only if requested; a missing kernel feature is a reason and not an error, and
// anything else is an error.
func TestCrashTurns(t *testing.T) {
	answer := finding.Tally{States: 10, Seconds: map[string]float64{"mount": 0.5}}
	var fails error
	s := &crashSubject{workers: 2, turn: func(context.Context) (finding.Tally, error) { return answer, fails }}
	for _, counted := range []bool{false, true, true} {
		if rate, err := s.take(t.Context(), counted); err != nil || rate <= 0 {
			t.Fatal(rate, err)
		}
	}
	if len(s.rates) != 2 || s.states != 10 || s.seconds["mount"] != 1 || s.took <= 0 {
		t.Errorf("%+v", s)
	}
	answer.States = 0
	if _, err := s.take(t.Context(), true); err == nil {
		t.Error("no state was judged, and that is not an error")
	}
	for _, c := range []struct {
		err    error
		absent bool
	}{
		{fmt.Errorf("mount: %w", unix.ENODEV), true},
		{result.Fail(result.Unsupported, "", "no loop"), true},
		{result.Refuse("", "no"), false},
		{fs.ErrNotExist, false},
	} {
		fails, s.absent = c.err, nil
		if _, err := s.take(t.Context(), true); (s.absent != nil) != c.absent || (err == nil) != c.absent {
			t.Errorf("%v: %v, absent %v", c.err, err, s.absent)
		}
	}
}

func TestCrashTable(t *testing.T) {
	var out strings.Builder
	err := crashTable(&out, []*crashSubject{
		{name: "one", limit: 500, rates: []float64{499, 501, 600}, states: 400, took: 4, seconds: map[string]float64{"make": 1, "mount": 2}},
		{name: "two", limit: 1000, rates: []float64{999}, states: 400, took: 1},
		{name: "three", absent: errors.New("no such filesystem")},
	}, []float64{1000}, []float64{0.5})
	text := strings.Join(strings.Fields(out.String()), " ")
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"one 400 501 (499–600) at least 500 kept 25 % 50 % 0 % 0 % 0 % 25 %",
		"two 400 999 (999–999) at least 1000 NOT KEPT",
		"three not measured here: no such filesystem",
		"1000 (1000–1000)", "0.50 (0.50–0.50)",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is not in\n%s", want, out.String())
		}
	}
}

// Every script exists, once.
func TestCrashScripts(t *testing.T) {
	for _, name := range crashScripts {
		n := 0
		for _, s := range script.Library() {
			if s.Name == name {
				n++
			}
		}
		if n != 1 {
			t.Errorf("the library has %d scripts %s", n, name)
		}
	}
}
