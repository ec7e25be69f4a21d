package dirlist

import (
	"bytes"
	"testing"
)

func FuzzEntry(f *testing.F) {
	f.Add([]byte("12345678abcdefgh\x18\x00\x08foo\x00\x00"))
	f.Add([]byte("\x02\x00\x00\x00\x00\x00\x00\x00\x02\x00\x00\x00\x00\x00\x00\x00\x18\x00\x04..\x00\x00\x00"))
	f.Add(make([]byte, 24))
	f.Fuzz(func(t *testing.T, buf []byte) {
		name, _, length := entry(buf)
		if length > len(buf) || length > 0 && (len(name) < 2 || bytes.IndexByte(name, 0) != len(name)-1 || bytes.IndexByte(name, '/') >= 0) {
			t.Fatalf("name %q, length %d of %d", name, length, len(buf))
		}
	})
}
