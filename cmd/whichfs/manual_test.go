package main

import (
	"bytes"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"whichfs/docs"
	"whichfs/internal/testing/needs"
)

// Every command has a page, and the checker of manual pages finds nothing in them.
func TestManualPages(t *testing.T) {
	needs.Programs(t)
	dir := t.TempDir()
	var out, errs bytes.Buffer
	if status := run([]string{"manual", dir}, nil, &out, &errs); status != exitOK {
		t.Fatalf("status %d: %s", status, errs.String())
	}
	pages, err := filepath.Glob(filepath.Join(dir, "*.1"))
	if err != nil {
		t.Fatal(err)
	}
	pages = append(pages, "../whichfs-agent/whichfs-agent.1")
	if len(pages) < 25 {
		t.Fatalf("%d pages", len(pages))
	}
	text, _ := exec.Command("mandoc", append([]string{"-T", "lint"}, pages...)...).CombinedOutput() // its status repeats what it says
	for line := range strings.Lines(string(text)) {
		// It looks for pages where those of the system are installed.
		if _, name, ok := strings.Cut(line, "referenced manual not found: Xr "); ok {
			name, _, _ = strings.Cut(name, " ")
			if _, err := os.Stat(filepath.Join(dir, name+".1")); err == nil {
				continue
			}
		}
		t.Error(strings.TrimSpace(line))
	}
	shown, err := exec.Command("mandoc", "-T", "ascii", "-O", "width=78", filepath.Join(dir, "whichfs-run.1")).Output()
	if err != nil {
		t.Fatal(err)
	}
	plain := overstruck(string(shown))
	for _, part := range []string{"--destroy=ID", "'ext4; btrfs -m single -o compress=lzo'", "whichfs run bootlin-2023 --candidates 'ext4; ext4 -O ^has_journal;", "whichfs run bootlin-2023 --until settled"} {
		if !strings.Contains(plain, part) {
			t.Errorf("the page of run does not have %q", part)
		}
	}
}

// overstruck removes bold and underlined letters' backspaces.
func overstruck(s string) string {
	var b []rune
	for _, c := range s {
		if c == '\b' {
			b = b[:len(b)-1]
			continue
		}
		b = append(b, c)
	}
	return string(b)
}

// Every document can be shown without markup.
func TestDocumentsInTerminal(t *testing.T) {
	findings, err := fs.Glob(docs.Files, "findings/*.md")
	if err != nil || len(findings) == 0 {
		t.Fatalf("%d findings, %v", len(findings), err)
	}
	for _, name := range append(topics(), findings...) {
		var out, errs bytes.Buffer
		if status := run([]string{"help", name}, nil, &out, &errs); status != exitOK {
			t.Fatalf("%s: status %d: %s", name, status, errs.String())
		}
		for line := range strings.Lines(out.String()) {
			if !strings.HasPrefix(line, "    ") && (strings.Contains(line, "**") || strings.Contains(line, "](") || strings.Contains(line, "|---") || strings.HasPrefix(line, "#")) {
				t.Errorf("%s: markup in %q", name, line)
			}
		}
	}
}
