package script

import (
	"fmt"
	"slices"
	"strings"
)

// Kinds of entries in a tree.
const (
	kindFile    = "file"
	kindDir     = "dir"
	kindSymlink = "symlink"
	kindOther   = "other"
)

// model is the effect of the script's operations on a tree if nothing goes wrong,
// and what each sync settles. Operation 0 is all of Setup.
type model struct {
	script Script
	inodes []*inode // the first is the root
	hashes map[uint64]string
	data   map[int]payload // written by operations, by number (see number)
}

// payload is the data that one operation writes.
type payload struct {
	offset int64
	data   []byte
}

// inode is a file, directory or symlink with its history.
type inode struct {
	id       int
	kind     string
	path     string    // under which it was created
	versions []version // of a file's or symlink's contents, the oldest first
	settled  []settle  // of versions
	links    []count   // how many names it had
	// For directories: the entries by name, in the order in which they appeared,
	// and the entries that lead to the directory from above.
	entries []*entry
	byName  map[string]*entry
	names   []*entry // that refer to it now
}

// version is the contents of a file after an operation.
type version struct {
	op   int
	data []byte
}

// count is the number of names of an inode after an operation.
type count struct{ op, n int }

// entry is a name in a directory with its history.
type entry struct {
	dir     *inode
	name    string
	events  []event // the oldest first; the first is the state after Setup
	settled []settle
}

// event is the target of a name after an operation; nil: none.
type event struct {
	op       int
	target   *inode
	replaced bool // by a rename over something
	whole    int  // of a rename: the version that target had then
}

// settle records that after operation op has returned no state older than an index
// of the history can come back, and by which promise.
type settle struct {
	op, from int
	promise  string
}

func (e *entry) now() *inode {
	if e == nil {
		return nil
	}
	return e.events[len(e.events)-1].target
}

// replay carries out a script on the model; the promises p determine what syncs
// settle. The error names the operation that is invalid.
func replay(s Script, p Promises) (*model, error) {
	m := &model{script: s, hashes: map[uint64]string{}, data: map[int]payload{}}
	m.newInode(0, kindDir, "")
	for i, o := range s.Setup {
		if err := m.do(0, setupBase+i+1, o); err != nil {
			return nil, fmt.Errorf("script %s, setup %d (%s %s): %w", s.Name, i+1, o.Do, o.Path, err)
		}
	}
	m.forget()
	for i, o := range s.Ops {
		if err := m.do(i+1, i+1, o); err != nil {
			return nil, fmt.Errorf("script %s, operation %d (%s %s): %w", s.Name, i+1, o.Do, o.Path, err)
		}
		m.settle(i+1, o, p)
	}
	return m, nil
}

// forget makes the present state the beginning of history: Setup was synced.
func (m *model) forget() {
	for _, in := range m.inodes {
		if n := len(in.versions); n > 0 {
			in.versions = in.versions[n-1:]
			in.settled = []settle{{promise: PromiseKept}}
		}
		in.links = in.links[max(0, len(in.links)-1):]
		in.entries = slices.DeleteFunc(in.entries, func(e *entry) bool { return e.now() == nil })
		in.byName = map[string]*entry{}
		for _, e := range in.entries {
			e.events = []event{{target: e.now()}}
			e.settled = []settle{{promise: PromiseKept}}
			in.byName[e.name] = e
		}
	}
}

func (m *model) newInode(op int, kind, path string) *inode {
	in := &inode{id: len(m.inodes), kind: kind, path: path, byName: map[string]*entry{}}
	in.settled = []settle{{op: op, promise: PromiseNone}}
	if kind == kindFile {
		in.versions = []version{{op: op}}
		m.hashes[pathHash(path)] = path
	}
	m.inodes = append(m.inodes, in)
	return in
}

// lookup finds a path's directory, its last name, and the inode that it refers to.
func (m *model) lookup(path string) (dir *inode, name string, in *inode, err error) {
	dir = m.inodes[0]
	if path == "" {
		return nil, "", dir, nil
	}
	for {
		first, rest, more := strings.Cut(path, "/")
		in = dir.byName[first].now()
		if !more {
			return dir, first, in, nil
		}
		if in == nil || in.kind != kindDir {
			return nil, "", nil, fmt.Errorf("no directory %s", first)
		}
		dir, path = in, rest
	}
}

// bind makes a name refer to an inode, or to none.
func (m *model) bind(op int, dir *inode, name string, target *inode, replaced bool) {
	e := dir.byName[name]
	if e == nil {
		e = &entry{dir: dir, name: name, events: []event{{}}, settled: []settle{{promise: PromiseNone}}}
		dir.byName[name] = e
		dir.entries = append(dir.entries, e)
	}
	if old := e.now(); old != nil {
		old.names = slices.DeleteFunc(old.names, func(n *entry) bool { return n == e })
		old.links = append(old.links, count{op, len(old.names)})
	}
	ev := event{op: op, target: target, replaced: replaced}
	if target != nil {
		ev.whole = len(target.versions) - 1
		target.names = append(target.names, e)
		target.links = append(target.links, count{op, len(target.names)})
	}
	e.events = append(e.events, ev)
}

// change gives a file a new version of size bytes, which the caller fills in.
func (in *inode) change(op int, size int64) []byte {
	data := make([]byte, size)
	copy(data, in.versions[len(in.versions)-1].data)
	in.versions = append(in.versions, version{op, data})
	return data
}

// size is the current size of a file, in bytes.
func (in *inode) size() int64 { return int64(len(in.versions[len(in.versions)-1].data)) }
