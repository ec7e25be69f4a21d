package fio

import (
	"fmt"
	"math"
	"slices"
	"strconv"
)

// Latency holds the latencies of single requests. The zero value has none.
type Latency struct {
	bins   map[int64]int64 // ns, the middle of a bin → samples
	binned int64           // samples in bins
	n      int64           // requests
	max    float64         // ns
}

// lastBin is the middle of the last bin of fio's histogram in nanoseconds, and
// lastEdge its beginning: 29 groups of 64 bins (FIO_IO_U_PLAT_GROUP_NR of
// stat.h), of which the last group has bins of 2^27 ns up to 2^34 ns. It also
// holds all longer latencies.
const (
	lastWidth = 1 << 27
	histogram = 1 << 34
	lastEdge  = histogram - lastWidth
)

const nanosecond = 1e-9

func (l *Latency) add(o latencyOutput, requests int64) {
	l.n += requests
	l.max = math.Max(l.max, float64(o.Max))
	for text, samples := range o.Bins {
		ns, err := strconv.ParseInt(text, 10, 64)
		if err != nil || ns < 0 || samples <= 0 || samples > math.MaxInt64-l.binned {
			continue
		}
		if l.bins == nil {
			l.bins = map[int64]int64{}
		}
		l.bins[ns] += samples
		l.binned += samples
	}
}

// Max is the exact longest latency in seconds, or why there is none.
func (l Latency) Max() (float64, string) {
	if l.max <= 0 {
		return 0, "fio measured no latencies"
	}
	return l.max * nanosecond, ""
}

// Percentile is the latency in seconds that a share (0 to 1) of the requests
// did not exceed, to within the width of a bin, which is less than 2 % of it;
// or why there is none. Beyond the end of fio's histogram only a lower bound is
// known.
func (l Latency) Percentile(share float64) (float64, string) {
	if l.binned == 0 {
		return 0, "fio recorded no distribution of latencies"
	}
	if l.binned < l.n {
		return 0, fmt.Sprintf("fio recorded the latencies of %d of %d requests", l.binned, l.n)
	}
	var keys []int64
	for ns := range l.bins {
		keys = append(keys, ns)
	}
	slices.Sort(keys)
	need := share * float64(l.binned)
	seen := int64(0)
	at := keys[len(keys)-1]
	for _, ns := range keys {
		if seen += l.bins[ns]; float64(seen) >= need {
			at = ns
			break
		}
	}
	if at >= lastEdge && (l.max >= histogram || l.max <= 0) {
		return 0, fmt.Sprintf("at least %.1f s: fio's histogram ends at %.1f s", lastEdge*nanosecond, histogram*nanosecond)
	}
	value := float64(at)
	if l.max > 0 {
		value = math.Min(value, l.max) // the middle of a bin may lie beyond all its samples
	}
	return value * nanosecond, ""
}
