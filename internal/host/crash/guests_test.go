package crash

import (
	"context"
	"errors"
	"math"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"whichfs/internal/fault/script"
	"whichfs/internal/fault/states"
	"whichfs/internal/host/machine"
	"whichfs/internal/host/machine/fake"
	"whichfs/internal/result"
	"whichfs/internal/target/explore"
	"whichfs/internal/wire"
)

// threeScripts of which only the second has states with numbers from high on.
func threeScripts(t *testing.T, guests int) (o Order, high int) {
	t.Helper()
	o = order("a", "b", "c")
	o.Scripts[1].Ops = make([]script.Op, 6)
	o.Guests = guests
	one := order("a")
	high = int(carryOut(t, faults(), one).Tallies[0].States) + 1
	return o, high
}

// comparableResult is a result without its time and number of guests, and without consoles, which
// show whatever a guest did before.
func comparableResult(r Result) Result {
	r.Looking, r.Guests = 0, 0
	r.Tallies = slices.Clone(r.Tallies)
	for i := range r.Tallies {
		r.Tallies[i].Seconds = nil
	}
	r.Deaths, r.Findings = slices.Clone(r.Deaths), slices.Clone(r.Findings)
	for i := range r.Deaths {
		r.Deaths[i].Console = nil
	}
	for i, f := range r.Findings {
		r.Findings[i].Messages = f.Messages[max(0, len(f.Messages)-1):]
	}
	return r
}

// However many guests judge, and whichever of them dies, the result is the same.
func TestGuestsAgree(t *testing.T) {
	for name, kinds := range map[string][]fake.Kind{"well": nil, "one death": {fake.Die}, "two deaths": {fake.Die, fake.Die}, "too many": {fake.Die, fake.Die, fake.Die, fake.Die, fake.Die}} {
		t.Run(name, func(t *testing.T) {
			var want Result
			for guests := 1; guests <= 4; guests++ {
				o, high := threeScripts(t, guests)
				o.Minimise, o.Restarts = true, 9
				all := []fake.Fault{at(fake.Subject, 3, 0)}
				for i, k := range kinds {
					all = append(all, at(k, high+2*i, 1))
				}
				m := faults(all...)
				r := carryOut(t, m, o)
				if r.Guests != min(guests, 3) || m.Sessions() != r.Guests+min(len(kinds), 4) && len(kinds) < 4 {
					t.Errorf("%d guests requested: %d, %d sessions", guests, r.Guests, m.Sessions())
				}
				if guests == 1 {
					if want = r; len(r.Deaths) != min(len(kinds), 4) || len(r.Tallies) != 3 || len(r.Findings) < 3 || (r.Tallies[1].Stopped != "") != (len(kinds) > 3) {
						t.Fatalf("%+v", r)
					}
					continue
				}
				if got := comparableResult(r); !reflect.DeepEqual(got, comparableResult(want)) {
					t.Errorf("%d guests:\n%+v\none:\n%+v", guests, got, comparableResult(want))
				}
			}
		})
	}
}

// Progress is reported by the caller's goroutine and never decreases.
func TestProgressNeverDecreases(t *testing.T) {
	o, _ := threeScripts(t, 2)
	o.States.Most = 12
	last, seen := 0.0, map[string]bool{} // unguarded: the race detector watches
	_, err := Run(t.Context(), faults(), SpecFor("lab", ""), o, func(p wire.Progress) {
		if p.Share < last || p.Share > 1 {
			t.Errorf("%v after %v", p, last)
		}
		last = p.Share
		name, _, _ := strings.Cut(p.What, ":")
		seen[name] = true
	})
	if err != nil || last < 0.8 || !seen["a"] || !seen["b"] || !seen["c"] {
		t.Errorf("%v at the end, of %v: %v", last, seen, err)
	}
}

// barred is a machine that refuses the second and later sessions.
type barred struct {
	machine.Machine
	mu     sync.Mutex
	starts int
}

func (b *barred) Start(ctx context.Context, spec machine.Spec) (machine.Session, error) {
	b.mu.Lock()
	b.starts++
	bar := b.starts > 1
	b.mu.Unlock()
	if bar {
		return nil, result.Fail(result.LabFailed, "", "no more guests")
	}
	return b.Machine.Start(ctx, spec)
}

// The first error ends the other guests and is the only one; a cancelled order ends them all.
func TestFirstErrorEndsAllGuests(t *testing.T) {
	o, high := threeScripts(t, 2)
	r, err := Run(t.Context(), faults(at(fake.Lab, high, 1)), SpecFor("lab", ""), o, nil)
	var e *result.Failure
	if !errors.As(err, &e) || e.Outcome != result.LabFailed || !strings.HasPrefix(err.Error(), "script b: ") || errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
	for _, one := range r.Tallies {
		if one.Script == "b" || one.States == 0 {
			t.Errorf("%+v", one)
		}
	}
	o, _ = threeScripts(t, 2)
	if _, err := Run(t.Context(), &barred{Machine: faults()}, SpecFor("lab", ""), o, nil); err == nil || !strings.Contains(err.Error(), "no more guests") {
		t.Errorf("%v", err)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	why := errors.New("enough")
	o, _ = threeScripts(t, 3)
	r, err = Run(ctx, faults(), SpecFor("lab", ""), o, func(p wire.Progress) {
		if strings.Contains(p.What, "state 2") {
			cancel(why)
		}
	})
	if !errors.Is(err, why) || len(r.Tallies) == 3 || len(r.Recordings) != 3 {
		t.Errorf("%v, %+v", err, r.Tallies)
	}
}

// Ending the minimisation keeps the states judged so far, and each finding says why it was not
// minimised.
func TestEndWhileMinimising(t *testing.T) {
	for _, guests := range []int{1, 2} {
		o, _ := threeScripts(t, guests)
		o.Scripts = o.Scripts[:2]
		o.Minimise = true
		ctx, cancel := context.WithCancelCause(t.Context())
		why := errors.New("enough")
		r, err := Run(ctx, faults(at(fake.Subject, 3, 0)), SpecFor("lab", ""), o, func(p wire.Progress) {
			if strings.Contains(p.What, "minimising finding") {
				cancel(why)
			}
		})
		if !errors.Is(err, why) || len(r.Tallies) == 0 || r.Tallies[0].States < 10 || !r.Tallies[0].All || len(r.Findings) == 0 {
			t.Fatalf("%v, %+v", err, r)
		}
		if f := r.Findings[0]; f.Minimal || !strings.Contains(f.Whole, "enough") || f.Same != 1 {
			t.Errorf("%+v", f)
		}
	}
}

// A script whose findings cost more guests than allowed keeps them as they were.
func TestDeathsWhileMinimising(t *testing.T) {
	o := order("a")
	o.Minimise, o.Restarts = true, 1
	// The first death is from judging; that at 3 comes when the state is judged again.
	r := carryOut(t, faults(at(fake.Subject, 3, 1), at(fake.Die, 5, 1), at(fake.Die, 3, 0)), o)
	if len(r.Tallies) != 1 || r.Tallies[0].Stopped != "" || len(r.Deaths) != 2 {
		t.Fatalf("%+v", r)
	}
	for _, f := range r.Findings {
		if f.Minimal || f.Whole == "" {
			t.Errorf("%+v", f)
		}
	}
}

func TestShareOut(t *testing.T) {
	for _, one := range []struct{ restarts, scripts, want int }{{20, 1, 20}, {20, 4, 5}, {20, 3, 7}, {20, 50, 3}, {2, 1, 2}, {2, 9, 2}, {1, 2, 1}} {
		r := &run{order: Order{Restarts: one.restarts}}
		r.out.Recordings = append(r.out.Recordings, make([]explore.Recording, one.scripts)...)
		if got := r.restarts(); got != one.want {
			t.Errorf("%+v: %d", one, got)
		}
	}
}

func TestGuestsFor(t *testing.T) {
	o := order("a", "b")
	for _, one := range []struct {
		m         machine.Machine
		asked     int
		alone     bool
		least, to int
	}{{faults(), 1, false, 1, 1}, {faults(), 7, false, 2, 2}, {faults(), 0, false, 1, 2}, {host{}, 0, false, 1, 1}, {host{}, 2, false, 2, 2}, {faults(), 2, true, 1, 1}} {
		o.Guests, o.RecordOnly = one.asked, one.alone
		if got := guestsFor(one.m, o); got < one.least || got > one.to {
			t.Errorf("%+v: %d", one, got)
		}
	}
	o = Order{Explore: wire.Explore{Given: "log", States: states.Options{Seed: 1}}}
	if got := guestsFor(faults(), o); got != 1 {
		t.Errorf("a log: %d", got)
	}
}

// host is a machine whose sessions last.
type host struct{ machine.Machine }

func (host) Lasting() bool { return true }

func TestTogether(t *testing.T) {
	at := func(s float64) time.Time { return time.Unix(1000, int64(s*1e9)) }
	all := []span{{at(5), at(6)}, {at(0), at(2)}, {at(1), at(3)}, {at(1.5), at(1.75)}}
	if got := together(all); math.Abs(got-4) > 1e-9 {
		t.Errorf("%v s, want 4", got)
	}
}
