package models

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"whichfs/internal/flash"
	"whichfs/internal/plan/media"
	"whichfs/internal/sys/units"
)

// literal is the value of a key as written in a model file; "" if it is not
// set.
func (k Key) literal(m flash.Model) string {
	if !k.Set(m) {
		return ""
	}
	switch p := k.at(&m).(type) {
	case *string:
		return quote(*p)
	case *time.Duration:
		return quote(formatDuration(*p))
	case *int64:
		if k.Kind == Size {
			return quote(media.FormatSize(*p))
		}
		return strconv.FormatInt(*p, 10)
	case *int:
		return strconv.Itoa(*p)
	case *float64:
		if k.Kind == Rate {
			return quote(formatRate(*p))
		}
		return formatNumber(*p)
	case *bool:
		return "true"
	}
	return ""
}

// formatNumber writes a float in TOML notation: whole ones without a point.
func formatNumber(x float64) string {
	text := strconv.FormatFloat(x, 'f', -1, 64)
	if len(text) > 18 && !strings.Contains(text, ".") {
		text += ".0" // too long for a TOML integer
	}
	return text
}

// Print formats the value of a key for people; "" if it is not set.
func (k Key) Print(m flash.Model) string {
	if !k.Set(m) {
		return ""
	}
	switch p := k.at(&m).(type) {
	case *string:
		return *p
	case *time.Duration:
		return units.Value(p.Seconds(), "s")
	case *int64:
		if k.Kind == Size {
			return units.Value(float64(*p), "B")
		}
		return units.Value(float64(*p), "1")
	case *int:
		return units.Value(float64(*p), "1")
	case *float64:
		switch {
		case k.Kind == Rate:
			return units.Value(*p, "B/s")
		case k.Name == "map.spare":
			return units.Share(*p)
		}
		return units.Value(*p, "1")
	case *bool:
		return "yes"
	}
	return ""
}

// quote writes a TOML basic string.
func quote(text string) string {
	var b strings.Builder
	b.WriteByte('"')
	for _, r := range text {
		switch {
		case r == '"' || r == '\\':
			b.WriteByte('\\')
			b.WriteRune(r)
		case r < ' ' || r == 0x7f:
			fmt.Fprintf(&b, "\\u%04X", r)
		default:
			b.WriteRune(r)
		}
	}
	b.WriteByte('"')
	return b.String()
}

// formatRate writes a rate that parseRate reads back exactly.
func formatRate(r float64) string {
	for _, u := range rates {
		if r < u.size && u.size > 1 {
			continue
		}
		text := strconv.FormatFloat(r/u.size, 'f', -1, 64) + " " + u.name
		if back, err := parseRate(text); err == nil && back == r {
			return text
		}
	}
	return strconv.FormatFloat(r, 'g', -1, 64) + " B/s"
}

// formatDuration writes a time that parseDuration reads back, in ASCII.
func formatDuration(d time.Duration) string {
	return strings.ReplaceAll(d.String(), "µ", "u")
}
