package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"whichfs/internal/host/lab/labtest"
)

// What make run measures is what the documents show, on every machine: the digest of all figures, and
// each line of the example but those of the date.
func TestExample(t *testing.T) {
	t.Parallel()
	labtest.Virtual(t)
	db := filepath.Join(t.TempDir(), "runs.db")
	print := func(args ...string) []byte {
		t.Helper()
		cmd := exec.Command(itself(), append([]string{"--store", db}, args...)...)
		var errors strings.Builder
		cmd.Stderr = &errors
		out, err := cmd.Output()
		if err != nil {
			t.Fatalf("%v\n%s", err, &errors)
		}
		return out
	}
	out := print("run", "bootlin-2023", "--quick", "--clock", "virtual")
	digest := regexp.MustCompile(`(?m)^digest +([0-9a-f]{16})$`).FindSubmatch(out)
	if digest == nil {
		t.Fatalf("no digest:\n%s", out)
	}
	texts := documents(t)
	if !strings.Contains(texts["README.md"], "`"+string(digest[1])+"`") {
		t.Errorf("README.md does not have the digest %s", digest[1])
	}
	picture, err := os.ReadFile("../../docs/terminal.svg")
	if err != nil || !strings.Contains(string(picture), ">"+string(digest[1])+"<") {
		t.Errorf("docs/terminal.svg does not have the digest %s (%v): scripts/recording draws it", digest[1], err)
	}
	dated := regexp.MustCompile(`^(run|began) |^ +→ whichfs re`)
	blocks := block.FindAllStringSubmatch(texts["example.md"], -1)
	for i, text := range [][]byte{out, print("report", "--all")} {
		printed, shown := strings.Split(string(text), "\n"), strings.Split(blocks[i][2], "\n")
		for _, line := range shown {
			if line == "[…]" || dated.MatchString(line) {
				continue
			}
			at := slices.Index(printed, line)
			if at < 0 {
				t.Fatalf("docs/example.md has a line that the run did not print there: %q\n%s", line, text)
			}
			printed = printed[at+1:]
		}
		if least := []int{30, 80}[i]; len(shown) < least {
			t.Errorf("the example has %d lines", len(shown))
		}
	}
}
