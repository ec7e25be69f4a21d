package report

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"whichfs/internal/result"
	"whichfs/internal/verdict"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// golden compares got with testdata/name.
func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, got, 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("%s differs (run the test with -update if that is meant):\n%s", path, diff)
	}
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
