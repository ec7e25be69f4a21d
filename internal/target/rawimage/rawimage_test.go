package rawimage

import (
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var small = Image{Pages: 4, Bytes: 3, Written: []Page{{1, []byte("abc")}, {3, []byte{0, 0xff, 1}}}}

func stream(t *testing.T, m Image) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := m.Write(&b); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func TestRoundTrip(t *testing.T) {
	for _, m := range []Image{small, {Pages: 2, Bytes: 1}} {
		got, err := Read(bytes.NewReader(append(stream(t, m), "what follows"...)))
		if d := cmp.Diff(m, got); err != nil || d != "" {
			t.Error(err, d)
		}
	}
}

func TestEveryDamageIsFound(t *testing.T) {
	whole := stream(t, small)
	for n := range whole {
		if _, err := Read(bytes.NewReader(whole[:n])); !errors.Is(err, ErrDamaged) {
			t.Errorf("cut after %d bytes: %v", n, err)
		}
		for bit := range 8 {
			bad := bytes.Clone(whole)
			bad[n] ^= 1 << bit
			if m, err := Read(bytes.NewReader(bad)); !errors.Is(err, ErrDamaged) {
				t.Errorf("bit %d of byte %d flipped: %+v, %v", bit, n, m, err)
			}
		}
	}
}

func TestDump(t *testing.T) {
	var b bytes.Buffer
	if err := small.Dump(&b); err != nil {
		t.Fatal(err)
	}
	z, err := gzip.NewReader(&b)
	if err != nil {
		t.Fatal(err)
	}
	got, err := io.ReadAll(z)
	if want := "\xff\xff\xffabc\xff\xff\xff\x00\xff\x01"; err != nil || string(got) != want {
		t.Errorf("%q, %v", got, err)
	}
}
