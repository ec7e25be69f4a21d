// Package probe infers the internals of storage by timing it: page and segment
// size, open segments, caches, slow zones, the cost of flushes and discards.
// Its point of view: a figure is inferred, never taken from the device's own
// description; it comes with its evidence and a confidence; and "cannot be
// determined on this device" is an answer.
//
// The package knows storage only as a Target. It is independent of simulated
// devices, which the linter enforces.
package probe

import (
	"context"
	"math/rand/v2"
	"time"
)

// Target is storage that can be timed. Offsets and lengths are multiples of
// 512 bytes. Every request bypasses the page cache and is issued at once; a
// duration is that of the request alone. Errors are the device's own and end
// the probe.
type Target interface {
	Size() int64
	// Writable says whether writes, discards and flushes are allowed;
	// otherwise their methods must not be called.
	Writable() bool
	Read(offset, length int64) (time.Duration, error)
	// Write writes non-zero bytes that differ from place to place.
	Write(offset, length int64) (time.Duration, error)
	// Flush waits until all writes are on the medium.
	Flush() (time.Duration, error)
	// Discard may return ErrUnsupported.
	Discard(offset, length int64) (time.Duration, error)
	// Together issues requests of one length at these offsets with depth
	// of them in flight, and returns the time for all of them. It returns
	// ErrUnsupported if only one at a time is possible.
	Together(write bool, offsets []int64, length int64, depth int) (time.Duration, error)
	// Load reads contents, untimed.
	Load(offset int64, into []byte) error
	// Store writes contents and flushes, untimed.
	Store(offset int64, from []byte) error
	// Pause leaves the device idle for a while.
	Pause(time.Duration)
	// Elapsed is the time since the target was opened, on the clock of the
	// durations.
	Elapsed() time.Duration
}

// Blocks is implemented by targets whose requests must be multiples of more
// than 512 bytes; they answer other requests with ErrUnsupported.
type Blocks interface {
	// BlockSize is the smallest request, in bytes: a logical block.
	BlockSize() int64
}

// Cached is implemented by targets that can also write through a page cache, as
// most programs do.
type Cached interface {
	// WriteCached writes a range in blocks into the page cache and waits
	// until it is on the medium. It returns the total time.
	WriteCached(offset, length, block int64) (time.Duration, error)
}

// ErrUnsupported means that a target does not support the request.
var ErrUnsupported = unsupported{}

type unsupported struct{}

func (unsupported) Error() string { return "not supported by this device" }

// Options say how much to do.
type Options struct {
	// Effort is "quick" (about a minute on a slow card), "normal" (default) or
	// "thorough".
	Effort string
	// Limit is how long the probe may take on the target's clock; 0: as
	// long as it needs. Parts that do not fit are skipped with that
	// reason.
	Limit time.Duration
	// Seed of every random choice; recorded in the report.
	Seed uint64
	// Only these parts (see Parts); empty: all.
	Only []string
	// Progress receives the current activity and the completed share, 0 to
	// 1; it may be nil.
	Progress func(what string, share float64)
}

// Published is the clock of a report that has a publication's figures, and is no probe of ours.
const Published = "published"

// Format is the version of Report's shape.
const Format = 1

// Report is the result of a probe.
type Report struct {
	Format  int    `json:"format"`  // Format
	Storage string `json:"storage"` // as the user wrote it
	// Identity of the device, as in storage.Claim.
	Identity string    `json:"identity"`
	Size     int64     `json:"size"` // B
	Machine  string    `json:"machine"`
	Kernel   string    `json:"kernel"`
	Emulated bool      `json:"emulated"` // the processor: small figures contain the emulator
	Clock    string    `json:"clock"`    // "wall"; "simulated": virtual time of the model; Published
	Version  string    `json:"version"`  // of whichfs
	Started  time.Time `json:"started"`
	Seconds  float64   `json:"seconds"` // on that clock
	Wrote    bool      `json:"wrote"`   // false: the probe only read
	Written  int64     `json:"written"` // B, by the whole probe
	Effort   string    `json:"effort"`
	Seed     uint64    `json:"seed"`
	// Stated is what the device or the kernel reports: shown next to the findings,
	// never used for them.
	Stated   []Stated  `json:"stated,omitempty"`
	Findings []Finding `json:"findings"` // in the order of Keys
	Curves   []Curve   `json:"curves"`
	Warnings []string  `json:"warnings,omitempty"`
	// Partial says why the probe ended early: interrupted, or an error of
	// the device. Empty: it is complete. Run's caller fills it in.
	Partial string `json:"partial,omitempty"`
}

// Stated is one figure that the device reports about itself.
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
	OpenLinear    = "open-linear"         // 1, segments that can be written in rotation, sequentially inside
	OpenRandom    = "open-random"         // 1, the same, at random inside; 0: not even one
	FATArea       = "fat-area"            // B of a faster area at the start; 0: there is none
	WriteCache    = "write-cache"         // B; 0: there is none
	FastCache     = "fast-cache"          // B; 0: there is none
	FlushCost     = "flush-cost"          // s, of a flush with one page to write
	DiscardCost   = "discard-cost"        // s per GiB
	DiscardZeroes = "discard-zeroes"      // text: "yes", "no"
	SlowZones     = "slow-zones"          // text; the map is the curve "map-read" or "map-write"
	RealSize      = "real-size"           // B that keep their contents; a fake card has less than it claims
	QueueDepth    = "queue-depth"         // 1, smallest queue depth that still gains
	Rotation      = "rotation"            // text: "solid state", "rotating"; Value is r/min of the latter
	SmallWrites   = "small-writes"        // 1, time for the same data in the smallest blocks over that in 4 KiB
	LargeWrites   = "large-writes"        // 1, time for the same data in blocks of 4 KiB over that in the best
	SmallCached   = "small-writes-cached" // 1, as small-writes, through the page cache
	LargeCached   = "large-writes-cached" // 1, as large-writes, through the page cache
	BestReadBlock = "best-read-block"     // B, the block size that reads fastest, smallest of those within 5 %
	RandomRead    = "random-read"         // 1/s, 4 KiB
	RandomWrite   = "random-write"        // 1/s, 4 KiB, whole device, steady
)

// Finding is an inferred property, or the reason why it could not be inferred.
type Finding struct {
	Key  string `json:"key"`
	Name string `json:"name"` // for people: "Segment size"
	// Value in Unit ("B", "B/s", "s", "1", "1/s"); Text replaces or
	// complements it.
	Value float64 `json:"value"`
	Unit  string  `json:"unit,omitempty"`
	Text  string  `json:"text,omitempty"`
	// Undetermined says why there is no value.
	Undetermined string `json:"undetermined,omitempty"`
	// Confidence from 0 to 1; Sureness puts it in words.
	Confidence float64 `json:"confidence"`
	// Evidence is the measured figures, in a sentence.
	Evidence string `json:"evidence,omitempty"`
	// Meaning explains the consequence for the user in a short paragraph.
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

// Curve is a set of measured points, for a picture.
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
	// Mark is the x of a finding, 0: none.
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

// Find returns the finding for a key; Known is false if there is none.
func (r Report) Find(key string) Finding {
	for _, f := range r.Findings {
		if f.Key == key {
			return f
		}
	}
	return Finding{Undetermined: "not measured"}
}

// Curve returns the curve with a key, if there is one.
func (r Report) Curve(key string) (Curve, bool) {
	for _, c := range r.Curves {
		if c.Key == key {
			return c, true
		}
	}
	return Curve{}, false
}

// prober is the state of a probe run.
type prober struct {
	ctx context.Context
	t   Target
	o   Options
	r   *Report

	part    string        // the name of the current part
	until   time.Duration // when it should end, on the target's clock
	limit   time.Duration // when everything must end; 0: no limit
	block   int64         // B, smallest request
	random  *rand.Rand    // seeded by Options.Seed and the part's name
	written []extent      // places that this probe has written, spread over the device

	// sustained is the final speed of a long write, B/s; 0: not measured.
	sustained float64
}

// extent is a range of the device, in bytes.
type extent struct{ offset, length int64 }
