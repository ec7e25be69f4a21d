package workload

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"

	"whichfs/internal/plan/scenario"
	"whichfs/internal/result"
)

// SyncFiles writes files of 1 B to 256 KiB into DIR, for Ops operations or until it is stopped, and
// reports each operation to the host once its survival is promised: the file is synced (fsync),
// then its directory. Three in ten operations replace the contents of a file: the new contents are
// written under another name, synced and renamed. When the files take more than Size bytes, the
// oldest are removed. Seed determines all contents.
//
// A Share of the operations is reported safe without a sync: the control, which must lose something
// in a power loss.
var SyncFiles = Kind{Name: "sync-files", Setup: func(ctx context.Context, env *Env, step scenario.Step) (Job, error) {
	target, err := newTarget(env, step)
	if err != nil {
		return Job{}, err
	}
	plan, err := newSyncPlan(step)
	if err != nil {
		return Job{}, err
	}
	if err := room(env, "the files do not fit", plan.space+2*syncMost); err != nil {
		return Job{}, err
	}
	if err := target.makeDir(); err != nil {
		return Job{}, err
	}
	w := syncWriter{plan: plan, dir: filepath.Join(env.Mount, step.Dir), buf: make([]byte, syncMost+8), safe: env.Safe}
	return Job{Run: func(t *Tally) error {
		dir, err := os.Open(w.dir)
		if err != nil {
			return Subject("open %q: %v", step.Dir, err)
		}
		defer dir.Close() //nolint:errcheck // read only
		for n := 0; (step.Ops == 0 || n < step.Ops) && ctx.Err() == nil; n++ {
			if err := w.do(dir, t); err != nil {
				return err
			}
		}
		return nil
	}}, nil
}}

const (
	// syncMost is the size of the largest file, in bytes; sizes are drawn evenly on a logarithmic
	// scale, from 1 B.
	syncMost = 256 << 10
	// syncReplace is the share of operations that replace a file's contents, once there are files.
	syncReplace = 0.3
	// syncSpace is how much the files may take together by default, in bytes.
	syncSpace = 8 << 20
	// syncSuffix is appended to a file's name until it replaces the old file: short enough for
	// names of 8 and 3 characters.
	syncSuffix = ".t"
)

type syncKind int

const (
	syncCreate syncKind = iota + 1
	syncRename
	syncRemove
)

// syncFile is a file: its number, and the operation that wrote its contents.
type syncFile struct {
	id, version int64
	size        int
}

// name is short enough for every filesystem.
func (f syncFile) name() string { return fmt.Sprintf("f%07d", f.id) }

// syncOp is one operation. For a rename, old is what the file held before.
type syncOp struct {
	number    int64
	kind      syncKind
	file, old syncFile
	unsynced  bool // reported safe without a sync
}

// syncPlan draws one operation after the other. The seed, the space and a number determine
// everything that must be on storage after that operation.
type syncPlan struct {
	seed     uint64
	space    int64
	unsynced float64

	number, made, bytes int64
	live                []syncFile // oldest first
}

func newSyncPlan(step scenario.Step) (*syncPlan, error) {
	p := &syncPlan{seed: step.Seed, space: step.Size, unsynced: step.Share}
	if p.space == 0 {
		p.space = syncSpace
	}
	if p.space < syncMost || step.Ops < 0 || step.Share < 0 || step.Share > 1 {
		return nil, result.Refuse("", "step %q: %d operations on files of %d bytes together (%d at least), %v of them unsynced",
			step.Work, step.Ops, p.space, syncMost, step.Share)
	}
	return p, nil
}

func (p *syncPlan) next() syncOp {
	p.number++
	r := rand.New(rand.NewPCG(p.seed, uint64(p.number)))
	o := syncOp{number: p.number, unsynced: r.Float64() < p.unsynced}
	size := int(math.Exp(r.Float64() * math.Log(syncMost)))
	switch {
	case p.bytes > p.space:
		o.kind, o.file = syncRemove, p.live[0]
		p.bytes -= int64(o.file.size)
		p.live = p.live[1:]
	case len(p.live) > 0 && r.Float64() < syncReplace:
		i := r.IntN(len(p.live))
		o.kind, o.old = syncRename, p.live[i]
		o.file = syncFile{id: o.old.id, version: p.number, size: size}
		p.bytes += int64(size - o.old.size)
		p.live[i] = o.file
	default:
		p.made++
		o.kind, o.file = syncCreate, syncFile{id: p.made, version: p.number, size: size}
		p.bytes += int64(size)
		p.live = append(p.live, o.file)
	}
	return o
}

// SyncedFiles is how many files must exist after an operation.
func SyncedFiles(seed uint64, space, number int64) int {
	p := syncPlan{seed: seed, space: space}
	for p.number < number {
		p.next()
	}
	return len(p.live)
}

// contents fills buf with the contents of a file and returns it. Every second file compresses well.
func (p *syncPlan) contents(f syncFile, buf []byte) []byte {
	state := p.seed ^ uint64(f.version)*0x9e3779b97f4a7c15
	whole := buf[:(f.size+7)&^7]
	var word uint64
	for i := 0; i < len(whole); i += 8 {
		if f.version%2 == 0 || i%128 == 0 {
			word = splitMix(&state)
		}
		binary.LittleEndian.PutUint64(whole[i:], word)
	}
	return whole[:f.size]
}

// syncWriter executes a plan. Nothing of it is timed.
type syncWriter struct {
	plan *syncPlan
	dir  string
	buf  []byte
	safe func(int64) error
	// called, if not nil, is called after each system call of an operation that changes or syncs
	// something. The operation ends with its error.
	called  func() error
	trouble error // of called
	// syncs: the mount options make each write, or each change of a directory, synchronous, so no
	// further sync is made.
	syncsFiles, syncsDirs bool
}

func (w *syncWriter) do(dir *os.File, t *Tally) error {
	o := w.plan.next()
	path := filepath.Join(w.dir, o.file.name())
	failed := func(call string, err error) error {
		return Subject("operation %d: %s %s: %v", o.number, call, o.file.name(), cause(err))
	}
	switch o.kind {
	case syncRemove:
		if err := unix.Unlink(path); err != nil {
			return failed("unlink", err)
		}
		w.after()
	case syncCreate:
		if call, err := w.write(path, o); err != nil {
			return failed(call, err)
		}
	case syncRename:
		if call, err := w.write(path+syncSuffix, o); err != nil {
			return failed(call, err)
		}
		if err := unix.Rename(path+syncSuffix, path); err != nil {
			return failed("rename", err)
		}
		w.after()
	}
	if !o.unsynced && !w.syncsDirs {
		if err := dir.Sync(); err != nil {
			return failed("fsync of the directory of", err)
		}
	}
	if w.trouble != nil {
		return w.trouble
	}
	t.Ops, t.Bytes = t.Ops+1, t.Bytes+int64(o.file.size)
	if w.safe == nil {
		return nil
	}
	return w.safe(o.number)
}

// after follows each system call.
func (w *syncWriter) after() {
	if w.called != nil && w.trouble == nil {
		w.trouble = w.called()
	}
}

func (w *syncWriter) write(path string, o syncOp) (call string, err error) {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return "create", err
	}
	w.after()
	_, err = f.Write(w.plan.contents(o.file, w.buf))
	call = "write"
	w.after()
	if err == nil && !o.unsynced && !w.syncsFiles {
		call, err = "fsync", f.Sync()
		w.after()
	}
	if end := f.Close(); err == nil && end != nil {
		call, err = "close", end
	}
	return call, err
}

// cause is an error without its path, which is already in the message.
func cause(err error) error {
	var p *os.PathError
	if errors.As(err, &p) {
		return p.Err
	}
	return err
}
