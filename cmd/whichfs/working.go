package main

import (
	"cmp"
	"fmt"
	"strings"
	"sync"
	"time"

	"whichfs/internal/sys/steps"
	"whichfs/internal/sys/units"
	"whichfs/internal/wire"
)

// plainEvery is the minimum time between two lines about work in progress where there is no terminal
// to redraw one on.
var plainEvery = 5 * time.Second

// working shows the progress of what takes longer than a glance: one line redrawn in place on a terminal, a line
// now and then elsewhere.
type working struct {
	a     *shell
	began time.Time
	width int         // of the terminal; 0: there is none
	learn *steps.Work // tells how long it takes, and learns from it; nil: the share done tells

	mu     sync.Mutex
	now    wire.Progress // without a share if the total is unknown
	said   time.Time
	ticker *time.Ticker
	over   chan struct{}
}

// working begins to show work. name is what it is called for the next time, which learns from this one how long it
// takes; "": how much of it is done is known exactly.
func (a *shell) working(name string) *working {
	p := &working{a: a, began: time.Now(), over: make(chan struct{})}
	if name != "" {
		p.learn = steps.Of(name)
	}
	if width, ok := a.redraws(); ok {
		p.width = width
		p.ticker = time.NewTicker(time.Second)
		go p.tick()
	}
	return p
}

// quietly begins to show work of a single step, where there is a terminal.
func (a *shell) quietly(name, what string) *working {
	p := a.working(name)
	p.said = p.began
	p.progress(wire.Progress{What: what})
	return p
}

// tick advances the times on the line.
func (p *working) tick() {
	for {
		select {
		case <-p.over:
			return
		case <-p.ticker.C:
			p.mu.Lock()
			p.draw()
			p.mu.Unlock()
		}
	}
}

func (p *working) progress(now wire.Progress) {
	p.mu.Lock()
	defer p.mu.Unlock()
	fresh := now != p.now
	p.now = now
	if p.learn != nil {
		p.learn.Begin(now.What)
	}
	switch {
	case p.width > 0:
		p.draw()
	case fresh && time.Since(p.said) >= plainEvery:
		p.said = time.Now()
		line := fmt.Sprintf("%3.0f %%  %s", now.Share*100, now.What)
		if _, left := p.left(); left != "" {
			line += ", " + left
		}
		p.a.note(line)
	}
}

// bytes is the progress of work on so many bytes.
func (p *working) bytes(what string, done, all int64) {
	p.progress(wire.Progress{Share: float64(done) / float64(max(1, all)),
		What: fmt.Sprintf("%s: %s of %s", what, units.Value(float64(done), "B"), units.Value(float64(all), "B"))})
}

// count is the progress of work on so many things.
func (p *working) count(what, thing string, done, all int) {
	p.progress(wire.Progress{Share: float64(done) / float64(max(1, all)), What: fmt.Sprintf("%s: %d of %s", what, done, units.Count(all, thing))})
}

// left is "about 20 s left", or "" while that is not known, or is no more than a moment; and the share that is done,
// by the time if nothing else tells.
func (p *working) left() (share float64, text string) {
	var left time.Duration
	share = p.now.Share
	known := false
	since := time.Since(p.began)
	if p.learn != nil {
		left, known = p.learn.Left()
		if known && share == 0 {
			share = float64(since) / float64(since+max(left, time.Millisecond))
		}
	} else if share > 0 && since >= 2*time.Second {
		left, known = time.Duration(float64(since)/share*(1-share)), true
	}
	if !known || left < time.Second {
		return share, ""
	}
	return share, "about " + units.Rough(left) + " left"
}

// draw redraws the line in place.
func (p *working) draw() {
	select {
	case <-p.over:
		return
	default:
	}
	now := p.now
	share, left := p.left()
	now.Share = share
	fmt.Fprint(p.a.stderr, "\r"+workingLine(now, time.Since(p.began), left, p.width)+"\x1b[K")
}

// workingLine formats the line for a terminal of the given width.
func workingLine(now wire.Progress, since time.Duration, left string, width int) string {
	const bar = 20
	full := int(now.Share * bar)
	line := fmt.Sprintf("%s%s %3.0f %%  %s, %s so far", strings.Repeat("━", full), strings.Repeat("─", bar-full),
		now.Share*100, cmp.Or(now.What, "starting"), units.Rough(since))
	if left != "" {
		line += ", " + left
	}
	return shorten(line, max(width-1, bar))
}

// end erases the line; done: the work was, and the next time learns from it.
func (p *working) end(done bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	close(p.over)
	if p.ticker != nil {
		p.ticker.Stop()
		fmt.Fprint(p.a.stderr, "\r\x1b[K")
	}
	if done && p.learn != nil {
		p.learn.End()
	}
}
