package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// The blocks of a document that are marked sh run one after the other as they are, on the fake machine: they
// show what a user without hardware can type.
func TestRunnableBlocks(t *testing.T) {
	t.Parallel()
	ran := 0
	for name, text := range documents(t) {
		if !strings.Contains(text, "\n```sh\n") {
			continue
		}
		p := newProgram(t, `{"processor": 0.3}`)
		for file, content := range map[string]string{
			"job.fio":   "[read]\nrw=read\nsize=8M\nbs=64k\n",
			"plan.toml": "study = \"bootlin-2023\"\nrounds = 1\ncandidates = [\"ext4\", \"xfs\"]\nmachine = \"fake\"\n",
		} {
			if err := os.WriteFile(filepath.Join(p.dir, file), []byte(content), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		for _, b := range block.FindAllStringSubmatch(text, -1) {
			if b[1] != "sh" {
				continue
			}
			for line := range strings.Lines(b[2]) {
				for _, words := range commands(line) {
					ran++
					if words[0] == "run" && !slices.Contains(words, "--machine") {
						words = append(words, "--machine", "fake")
						if !slices.Contains(words, "--data") && !strings.HasSuffix(words[1], ".fio") {
							words = append(words, "--data", "tree")
						}
					}
					cmd := p.command(words...)
					if out, err := cmd.CombinedOutput(); err != nil {
						t.Errorf("%s: %s: %v\n%s", name, strings.TrimSpace(line), err, out)
					}
				}
			}
		}
	}
	if ran < 12 {
		t.Errorf("%d commands ran", ran)
	}
}
