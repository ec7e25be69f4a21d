package flash

import "time"

// Kinds of model.
const (
	KindFlash = "flash" // flash behind a translation layer
	KindDisk  = "disk"  // a rotating disk
	KindFree  = "free"  // memory that takes no time: shows the cost of the front ends
)

// Schemes of mapping.
const (
	SchemeSegment = "segment" // a segment at a time; a few are open for writing
	SchemeHybrid  = "hybrid"  // segments with log blocks: switch, partial and full merges
	SchemePage    = "page"    // page by page, with greedy garbage collection
)

// Model is everything that determines how a simulated device behaves. Sizes
// are in bytes, rates in bytes per second. The zero value of an optional part
// means that the device lacks it.
type Model struct {
	Name  string // as in sim:NAME
	Title string // the product or class it stands for
	Kind  string
	Size  int64 // the size that the device reports

	Bus   Bus
	Media Media // of KindFlash
	Map   Map   // of KindFlash
	// FAT is an area at the start of the device that is always mapped by
	// pages, because cameras keep their FAT there. 0: none.
	FAT    int64
	Buffer Buffer
	Fast   Fast
	Wear   Wear
	Trim   TrimModel
	Power  Power
	Disk   Disk // of KindDisk

	// Sources gives the source of each figure, by its key in the model
	// file ("bus.read"); estimates begin with "estimate: ".
	Sources map[string]string
	// Fit describes what a twin was fitted to (identity and date of the
	// probe) and how well it reproduces that; empty for other models.
	Fit string
}

// Bus connects host and device.
type Bus struct {
	Command time.Duration // overhead of a request, whatever its size
	Read    float64       // B/s
	Write   float64       // B/s
	Queue   int           // requests at a time: 1 for SD, 32 for eMMC with a command queue
	Flush   time.Duration // overhead of a flush, in addition to its writes
}

// Media is the flash itself.
type Media struct {
	Page    int64         // B, the unit of programming
	Block   int64         // B, the unit of erasing
	Planes  int           // that work in parallel; consecutive pages lie on consecutive planes
	Read    time.Duration // of a page
	Program time.Duration // of a page
	Erase   time.Duration // of a block
	Cycles  int64         // erases that a block is rated for; 0: not stated
}

// Map is how logical pages are mapped to physical ones.
type Map struct {
	Scheme string
	// Segment is the allocation unit of SchemeSegment and SchemeHybrid: the
	// erase blocks that are managed together. A multiple of Media.Block.
	Segment int64
	// Open is how many segments can be open for writing (SchemeSegment),
	// or how many log blocks there are (SchemeHybrid).
	Open int
	// Random: pages of an open segment may be written in any order.
	// Otherwise only forward; a write backwards closes it.
	Random bool
	// Spare is the over-provisioning of SchemePage: physical over logical
	// space, less 1. 0.07 is typical of consumer SSDs. The other schemes
	// have as many spare segments as they need.
	Spare float64
}

// Buffer is volatile memory that accepts writes until it is full, the device
// is idle, or the host flushes.
type Buffer struct {
	Size int64
}

// Fast is an area of the medium that stores fewer bits per cell (an SLC
// cache): writes go there first, and are folded into the main area when it is
// full or idle.
type Fast struct {
	Size    int64
	Program time.Duration // of a page
	Read    time.Duration // of a page; 0: as in the main area
	// Idle is how long the device must be idle before it folds; 0: it
	// folds only when it must.
	Idle time.Duration
}

// Wear is how erases are levelled.
type Wear struct {
	Dynamic bool // take the least worn of the free blocks
	Static  bool // also move blocks that are never rewritten
	// Gap between the erases of the most and the least worn block at which
	// static levelling moves one; 0: 64.
	Gap int64
}

// TrimModel is what discards do.
type TrimModel struct {
	Supported bool
	Command   time.Duration // overhead of a discard
	Zeroes    bool          // discarded pages read as zeros; otherwise as before, until collected
}

// Power describes what a power cut destroys apart from unflushed data.
type Power struct {
	// MergeLoses: an interrupted merge loses its whole segment, including
	// flushed neighbours.
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
	Buffer     int64         // B of track buffer: read-ahead, and writes if the cache is on
	WriteCache bool
}
