package report

import (
	"bytes"
	"testing"

	"whichfs/internal/result"
	kept "whichfs/internal/testing/golden"
	"whichfs/internal/verdict"
)

// golden compares got with testdata/name.
func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	kept.Check(t, name, got)
}

func render(t *testing.T, name string, v verdict.Verdict, trials []result.Trial) []byte {
	t.Helper()
	f, ok := ByName(name)
	if !ok {
		t.Fatalf("no format %q", name)
	}
	var b bytes.Buffer
	if err := f.Write(&b, v, trials); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return b.Bytes()
}

func TestGolden(t *testing.T) {
	v, trials := sample()
	for _, f := range All {
		t.Run(f.Name, func(t *testing.T) {
			golden(t, "sample."+f.Name, render(t, f.Name, v, trials))
		})
	}
}

func TestTextGolden(t *testing.T) {
	v, _ := sample()
	for name, screen := range map[string]TextOptions{
		"sample.text80":    {Width: 80},
		"sample.ascii80":   {Width: 80, ASCII: true},
		"sample.colour120": {Width: 120, Color: true},
	} {
		var b bytes.Buffer
		if err := Text(&b, v, screen); err != nil {
			t.Fatal(err)
		}
		golden(t, name, b.Bytes())
	}
}
