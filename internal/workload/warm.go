package workload

import (
	"debug/elf"
	"os"
	"path/filepath"

	"whichfs/internal/command"
)

// libraries are where a guest's programs find theirs.
var libraries = []string{"/lib/*-linux-gnu*", "/usr/lib/*-linux-gnu*", "/lib64", "/lib", "/usr/lib"}

// warm brings a program with all that it loads into the page cache, where the
// clock counts instructions: what it takes the guest to fetch them from its
// root image is no cost of a filesystem under test, and differs from time to
// time. Elsewhere a cold start stays cold. Whatever cannot be read is left to
// the program itself.
func (env *Env) warm(program string) {
	if !env.Counts {
		return
	}
	path, err := command.Look(program)
	if err != nil {
		return
	}
	seen := map[string]bool{}
	for todo := []string{path}; len(todo) > 0; todo = todo[1:] {
		if seen[todo[0]] {
			continue
		}
		seen[todo[0]] = true
		if _, err := os.ReadFile(todo[0]); err != nil {
			continue
		}
		f, err := elf.Open(todo[0])
		if err != nil {
			continue // a script
		}
		names, err := f.ImportedLibraries()
		_ = f.Close()
		if err != nil {
			continue
		}
		for _, name := range append(names, "ld-linux-x86-64.so.2", "ld-linux-aarch64.so.1") {
			todo = append(todo, library(name)...)
		}
	}
}

func library(name string) []string {
	for _, dir := range libraries {
		if found, err := filepath.Glob(filepath.Join(dir, name)); err == nil && len(found) > 0 {
			return found[:1]
		}
	}
	return nil
}
