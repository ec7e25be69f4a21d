package bounded

import (
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"
)

func TestReader(t *testing.T) {
	for _, c := range []struct {
		text string
		most int64
		fits bool
	}{{"", 0, true}, {"x", 0, false}, {"four", 4, true}, {"four", 5, true}, {"four", 3, false}} {
		for name, wrap := range map[string]func(io.Reader) io.Reader{"whole": func(r io.Reader) io.Reader { return r }, "bytes": iotest.OneByteReader, "with its end": iotest.DataErrReader} {
			got, err := ReadAll(wrap(strings.NewReader(c.text)), c.most, "it")
			switch {
			case c.fits && (err != nil || string(got) != c.text):
				t.Errorf("%+v, %s: %q, %v", c, name, got, err)
			case !c.fits && (!errors.Is(err, ErrTooLong) || int64(len(got)) != c.most || !strings.HasPrefix(err.Error(), "it is too long: more than ")):
				t.Errorf("%+v, %s: %q, %v", c, name, got, err)
			}
		}
	}
	if _, err := io.Copy(io.Discard, Reader(endless{}, 1<<20, "it")); !errors.Is(err, ErrTooLong) {
		t.Error(err)
	}
}

type endless struct{}

func (endless) Read(p []byte) (int, error) { return len(p), nil }
