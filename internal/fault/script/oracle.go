package script

import "whichfs/internal/fault"

// Library are the workloads that applications rely on, by name.
func Library() []Script { return nil }

// Sequences are all sequences of so many operations (1 or 2) out of a bounded
// set, each followed by what makes it durable.
func Sequences(n int) []Script { return nil }

// Marks that Run calls for: before and after each operation, counted from 1.
const (
	Begin = "begin" // "begin 3"
	End   = "end"   // "end 3"
)

// Run carries a script's operations out below dir, which Prepare has set up.
// mark is called with "begin N" before and "end N" after each operation; it
// returns when the mark is in the log.
func (s Script) Run(dir string, mark func(text string) error) error { return nil }

// Prepare carries out Setup below dir and syncs it.
func (s Script) Prepare(dir string) error { return nil }

// ReadTree takes in all that is below dir.
func ReadTree(dir string) Tree { return nil }

// Judge says which promises are broken in a tree that was found after a cut,
// when began operations had begun and acked of them had returned; dir is where
// it is mounted, for programs that look at it themselves. kept is how many single
// promises were looked at, broken ones included.
type Judge interface {
	Judge(began, acked int, found Tree, dir string) (breaches []fault.Breach, looked int)
}

// NewJudge prepares for a script; it may be used for any number of states.
func NewJudge(s Script, p Promises) (Judge, error) { return nil, nil }
