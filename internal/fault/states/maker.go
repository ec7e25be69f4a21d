package states

import (
	"iter"

	"whichfs/internal/fault"
	"whichfs/internal/fault/writelog"
)

// Hash of a disk's contents; equal contents have equal hashes.
type Hash [16]byte

// Block is one block of fault.BlockSize bytes.
type Block struct {
	Number int64
	Data   []byte
}

// Maker makes contents of states.
type Maker struct{}

// NewMaker takes what the disk held before the log.
func NewMaker(base fault.Image, l writelog.Log) *Maker { return nil }

// Make returns the blocks that differ from the base, and the hash of the whole.
// Both are valid until the next call. States in the order of their points are
// made fastest.
func (m *Maker) Make(s State) (changed []Block, h Hash) { return nil, Hash{} }

// All are the states of a log in the order of their points, numbered from 1;
// the same options always give the same. Different states may have the same
// contents.
func All(l writelog.Log, o Options) iter.Seq2[int64, State] { return nil }

// Possible is how many states there are without torn ones, as a logarithm to
// base 2.
func Possible(l writelog.Log) float64 { return 0 }
