// Package link makes a reliable stream of bytes of a serial console on which a kernel also talks. The
// stream is cut into frames of printable text, each with a checksum; a frame that was torn or damaged is
// sent again. What is no frame is text of the console, and is handed over line by line.
//
// Frames are numbered as they are sent, and a piece of the stream that is sent again is in a frame with
// a new number (as in QUIC, RFC 9000). A line keeps the order: when a later frame has arrived, an earlier one
// that has not is lost. So no guess of the time that an answer takes decides what is sent again, and a
// line that is slow or bursts keeps its throughput. Only where nothing arrives any more one frame is
// repeated, after the time of RFC 6298.
package link

import (
	"errors"
	"fmt"
	"io"
	"math"
	"sync"
	"time"
)

const (
	// window is how much may be under way, in characters of the line: the input buffer of a Linux
	// terminal has 4096 (n_tty.c), and a reader that is late must not lose any.
	window = 3000
	// mostFrames may be under way: an ack describes 65.
	mostFrames = 60
	// mostUnread is what is kept for a reader that does not read, in bytes. More is not acknowledged.
	mostUnread = 256 << 10
	// mostUnsent is what Write takes before it blocks, in bytes.
	mostUnsent = 64 << 10

	firstWait, shortestWait, longestWait = time.Second, 100 * time.Millisecond, 10 * time.Second
	modulus                              = 1 << 24 // of offsets in frames
	// After the end each end says so at this interval, until the other says the same or has had the time
	// to hear it: its last frames may still wait for an answer.
	farewellEvery, lingering = 100 * time.Millisecond, 3 * time.Second
	farewells                = 3
)

// ErrSilent is the error of a stream whose other end said nothing for Options.Silence.
var ErrSilent = errors.New("nothing arrives from the other end of the line")

// Options of a link.
type Options struct {
	// Key is the session's, which both ends know. Frames of other sessions are not heard.
	Key string
	// Waits: send nothing before the other end has: what was there before it would take it for input.
	Waits bool
	// Beat is the longest time between two signs of life; 0: 2 s.
	Beat time.Duration
	// Silence of the other end after which the link counts as lost; 0: a minute.
	Silence time.Duration
	// Said receives every line that is no frame; nil drops them. It must not call the link.
	Said func(line string)
}

// Counts are of frames, since the link began.
type Counts struct {
	// Sent are those with a piece of the stream, and Again those among them that had to be sent once more.
	Sent, Again int
	// Arrived are those that were whole, and Damaged those that were not.
	Arrived, Damaged int
}

// Link is one end. Read, Write and Feed may be called from a goroutine each.
type Link struct {
	o    Options
	line io.Writer

	mu      sync.Mutex
	changed *sync.Cond    // what Read, Write and Close wait for
	wake    chan struct{} // for the sender
	stopped chan struct{}
	split   splitter
	err     error // why nothing is sent or received any more
	heard   time.Time
	alive   bool // something was heard
	beaten  time.Time
	// farewells are acks that are sent all the same after the end: the line may lose some.
	farewells int
	over      bool // this end was closed, and all has arrived both ways
	theyOver  bool // the other end says the same
	arrivals  int

	out out
	in  in
}

// out is the direction away from here.
type out struct {
	waiting []byte // of the stream, not sent yet
	offset  uint64 // of waiting
	closing bool
	again   []piece
	flying  []piece // in the order of their numbers
	next    uint16
	full    int // characters under way
	ended   bool
	// Of RFC 6298.
	srtt, rttvar, wait time.Duration
	measured           bool
	probeAt            time.Time
	// Of the line's quality: lost frames among so many characters, the older the less.
	lost, sent float64
	// How many frames were sent, and of those again.
	flown, repeated int
}

// piece of the stream, under way or lost.
type piece struct {
	number uint16
	offset uint64
	body   []byte
	last   bool
	size   int // characters
	at     time.Time
}

// in is the direction to here.
type in struct {
	ready  []byte            // in order, not read yet
	offset uint64            // after ready
	early  map[uint64][]byte // pieces after a gap, by offset
	end    uint64            // where the stream ends, if closed
	closed bool
	ackDue bool
	any    bool
	newest uint16
	before uint64
}

// New makes a link that writes to a line; the caller feeds it with what it reads from there, and calls
// Close.
func New(line io.Writer, o Options) *Link {
	if o.Beat == 0 {
		o.Beat = 2 * time.Second
	}
	if o.Silence == 0 {
		o.Silence = time.Minute
	}
	if o.Said == nil {
		o.Said = func(string) {}
	}
	l := &Link{o: o, line: line, wake: make(chan struct{}, 1), stopped: make(chan struct{}), heard: time.Now()}
	l.changed = sync.NewCond(&l.mu)
	l.split = splitter{key: o.Key, frame: l.arrived, said: o.Said}
	l.out.wait = firstWait
	l.in.early = map[uint64][]byte{}
	go l.send()
	return l
}

// Feed takes what was read from the line.
func (l *Link) Feed(p []byte) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.split.feed(p)
	l.signal()
}

// Fail ends the link with an error: the line was lost.
func (l *Link) Fail(err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.fail(err)
}

// Err says why nothing is sent or received any more; nil: it is.
func (l *Link) Err() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.err
}

// Counts are those so far.
func (l *Link) Counts() Counts {
	l.mu.Lock()
	defer l.mu.Unlock()
	return Counts{Sent: l.out.flown, Again: l.out.repeated, Arrived: l.arrivals, Damaged: l.split.damaged}
}

func (l *Link) fail(err error) {
	if l.err == nil {
		l.err = err
	}
	l.signal()
}

func (l *Link) signal() {
	l.changed.Broadcast()
	select {
	case l.wake <- struct{}{}:
	default:
	}
}

// Read returns io.EOF after the last byte when the other end was closed.
func (l *Link) Read(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for len(p) > 0 && len(l.in.ready) == 0 {
		if l.in.over() {
			return 0, io.EOF
		}
		if l.err != nil {
			return 0, l.err
		}
		l.changed.Wait()
	}
	n := copy(p, l.in.ready)
	l.in.ready = l.in.ready[n:]
	return n, nil
}

func (i *in) over() bool { return i.closed && i.offset == i.end }

// Write returns when all is under way or kept to be sent.
func (l *Link) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	n := 0
	for {
		switch {
		case l.err != nil:
			return n, l.err
		case l.out.closing:
			return n, io.ErrClosedPipe
		case n == len(p):
			return n, nil
		}
		room := min(mostUnsent-len(l.out.waiting), len(p)-n)
		if room > 0 {
			l.out.waiting = append(l.out.waiting, p[n:n+room]...)
			n += room
			l.signal()
			continue
		}
		l.changed.Wait()
	}
}

// Close sends what is left and the end of the stream, and waits for at most the patience until both
// ends know that of the other. It does not close the line.
func (l *Link) Close(patience time.Duration) error {
	l.mu.Lock()
	l.out.closing = true
	l.signal()
	late := time.AfterFunc(patience, func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		if l.in.over() && l.out.delivered() {
			l.out.ended = true // it has gone, and it was its last ack that was lost
			l.signal()
			return
		}
		l.fail(fmt.Errorf("the other end did not close within %v", patience))
	})
	for l.err == nil && (!l.out.ended || !l.in.over()) {
		l.changed.Wait()
	}
	late.Stop()
	if l.err == nil {
		l.linger()
	}
	err := l.err
	if err == nil {
		l.err, l.farewells = io.ErrClosedPipe, farewells
	}
	l.signal()
	l.mu.Unlock()
	<-l.stopped
	return err
}

// linger answers the other end until it, too, knows that all has arrived.
func (l *Link) linger() {
	l.over = true
	until := time.Now().Add(lingering)
	say := time.NewTicker(farewellEvery)
	defer say.Stop()
	for l.err == nil && !l.theyOver && time.Now().Before(until) {
		l.in.ackDue = true
		l.signal()
		l.mu.Unlock()
		<-say.C
		l.mu.Lock()
	}
}

// send is the only writer of the line.
func (l *Link) send() {
	defer close(l.stopped)
	for {
		text, delay, over := l.next()
		if len(text) > 0 {
			if _, err := l.line.Write(text); err != nil {
				l.Fail(fmt.Errorf("cannot write to the line: %w", err))
			}
		}
		if over {
			return
		}
		if len(text) > 0 {
			continue
		}
		timer := time.NewTimer(delay)
		select {
		case <-l.wake:
		case <-timer.C:
		}
		timer.Stop()
	}
}

// next is what is to be written now, or else how long there is nothing to do.
func (l *Link) next() (text []byte, delay time.Duration, over bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := time.Now()
	if l.err == nil && !l.over && now.Sub(l.heard) >= l.o.Silence {
		l.fail(fmt.Errorf("%w for %v", ErrSilent, l.o.Silence))
	}
	if l.farewells > 0 {
		l.farewells--
		l.in.ackDue = true
	}
	if l.in.ackDue || l.err == nil && now.Sub(l.beaten) >= l.o.Beat && l.mayTalk() {
		l.in.ackDue, l.beaten = false, now
		return frame{kind: ack, number: l.in.newest, before: l.in.before, any: l.in.any, over: l.over}.appendTo(nil, l.o.Key), 0, false
	}
	if l.err != nil {
		return nil, 0, true
	}
	delay = l.heard.Add(l.o.Silence).Sub(now)
	if !l.mayTalk() {
		return nil, delay, false
	}
	delay = min(delay, l.beaten.Add(l.o.Beat).Sub(now))
	o := &l.out
	if len(o.flying) > 0 && !now.Before(o.probeAt) {
		// The ack of this one tells of all before it.
		o.wait = min(2*o.wait, longestWait)
		o.lose(0)
	} else if o.full >= window || len(o.flying) >= mostFrames {
		return nil, min(delay, o.probeAt.Sub(now)), false
	}
	if p, ok := o.take(); ok {
		l.changed.Broadcast() // there is room for Write
		return o.fly(p, now).appendTo(nil, l.o.Key), 0, false
	}
	if len(o.flying) > 0 {
		delay = min(delay, o.probeAt.Sub(now))
	}
	return nil, delay, false
}

func (l *Link) mayTalk() bool { return l.alive || !l.o.Waits }

// delivered reports whether all but the end of the stream has arrived.
func (o *out) delivered() bool {
	for _, p := range o.flying {
		if !p.last {
			return false
		}
	}
	return len(o.again)+len(o.waiting) == 0
}

// body is how long a piece of the stream is best, in bytes: with h characters besides it and a
// character in 1/p damaged, a frame of n carries the most for n = h/2 + sqrt(h²/4 + h/p).
func (o *out) body() int {
	const h = overhead
	n := math.Inf(1)
	if o.lost >= 1 {
		n = h/2. + math.Sqrt(h*h/4.+h*o.sent/o.lost)
	}
	return int(min(max((n-h)*3/4, leastBody), mostBody))
}

// take takes the next piece to send, a lost one first.
func (o *out) take() (piece, bool) {
	most := o.body()
	if len(o.again) > 0 {
		p := o.again[0]
		if len(p.body) <= most {
			o.again = o.again[1:]
			return p, true
		}
		o.again[0].offset += uint64(most)
		o.again[0].body = p.body[most:]
		p.body = p.body[:most]
		return p, true
	}
	if len(o.waiting) > 0 {
		n := min(most, len(o.waiting))
		p := piece{offset: o.offset, body: append([]byte(nil), o.waiting[:n]...)}
		o.waiting, o.offset = o.waiting[n:], o.offset+uint64(n)
		return p, true
	}
	if o.closing && !o.ended {
		for _, p := range o.flying {
			if p.last {
				return piece{}, false
			}
		}
		return piece{offset: o.offset, last: true}, true
	}
	return piece{}, false
}

// fly notes that a piece is under way, and makes its frame.
func (o *out) fly(p piece, now time.Time) frame {
	p.number, p.at = o.next, now
	o.next++
	o.flown++
	f := frame{kind: data, number: p.number, offset: uint32(p.offset % modulus), body: p.body}
	if p.last {
		f.kind = last
	}
	p.size = overhead + len(p.body)*4/3
	o.full += p.size
	o.sent += float64(p.size)
	if o.sent > 20000 {
		o.sent, o.lost = o.sent/2, o.lost/2
	}
	o.flying = append(o.flying, p)
	if p.last {
		// The end alone fills no line: that a line damages it is no reason to wait longer, and Close has a limit.
		o.wait = min(o.wait, firstWait)
	}
	o.probeAt = now.Add(o.wait)
	return f
}

// lose has a piece under way sent again.
func (o *out) lose(i int) {
	p := o.flying[i]
	o.flying = append(o.flying[:i], o.flying[i+1:]...)
	o.full -= p.size
	o.lost++
	o.repeated++
	if !p.last { // take makes a new one
		o.again = append(o.again, p)
	}
}

// arrived handles a frame.
func (l *Link) arrived(f frame) {
	now := time.Now()
	l.heard, l.alive = now, true
	l.arrivals++
	if f.kind == ack {
		if f.any {
			l.out.acknowledged(f, now)
		}
		if f.over && l.out.closing {
			// Some ack may have been lost, but none of what it was for.
			l.theyOver, l.out.ended = true, true
			l.out.flying, l.out.again, l.out.full = nil, nil, 0
		}
		return
	}
	if !l.in.take(f) {
		return
	}
	l.in.ackDue = true
	switch d := int16(f.number - l.in.newest); {
	case !l.in.any:
		l.in.any, l.in.newest = true, f.number
	case d > 0:
		l.in.before = l.in.before<<uint(d) | 1<<uint(d-1)
		l.in.newest = f.number
	case d < 0 && d >= -64:
		l.in.before |= 1 << uint(-d-1)
	}
}

// acknowledged removes what has arrived, and loses what was sent before that and has not.
func (o *out) acknowledged(f frame, now time.Time) {
	if int16(f.number-o.next) >= 0 {
		return // a number that was not given yet
	}
	progress := false
	for i := 0; i < len(o.flying); {
		p := o.flying[i]
		d := int16(f.number - p.number)
		switch {
		case d < 0:
			i++
		case d == 0 || d <= 64 && f.before>>uint(d-1)&1 == 1:
			o.flying = append(o.flying[:i], o.flying[i+1:]...)
			o.full -= p.size
			o.ended = o.ended || p.last
			progress = true
			if d == 0 {
				o.measure(now.Sub(p.at))
			}
		default:
			o.lose(i)
		}
	}
	if progress {
		o.probeAt = now.Add(o.wait)
	}
}

// measure is RFC 6298, section 2. Every frame has its own number, so all may be measured.
func (o *out) measure(rtt time.Duration) {
	if !o.measured {
		o.measured, o.srtt, o.rttvar = true, rtt, rtt/2
	} else {
		o.rttvar = (3*o.rttvar + (o.srtt - rtt).Abs()) / 4
		o.srtt = (7*o.srtt + rtt) / 8
	}
	o.wait = min(max(o.srtt+4*o.rttvar, shortestWait), longestWait)
}

// take keeps a piece of the stream, and reports whether it could.
func (i *in) take(f frame) bool {
	// The offset nearest to what is expected.
	ahead := int64(int32((f.offset-uint32(i.offset%modulus))<<8) >> 8)
	if ahead < 0 && uint64(-ahead) > i.offset {
		return false
	}
	at := i.offset + uint64(ahead)
	if ahead > mostUnread || len(i.ready) > mostUnread {
		return false
	}
	if f.kind == last {
		i.closed, i.end = true, at
		return true
	}
	if had := i.early[at]; len(had) < len(f.body) && ahead+int64(len(f.body)) > 0 {
		i.early[at] = f.body
	}
	for more := true; more; {
		more = false
		for at, body := range i.early {
			if at > i.offset {
				continue
			}
			if skip := i.offset - at; skip < uint64(len(body)) {
				i.ready = append(i.ready, body[skip:]...)
				i.offset += uint64(len(body)) - skip
				more = true
			}
			delete(i.early, at)
		}
	}
	return true
}
