package script

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"whichfs/internal/fault"
)

// When the process is killed at any mark, the database contains what was
// acknowledged; damage to it is detected.
func TestDatabases(t *testing.T) {
	for _, s := range databases() {
		t.Run(s.Name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			if err := s.Prepare(dir); err != nil {
				t.Fatal(err)
			}
			j, err := NewJudge(s, Promises{})
			if err != nil {
				t.Fatal(err)
			}
			began, acked := 0, 0
			if err := s.Run(dir, func(text string) error {
				if n, _ := fmt.Sscanf(text, "begin %d", &began); n == 0 {
					if _, err := fmt.Sscanf(text, "end %d", &acked); err != nil {
						return err
					}
				}
				found := ReadTree(dir)
				if b, n := j.Judge(began, acked, found, dir); len(b) > 0 || n < 2 {
					t.Errorf("%s: %+v, %d promises judged", text, b, n)
				}
				if acked > 0 {
					if b, _ := j.Judge(began+1, acked+1, found, dir); len(b) != 1 || (b[0].Promise != PromiseCommitted) != s.Careless || b[0].Outcome != fault.Lost {
						t.Errorf("%s: a lost transaction was not detected: %+v", text, b)
					}
					if b, _ := j.Judge(acked-1, acked-1, found, dir); len(b) != 1 || b[0].Promise != PromiseInvented {
						t.Errorf("%s: an extra transaction was not detected: %+v", text, b)
					}
				}
				return nil
			}); err != nil {
				t.Fatal(err)
			}
			if acked != s.Turns {
				t.Fatalf("%d of %d acknowledged", acked, s.Turns)
			}
			found := ReadTree(dir)
			damaged := found[databaseFile]
			damaged.Data = append([]byte(nil), damaged.Data...)
			clear(damaged.Data[4096:])
			found[databaseFile] = damaged
			delete(found, databaseFile+"-wal")
			if b, _ := j.Judge(acked, acked, found, dir); len(b) != 1 || b[0].Outcome != fault.Wrong {
				t.Errorf("zeros in the database were not detected: %+v", b)
			}
			delete(found, databaseFile)
			if b, _ := j.Judge(acked, acked, found, dir); len(b) != 1 || b[0].Outcome != fault.Lost {
				t.Errorf("a lost database was not detected: %+v", b)
			}
		})
	}
}

func TestReadDatabaseSeesPartialTransactions(t *testing.T) {
	whole := "ok\nlast|1\n"
	for row := range databaseRows {
		whole += fmt.Sprintf("row|%d|1|%s\n", databaseRows+row, databaseText(1, row))
	}
	for text, want := range map[string]string{
		whole:                          "",
		whole[:len(whole)-1030]:        PromiseTransaction,
		whole + "row|8|2|x\n":          PromiseTransaction,
		"ok\n":                         PromiseTransaction,
		"ok\nlast|0\n":                 "",
		"row 3 missing from index\n":   PromiseIntegrity,
		"":                             PromiseIntegrity,
		"ok\nlast|0\nrow|4|1|turn 1\n": PromiseTransaction,
	} {
		if got := readDatabase(text); got.broken != want {
			t.Errorf("%.40q: %+v, want %q", text, got, want)
		}
	}
}

// A script whose program is not installed is absent; one with an unknown program is
// an error.
func TestProgramsThatAreNotThere(t *testing.T) {
	s := databases()[0]
	if _, err := NewJudge(Script{Name: "x", Program: "oracle"}, Promises{}); err == nil || errors.Is(err, ErrAbsent) {
		t.Errorf("unknown program: %v", err)
	}
	t.Setenv("PATH", t.TempDir())
	// A program of that name that cannot be started counts as absent, too.
	if err := os.WriteFile(filepath.Join(os.Getenv("PATH"), "sqlite3"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := s.Prepare(t.TempDir()); !errors.Is(err, ErrAbsent) {
		t.Errorf("prepare: %v", err)
	}
	if err := s.Run(t.TempDir(), nil); !errors.Is(err, ErrAbsent) {
		t.Errorf("run: %v", err)
	}
	if _, err := NewJudge(s, Promises{}); !errors.Is(err, ErrAbsent) {
		t.Errorf("judge: %v", err)
	}
}
