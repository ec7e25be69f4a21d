package flash

import (
	"testing"
	"time"
)

// TestSegmentWear: one segment is rewritten repeatedly while the others never
// are. Without levelling a few blocks take all the wear; dynamic levelling
// spreads it over the free ones, static levelling over all.
func TestSegmentWear(t *testing.T) {
	for _, scheme := range []string{SchemeSegment, SchemeHybrid} {
		spread := func(w Wear) Stats {
			d, err := New(plain(func(m *Model) { m.Wear = w; m.Map.Scheme = scheme }))
			if err != nil {
				t.Fatal(err)
			}
			now := time.Duration(0)
			for at := int64(0); at < 1<<20; at += 64 << 10 {
				now, _ = d.Submit(now, Request{Op: Write, Offset: at, Length: 64 << 10})
			}
			for range 2000 {
				now, _ = d.Submit(now, Request{Op: Write, Length: 64 << 10})
			}
			return d.Stats()
		}
		none, dynamic, static := spread(Wear{}), spread(Wear{Dynamic: true}), spread(Wear{Dynamic: true, Static: true, Gap: 16})
		if none.MaxErases != 1000 || none.MinErases != 0 {
			t.Errorf("%s, without levelling: %+v", scheme, none)
		}
		if dynamic.MinErases != 0 || dynamic.MaxErases != 400 {
			t.Errorf("%s, dynamic: %+v", scheme, dynamic)
		}
		if static.MinErases == 0 || static.MaxErases-static.MinErases > 2*16 || static.StdDevErases > 16 {
			t.Errorf("%s, static: %+v", scheme, static)
		}
		if static.Blocks != 4*(16+2+2) || none.Amplification() != 1 {
			t.Errorf("%s: %d blocks, amplification %v", scheme, static.Blocks, none.Amplification())
		}
	}
}
