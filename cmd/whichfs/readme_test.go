package main

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/alecthomas/kong"

	"whichfs/internal/app"
	"whichfs/internal/plan"
	"whichfs/internal/plan/media"
	"whichfs/internal/plan/processor"
	"whichfs/internal/plan/study"
	"whichfs/internal/report"
)

// documents are what users read.
func documents(t *testing.T) map[string]string {
	t.Helper()
	texts := map[string]string{}
	files, err := filepath.Glob("../../docs/*.md")
	if err != nil {
		t.Fatal(err)
	}
	findings, err := filepath.Glob("../../docs/findings/*.md")
	if err != nil {
		t.Fatal(err)
	}
	files = append(files, findings...)
	for _, path := range append(files, "../../README.md", "../../CONTRIBUTING.md") {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		texts[strings.TrimPrefix(strings.TrimPrefix(path, "../../"), "docs/")] = string(text)
	}
	return texts
}

var block = regexp.MustCompile("(?ms)^```([a-z]*)\n(.*?)^```")

// The program accepts every command line in the documents.
func TestCommandsInDocuments(t *testing.T) {
	found := 0
	for name, text := range documents(t) {
		for _, b := range block.FindAllStringSubmatch(text, -1) {
			for line := range strings.Lines(b[2]) {
				for _, words := range commands(line) {
					found++
					if err := understood(words); err != nil {
						t.Errorf("%s: %s: %v", name, strings.TrimSpace(line), err)
					}
				}
			}
		}
	}
	if found < 15 {
		t.Errorf("%d commands in the documents", found)
	}
}

// commands reads the command lines in a line of a document: alternatives in
// their last word are "a | b | c".
func commands(line string) [][]string {
	line, _, _ = strings.Cut(line, "  #")
	line = strings.TrimPrefix(strings.TrimSpace(line), "sudo ")
	if !strings.HasPrefix(line, "whichfs ") {
		return nil
	}
	alternatives := strings.Split(line, " | ")
	words := shellWords(alternatives[0])[1:]
	all := [][]string{words}
	for _, last := range alternatives[1:] {
		all = append(all, append(words[:len(words)-1:len(words)-1], strings.TrimSpace(last)))
	}
	return all
}

// shellWords splits a line at blanks that are not between single quotes.
func shellWords(line string) []string {
	var words []string
	for i, part := range strings.Split(line, "'") {
		if i%2 == 1 {
			words[len(words)-1] += part
			continue
		}
		fields := strings.Fields(part)
		words = append(words, fields...)
		if strings.HasSuffix(part, " ") {
			words = append(words, "")
		}
	}
	if n := len(words); n > 0 && words[n-1] == "" {
		words = words[:n-1]
	}
	return words
}

// understood parses a command line without running it, including its parts with
// their own syntax.
func understood(words []string) error {
	c := newCLI()
	parser, err := kong.New(&c, kong.Exit(func(int) {}))
	if err != nil {
		return err
	}
	if _, err := parser.Parse(words); err != nil {
		return err
	}
	if len(c.Run.Candidates) > 0 {
		if _, err := app.Candidates(c.Run.Candidates); err != nil {
			return err
		}
	}
	st, _ := study.ByName(c.Run.Study)
	for _, s := range c.Run.Storage {
		if _, ok := st.Storage("quick", s); ok {
			continue // by its key
		}
		if _, err := media.Parse(strings.TrimSpace(s)); err != nil {
			return err
		}
	}
	return nil
}

// Every plan in the documents can be carried out.
func TestPlansInDocuments(t *testing.T) {
	found := 0
	for name, text := range documents(t) {
		for _, b := range block.FindAllStringSubmatch(text, -1) {
			if b[1] != "toml" || name == "models.md" { // it is part of a model, not a plan
				continue
			}
			found++
			path := filepath.Join(t.TempDir(), "plan.toml")
			if err := os.WriteFile(path, []byte(b[2]), 0o644); err != nil {
				t.Fatal(err)
			}
			if name == "virtual-time.md" {
				if _, err := processor.Load(path); err != nil {
					t.Errorf("%s: %v", name, err)
				}
				continue
			}
			if _, err := plan.Load(path); err != nil {
				t.Errorf("%s: %v", name, err)
			}
			plans, _, err := (app.Ask{Study: path}).Plans()
			if err != nil {
				t.Errorf("%s: %v", name, err)
			}
			for _, p := range plans {
				if p.Rounds == 0 || len(p.Candidates) == 0 {
					t.Errorf("%s: a plan of nothing: %+v", name, p)
				}
			}
		}
	}
	if found == 0 {
		t.Error("no plan in the documents")
	}
}

var link = regexp.MustCompile(`\]\(([^)#]+)[^)]*\)`)

// Every link in the documents leads to a file, and the index names every document.
func TestLinksInDocuments(t *testing.T) {
	texts := documents(t)
	for name, text := range texts {
		dir, index := filepath.Join("../../docs", filepath.Dir(name)), "index.md"
		if strings.HasPrefix(name, "findings/") {
			index = "findings.md"
		}
		if name == "README.md" || name == "CONTRIBUTING.md" {
			dir = "../.."
		} else if name != index && !strings.Contains(texts[index], "("+name+")") {
			t.Errorf("docs/%s does not name %s", index, name)
		}
		for _, to := range link.FindAllStringSubmatch(text, -1) {
			if strings.Contains(to[1], "://") {
				continue
			}
			if _, err := os.Stat(filepath.Join(dir, to[1])); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
}

var tested = regexp.MustCompile("`((?:internal|cmd)/[a-z/]+)`: ((?:`[A-Za-z.]+`(?:, )?)+)")

// Every format has a row in its document, and every test that a row names exists.
func TestFormatsAreTested(t *testing.T) {
	text := documents(t)["formats.md"]
	for _, f := range report.All {
		if f.Help != "" && !strings.Contains(text, "\n| "+f.Name+" ") {
			t.Errorf("docs/formats.md has no row of %s", f.Name)
		}
	}
	found := 0
	for _, m := range tested.FindAllStringSubmatch(text, -1) {
		sources, err := filepath.Glob(filepath.Join("../..", m[1], "*_test.go"))
		if err != nil {
			t.Fatal(err)
		}
		var all []byte
		for _, path := range sources {
			source, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			all = append(all, source...)
		}
		for _, name := range strings.Split(m[2], ", ") {
			name = strings.Trim(name, "`, ")
			_, err := os.Stat(filepath.Join("../..", m[1], "testdata/script", name))
			if err != nil && !bytes.Contains(all, []byte("func "+name+"(")) {
				t.Errorf("%s has no test %s", m[1], name)
			}
			found++
		}
	}
	if found < 20 {
		t.Errorf("%d tests found", found)
	}
}

// Every make target in the README exists.
func TestMakeInDocuments(t *testing.T) {
	makefile, err := os.ReadFile("../../Makefile")
	if err != nil {
		t.Fatal(err)
	}
	found := 0
	for name, text := range documents(t) {
		for _, m := range regexp.MustCompile("(?m)^make ([a-z]+)|`make ([a-z]+)`").FindAllStringSubmatch(text, -1) {
			found++
			if target := m[1] + m[2]; !regexp.MustCompile(`(?m)^` + target + `:`).Match(makefile) {
				t.Errorf("%s: the Makefile has no %s", name, target)
			}
		}
	}
	if found < 3 {
		t.Errorf("%d targets in the documents", found)
	}
}

func TestDocumentReading(t *testing.T) {
	got := commands("sudo whichfs run x --candidates 'ext4; xfs' --destroy ID  # comment")
	if len(got) != 1 || strings.Join(got[0], "|") != "run|x|--candidates|ext4; xfs|--destroy|ID" {
		t.Errorf("%q", got)
	}
	if got := commands("whichfs lab build | shell"); len(got) != 2 || got[1][1] != "shell" || got[0][1] != "build" {
		t.Errorf("%q", got)
	}
	for _, wrong := range []string{"run x --no-such-flag", "list nothing", "run x --candidates fat32", "run x --storage nor:1G", "fly"} {
		if understood(strings.Fields(wrong)) == nil {
			t.Errorf("%q was understood", wrong)
		}
	}
}
