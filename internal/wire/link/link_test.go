package link

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// wire is one direction of a line: so many characters per tick, of which some are damaged, while a
// kernel talks.
type wire struct {
	in      chan []byte
	over    chan struct{}
	r       *rand.Rand
	damage  float64       // of all characters: half are flipped and half dropped
	kernel  time.Duration // between two lines of the kernel; 0: it is silent
	to      *Link
	repeats bool // some bursts come twice
}

const (
	rate = 11520 // characters per second at 115,200 baud
	tick = 5 * time.Millisecond
)

// Write blocks as a terminal does whose buffer is full.
func (w *wire) Write(p []byte) (int, error) {
	for rest := p; len(rest) > 0; {
		n := min(len(rest), 16)
		select {
		case w.in <- append([]byte(nil), rest[:n]...):
		case <-w.over:
			return 0, io.ErrClosedPipe
		}
		rest = rest[n:]
	}
	return len(p), nil
}

func (w *wire) run() {
	var queue, spoken []byte
	room, since, count := 0.0, time.Duration(0), 0
	for {
		select {
		case <-w.over:
			return
		case <-time.After(tick):
		}
		room = min(room+rate*tick.Seconds(), 2*rate*tick.Seconds())
		if since += tick; w.kernel > 0 && since >= w.kernel {
			since = 0
			count++
			spoken = fmt.Appendf(spoken[:len(spoken):len(spoken)], "[%5d.123456] mmc0: tuned\r\n", count)
		}
		// The kernel writes its line wherever the other writer is.
		n := min(int(room), len(spoken))
		burst := append([]byte(nil), spoken[:n]...)
		spoken, room = spoken[n:], room-float64(n)
		for int(room) > len(queue) {
			select {
			case more := <-w.in:
				queue = append(queue, more...)
				continue
			default:
			}
			break
		}
		n = min(int(room), len(queue))
		burst = append(burst, queue[:n]...)
		queue, room = queue[n:], room-float64(n)
		w.to.Feed(w.harmed(burst))
		if w.repeats && w.r.IntN(20) == 0 {
			w.to.Feed(burst)
		}
	}
}

func (w *wire) harmed(p []byte) []byte {
	out := make([]byte, 0, len(p))
	for _, c := range p {
		if w.r.Float64() < w.damage {
			if w.r.IntN(2) == 0 {
				continue
			}
			c ^= 1 << w.r.IntN(8)
		}
		out = append(out, c)
	}
	return out
}

// pair is a line with a host and a board.
type pair struct {
	host, board *Link
	up, down    *wire
	over        chan struct{}
	mu          sync.Mutex
	said        []string
}

func connect(seed uint64, damage float64, kernel time.Duration, repeats bool, o Options) *pair {
	p := &pair{over: make(chan struct{})}
	one := func(kernel time.Duration, seed uint64) *wire {
		return &wire{in: make(chan []byte, 256), over: p.over, r: rand.New(rand.NewPCG(seed, 1)), damage: damage, kernel: kernel, repeats: repeats}
	}
	p.up, p.down = one(0, seed), one(kernel, seed+1)
	o.Key = "key"
	p.board = New(p.down, o)
	o.Waits = true
	o.Said = func(line string) {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.said = append(p.said, line)
	}
	p.host = New(p.up, o)
	p.up.to, p.down.to = p.board, p.host
	go p.up.run()
	go p.down.run()
	return p
}

// end closes both ends.
func (p *pair) end(t *testing.T) {
	t.Helper()
	there := make(chan error)
	go func() { there <- p.board.Close(time.Minute) }()
	here := p.host.Close(time.Minute)
	if err := errors.Join(here, <-there); err != nil {
		t.Error(err)
	}
	close(p.over)
}

func noise(n int, seed uint64) []byte {
	r := rand.New(rand.NewPCG(seed, 2))
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(r.Uint32())
	}
	return b
}

// carry sends bytes both ways and checks them. It returns how long that took.
func (p *pair) carry(t *testing.T, up, down []byte) time.Duration {
	t.Helper()
	begun := time.Now()
	var all sync.WaitGroup
	through := func(from, to *Link, want []byte) {
		all.Go(func() {
			if _, err := from.Write(want); err != nil {
				t.Error(err)
			}
		})
		all.Go(func() {
			got := make([]byte, len(want))
			if n, err := io.ReadFull(to, got); err != nil || !bytes.Equal(got, want) {
				t.Errorf("%d of %d bytes, %v, equal: %v", n, len(want), err, bytes.Equal(got, want))
			}
		})
	}
	through(p.host, p.board, up)
	through(p.board, p.host, down)
	all.Wait()
	return time.Since(begun)
}

// The rates are those of a line of 115,200 baud.
func TestRate(t *testing.T) {
	const size = 100_000
	for _, c := range []struct {
		name   string
		damage float64
		kernel time.Duration
		least  float64 // bytes per second to the board
	}{
		{"clean", 0, 0, 8000},
		{"kernel", 0, 10 * time.Millisecond, 7800},
		{"damaged", 0.01, 0, 2000},
		{"both", 0.01, 10 * time.Millisecond, 1600},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := connect(1, c.damage, c.kernel, false, Options{})
				got := size / p.carry(t, noise(size, 1), []byte("answer")).Seconds()
				t.Logf("%.0f bytes per second", got)
				if got < c.least {
					t.Errorf("%.0f bytes per second are less than %.0f", got, c.least)
				}
				p.end(t)
			})
		})
	}
}

// Whatever the line does, the stream is what was sent, both ways.
func TestStream(t *testing.T) {
	for seed := range uint64(20) {
		synctest.Test(t, func(t *testing.T) {
			r := rand.New(rand.NewPCG(seed, 3))
			p := connect(seed, 0.02*r.Float64(), time.Duration(r.IntN(4))*10*time.Millisecond, seed%2 == 0, Options{})
			p.carry(t, noise(r.IntN(9000), seed), noise(r.IntN(9000), seed+1))
			p.end(t)
		})
	}
}

// The kernel's lines are whole on a line that damages nothing, though frames are between them.
func TestConsole(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := connect(1, 0, 20*time.Millisecond, false, Options{})
		p.carry(t, nil, noise(30_000, 1))
		p.end(t)
		p.mu.Lock() // the wires still run
		defer p.mu.Unlock()
		for i, line := range p.said {
			if want := fmt.Sprintf("[%5d.123456] mmc0: tuned", i+1); line != want {
				t.Fatalf("line %d is %q", i, line)
			}
		}
		if len(p.said) < 100 {
			t.Errorf("%d lines of the kernel", len(p.said))
		}
	})
}

// The end of a stream arrives after its last byte, and nothing can be written after it.
func TestEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := connect(1, 0.01, 0, false, Options{})
		want := noise(5000, 1)
		closed := make(chan error)
		go func() {
			_, err := p.host.Write(want)
			closed <- errors.Join(err, p.host.Close(time.Minute))
		}()
		got, err := io.ReadAll(p.board)
		if err != nil || !bytes.Equal(got, want) {
			t.Errorf("%d bytes, %v", len(got), err)
		}
		if err := p.board.Close(time.Minute); err != nil {
			t.Error(err)
		}
		if err := <-closed; err != nil {
			t.Error(err)
		}
		if _, err := p.host.Write(want); err == nil {
			t.Error("a closed link takes bytes")
		}
		close(p.over)
	})
}

// A line that damages every second frame delays the end by some seconds, and does not prevent it.
func TestEndOnADamagedLine(t *testing.T) {
	for seed := range uint64(100) {
		synctest.Test(t, func(t *testing.T) {
			p := connect(seed, 0.02, time.Duration(seed%4)*10*time.Millisecond, seed%2 == 0, Options{})
			p.carry(t, noise(100, seed), noise(100, seed+1))
			begun := time.Now()
			p.end(t)
			if took := time.Since(begun); took > 30*time.Second {
				t.Errorf("with seed %d it took %v", seed, took)
			}
		})
	}
}

// A host says nothing before the board does, and each end notices that the other is gone.
func TestSilence(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var text bytes.Buffer
		l := New(&text, Options{Key: "key", Waits: true, Silence: 20 * time.Second})
		begun := time.Now()
		_, err := l.Read(make([]byte, 1))
		if !errors.Is(err, ErrSilent) || time.Since(begun) != 20*time.Second || text.Len() > 0 {
			t.Errorf("%v after %v, %q", err, time.Since(begun), text.String())
		}
		if err := l.Close(time.Second); !errors.Is(err, ErrSilent) {
			t.Error(err)
		}
	})
	synctest.Test(t, func(t *testing.T) {
		p := connect(1, 0, 0, false, Options{Silence: 20 * time.Second})
		time.Sleep(2 * time.Minute) // both are idle and alive
		p.carry(t, []byte("a"), []byte("b"))
		close(p.over)
		if _, err := p.board.Read(make([]byte, 1)); err == nil {
			t.Error("a board does not notice that its line is cut")
		}
		_ = p.board.Close(time.Second)
		_ = p.host.Close(time.Second)
	})
}

// A reader that does not read holds the writer up, and nothing is lost.
func TestSlowReader(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := connect(1, 0, 0, false, Options{})
		want := noise(mostUnread+100_000, 1)
		go func() {
			if _, err := p.host.Write(want); err != nil {
				t.Error(err)
			}
		}()
		time.Sleep(5 * time.Minute)
		p.board.mu.Lock()
		if n := len(p.board.in.ready); n > mostUnread+mostBody {
			t.Errorf("%d bytes are kept", n)
		}
		p.board.mu.Unlock()
		got := make([]byte, len(want))
		if _, err := io.ReadFull(p.board, got); err != nil || !bytes.Equal(got, want) {
			t.Error(err)
		}
		p.end(t)
	})
}

// Frames of another session, and those that anything was done to, are none.
func FuzzFrame(f *testing.F) {
	for _, one := range []frame{{kind: data, number: 7, offset: 9, body: []byte("body")}, {kind: last, number: 1, offset: 4}, {kind: ack, number: 65535, before: 5, any: true}} {
		f.Add(one.appendTo(nil, "key"))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		s := splitter{key: "key", said: func(line string) {
			if strings.ContainsAny(line, "\n\r") {
				t.Errorf("%q", line)
			}
		}}
		s.frame = func(f frame) {
			if again := f.appendTo(nil, "key"); !bytes.Contains(text, again[:len(again)-2]) { // the last character may have idle bits
				t.Errorf("%+v of %q", f, text)
			}
		}
		s.feed(text)
		s.key, s.frame = "other", func(f frame) {
			if sum("key", []byte("x")) != sum("other", []byte("x")) && bytes.Contains(text, f.appendTo(nil, "key")) {
				t.Errorf("%+v is of another session", f)
			}
		}
		s.feed(text)
	})
}
