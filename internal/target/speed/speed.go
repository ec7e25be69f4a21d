// Package speed measures the processor that it runs on, for the virtual lab: how many of the amd64
// instructions that a guest's kernel counts this processor gets done in a second.
//
// It times pieces of work in plain Go that are like those of a filesystem. How many instructions of
// amd64 each of them is was counted once, by single steps, and is a constant; on a processor with
// another instruction set it executes another number of them, and still the same work. What it takes
// a kernel to enter and leave cannot be counted, and is timed by system calls and page faults.
//
// The pieces fit into instruction caches, as a kernel's filesystem does not always: the speeds are
// upper limits.
package speed

import (
	"fmt"
	"math"
	"runtime"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"whichfs/internal/plan/processor"
	"whichfs/internal/sys/hardware"
)

// Piece is reference work.
type Piece struct {
	Name string
	// Instructions of amd64 that a run executes, as Go 1.26 compiles it: the mean of 12 or more
	// seeds, which differ by up to 4 %. TestCounts checks it, and with -v prints what it counted.
	Instructions float64
	// New returns the work, which allocates nothing. The seed decides what is done; the result
	// depends on all of it.
	New func() func(seed uint32) uint32
}

// Pieces are the work that consists of instructions, by the kinds of a profile.
var Pieces = []Piece{
	{"other", 306_600, newOther},
	{"compressing", 609_500, newCompressing},
	{"checksums", 149_658, newChecksums},
}

// Measured is a profile and how it came about.
type Measured struct {
	Profile processor.Profile
	Figures []Figure // in the order of a profile
	Rounds  int
}

// Figure is a measured figure of a profile, in its unit.
type Figure struct {
	Key                  string
	Lower, Median, Upper float64 // quartiles
}

// uneven is how far apart the quartiles of a figure may be before it is doubtful.
const uneven = 0.05

// apart is how far apart the quartiles are, relative to the median.
func (f Figure) apart() float64 { return (f.Upper - f.Lower) / f.Median }

// Warning says which figures are doubtful; "" if none is.
func (m Measured) Warning() string {
	var keys []string
	for _, f := range m.Figures {
		if f.apart() > uneven {
			keys = append(keys, f.Key)
		}
	}
	if keys == nil {
		return ""
	}
	return fmt.Sprintf("the quartiles of %s are more than %.0f %% apart: measure again while this machine does nothing else", strings.Join(keys, ", "), 100*uneven)
}

// How long a measurement takes, except on processors so slow that the fewest rounds take longer.
const (
	Long   = 30 * time.Second
	Quick  = 3 * time.Second
	fewest = 3 // rounds
	slice  = 25 * time.Millisecond
)

// Measure measures for so long, in rounds in which each kind of work has its turn. Name is the profile's.
func Measure(name string, lasting time.Duration) (Measured, error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	defer debug.SetGCPercent(debug.SetGCPercent(-1))
	all, end, err := kinds()
	defer end()
	if err != nil {
		return Measured{}, err
	}
	clock, err := newClock()
	if err != nil {
		return Measured{}, err
	}
	begun := time.Now()
	for i := range all { // until the caches are warm, the frequency is up, and a turn is long enough
		if begin := all[i].begin; begin != nil {
			if err := begin(); err != nil {
				return Measured{}, err
			}
		}
		for spent := time.Duration(0); spent < clock.turn; {
			all[i].runs *= 2
			if spent, err = clock.time(&all[i]); err != nil {
				return Measured{}, err
			}
		}
	}
	rates := make([][]float64, len(all)) // per second, by round
	for n := 0; n < fewest || time.Since(begun) < lasting; n++ {
		for i := range all {
			spent, err := clock.time(&all[i])
			if err != nil {
				return Measured{}, err
			}
			rates[i] = append(rates[i], all[i].units*float64(all[i].runs)/spent.Seconds())
		}
	}
	return summary(name, all, rates)
}

// kind is what one figure is measured by.
type kind struct {
	key   string
	units float64 // of a run: instructions, bytes, calls, faults
	run   func(seed uint32) uint32
	begin func() error // before the first run; nil: nothing
	runs  int          // of a turn
	seed  uint32       // of the next run
}

// Figures in bytes per second, and in instructions of the kind other.
const (
	copying = "copying"
	call    = "call"
	fault   = "fault"
	change  = "switch"
	// unchanged follows change and is no figure: the same calls without a change.
	unchanged = "unchanged"
)

// What the virtual lab's kernel (6.1) counts for a call, a fault and a change of threads of the work here,
// in instructions: its time in a guest that is charged for 1000 MIPS and nothing else.
const (
	countedCall   = 395
	countedFault  = 1836
	countedSwitch = 1118
)

// kinds prepares all work; other is the first.
func kinds() (all []kind, end func(), err error) {
	for _, p := range Pieces {
		all = append(all, kind{key: p.Name, units: p.Instructions, run: p.New()})
	}
	all = append(all, kind{key: copying, units: copied, run: newCopying()})
	all = append(all, byInstructions()...)
	enter, closed, err := newCalls()
	if err != nil {
		return nil, func() {}, err
	}
	touch, unmapped, err := newFaults()
	if err != nil {
		return nil, closed, err
	}
	s := &switches{}
	all = append(all, kind{key: call, units: calls, run: enter}, kind{key: fault, units: chunk, run: touch},
		kind{key: change, units: turns, run: s.turn, begin: s.begin}, kind{key: unchanged, units: turns, run: s.alone})
	for i := range all {
		all[i].runs = 1
	}
	return all, func() { closed(); unmapped(); s.end() }, nil
}

// clock is the time that the processor spent on this process. Elapsed time would contain what it did
// for others meanwhile.
type clock struct {
	turn time.Duration
	sum  uint32 // of results, which the compiler must not leave out
}

// newClock finds out how finely the clock is read: on old boards it advances with the kernel's tick.
// A turn is a hundred times as long at least.
func newClock() (*clock, error) {
	c := &clock{turn: slice}
	for range 5 {
		began, err := now()
		if err != nil {
			return nil, err
		}
		next := began
		for next == began {
			if next, err = now(); err != nil {
				return nil, err
			}
		}
		c.turn = max(c.turn, 100*(next-began))
	}
	return c, nil
}

func now() (time.Duration, error) {
	var t unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_PROCESS_CPUTIME_ID, &t); err != nil {
		return 0, fmt.Errorf("the time of a process: %w", err)
	}
	return time.Duration(t.Nano()), nil
}

// time is that of a turn. No run has the seed of another, so that no processor knows its branches by
// heart.
func (c *clock) time(k *kind) (time.Duration, error) {
	began, err := now()
	if err != nil {
		return 0, err
	}
	for range k.runs {
		c.sum += k.run(k.seed)
		k.seed++
	}
	end, err := now()
	return end - began, err
}

func summary(name string, all []kind, rates [][]float64) (Measured, error) {
	m := Measured{Rounds: len(rates[0])}
	by := map[string]float64{}
	for i, k := range all {
		for n, rate := range rates[i] {
			switch k.key {
			case call:
				rates[i][n] = max(1, rates[0][n]/rate-countedCall)
			case fault:
				rates[i][n] = max(1, rates[0][n]/rate-countedFault)
			case change:
				rates[i][n] = max(1, rates[0][n]*(1/rate-1/rates[i+1][n])-countedSwitch)
			}
		}
	}
	for i, k := range all {
		if k.key == unchanged {
			continue
		}
		sorted := slices.Sorted(slices.Values(rates[i]))
		quartile := func(q float64) float64 { return sorted[int(math.Round(q*float64(len(sorted)-1)))] }
		f := Figure{k.key, quartile(0.25), quartile(0.5), quartile(0.75)}
		m.Figures = append(m.Figures, f)
		by[k.key] = rounded(f.Median)
	}
	m.Profile = processor.Profile{
		Name: name, Other: by["other"], Compressing: by["compressing"], Checksums: by["checksums"], Copying: by[copying],
		CRC32: by["crc32"], CRC32C: by["crc32c"],
		Call: math.Round(by[call]), Fault: math.Round(by[fault]), Switch: math.Round(by[change]), Title: hardware.Processor(),
		Source: fmt.Sprintf("measured by whichfs: medians of %d rounds", m.Rounds),
	}
	return m, m.Profile.Check()
}

// rounded has three digits, which is more than are certain.
func rounded(v float64) float64 {
	r, err := strconv.ParseFloat(strconv.FormatFloat(v, 'g', 3, 64), 64)
	if err != nil {
		return v
	}
	return r
}
