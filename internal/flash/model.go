package flash

import "time"

// Kinds of model.
const (
	KindFlash = "flash" // flash behind a translation layer
	KindDisk  = "disk"  // a rotating disk
	KindFree  = "free"  // memory that takes no time: what the front ends cost by themselves
)

// Schemes of mapping.
const (
	SchemeSegment = "segment" // a segment at a time; a few are open for writing
	SchemeHybrid  = "hybrid"  // segments with log blocks: switch, partial and full merges
	SchemePage    = "page"    // every page for itself, greedy garbage collection
)

// Model is everything that decides how a simulated device behaves. Sizes are
// in bytes, rates in bytes per second. The zero value of an optional part
// means that the device has no such part.
type Model struct {
	Name  string // as in sim:NAME
	Title string // the product or class it stands for
	Kind  string
	Size  int64 // of the device as it presents itself

	Bus   Bus
	Media Media // of KindFlash
	Map   Map   // of KindFlash
	// FAT is an area at the start of the device that is mapped by pages
	// whatever the rest is, because cameras keep their FAT there. 0: none.
	FAT    int64
	Buffer Buffer
	Fast   Fast
	Wear   Wear
	Trim   TrimModel
	Power  Power
	Disk   Disk // of KindDisk

	// Sources say where each figure comes from, by its key in the model file
	// ("bus.read"); "estimate: …" where it is one.
	Sources map[string]string
	// Fit is what a twin was fitted to (identity and date of the probe), and
	// how well it reproduces that; empty for other models.
	Fit string
}

// Bus is the way between host and device.
type Bus struct {
	Command time.Duration // overhead of a request, whatever its size
	Read    float64       // B/s
	Write   float64       // B/s
	Queue   int           // requests at a time: 1 for SD, 32 for eMMC with a command queue
	Flush   time.Duration // overhead of a flush, besides what it writes
}

// Media is the flash itself.
type Media struct {
	Page    int64         // B, what is programmed at a time
	Block   int64         // B, what is erased at a time
	Planes  int           // that work at the same time; consecutive pages lie on consecutive planes
	Read    time.Duration // of a page
	Program time.Duration // of a page
	Erase   time.Duration // of a block
	Cycles  int64         // erases that a block is rated for; 0: not stated
}

// Map is how logical places become physical ones.
type Map struct {
	Scheme string
	// Segment is the allocation unit of SchemeSegment and SchemeHybrid: the
	// erase blocks that are managed together. A multiple of Media.Block.
	Segment int64
	// Open is how many segments can be open for writing (SchemeSegment), or
	// how many log blocks there are (SchemeHybrid).
	Open int
	// Random: inside an open segment pages may be written in any order.
	// Otherwise only onward; a write backwards closes it.
	Random bool
	// Spare is the over-provisioning of SchemePage: physical over logical
	// space, less 1. 0.07 is a consumer's SSD. The others have spare segments
	// as they need them.
	Spare float64
}

// Buffer is volatile memory that takes writes in until it is full, idle time
// comes, or a flush.
type Buffer struct {
	Size int64
}

// Fast is an area of the medium that programs fewer bits a cell (an SLC
// cache): writes go there first, and are folded into the rest when it is full
// or in idle time.
type Fast struct {
	Size    int64
	Program time.Duration // of a page
	Read    time.Duration // of a page; 0: as the rest
	// Idle is how long the device must have nothing to do before it folds; 0:
	// it folds only when it must.
	Idle time.Duration
}

// Wear is how erases are spread.
type Wear struct {
	Dynamic bool // the least worn of the free blocks is taken
	Static  bool // blocks that are never rewritten are moved, too
	// Gap of erases between most and least worn block at which static
	// levelling moves one; 0: 64.
	Gap int64
}

// TrimModel is what discards do.
type TrimModel struct {
	Supported bool
	Command   time.Duration // overhead of a discard
	Zeroes    bool          // discarded places read as zeros; otherwise as before, until collected
}

// Power is what a cut does besides taking what was not flushed.
type Power struct {
	// MergeLoses: a merge that is cut short takes its whole segment with it,
	// flushed neighbours included.
	MergeLoses bool
}

// Disk is a rotating disk.
type Disk struct {
	RPM        float64
	TrackSeek  time.Duration // to the next track
	MeanSeek   time.Duration // over a third of the stroke
	FullSeek   time.Duration // over the whole stroke
	Outer      float64       // B/s of the medium on the outermost track
	Inner      float64       // B/s on the innermost one
	Buffer     int64         // B of track buffer: read-ahead, and writes where the cache is on
	WriteCache bool
}
