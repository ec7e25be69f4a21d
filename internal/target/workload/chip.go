package workload

import "context"

// Chip is a simulated raw chip in the kernel's memory.
type Chip interface {
	// Save reads everything on the chip as it is: data, spare bytes, and which pages are erased.
	// Nothing may write to it meanwhile.
	Save(ctx context.Context) (Contents, error)
	// Renew removes the chip and replaces it with an unused one that holds contents; nil: an empty
	// one. Nothing may use the old one.
	Renew(ctx context.Context, contents Contents) error
}

// Contents are the contents of a chip.
type Contents interface {
	// Bytes taken by pages that are not erased.
	Bytes() int64
	// Close frees the memory that they take. It may be called more than once.
	Close() error
}
