package flash

import (
	"maps"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"
	"time"
)

// TestDeterminism: two devices with the same input return the same instants,
// losses and statistics.
func TestDeterminism(t *testing.T) {
	for name, m := range randomModels() {
		seed := rand.Uint64()
		a, err := newTrial(m, seed)
		if err != nil {
			t.Fatal(err)
		}
		b, _ := newTrial(m, seed)
		for i := range 1500 {
			errA, errB := a.step(), b.step()
			if errA != nil || errB != nil {
				t.Fatalf("%s, seed %d: %v, %v", name, seed, errA, errB)
			}
			if a.now != b.now || a.last != b.last || a.loss != b.loss || a.d.Stats() != b.d.Stats() {
				t.Fatalf("%s, seed %d: request %d differs: %v and %v", name, seed, i, a.now, b.now)
			}
		}
	}
}

// TestTimeAlone: requests without data take as long as those with data and
// count the same.
func TestTimeAlone(t *testing.T) {
	for name, m := range randomModels() {
		seed := rand.Uint64()
		a, err := New(m)
		if err != nil {
			t.Fatal(err)
		}
		b, _ := New(m)
		l := newLoad(seed, m.Size)
		now := time.Duration(0)
		for i := range 1500 {
			r := l.next()
			doneA, errA := a.Submit(now, r)
			r.Data = nil
			doneB, errB := b.Submit(now, r)
			if doneA != doneB || errA != nil || errB != nil || a.Stats() != b.Stats() {
				t.Fatalf("%s, seed %d: request %d completes at %v and %v (%v, %v)", name, seed, i, doneA, doneB, errA, errB)
			}
			now = doneA + time.Duration(i%7/6)*time.Millisecond
		}
	}
}

// fill writes pages that all contain one byte value.
func fill(t *testing.T, d Device, now time.Duration, page, n int64, value byte) time.Duration {
	t.Helper()
	data := make([]byte, n*4096)
	for i := range data {
		data[i] = value
	}
	done, err := d.Submit(now, Request{Op: Write, Offset: page * 4096, Length: n * 4096, Data: data})
	if err != nil {
		t.Fatal(err)
	}
	return done
}

// firstBytes reads the first byte of the first n pages.
func firstBytes(t *testing.T, d Device, now time.Duration, n int64) []byte {
	t.Helper()
	data := make([]byte, n*4096)
	if _, err := d.Submit(now, Request{Op: Read, Length: n * 4096, Data: data}); err != nil {
		t.Fatal(err)
	}
	var first []byte
	for i := int64(0); i < n; i++ {
		first = append(first, data[i*4096])
	}
	return first
}

// TestCutInWrite cuts power at every step of a write of four pages over older
// ones, in a segment that is open for any order, each of which takes 1 ms
// after 100 µs on the bus.
func TestCutInWrite(t *testing.T) {
	for _, c := range []struct {
		at   time.Duration // after the write was submitted
		want string
		torn int64
	}{
		{0, "\x01\x01\x01\x01", 0},
		{100 * time.Microsecond, "\x01\x01\x01\x01", 0},
		{500 * time.Microsecond, "\x01\x01\x01\x01", 1},
		{1110 * time.Microsecond, "\x02\x01\x01\x01", 0},
		{2500 * time.Microsecond, "\x02\x02\x01\x01", 1},
		{4110*time.Microsecond - 1, "\x02\x02\x02\x01", 1},
		{4110 * time.Microsecond, "\x02\x02\x02\x02", 0},
	} {
		d, err := New(plain(func(m *Model) { m.Map.Random = true }))
		if err != nil {
			t.Fatal(err)
		}
		now := fill(t, d, 0, 0, 4, 1)
		fill(t, d, now+time.Second, 0, 4, 2)
		now += time.Second + c.at
		loss := d.Cut(now)
		if got := string(firstBytes(t, d, now, 4)); got != c.want {
			t.Errorf("cut after %v: % x, not % x", c.at, got, c.want)
		}
		if loss.Torn != c.torn || loss.Undone != 0 || loss.Buffered != 0 {
			t.Errorf("cut after %v: %+v", c.at, loss)
		}
	}
}

// TestCutInMerge interrupts a merge, which is undone, or loses the segment if
// the model says so.
func TestCutInMerge(t *testing.T) {
	for _, loses := range []bool{false, true} {
		d, err := New(plain(func(m *Model) { m.Power.MergeLoses = loses; m.Map.Random = true; m.Map.Open = 1 }))
		if err != nil {
			t.Fatal(err)
		}
		now := fill(t, d, 0, 0, 32, 1)
		now = fill(t, d, now, 3, 1, 2)
		before := d.Stats()
		fill(t, d, now, 16, 1, 3) // closes the first segment with 15 copies of 1.1 ms, from 110 µs on
		now += 5 * time.Millisecond
		loss := d.Cut(now)
		first := firstBytes(t, d, now, 17)
		s := d.Stats()
		if copied := (s.Copied - before.Copied) / 4096; copied != 5 || s.Merges != before.Merges+1 {
			t.Errorf("%d pages were copied before the cut, %d merges begun", copied, s.Merges-before.Merges)
		}
		want := Loss{Torn: 1, Undone: 1}
		wantFirst := []byte{1, 1, 1, 2, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1}
		if loses {
			want.Neighbours = 16 * 4096
			clear(wantFirst[:16])
		}
		if loss != want || !reflect.DeepEqual(first, wantFirst) {
			t.Errorf("merge loses %v: %+v, % x", loses, loss, first)
		}
	}
}

// TestCutOfBuffer: unflushed data is lost and counted, flushed data survives.
func TestCutOfBuffer(t *testing.T) {
	d, err := New(plain(func(m *Model) { m.Buffer.Size = 64 << 10 }))
	if err != nil {
		t.Fatal(err)
	}
	now := fill(t, d, 0, 0, 2, 1)
	now, _ = d.Submit(now, Request{Op: Flush})
	now = fill(t, d, now, 1, 3, 2)
	loss := d.Cut(now)
	if first := string(firstBytes(t, d, now, 4)); loss != (Loss{Buffered: 3 * 4096}) || first != "\x01\x01\x00\x00" {
		t.Errorf("%+v, % x", loss, first)
	}
}

// TestBackwards: an earlier instant counts as the latest so far, and a bad
// request changes nothing.
func TestBackwards(t *testing.T) {
	d, err := New(plain())
	if err != nil {
		t.Fatal(err)
	}
	fill(t, d, time.Second, 0, 1, 1)
	before := d.Stats()
	for _, r := range []Request{
		{Op: Read, Offset: -512, Length: 512}, {Op: Read, Offset: 1 << 20, Length: 512}, {Op: Write, Offset: 1, Length: 512},
		{Op: Write, Length: 100}, {Op: 0}, {Op: 99}, {Op: Write, Length: 1 << 62, Offset: 1 << 62}, {Op: Read, Length: 512, Data: make([]byte, 1024)},
	} {
		if _, err := d.Submit(2*time.Second, r); err == nil {
			t.Errorf("%+v is carried out", r)
		}
	}
	if d.Stats() != before {
		t.Errorf("bad requests changed something")
	}
	if done, _ := d.Submit(0, Request{Op: Read, Length: 4096}); done < time.Second {
		t.Errorf("a request at 0 after one at 1 s completes at %v", done)
	}
}

// FuzzDevice feeds arbitrary streams of requests to a device of each kind.
func FuzzDevice(f *testing.F) {
	f.Add(uint8(0), []byte("\x02\x00\x10\x02\x04\x01\x00\x00\x08\x01\x03\x05\x00\x40\x20"))
	f.Add(uint8(5), []byte{2, 1, 0, 16, 3, 2, 2, 7, 16, 9, 5, 0, 0, 4, 0, 6, 9, 9, 9, 9, 1, 0, 0, 255, 1})
	models := randomModels()
	names := slices.Sorted(maps.Keys(models))
	f.Fuzz(func(t *testing.T, which uint8, stream []byte) {
		m := models[names[int(which)%len(names)]]
		x, err := newTrial(m, 1)
		if err != nil {
			t.Fatal(err)
		}
		for ; len(stream) >= 5 && x.o.op < 2000; stream = stream[5:] {
			b := stream[:5]
			if b[0]%8 == 6 {
				if err := x.cut(); err != nil {
					t.Fatal(err)
				}
				continue
			}
			if b[0]%8 == 7 {
				x.now += time.Duration(b[1]) << (b[2] % 24)
				continue
			}
			r := Request{Op: Op(b[0] % 8), FUA: b[0] >= 192, Offset: (int64(b[1])<<8 | int64(b[2])) % (m.Size / Sector) * Sector,
				Length: int64(b[3]) * Sector}
			if r.Op == Read || r.Op == Write {
				r.Data = x.l.mem[:r.Length]
			}
			if checkRequest(r, m.Size) == nil {
				x.o.prepare(&r)
			}
			done, err := x.d.Submit(x.now, r)
			if err != nil {
				continue
			}
			if err := x.o.carried(r, done); err != nil {
				t.Fatal(err)
			}
			x.last = max(x.last, done)
			if b[4]&1 == 0 || m.Bus.Queue == 1 {
				x.now = max(x.now, done)
			}
			x.now += time.Duration(b[4]) * 10 * time.Microsecond
		}
		if err := x.cut(); err != nil {
			t.Fatal(err)
		}
	})
}
