package flash

import "math"

// daysOfYear is the mean length of a year.
const daysOfYear = 365.25

// Years is how long flash lasts under a daily volume of writing, in years.
//
// A medium of so many bytes whose blocks bear so many erases takes
// cycles × capacity bytes in its life, if every block is worn alike. It is
// over when its most worn block is: with a spread of s (erases of the most
// worn block over the mean of all) the mean block has then seen cycles / s.
// Of every byte that is programmed, 1 / amplification was the host's. So
//
//	years = cycles × capacity / (spread × amplification × dailyBytes × 365.25)
//
// This is the endurance formula of JEDEC JESD218 (TBW = capacity × cycles /
// amplification) with the evenness of the wear as a factor of its own, because
// the models have it and cards differ in it. It says nothing of bits that fade
// in storage, of cells that die early or of spare blocks that stand in for
// them.
//
// cycles: erases that a block is rated for. capacity: blocks × size of a
// block, in bytes, spare ones included. dailyBytes: written by the work a day.
// amplification: bytes programmed per byte that the work wrote; it may be less
// than 1 where a buffer takes in what is soon overwritten. spread: 1 or more.
// Over a short run, in which most blocks were not erased at all, the spread is
// larger than it will stay, and the years too few.
//
// Where nothing is written the years are infinite and why says so. Where a
// figure is missing or impossible the years are 0 and why says which; 0 years
// are never an answer by themselves. Otherwise why is empty.
func Years(cycles int64, capacity, dailyBytes, amplification, spread float64) (years float64, why string) {
	switch {
	case cycles <= 0:
		return 0, "the model does not state how often a block can be erased"
	case !(capacity > 0) || math.IsInf(capacity, 0):
		return 0, "the size of the medium is not known"
	case !(dailyBytes >= 0) || math.IsInf(dailyBytes, 0):
		return 0, "the daily volume is not known"
	case dailyBytes == 0:
		return math.Inf(1), "nothing is written, so nothing wears"
	case !(amplification > 0) || math.IsInf(amplification, 0):
		return 0, "the write amplification is not known"
	case !(spread > 0) || math.IsInf(spread, 0):
		return 0, "no block was erased, so how evenly they wear is not known"
	case spread < 0.999:
		return 0, "the most worn block cannot have fewer erases than the mean"
	}
	return float64(cycles) * capacity / (spread * amplification * dailyBytes * daysOfYear), ""
}
