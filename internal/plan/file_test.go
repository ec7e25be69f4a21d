package plan

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"whichfs/internal/filesystem"
	"whichfs/internal/plan/processor"
	"whichfs/internal/testing/must"
	"whichfs/internal/testing/parsed"
)

const whole = `# a plan
study = "bootlin-2023"
scale = "quick"
machine = "lab"
storage = "disk:1G"
clock = "wall"
cpu = "600MIPS"
precondition = true
candidates = [
  "ext4",                               # the usual one
  "btrfs  -m single -o compress=lzo",
]
rounds = 5
seed = 42
budget = "1h30m"
margin = 0.05
`

func at[T any](v T) *T { return &v }

func load(t *testing.T, content string) (File, string, error) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "plan.toml")
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := Load(path)
	return f, path, err
}

func TestLoad(t *testing.T) {
	f, path, err := load(t, whole)
	if err != nil {
		t.Fatal(err)
	}
	cpu, err := processor.Parse("600MIPS")
	if err != nil {
		t.Fatal(err)
	}
	want := File{
		Path: path, Study: at("bootlin-2023"), Scale: at("quick"), Machine: at("lab"), Storage: at("disk:1G"), Clock: at("wall"), Processor: &cpu, Precondition: at(true),
		Candidates: parsed.Candidates("ext4", "btrfs -m single -o compress=lzo"), Rounds: at(5), Seed: at(uint64(42)),
		Budget: at(90 * time.Minute), Margin: at(0.05),
	}
	if d := cmp.Diff(want, f, parsed.ByValue, cmpopts.IgnoreUnexported(File{})); d != "" {
		t.Error(d)
	}
	for key, line := range map[string]string{"study": ":2", "candidates": ":9", "candidates.1": ":11", "margin": ":16", "none": ""} {
		if got := f.Where(key); got != path+line {
			t.Errorf("%s is at %s", key, got)
		}
	}
	f, path, err = load(t, "")
	if d := cmp.Diff(File{Path: path}, f, cmpopts.IgnoreUnexported(File{})); d != "" || err != nil {
		t.Error(d, err)
	}
}

func TestMistakesInPlanFiles(t *testing.T) {
	for content, want := range map[string]string{
		"\nrounds = 3\nround = 4":                   `:3: unknown key "round"; the keys are study, scale,`,
		"destroy = \"sda\"":                         `:1: unknown key "destroy": permission to destroy`,
		"\n[run]\nrounds = 3":                       `:2: unknown key "run"`,
		"[[candidates]]\nx = 1":                     `:1: candidate 1 must be a text in quotes, not a table`,
		"machine.kind = 3":                          `:1: machine must be "lab", "local", "ssh:[USER@]HOST[:PORT]", "serial:DEVICE[@BAUD]" or "labgrid:PLACE"; not a table`,
		"clock = \"cycles\"":                        `:1: clock must be "wall", "instructions" or "virtual"; not the text "cycles"`,
		"\ncpu = 600":                               `:2: cpu must be the processor that guests with the virtual clock are charged for, in quotes: "600MIPS", "bbb", "host", or`,
		"cpu = \"600 MHz\"":                         `:1: "600 MHz" is no speed of a processor; type 600MIPS`,
		"cpu = \"./none.toml\"":                     `:1: profile of a processor: open `,
		"precondition = \"yes\"":                    `:1: precondition must be true or false; not the text "yes"`,
		"[rounds]":                                  `:1: rounds must be a whole number from 1 to 10000; not a table`,
		"seed = 1\nrounds = \"3\"":                  `:2: rounds must be a whole number from 1 to 10000; not the text "3"`,
		"rounds = 0":                                `:1: rounds must be a whole number from 1 to 10000; not the number 0`,
		"rounds = 2.0":                              `:1: rounds must be`,
		"rounds = 99999999999":                      `:1: rounds must be`,
		"rounds = 99999999999999999999":             `:1:`,
		"seed = -1":                                 `:1: seed must be a whole number, 0 or more; not the number -1`,
		"\n\nmargin = 10":                           `:3: margin must be a number above 0`,
		"margin = 1.0":                              `:1: margin must be`,
		"margin = nan":                              `:1: margin must be`,
		"margin = 0.0":                              `:1: margin must be`,
		"margin = true":                             `not true`,
		"budget = 10":                               `:1: budget must be a time in quotes, "10m" or "1h30m"; not the number 10`,
		"budget = \"ten\"":                          `:1: budget must be a time`,
		"budget = \"-1m\"":                          `:1: budget must be a time`,
		"budget = 2024-01-01":                       `not the date or time 2024-01-01`,
		"scale = \"large\"":                         `:1: scale must be "quick", "claims" or "full"; not the text "large"`,
		"study = \" \"":                             `:1: study must be the name`,
		"storage = [1]":                             `:1: storage must be`,
		"candidates = \"ext4\"":                     `:1: candidates must be a list of candidates in quotes`,
		"candidates = []":                           `:1: candidates must be a list of at least one`,
		"candidates = [\n\"ext4\",\n3]":             `:3: candidate 2 must be a text in quotes, not the number 3`,
		"candidates = [\n\"ext4\",\n[\"ext4\"]]":    `candidate 2 must be a text in quotes, not a list`,
		"candidates = [\n\"ext4\",\n\n\"nofs -x\"]": `:4: candidate "nofs -x": unknown filesystem "nofs"; the filesystems are`,
		"candidates = [\n\"ext4\",\n\"ext2\",\n\"ext4 \"]": `:4: candidate "ext4" appears twice (as number 1 and 3)`,
		"rounds = 3\nseed = 1\nrounds = 4":                 `:3:1:`,
		"rounds = ":                                        `:1:`,
		"a\x00b":                                           `:1:`,
		"\"rounds\" = 3\n'see d' = 1":                      `:2: unknown key "see d"`,
	} {
		_, path, err := load(t, content)
		if err == nil || !strings.Contains(err.Error(), want) || !strings.HasPrefix(err.Error(), path+":") {
			t.Errorf("%q:\n got %v\nwant %s", content, err, want)
		}
	}
}

func TestPlanFileThatCannotBeRead(t *testing.T) {
	missing := filepath.Join(t.TempDir(), "none.toml")
	if _, err := Load(missing); err == nil || !strings.Contains(err.Error(), missing) {
		t.Error(err)
	}
	if _, _, err := load(t, strings.Repeat("#", maxFile+1)); err == nil || !strings.Contains(err.Error(), "64 KiB") {
		t.Error(err)
	}
	if _, err := Load(t.TempDir()); err == nil {
		t.Error("a directory was read")
	}
}

// Whatever a file contains, it is either refused with its name or is a sound
// part of a plan.
func FuzzLoad(f *testing.F) {
	for _, seed := range []string{
		whole, "", "rounds = 1", "[x]\ny=1", "a.b.c = [1, {d = 2}]", "[[candidates]]", "candidates = [[1], # c\n'ext4']",
		"margin = nan", "budget = \"1ns\"", "seed = 0xff", "study = \"\"\"\nx\"\"\"", "candidates = ['ext4 -o \"a b\"']", "\xff",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, content []byte) {
		got, err := parse("plan.toml", content)
		if err != nil {
			if !strings.HasPrefix(err.Error(), "plan.toml:") {
				t.Errorf("the error does not name the file: %v", err)
			}
			return
		}
		if got.Rounds != nil && checkRounds(*got.Rounds) != nil ||
			got.Margin != nil && checkMargin(*got.Margin) != nil ||
			got.Budget != nil && *got.Budget <= 0 {
			t.Errorf("%+v", got)
		}
		for _, c := range got.Candidates {
			back, err := filesystem.Parse(c.String())
			if err != nil || back != c {
				t.Errorf("candidate %q comes back as %q, %v", c, back, err)
			}
		}
	})
}

// A profile is beside the plan file, wherever whichfs is started, and goes into the plan with its
// figures.
func TestProcessorInPlanFile(t *testing.T) {
	dir := t.TempDir()
	for name, content := range map[string]string{
		"plan.toml":  `cpu = "board.toml"`,
		"board.toml": "name = \"mine\"\nother = \"50MIPS\"\ncompressing = \"60MIPS\"\nchecksums = \"70MIPS\"\ncopying = \"80 MB/s\"\nsource = \"measured\"\n",
	} {
		must.Do(t, os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600))
	}
	f, err := Load(filepath.Join(dir, "plan.toml"))
	must.Do(t, err)
	p := virtual()
	p.Processor = f.Processor
	text, err := p.Encode()
	must.Do(t, err)
	again, err := Decode(text)
	if err != nil || again.Processor == nil || *again.Processor != *f.Processor || again.Processor.Costs().String() != "20000,16667,14286,12500,50000,50000,11200000,16000000,38800000" {
		t.Errorf("%v: %+v", err, again.Processor)
	}
}

func TestBoardInPlanFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "plan.toml")
	must.Do(t, os.WriteFile(path, []byte("machine = \"ssh:root@board\"\n"), 0o600))
	if f, err := Load(path); err != nil || f.Machine == nil || *f.Machine != "ssh:root@board" {
		t.Errorf("%v %v", f.Machine, err)
	}
}
