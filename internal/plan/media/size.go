package media

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

var suffixes = []struct {
	letter string
	bytes  int64
}{{"T", 1 << 40}, {"G", 1 << 30}, {"M", 1 << 20}, {"K", 1 << 10}}

// ParseSize parses a size in bytes: a whole number, alone or with K, M, G or T
// for powers of 1024 ("512M", "2G", "2GiB"). It must be above zero.
func ParseSize(text string) (int64, error) {
	bad := func(why string) (int64, error) {
		return 0, fmt.Errorf("size %q: %s; write whole bytes or K, M, G, T for powers of 1024, as in 512M or 2G", text, why)
	}
	number, factor := text, int64(1)
	upper := strings.ToUpper(text)
	for _, u := range suffixes {
		for _, suffix := range []string{u.letter, u.letter + "IB"} {
			if strings.HasSuffix(upper, suffix) {
				number, factor = text[:len(text)-len(suffix)], u.bytes
			}
		}
	}
	if number == "" {
		return bad("there is no number")
	}
	for _, c := range number {
		if c == '.' {
			return bad("fractions are not supported")
		}
		if c < '0' || c > '9' {
			return bad("not a whole number with a known unit")
		}
	}
	n, err := strconv.ParseInt(number, 10, 64)
	if err != nil || n > math.MaxInt64/factor {
		return bad("too large")
	}
	if n == 0 {
		return bad("must be above zero")
	}
	return n * factor, nil
}

// FormatSize formats a size in bytes with the largest unit that divides it, so
// that ParseSize returns the same size.
func FormatSize(bytes int64) string {
	for _, u := range suffixes {
		if bytes != 0 && bytes%u.bytes == 0 {
			return strconv.FormatInt(bytes/u.bytes, 10) + u.letter
		}
	}
	return strconv.FormatInt(bytes, 10)
}
