package filesystem

import (
	"os"
	"path/filepath"
	"testing"
)

func parse(t *testing.T, line string) Candidate {
	t.Helper()
	c, err := Parse(line)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func readText(t *testing.T, path string) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("testdata", path))
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}
