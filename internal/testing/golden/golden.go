// Package golden compares what a test made with what was kept of it: in testdata,
// or in a part of the manual.
package golden

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Update is the flag -update: what is kept is written anew instead of compared.
var Update = flag.Bool("update", false, "write anew what the tests compare: files in testdata, parts of docs, scripts")

// Check compares got with testdata/name.
func Check[T string | []byte](t *testing.T, name string, got T) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *Update {
		write(t, path, string(got))
		return
	}
	compare(t, path, read(t, path), string(got))
}

// Part compares got with a part of a page of the manual: what stands between
// "<!-- part: …" and "<!-- end of part".
func Part(t *testing.T, page, part, got string) {
	t.Helper()
	text := read(t, page)
	begin := strings.Index(text, "<!-- "+part+": ")
	end := strings.Index(text, "<!-- end of "+part+" -->")
	if begin < 0 || end < begin {
		t.Fatalf("%s has no place for %s", page, part)
	}
	begin += strings.IndexByte(text[begin:], '\n') + 1
	got = "\n" + strings.Trim(got, "\n") + "\n\n"
	if *Update {
		write(t, page, text[:begin]+got+text[end:])
		return
	}
	compare(t, part+" in "+page, text[begin:end], got)
}

func read(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func compare(t *testing.T, what, want, got string) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s differs (-want +got; go test -update writes it anew):\n%s", what, diff)
	}
}
