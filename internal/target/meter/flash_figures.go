package meter

import (
	"errors"

	"whichfs/internal/result"
)

// figures of a phase. Programs that write only spare bytes count as pages, but not as programmed
// bytes.
func (f *figures) flash(before, after *flashCounts, m messages) {
	gone := func(a, b uint64) error {
		if a < b {
			return errors.New("the chip was replaced meanwhile, and its counters restarted at zero")
		}
		return nil
	}
	err := first(before.err, after.err, gone(after.loaded, before.loaded), gone(after.programmed, before.programmed), gone(after.erased, before.erased))
	f.add(result.FlashErased, float64(after.erased-before.erased), err)
	err = first(err, after.own)
	f.add(result.FlashPages, float64(after.programmed-before.programmed), err)
	f.add(result.FlashProgrammed, float64((after.programmed-after.spare-before.programmed+before.spare)*after.page), err)
	f.add(result.FlashPagesRead, float64(after.loaded-before.loaded), err)
	err = first(before.eccErr, after.eccErr)
	f.add(result.ECCCorrected, float64(after.corrected-before.corrected), first(err, gone(after.corrected, before.corrected)))
	f.add(result.ECCFailed, float64(after.failed-before.failed), first(err, gone(after.failed, before.failed)))
	f.add(result.FlashBad, float64(after.bad), after.eccErr)
	var noUBI error
	if !before.ubi && !after.ubi {
		noUBI = errors.New("there is no UBI on the flash")
	}
	if m.lost {
		noUBI = errors.New("kernel messages, in which UBI reports it, were lost")
	}
	f.add(result.UBIScrubbed, float64(m.scrubbed), first(noUBI, m.err))
}

// Emptied tells the meter that the storage has just been emptied: earlier erases do not count as
// wear by the trial.
func (m *Meter) Emptied() {
	if m.flash == nil {
		return
	}
	m.flash.prepare()
	var now flashCounts
	m.flash.take(&now)
	copy(m.flash.fresh, m.flash.erases)
	m.flash.base = now
}

// WholeTrial is the phase of figures for a whole trial.
const WholeTrial = "trial"

// Wear returns the wear of the flash since it was emptied, and its properties, to be sent as figures
// of WholeTrial. cycles is how many erases a block is rated for; 0: unknown. Nil if the storage is
// not raw flash.
func (m *Meter) Wear(cycles int64) []result.Measurement {
	f := m.flash
	if f == nil {
		return nil
	}
	var fig figures
	var now flashCounts
	f.take(&now)
	good := uint64(len(f.erases)) - min(now.bad, uint64(len(f.erases)))
	spread, err := f.spread(good)
	fig.add(result.FlashSpread, spread, first(now.err, f.base.err, err))
	g, err := f.look()
	if err == nil && g != f.geometry {
		err = errors.New("the chip was replaced during the trial")
	}
	fig.add(result.FlashBlocks, float64(good), first(err, now.eccErr))
	fig.add(result.FlashBlock, float64(g.block), err)
	var unrated error
	if cycles <= 0 {
		unrated = errors.New("the rated number of erases per block is unknown")
	}
	fig.add(result.FlashCycles, float64(cycles), unrated)
	return fig.all
}

// Worn returns how the last phase wore the blocks of the flash; nil if the storage is not raw flash.
func (m *Meter) Worn() []result.Measurement {
	f := m.flash
	if f == nil {
		return nil
	}
	var fig figures
	var now flashCounts
	f.take(&now)
	var most, sum, untouched uint64
	err := now.err
	for i, n := range f.erases {
		if n < f.begun[i] {
			err = first(err, errors.New("the counters of single blocks restarted during the phase"))
			break
		}
		n -= f.begun[i]
		most, sum = max(most, n), sum+n
		if n == 0 {
			untouched++
		}
	}
	bad := min(now.bad, uint64(len(f.erases)))
	fig.add(result.FlashMost, float64(most), err)
	fig.add(result.FlashMean, float64(sum)/float64(max(1, uint64(len(f.erases))-bad)), err)
	fig.add(result.FlashUntouched, float64(untouched-min(bad, untouched)), err)
	return fig.all
}

// spread is the ratio of the most erases of a block to the mean of the good ones.
func (f *flash) spread(good uint64) (float64, error) {
	var most, sum uint64
	for i, n := range f.erases {
		if n < f.fresh[i] {
			return 0, errors.New("the counters of single blocks restarted during the trial")
		}
		n -= f.fresh[i]
		most, sum = max(most, n), sum+n
	}
	if sum == 0 || good == 0 {
		return 0, errors.New("no block was erased")
	}
	return float64(most) * float64(good) / float64(sum), nil
}
