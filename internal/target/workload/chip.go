package workload

import "context"

// Chip is a simulated raw chip in the kernel's memory.
type Chip interface {
	// Save reads everything that the chip holds, as it is: data, spare bytes, and
	// which pages are erased. Nobody may write to it meanwhile.
	Save(ctx context.Context) (Contents, error)
	// Renew takes the chip away and puts one in its place that has never been
	// used and holds contents; nil: nothing. Nobody may use the old one.
	Renew(ctx context.Context, contents Contents) error
}

// Contents are what a chip held.
type Contents interface {
	// Bytes that the pages take which are not erased.
	Bytes() int64
	// Close gives up the memory that they take. It may be called more than once.
	Close() error
}
