// Package states says what a power cut can leave of what a device was sent: for
// each point of a log the durable prefix, plus any subset of the writes that had
// been sent and were not durable, torn at sector boundaries. It computes alone.
package states

import "whichfs/internal/fault/writelog"

// State is one of the contents that a cut can leave.
type State struct {
	// Point is how many entries of the log had been sent when the power went;
	// entries from Point on have no trace.
	Point int `json:"point"`
	// Kept are the volatile writes before Point that reached the medium although
	// no flush had made them durable: indices of entries, ascending. Durable
	// writes are not listed; they are always there.
	Kept []int `json:"kept,omitempty"`
	// Torn, if not nil: of that one of Kept only some sectors reached the medium.
	Torn *Torn `json:"torn,omitempty"`
}

// Torn is a write that was cut in the middle.
type Torn struct {
	Entry int `json:"entry"`
	// First and Sectors of 512 bytes of the entry's that reached the medium.
	First   int `json:"first"`
	Sectors int `json:"sectors"`
}

// Options of an enumeration. The zero value of a number means its default.
type Options struct {
	Seed uint64 `json:"seed"`
	// Most states in all; where there are more they are drawn with Seed, spread
	// over all points. 0: no limit.
	Most int `json:"most,omitempty"`
	// Complete is up to how many volatile writes at a point all of their subsets
	// are taken; above, subsets are drawn. 0: 6.
	Complete int `json:"complete,omitempty"`
	// PerPoint is how many subsets are drawn at a point with more. 0: 32.
	PerPoint int `json:"per_point,omitempty"`
	// From and To restrict the points: From ≤ Point ≤ To; To 0: to the end.
	From int `json:"from,omitempty"`
	To   int `json:"to,omitempty"`
	// Whole: no write is torn.
	Whole bool `json:"whole,omitempty"`
}

// Volatile are the indices of the writes before point that no flush and no FUA
// had made durable, ascending.
func Volatile(l writelog.Log, point int) []int { return nil }
