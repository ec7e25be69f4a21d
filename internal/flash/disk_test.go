package flash

import (
	"bytes"
	"math"
	"math/rand/v2"
	"testing"
	"time"
)

// barracuda resembles a 3.5 inch disk, but is smaller.
func barracuda() Model {
	return Model{
		Kind: KindDisk, Name: "disk", Size: 8 << 30,
		Bus: Bus{Command: 50 * time.Microsecond, Read: 300e6, Write: 300e6, Queue: 1},
		Disk: Disk{RPM: 7200, TrackSeek: time.Millisecond, MeanSeek: 8500 * time.Microsecond, FullSeek: 16 * time.Millisecond,
			Outer: 150e6, Inner: 75e6, Buffer: 8 << 20},
	}
}

func mustNew(t *testing.T, m Model) Device {
	t.Helper()
	d, err := New(m)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func submit(t *testing.T, d Device, now time.Duration, r Request) time.Duration {
	t.Helper()
	done, err := d.Submit(now, r)
	if err != nil {
		t.Fatal(err)
	}
	return done
}

func TestSeekCurve(t *testing.T) {
	m := barracuda()
	g := newGeometry(m.Size, m.Disk)
	for _, c := range []struct {
		distance float64
		want     time.Duration
	}{{0, 0}, {1, m.Disk.TrackSeek}, {g.tracks / 3, m.Disk.MeanSeek}, {g.tracks, m.Disk.FullSeek}} {
		if got := g.seek(c.distance); math.Abs(float64(got-c.want)) > 1000 {
			t.Errorf("over %g tracks: %v, want %v", c.distance, got, c.want)
		}
	}
	for d := 1.0; d < g.tracks; d++ {
		if g.seek(d) > g.seek(d+1) || g.seek(-d) != g.seek(d) {
			t.Fatalf("the curve falls at %g tracks, or depends on the direction", d)
		}
	}
	for _, off := range []int64{0, 1 << 20, m.Size / 2, m.Size} {
		if got := g.offset(g.track(off)); got < off-1 || got > off+1 {
			t.Errorf("byte %d is on track %g, and that is byte %d", off, g.track(off), got)
		}
	}
}

// rate reads or writes sequentially from a place and returns B/s.
func rate(t *testing.T, d Device, op Op, off, n, size int64) float64 {
	t.Helper()
	now := submit(t, d, 0, Request{Op: Flush})
	begin := now
	for at := off; at < off+n; at += size {
		now = submit(t, d, now+10*time.Microsecond, Request{Op: op, Offset: at, Length: size})
	}
	return float64(n) / (now - begin).Seconds()
}

func TestDiskSequential(t *testing.T) {
	m := barracuda()
	for _, c := range []struct {
		off  int64
		want float64
	}{{0, 150e6}, {m.Size / 2, 112.5e6}, {m.Size - 64<<20, 75e6}} {
		for _, size := range []int64{4096, 65536, 1 << 20} {
			got := rate(t, mustNew(t, m), Read, c.off, 64<<20, size)
			want := c.want
			if size == 4096 { // the command takes longer than the medium
				want = min(want, 4096/(60e-6+4096/300e6))
			}
			if math.Abs(got/want-1) > 0.03 {
				t.Errorf("reading %d B at a time at %d: %.3g B/s, want %.3g", size, c.off, got, want)
			}
		}
	}
	// Without a cache each write misses its revolution; with a cache none
	// does.
	got := rate(t, mustNew(t, m), Write, 0, 4<<20, 65536)
	if want := 65536 / (60.0 / 7200); math.Abs(got/want-1) > 0.05 {
		t.Errorf("writing without a cache: %.3g B/s, want %.3g", got, want)
	}
	m.Disk.WriteCache = true
	if got := rate(t, mustNew(t, m), Write, 0, 256<<20, 65536); got < 140e6 || got > 160e6 {
		t.Errorf("writing with a cache: %.3g B/s", got)
	}
}

func TestDiskTrackBuffer(t *testing.T) {
	d := mustNew(t, barracuda())
	r := Request{Op: Read, Offset: 1 << 30, Length: 65536}
	first := submit(t, d, 0, r)
	bus := 50*time.Microsecond + transfer(65536, 1e9/300e6)
	if again := submit(t, d, first, r) - first; again != bus {
		t.Errorf("reading again: %v, want %v", again, bus)
	}
	now := submit(t, d, first, Request{Op: Write, Offset: 1<<30 + 4096, Length: 4096})
	if again := submit(t, d, now, r) - now; again <= bus {
		t.Errorf("reading recently written data: %v", again)
	}
	// In 50 ms much more than a megabyte passes the head.
	if next := submit(t, d, now+50*time.Millisecond, Request{Op: Read, Offset: 1<<30 + 65536, Length: 65536}); next-now-50*time.Millisecond != bus {
		t.Errorf("continuing to read after a pause: %v, want %v", next-now-50*time.Millisecond, bus)
	}
}

// The mean of random reads is the mean seek plus half a revolution. Over all
// pairs of places the mean seek time is less than the time over the mean
// distance, because the curve bends.
func TestDiskRandom(t *testing.T) {
	m := barracuda()
	d := mustNew(t, m)
	g := newGeometry(m.Size, m.Disk)
	rng := rand.New(rand.NewPCG(1, 2))
	const n = 4000
	var now, seeks time.Duration
	last := 0.0
	for range n {
		off := rng.Int64N(m.Size/4096) * 4096
		now = submit(t, d, now+time.Duration(rng.Int64N(8e6)), Request{Op: Read, Offset: off, Length: 4096})
		seeks += g.seek(g.track(off) - last)
		last = g.track(off)
	}
	got := d.Stats().Busy.Seconds() / n
	want := seeks.Seconds()/n + 30/7200.0 + 50e-6 + 4096/110e6
	if math.Abs(got/want-1) > 0.03 {
		t.Errorf("a random read takes %.4g s, want %.4g", got, want)
	}
}

func TestDiskWriteCache(t *testing.T) {
	m := barracuda()
	m.Disk.WriteCache = true
	d := mustNew(t, m)
	var now time.Duration
	rng := rand.New(rand.NewPCG(3, 4))
	for range 100 {
		done := submit(t, d, now, Request{Op: Write, Offset: rng.Int64N(1<<20) * 4096, Length: 4096})
		if done-now > 100*time.Microsecond {
			t.Fatalf("a write into the cache took %v", done-now)
		}
		now = done
	}
	sorted := submit(t, d, now, Request{Op: Flush}) - now
	if sorted < 100*time.Millisecond || sorted > 900*time.Millisecond {
		t.Errorf("flushing 100 random writes took %v", sorted)
	}
	now += sorted
	if again := submit(t, d, now, Request{Op: Flush}) - now; again != m.Bus.Command {
		t.Errorf("an empty flush took %v", again)
	}
	if done := submit(t, d, now, Request{Op: Write, Offset: 4096, Length: 4096, FUA: true}); done-now < time.Millisecond {
		t.Errorf("a write through the cache took %v", done-now)
	}
}

// Data that is only in the cache is lost, and the platters' older contents
// return.
func TestDiskCut(t *testing.T) {
	m := barracuda()
	m.Disk.WriteCache = true
	d := mustNew(t, m)
	write := func(now time.Duration, off int64, v byte) time.Duration {
		return submit(t, d, now, Request{Op: Write, Offset: off, Length: 4096, Data: bytes.Repeat([]byte{v}, 4096)})
	}
	now := submit(t, d, write(0, 8192, 1), Request{Op: Flush})
	// The first is on its way to the platters when the others arrive.
	now = write(now, 1<<20, 2)
	now = write(now, 8192, 4)
	now = write(now, 8192, 3)
	l := d.Cut(d.(*disk).dirty[0].at)
	got := make([]byte, 4096)
	submit(t, d, now, Request{Op: Read, Offset: 8192, Length: 4096, Data: got})
	if got[0] != 1 || got[4095] != 1 || l.Buffered != 8192 || l.Torn != 0 {
		t.Errorf("after a cut %d and %d are read, %+v", got[0], got[4095], l)
	}
}

// TestDiskRandomRequests checks a disk against a plain array of blocks, with
// power cuts.
func TestDiskRandomRequests(t *testing.T) {
	small := barracuda()
	small.Size, small.Disk.Buffer = 1<<20+3*Sector, 64<<10
	small.Disk.Outer, small.Disk.Inner = 4e6, 2e6
	small.Trim = TrimModel{Supported: true}
	cache := small
	cache.Disk.WriteCache = true
	queue := cache
	queue.Bus.Queue = 32
	for name, m := range map[string]Model{"plain": small, "cache": cache, "queue": queue} {
		seed := rand.Uint64()
		x, err := newTrial(m, seed)
		if err != nil {
			t.Fatal(err)
		}
		x.o.through = !m.Disk.WriteCache
		for i := range requests(t, 20000) {
			if err := x.step(); err != nil {
				t.Fatalf("%s, seed %d, request %d: %v", name, seed, i, err)
			}
		}
		if x.loss.Torn == 0 || (x.loss.Buffered > 0) != m.Disk.WriteCache || x.loss.Neighbours != 0 {
			t.Errorf("%s, seed %d: the cuts did not lose what they should: %+v", name, seed, x.loss)
		}
	}
}
