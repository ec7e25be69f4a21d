package script

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
)

// sim is a filesystem in memory that loses power: an independent implementation of
// what a journalling filesystem may leave, to verify the oracle. Names are a list
// of operations of which a prefix is on storage; contents are sectors, each of
// which is on storage or not.
type sim struct {
	now      map[string]*simFile // by path
	settled  map[string]*simFile // names on storage
	history  []map[string]*simFile
	strict   bool // fsync of anything puts all names on storage
	next     uint64
	rng      *rand.Rand
	replaces bool
}

type simFile struct {
	kind       string
	inode      uint64
	data, disk []byte // in memory and on storage
}

func newSim(strict bool, seed uint64) *sim {
	root := &simFile{kind: kindDir, inode: 1}
	return &sim{now: map[string]*simFile{"": root}, strict: strict, next: 2, rng: rand.New(rand.NewPCG(seed, 1))}
}

func copyNames(names map[string]*simFile) map[string]*simFile {
	c := make(map[string]*simFile, len(names))
	for k, v := range names {
		c[k] = v
	}
	return c
}

func (s *sim) commit() {
	s.settled, s.history = copyNames(s.now), nil
}

func (f *simFile) flush() { f.disk = append([]byte(nil), f.data...) }

func (s *sim) do(o Op, number int) {
	named := false
	f := s.now[o.Path]
	write := func(at, size int64) {
		if need := at + size - int64(len(f.data)); need > 0 {
			f.data = append(append([]byte(nil), f.data...), make([]byte, need)...)
		} else {
			f.data = append([]byte(nil), f.data...)
		}
		fill(f.data[at:at+size], number, o.Path, at)
	}
	switch o.Do {
	case "create", "mkdir", "symlink":
		kind := map[string]string{"create": kindFile, "mkdir": kindDir, "symlink": kindSymlink}[o.Do]
		n := &simFile{kind: kind, inode: s.next}
		if kind == kindSymlink {
			n.data, n.disk = []byte(o.To), []byte(o.To)
		}
		s.next++
		s.now[o.Path], named = n, true
	case "write", "mmap-write":
		write(o.Offset, o.Size)
	case "append":
		write(int64(len(f.data)), o.Size)
	case "truncate":
		d := make([]byte, o.Size)
		copy(d, f.data)
		f.data = d
	case "fallocate":
		if end := o.Offset + o.Size; !o.KeepSize && end > int64(len(f.data)) {
			f.data = append(append([]byte(nil), f.data...), make([]byte, end-int64(len(f.data)))...)
		}
	case "punch":
		f.data = append([]byte(nil), f.data...)
		clear(f.data[min(o.Offset, int64(len(f.data))):min(o.Offset+o.Size, int64(len(f.data)))])
	case "rename":
		if old := s.now[o.To]; old != nil && s.replaces {
			f.flush()
		}
		moved := copyNames(s.now)
		for p, x := range s.now {
			if p == o.Path || strings.HasPrefix(p, o.Path+"/") {
				delete(moved, p)
				moved[o.To+p[len(o.Path):]] = x
			}
		}
		s.now, named = moved, true
	case "link":
		s.now[o.To], named = f, true
	case "unlink", "rmdir":
		delete(s.now, o.Path)
		named = true
	case "fsync", "fdatasync", "msync":
		f.flush()
		if s.strict || o.Do == "fsync" {
			s.commit()
		}
	case "fsync-dir":
		s.commit()
	case "sync":
		for _, f := range s.now {
			f.flush()
		}
		s.commit()
	default:
		panic(o.Do)
	}
	if o.Sync {
		f.flush()
	}
	if named {
		s.history = append(s.history, copyNames(s.now))
	}
	if s.rng.IntN(3) == 0 { // writeback of some file
		for _, f := range s.now {
			f.writeback(s.rng)
			break
		}
	}
}

// writeback puts some sectors of a file on storage.
func (f *simFile) writeback(rng *rand.Rand) {
	if f.kind != kindFile {
		return
	}
	size := len(f.data)
	if lo, hi := min(len(f.disk), size), max(len(f.disk), size); hi > lo && rng.IntN(2) == 0 {
		// Between two sizes, the new size ends at a sector boundary, as with
		// writeback.
		if size = (lo + rng.IntN(hi-lo+1)) &^ (sector - 1); size < lo {
			size = lo
		}
	}
	disk := make([]byte, size)
	copy(disk, f.disk)
	for at := 0; at < size; at += sector {
		if rng.IntN(2) == 0 {
			clear(disk[at:min(at+sector, size)])
			if at < len(f.data) {
				copy(disk[at:min(at+sector, size)], f.data[at:])
			}
		}
	}
	f.disk = disk
}

// cut is the tree after a power loss: mode 0, everything that was done; 1, only
// what was synced; else a state in between.
func (s *sim) cut(mode int) Tree {
	names := s.settled
	switch {
	case mode == 0:
		names = s.now
	case mode > 1 && len(s.history) > 0:
		if k := s.rng.IntN(len(s.history) + 1); k > 0 {
			names = s.history[k-1]
		}
	}
	links := map[*simFile]int{}
	for _, f := range names {
		links[f]++
	}
	t := Tree{}
	for path, f := range names {
		data := f.disk
		switch {
		case mode == 0:
			data = f.data
		case mode > 1:
			g := *f
			g.writeback(s.rng)
			data = g.disk
		}
		t[path] = Found{Kind: f.kind, Size: int64(len(data)), Data: data, Links: links[f], Inode: f.inode}
		if f.kind == kindDir {
			t[path] = Found{Kind: f.kind, Links: 1, Inode: f.inode}
		}
	}
	return t
}

// start carries out Setup and syncs it.
func (s *sim) start(sc Script) {
	for i, o := range sc.Setup {
		s.do(o, setupBase+i+1)
	}
	s.do(Op{Do: "sync"}, 0)
}

var strongest = Promises{NewName: true, AtomicReplace: true, ReplaceSyncs: true, Ordered: true, NoStale: true}

// everyScript returns the scripts with which the oracle is verified.
func everyScript() []Script {
	all := append(Library(), Sequences(1)...)
	for i, s := range Sequences(2) {
		if i%7 == 0 {
			all = append(all, s)
		}
	}
	return all
}

func TestLegalStatesAreNeverFlagged(t *testing.T) {
	states, looked := 0, 0
	for i, sc := range everyScript() {
		if sc.Program != "" {
			continue
		}
		for _, p := range []Promises{{}, strongest, {AtomicReplace: true, NewName: true}, {NoJournal: true}} {
			if sc.Careless {
				continue
			}
			j, err := NewJudge(sc, p)
			if err != nil {
				t.Fatal(err)
			}
			for _, strict := range []bool{true, false} {
				s := newSim(strict, uint64(i))
				s.replaces = true
				s.start(sc)
				check := func(began, acked int) {
					for mode := range 5 {
						found := s.cut(mode)
						breaches, n := j.Judge(began, acked, found, "")
						states, looked = states+1, looked+n
						if len(breaches) > 0 {
							t.Fatalf("%s, promises %+v, strict %v, mode %d, began %d, acked %d: %+v\n%s", sc.Name, p, strict, mode, began, acked, breaches, show(found))
						}
					}
				}
				check(0, 0)
				for k, o := range sc.Ops {
					check(k+1, k)
					s.do(o, k+1)
					check(k+1, k)
					check(k+1, k+1)
				}
			}
		}
	}
	t.Logf("%d states, %d promises judged", states, looked)
}

func show(found Tree) string {
	text := ""
	for path, f := range found {
		text += fmt.Sprintf("%q %s size %d links %d inode %d %s\n", path, f.Kind, f.Size, f.Links, f.Inode, f.Err)
	}
	return text
}
