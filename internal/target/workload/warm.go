package workload

import (
	"bytes"
	"context"
	"debug/elf"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"whichfs/internal/sys/command"
)

// libraries are the directories of a guest's shared libraries.
var libraries = []string{"/lib/*-linux-gnu*", "/usr/lib/*-linux-gnu*", "/lib64", "/lib", "/usr/lib"}

// loads caches which files a program loads, the program first: they are the same as long as the
// agent runs.
var loads struct {
	sync.Mutex
	of  map[string][]string
	buf []byte
}

// warm reads a program and everything that it loads into the page cache: the time to fetch them
// from the system's storage is no cost of a filesystem under test, and varies. Whatever cannot be
// read is left to the program itself.
func (env *Env) warm(program string) {
	path, err := command.Look(program)
	if err != nil {
		return
	}
	loads.Lock()
	defer loads.Unlock()
	files, again := loads.of[path]
	if !again {
		files = closure(path)
		if loads.of == nil {
			loads.of, loads.buf = map[string][]string{}, make([]byte, 256<<10)
		}
		loads.of[path] = files
	}
	for _, file := range files {
		f, err := os.Open(file)
		if err != nil {
			continue
		}
		// mincore(2) says "in memory" of every page to those who may not write to the file.
		if !again || !resident(f) {
			for err == nil {
				_, err = f.Read(loads.buf)
			}
		}
		_ = f.Close()
	}
}

// closure lists a program's file and those of the libraries that it loads.
func closure(path string) (files []string) {
	seen := map[string]bool{}
	for todo := []string{path}; len(todo) > 0; todo = todo[1:] {
		if seen[todo[0]] {
			continue
		}
		seen[todo[0]] = true
		files = append(files, todo[0])
		f, err := elf.Open(todo[0])
		if err != nil {
			if program := shebang(todo[0]); program != "" {
				todo = append(todo, program)
			}
			continue
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
	return files
}

// shebang is the program that a script names as its own; "" if it names none.
func shebang(path string) string {
	f, err := os.Open(path)
	if err != nil {
		return ""
	}
	defer f.Close()               //nolint:errcheck // read only
	start := make([]byte, 256)    // as much as the kernel reads
	n, _ := io.ReadFull(f, start) // less is a short script
	line, _, _ := bytes.Cut(start[:n], []byte("\n"))
	words, found := bytes.CutPrefix(line, []byte("#!"))
	if fields := bytes.Fields(words); found && len(fields) > 0 {
		return string(fields[0])
	}
	return ""
}

// resident reports whether a whole file is in the page cache.
func resident(f *os.File) bool {
	info, err := f.Stat()
	if err != nil || info.Size() == 0 {
		return false
	}
	text, err := unix.Mmap(int(f.Fd()), 0, int(info.Size()), unix.PROT_READ, unix.MAP_SHARED)
	if err != nil {
		return false
	}
	defer unix.Munmap(text) //nolint:errcheck // it was mapped
	pages := inMemory(text)
	return pages != nil && !slices.ContainsFunc(pages, func(there byte) bool { return there&1 == 0 })
}

// rehearse runs mkfs, and the check if requested, on a file in memory of the storage's size:
// everything that the programs load and look up (libraries, but also character tables and settings)
// is then in the kernel's caches, like the programs that warm reads. The storage itself is not
// touched. A rehearsal that fails is ignored, and there is none for raw flash, which a file cannot
// represent.
func (env *Env) rehearse(ctx context.Context, check bool) {
	if !env.Counts || env.FS.Make == nil || env.Raw || env.Candidate.JournalInMemory() {
		return
	}
	device, err := os.Open(env.Device)
	if err != nil {
		return
	}
	size, err := device.Seek(0, io.SeekEnd)
	_ = device.Close()
	if err != nil {
		return
	}
	scratch := filepath.Join(env.Work, "rehearsal")
	file, err := os.Create(scratch)
	if err != nil {
		return
	}
	defer os.Remove(scratch) //nolint:errcheck // it goes with the directory
	err = file.Truncate(size)
	if cerr := file.Close(); err != nil || cerr != nil {
		return
	}
	argv := env.FS.Make(env.Candidate, scratch)
	env.warm(argv[0])
	if _, err := command.Run(ctx, command.Options{}, argv...); err != nil || !check {
		return
	}
	_, _ = command.Run(ctx, command.Options{}, env.FS.Check(scratch)...)
}

// latePatience is how long to wait for late work.
const latePatience = time.Hour

// settle waits after a mount, where the clock is virtual and waiting costs nothing, for the work that the filesystem
// does once at a random time: otherwise that work would fall into a different phase each time. On ext4 it made up half
// of some figures. By wall clock it can take minutes, and users' cards do not wait for it either.
func (env *Env) settle() {
	if !env.Virtual || env.FS.LateWork == "" {
		return
	}
	pid := threadNamed(env.FS.LateWork)
	for end := time.Now().Add(latePatience); pid > 0 && time.Now().Before(end) && unix.Kill(pid, 0) == nil; {
		time.Sleep(100 * time.Millisecond)
	}
}

// threadNamed returns the number of a kernel thread; 0: there is none.
func threadNamed(name string) int {
	files, _ := filepath.Glob("/proc/[0-9]*/comm") // the pattern is right
	for _, file := range files {
		if text, err := os.ReadFile(file); err == nil && string(bytes.TrimSpace(text)) == name {
			pid, _ := strconv.Atoi(filepath.Base(filepath.Dir(file))) // digits only
			return pid
		}
	}
	return 0
}

func library(name string) []string {
	for _, dir := range libraries {
		if found, err := filepath.Glob(filepath.Join(dir, name)); err == nil && len(found) > 0 {
			return found[:1]
		}
	}
	return nil
}
