package kmod

import (
	"strings"
	"testing"
)

func TestUnsigned(t *testing.T) {
	header := func(length string) string { return strings.Repeat("\x00", 8) + length }
	for _, c := range []struct {
		file, want string
		had        bool
	}{
		{"module" + "abc" + header("\x00\x00\x00\x03") + signed, "module", true},
		{"abc" + header("\x00\x00\x00\x03") + signed, "", true},
		{"module", "module", false},
		{signed, signed, false},
		{"ab" + header("\x00\x00\x00\x03") + signed, "ab" + header("\x00\x00\x00\x03") + signed, false},
		{"module" + header("\xff\xff\xff\xff") + signed, "module" + header("\xff\xff\xff\xff") + signed, false},
	} {
		if got, had := Unsigned([]byte(c.file)); string(got) != c.want || had != c.had {
			t.Errorf("%q: %q, %v", c.file, got, had)
		}
	}
}
