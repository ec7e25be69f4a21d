package explore

import (
	"cmp"
	"math"
	"slices"

	"whichfs/internal/fault"
	"whichfs/internal/fault/finding"
	"whichfs/internal/target/aftermath"
)

// Key distinguishes the findings of one script: the outcome, and the promise of
// the first breach.
func Key(f finding.Finding) string {
	promise := ""
	if len(f.Breaches) > 0 {
		promise = f.Breaches[0].Promise
	}
	return keyOf(f.Outcome, promise)
}

func keyOf(o fault.Outcome, promise string) string {
	if promise == "" {
		return o.Key()
	}
	return o.Key() + " " + promise
}

// group is all states that show the same; the one with the lowest number represents them.
type group struct {
	key     string
	promise string // "" if it concerns none
	job     job
	seen    aftermath.Diagnosis
	same    int64
}

// groups by key.
type groups map[string]*group

// worth reports whether a state is a finding, although no promise was broken.
func worth(o fault.Outcome) bool {
	return o == fault.NeedsCheck || o == fault.Unmountable || o == fault.Hang || o == fault.Died
}

// promisesOf are the promises that a state's findings concern, each once; a single empty text if
// they concern none.
func promisesOf(s aftermath.Diagnosis) []string {
	var out []string
	for _, b := range s.Breaches {
		if !slices.Contains(out, b.Promise) {
			out = append(out, b.Promise)
		}
	}
	if len(out) == 0 && worth(s.Outcome) {
		out = append(out, "")
	}
	return out
}

// add records a state and returns the groups of which it is the first.
func (all groups) add(j job, s aftermath.Diagnosis) (fresh []*group) {
	for _, promise := range promisesOf(s) {
		key := keyOf(s.Outcome, promise)
		g := all[key]
		if g == nil {
			g = &group{key: key, promise: promise, job: j, seen: s}
			all[key] = g
			fresh = append(fresh, g)
		} else if j.number < g.job.number {
			g.job, g.seen = j, s
		}
		g.same++
	}
	return fresh
}

// sorted are the groups by the number of their state.
func (all groups) sorted() []*group {
	out := make([]*group, 0, len(all))
	for _, g := range all {
		out = append(out, g)
	}
	slices.SortFunc(out, func(a, b *group) int {
		return cmp.Or(cmp.Compare(a.job.number, b.job.number), cmp.Compare(a.key, b.key))
	})
	return out
}

// same is the number of states in each group.
func (all groups) same() map[string]int64 {
	if len(all) == 0 {
		return nil
	}
	out := map[string]int64{}
	for key, g := range all {
		out[key] = g.same
	}
	return out
}

// finding makes a finding of a group, before anything is left out of it. The explorer fills in what
// only it knows.
func (all groups) finding(g *group, r Recording, seed uint64) finding.Finding {
	f := finding.Finding{Size: r.Size, Script: r.Script, Base: r.Base, Log: r.Log, Seed: seed,
		Number: g.job.number, State: g.job.state, Began: g.job.request.began, Acked: g.job.request.acked,
		Same: g.same, Whole: "nothing was left out yet"}
	g.describe(&f, g.seen)
	return f
}

// describe fills in what was observed, the breaches of the group's promise first.
func (g *group) describe(f *finding.Finding, s aftermath.Diagnosis) {
	f.Outcome, f.Check, f.Messages = s.Outcome, s.Check, s.Messages
	f.Breaches = slices.Clone(s.Breaches)
	slices.SortStableFunc(f.Breaches, func(a, b fault.Breach) int {
		return cmp.Compare(g.rank(a), g.rank(b))
	})
}

func (g *group) rank(b fault.Breach) int {
	if b.Promise == g.promise {
		return 0
	}
	return 1
}

// shows reports whether a state shows what the group is about.
func (g *group) shows(s aftermath.Diagnosis) bool {
	return s.Outcome == g.seen.Outcome && slices.Contains(promisesOf(s), g.promise)
}

func log2(n int64) float64 {
	if n <= 0 {
		return math.Inf(-1)
	}
	return math.Log2(float64(n))
}
