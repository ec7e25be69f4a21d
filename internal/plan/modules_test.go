package plan

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestModules(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "plan.toml")
	for text, want := range map[string][]string{
		`modules = ["yaffs2.ko", "../other/x.ko", "/lib/y.ko"]`: {filepath.Join(dir, "yaffs2.ko"), filepath.Join(filepath.Dir(dir), "other/x.ko"), "/lib/y.ko"},
		`modules = ["yaffs2", "my-fs"]`:                         {"yaffs2", "my-fs"}, // built by the lab
		`modules = []`:                                          nil,
		`programs = ["./mkfs.erofs", "mkfs.ext4=../e2fsprogs/mke2fs", "./a=b"]`: {
			"mkfs.erofs=" + filepath.Join(dir, "mkfs.erofs"), "mkfs.ext4=" + filepath.Join(filepath.Dir(dir), "e2fsprogs/mke2fs"), "a=b=" + filepath.Join(dir, "a=b")},
	} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		f, err := Load(path)
		if d := cmp.Diff(want, slices.Concat(f.Modules, f.Programs)); err != nil || d != "" {
			t.Errorf("%s: %v\n%s", text, err, d)
		}
	}
	for text, want := range map[string]string{
		`modules = "yaffs2.ko"`: `modules must be a list`, `modules = [1]`: "a list of kernel modules", `modules = [" "]`: "a list of kernel modules",
		`programs = [1]`: "a list of programs",
	} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := Load(path); err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "plan.toml:1: ") {
			t.Errorf("%s: %v", text, err)
		}
	}
}
