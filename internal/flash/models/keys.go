// Package models reads, writes and ships the model files of simulated storage.
// Its point of view: a figure without a source is a rumour. Every figure of a
// shipped model states its source, and an unpublished one states that it is an
// estimate, and its basis.
package models

import (
	"time"

	"whichfs/internal/flash"
)

// Kinds of value in a model file.
const (
	Text     = "text"
	Size     = "size"     // B
	Rate     = "rate"     // B/s
	Duration = "duration" // s
	Count    = "count"    // 1, whole
	Number   = "number"   // 1
	Bool     = "yes/no"
)

// Key is one key of a model file.
type Key struct {
	Name    string // with its table: "bus.read"
	Kind    string
	Meaning string // for the manual
	Choices []string
	// at points to the field of a model: *string, *int64, *float64,
	// *time.Duration, *int or *bool, depending on the kind.
	at func(*flash.Model) any
}

// Figure reports whether the key is a figure of the device, which needs a
// source: all but its name, title and kind.
func (k Key) Figure() bool { return k.Kind != Text || k.Choices != nil && k.Name != "kind" }

// What describes how a value of the key is written, with an example.
func (k Key) What() string {
	if k.Choices != nil {
		return oneOf(k.Choices)
	}
	return notation[k.Kind]
}

// notation is how each kind is written.
var notation = map[string]string{
	Text:     `a string in quotes`,
	Size:     `a size in quotes, "4M": whole bytes, or K, M, G, T for powers of 1024`,
	Rate:     `a rate in quotes, "20 MB/s": a number and B/s, kB/s, MB/s or GB/s, powers of 1000`,
	Duration: `a time in quotes, "120us": a number and ns, us, ms or s`,
	Count:    `a whole number, 1 or more`,
	Number:   `a number above 0`,
	Bool:     `true or false`,
}

// Keys lists all keys of a model file, for reading, writing and the manual, in
// file order.
var Keys = []Key{
	{"name", Text, "what the model is called in sim:NAME: lower-case letters, digits and hyphens", nil, func(m *flash.Model) any { return &m.Name }},
	{"title", Text, "the product or class it stands for", nil, func(m *flash.Model) any { return &m.Title }},
	{"kind", Text, "flash behind a translation layer, a rotating disk, or memory that takes no time", []string{flash.KindFlash, flash.KindDisk, flash.KindFree}, func(m *flash.Model) any { return &m.Kind }},
	{"size", Size, "size that the device reports", nil, func(m *flash.Model) any { return &m.Size }},
	{"fat", Size, "area at the start that is always mapped by pages; omitted: none", nil, func(m *flash.Model) any { return &m.FAT }},

	{"bus.command", Duration, "overhead of a request, whatever its size", nil, func(m *flash.Model) any { return &m.Bus.Command }},
	{"bus.read", Rate, "transfer to the host", nil, func(m *flash.Model) any { return &m.Bus.Read }},
	{"bus.write", Rate, "transfer from the host", nil, func(m *flash.Model) any { return &m.Bus.Write }},
	{"bus.queue", Count, "requests that it serves at a time", nil, func(m *flash.Model) any { return &m.Bus.Queue }},
	{"bus.flush", Duration, "overhead of a flush, in addition to its writes", nil, func(m *flash.Model) any { return &m.Bus.Flush }},

	{"media.page", Size, "unit of programming", nil, func(m *flash.Model) any { return &m.Media.Page }},
	{"media.block", Size, "unit of erasing", nil, func(m *flash.Model) any { return &m.Media.Block }},
	{"media.planes", Count, "planes or chips that work in parallel; consecutive pages lie on consecutive planes", nil, func(m *flash.Model) any { return &m.Media.Planes }},
	{"media.read", Duration, "to read a page", nil, func(m *flash.Model) any { return &m.Media.Read }},
	{"media.program", Duration, "to program a page", nil, func(m *flash.Model) any { return &m.Media.Program }},
	{"media.erase", Duration, "to erase a block", nil, func(m *flash.Model) any { return &m.Media.Erase }},
	{"media.cycles", Count, "erases that a block is rated for; omitted: not stated, and no lifetime is computed", nil, func(m *flash.Model) any { return &m.Media.Cycles }},

	{"map.scheme", Text, "a segment at a time with a few open ones; segments with log blocks; or page by page", []string{flash.SchemeSegment, flash.SchemeHybrid, flash.SchemePage}, func(m *flash.Model) any { return &m.Map.Scheme }},
	{"map.segment", Size, "allocation unit of the schemes segment and hybrid, a multiple of media.block", nil, func(m *flash.Model) any { return &m.Map.Segment }},
	{"map.open", Count, "segments open for writing at a time (segment), or log blocks (hybrid)", nil, func(m *flash.Model) any { return &m.Map.Open }},
	{"map.random", Bool, "pages of an open segment may be written in any order; otherwise only forward", nil, func(m *flash.Model) any { return &m.Map.Random }},
	{"map.spare", Number, "over-provisioning of the scheme page: physical over logical space, less 1", nil, func(m *flash.Model) any { return &m.Map.Spare }},

	{"buffer.size", Size, "volatile memory that accepts writes until it is full, the device is idle, or the host flushes; omitted: none", nil, func(m *flash.Model) any { return &m.Buffer.Size }},

	{"fast.size", Size, "area with fewer bits per cell (SLC cache) that receives writes first; omitted: none", nil, func(m *flash.Model) any { return &m.Fast.Size }},
	{"fast.program", Duration, "to program a page there", nil, func(m *flash.Model) any { return &m.Fast.Program }},
	{"fast.read", Duration, "to read a page there; omitted: as in the main area", nil, func(m *flash.Model) any { return &m.Fast.Read }},
	{"fast.idle", Duration, "idle time after which it is folded into the main area; omitted: only when it is full", nil, func(m *flash.Model) any { return &m.Fast.Idle }},

	{"wear.dynamic", Bool, "take the least worn of the free blocks", nil, func(m *flash.Model) any { return &m.Wear.Dynamic }},
	{"wear.static", Bool, "also move blocks that are never rewritten", nil, func(m *flash.Model) any { return &m.Wear.Static }},
	{"wear.gap", Count, "erases between most and least worn block at which static levelling moves one; omitted: 64", nil, func(m *flash.Model) any { return &m.Wear.Gap }},

	{"trim.supported", Bool, "discards have an effect", nil, func(m *flash.Model) any { return &m.Trim.Supported }},
	{"trim.command", Duration, "overhead of a discard", nil, func(m *flash.Model) any { return &m.Trim.Command }},
	{"trim.zeroes", Bool, "discarded pages read as zeros; otherwise as before, until they are collected", nil, func(m *flash.Model) any { return &m.Trim.Zeroes }},

	{"power.merge_loses", Bool, "a merge interrupted by power loss loses its whole segment, including flushed neighbours", nil, func(m *flash.Model) any { return &m.Power.MergeLoses }},

	{"disk.rpm", Number, "turns a minute", nil, func(m *flash.Model) any { return &m.Disk.RPM }},
	{"disk.track_seek", Duration, "seek to the next track", nil, func(m *flash.Model) any { return &m.Disk.TrackSeek }},
	{"disk.mean_seek", Duration, "seek over a third of the stroke", nil, func(m *flash.Model) any { return &m.Disk.MeanSeek }},
	{"disk.full_seek", Duration, "seek over the whole stroke", nil, func(m *flash.Model) any { return &m.Disk.FullSeek }},
	{"disk.outer", Rate, "of the medium on the outermost track", nil, func(m *flash.Model) any { return &m.Disk.Outer }},
	{"disk.inner", Rate, "of the medium on the innermost track", nil, func(m *flash.Model) any { return &m.Disk.Inner }},
	{"disk.buffer", Size, "track buffer: read-ahead, and writes if the cache is on", nil, func(m *flash.Model) any { return &m.Disk.Buffer }},
	{"disk.write_cache", Bool, "writes are acknowledged when they are in the buffer", nil, func(m *flash.Model) any { return &m.Disk.WriteCache }},
}

// fitKey is what a twin was fitted to; it is not a figure of the device.
const fitKey = "fit"

// sourcesTable is the table of sources, one entry per key.
const sourcesTable = "sources"

func keyNamed(name string) (Key, bool) {
	for _, k := range Keys {
		if k.Name == name {
			return k, true
		}
	}
	return Key{}, false
}

// Set reports whether the model has a value for the key.
func (k Key) Set(m flash.Model) bool {
	switch p := k.at(&m).(type) {
	case *string:
		return *p != ""
	case *int64:
		return *p != 0
	case *int:
		return *p != 0
	case *float64:
		return *p != 0
	case *time.Duration:
		return *p != 0
	case *bool:
		return *p
	}
	return false
}
