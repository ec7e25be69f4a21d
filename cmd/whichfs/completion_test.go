package main

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/alecthomas/kong"
	"github.com/creack/pty"

	"whichfs/internal/result"
	"whichfs/internal/result/store"
	"whichfs/internal/sys/command"
	"whichfs/internal/testing/needs"
)

// What is typed at a shell's prompt, with the tabulator key, and the arguments that whichfs then gets.
var typed = []struct{ keys, args string }{
	{"pred\tpand\t", "predict pandora-2012"},
	{"lab bu\t--virt\t", "lab build --virtual"},
	{"help boar\t", "help boards"},
	{"run x --storag\tsim:sd-bas\t", "run x --storage sim:sd-basic"},
	{"run x --storage=sim:sd-bas\t", "run x --storage=sim:sd-basic"},
	{"run x --candidates 'ext4 -O ^has_j\t", "run x --candidates {ext4 -O ^has_journal}"},
	{"run x --candidates 'xfs; squa\t", "run x --candidates {xfs; squashfs}"},
	{"report 2026\t", "report 20260301-120000-0001"},
	{"list proc\t", "list processors"},
	{"run x --cpu bb\t", "run x --cpu bbb"},
	{"recommend --profile boot-m\t", "recommend --profile boot-medium"},
	{"twin show sd-bas\t", "twin show sd-basic"},
	{"run my-p\t", "run my-plan.toml"},
}

// Real shells complete what is typed.
func TestCompletionInShells(t *testing.T) {
	needs.Programs(t)
	program, err := command.Look("whichfs")
	must(err)
	for shell, start := range map[string]func(dir string) []string{
		"bash": func(dir string) []string {
			rc := filepath.Join(dir, "bashrc")
			must(os.WriteFile(rc, []byte("PS1='$ '\n. "+completionScript(dir, "bash", "whichfs.bash")+"\n"), 0o600))
			return []string{"bash", "--noprofile", "--rcfile", rc, "-i"}
		},
		"zsh": func(dir string) []string {
			completionScript(dir, "zsh", "_whichfs")
			must(os.WriteFile(filepath.Join(dir, ".zshrc"), []byte("PS1='$ '\nfpath=("+dir+" $fpath)\nautoload -Uz compinit\ncompinit -u -d "+dir+"/dump\nsetopt no_beep\n"), 0o600))
			must(os.WriteFile(filepath.Join(dir, ".zshenv"), []byte("unsetopt global_rcs\n"), 0o600))
			return []string{"zsh", "-i"}
		},
		"fish": func(dir string) []string {
			must(os.MkdirAll(filepath.Join(dir, "fish", "completions"), 0o755))
			completionScript(dir, "fish", "fish/completions/whichfs.fish")
			return []string{"fish", "-i"}
		},
	} {
		t.Run(shell, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			db := filepath.Join(dir, "runs.db")
			st, err := store.Open(db)
			must(err)
			must(st.Import(result.Run{ID: "20260301-120000-0001", Study: "bootlin-2023", Scale: "quick", Machine: "fake", Storage: "ram:1G", Rounds: 1, Candidates: []string{"ext4"},
				Plan: []byte(`{}`), Started: time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC), State: result.Finished}, 1, nil))
			must(st.Close())
			must(os.WriteFile(filepath.Join(dir, "my-plan.toml"), nil, 0o600))
			// The program that the shell finds completes as ours does, and otherwise only writes what it is given.
			must(os.Mkdir(filepath.Join(dir, "bin"), 0o755))
			must(os.WriteFile(filepath.Join(dir, "bin", "whichfs"), fmt.Appendf(nil, `#!/bin/sh
case $1 in complete) exec '%s' "$@" ;; esac
line=
for word; do
	case $word in *' '*) word="{$word}" ;; esac
	line="$line $word"
done
echo "${line# }" >>'%s/got'
`, program, dir), 0o755))
			words := start(dir)
			c := exec.Command(words[0], words[1:]...)
			c.Dir = dir
			c.Env = append(slices.DeleteFunc(os.Environ(), func(v string) bool { return strings.HasPrefix(v, "WHICHFS_") }),
				"PATH="+filepath.Join(dir, "bin")+":"+os.Getenv("PATH"), "HOME="+dir, "ZDOTDIR="+dir, "XDG_CONFIG_HOME="+dir, "XDG_DATA_HOME="+dir, "WHICHFS_STORE="+db, "TERM=vt100", "LC_ALL=C.UTF-8")
			terminal, err := pty.StartWithSize(c, &pty.Winsize{Rows: 40, Cols: 150})
			if err != nil {
				t.Fatal(err)
			}
			defer terminal.Close() //nolint:errcheck // it ends with the shell
			var keys strings.Builder
			for _, k := range typed {
				keys.WriteString("whichfs " + k.keys + "\r")
			}
			keys.WriteString("exit\r")
			shown := make(chan string)
			go func() {
				text, _ := io.ReadAll(terminal) // EIO at the end
				shown <- string(text)
			}()
			_, err = io.WriteString(terminal, keys.String())
			must(err)
			text := <-shown
			_ = c.Wait() // its status is that of the last command
			got, _ := os.ReadFile(filepath.Join(dir, "got"))
			var want strings.Builder
			for _, k := range typed {
				want.WriteString(k.args + "\n")
			}
			if string(got) != want.String() {
				t.Errorf("whichfs was called with\n%s\ninstead of\n%s\nthe terminal showed\n%s", got, want.String(), text)
			}
		})
	}
}

// parsing: the library of the command line is used by one goroutine at a time, as in the program.
var parsing sync.Mutex

// completionScript writes what whichfs completion prints.
func completionScript(dir, shell, name string) string {
	parsing.Lock()
	defer parsing.Unlock()
	path := filepath.Join(dir, name)
	f, err := os.Create(path)
	must(err)
	if status := run([]string{"completion", shell}, nil, f, os.Stderr); status != exitOK {
		panic(status)
	}
	must(f.Close())
	return path
}

// Every value that a tag names has a way to complete it, and every suggestion is accepted.
func TestCompletions(t *testing.T) {
	for line, want := range map[string]string{
		"whichfs run x --candidates 'btrfs -m single -o compress=lz": "btrfs -m single -o compress=lzo",
		"whichfs run x --candidates='btrfs -m single -o ":            "--candidates=btrfs -m single -o compress=lzo",
		"whichfs run x --storage 'sim:sd-basic;sim:sd-a2":            "sim:sd-basic;sim:sd-a2",
		"whichfs recommend --need power-loss-safe,compr":             "power-loss-safe,compression",
		"whichfs recommend --weight write=2,bo":                      "write=2,boot=",
		"whichfs crash record ext4 append-fs":                        "append-fsync",
		"whichfs --store x.db lab sh":                                "shell",
	} {
		words := shellSplit(line)
		c := newCLI()
		k, err := kong.New(&c, kong.Exit(func(int) {}))
		must(err)
		found := completions(&shell{cli: &c}, k.Model.Node, words[1:])
		if !slices.ContainsFunc(found.list, func(s suggestion) bool { return s.text == want }) {
			t.Errorf("%s: %q is not among %q", line, want, found.list)
		}
	}
}
