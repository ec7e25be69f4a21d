package script

import (
	"errors"
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

// do carries one operation out on the model. number marks the data that it writes.
func (m *model) do(op, number int, o Op) error {
	dir, name, in, err := m.lookup(o.Path)
	if err != nil {
		return err
	}
	switch o.Do {
	case "create", "mkdir", "symlink":
		if in != nil {
			return errors.New("it already exists")
		}
		return m.doMake(op, o, dir, name)
	case "sync":
		return nil
	}
	if in == nil {
		return errors.New("it does not exist")
	}
	switch o.Do {
	case "write", "append", "mmap-write", "truncate", "fallocate", "punch", "fsync", "fdatasync", "msync":
		if in.kind != kindFile {
			return errors.New("it is not a file")
		}
		return m.doFile(op, number, o, in)
	case "rename", "link":
		return m.doName(op, o, dir, name, in)
	case "unlink":
		if in.kind == kindDir {
			return errors.New("it is a directory")
		}
		m.bind(op, dir, name, nil, false)
	case "rmdir":
		if in.kind != kindDir || dir == nil || !in.empty() {
			return errors.New("it is not an empty directory")
		}
		m.bind(op, dir, name, nil, false)
	case "fsync-dir":
		if in.kind != kindDir {
			return errors.New("it is not a directory")
		}
	default:
		return fmt.Errorf("no such operation %q", o.Do)
	}
	return nil
}

func (m *model) doMake(op int, o Op, dir *inode, name string) error {
	kinds := map[string]string{"create": kindFile, "mkdir": kindDir, "symlink": kindSymlink}
	in := m.newInode(op, kinds[o.Do], o.Path)
	if in.kind == kindSymlink {
		in.versions = []version{{op, []byte(o.To)}}
	}
	m.bind(op, dir, name, in, false)
	return nil
}

// doFile changes a file's contents.
func (m *model) doFile(op, number int, o Op, in *inode) error {
	size, end := in.size(), o.Offset+o.Size
	switch o.Do {
	case "append":
		o.Offset, end = size, size+o.Size
		fallthrough
	case "write", "mmap-write":
		if o.Do == "mmap-write" && end > size {
			return errors.New("the mapping is longer than the file")
		}
		data := in.change(op, max(size, end))[o.Offset:end]
		fill(data, number, o.Path, o.Offset)
		m.hashes[pathHash(o.Path)] = o.Path
		m.data[number] = payload{o.Offset, data}
	case "truncate":
		if o.Size <= size {
			in.versions = append(in.versions, version{op, in.versions[len(in.versions)-1].data[:o.Size:o.Size]})
		} else {
			in.change(op, o.Size)
		}
	case "fallocate":
		if !o.KeepSize && end > size {
			in.change(op, end)
		}
	case "punch":
		data := in.change(op, size)
		clear(data[min(o.Offset, size):min(end, size)])
	}
	return nil
}

// doName gives a file another name, instead of its old one (rename) or in addition
// (link).
func (m *model) doName(op int, o Op, dir *inode, name string, in *inode) error {
	toDir, toName, old, err := m.lookup(o.To)
	if err != nil {
		return err
	}
	switch {
	case dir == nil || toDir == nil:
		return errors.New("the root has no other name")
	case o.Do == "link" && (old != nil || in.kind == kindDir):
		return errors.New("it cannot have this second name")
	case old == in:
		return errors.New("both names are the same file")
	case old != nil && (old.kind == kindDir) != (in.kind == kindDir):
		return errors.New("a directory and a file cannot replace each other")
	case old != nil && old.kind == kindDir && !old.empty():
		return errors.New("the directory to be replaced is not empty")
	}
	if o.Do == "rename" {
		m.bind(op, dir, name, nil, false)
	}
	m.bind(op, toDir, toName, in, old != nil)
	if o.Do == "rename" { // it always had a name
		in.links = append(in.links[:len(in.links)-2], count{op, len(in.names)})
	}
	return nil
}

func (in *inode) empty() bool {
	for _, e := range in.entries {
		if e.now() != nil {
			return false
		}
	}
	return true
}

// settle records what operation op guarantees once it has returned.
func (m *model) settle(op int, o Op, p Promises) {
	_, _, in, err := m.lookup(o.Path)
	if o.Do == "rename" || o.Do == "link" {
		_, _, in, err = m.lookup(o.To)
	}
	if o.Claimed {
		m.settleClaimed(op, o, in)
	}
	if err != nil || in == nil {
		return
	}
	switch o.Do {
	case "fsync":
		in.keep(op, PromiseFsync)
		if p.NewName {
			in.keepNames(op, PromiseNewName)
		}
	case "fdatasync":
		in.keep(op, PromiseFdatasync)
	case "msync":
		in.keep(op, PromiseMsync)
	case "write", "append":
		// O_SYNC covers only the range written: the rest must be settled already.
		if n := len(in.versions); o.Sync && (n < 2 || in.settled[len(in.settled)-1].from == n-2) {
			in.keep(op, PromiseOSync)
		}
	case "fsync-dir":
		for _, e := range in.entries {
			e.keep(op, PromiseFsyncDir)
		}
	case "sync":
		for _, in := range m.inodes {
			in.keep(op, PromiseSync)
			for _, e := range in.entries {
				e.keep(op, PromiseSync)
			}
		}
	}
}

// settleClaimed settles what the author of a careless program assumes.
func (m *model) settleClaimed(op int, o Op, in *inode) {
	if in != nil {
		in.keep(op, PromiseClaimed)
		in.keepNames(op, PromiseClaimed)
	}
	if dir, name, _, err := m.lookup(o.Path); err == nil && dir != nil && dir.byName[name] != nil {
		dir.byName[name].keep(op, PromiseClaimed)
	}
}

// keep settles a file's current contents.
func (in *inode) keep(op int, promise string) {
	last := len(in.versions) - 1
	if last < 0 || in.settled[len(in.settled)-1].from == last && in.settled[len(in.settled)-1].promise != PromiseNone {
		return
	}
	in.settled = append(in.settled, settle{op, last, promise})
}

// keep settles the current target of a name.
func (e *entry) keep(op int, promise string) {
	last := len(e.events) - 1
	if e.settled[len(e.settled)-1].from == last && e.settled[len(e.settled)-1].promise != PromiseNone {
		return
	}
	e.settled = append(e.settled, settle{op, last, promise})
}

// keepNames settles all current names of a file, and those of the directories on
// the way to it.
func (in *inode) keepNames(op int, promise string) {
	for _, e := range in.names {
		e.keep(op, promise)
		e.dir.keepNames(op, promise)
	}
}
