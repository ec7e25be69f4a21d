package harmless

import (
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
)

func TestLine(t *testing.T) {
	for in, want := range map[string]string{
		"ext4 é 文件系统 🙂":   "ext4 é 文件系统 🙂",
		"a\tb\r\nc":       "a b  c",
		"\x1b[2J\x07\x00": `\x1b[2J\x07\x00`,
		"\u202egnirts":    `\u202egnirts`,
		"\xff\xfe":        "\uFFFD",
		"\u2028\ufffe":    `\u2028\ufffe`,
	} {
		if got := Line(in); got != want {
			t.Errorf("%q became %q, want %q", in, got, want)
		}
	}
	if got := Text("a\tb\r\n\x1b[m"); got != "a\tb \n\\x1b[m" {
		t.Errorf("a text became %q", got)
	}
}

func TestCut(t *testing.T) {
	for most, want := range map[int]string{9: "éé\tx", 6: "éé x", 5: "éé …", 3: "é…", 1: "…", 0: "…"} {
		if most == 9 {
			want = "éé x"
		}
		if got := Cut("éé\tx", most); got != want {
			t.Errorf("cut at %d: %q, want %q", most, got, want)
		}
	}
}

func TestCopy(t *testing.T) {
	type inner struct {
		Text  string
		Bytes []byte
		When  time.Time
	}
	type outer struct {
		One  *inner
		Many []inner
		By   map[string]string
		None []string
	}
	when := time.Unix(7, 0)
	bad := outer{One: &inner{Text: "a\x1b"}, Many: []inner{{"b\nlonger", []byte("\x1b"), when}}, By: map[string]string{"k\x00": "v\x00"}}
	want := outer{One: &inner{Text: `a\x1b`}, Many: []inner{{"b lo…", []byte("\x1b"), when}}, By: map[string]string{`k\x00`: `v\x00`}}
	if d := cmp.Diff(want, Copy(bad, 4)); d != "" {
		t.Error(d)
	}
	if bad.One.Text != "a\x1b" {
		t.Error("the original was changed")
	}
}

func FuzzCut(f *testing.F) {
	f.Add("a\x1b[2J\xff\u202e", 3)
	f.Fuzz(func(t *testing.T, s string, most int) {
		if most < 0 {
			return
		}
		got := Cut(s, most)
		if !utf8.ValidString(got) || strings.ContainsFunc(got, harmful) || len(got) > 6*min(most, len(s))+len("…") {
			t.Errorf("%q cut at %d became %q", s, most, got)
		}
	})
}

func TestWord(t *testing.T) {
	for in, want := range map[string]string{
		"/dev/sda1": "/dev/sda1", "SanDisk_Ultra-0:0@1f3c": "SanDisk_Ultra-0:0@1f3c", "": "''", "a b": "'a b'",
		"it's": `'it'\''s'`, "$HOME;rm": "'$HOME;rm'", "größe": "'größe'", "~": "'~'",
	} {
		if got := Word(in); got != want {
			t.Errorf("%q: %s, want %s", in, got, want)
		}
	}
}
