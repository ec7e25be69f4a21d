// Package players has a test binary play the programs that its package runs: each is a symbolic link
// to the binary, controlled by files in a directory.
package players

import (
	"os"
	"path/filepath"
	"testing"
)

// Players are functions in place of programs, by name. Each gets the directory that controls it, and
// returns an exit status; its arguments are those of the process.
type Players map[string]func(dir string) int

// variable names the directory to the players.
const variable = "PLAYERS_DIR"

// Main is a package's TestMain: the program that a link names, or the tests.
func (p Players) Main(m *testing.M) {
	if dir := os.Getenv(variable); dir != "" {
		if play, ok := p[filepath.Base(os.Args[0])]; ok {
			os.Exit(play(dir))
		}
	}
	os.Exit(m.Run())
}

// Stage makes the links. dir is the directory that controls the players, bin that of the links, for
// PATH.
func (p Players) Stage(t *testing.T) (dir, bin string) {
	t.Helper()
	dir, bin = t.TempDir(), t.TempDir()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for name := range p {
		if err := os.Symlink(self, filepath.Join(bin, name)); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv(variable, dir)
	return dir, bin
}
