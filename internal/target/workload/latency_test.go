package workload

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"whichfs/internal/result"
)

// Every time is in a bucket whose middle is at most 0.8 % away, and buckets are ordered by time.
func TestLatencyBuckets(t *testing.T) {
	last := -1
	for d := time.Duration(0); d < 5*24*time.Hour; d += d/300 + 1 {
		b := latencyBucket(d)
		if b < last || b >= latencyBuckets {
			t.Fatalf("%v lies in bucket %d after %d", d, b, last)
		}
		last = b
		if off := math.Abs(float64(latencyOf(b)-d)) / float64(max(d, 1)); off > 0.008 {
			t.Fatalf("%v is taken for %v", d, latencyOf(b))
		}
	}
	if latencyBucket(math.MaxInt64) != latencyBuckets-1 || latencyBucket(-5) != 0 {
		t.Error("times beyond the limits are not in the first or last bucket")
	}
}

func TestLatencyQuantiles(t *testing.T) {
	source := rand.New(rand.NewPCG(1, 2))
	var l, a, b latencies
	var all []time.Duration
	for i := range 5000 {
		d := time.Duration(math.Exp(source.NormFloat64()*2+13)) + 200
		all = append(all, d)
		l.add(d)
		if i%3 == 0 {
			a.add(d)
		} else {
			b.add(d)
		}
	}
	slices.Sort(all)
	a.merge(&b)
	if a != l {
		t.Error("two halves are not the whole")
	}
	for _, share := range []float64{0.001, 0.5, 0.95, 0.99, 0.999, 1} {
		want := all[int(math.Ceil(share*5000))-1].Seconds()
		if got := l.quantile(share); math.Abs(got/want-1) > 0.008 {
			t.Errorf("%v: %v, want %v", share, got, want)
		}
	}
	if l.max != all[4999] || l.quantile(1) > l.max.Seconds() {
		t.Errorf("the longest is %v, want %v", l.max, all[4999])
	}
}

// A percentile that needs more operations is absent, and never 0.
func TestLatencyAbsent(t *testing.T) {
	absent := func(n int) (names []string) {
		var l latencies
		for range n {
			l.add(time.Millisecond)
		}
		for _, m := range l.measurements() {
			if m.Absent != "" {
				names = append(names, m.Metric)
			} else if math.Abs(m.Value-1e-3) > 1e-5 {
				t.Errorf("%d operations: %+v", n, m)
			}
		}
		return names
	}
	for n, want := range map[int][]string{
		0: {result.LatP50, result.LatP95, result.LatP99, result.LatP999, result.LatMax}, 20: {result.LatP99, result.LatP999},
		999: {result.LatP999}, 1000: nil,
	} {
		if got := absent(n); !slices.Equal(got, want) {
			t.Errorf("%d operations: absent are %v, want %v", n, got, want)
		}
	}
}
