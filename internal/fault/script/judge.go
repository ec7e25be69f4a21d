package script

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"whichfs/internal/fault"
)

// look is the judgement of one tree.
type look struct {
	*judge
	plan     *plan
	found    Tree
	breaches []fault.Breach
	looked   int
	seen     int             // how many entries of found were visited
	at       []bool          // by inode number: it was found, or its loss was reported
	visited  map[string]bool // if not nil: collects the visited paths
}

func (l *look) breach(promise, path string, o fault.Outcome, what string) {
	l.breaches = append(l.breaches, fault.Breach{Promise: promise, Path: path, Outcome: o, What: what})
}

// directory judges the entries of a directory, which may be one of several: an
// entry is allowed if one of them allows it, and may be absent if one of them
// allows that.
func (l *look) directory(dirs []*inode, path string) {
	first := &l.plan.dirs[dirs[0].id]
	if len(dirs) == 1 {
		for i := range first.names {
			l.name(&first.names[i], join(path, first.names[i].name))
		}
		return
	}
	merged := map[string]*namePlan{}
	var order []string
	for i, dir := range dirs {
		d := &l.plan.dirs[dir.id]
		for _, n := range d.names {
			if merged[n.name] == nil {
				n.absent = n.absent || i > 0
				merged[n.name] = &n
				order = append(order, n.name)
				continue
			}
			both := *merged[n.name]
			both.may = append(both.may[:len(both.may):len(both.may)], n.may...)
			both.absent = both.absent || n.absent
			merged[n.name] = &both
		}
		for name, n := range merged {
			if _, ok := d.byName[name]; !ok {
				n.absent = true
			}
		}
	}
	for _, name := range order {
		l.name(merged[name], join(path, name))
	}
}

// name judges what is at a path.
func (l *look) name(n *namePlan, path string) {
	f, there := l.found[path]
	if !there {
		l.absent(n, path)
		return
	}
	l.seen++
	if l.visited != nil {
		l.visited[path] = true
	}
	l.looked++
	if len(n.may) == 0 {
		if f.Err == "" || n.existed {
			promise := PromiseRemoved
			if n.promise == PromiseClaimed {
				promise = n.promise
			}
			l.breach(promise, path, fault.Wrong, "the name is back although its removal was on storage ("+orKept(n.promise)+")")
		}
		l.skip(path)
		return
	}
	if f.Err != "" && f.Kind != kindFile && f.Kind != kindSymlink {
		for _, c := range n.may {
			l.at[c.in.id] = true
		}
		l.unreadable(path, f, orKept(n.promise), n.absent)
		return
	}
	var dirs []*inode
	ok := false
	for i := range n.may {
		c := &n.may[i]
		if c.in.kind != f.Kind {
			continue
		}
		if c.in.kind == kindDir {
			dirs, ok = append(dirs, c.in), true
			l.at[c.in.id] = true
		} else if f.Err == "" && l.right(c, f) {
			ok = true
			l.at[c.in.id] = true
			l.looked += 2 // size and contents
		}
	}
	switch {
	case dirs != nil:
		l.directory(dirs, path)
	case !ok:
		l.wrong(n, path, f)
	}
}

// absent judges a missing name.
func (l *look) absent(n *namePlan, path string) {
	l.looked++
	if n.absent || len(n.may) == 0 {
		return
	}
	what := "the name is gone"
	if n.replaced {
		what = "neither the old nor the new file is there"
	}
	for _, c := range n.may {
		l.at[c.in.id] = true
		if c.in.kind == kindDir {
			what = "the directory is gone, with everything in it"
		} else if len(n.may) == 1 && c.in.kind == kindFile && !n.replaced && c.min > 0 {
			what = fmt.Sprintf("the file is gone, with its %d bytes", c.min)
		}
	}
	l.breach(orKept(n.promise), path, fault.Lost, what)
}

func orKept(promise string) string {
	if promise == PromiseNone {
		return PromiseKept
	}
	return promise
}

// unreadable judges a name that is listed but cannot be read. While the name is
// being changed, the only promise about it is that listed entries can be read.
func (l *look) unreadable(path string, f Found, promise string, changing bool) {
	l.skip(path)
	if changing && l.promises.NoJournal {
		return // incomplete until the filesystem's own tool has repaired it
	}
	if changing {
		promise = PromiseReadable
	}
	l.breach(promise, path, fault.IOError, "it is listed and cannot be read: "+f.Err)
}

// skip counts everything below a path as visited.
func (l *look) skip(path string) {
	prefix := path + "/"
	for p := range l.found {
		if strings.HasPrefix(p, prefix) && (l.visited == nil || !l.visited[p]) {
			l.seen++
			if l.visited != nil {
				l.visited[p] = true
			}
		}
	}
}

// moved checks that each file that was moved is under one of its names.
func (l *look) moved() {
	for _, m := range l.plan.must {
		l.looked++
		if !l.at[m.in.id] {
			l.breach(m.promise, m.in.path, fault.Lost, "it was on storage before it was moved, and is missing under all of its names")
		}
	}
}

// invented finds names that were never created.
func (l *look) invented() {
	l.looked++
	if l.seen == len(l.found) || l.promises.NoJournal {
		return // a directory that is being changed may show anything there
	}
	again := look{judge: l.judge, plan: l.plan, found: l.found, at: make([]bool, len(l.at)), visited: map[string]bool{"": true}}
	again.directory([]*inode{l.model.inodes[0]}, "")
	for path, f := range l.found {
		dir := path[:max(0, strings.LastIndexByte(path, '/'))]
		if again.visited[path] || !again.visited[dir] && dir != "" || l.owns(path) {
			continue
		}
		if f.Err != "" {
			l.breach(PromiseReadable, path, fault.IOError, "a name that was never created is listed and cannot be read: "+f.Err)
			continue
		}
		l.breach(PromiseInvented, path, fault.Wrong, fmt.Sprintf("a %s that was never created", f.Kind))
	}
}

// owns reports whether the name belongs to the filesystem itself.
func (j *judge) owns(path string) bool {
	first, _, _ := strings.Cut(path, "/")
	return slices.Contains(j.own, first)
}

// links compares the number of names of each file with its link count.
func (l *look) links() {
	if l.promises.NoJournal {
		return
	}
	names := make(map[uint64]int, len(l.found))
	for _, f := range l.found {
		if f.Inode != 0 && f.Err == "" {
			names[f.Inode]++
		}
	}
	told := map[uint64]int{} // 1 + index of the breach
	for path, f := range l.found {
		if f.Inode == 0 || f.Err != "" || l.owns(path) {
			continue
		}
		have, most := names[f.Inode], 1
		l.looked++
		if f.Kind != kindDir {
			most = f.Links
		}
		if have == most {
			continue
		}
		if i := told[f.Inode]; i > 0 { // of several names the first is reported
			l.breaches[i-1].Path = min(l.breaches[i-1].Path, path)
			continue
		}
		told[f.Inode] = len(l.breaches) + 1
		l.breach(PromiseLinks, path, fault.Wrong, fmt.Sprintf("it has %d names, but its link count is %d", have, most))
	}
}

// order checks that the names are those of one moment.
func (l *look) order() {
	if l.plan.ordered == nil {
		return
	}
	l.looked++
	for _, names := range l.plan.ordered {
		if l.namesAre(names) {
			return
		}
	}
	if len(l.breaches) > 0 {
		return // another breach already covers it
	}
	l.breach(PromiseOrdered, "", fault.Wrong, "the names match no single moment: a later operation is there but an earlier one is not")
}

func (l *look) namesAre(names map[string]string) bool {
	n := 0
	for path, f := range l.found {
		if path == "" || l.owns(path) {
			continue
		}
		if names[path] != f.Kind {
			return false
		}
		n++
	}
	return n == len(names)
}

// Whose identifies the origin of a sector by the words that scripts write: the
// path, and the number of the operation that wrote it, 0 for the setup. ok is false
// if no operation of this script wrote it.
func (s Script) Whose(sector []byte) (path string, op int, ok bool) {
	o, ok := originOf(sector)
	if !ok {
		return "", 0, false
	}
	if o.op >= setupBase {
		o.op = 0
	}
	for _, list := range [][]Op{s.Setup, s.Ops} {
		for _, one := range list {
			for _, name := range []string{one.Path, one.To} {
				if name != "" && pathHash(name) == o.hash {
					return name, o.op, true
				}
			}
		}
	}
	return "", 0, false
}

// unknown judges trees whose history is unknown: logs that others recorded. The
// only promise about their files is that they can be read.
type unknown struct{}

// Judge implements Judge.
func (unknown) Judge(_, _ int, found Tree, _ string) (breaches []fault.Breach, looked int) {
	for _, path := range slices.Sorted(maps.Keys(found)) {
		if f := found[path]; f.Err != "" {
			breaches = append(breaches, fault.Breach{Promise: PromiseReadable, Path: path, Outcome: fault.IOError, What: "it is listed and cannot be read: " + f.Err})
		}
	}
	return breaches, len(found)
}
