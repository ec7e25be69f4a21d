package script

import (
	"fmt"
	"slices"
	"strings"
)

// Sequences returns all sequences of 1 or 2 operations out of a bounded set, each
// followed by an operation that makes it durable, in the manner of ACE (Mohan et
// al., Finding Crash-Consistency Bugs with Bounded Black-Box Crash Testing, OSDI
// 2018): few operations on few files, a new filesystem, a persistence point after
// each. Setup makes what the operations need. Pairs of operations are included only
// if they share a file or a directory and do not equal an earlier pair under
// different names.
func Sequences(n int) []Script {
	var all []Script
	cores := coreOps()
	switch n {
	case 1:
		for _, o := range cores {
			for _, sync := range o.syncs(true) {
				all = appendSequence(all, o, sync)
			}
		}
	case 2:
		for _, a := range cores {
			for _, b := range cores {
				if !a.related(b) {
					continue
				}
				for _, mid := range a.middle() {
					for _, last := range b.syncs(false) {
						all = appendSequence(all, a, mid, b, last)
					}
					// The first operation's file, synced after the second
					// operation.
					if last := a.syncs(false)[0]; mid.op.Do == "" && !slices.Contains(b.syncs(false), last) {
						all = appendSequence(all, a, mid, b, last)
					}
				}
			}
		}
	}
	return all
}

// core is one operation with its preconditions and effects.
type core struct {
	name  string
	op    Op
	files []string // that must exist, with contents
	dirs  []string // that must exist, empty
	free  []string // names that must be free
	gone  []string // names that are free afterwards
	made  []string // files that exist afterwards
	mades []string // directories that exist afterwards
	sync  string   // file for fsync afterwards; empty: only directories
	base  bool     // one of each kind, for pairs
}

// Sizes of the files of sequences, in bytes.
const (
	seqSize  = 8192
	seqWrite = 4096
)

// coreOps returns the operations. Names are interchangeable (foo and bar, A and B),
// so that each relation of a file to its directory occurs once.
func coreOps() []core {
	var all []core
	for _, foo := range []string{"foo", "A/foo"} {
		base := foo == "A/foo"
		on := func(name string, o Op) {
			o.Path = foo
			all = append(all, core{name: name + "(" + foo + ")", op: o, files: []string{foo}, sync: foo, base: base || name == "append" || name == "punch"})
		}
		all = append(all, core{name: "create(" + foo + ")", op: create(foo), free: []string{foo}, made: []string{foo}, sync: foo, base: base})
		on("append", Op{Do: "append", Size: seqWrite + 100})
		on("overwrite", Op{Do: "write", Offset: 1000, Size: seqWrite})
		on("truncate-down", Op{Do: "truncate", Size: 3000})
		on("truncate-up", Op{Do: "truncate", Size: seqSize + 5000})
		on("fallocate", Op{Do: "fallocate", Offset: seqSize, Size: seqSize})
		on("fallocate-keep-size", Op{Do: "fallocate", Offset: seqSize, Size: seqSize, KeepSize: true})
		on("punch", Op{Do: "punch", Offset: 2048, Size: 4096})
		on("mmap-write", Op{Do: "mmap-write", Offset: 2048, Size: seqWrite})
		all = append(all, core{name: "unlink(" + foo + ")", op: unlink(foo), files: []string{foo}, gone: []string{foo}, base: base})
	}
	for i, pair := range [][2]string{{"foo", "bar"}, {"foo", "A/foo"}, {"A/foo", "A/bar"}, {"A/foo", "B/foo"}, {"A/foo", "foo"}} {
		from, to := pair[0], pair[1]
		base := i >= 2
		what := "(" + from + "," + to + ")"
		all = append(all,
			core{name: "rename" + what, op: rename(from, to), files: []string{from}, free: []string{to}, gone: []string{from}, made: []string{to}, sync: to, base: base},
			core{name: "replace" + what, op: rename(from, to), files: []string{from, to}, gone: []string{from}, made: []string{to}, sync: to, base: base})
		if from != "A/foo" || to != "foo" {
			all = append(all, core{name: "link" + what, op: link(from, to), files: []string{from}, free: []string{to}, made: []string{to}, sync: from, base: base})
		}
	}
	dir := func(name string, o Op, base bool) {
		c := core{name: name + "(" + o.Path, op: o, base: base}
		switch o.Do {
		case "mkdir":
			c.free, c.mades = []string{o.Path}, []string{o.Path}
		case "rmdir":
			c.dirs, c.gone = []string{o.Path}, []string{o.Path}
		case "rename":
			c.name += "," + o.To
			c.dirs, c.free, c.gone, c.mades = []string{o.Path}, []string{o.To}, []string{o.Path}, []string{o.To}
		case "symlink":
			c.free = []string{o.Path}
		}
		c.name += ")"
		all = append(all, c)
	}
	dir("mkdir", mkdir("C"), false)
	dir("mkdir", mkdir("A/C"), true)
	dir("rmdir", Op{Do: "rmdir", Path: "C"}, false)
	dir("rmdir", Op{Do: "rmdir", Path: "A/C"}, true)
	dir("rename", rename("C", "D"), false)
	dir("rename", rename("A/C", "B/C"), true)
	dir("symlink", Op{Do: "symlink", Path: "bar", To: "foo"}, false)
	dir("symlink", Op{Do: "symlink", Path: "A/bar", To: "foo"}, true)
	return all
}

// persist is the call after an operation.
type persist struct {
	name string
	op   Op // Do is empty: no call
}

// syncs returns the calls that can make an operation durable.
func (c core) syncs(all bool) []persist {
	var list []persist
	if c.sync != "" {
		list = append(list, persist{"fsync(" + c.sync + ")", fsync(c.sync)})
	}
	if c.sync != "" && (all || c.op.Size > 0) {
		list = append(list, persist{"fdatasync(" + c.sync + ")", Op{Do: "fdatasync", Path: c.sync}})
	}
	dir := parent(c.op.Path)
	if c.op.Do == "rename" || c.op.Do == "link" {
		dir = parent(c.op.To)
	}
	if all || c.op.Size == 0 {
		list = append(list, persist{"fsync(" + dot(dir) + ")", fsyncDir(dir)})
	}
	if other := parent(c.op.Path); other != dir && (all || c.op.Do == "rename") {
		list = append(list, persist{"fsync(" + dot(other) + ")", fsyncDir(other)})
	}
	if all {
		list = append(list, persist{"none", Op{}})
	}
	return append(list, persist{"sync", Op{Do: "sync"}})
}

// middle returns the calls between two operations.
func (c core) middle() []persist {
	if c.sync == "" {
		return []persist{{}}
	}
	return []persist{{}, {"fsync(" + c.sync + ")", fsync(c.sync)}}
}

func parent(path string) string { return path[:max(0, strings.LastIndexByte(path, '/'))] }

func dot(dir string) string {
	if dir == "" {
		return "."
	}
	return dir
}

// related reports whether a pair is included: both represent their kind, and they
// share a name.
func (c core) related(d core) bool {
	if !c.base || !d.base {
		return false
	}
	for _, p := range []string{c.op.Path, c.op.To} {
		if p != "" && (p == d.op.Path || p == d.op.To) {
			return true
		}
	}
	return false
}

// appendSequence appends a script of these cores and persists, unless its second
// operation cannot follow its first.
func appendSequence(all []Script, parts ...any) []Script {
	var s Script
	state := map[string]string{} // of names: "file", "dir", "free"
	cores, titles := 0, []string{}
	for _, part := range parts {
		switch part := part.(type) {
		case core:
			if !part.follow(state, &s) {
				return all
			}
			cores++
			titles = append(titles, part.name)
			s.Ops = append(s.Ops, part.op)
		case persist:
			if part.op.Do != "" {
				s.Ops = append(s.Ops, part.op)
			}
			if part.name != "" {
				titles = append(titles, part.name)
			}
		}
	}
	s.Name = fmt.Sprintf("%d:%s", cores, strings.Join(titles, ";"))
	for _, dir := range []string{"B", "A"} {
		s.Setup = append([]Op{mkdir(dir)}, s.Setup...)
	}
	if _, err := replay(s, Promises{}); err != nil {
		return all // such as fsync of a file that the second operation removed
	}
	return append(all, s)
}

// follow adds an operation's preconditions to Setup and its effect to state.
func (c core) follow(state map[string]string, s *Script) bool {
	need := func(path, want string, setup ...Op) bool {
		if state[path] == "" {
			state[path] = want
			s.Setup = append(s.Setup, setup...)
		}
		return state[path] == want
	}
	for _, f := range c.files {
		if !need(f, kindFile, file(f, seqSize)...) {
			return false
		}
	}
	for _, d := range c.dirs {
		if !need(d, kindDir, mkdir(d)) {
			return false
		}
	}
	for _, f := range c.free {
		if !need(f, "free") {
			return false
		}
	}
	for _, p := range c.gone {
		state[p] = "free"
	}
	for _, p := range c.made {
		state[p] = kindFile
	}
	for _, p := range c.mades {
		state[p] = kindDir
	}
	if c.op.Do == "symlink" {
		state[c.op.Path] = kindSymlink
	}
	return true
}
