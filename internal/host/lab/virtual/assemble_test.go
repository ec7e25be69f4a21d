package virtual

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// A kernel that counts is another one, with one more patch, and whichfs is its assembler.
func TestCountingBuild(t *testing.T) {
	dir := stage(t)
	if _, err := Build(t.Context(), Choice{}, nil); err != nil {
		t.Fatal(err)
	}
	if n := len(calls(t, dir, "as")); n != 0 {
		t.Errorf("%d calls of the assembler for a kernel that does not count", n)
	}
	k, err := Build(t.Context(), Choice{Counting: true}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if m := k.Manifest; !m.Counting || m.Name() != "6.1.176-virtual, counting" {
		t.Errorf("%+v", m)
	}
	if n := calls(t, dir, "as"); len(n) != 1 {
		t.Errorf("calls of the assembler: %q", n)
	}
	if n, want := len(calls(t, dir, "patch")), 2*applied(t)+len(countingPatches); n != want {
		t.Errorf("%d patches for both, want %d", n, want)
	}
	all, err := Kernels()
	if err != nil || len(all) != 2 || all[0].Manifest.Counting || all[1].Dir != k.Dir {
		t.Errorf("kernels %v, %v", all, err)
	}
	if _, err := Locate(Choice{Counting: true}); err != nil {
		t.Error(err)
	}
	if r := current(t, Choice{Counting: true}); r.command() != "whichfs lab build --virtual --counting" {
		t.Errorf("%q", r.command())
	}
}

// The compiler calls whichfs, which calls the assembler.
func TestAssembler(t *testing.T) {
	tree := t.TempDir()
	b := building{dir: t.TempDir(), progress: func(string) {}}
	environment, err := assembler(b.dir)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Join(tree, "scripts"), 0o755); err != nil {
		t.Fatal(err)
	}
	compile := func(object, text string) (string, error) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(tree, "x.c"), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		c := exec.CommandContext(t.Context(), "gcc", "-O2", "-c", "-o", object, "x.c")
		c.Dir, c.Env = tree, append(os.Environ(), environment...)
		said, err := c.CombinedOutput()
		return string(said), err
	}
	const code = "int f(int x) { return x + 1; }\n"
	for object, counts := range map[string]bool{"x.o": true, "scripts/x.o": false, filepath.Join(t.TempDir(), "x.o"): false} {
		if said, err := compile(object, code); err != nil {
			t.Fatalf("%s: %v: %s", object, err, said)
		}
		path := object
		if !filepath.IsAbs(path) {
			path = filepath.Join(tree, object)
		}
		symbols, err := exec.CommandContext(t.Context(), "nm", path).Output()
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.Contains(string(symbols), "U tt_work"); got != counts {
			t.Errorf("%s counts: %v, want %v\n%s", object, got, counts, symbols)
		}
	}
	if said, err := compile("x.o", "__asm__(\"nonsense %rax\");"); err == nil || !strings.Contains(said, "nonsense") {
		t.Errorf("%v: %q", err, said)
	}
}

func TestCounters(t *testing.T) {
	const text = "\t.text\nmemcpy:\n\tcall memset\n\tret\n"
	for object, want := range map[string]string{
		"fs/ext4/inode.o":                      "addq $2, tt_work+0",
		"lib/zstd/compress/zstd_fast.o":        "addq $2, tt_work+8",
		"lib/crc32.o":                          "addq $2, tt_work+16",
		"lib/crypto/blake2b.o":                 "addq $2, tt_work+16",
		"arch/x86/um/../lib/memcpy_64.o":       "addq %rdx, tt_work+24",
		"arch/x86/um/../lib/csum-partial_64.o": "addq $2, tt_work+16",
		"arch/um/kernel/time.o":                "call tt_uncounted_memset",
		"arch/um/kernel/skas/uaccess.o":        "",
		"scripts/mod/modpost.o":                "",
		"/tmp/ccV2LOyC.o":                      "",
		"../elsewhere/x.o":                     "",
		"":                                     "",
	} {
		rewrite := countersOf(object)
		if rewrite == nil || want == "" {
			if (rewrite == nil) != (want == "") {
				t.Errorf("%s", object)
			}
			continue
		}
		var got strings.Builder
		if err := rewrite(&got, strings.NewReader(text)); err != nil || !strings.Contains(got.String(), want) {
			t.Errorf("%s: %v, %q", object, err, got.String())
		}
	}
}
