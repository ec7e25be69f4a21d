// Package harmless makes text from elsewhere (a guest, an agent, a kernel, a user's file) fit to be
// kept and shown: none of its control characters reaches a terminal, a page or the store, and its
// length is bounded.
package harmless

import (
	"fmt"
	"reflect"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Line makes s harmless to print on one line: white space becomes a space, other control characters
// and those that change the direction of writing become visible escapes, and bytes that are not
// UTF-8 become the replacement character.
func Line(s string) string { return escape(s, false) }

// Text is Line for a text of several lines: line ends and tabs are kept.
func Text(s string) string { return escape(s, true) }

// Word is s as one word of a shell, for commands that users are told to type.
func Word(s string) string {
	plain := s != "" && !strings.ContainsFunc(s, func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && !strings.ContainsRune("_.:/,+=@%-", r)
	})
	if plain {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}

// Cut is Line of the first most bytes of s, with an ellipsis if there is more. Escapes may take
// several times as many bytes.
func Cut(s string, most int) string {
	if len(s) <= most {
		return Line(s)
	}
	for most > 0 && !utf8.RuneStart(s[most]) {
		most--
	}
	return Line(s[:most]) + "…"
}

func escape(s string, lines bool) string {
	if utf8.ValidString(s) && strings.IndexFunc(s, harmful) < 0 {
		return s
	}
	var b strings.Builder
	for _, r := range strings.ToValidUTF8(s, "\uFFFD") {
		switch {
		case lines && (r == '\n' || r == '\t'):
			b.WriteRune(r)
		case r == '\n' || r == '\r' || r == '\t':
			b.WriteByte(' ')
		case !harmful(r):
			b.WriteRune(r)
		case r < 0x100:
			fmt.Fprintf(&b, `\x%02x`, r)
		default:
			fmt.Fprintf(&b, `\u%04x`, r)
		}
	}
	return b.String()
}

// harmful characters: controls, directional overrides, line separators and
// noncharacters.
func harmful(r rune) bool {
	return unicode.IsControl(r) ||
		r >= 0x202A && r <= 0x202E || r >= 0x2066 && r <= 0x2069 || r == 0x200E || r == 0x200F ||
		r == 0x2028 || r == 0x2029 || r == 0xFEFF || r&0xFFFE == 0xFFFE
}

// Copy is a copy of v with every string in it made a Line, or cut to most bytes if most is above 0.
// Bytes and unexported fields are copied unchanged.
func Copy[T any](v T, most int) T {
	line := Line
	if most > 0 {
		line = func(s string) string { return Cut(s, most) }
	}
	return copyOf(reflect.ValueOf(&v).Elem(), line).Interface().(T)
}

func copyOf(v reflect.Value, line func(string) string) reflect.Value {
	switch v.Kind() {
	case reflect.String:
		out := reflect.New(v.Type()).Elem()
		out.SetString(line(v.String()))
		return out
	case reflect.Pointer:
		if v.IsNil() {
			return v
		}
		out := reflect.New(v.Type().Elem())
		out.Elem().Set(copyOf(v.Elem(), line))
		return out
	case reflect.Struct:
		out := reflect.New(v.Type()).Elem()
		out.Set(v) // unexported fields (time.Time) are copied unchanged
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				out.Field(i).Set(copyOf(v.Field(i), line))
			}
		}
		return out
	case reflect.Slice:
		if v.IsNil() || v.Type().Elem().Kind() == reflect.Uint8 {
			return v
		}
		out := reflect.MakeSlice(v.Type(), v.Len(), v.Len())
		for i := range v.Len() {
			out.Index(i).Set(copyOf(v.Index(i), line))
		}
		return out
	case reflect.Map:
		if v.IsNil() {
			return v
		}
		out := reflect.MakeMapWithSize(v.Type(), v.Len())
		for it := v.MapRange(); it.Next(); {
			out.SetMapIndex(copyOf(it.Key(), line), copyOf(it.Value(), line))
		}
		return out
	}
	return v
}
