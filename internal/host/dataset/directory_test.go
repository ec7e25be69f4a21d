package dataset

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"whichfs/internal/plan/tree"
	"whichfs/internal/testing/must"
)

// As another user, the test binary packs the given directory.
func TestMain(m *testing.M) {
	if dir := os.Getenv("DATASET_TEST_PACK"); dir != "" {
		_, err := FromDirectory(ctx, dir)
		fmt.Println(err)
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// asUser returns FromDirectory's error for an ordinary user.
func asUser(t *testing.T, dir string) string {
	t.Helper()
	// Other users cannot enter the test's own directories.
	home, err := os.MkdirTemp("", "dataset-user-*")
	must.Do(t, err)
	t.Cleanup(func() { must.Do(t, os.RemoveAll(home)) })
	must.Do(t, os.Chmod(home, 0o777))
	self, err := os.ReadFile("/proc/self/exe")
	must.Do(t, err)
	program := filepath.Join(home, "dataset.test")
	must.Do(t, os.WriteFile(program, self, 0o755))
	cmd := exec.Command(program)
	cmd.Dir = home
	cmd.Env = append(os.Environ(), "DATASET_TEST_PACK="+dir, "WHICHFS_CACHE="+filepath.Join(home, "cache"))
	if os.Geteuid() == 0 {
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
	}
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	if left, _ := filepath.Glob(filepath.Join(home, "cache", folder, "*")); !strings.HasPrefix(string(out), "<nil>") && len(left) > 1 { // the lock
		t.Errorf("left in the cache: %v", left)
	}
	return string(out)
}

// forAll makes a directory that every user can enter.
func forAll(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "dataset-tree-*")
	must.Do(t, err)
	t.Cleanup(func() {
		_ = os.Chmod(filepath.Join(dir, "closed"), 0o755)
		must.Do(t, os.RemoveAll(dir))
	})
	must.Do(t, os.Chmod(dir, 0o755))
	must.Do(t, os.WriteFile(filepath.Join(dir, "open"), []byte("text"), 0o644))
	return dir
}

func TestUnreadableForOrdinaryUser(t *testing.T) {
	help := "permission denied; a data set needs every file, so make it readable or leave it out"
	dir := forAll(t)
	must.Do(t, os.WriteFile(filepath.Join(dir, "secret"), []byte("text"), 0o644))
	must.Do(t, os.Chmod(filepath.Join(dir, "secret"), 0))
	if got := asUser(t, dir); !strings.Contains(got, "data set "+dir+": cannot read \"secret\": ") || !strings.Contains(got, help) {
		t.Errorf("a file: %s", got)
	}
	dir = forAll(t)
	must.Do(t, os.Mkdir(filepath.Join(dir, "closed"), 0o755))
	must.Do(t, os.Chmod(filepath.Join(dir, "closed"), 0))
	if got := asUser(t, dir); !strings.Contains(got, fmt.Sprintf("cannot read %q: ", filepath.Join(dir, "closed"))) || !strings.Contains(got, help) {
		t.Errorf("a directory: %s", got)
	}
	if got := asUser(t, forAll(t)); got != "<nil>\n" {
		t.Errorf("no error: %s", got)
	}
}

func TestNoDirectory(t *testing.T) {
	t.Setenv("WHICHFS_CACHE", t.TempDir())
	dir := t.TempDir()
	file := filepath.Join(dir, "file")
	must.Do(t, os.WriteFile(file, nil, 0o644))
	must.Do(t, os.Symlink("loop", filepath.Join(dir, "loop")))
	for path, want := range map[string]string{
		filepath.Join(dir, "none"): "there is no directory",
		file:                       "is not a directory",
		filepath.Join(file, "in"):  "cannot find",
		filepath.Join(dir, "loop"): "too many links",
		"":                         "name a directory",
	} {
		_, err := FromDirectory(ctx, path)
		if err == nil || !strings.Contains(err.Error(), want) || strings.Count(err.Error(), "data set") > 1 {
			t.Errorf("%q: %v", path, err)
		}
	}
}

// Changes to a tree between the reading of its names and of its contents.
func TestChangesWhilePacked(t *testing.T) {
	for name, c := range map[string]struct {
		change func(file string) error
		want   string
		kind   error
	}{
		"removed": {os.Remove, "it disappeared while the directory was read: name a directory that does not change", fs.ErrNotExist},
		"link": {func(file string) error {
			return errors.Join(os.Remove(file), os.Symlink("elsewhere", file))
		}, "it was replaced while the directory was read", unix.ELOOP},
		"directory": {func(file string) error { return errors.Join(os.Remove(file), os.Mkdir(file, 0o755)) }, "is a directory", unix.EISDIR},
		"shorter":   {func(file string) error { return os.Truncate(file, 1) }, `became shorter while it was read: 1 bytes instead of 4`, nil},
	} {
		dir := t.TempDir()
		file := filepath.Join(dir, "file")
		must.Do(t, os.WriteFile(file, []byte("text"), 0o644))
		p, err := survey(ctx, dir, Limits{})
		must.Do(t, err)
		must.Do(t, c.change(file))
		_, err = tree.Write(ctx, io.Discard, p.entries, nil)
		if err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), `"file"`) || c.kind != nil && !errors.Is(err, c.kind) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// The archive's length is computed beforehand, and never too short.
func TestArchiveSizeIsPredicted(t *testing.T) {
	dir := weird(t)
	info, _ := pack(t, dir)
	p, err := survey(ctx, dir, Limits{})
	must.Do(t, err)
	if need := p.archive + 2*tree.Block; need < info.Archive || need > info.Archive+info.Archive/2 {
		t.Errorf("computed %d bytes, it has %d", need, info.Archive)
	}
	var written bytes.Buffer
	var large *ErrTooLarge
	if _, err := Pack(ctx, dir, &written, Limits{Archive: info.Archive / 2}); !errors.As(err, &large) || written.Len() != 0 {
		t.Errorf("in half the room: %v, %d bytes written", err, written.Len())
	}
}

// A filesystem without room is detected before anything is written to it.
func TestNoRoom(t *testing.T) {
	dir := t.TempDir()
	must.Do(t, os.WriteFile(filepath.Join(dir, "a"), make([]byte, 4000), 0o644))
	home := t.TempDir()
	t.Setenv("WHICHFS_CACHE", home)
	// A header, eight blocks, the end: 5,632 bytes.
	for room, want := range map[int64]string{
		5632: "",
		5631: "data set " + dir + `: the files up to "a" need more than the 5.50 KiB that are available in ` + filepath.Join(home, folder) + "; nothing was written; set WHICHFS_CACHE",
	} {
		_, err := fromDirectory(ctx, dir, func(string) (int64, error) { return room, nil })
		if want == "" && err != nil || want != "" && (err == nil || !strings.HasPrefix(err.Error(), want)) {
			t.Errorf("%d bytes of room: %v", room, err)
		}
		if left, _ := filepath.Glob(filepath.Join(home, folder, ".*.new")); len(left) != 0 {
			t.Errorf("left over: %v", left)
		}
	}
	if _, err := fromDirectory(ctx, dir, func(string) (int64, error) { return 0, unix.EIO }); !errors.Is(err, unix.EIO) {
		t.Errorf("unknown free space: %v", err)
	}
}
