package filesystem

import "fmt"

// Geometry is what is known about the internals of storage, in bytes; 0: unknown.
type Geometry struct {
	Page    int64 // what the device programs at a time
	Segment int64 // its management unit: allocation unit, erase block
	Size    int64 // of the storage
}

// Tuning is the mkfs option that follows from a geometry, or why none does.
type Tuning struct {
	Words  []string // for mkfs; none: the default is kept
	Reason string   // whole sentences
}

// Tuned is the option that follows from a geometry and is possible on storage of that size.
func (fs Filesystem) Tuned(g Geometry) Tuning {
	if fs.Tune == nil {
		return Tuning{Reason: "Its image is written once, sequentially, so no option depends on the storage."}
	}
	t := fs.Tune(g)
	if len(t.Words) == 0 || g.Size == 0 {
		return t
	}
	c := Candidate{FS: fs.Name, words: join(t.Words)}
	if reason, _ := c.Misfit(g.Size); reason != "" {
		return Tuning{Reason: "The resulting option is impossible: " + reason + "."}
	}
	return t
}

// block is the block size of nearly every filesystem here, and the unit of their options.
const block = 4 * kib

// noSegment is the reason where a tuning needs a segment size and it is unknown.
const noSegment = "The segment size of the storage is unknown, and a guess would be no better than the default."

// noLarger says why the blocks are not as large as the storage's pages, as a sentence after others; "" if
// they are. larger are the kernels that mount such, "" if none does.
func noLarger(g Geometry, larger string) string {
	if g.Page <= block {
		return ""
	}
	text := fmt.Sprintf(" Blocks of %s, as large as the storage's pages, would exceed the kernel's pages, 4 KiB on most processors: ", amount(g.Page))
	if larger == "" {
		return text + "no kernel mounts these."
	}
	return text + "only " + larger + " mounts these."
}

// noTuning is for filesystems whose tool has no such option.
func noTuning(why string) func(Geometry) Tuning {
	return func(Geometry) Tuning { return Tuning{Reason: why} }
}

func leastCommonMultiple(a, b int64) int64 {
	x, y := a, b
	for y != 0 {
		x, y = y, x%y
	}
	return a / x * b
}
