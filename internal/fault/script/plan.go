package script

import "slices"

// plan is what is allowed and promised at one crash point.
type plan struct {
	began, acked int
	dirs         []dirPlan // by number of inode
	must         []mustPlan
	ordered      []map[string]string
}

// dirPlan is the allowed contents of a directory.
type dirPlan struct {
	names  []namePlan
	byName map[string]int
}

// namePlan is what a name may refer to.
type namePlan struct {
	name     string
	may      []candidate
	absent   bool   // it may be absent
	promise  string // that requires its presence or its absence
	replaced bool   // a rename over it may or may not have taken effect
	existed  bool   // it referred to something that was durably removed
}

// candidate is one inode that a name may refer to, with the versions that its
// contents may have.
type candidate struct {
	in       *inode
	from, to int // indices of versions
	promise  string
	min, max int64 // size
}

// mustPlan is an inode that was moved and must be under one of its names.
type mustPlan struct {
	in      *inode
	promise string
}

// planFor computes the plan of one crash point.
func (m *model) planFor(p Promises, began, acked int) *plan {
	pl := &plan{began: began, acked: acked, dirs: make([]dirPlan, len(m.inodes))}
	places := make([]int, len(m.inodes))
	sure := make([]settle, len(m.inodes)) // the operation that settled its name, counted from 1
	for _, dir := range m.inodes {
		d := &pl.dirs[dir.id]
		d.byName = map[string]int{}
		for _, e := range dir.entries {
			n, since, ok := e.plan(p, began, acked)
			if !ok {
				continue
			}
			for _, c := range n.may {
				places[c.in.id]++
			}
			if first := e.events[since.from].target; first != nil && since.op+1 > sure[first.id].op {
				sure[first.id] = settle{op: since.op + 1, promise: since.promise}
			}
			d.byName[e.name] = len(d.names)
			d.names = append(d.names, n)
		}
	}
	for _, in := range m.inodes[1:] {
		since := sure[in.id]
		if places[in.id] < 2 || since.op == 0 || p.NoJournal || !in.namedSince(since.op-1, began) {
			continue
		}
		promise := PromiseRename
		if since.promise == PromiseClaimed {
			promise = PromiseClaimed
		}
		pl.must = append(pl.must, mustPlan{in, promise})
	}
	if p.Ordered {
		pl.ordered = m.orders(began, acked)
	}
	return pl
}

// plan says what a name may refer to; ok is false if no operation that has begun
// created the name.
func (e *entry) plan(p Promises, began, acked int) (n namePlan, since settle, ok bool) {
	since = lastSettled(e.settled, acked)
	n = namePlan{name: e.name, promise: since.promise}
	for i, ev := range e.events {
		if ev.op > began && i > 0 {
			break
		}
		ok = ok || i > 0 || ev.target != nil
		if i < since.from {
			n.existed = n.existed || ev.target != nil
			continue
		}
		if ev.target == nil {
			n.absent = true
			continue
		}
		if ev.replaced && i > since.from {
			n.replaced = true
			n.absent = n.absent || !p.AtomicReplace && !p.ReplaceSyncs || p.NoJournal
		}
		c := ev.target.candidate(began, acked)
		if ev.replaced && p.ReplaceSyncs && ev.whole > c.from {
			c = ev.target.window(ev.whole, began, PromiseReplaceSyncs)
		}
		if !slices.ContainsFunc(n.may, func(o candidate) bool { return o.in == c.in }) {
			n.may = append(n.may, c)
		}
	}
	if n.replaced && !n.absent {
		n.promise = PromiseAtomicReplace
	}
	return n, since, ok
}

// lastSettled returns the last settle whose operation has returned.
func lastSettled(list []settle, acked int) settle {
	for i := len(list) - 1; i > 0; i-- {
		if list[i].op <= acked {
			return list[i]
		}
	}
	return list[0]
}

// candidate returns an inode with the versions that it may have.
func (in *inode) candidate(began, acked int) candidate {
	s := lastSettled(in.settled, acked)
	return in.window(s.from, began, s.promise)
}

// window returns an inode with the versions from index from on.
func (in *inode) window(from, began int, promise string) candidate {
	c := candidate{in: in, from: from, to: from, promise: promise}
	if len(in.versions) == 0 {
		return c
	}
	c.min = int64(len(in.versions[from].data))
	c.max = c.min
	for i := from; i < len(in.versions) && (i == from || in.versions[i].op <= began); i++ {
		size := int64(len(in.versions[i].data))
		c.to, c.min, c.max = i, min(c.min, size), max(c.max, size)
	}
	return c
}

// namedSince reports whether the inode has had a name ever since an operation.
func (in *inode) namedSince(op, began int) bool {
	for _, l := range in.links {
		if l.op > op && l.op <= began && l.n == 0 {
			return false
		}
	}
	return true
}

// orders returns the trees of names that a filesystem which keeps the order of its
// metadata operations can show: those after each operation from the last one whose
// effect on names is settled (a mere claim does not settle it). The values are
// kinds.
func (m *model) orders(began, acked int) []map[string]string {
	first := 0
	for _, dir := range m.inodes {
		for _, e := range dir.entries {
			for _, s := range e.settled {
				if s.op <= acked && s.promise != PromiseClaimed {
					first = max(first, e.events[s.from].op)
				}
			}
		}
	}
	var all []map[string]string
	for op := first; op <= began; op++ {
		names := map[string]string{}
		m.inodes[0].namesAt(op, "", names)
		if len(all) == 0 || !sameNames(all[len(all)-1], names) {
			all = append(all, names)
		}
	}
	return all
}

// namesAt collects all names below a directory after an operation.
func (in *inode) namesAt(op int, prefix string, into map[string]string) {
	for _, e := range in.entries {
		var target *inode
		for _, ev := range e.events {
			if ev.op <= op {
				target = ev.target
			}
		}
		if target == nil {
			continue
		}
		path := join(prefix, e.name)
		into[path] = target.kind
		if target.kind == kindDir {
			target.namesAt(op, path, into)
		}
	}
}

func sameNames(a, b map[string]string) bool {
	if len(a) != len(b) {
		return false
	}
	for path, kind := range a {
		if b[path] != kind {
			return false
		}
	}
	return true
}

func join(dir, name string) string {
	if dir == "" {
		return name
	}
	return dir + "/" + name
}
