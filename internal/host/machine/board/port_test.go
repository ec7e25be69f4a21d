package board

import (
	"errors"
	"os"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// failing is a stream that writes with an error, and reads nothing until it is closed.
type failing struct {
	err    error
	closed chan struct{}
}

func (f failing) Read([]byte) (int, error)         { <-f.closed; return 0, os.ErrClosed }
func (f failing) Write([]byte) (int, error)        { return 0, f.err }
func (f failing) SetWriteDeadline(time.Time) error { return nil }
func (f failing) Close() error                     { close(f.closed); return nil }

// A port that is pulled is said to be gone, whether it is a reader or a writer that notices first; one that
// takes nothing for a while is there.
func TestPortGone(t *testing.T) {
	for err, gone := range map[error]bool{unix.EIO: true, unix.EPIPE: true, os.ErrDeadlineExceeded: false} {
		o := newPort(failing{err, make(chan struct{})}, "/dev/ttyX", func() error { return nil })
		_, got := o.Write([]byte("text"))
		if !errors.Is(got, err) || strings.Contains(got.Error(), "/dev/ttyX is gone") != gone {
			t.Errorf("%v: %v", err, got)
		}
		if err := o.close(); err != nil {
			t.Error(err)
		}
	}
}
