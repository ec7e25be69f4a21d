package whole

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"
)

// A file is either complete or unchanged, with nothing beside it, whatever a killed program had
// left.
func TestWrite(t *testing.T) {
	for name, write := range map[string]func(string, func(*os.File) error) error{"nameless": Write, "beside": writeBeside} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			path := filepath.Join(dir, "page.html")
			says := func(text string) func(*os.File) error {
				return func(w *os.File) error { _, err := io.WriteString(w, text); return err }
			}
			holds := func(text string) {
				t.Helper()
				got, err := os.ReadFile(path)
				if err != nil || string(got) != text {
					t.Errorf("%q, %v", got, err)
				}
				info, err := os.Stat(path)
				if err != nil || info.Mode().Perm() != 0o644 {
					t.Errorf("%v, %v", info, err)
				}
				if names, err := os.ReadDir(dir); err != nil || len(names) != 1 {
					t.Errorf("%v, %v", names, err)
				}
			}
			if err := write(path, says("one")); err != nil {
				t.Fatal(err)
			}
			holds("one")
			if name == "nameless" {
				if err := os.WriteFile(filepath.Join(dir, ".page.html.new"), []byte("half"), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			if err := write(path, says("two")); err != nil {
				t.Fatal(err)
			}
			holds("two")
			broken := errors.New("no more")
			if err := write(path, func(w *os.File) error { return errors.Join(says("three")(w), broken) }); !errors.Is(err, broken) {
				t.Error(err)
			}
			holds("two")
			if err := write(filepath.Join(dir, "none", "page.html"), says("four")); !errors.Is(err, os.ErrNotExist) {
				t.Error(err)
			}
		})
	}
}
