package script

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"whichfs/internal/fault"
)

// after is the tree that a script leaves if it ran up to an operation and nothing
// was lost.
func after(sc Script, op int) Tree {
	s := newSim(true, 1)
	s.start(sc)
	for k, o := range sc.Ops[:op] {
		s.do(o, k+1)
	}
	return s.cut(0)
}

func library(t testing.TB, name string) Script {
	t.Helper()
	for _, s := range Library() {
		if s.Name == name {
			return s
		}
	}
	t.Fatalf("no script %s", name)
	return Script{}
}

// Each kind of damage is detected and classified correctly.
func TestDamageIsSeen(t *testing.T) {
	change := func(path string, f func(d []byte) []byte) func(Tree) {
		return func(tr Tree) {
			x := tr[path]
			x.Data = f(bytes.Clone(x.Data))
			x.Size = int64(len(x.Data))
			tr[path] = x
		}
	}
	drop := func(path string) func(Tree) {
		return func(tr Tree) {
			for p := range tr {
				if p == path || strings.HasPrefix(p, path+"/") {
					delete(tr, p)
				}
			}
		}
	}
	cut := func(n int) func([]byte) []byte { return func(d []byte) []byte { return d[:n] } }
	zero := func(from, to int) func([]byte) []byte {
		return func(d []byte) []byte { clear(d[from:to]); return d }
	}
	put := func(path string, f Found) func(Tree) { return func(tr Tree) { tr[path] = f } }
	end := -1
	for _, c := range []struct {
		name, script string
		p            Promises
		op, acked    int // -1: all; acked 0: like op
		damage       func(Tree)
		promise      string
		outcome      fault.Outcome
		path         string
	}{
		{"acked file dropped", "create-fsync-dir", Promises{}, end, 0, drop("A/foo"), PromiseFsyncDir, fault.Lost, "A/foo"},
		{"directory dropped", "directory-tree", Promises{}, end, 0, drop("A"), PromiseFsyncDir, fault.Lost, "A"},
		{"new name dropped", "create-fsync", Promises{NewName: true}, end, 0, drop("A/bar"), PromiseNewName, fault.Lost, "A/bar"},
		{"new name dropped, not promised", "create-fsync", Promises{}, end, 0, drop("A/bar"), "", 0, ""},
		{"truncated", "append-fsync", Promises{}, end, 0, change("journal", cut(4000)), PromiseFsync, fault.Truncated, "journal"},
		{"truncated to a sector", "append-fdatasync", Promises{}, end, 0, change("journal", cut(512)), PromiseFdatasync, fault.Truncated, "journal"},
		{"truncated after O_SYNC", "append-o-sync", Promises{}, end, 0, change("journal", cut(4000)), PromiseOSync, fault.Truncated, "journal"},
		{"too long", "truncate-down", Promises{}, end, 0, change("foo", func(d []byte) []byte { return append(d, make([]byte, 4096)...) }), PromiseSize, fault.Wrong, "foo"},
		{"a sector zeroed", "append-fsync", Promises{}, end, 0, change("journal", zero(1024, 1536)), PromiseFsync, fault.Zeroed, "journal"},
		{"zeroed in place", "overwrite-fsync", Promises{}, 1, 0, change("table", zero(8192, 8704)), PromiseKept, fault.Zeroed, "table"},
		{"zeroed while being overwritten", "overwrite-fsync", Promises{}, 1, 0, change("table", zero(4096, 8192)), PromiseKept, fault.Zeroed, "table"},
		{"older data", "overwrite-fsync", Promises{}, 2, 0, change("table", func(d []byte) []byte { fill(d[4096:4608], setupBase+2, "table", 4096); return d }), PromiseFsync, fault.Wrong, "table"},
		{"hole not punched", "punch", Promises{}, 2, 0, change("foo", func(d []byte) []byte { fill(d[4096:4608], setupBase+2, "foo", 4096); return d }), PromiseFsync, fault.Wrong, "foo"},
		{"misplaced", "mmap-msync", Promises{}, 2, 0, change("map", func(d []byte) []byte { copy(d[:512], d[4096:]); return d }), PromiseMsync, fault.Wrong, "map"},
		{"mapping lost", "mmap-msync", Promises{}, 2, 0, change("map", zero(4096, 4608)), PromiseMsync, fault.Zeroed, "map"},
		{"bit flipped", "append-fsync", Promises{}, end, 0, change("journal", func(d []byte) []byte { d[777] ^= 4; return d }), PromiseFsync, fault.Wrong, "journal"},
		{"contents swapped", "many-files-syncfs", Promises{}, end, 0, func(tr Tree) {
			a, b := tr["A/03"], tr["B/03"]
			tr["A/03"], tr["B/03"] = b, a
		}, PromiseSync, fault.Wrong, "A/03"},
		{"two files swapped", "many-files-syncfs", Promises{}, end, 0, func(tr Tree) {
			a, b := tr["A/03"], tr["A/04"]
			a.Data, b.Data = append(bytes.Clone(b.Data[:a.Size:a.Size]), a.Data[len(b.Data[:a.Size]):]...), bytes.Clone(b.Data)
			tr["A/03"] = a
		}, PromiseSync, fault.Wrong, "A/03"},
		{"removed file back", "remove-tree", Promises{}, 4, 0, put("A/B", Found{Kind: kindDir}), PromiseRemoved, fault.Wrong, "A/B"},
		{"renamed file back", "atomic-replace", Promises{}, end, 0, put("config.new", Found{Kind: kindFile, Links: 1}), PromiseRemoved, fault.Wrong, "config.new"},
		{"replaced by nothing", "atomic-replace", Promises{AtomicReplace: true}, 4, 3, change("config", cut(0)), PromiseAtomicReplace, fault.Truncated, "config"},
		{"replaced by zeros", "atomic-replace", Promises{AtomicReplace: true}, 4, 3, change("config", zero(0, 3000)), PromiseAtomicReplace, fault.Zeroed, "config"},
		{"neither of both", "replace-without-dir-sync", Promises{AtomicReplace: true}, 4, 0, drop("config"), PromiseAtomicReplace, fault.Lost, "config"},
		{"replaced unsynced by nothing", "replace-without-fsync", Promises{}, end, 0, change("config", cut(0)), PromiseReplaceSyncs, fault.Truncated, "config"},
		{"gone from both names", "rename-across-dirs", Promises{}, 1, 0, drop("B/foo"), PromiseRename, fault.Lost, "A/foo"},
		{"gone from both names, no journal", "rename-across-dirs", Promises{NoJournal: true}, 1, 0, drop("B/foo"), "", 0, ""},
		{"under both names", "rename-across-dirs", Promises{}, 1, 0, func(tr Tree) { tr["A/foo"] = tr["B/foo"] }, PromiseLinks, fault.Wrong, "A/foo"},
		{"link count", "link-fsync", Promises{}, 2, 0, func(tr Tree) {
			f := tr["A/foo"]
			f.Links = 3
			tr["A/foo"] = f
		}, PromiseLinks, fault.Wrong, "A/foo"},
		{"cannot be read", "append-fsync", Promises{}, end, 0, put("journal", Found{Kind: kindFile, Err: "read at 0: input/output error"}), PromiseFsync, fault.IOError, "journal"},
		{"cannot be looked up", "create-fsync-dir", Promises{}, 4, 0, put("A/foo", Found{Kind: kindOther, Err: "look up: no such file"}), PromiseFsyncDir, fault.IOError, "A/foo"},
		{"invented", "append-fsync", Promises{}, end, 0, put("#12", Found{Kind: kindFile, Links: 1, Inode: 99}), PromiseInvented, fault.Wrong, "#12"},
		{"a directory for a file", "append-fsync", Promises{}, end, 0, put("journal", Found{Kind: kindDir}), PromiseKept, fault.Wrong, "journal"},
		{"other target", "symlink", Promises{}, end, 0, change("current", func([]byte) []byte { return []byte("v3") }), PromiseKept, fault.Wrong, "current"},
		{"stale data", "unsynced", Promises{NoStale: true}, end, 0, change("foo", func(d []byte) []byte { copy(d[512:1024], bytes.Repeat([]byte("secret"), 90)); return d }), PromiseNoStale, fault.Wrong, "foo"},
		{"stale data, not promised", "unsynced", Promises{}, end, 0, change("foo", func(d []byte) []byte { copy(d[512:1024], bytes.Repeat([]byte("secret"), 90)); return d }), "", 0, ""},
		{"another file's data", "unsynced", Promises{NoStale: true}, end, 0, change("foo", func(d []byte) []byte { fill(d[512:1024], setupBase+2, "old", 512); return d }), PromiseNoStale, fault.Wrong, "foo"},
		{"out of order", "unsynced", Promises{Ordered: true}, end, 0, drop("foo"), PromiseOrdered, fault.Wrong, ""},
		{"out of order, not promised", "unsynced", Promises{}, end, 0, drop("foo"), "", 0, ""},
		{"claimed and lost", "claims-without-fsync", Promises{}, 2, 0, change("foo", cut(0)), PromiseClaimed, fault.Truncated, "foo"},
		{"claimed and gone", "claims-without-fsync", Promises{}, end, 0, drop("baz"), PromiseClaimed, fault.Lost, "baz"},
		{"untouched and gone", "claims-without-fsync", Promises{}, end, 0, drop("old"), PromiseKept, fault.Lost, "old"},
		{"the root", "append-fsync", Promises{}, end, 0, put("", Found{Kind: kindDir, Err: "list: input/output error"}), PromiseReadable, fault.IOError, ""},
		{"lost+found is the filesystem's", "append-fsync", Promises{}, end, 0, put("lost+found", Found{Kind: kindDir, Links: 2, Inode: 11}), "", 0, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			sc := library(t, c.script)
			if c.op < 0 {
				c.op = len(sc.Ops)
			}
			if c.acked == 0 {
				c.acked = c.op
			}
			tree := after(sc, c.op)
			j, err := NewJudge(sc, c.p, "lost+found")
			if err != nil {
				t.Fatal(err)
			}
			if b, _ := j.Judge(c.op, c.acked, tree, ""); len(b) > 0 {
				t.Fatalf("before the damage: %+v", b)
			}
			c.damage(tree)
			b, looked := j.Judge(c.op, c.acked, tree, "")
			if again, _ := j.Judge(c.op, c.acked, tree, ""); !slices.Equal(again, b) {
				t.Errorf("once %+v, once %+v", b, again)
			}
			if looked < 1 {
				t.Error("no promise was judged")
			}
			if c.promise == "" {
				if len(b) > 0 {
					t.Errorf("flagged: %+v", b)
				}
				return
			}
			for _, x := range b {
				if x.Promise == c.promise && x.Outcome == c.outcome && x.Path == c.path && x.What != "" {
					t.Log(x.What)
					return
				}
			}
			t.Errorf("not detected as %s %s: %+v", c.promise, c.outcome.Key(), b)
		})
	}
}

// Every promise that a breach can name has an explanation.
func TestPromisesAreExplained(t *testing.T) {
	for _, s := range Library() {
		if s.About == "" || s.Name == "" {
			t.Errorf("%+v", s)
		}
	}
	for key, text := range PromiseTexts {
		if key == "" || text == "" {
			t.Errorf("%q: %q", key, text)
		}
	}
}

// On a perfect filesystem that loses only what was not synced, the losses of the
// careless control are found.
func TestCarelessControlIsFound(t *testing.T) {
	sc := library(t, "claims-without-fsync")
	j, err := NewJudge(sc, Promises{})
	if err != nil {
		t.Fatal(err)
	}
	s := newSim(true, 1)
	s.start(sc)
	for k, o := range sc.Ops {
		s.do(o, k+1)
		if b, _ := j.Judge(k+1, k+1, s.cut(1), ""); len(b) == 0 {
			t.Errorf("no loss was found after %v", o)
		}
	}
}

func BenchmarkJudge(b *testing.B) {
	for _, name := range []string{"atomic-replace", "append-fsync", "package-unpack", "many-files-syncfs"} {
		b.Run(name, func(b *testing.B) {
			sc := library(b, name)
			j, err := NewJudge(sc, strongest)
			if err != nil {
				b.Fatal(err)
			}
			found := after(sc, len(sc.Ops))
			for b.Loop() {
				if breaches, _ := j.Judge(len(sc.Ops), len(sc.Ops), found, ""); len(breaches) > 0 {
					b.Fatal(breaches)
				}
			}
		})
	}
}

func TestWhose(t *testing.T) {
	s := Script{Setup: []Op{{Do: "create", Path: "old"}}, Ops: []Op{{Do: "create", Path: "dir/new"}, {Do: "rename", Path: "dir/new", To: "moved"}}}
	sector := make([]byte, 512)
	for _, one := range []struct {
		written int
		path    string
		op      int
		ok      bool
	}{{1, "dir/new", 1, true}, {2, "moved", 2, true}, {setupBase + 1, "old", 0, true}, {1, "elsewhere", 0, false}} {
		fill(sector, one.written, one.path, 4096)
		path, op, ok := s.Whose(sector)
		if ok != one.ok || ok && (path != one.path || op != one.op) {
			t.Errorf("%+v became %q, %d, %v", one, path, op, ok)
		}
	}
	if _, _, ok := s.Whose(make([]byte, 512)); ok {
		t.Error("zeros belong to a file")
	}
}

// The history of a script without operations is unknown.
func TestUnknown(t *testing.T) {
	j, err := NewJudge(Script{Name: "a log of unknown origin"}, Promises{Ordered: true, NoStale: true})
	if err != nil {
		t.Fatal(err)
	}
	tree := Tree{"": {Kind: "dir"}, "anything": {Kind: "file", Size: 3, Data: []byte("any")}}
	if breaches, looked := j.Judge(0, 0, tree, ""); len(breaches) > 0 || looked != 2 {
		t.Errorf("%+v, %d", breaches, looked)
	}
	tree["broken"] = Found{Kind: "file", Err: "input/output error"}
	if breaches, _ := j.Judge(0, 0, tree, ""); len(breaches) != 1 || breaches[0].Outcome != fault.IOError || breaches[0].Path != "broken" {
		t.Errorf("%+v", breaches)
	}
}
