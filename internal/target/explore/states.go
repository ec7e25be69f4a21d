package explore

import (
	"bytes"
	"context"
	"fmt"

	"whichfs/internal/fault"
	"whichfs/internal/fault/finding"
	"whichfs/internal/fault/script"
	"whichfs/internal/fault/states"
	"whichfs/internal/result"
	"whichfs/internal/target/aftermath"
	"whichfs/internal/target/blockdev"
	"whichfs/internal/wire"
)

// states has all states of a recording judged, and the state of each finding once more, closely.
func (e *explorer) states(ctx context.Context, index int, r Recording) (finding.Tally, error) {
	p, err := e.newPool(ctx, index, r)
	if err != nil {
		return finding.Tally{}, err
	}
	tally, all, err := p.run(e.workers)
	if err != nil || len(all) == 0 {
		return tally, err
	}
	b := e.newBench(p, p.last)
	defer b.close()
	looked := map[int64]aftermath.Diagnosis{}
	for _, g := range all.sorted() {
		f := all.finding(g, r, p.options.Seed)
		if err := e.closely(ctx, b, g, &f, looked, &tally); err != nil {
			return finding.Tally{}, err
		}
		if p.host.Found != nil {
			if err := p.host.Found(wire.Looking{Script: index, State: g.job.number}, f); err != nil {
				return finding.Tally{}, err
			}
		}
	}
	return tally, p.tellAs(tally)
}

// newPool prepares to judge the states of a recording as ordered.
func (e *explorer) newPool(ctx context.Context, index int, r Recording) (*pool, error) {
	base, err := blockdev.NewContents(r.Base)
	if err != nil {
		return nil, &result.Failure{Outcome: result.Refused, Reason: "the base image", Err: err}
	}
	host := e.host
	if told := host.Found; told != nil {
		host.Found = func(number wire.Looking, f finding.Finding) error { return told(number, e.signed(f)) }
	}
	p := &pool{ctx: ctx, rec: r, marks: aftermath.ReadMarks(r.Log), options: e.order.States, every: e.order.Check,
		host: host, index: index, late: e.late, after: e.order.After.State, skip: map[int64]bool{}, mostHangs: mostHangs}
	if e.fs.OneUUID {
		// The disk that is left behind stays mounted, and another one with the same UUID could not
		// be mounted.
		p.mostHangs = 1
	}
	for _, n := range e.order.Skip {
		p.skip[n] = true
	}
	p.fresh = func() (view, error) {
		judge, err := script.NewJudge(r.Script, e.promises, e.fs.Own...)
		if err != nil {
			return nil, fmt.Errorf("script %s: %w", r.Script.Name, err)
		}
		return e.newPlace(r, base, judge)
	}
	return p, nil
}

// signed fills in the origin of a finding.
func (e *explorer) signed(f finding.Finding) finding.Finding {
	f.Format, f.Kernel, f.Candidate = finding.Format, e.kernel, e.order.Candidate.String()
	return f
}

// closely has the state of a finding judged again, with the filesystem's tool, and minimises the
// finding if requested.
func (e *explorer) closely(ctx context.Context, b *bench, g *group, f *finding.Finding, looked map[int64]aftermath.Diagnosis, tally *finding.Tally) error {
	if g.seen.Outcome == fault.Hang || g.seen.Outcome == fault.Died {
		f.Whole = "each smaller try would cost another kernel thread"
		return nil
	}
	got, ok := looked[g.job.number]
	if !ok {
		var err error
		if got, err = b.try(g.job.state, g.job.request, true); err != nil {
			return err
		}
		looked[g.job.number] = got
		if got.Checked && !g.seen.Checked {
			tally.Checked++
			if got.Dirty {
				tally.Dirty++
			}
		}
	}
	if !g.shows(got) {
		f.Whole = fmt.Sprintf("when judged again, the state had another outcome (%s)", got.Outcome.Key())
		return nil
	}
	g.describe(f, got)
	if !e.order.Minimise {
		f.Whole = "it was not requested"
		return nil
	}
	return e.minimise(ctx, b, g, f)
}

// finding has the one state of a finding's file judged again.
func (e *explorer) finding(ctx context.Context, file []byte) error {
	if file == nil {
		return result.Refuse("", "the order needs a finding, and none was given")
	}
	was, err := finding.Decode(bytes.NewReader(file))
	if err != nil {
		return &result.Failure{Outcome: result.Refused, Reason: "the given finding", Err: err}
	}
	r := Recording{Script: was.Script, Size: was.Size, Base: was.Base, Log: was.Log}
	r.Base.Size = r.Size
	e.size = r.Size
	p, err := e.newPool(ctx, 0, r)
	if err != nil {
		return err
	}
	b := e.newBench(p, was.Number)
	defer b.close()
	g := &group{job: job{number: was.Number, state: was.State, request: request{began: was.Began, acked: was.Acked}}}
	at := wire.Looking{State: was.Number}
	if g.seen, err = b.try(g.job.state, g.job.request, true); err != nil {
		return err
	}
	f := was
	if len(was.Breaches) > 0 {
		g.promise = was.Breaches[0].Promise
	}
	g.describe(&f, g.seen)
	g.key = Key(f)
	same := g.key == Key(was)
	if e.order.Minimise && same && f.Outcome != fault.Hang && f.Outcome != fault.Died {
		if err := e.minimise(ctx, b, g, &f); err != nil {
			return err
		}
	}
	if p.host.Found == nil {
		return nil
	}
	return p.host.Found(at, f)
}

// bench judges single states of a recording.
type bench struct {
	ctx   context.Context
	maker *states.Maker
	fresh func() (view, error)
	at    view
	// tell tells the host that a state is about to be mounted.
	tell func() error
}

// newBench makes one; for the host everything that it judges is the state of number.
func (e *explorer) newBench(p *pool, number int64) *bench {
	b := &bench{ctx: p.ctx, maker: states.NewMaker(p.rec.Base, p.rec.Log), fresh: p.fresh, tell: func() error { return nil }}
	if told := p.host.Looking; told != nil {
		b.tell = func() error { return told(wire.Looking{Script: p.index, State: number}) }
	}
	return b
}

func (b *bench) try(s states.State, r request, check bool) (aftermath.Diagnosis, error) {
	if b.at == nil || b.at.left() {
		b.close()
		var err error
		if b.at, err = b.fresh(); err != nil {
			b.at = nil
			return aftermath.Diagnosis{}, err
		}
	}
	changed, _ := b.maker.Make(s)
	if err := b.at.set(changed); err != nil {
		return aftermath.Diagnosis{}, err
	}
	if err := b.tell(); err != nil {
		return aftermath.Diagnosis{}, err
	}
	r.check = check
	return b.at.judge(b.ctx, r)
}

func (b *bench) close() {
	if b.at != nil {
		b.at.close()
		b.at = nil
	}
}
