package models

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"whichfs/internal/flash"
	"whichfs/internal/plan/media"
)

// errKind means that a value is not of its key's kind.
var errKind = errors.New("wrong kind of value")

// rates are the units of rates, largest first.
var rates = []struct {
	name string
	size float64 // B/s
}{{"GB/s", 1e9}, {"MB/s", 1e6}, {"kB/s", 1e3}, {"B/s", 1}}

// maxRate exceeds the rate of any bus, in B/s, and catches typing errors.
const maxRate = 1e12

// maxDuration exceeds the duration of anything that a device does by itself.
const maxDuration = time.Hour

// maxSize of a device, in bytes.
const maxSize = 1 << 50

// assign sets a decoded TOML value. The error does not name the key. On
// errKind the caller states what the key accepts.
func (k Key) assign(m *flash.Model, value any) error {
	switch p := k.at(m).(type) {
	case *string:
		return k.text(p, value)
	case *time.Duration:
		text, ok := value.(string)
		if !ok {
			return errKind
		}
		d, err := parseDuration(text)
		*p = d
		return err
	case *int64:
		return k.whole(p, value)
	case *int:
		var n int64
		if err := k.whole(&n, value); err != nil {
			return err
		}
		if n > math.MaxInt32 {
			return fmt.Errorf("%d is too large", n)
		}
		*p = int(n)
	case *float64:
		return k.number(p, value)
	case *bool:
		b, ok := value.(bool)
		if !ok {
			return errKind
		}
		*p = b
	}
	return nil
}

func (k Key) text(p *string, value any) error {
	text, ok := value.(string)
	if !ok {
		return errKind
	}
	if err := plain(text); err != nil {
		return err
	}
	if k.Choices != nil && !contains(k.Choices, text) {
		return fmt.Errorf("%q is not known; use %s", text, oneOf(k.Choices))
	}
	if k.Name == "name" {
		if err := checkName(text); err != nil {
			return err
		}
	}
	*p = text
	return nil
}

func (k Key) whole(p *int64, value any) error {
	if k.Kind == Size {
		text, ok := value.(string)
		if !ok {
			return errKind
		}
		n, err := media.ParseSize(text)
		if err == nil && n > maxSize {
			err = fmt.Errorf("%s is more than any device has; use 1 byte to %s", text, media.FormatSize(maxSize))
		}
		*p = n
		return err
	}
	n, ok := value.(int64)
	if !ok {
		return errKind
	}
	if n <= 0 {
		return fmt.Errorf("%d is not above 0; if the device has none, omit the key", n)
	}
	*p = n
	return nil
}

func (k Key) number(p *float64, value any) error {
	if k.Kind == Rate {
		text, ok := value.(string)
		if !ok {
			return errKind
		}
		r, err := parseRate(text)
		*p = r
		return err
	}
	var x float64
	switch v := value.(type) {
	case int64:
		x = float64(v)
	case float64:
		x = v
	default:
		return errKind
	}
	if !(x > 0) || math.IsInf(x, 0) || x > 1e9 {
		return fmt.Errorf("%v is impossible; use a number above 0, up to 1e9", x)
	}
	*p = x
	return nil
}

// parseRate parses "20 MB/s" or "20MB/s", in B/s.
func parseRate(text string) (float64, error) {
	for _, u := range rates {
		number, ok := strings.CutSuffix(text, u.name)
		if !ok {
			continue
		}
		x, err := strconv.ParseFloat(strings.TrimSuffix(number, " "), 64)
		if err != nil || strings.ContainsAny(number, "_xXpP+") {
			break
		}
		x *= u.size
		if !(x > 0) || x > maxRate {
			return 0, fmt.Errorf("%q is impossible; use a rate above 0, up to 1000 GB/s", text)
		}
		return x, nil
	}
	return 0, fmt.Errorf("%q is not a rate; write %s", text, notation[Rate])
}

func parseDuration(text string) (time.Duration, error) {
	d, err := time.ParseDuration(text)
	if err != nil {
		return 0, fmt.Errorf("%q is not a time; write %s", text, notation[Duration])
	}
	if d <= 0 {
		return 0, fmt.Errorf("%q is not above 0; if the device takes no such time, omit the key", text)
	}
	if d > maxDuration {
		return 0, fmt.Errorf("%q is longer than any device takes; at most an hour is allowed", text)
	}
	return d, nil
}

// plain rejects text that would garble a terminal: texts from files are
// printed.
func plain(text string) error {
	if text == "" {
		return errors.New("the text is empty")
	}
	for _, r := range text {
		if r < ' ' || r >= 0x7f && r < 0xa0 || r == '\u2028' || r == '\u2029' {
			return errors.New("control characters and line breaks are not allowed")
		}
	}
	if len(text) > 2000 {
		return errors.New("the text is longer than 2000 bytes")
	}
	return nil
}

// checkName accepts what is valid in sim:NAME,SIZE and in a file name.
func checkName(name string) error {
	for i, r := range name {
		if !(r >= 'a' && r <= 'z' || r >= '0' && r <= '9' || r == '-' && i > 0) {
			return fmt.Errorf("%q is not a name; use lower-case letters, digits and hyphens, and do not start with a hyphen", name)
		}
	}
	if len(name) > 64 {
		return errors.New("the name is longer than 64 letters")
	}
	return nil
}

func contains(list []string, text string) bool {
	for _, s := range list {
		if s == text {
			return true
		}
	}
	return false
}

// oneOf lists choices in quotes.
func oneOf(list []string) string {
	quoted := make([]string, len(list))
	for i, s := range list {
		quoted[i] = strconv.Quote(s)
	}
	if n := len(quoted); n > 1 {
		return strings.Join(quoted[:n-1], ", ") + " or " + quoted[n-1]
	}
	return strings.Join(quoted, "")
}

// Clean turns any text into one that a model file can hold.
func Clean(text string) string {
	text = strings.Map(func(r rune) rune {
		if plain(string(r)) != nil || r == '\uFFFD' {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(text, " "))
	if len(text) > 1000 {
		text = strings.ToValidUTF8(text[:1000], "")
	}
	return text
}
