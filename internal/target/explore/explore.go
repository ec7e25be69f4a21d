// Package explore records what filesystems send to storage while scripts run, enumerates the states
// that a power loss can leave, has each judged (package aftermath), and makes findings of those
// that break a promise. It runs where the storage is: in the agent.
//
// States that were not judged are in no count: an exploration that ends early says so in its tally,
// and an error of our own machinery leaves no tally at all.
package explore

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"whichfs/internal/fault"
	"whichfs/internal/fault/finding"
	"whichfs/internal/fault/script"
	"whichfs/internal/fault/writelog"
	"whichfs/internal/filesystem"
	"whichfs/internal/result"
	"whichfs/internal/wire"
)

// Recording is what a filesystem sent to its storage while a script ran.
type Recording struct {
	Script script.Script
	Size   int64
	Base   fault.Image // after Setup was synced
	Log    writelog.Log
}

// Host receives the events of an exploration; each function may be nil. An error ends the
// exploration.
type Host struct {
	// Looking comes before each state is mounted.
	Looking func(wire.Looking) error
	// Found is called when something is found for the first time, if Each is set, and again, in its
	// final form, at the end of the script.
	Found    func(number wire.Looking, f finding.Finding) error
	Recorded func(index int, r Recording) error
	// Tallied is called every tellEvery states if Each is set, and at the end of each script.
	Tallied func(wire.Tallied) error
	// Each: one state after the other, so that the state on which a kernel crashed is known.
	// Otherwise up to Workers states at the same time.
	Each bool
	// Workers is how many states are judged at the same time, if the filesystem allows that; 0:
	// twice the number of processors.
	Workers int
}

const (
	// leastSize is the size of a disk in bytes, if the order specifies none.
	leastSize = 16 << 20
	// patience is the time after which a call counts as hanging: far longer than the slowest mount
	// of a small disk on an emulated processor.
	patience = 20 * time.Second
	// mostLog is the largest size of a log, in bytes; it is held in memory.
	mostLog = 256 << 20
)

// Explore carries out an order. The modules of the filesystem and of blockdev.Needs are loaded, if
// they are modules. given are the files that the order names, work is a directory for mount points.
// Errors are *result.Failure if the cause is known.
func Explore(ctx context.Context, order wire.Explore, given map[string][]byte, work string, host Host) (wire.Explored, error) {
	workers := host.Workers
	if workers <= 0 {
		// Judging is mostly waiting for requests, one after the other.
		workers = 2 * runtime.GOMAXPROCS(0)
	}
	if host.Each {
		workers = 1
	}
	return explore(ctx, order, given, work, host, workers)
}

func explore(ctx context.Context, order wire.Explore, given map[string][]byte, work string, host Host, workers int) (wire.Explored, error) {
	e, err := newExplorer(order, work, host, workers)
	if err != nil {
		return wire.Explored{}, err
	}
	defer e.close()
	switch order.Given {
	case "":
		return e.scripts(ctx)
	case "log":
		return e.log(ctx, given)
	case "finding":
		return wire.Explored{}, e.finding(ctx, given["finding"])
	}
	return wire.Explored{}, result.Refuse("", "cannot explore %q", order.Given)
}

// explorer carries out one order.
type explorer struct {
	fs       filesystem.Filesystem
	promises script.Promises
	order    wire.Explore
	host     Host
	work     string
	workers  int
	size     int64
	kernel   string
	recorder *recorder    // made on first use
	until    time.Time    // when no further state is begun; zero: never
	stages   atomic.Int64 // mount points made so far, which are numbered
}

func newExplorer(order wire.Explore, work string, host Host, workers int) (*explorer, error) {
	c := order.Candidate
	e := &explorer{fs: c.Filesystem(), order: order, work: work, host: host, workers: workers, size: order.Size}
	if order.Limit > 0 {
		e.until = time.Now().Add(time.Duration(order.Limit * float64(time.Second)))
	}
	switch {
	case e.fs.ReadOnly:
		return nil, result.Refuse("explore a filesystem that is written in place", "%s is never written in place, so a crash leaves no partial state", e.fs.Title)
	case c.Forgets() != "":
		return nil, result.Refuse("explore it with its journal on the storage", "%s", c.Forgets())
	case e.fs.Raw || c.Way != "":
		return nil, result.Refuse("whichfs run with --storage nand:SIZE cuts the power of a simulated chip", "%s is for raw flash, and crash states are made on block devices", c)
	case order.Given != "log" && order.After != (wire.Looking{}):
		return nil, result.Refuse("give the log that was recorded earlier", "a new recording of a script has other states, so it cannot continue after state %d", order.After.State)
	}
	e.promises = c.Promises() // including promises of mount options such as dirsync
	if e.size == 0 {
		e.size = SizeFor(c)
	}
	if reason, hint := c.Misfit(e.size); reason != "" && order.Given == "" {
		return nil, result.Refuse(hint, "%s", reason)
	}
	if e.fs.OneUUID {
		e.workers = 1
	}
	var uname unix.Utsname
	if err := unix.Uname(&uname); err == nil {
		e.kernel = unix.ByteSliceToString(uname.Release[:])
	}
	return e, nil
}

// SizeFor is the default size of the disk that a candidate is explored on, in bytes: the smaller it
// is, the faster is each mount.
func SizeFor(c filesystem.Candidate) int64 {
	size := max(int64(leastSize), c.Filesystem().MinSize(c))
	return (size + 1<<20 - 1) &^ (1<<20 - 1)
}

func (e *explorer) close() {
	if e.recorder != nil {
		e.recorder.close()
	}
}

// timeUp is why not everything was judged.
const timeUp = "the time was up"

// late reports whether no further state may begin.
func (e *explorer) late() bool { return !e.until.IsZero() && time.Now().After(e.until) }

func (e *explorer) patience() time.Duration {
	if e.order.Patience > 0 {
		return time.Duration(e.order.Patience * float64(time.Second))
	}
	return patience
}

// scripts records each script and has its states judged.
func (e *explorer) scripts(ctx context.Context) (wire.Explored, error) {
	var out wire.Explored
	if len(e.order.Scripts) == 0 {
		return out, result.Refuse("whichfs crash list names the scripts", "no script was given")
	}
	for i, s := range e.order.Scripts {
		if e.late() {
			out.Scripts = append(out.Scripts, finding.Tally{Script: s.Name, Stopped: timeUp})
			continue
		}
		r, err := e.record(ctx, s)
		var not *notDone
		if errors.As(err, &not) && context.Cause(ctx) == nil {
			out.Scripts = append(out.Scripts, finding.Tally{Script: s.Name, Stopped: not.Error()})
			continue
		}
		if err != nil {
			return out, fmt.Errorf("script %s: %w", s.Name, err)
		}
		if (e.order.Send || e.order.RecordOnly) && e.host.Recorded != nil {
			if err := e.host.Recorded(i, r); err != nil {
				return out, err
			}
		}
		tally := LogTally(r)
		if e.order.RecordOnly {
			tally.Stopped = "it was only recorded, as requested"
		} else if tally, err = e.states(ctx, i, r); err != nil {
			return out, fmt.Errorf("script %s: %w", s.Name, err)
		}
		out.Scripts = append(out.Scripts, tally)
	}
	return out, nil
}

// log has the states of a given log judged.
func (e *explorer) log(ctx context.Context, given map[string][]byte) (wire.Explored, error) {
	var out wire.Explored
	if e.order.RecordOnly {
		return out, result.Refuse("", "a log was given, so nothing is recorded")
	}
	var r Recording
	switch len(e.order.Scripts) {
	case 0:
		r.Script.Name = "a log of unknown origin"
	case 1:
		r.Script = e.order.Scripts[0]
	default:
		return out, result.Refuse("", "%d scripts cannot belong to one log", len(e.order.Scripts))
	}
	text, ok := given["log"]
	if !ok {
		return out, result.Refuse("", "the order needs a log, and none was given")
	}
	var err error
	if r.Log, err = writelog.Read(bytes.NewReader(text), int64(len(text))); err != nil {
		return out, &result.Failure{Outcome: result.Refused, Reason: "the given log", Hint: "record it again", Err: err}
	}
	if image, ok := given["base"]; ok {
		if r.Base, err = fault.DecodeImage(bytes.NewReader(image)); err != nil {
			return out, &result.Failure{Outcome: result.Refused, Reason: "the given base image", Hint: "record it again", Err: err}
		}
	}
	if r.Size, err = sizeOf(r, e.order.Size); err != nil {
		return out, err
	}
	r.Base.Size = r.Size
	tally, err := e.states(ctx, 0, r)
	if err != nil {
		return out, err
	}
	out.Scripts = []finding.Tally{tally}
	return out, nil
}

// sizeOf is the size of the disk of a log, or the least that it must have had.
func sizeOf(r Recording, asked int64) (int64, error) {
	end := int64(0)
	for i, entry := range r.Log.Entries {
		if entry.Flags&writelog.Mark != 0 {
			continue
		}
		const most = 1 << 40 / writelog.SectorSize
		if entry.Sector > most || entry.Sectors > most {
			return 0, result.Refuse("record it again", "entry %d of the log is at sector %d: no disk in memory is that large", i, entry.Sector)
		}
		end = max(end, int64(entry.Sector+entry.Sectors)*writelog.SectorSize)
	}
	size := max(asked, r.Base.Size)
	if size == 0 {
		size = end
	}
	size = (size + fault.BlockSize - 1) &^ (fault.BlockSize - 1)
	switch {
	case size == 0:
		return 0, result.Refuse("give the size of the disk", "the log has no writes and there is no base image, so the disk has no size")
	case end > size:
		return 0, result.Refuse("give the size of the disk that the log is of", "the log writes up to byte %d, and the disk has %d", end, size)
	}
	return size, nil
}
