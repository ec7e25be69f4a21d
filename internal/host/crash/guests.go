package crash

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"whichfs/internal/fault/finding"
	"whichfs/internal/wire"
)

// looked is the outcome of one recording.
type looked struct {
	index    int
	tally    finding.Tally
	findings []finding.Finding
	deaths   []Death
	whole    bool // all states were judged
	err      error
}

// news is a message from a guest's goroutine to the calling one: the progress of a recording, or
// with done its outcome.
type news struct {
	index int
	share float64
	what  string
	done  *looked
}

// span is a period in which a guest judged states.
type span struct{ from, to time.Time }

// lookAll has the recordings judged, each by the guest that is free first. The outcomes are
// combined in the order of the scripts.
func (r *run) lookAll(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	jobs := make(chan int, len(r.out.Recordings))
	shares := make([]float64, len(r.out.Recordings))
	for i, one := range r.out.Recordings {
		if len(one.Log.Entries) == 0 {
			shares[i] = 1 // its tally says why
			continue
		}
		jobs <- i
	}
	close(jobs)
	r.out.Guests = max(1, min(len(r.look), len(jobs)))
	told := make(chan news)
	spans := make([][]span, len(r.look))
	var guests sync.WaitGroup
	for g, k := range r.look[:r.out.Guests] {
		guests.Go(func() { r.guest(ctx, k, jobs, told, &spans[g]) })
	}
	go func() { guests.Wait(); close(told) }()
	all := make([]*looked, len(r.out.Recordings))
	var first error
	for n := range told {
		switch {
		case n.done == nil:
			shares[n.index] = max(shares[n.index], n.share)
			if r.tell != nil {
				r.tell(wire.Progress{What: n.what, Share: mean(shares)})
			}
			continue
		case n.done.err == nil:
			shares[n.index] = 1
		case first == nil: // later ones are its consequence
			first = fmt.Errorf("script %s: %w", r.out.Recordings[n.index].Script.Name, n.done.err)
			cancel()
		}
		all[n.index] = n.done
	}
	r.out.Looking = together(slices.Concat(spans...))
	r.gather(all)
	return first
}

// guest has one recording after the other judged, until none is left or ctx is over.
func (r *run) guest(ctx context.Context, k *keeper, jobs <-chan int, told chan<- news, spans *[]span) {
	for i := range jobs {
		if ctx.Err() != nil {
			told <- news{index: i, done: &looked{index: i, err: context.Cause(ctx)}}
			return
		}
		l := &looker{run: r, keeper: k, one: r.out.Recordings[i], budget: &budget{left: r.restarts()},
			say: func(share float64, format string, args ...any) {
				told <- news{index: i, share: share, what: fmt.Sprintf(format, args...)}
			},
			looked: func(from, to time.Time) { *spans = append(*spans, span{from, to}) },
		}
		d := looked{index: i}
		d.tally, d.findings, d.whole, d.err = l.explore(ctx)
		d.deaths = l.budget.deaths
		told <- news{index: i, done: &d}
		if d.err != nil {
			return
		}
	}
}

// restarts is how many deaths one script may cost.
func (r *run) restarts() int {
	n := len(r.out.Recordings)
	return max((r.order.Restarts+n-1)/n, min(r.order.Restarts, leastRestarts))
}

// gather combines the outcomes; scripts that were not, or not completely, judged have no tally.
func (r *run) gather(all []*looked) {
	var tallies []finding.Tally
	for i, d := range all {
		switch {
		case d != nil && d.whole:
			tallies = append(tallies, d.tally)
		case len(r.out.Recordings[i].Log.Entries) == 0:
			tallies = append(tallies, r.out.Tallies[i])
		}
		if d != nil {
			r.out.Findings = append(r.out.Findings, d.findings...)
			r.out.Deaths = append(r.out.Deaths, d.deaths...)
		}
	}
	r.out.Tallies = tallies
}

// together is how long at least one of the spans lasted, in seconds.
func together(all []span) float64 {
	slices.SortFunc(all, func(a, b span) int { return cmp.Or(a.from.Compare(b.from), a.to.Compare(b.to)) })
	var sum time.Duration
	var end time.Time
	for _, s := range all {
		if s.from.Before(end) {
			s.from = end
		}
		if s.to.After(s.from) {
			sum, end = sum+s.to.Sub(s.from), s.to
		}
	}
	return sum.Seconds()
}

func mean(all []float64) float64 {
	sum := 0.0
	for _, s := range all {
		sum += s
	}
	return sum / float64(len(all))
}
