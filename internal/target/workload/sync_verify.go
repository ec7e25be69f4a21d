package workload

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"whichfs/internal/fault"
	"whichfs/internal/fault/script"
	"whichfs/internal/filesystem"
	"whichfs/internal/plan/scenario"
	"whichfs/internal/result"
	"whichfs/internal/sys/kmsg"
	"whichfs/internal/target/aftermath"
)

// SyncVerify compares DIR with what SyncFiles wrote there with the same Seed and Size before the
// power loss; Ops is the last operation that was reported to the host as safe. All files of that
// moment must be there and whole, the removed ones gone. An operation that has begun proves that
// those before it were synced as well, so they count too, whether the host received the report or
// not. The operation in flight may have left anything, except where it replaces contents: then the
// file holds the old or the new contents, whole.
var SyncVerify = Kind{Name: "sync-verify", Setup: func(_ context.Context, env *Env, step scenario.Step) (Job, error) {
	if _, err := newTarget(env, step); err != nil {
		return Job{}, err
	}
	if _, err := newSyncPlan(step); err != nil {
		return Job{}, err
	}
	if err := env.dropCaches(); err != nil {
		return Job{}, err
	}
	v := newSyncVerifier(filepath.Join(env.Mount, step.Dir), step, env.FS.Name)
	return Job{Run: func(t *Tally) error {
		v.verify()
		t.Files, t.Ops = int64(len(v.held)), v.safe
		return nil
	}, After: v.after}, nil
}}

const (
	// syncAhead is how many operations may have been done after the last one that the host
	// received.
	syncAhead = 64
	// syncNoted is how many losses get a note each.
	syncNoted = 10
)

// KernelSaid begins notes that quote the kernel.
const KernelSaid = "kernel: "

// syncVerifier judges a directory after a power loss.
type syncVerifier struct {
	dir  string
	step scenario.Step
	buf  []byte
	fs   string // the filesystem's name

	traced bool              // the operation after safe has begun
	safe   int64             // the last operation that must have survived
	under  []syncOp          // operations possibly in flight, or done without a trace
	held   map[string]string // names in the directory; why one cannot be read
	data   map[string][]byte // contents of the files

	whole, wrong, missing, unreadable, returned, unfinished int
	notes                                                   []string
	losses                                                  []fault.Breach
	expected                                                int    // files that must be there
	readOnly                                                string // why nothing more can be written
}

func newSyncVerifier(dir string, step scenario.Step, fs string) *syncVerifier {
	return &syncVerifier{dir: dir, step: step, buf: make([]byte, syncMost+8), fs: fs}
}

// verifySynced judges a directory by what was written to it until operation Ops of a step.
func verifySynced(dir string, step scenario.Step, fs string) aftermath.Found {
	v := newSyncVerifier(dir, step, fs)
	v.verify()
	return aftermath.Found{Promises: v.expected + v.returned, Breaches: v.losses, ReadOnly: v.readOnly}
}

// plan is the state after an operation.
func (v *syncVerifier) plan(number int64) *syncPlan {
	p, _ := newSyncPlan(v.step) // it was good at Setup
	for p.number < number {
		p.next()
	}
	return p
}

func (v *syncVerifier) verify() {
	if broken := v.read(); broken != "" {
		// Everything that was not listed is missing.
		v.note("the directory: %s", broken)
	}
	v.findSafe()
	p := v.plan(v.safe)
	expected := slices.Clone(p.live)
	v.expected = len(expected)
	for range syncAhead {
		o := p.next()
		v.under = append(v.under, o)
		// The operation whose traces show that it began may be done, and so may those after it that
		// leave no trace, up to the next that would.
		if o.traceable() && (o.number > v.safe+1 || !v.traced) {
			break
		}
	}
	for _, f := range expected {
		v.judge(p, f)
	}
	v.rest()
	v.readOnly = writable(v.dir)
}

// read reads all names and contents, and returns why the directory cannot be listed.
func (v *syncVerifier) read() (broken string) {
	v.held, v.data = map[string]string{}, map[string][]byte{}
	tree := script.ReadTree(v.dir)
	for name, f := range tree {
		if name == "" || strings.Contains(name, "/") {
			continue
		}
		if f.Err == "" && f.Kind != "file" {
			f.Err = "it is of type " + f.Kind
		}
		v.held[name], v.data[name] = f.Err, f.Data
	}
	return tree[""].Err
}

// findSafe finds the last operation that certainly finished: the one before the last that left a
// trace.
func (v *syncVerifier) findSafe() {
	v.safe = int64(v.step.Ops)
	p := v.plan(v.safe)
	named := map[string]bool{}
	for range syncAhead {
		o := p.next()
		name := o.file.name()
		begun := false
		switch o.kind {
		case syncCreate:
			_, begun = v.held[name]
		case syncRename:
			if begun = o.traceable() && v.holds(p, o.file); begun {
				break
			}
			// A file under its temporary name belongs to the first operation that may have made it,
			// unless that one is done.
			_, begun = v.held[name+syncSuffix]
			begun = begun && !named[name]
			named[name] = named[name] || begun
		}
		if begun {
			v.safe, v.traced = o.number-1, true
		}
	}
}

// traceable operations leave evidence: a new name, or contents that are in no other file. A few
// bytes may be equal by chance, and missing data may be lost.
func (o syncOp) traceable() bool {
	return o.kind == syncCreate || o.kind == syncRename && o.file.size >= 8
}

func (v *syncVerifier) holds(p *syncPlan, f syncFile) bool {
	data, ok := v.data[f.name()]
	return ok && v.held[f.name()] == "" && bytes.Equal(data, p.contents(f, v.buf))
}

// judge classifies a file that must be there.
func (v *syncVerifier) judge(p *syncPlan, f syncFile) {
	broken, there := v.held[f.name()]
	for _, o := range v.under {
		if o.file.id != f.id {
			continue
		}
		if o.kind == syncRename && v.holds(p, o.file) {
			v.whole, v.unfinished = v.whole+1, v.unfinished+1
			return
		}
		if o.kind == syncRemove && !there {
			v.unfinished++
			return
		}
	}
	switch {
	case !there:
		v.missing++
		v.lose(f.name(), fault.Lost, "%s of %d bytes, safe since operation %d, is missing", f.name(), f.size, f.version)
	case broken != "":
		v.unreadable++
		v.lose(f.name(), fault.IOError, "%s of %d bytes, safe since operation %d, cannot be read: %s", f.name(), f.size, f.version, broken)
	case v.holds(p, f):
		v.whole++
	default:
		v.wrong++
		what, text := unlikeness(p.contents(f, v.buf), v.data[f.name()]), v.unlike(p, f)
		if other, ok := v.whose(f); ok && other.id == f.id {
			what, text = fault.Lost, text+fmt.Sprintf("; it is what operation %d wrote", other.version)
		} else if ok {
			text += fmt.Sprintf("; it is what operation %d wrote to %s", other.version, other.name())
		}
		v.lose(f.name(), what, "%s, safe since operation %d, has %d bytes, %s", f.name(), f.version, len(v.data[f.name()]), text)
	}
}

// whose finds the operation whose contents a file has instead of its own. A few bytes may be equal
// by chance.
func (v *syncVerifier) whose(f syncFile) (other syncFile, ok bool) {
	got := v.data[f.name()]
	if len(got) < 8 {
		return other, false
	}
	for p := v.plan(0); p.number < v.safe; {
		o := p.next()
		if o.kind != syncRemove && o.file.size == len(got) && bytes.Equal(got, p.contents(o.file, v.buf)) {
			other, ok = o.file, true
		}
	}
	return other, ok
}

// unlike describes how a file's contents differ from what they should be.
func (v *syncVerifier) unlike(p *syncPlan, f syncFile) string {
	want, got := p.contents(f, v.buf), v.data[f.name()]
	same := 0
	for same < min(len(want), len(got)) && want[same] == got[same] {
		same++
	}
	text := fmt.Sprintf("%d were written; the first %d are right", len(want), same)
	if rest := got[same:]; len(rest) > 0 && len(bytes.Trim(rest, "\x00")) == 0 {
		text += ", the others are zeros"
	}
	return text
}

// rest judges the names that are neither expected nor in flight.
func (v *syncVerifier) rest() {
	known := map[string]bool{}
	for _, f := range v.plan(v.safe).live {
		known[f.name()] = true
	}
	for _, o := range v.under {
		for _, name := range []string{o.file.name(), o.file.name() + syncSuffix} {
			if _, there := v.held[name]; there && !known[name] {
				v.unfinished++
			}
			known[name] = true
		}
	}
	for _, name := range slices.Sorted(maps.Keys(v.held)) {
		if !known[name] {
			v.returned++
			what := "was removed or never made"
			if strings.HasSuffix(name, syncSuffix) {
				what = "was renamed"
			}
			// A promised removal is lost.
			v.lose(name, fault.Lost, "%s %s, but is there", name, what)
		}
	}
}

// lose records a broken promise.
func (v *syncVerifier) lose(name string, o fault.Outcome, format string, args ...any) {
	v.note(format, args...)
	v.losses = append(v.losses, fault.Breach{Promise: script.PromiseFsync, Path: name, Outcome: o, What: v.notes[len(v.notes)-1]})
}

func (v *syncVerifier) note(format string, args ...any) {
	v.notes = append(v.notes, fmt.Sprintf(format, args...))
}

func (v *syncVerifier) after() (Extra, error) {
	var x Extra
	add := func(metric string, n int) {
		x.Measurements = append(x.Measurements, result.Measurement{Metric: metric, Value: float64(n), Unit: "1"})
	}
	add(result.FilesWhole, v.whole)
	add(result.FilesWrong, v.wrong)
	add(result.FilesMissing, v.missing)
	add(result.FilesUnreadable, v.unreadable)
	add(result.FilesReturned, v.returned)
	add(result.FilesUnfinished, v.unfinished)
	add(result.MountReadOnly, 0)
	if v.readOnly != "" {
		x.Measurements[len(x.Measurements)-1].Value = 1
		v.note("the filesystem accepts no more writes: %s", v.readOnly)
	}
	for i, text := range v.notes {
		if i == syncNoted {
			text = fmt.Sprintf("and %d more", len(v.notes)-i)
		}
		x.Notes = append(x.Notes, result.Note{Level: result.Warning, Text: text})
		if i == syncNoted {
			break
		}
	}
	log := kmsg.Whole()
	defer log.Close()
	for _, line := range recoveries(log.Lines(), v.fs) {
		x.Notes = append(x.Notes, result.Note{Level: result.Info, Text: KernelSaid + line})
	}
	return x, nil
}

// recoveries are the lines of the kernel log in which the filesystem, or a layer below it, reports
// damage and how it was handled.
func recoveries(log []string, fs string) []string {
	known, _ := filesystem.ByName(fs)
	said := known.ReadKernel(log)
	return slices.Concat(said.Errors, said.Replay)
}
