package explore

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"reflect"
	"runtime"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"whichfs/internal/fault"
	"whichfs/internal/fault/finding"
	"whichfs/internal/fault/script"
	"whichfs/internal/fault/states"
	"whichfs/internal/fault/writelog"
	"whichfs/internal/target/aftermath"
	"whichfs/internal/wire"
)

// sectorOf is a write of one sector full of a byte.
func sectorOf(sector uint64, with byte) writelog.Entry {
	return writelog.Entry{Sector: sector, Sectors: 1, Data: bytes.Repeat([]byte{with}, writelog.SectorSize)}
}

func markOf(what string, number int) writelog.Entry {
	return writelog.Entry{Flags: writelog.Mark, Data: []byte(fmt.Sprintf("%s %d", what, number))}
}

var flush = writelog.Entry{Flags: writelog.Flush}

// careless acknowledges writes that become durable only later: block 1 before the flush, blocks 3
// and 4 without any.
func careless() Recording {
	return Recording{Script: script.Script{Name: "careless"}, Size: 64 << 10, Base: fault.Image{Size: 64 << 10},
		Log: writelog.Log{Entries: []writelog.Entry{
			markOf(script.Begin, 1), sectorOf(8, 1), markOf(script.End, 1), flush,
			markOf(script.Begin, 2), sectorOf(16, 2), flush, markOf(script.End, 2),
			markOf(script.Begin, 3), sectorOf(24, 3), sectorOf(32, 4), sectorOf(40, 5), markOf(script.End, 3),
		}}}
}

// table is a view without a filesystem: acknowledged writes must be in the blocks with their
// number.
type table struct {
	base   fault.Image
	now    map[int64][]byte
	looked *atomic.Int64
	hangs  func(blocks map[int64][]byte) bool
	hung   bool
	closed *atomic.Int64
}

func (t *table) set(changed []states.Block) error {
	t.now = map[int64][]byte{}
	for _, b := range changed {
		t.now[b.Number] = bytes.Clone(b.Data)
	}
	return nil
}

// do is cut short by a judgement that does not return.
func (t *table) do(f func()) (d aftermath.Diagnosis, left bool) {
	ended := make(chan struct{})
	go func() { defer close(ended); f() }()
	<-ended
	if t.hung {
		d.Outcome = fault.Hang
	}
	return d, t.hung
}

func (t *table) left() bool { return t.hung }

func (t *table) close() { t.closed.Add(1) }

func (t *table) judge(_ context.Context, r request) (aftermath.Diagnosis, error) {
	if t.hung {
		return aftermath.Diagnosis{}, errors.New("it was left, and is to judge")
	}
	t.looked.Add(1)
	if t.hangs != nil && t.hangs(t.now) {
		t.hung = true
		runtime.Goexit()
	}
	out := aftermath.Diagnosis{Outcome: fault.Whole, Found: aftermath.Found{Promises: r.acked}, Checked: r.check}
	out.Stages[aftermath.Mount] = time.Microsecond
	for op := 1; op <= r.acked; op++ {
		for block := op; block <= op+2; block++ {
			if block > op && op < 3 {
				continue // only the third has several
			}
			data := t.now[int64(block)]
			if len(data) == 0 || data[0] != byte(block) {
				out.Breaches = append(out.Breaches, fault.Breach{Promise: fmt.Sprintf("kept-%d", op), Outcome: fault.Lost, What: "gone"})
				break
			}
		}
	}
	if len(out.Breaches) > 0 {
		out.Outcome = fault.Lost
	}
	return out, nil
}

// poolOf is a pool on tables.
func poolOf(r Recording, change func(*table)) (*pool, *atomic.Int64, *atomic.Int64) {
	looked, closed := &atomic.Int64{}, &atomic.Int64{}
	ctx := context.Background()
	p := &pool{ctx: ctx, rec: r, marks: aftermath.ReadMarks(r.Log), options: states.Options{Seed: 3}, mostHangs: mostHangs}
	p.fresh = func() (view, error) {
		t := &table{base: r.Base, looked: looked, closed: closed}
		if change != nil {
			change(t)
		}
		return t, nil
	}
	return p, looked, closed
}

// withoutTime are the numbers that are the same every time.
func withoutTime(t finding.Tally) finding.Tally {
	t.Seconds = nil
	return t
}

// summary describes the groups.
func summary(all groups) []string {
	var out []string
	for _, g := range all.sorted() {
		out = append(out, fmt.Sprintf("%s: %d times, first %d: %+v", g.key, g.same, g.job.number, g.job.state))
	}
	return out
}

// All states are judged, equal ones once, and losses are found.
func TestPoolFindsLosses(t *testing.T) {
	p, looked, closed := poolOf(careless(), nil)
	tally, all, err := p.run(1)
	if err != nil {
		t.Fatal(err)
	}
	if tally.States != looked.Load() || tally.States == 0 || tally.Outcomes["lost"] == 0 || tally.Outcomes["whole"]+tally.Outcomes["lost"] != tally.States {
		t.Errorf("%+v, %d judged", tally, looked.Load())
	}
	if tally.Entries != 13 || tally.Writes != 5 || tally.Flushes != 2 || !tally.All || tally.Stopped != "" || tally.Promises == 0 || tally.Broken == 0 {
		t.Errorf("%+v", tally)
	}
	var keys []string
	for _, g := range all.sorted() {
		keys = append(keys, g.key)
	}
	if want := []string{"lost kept-1", "lost kept-3"}; !slices.Equal(keys, want) {
		t.Errorf("found %q, want %q: what was flushed before it was acknowledged is not among them", keys, want)
	}
	if closed.Load() != 1 {
		t.Errorf("%d of 1 places were given up", closed.Load())
	}
}

// The result does not depend on the number of workers, nor on the time.
func TestPoolIsDeterministic(t *testing.T) {
	var want finding.Tally
	var groups []string
	for i, workers := range []int{1, 1, 2, 4} {
		p, _, _ := poolOf(careless(), nil)
		p.every = 3
		tally, all, err := p.run(workers)
		if err != nil {
			t.Fatal(err)
		}
		if i == 0 {
			want, groups = withoutTime(tally), summary(all)
			if want.Checked == 0 {
				t.Error("nothing was checked")
			}
		} else if !reflect.DeepEqual(withoutTime(tally), want) || !slices.Equal(summary(all), groups) {
			t.Errorf("%d workers: %+v, %q; want %+v, %q", workers, tally, summary(all), want, groups)
		}
	}
}

// When the time is up, the tally has the states judged so far, and says that not all were.
func TestPoolOutOfTime(t *testing.T) {
	p, looked, _ := poolOf(careless(), nil)
	p.late = func() bool { return looked.Load() == 3 }
	tally, _, err := p.run(1)
	if err != nil || tally.States != 3 || tally.Stopped != timeUp || tally.All {
		t.Errorf("%+v, %v", tally, err)
	}
}

// A measurement binds the calling goroutine to its thread.
func TestPoolOnALockedThread(t *testing.T) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	p, _, _ := poolOf(careless(), nil)
	if tally, _, err := p.run(2); err != nil || tally.States == 0 {
		t.Errorf("%+v, %v", tally, err)
	}
}

// Continuing after a state, and around one that crashed a guest, judges each of the others once and
// yields the same counts.
func TestPoolContinuesAfterDeath(t *testing.T) {
	whole, _, _ := poolOf(careless(), nil)
	all, _, err := whole.run(1)
	if err != nil {
		t.Fatal(err)
	}
	var numbers []int64
	first, _, _ := poolOf(careless(), nil)
	first.host.Looking = func(l wire.Looking) error { numbers = append(numbers, l.State); return nil }
	if _, _, err := first.run(1); err != nil {
		t.Fatal(err)
	}
	cut, dead := numbers[len(numbers)/3], numbers[len(numbers)/2]
	died := errors.New("the guest died")
	var told wire.Tallied
	before, _, _ := poolOf(careless(), nil)
	before.host = Host{Each: true,
		Tallied: func(tallied wire.Tallied) error { told = tallied; return nil },
		Looking: func(l wire.Looking) error {
			if l.State > cut {
				return died
			}
			return nil
		}}
	if _, _, err := before.run(1); !errors.Is(err, died) {
		t.Fatalf("%v", err)
	}
	after, _, _ := poolOf(careless(), nil)
	after.after, after.skip = told.State, map[int64]bool{dead: true}
	rest, _, err := after.run(1)
	if err != nil {
		t.Fatal(err)
	}
	if told.State == 0 || told.Tally.States == 0 {
		t.Fatalf("nothing was reported: %+v", told)
	}
	if sum := told.Tally.States + rest.States + 1; sum != all.States {
		t.Errorf("%d before, %d after, 1 died: %d of %d", told.Tally.States, rest.States, sum, all.States)
	}
	if equal := told.Tally.Equal + rest.Equal; equal > all.Equal {
		t.Errorf("%d equal ones, of %d", equal, all.Equal)
	}
}

// A judgement that does not return costs its state and its place; after three of them the script is
// abandoned, and its tally says so.
func TestPoolOutlivesHangs(t *testing.T) {
	for hangs, stopped := range map[int64]bool{1: false, 3: true} {
		var had atomic.Int64
		p, _, closed := poolOf(careless(), func(tab *table) {
			tab.hangs = func(blocks map[int64][]byte) bool { return len(blocks) > 1 && had.Add(1) <= hangs }
		})
		tally, all, err := p.run(1)
		if err != nil {
			t.Fatal(err)
		}
		if tally.Outcomes["hang"] != hangs || all["hang"] == nil || all["hang"].same != hangs || (tally.Stopped != "") != stopped || tally.All == stopped {
			t.Errorf("%d hangs: %+v", hangs, tally)
		}
		if int64(tally.Outcomes["hang"]+tally.Outcomes["whole"]+tally.Outcomes["lost"]) != tally.States {
			t.Errorf("%+v", tally)
		}
		if n := closed.Load(); n != hangs && n != hangs+1 { // after the last hang nothing may be left to judge
			t.Errorf("%d hangs, and %d places were given up", hangs, n)
		}
	}
}

// An error of our own leaves no tally, and neither does an interrupted judgement.
func TestPoolFails(t *testing.T) {
	p, _, _ := poolOf(careless(), nil)
	ctx, cancel := context.WithCancelCause(context.Background())
	p.ctx = ctx
	why := errors.New("enough")
	p.host.Looking = func(l wire.Looking) error {
		if l.State > 5 {
			cancel(why)
		}
		return nil
	}
	if tally, all, err := p.run(2); !errors.Is(err, why) || tally.States != 0 || all != nil {
		t.Errorf("%+v, %v", tally, err)
	}
	p, _, _ = poolOf(careless(), nil)
	p.fresh = func() (view, error) { return nil, why }
	if _, _, err := p.run(2); !errors.Is(err, why) {
		t.Errorf("%v", err)
	}
}
