package explore

import (
	"context"
	"fmt"
	"iter"
	"maps"
	"sync"

	"whichfs/internal/fault"
	"whichfs/internal/fault/finding"
	"whichfs/internal/fault/states"
	"whichfs/internal/target/aftermath"
	"whichfs/internal/wire"
)

const (
	// mostHangs is the number of hanging states after which a script is abandoned.
	mostHangs = 3
	// tellEvery: the host receives the tally every Nth state.
	tellEvery = 64
)

// view is where states are made and judged, one after the other.
type view interface {
	// set makes contents of the base and changed blocks, which may change afterwards.
	set(changed []states.Block) error
	// judge classifies the state that was set. An error is ours, not the filesystem's.
	judge(ctx context.Context, r request) (aftermath.Diagnosis, error)
	// do runs f, in which judge costs less. If a call does not return, f never goes on, and do returns
	// the diagnosis of the state that was being judged, with left true.
	do(f func()) (d aftermath.Diagnosis, left bool)
	// left: a call did not return, and the view is no longer usable.
	left() bool
	close()
}

// request says how far the script had come, and whether to check.
type request struct {
	began, acked int
	check        bool // by the filesystem's own tool
}

// pool has all states of one recording judged, in the order of their numbers, by one or more
// workers. The result does not depend on their number.
type pool struct {
	ctx       context.Context
	rec       Recording
	marks     aftermath.Progress
	options   states.Options
	every     int // every Nth state is checked; 0: none
	host      Host
	index     int                  // of the script
	after     int64                // number of the last state that was judged earlier
	skip      map[int64]bool       // states not to be judged
	fresh     func() (view, error) // a new one
	mostHangs int
	late      func() bool // no further state may begin; nil: never
	until     string      // key of a group whose first state suffices; "": judge all

	mu     sync.Mutex
	states <-chan []numbered
	batch  []numbered // the rest of the last one of states
	maker  *states.Maker
	had    map[situation]bool
	nth    int64 // number of distinct states so far
	whole  int64 // number of states without torn writes so far
	last   int64 // number of the last state
	hangs  int
	over   bool
	err    error
	tally  finding.Tally
	groups groups
}

// situation is what makes two states equal: the contents of the disk, and what was promised about
// them.
type situation struct {
	hash         states.Hash
	began, acked int
}

// numbered is a state with its number.
type numbered struct {
	number int64
	state  states.State
}

// ahead enumerates states on a goroutine of its own, in batches, until stop is closed. A worker is
// bound to a thread, to which each state alone would be handed over, and an iter.Pull cannot move
// from one thread to another.
func ahead(all iter.Seq2[int64, states.State], stop <-chan struct{}) <-chan []numbered {
	const size = 64
	out := make(chan []numbered, 1)
	go func() {
		defer close(out)
		var batch []numbered
		send := func() bool {
			select {
			case out <- batch:
				batch = nil
				return true
			case <-stop:
				return false
			}
		}
		for number, state := range all {
			if batch = append(batch, numbered{number, state}); len(batch) == size && !send() {
				return
			}
		}
		send()
	}()
	return out
}

// next is the next state; not ok: there is none.
func (p *pool) next() (number int64, s states.State, ok bool) {
	for len(p.batch) == 0 {
		if p.batch, ok = <-p.states; !ok {
			return 0, s, false
		}
	}
	first := p.batch[0]
	p.batch = p.batch[1:]
	return first.number, first.state, true
}

// job is one state to judge.
type job struct {
	number  int64
	state   states.State
	request request
}

// run has everything judged by a number of workers.
func (p *pool) run(workers int) (finding.Tally, groups, error) {
	p.maker = states.NewMaker(p.rec.Base, p.rec.Log)
	p.had, p.tally, p.groups = map[situation]bool{}, LogTally(p.rec), groups{}
	stop := make(chan struct{})
	defer close(stop)
	p.states = ahead(states.All(p.rec.Log, p.options), stop)
	var wg sync.WaitGroup
	for range max(workers, 1) {
		wg.Go(p.work)
	}
	wg.Wait()
	if p.err != nil {
		return finding.Tally{}, nil, p.err
	}
	// Possible is a rounded logarithm.
	p.tally.All = p.tally.Stopped == "" && p.options.From == 0 && p.options.To == 0 && log2(p.whole) >= p.tally.Possible-1e-9
	return p.tally, p.groups, p.tell(p.last)
}

// tellAs sends the host the final form of the tally.
func (p *pool) tellAs(t finding.Tally) error {
	p.tally = t
	return p.tell(p.last)
}

// work is the loop of one worker, which takes another view when a call into its own does not
// return.
func (p *pool) work() {
	for {
		v, err := p.fresh()
		if err != nil {
			p.fail(err)
			return
		}
		var j job
		got, left := v.do(func() {
			for ok := true; ok && !v.left(); {
				if j, ok = p.take(v); ok {
					got, err := v.judge(p.ctx, j.request)
					p.done(j, got, err)
				}
			}
		})
		if left {
			p.done(j, got, nil)
		}
		left = v.left()
		v.close()
		if !left {
			return
		}
	}
}

// done records the outcome of a state, or why there is none.
func (p *pool) done(j job, got aftermath.Diagnosis, err error) {
	if err == nil {
		err = context.Cause(p.ctx) // an interrupted judgement is not a result
	}
	if err != nil {
		p.fail(fmt.Errorf("state %d: %w", j.number, err))
		return
	}
	p.settle(j, got)
}

func (p *pool) fail(err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.err == nil {
		p.err = err
	}
	p.over = true
}

// take makes the next state that has not been judged; not ok: none is left.
func (p *pool) take(v view) (job, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for !p.over {
		if p.err = context.Cause(p.ctx); p.err != nil {
			break
		}
		if p.late != nil && p.late() {
			p.tally.Stopped = timeUp
			break
		}
		begun := aftermath.Now()
		number, state, ok := p.next()
		if !ok {
			break
		}
		p.last = number
		if state.Torn == nil {
			p.whole++
		}
		j := job{number: number, state: state}
		j.request.began, j.request.acked = p.marks.At(state.Point)
		changed, hash := p.maker.Make(state)
		at := situation{hash, j.request.began, j.request.acked}
		equal := p.had[at]
		if !equal {
			p.had[at] = true
			p.nth++
		}
		if equal || number <= p.after || p.skip[number] {
			if equal && number > p.after {
				p.tally.Equal++
			}
			p.tally.Seconds[aftermath.StageNames[aftermath.Make]] += (aftermath.Now() - begun).Seconds()
			continue
		}
		j.request.check = p.every > 0 && p.nth%int64(p.every) == 0
		if p.err = v.set(changed); p.err != nil {
			break
		}
		if p.host.Looking != nil {
			if p.err = p.host.Looking(wire.Looking{Script: p.index, State: number}); p.err != nil {
				break
			}
		}
		p.tally.Seconds[aftermath.StageNames[aftermath.Make]] += (aftermath.Now() - begun).Seconds()
		return j, true
	}
	p.over = true
	return job{}, false
}

// settle counts the outcome of a state.
func (p *pool) settle(j job, got aftermath.Diagnosis) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.err != nil {
		return
	}
	aftermath.Count(&p.tally, &got)
	fresh := p.groups.add(j, got)
	if got.Outcome == fault.Hang || got.Outcome == fault.Died {
		p.hangs++
		if p.hangs >= p.mostHangs {
			p.over = true
			p.tally.Stopped = fmt.Sprintf("%d states hang, and their resources cannot be freed", p.hangs)
		}
	}
	if p.until != "" && p.groups[p.until] != nil {
		p.over = true
	}
	if !p.host.Each {
		return
	}
	for _, g := range fresh {
		if p.host.Found != nil && p.err == nil {
			p.err = p.host.Found(wire.Looking{Script: p.index, State: j.number}, p.groups.finding(g, p.rec, p.options.Seed))
		}
	}
	if p.err == nil && (p.tally.States%tellEvery == 0 || len(fresh) > 0) {
		p.err = p.tell(j.number)
	}
	p.over = p.over || p.err != nil
}

// tell sends the host the tally of all states up to a number.
func (p *pool) tell(number int64) error {
	if p.host.Tallied == nil {
		return nil
	}
	t := p.tally
	t.Outcomes, t.Seconds = maps.Clone(t.Outcomes), maps.Clone(t.Seconds)
	return p.host.Tallied(wire.Tallied{Looking: wire.Looking{Script: p.index, State: number}, Tally: t, Same: p.groups.same()})
}
