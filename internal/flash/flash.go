// Package flash simulates storage: what a card, a stick or a disk does
// internally, how long that takes, how it wears out and what survives a power
// loss.
//
// It is a pure core. A model takes a request and the current instant and
// returns when the request completes; it has no clock, no sleep, no goroutine
// and no I/O, and the same input always gives the same output. Front ends add
// time: package nbd serves a device to a guest in real time, package virtual
// lets a probe run on the device's own clock.
//
// Data travels through the mapping: a read returns what the mapping finds, so
// an error in a mapping shows as an error in the data.
package flash

import (
	"errors"
	"time"
)

// Sector is the smallest unit that a request can address, in bytes.
const Sector = 512

// LongestRequest is the largest transfer that a guest may request, in bytes: 126 pages, close to the
// limit of SD hosts (512 KiB, linux/drivers/mmc/host/sdhci.c).
const LongestRequest = 126 * 4096

// Op is what a request asks for.
type Op uint8

// The kinds of request.
const (
	Read Op = iota + 1
	Write
	Flush
	Trim
	WriteZeroes
)

// Request is one command to a device.
type Request struct {
	Op Op
	// Offset and Length in bytes, multiples of Sector; ignored for Flush.
	Offset, Length int64
	// Data is what to write, or the destination of a read. If nil, the
	// request is carried out without contents (such a write then reads as
	// zeros), for benchmarks of time alone.
	Data []byte
	// FUA: a write is on the medium when it completes.
	FUA bool
}

// ErrRange means that a request is outside the device or misaligned.
var ErrRange = errors.New("request outside the device or not a multiple of 512 bytes")

// Device is simulated storage, for use by one goroutine.
type Device interface {
	// Size in bytes.
	Size() int64
	// Depth is how many requests the device serves at a time; further
	// requests wait, and their completion includes the wait.
	Depth() int
	// Submit carries out a request that arrives at an instant (since power
	// on) and returns the instant at which it completes. Instants must not
	// decrease; an earlier one counts as the latest so far. An error
	// changes nothing.
	Submit(now time.Duration, r Request) (done time.Duration, err error)
	// Cut simulates a power loss at an instant, followed by power on:
	// unflushed writes may be lost, and writes in flight are torn or
	// undone as the model specifies. Later instants continue from there.
	Cut(now time.Duration) Loss
	// Stats returns all counters since the device was made.
	Stats() Stats
}

// Stats are a device's counters since it was made, in bytes and counts.
type Stats struct {
	Reads, Writes, Flushes, Trims int64 // requests
	Read, Written, Trimmed        int64 // B, by the host
	PagesRead                     int64 // of the medium
	Programmed                    int64 // B programmed, in whole pages
	Copied                        int64 // B of Programmed that were internal copies: merges, collection, folding
	Erased                        int64 // erase blocks erased
	Merges                        int64 // segments or log blocks closed by copying
	Collections                   int64 // victims of garbage collection
	Folds                         int64 // pages folded out of the fast cache
	// Erases of a block: minimum, maximum and mean over all blocks of the
	// medium, and their standard deviation. All 0 for a medium that does
	// not wear.
	MinErases, MaxErases     int64
	MeanErases, StdDevErases float64
	Blocks                   int64         // erase blocks of the medium, spare ones included
	Busy                     time.Duration // time with at least one request in flight
}

// Amplification is the number of bytes programmed per byte that the host
// wrote; 0 if it wrote nothing.
func (s Stats) Amplification() float64 {
	if s.Written == 0 {
		return 0
	}
	return float64(s.Programmed) / float64(s.Written)
}

// Loss is what a power cut destroyed.
type Loss struct {
	Buffered int64 // B that were acknowledged but not flushed, and lost
	Torn     int64 // pages that were being programmed
	Undone   int64 // merges that were in progress and will be repeated
	// Neighbours are bytes lost although they had been flushed: in this
	// model an interrupted merge loses its whole segment.
	Neighbours int64
}
