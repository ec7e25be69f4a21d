package script

import (
	"cmp"
	"slices"
	"sync"

	"whichfs/internal/fault"
)

// Marks that Run requests: before and after each operation, counted from 1.
const (
	Begin = "begin" // "begin 3"
	End   = "end"   // "end 3"
)

// Judge says which promises are broken in a tree that was found after a power loss,
// when began operations had begun and acked of them had returned; dir is its mount
// point, for programs that examine it themselves. looked is the number of
// individual promises that were judged, including broken ones. It may be called
// from several goroutines at once.
type Judge interface {
	Judge(began, acked int, found Tree, dir string) (breaches []fault.Breach, looked int)
}

// NewJudge prepares for a script; the Judge may be used for any number of states.
// The error is that of an invalid script, or of a program that is not installed
// (ErrAbsent).
func NewJudge(s Script, p Promises, own ...string) (Judge, error) {
	p = p.with(s.Claims)
	if s.Program != "" {
		return newDatabaseJudge(s)
	}
	if len(s.Setup)+len(s.Ops) == 0 {
		return unknown{}, nil
	}
	m, err := replay(s, p)
	if err != nil {
		return nil, err
	}
	return &judge{model: m, promises: p, own: own, plans: map[[2]int]*plan{}}, nil
}

// judge compares trees with the model. It makes plans when they are first needed.
type judge struct {
	model    *model
	promises Promises
	own      []string // names in the root directory that belong to the filesystem

	lock  sync.Mutex
	plans map[[2]int]*plan
}

func (j *judge) plan(began, acked int) *plan {
	last := len(j.model.script.Ops)
	began = max(0, min(began, last))
	acked = max(0, min(acked, began))
	j.lock.Lock()
	defer j.lock.Unlock()
	key := [2]int{began, acked}
	pl := j.plans[key]
	if pl == nil {
		pl = j.model.planFor(j.promises, began, acked)
		j.plans[key] = pl
	}
	return pl
}

// Judge compares a tree with what is allowed at a crash point.
func (j *judge) Judge(began, acked int, found Tree, _ string) ([]fault.Breach, int) {
	l := look{judge: j, plan: j.plan(began, acked), found: found}
	if root := found[""]; root.Err != "" {
		l.breach(PromiseReadable, "", fault.IOError, "the root directory cannot be read: "+root.Err)
		return l.breaches, 1
	}
	l.at = make([]bool, len(j.model.inodes))
	l.seen = 1
	l.directory([]*inode{j.model.inodes[0]}, "")
	l.moved()
	l.invented()
	l.links()
	l.order()
	sortBreaches(l.breaches)
	return l.breaches, l.looked
}

// sortBreaches puts the worst first, so that the report of the same tree is always
// the same.
func sortBreaches(all []fault.Breach) {
	slices.SortFunc(all, func(a, b fault.Breach) int {
		return cmp.Or(cmp.Compare(b.Outcome, a.Outcome), cmp.Compare(a.Path, b.Path), cmp.Compare(a.Promise, b.Promise))
	})
}
