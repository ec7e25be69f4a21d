// Package bounded limits reads of compressed data: a small file can unpack to
// more than any memory or disk holds, so a read fails at its limit rather than
// at the end.
package bounded

import (
	"errors"
	"fmt"
	"io"

	"whichfs/internal/sys/units"
)

// ErrTooLong is wrapped by this package's errors.
var ErrTooLong = errors.New("too long")

func tooLong(what string, most int64) error {
	return fmt.Errorf("%s is %w: more than %s when unpacked", what, ErrTooLong, units.Size(most))
}

// Reader reads from r and fails once r yields more than most bytes. what names
// the data in the error.
func Reader(r io.Reader, most int64, what string) io.Reader {
	return &reader{r: r, left: most, most: most, what: what}
}

type reader struct {
	r          io.Reader
	left, most int64 // B
	what       string
}

func (b *reader) Read(p []byte) (int, error) {
	// One byte beyond the limit distinguishes the end from too much.
	if int64(len(p)) > b.left+1 {
		p = p[:b.left+1]
	}
	n, err := b.r.Read(p)
	if int64(n) > b.left {
		n, err = int(b.left), tooLong(b.what, b.most)
	}
	b.left -= int64(n)
	return n, err
}

// ReadAll reads all of r, at most most bytes.
func ReadAll(r io.Reader, most int64, what string) ([]byte, error) {
	return io.ReadAll(Reader(r, most, what))
}
