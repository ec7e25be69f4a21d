package nbd

import (
	"bytes"
	"errors"
	"testing"
	"time"

	"whichfs/internal/flash"
	"whichfs/internal/flash/realtime"
)

// Contents delivers every byte in order, and its reads do not delay the next
// client.
func TestContents(t *testing.T) {
	const size = realtime.Piece + 512
	d := newMemory(size)
	d.takes[flash.Read] = time.Hour
	s := New(d, Options{})
	want := bytes.Repeat([]byte("contents"), size/8)
	if _, err := s.device.Submit(s.device.Now(), flash.Request{Op: flash.Write, Length: size, Data: want}); err != nil {
		t.Fatal(err)
	}
	var got []byte
	if err := s.Contents(func(at int64, data []byte) error {
		if at != int64(len(got)) {
			t.Errorf("a piece of %d comes after %d bytes", at, len(got))
		}
		got = append(got, data...)
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) || d.cuts != 1 {
		t.Errorf("%d bytes, %d cuts", len(got), d.cuts)
	}
	no := errors.New("no")
	if err := s.Contents(func(int64, []byte) error { return no }); !errors.Is(err, no) || d.cuts != 2 {
		t.Errorf("%v, %d cuts", err, d.cuts)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if err := s.Contents(nil); !errors.Is(err, ErrClosed) {
		t.Errorf("of a closed server: %v", err)
	}
}
