package ticks

// count is the processor's time-stamp counter.
func count() uint64
