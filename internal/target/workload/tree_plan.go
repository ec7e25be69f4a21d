package workload

import (
	"bytes"
	"fmt"
	"strings"

	"whichfs/internal/filesystem"
	"whichfs/internal/result"
	"whichfs/internal/target/memory"
)

// maxDepth is how deep directories of a tree may be nested. Walks keep one descriptor and one
// buffer per level.
const maxDepth = 64

type opKind uint8

const (
	opDir     opKind = iota + 1 // make it and go into it
	opUp                        // the directory is finished
	opFile                      // make and fill it
	opSymlink                   // make it
	opLink                      // link the name to a path of the same copy
)

// op is one step of writing a tree: everything the kernel needs, laid out.
type op struct {
	kind   opKind
	close  bool   // opUp: the directory's mode denies its owner access; set it now
	mode   uint32 // of directories and files
	name   *byte  // in the directory that is open
	target *byte  // of links
	data   []byte
	path   []byte        // for messages
	entry  *memory.Entry // the entry to make; for a hard link, its target
}

// plan is a tree as a filesystem can hold it, as a list of steps: depth first, so that each
// directory is open while its contents are made.
//
// What the filesystem cannot hold is left out and counted: symbolic links, names that it does not
// allow or cannot distinguish (with everything below such a directory), files above its size limit.
// Without hard links, each name becomes a separate file; without owners and modes nothing is left
// out, but the entries are counted.
type plan struct {
	ops     []op
	entries int64 // directories, files and links made
	files   int64 // number of regular files, each hard link counted
	bytes   int64 // to read through those names
	written int64 // bytes of contents to be written, hard links once

	leftLinks, leftNames, leftLarge, owners, groups int64
	copied                                          int64 // hard links made as files
}

type planner struct {
	plan
	tree     *memory.Tree
	lacks    filesystem.Lacks
	children map[string][]int  // directory → entries in it, in order
	byPath   map[string]int    // → entry
	made     map[string][]byte // entry with hard links → its name that is made first
}

func newPlan(tree *memory.Tree, lacks filesystem.Lacks) (*plan, error) {
	p := planner{tree: tree, lacks: lacks, children: map[string][]int{},
		byPath: make(map[string]int, len(tree.Entries)), made: map[string][]byte{}}
	p.ops = make([]op, 0, len(tree.Entries)*5/4)
	for i := range tree.Entries {
		e := &tree.Entries[i]
		parent, _ := splitPath(e.Path)
		p.children[parent] = append(p.children[parent], i)
		p.byPath[string(e.Path)] = i
		if e.Kind == memory.Hardlink {
			p.made[string(e.Target)] = nil
		}
	}
	if err := p.directory("", 0); err != nil {
		return nil, err
	}
	if lacks.Owners {
		p.owners, p.groups = p.entries, 0
	}
	return &p.plan, nil
}

// splitPath splits a NUL-terminated path into its directory ("" is the top)
// and its last name, NUL included.
func splitPath(path []byte) (string, []byte) {
	i := bytes.LastIndexByte(path, '/')
	return string(path[:max(i, 0)]), path[i+1:]
}

func (p *planner) directory(dir string, depth int) error {
	if depth >= maxDepth {
		return result.Refuse("leave such directories out of the data set",
			"tree %q: %q is more than %d directories deep", p.tree.Name, dir, maxDepth)
	}
	seen := map[string]bool{}
	for _, i := range p.children[dir] {
		e := &p.tree.Entries[i]
		_, name := splitPath(e.Path)
		if !p.nameFits(string(name[:len(name)-1]), seen) {
			p.leftNames += p.below(i)
			continue
		}
		if e.Kind != memory.Dir {
			p.leaf(e, name)
			continue
		}
		p.add(op{kind: opDir, mode: e.Mode | 0o700, name: &name[0], path: e.Path, entry: e})
		if err := p.directory(string(e.Path[:len(e.Path)-1]), depth+1); err != nil {
			return err
		}
		p.ops = append(p.ops, op{kind: opUp, close: e.Mode&0o700 != 0o700 && !p.lacks.Owners,
			mode: e.Mode, name: &name[0], path: e.Path, entry: e})
	}
	return nil
}

// nameFits reports whether the directory can take the name; seen holds the existing names, as the
// filesystem compares them.
func (p *planner) nameFits(name string, seen map[string]bool) bool {
	if p.lacks.Name != nil && !p.lacks.Name(name) {
		return false
	}
	if p.lacks.FoldsCase {
		folded := strings.ToUpper(name)
		if seen[folded] {
			return false
		}
		seen[folded] = true
	}
	return true
}

// below counts an entry and everything in it.
func (p *planner) below(i int) int64 {
	n := int64(1)
	if e := &p.tree.Entries[i]; e.Kind == memory.Dir {
		for _, c := range p.children[string(e.Path[:len(e.Path)-1])] {
			n += p.below(c)
		}
	}
	return n
}

func (p *planner) add(o op) {
	p.ops = append(p.ops, o)
	p.entries++
	if p.lacks.MaxGroup > 0 && o.entry.GID > p.lacks.MaxGroup {
		p.groups++
	}
}

// leaf plans a file or a link. The first of several names for one file becomes the file, whichever
// name the archive gave the contents.
func (p *planner) leaf(e *memory.Entry, name []byte) {
	origin := e
	if e.Kind == memory.Hardlink {
		i, ok := p.byPath[string(e.Target)]
		if !ok {
			p.leftNames++ // a tree that LoadTree did not make
			return
		}
		origin = &p.tree.Entries[i]
	}
	o := op{mode: origin.Mode, name: &name[0], path: e.Path, data: origin.Data, entry: origin}
	switch origin.Kind {
	case memory.Symlink:
		if p.lacks.Symlinks {
			p.leftLinks++
			return
		}
		o.kind, o.target = opSymlink, &origin.Target[0]
	default:
		if p.lacks.MaxFile > 0 && int64(len(origin.Data)) > p.lacks.MaxFile {
			p.leftLarge++
			return
		}
		o.kind = opFile
		p.files++
		p.bytes += int64(len(origin.Data))
	}
	if first, linked := p.made[string(origin.Path)]; linked {
		switch {
		case first == nil:
			p.made[string(origin.Path)] = e.Path
		case p.lacks.Hardlinks:
			p.copied++
		default:
			o.kind, o.target, o.data = opLink, &first[0], nil
		}
	}
	p.written += int64(len(o.data))
	p.add(o)
}

// extra reports what a copy left out. The counts are per copy.
func (p *plan) extra() Extra {
	x := Extra{Measurements: []result.Measurement{
		result.Figure(result.LeftOutLinks, float64(p.leftLinks)),
		result.Figure(result.LeftOutNames, float64(p.leftNames)),
		result.Figure(result.LeftOutOwners, float64(p.owners+p.groups)),
	}}
	note := func(n int64, what string) {
		if n > 0 {
			x.Notes = append(x.Notes, result.Note{Level: result.Info, Text: fmt.Sprintf("in each copy of the tree: %d %s", n, what)})
		}
	}
	note(p.leftLinks, "symbolic links left out, which this filesystem does not support")
	note(p.leftNames, "entries left out, because this filesystem does not allow or cannot distinguish their names")
	note(p.leftLarge, "files left out, which are larger than this filesystem allows")
	note(p.copied, "hard links written as separate files, because this filesystem does not support them")
	note(p.owners, "entries without owner and mode, which this filesystem does not store")
	note(p.groups, "entries of another group, because this filesystem does not store its number")
	return x
}
