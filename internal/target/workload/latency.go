package workload

import (
	"math/bits"
	"time"

	"whichfs/internal/result"
)

// latencies counts how long single operations took, in buckets whose width grows with the value: 64
// per power of two, so that a percentile is at most 0.8 % off (half a bucket), and exact below 128
// ns. It has a fixed size and no pointers, so counting allocates nothing, and histograms of several
// threads can be added up. The maximum is kept exactly.
//
// One reading of the clock ends an operation and begins the next: see lap.
type latencies struct {
	counts [latencyBuckets]uint32
	n      uint64
	max    time.Duration
}

// latencyBits is how many bits of a time a bucket keeps after the leading one. Times up to
// 2^latencyRange ns, five days, have a bucket; longer ones go into the last.
const (
	latencyBits    = 6
	latencyRange   = 49
	latencyBuckets = (latencyRange - latencyBits + 1) << latencyBits
)

func latencyBucket(d time.Duration) int {
	ns := uint64(max(d, 0))
	if ns < 1<<(latencyBits+1) {
		return int(ns)
	}
	shift := bits.Len64(ns) - 1 - latencyBits
	return min(shift<<latencyBits+int(ns>>shift), latencyBuckets-1)
}

// latencyOf is the middle of a bucket.
func latencyOf(bucket int) time.Duration {
	if bucket < 1<<(latencyBits+1) {
		return time.Duration(bucket)
	}
	shift := bucket>>latencyBits - 1
	low := int64(bucket-shift<<latencyBits) << shift
	return time.Duration(low + (int64(1)<<shift)/2)
}

func (l *latencies) add(d time.Duration) {
	l.counts[latencyBucket(d)]++
	l.n++
	l.max = max(l.max, d)
}

// lap ends an operation that began at since, measured from start, and returns the start of the next
// one. It reads the monotonic clock once per operation: what a program does between two calls
// belongs to the second.
func (l *latencies) lap(start time.Time, since time.Duration) time.Duration {
	now := time.Since(start)
	l.add(now - since)
	return now
}

// merge adds the counts of another histogram.
func (l *latencies) merge(o *latencies) {
	for i, n := range o.counts {
		l.counts[i] += n
	}
	l.n += o.n
	l.max = max(l.max, o.max)
}

// quantile is the time, in seconds, that a share of the operations did not exceed (nearest rank);
// never more than the maximum.
func (l *latencies) quantile(share float64) float64 {
	rank := uint64(share*float64(l.n) + 0.999999999)
	rank = min(max(rank, 1), l.n)
	var seen uint64
	for i, n := range l.counts {
		if seen += uint64(n); seen >= rank {
			return min(latencyOf(i), l.max).Seconds()
		}
	}
	return l.max.Seconds()
}

// measurements are the percentiles, where they are meaningful: one that needs more operations than
// there were is absent.
func (l *latencies) measurements() []result.Measurement {
	out := make([]result.Measurement, 0, 5)
	for _, q := range []struct {
		metric string
		share  float64
		least  uint64 // operations, so that at least one lies beyond it
	}{{result.LatP50, 0.5, 2}, {result.LatP95, 0.95, 20}, {result.LatP99, 0.99, 100}, {result.LatP999, 0.999, 1000}} {
		why := ""
		if l.n < q.least {
			why = "too few operations for this percentile"
		}
		out = append(out, result.FigureOr(q.metric, l.quantile(q.share), why))
	}
	none := ""
	if l.n == 0 {
		none = "there was no operation"
	}
	return append(out, result.FigureOr(result.LatMax, l.max.Seconds(), none))
}
