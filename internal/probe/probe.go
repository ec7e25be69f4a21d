// Package probe finds out what storage is like inside by timing it: page and
// segment size, open segments, caches, slow zones, what flushing and
// discarding cost. Its point of view: a figure is inferred, never taken from
// what a device says of itself; it comes with its evidence and a confidence;
// and "cannot be determined on this device" is an answer.
//
// The package sees storage only as a Target. It knows nothing of simulated
// devices, and the linter keeps it so.
package probe

import (
	"context"
	"math/rand/v2"
	"time"
)

// Target is storage that can be timed. Offsets and lengths are multiples of
// 512 bytes. Every request goes past the page cache and is made at once; a
// duration is that of the request alone. Errors are the device's own and end
// the probe.
type Target interface {
	Size() int64
	// Writable says whether writing, discarding and flushing are allowed; the
	// methods that do it must not be called otherwise.
	Writable() bool
	Read(offset, length int64) (time.Duration, error)
	// Write writes bytes that are not zeros and differ from place to place.
	Write(offset, length int64) (time.Duration, error)
	// Flush waits until all that was written is on the medium.
	Flush() (time.Duration, error)
	// Discard may answer with ErrUnsupported.
	Discard(offset, length int64) (time.Duration, error)
	// Together carries out requests of one length at these offsets, depth of
	// them under way at a time, and returns the time for all of them.
	// ErrUnsupported where only one at a time is possible.
	Together(write bool, offsets []int64, length int64, depth int) (time.Duration, error)
	// Load reads contents, untimed.
	Load(offset int64, into []byte) error
	// Store writes contents and flushes, untimed.
	Store(offset int64, from []byte) error
	// Pause leaves the device alone for a while.
	Pause(time.Duration)
	// Elapsed is the time since the target was opened, on the clock that the
	// durations are taken with.
	Elapsed() time.Duration
}

// Blocks is implemented by targets whose requests must be multiples of more
// than 512 bytes; the answer to others is ErrUnsupported.
type Blocks interface {
	// BlockSize is the smallest request, in bytes: a logical block.
	BlockSize() int64
}

// Cached is implemented by targets that can also write through a page cache, as
// most programs do.
type Cached interface {
	// WriteCached writes a stretch in blocks into the page cache and waits until
	// it is on the medium. The time is that of all of it.
	WriteCached(offset, length, block int64) (time.Duration, error)
}

// ErrUnsupported is the answer of a target that cannot do what was asked.
var ErrUnsupported = unsupported{}

type unsupported struct{}

func (unsupported) Error() string { return "not supported by this device" }

// Options say how much to do.
type Options struct {
	// Effort is "quick" (about a minute on a slow card), "normal" (default) or
	// "thorough".
	Effort string
	// Limit is how long the probe may take on the target's clock; 0: as long
	// as it needs. Parts that no longer fit are left out with that reason.
	Limit time.Duration
	// Seed of every random choice; recorded in the report.
	Seed uint64
	// Only these parts (see Parts); empty: all.
	Only []string
	// Progress is told what is being done and how much of all is, 0 to 1; it
	// may be nil.
	Progress func(what string, share float64)
}

// Format is the version of Report's shape.
const Format = 1

// Report is what a probe found.
type Report struct {
	Format  int    `json:"format"`  // Format
	Storage string `json:"storage"` // as the user wrote it
	// Identity of the device, as storage.Claim has it.
	Identity string    `json:"identity"`
	Size     int64     `json:"size"` // B
	Machine  string    `json:"machine"`
	Kernel   string    `json:"kernel"`
	Emulated bool      `json:"emulated"` // the processor: small figures contain the emulator
	Clock    string    `json:"clock"`    // "wall", or "simulated": the model's own
	Version  string    `json:"version"`  // of whichfs
	Started  time.Time `json:"started"`
	Seconds  float64   `json:"seconds"` // on that clock
	Wrote    bool      `json:"wrote"`   // false: the probe only read
	Written  int64     `json:"written"` // B, by the probe in all
	Effort   string    `json:"effort"`
	Seed     uint64    `json:"seed"`
	// Stated is what the device or the kernel says of itself: shown beside the
	// findings, never used for them.
	Stated   []Stated  `json:"stated,omitempty"`
	Findings []Finding `json:"findings"` // in the order of Keys
	Curves   []Curve   `json:"curves"`
	Warnings []string  `json:"warnings,omitempty"`
	// Partial says why the probe ended before it was done: interrupted, or what
	// the device did. Empty: it is whole. Filled in by whoever called Run.
	Partial string `json:"partial,omitempty"`
}

// Stated is one word of the device about itself.
type Stated struct {
	Name  string `json:"name"`  // "preferred_erase_size"
	Value string `json:"value"` // "4.00 MiB"
	From  string `json:"from"`  // "/sys/block/mmcblk0/device/preferred_erase_size"
}

// Keys of the findings, in the order in which reports show them.
const (
	ReadSpeed     = "read-speed"          // B/s, sequential, at the best block size
	WriteSpeed    = "write-speed"         // B/s, sequential and sustained
	PageSize      = "page-size"           // B
	SegmentSize   = "segment-size"        // B
	OpenLinear    = "open-linear"         // 1, segments that can be written in turns, onward inside
	OpenRandom    = "open-random"         // 1, likewise at random inside; 0: not even one
	FATArea       = "fat-area"            // B of a faster area at the start; 0: there is none
	WriteCache    = "write-cache"         // B; 0: there is none
	FastCache     = "fast-cache"          // B; 0: there is none
	FlushCost     = "flush-cost"          // s, of a flush with one page to write
	DiscardCost   = "discard-cost"        // s per GiB
	DiscardZeroes = "discard-zeroes"      // text: "yes", "no"
	SlowZones     = "slow-zones"          // text; the map is the curve "map-read" or "map-write"
	RealSize      = "real-size"           // B, of what keeps its contents; a fake card has less than it says
	QueueDepth    = "queue-depth"         // 1, requests at a time that still gain
	Rotation      = "rotation"            // text: "solid state", "rotating"; Value is r/min of the latter
	SmallWrites   = "small-writes"        // 1, time for the same data in the smallest blocks over that in 4 KiB
	LargeWrites   = "large-writes"        // 1, time for the same data in blocks of 4 KiB over that in the best
	SmallCached   = "small-writes-cached" // 1, as small-writes, through the page cache
	LargeCached   = "large-writes-cached" // 1, as large-writes, through the page cache
	BestReadBlock = "best-read-block"     // B, the block size that reads fastest, smallest of those within 5 %
	RandomRead    = "random-read"         // 1/s, 4 KiB
	RandomWrite   = "random-write"        // 1/s, 4 KiB, whole device, steady
)

// Finding is one thing that was inferred, or the reason why it was not.
type Finding struct {
	Key  string `json:"key"`
	Name string `json:"name"` // for people: "Segment size"
	// Value in Unit ("B", "B/s", "s", "1", "1/s"); Text in place of it or
	// beside it.
	Value float64 `json:"value"`
	Unit  string  `json:"unit,omitempty"`
	Text  string  `json:"text,omitempty"`
	// Undetermined says why there is no value.
	Undetermined string `json:"undetermined,omitempty"`
	// Confidence from 0 to 1; Sure, Likely and Unsure are its words.
	Confidence float64 `json:"confidence"`
	// Evidence is the figures it stands on, in a sentence.
	Evidence string `json:"evidence,omitempty"`
	// Meaning says what it means for the user, a short paragraph.
	Meaning string   `json:"meaning,omitempty"`
	Curves  []string `json:"curves,omitempty"` // keys of the curves that show it
}

// Known reports whether the finding has a value.
func (f Finding) Known() bool { return f.Key != "" && f.Undetermined == "" }

// Sureness is the confidence in a word.
func (f Finding) Sureness() string {
	switch {
	case f.Undetermined != "":
		return ""
	case f.Confidence >= 0.9:
		return "sure"
	case f.Confidence >= 0.6:
		return "likely"
	}
	return "unsure"
}

// Curve is measured points, for a picture.
type Curve struct {
	Key   string `json:"key"`
	Title string `json:"title"`
	// XName and YName with their units: "block size" in "B".
	XName string `json:"x_name"`
	XUnit string `json:"x_unit"`
	YName string `json:"y_name"`
	YUnit string `json:"y_unit"`
	LogX  bool   `json:"log_x,omitempty"`
	LogY  bool   `json:"log_y,omitempty"`
	Lines []Line `json:"lines"`
	// Mark is an x at which a finding sits, 0: none.
	Mark float64 `json:"mark,omitempty"`
}

// Line of a curve.
type Line struct {
	Name   string  `json:"name"`
	Points []Point `json:"points"`
}

// Point is an estimate (median) with its lowest and highest repetition.
type Point struct {
	X    float64 `json:"x"`
	Y    float64 `json:"y"`
	Low  float64 `json:"low"`
	High float64 `json:"high"`
	N    int     `json:"n"`
}

// Find returns the finding of a key; Known is false where there is none.
func (r Report) Find(key string) Finding {
	for _, f := range r.Findings {
		if f.Key == key {
			return f
		}
	}
	return Finding{Undetermined: "not looked for"}
}

// prober keeps a run of a probe together.
type prober struct {
	ctx context.Context
	t   Target
	o   Options
	r   *Report

	part    string        // the name of the part that is under way
	until   time.Duration // when it should end, on the target's clock
	limit   time.Duration // when everything must end; 0: no limit
	block   int64         // B, smallest request
	random  *rand.Rand    // seeded by Options.Seed and the part's name
	written []extent      // places that this probe has written, spread over the device

	// sustained is the speed of a long write at its end, B/s; 0: not measured.
	sustained float64
}

// extent is a place on the device, in bytes.
type extent struct{ offset, length int64 }
