package main

import (
	"cmp"
	"fmt"
	"strings"
	"sync"
	"time"

	"whichfs/internal/sys/units"
	"whichfs/internal/wire"
)

// plainEvery is the minimum time between two progress lines of a probe where there is no terminal
// to redraw one on.
const plainEvery = 5 * time.Second

// probeProgress shows the progress of a probe: one line redrawn in place on a terminal, a line now
// and then elsewhere.
type probeProgress struct {
	a     *shell
	began time.Time
	width int // of the terminal; 0: there is none

	mu     sync.Mutex
	now    wire.Progress
	said   time.Time
	ticker *time.Ticker
	over   chan struct{}
}

func newProbeProgress(a *shell) *probeProgress {
	p := &probeProgress{a: a, began: time.Now(), over: make(chan struct{})}
	if width, ok := a.redraws(); ok {
		p.width = width
		p.ticker = time.NewTicker(time.Second)
		go p.tick()
	}
	return p
}

// tick advances the elapsed time on the line.
func (p *probeProgress) tick() {
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

func (p *probeProgress) progress(now wire.Progress) {
	p.mu.Lock()
	defer p.mu.Unlock()
	fresh := now.What != p.now.What
	p.now = now
	switch {
	case p.width > 0:
		p.draw()
	case fresh && time.Since(p.said) >= plainEvery:
		p.said = time.Now()
		p.a.note(fmt.Sprintf("%3.0f %%  %s", now.Share*100, now.What))
	}
}

// draw redraws the line in place.
func (p *probeProgress) draw() {
	select {
	case <-p.over:
		return
	default:
	}
	fmt.Fprint(p.a.stderr, "\r"+probeLine(p.now, time.Since(p.began), p.width)+"\x1b[K")
}

// probeLine formats the line for a terminal of the given width.
func probeLine(now wire.Progress, since time.Duration, width int) string {
	const bar = 20
	full := int(now.Share * bar)
	line := fmt.Sprintf("%s%s %3.0f %%  %s, %s so far", strings.Repeat("━", full), strings.Repeat("─", bar-full),
		now.Share*100, cmp.Or(now.What, "starting"), units.Rough(since))
	return shorten(line, max(width-1, bar))
}

// end erases the line.
func (p *probeProgress) end() {
	p.mu.Lock()
	defer p.mu.Unlock()
	close(p.over)
	if p.ticker != nil {
		p.ticker.Stop()
		fmt.Fprint(p.a.stderr, "\r\x1b[K")
	}
}
