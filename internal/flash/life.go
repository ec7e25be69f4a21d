package flash

import "math"

// daysOfYear is the mean length of a year.
const daysOfYear = 365.25

// Years is how long flash lasts under a daily volume of writes, in years.
//
// A medium of capacity bytes whose blocks endure a number of cycles accepts
// cycles × capacity bytes in its life, if all blocks wear evenly. Its life
// ends with its most worn block: with a spread of s (erases of the most worn
// block over the mean of all) the mean block has then seen cycles / s. Of
// every byte that is programmed, 1 / amplification came from the host. So
//
//	years = cycles × capacity / (spread × amplification × dailyBytes × 365.25)
//
// This is the endurance formula of JEDEC JESD218 (TBW = capacity × cycles /
// amplification) with the evenness of wear as a separate factor, because the
// models provide it and it differs between cards. It does not cover data retention,
// early cell failures or spare blocks that replace failed ones.
//
// cycles: rated erases per block. capacity: blocks × block size, in bytes,
// including spare ones. dailyBytes: written by the workload per day.
// amplification: bytes programmed per byte that the workload wrote; it may be
// less than 1 if a buffer absorbs overwrites. spread: 1 or more. Over a short
// run, in which most blocks were not erased at all, the spread is larger than
// in the long run, and the result too low.
//
// If nothing is written the years are infinite and why says so. If a figure is
// missing or impossible the years are 0 and why says which; 0 years always
// come with a reason. Otherwise why is empty.
func Years(cycles int64, capacity, dailyBytes, amplification, spread float64) (years float64, why string) {
	switch {
	case cycles <= 0:
		return 0, "the model does not state how often a block can be erased"
	case !(capacity > 0) || math.IsInf(capacity, 0):
		return 0, "the size of the medium is unknown"
	case !(dailyBytes >= 0) || math.IsInf(dailyBytes, 0):
		return 0, "the daily volume is unknown"
	case dailyBytes == 0:
		return math.Inf(1), "nothing is written, so nothing wears"
	case !(amplification > 0) || math.IsInf(amplification, 0):
		return 0, "the write amplification is unknown"
	case !(spread > 0) || math.IsInf(spread, 0):
		return 0, "no block was erased, so the evenness of wear is unknown"
	case spread < 0.999:
		return 0, "the most worn block cannot have fewer erases than the mean"
	}
	return float64(cycles) * capacity / (spread * amplification * dailyBytes * daysOfYear), ""
}
