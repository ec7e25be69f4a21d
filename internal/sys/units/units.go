// Package units formats base units for people. Everything inside whichfs is in
// seconds, bytes and counts; this is where they become "45 ms" and "12.3 MiB".
// Sizes are binary (MiB), rates decimal (MB/s) as in data sheets of storage,
// and no figure shows more digits than its interval allows.
package units

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// scale is a printed unit and its size in base units.
type scale struct {
	name string
	size float64
}

// Scales in increasing order; the largest one not above the value applies.
// Minutes start at ten: people compare seconds.
var scales = map[string][]scale{
	"s":   {{"ns", 1e-9}, {"µs", 1e-6}, {"ms", 1e-3}, {"s", 1}, {"min", 60}, {"h", 3600}},
	"B":   {{"B", 1}, {"KiB", 1 << 10}, {"MiB", 1 << 20}, {"GiB", 1 << 30}, {"TiB", 1 << 40}},
	"B/s": {{"B/s", 1}, {"kB/s", 1e3}, {"MB/s", 1e6}, {"GB/s", 1e9}},
	// Processor instructions.
	"instr": {{"instr", 1}, {"kinstr", 1e3}, {"Minstr", 1e6}, {"Ginstr", 1e9}},
}

// above is the value from which a scale applies, if that is not the unit's
// size.
var above = map[string]float64{"min": 600, "h": 2 * 3600}

// scaleOf chooses the printed unit for values as large as v.
func scaleOf(v float64, unit string) scale {
	v = math.Abs(v)
	list := scales[unit]
	if len(list) == 0 {
		name := unit
		if unit == "1" {
			name = ""
		}
		return scale{name, 1}
	}
	if v == 0 && unit == "s" {
		return scale{"s", 1}
	}
	best := list[0]
	for _, s := range list[1:] {
		from := s.size
		if a, ok := above[s.name]; ok {
			from = a
		}
		// Otherwise 0.9999 ms would become "1000 µs".
		if v >= from*0.9995 {
			best = s
		}
	}
	return best
}

// Value formats v, given in the base unit "s", "B", "B/s" or "1" (a count),
// with three significant digits: "1.23 s", "45.0 ms", "12.3 MiB". Whole bytes
// and counts stay whole.
func Value(v float64, unit string) string {
	if bad(v) {
		return "unknown"
	}
	s := scaleOf(v, unit)
	x := v / s.size
	decimals := decimalsFor(x, 3)
	if s.size == 1 && (unit == "B" || unit == "1") && x == math.Trunc(x) {
		decimals = 0
	}
	return join(number(x, decimals), s.name)
}

// Interval formats an estimate with its interval: "1.23 s ±0.05", or "1.2 s
// (0.9–1.9)" if the interval is lopsided or wide. An interval without width (a
// single figure) yields the value alone, and an infinite one is marked as
// open.
func Interval(v, low, high float64, unit string) string {
	if bad(v) {
		return "unknown"
	}
	if low == high {
		return Value(v, unit)
	}
	if bad(low) || bad(high) {
		return Value(v, unit) + " (interval unknown)"
	}
	if hardlyKnown(low, high) {
		return Value(v, unit) + " (hardly known)"
	}
	if low < 0 { // of either sign: the range is what counts, and the value may be 0
		s := scaleOf(math.Max(-low, high), unit)
		half := math.Max(high-v, v-low) / s.size
		decimals := max(0, decimalsOfWidth(half))
		return join(number(v/s.size, decimals), s.name) + " ±" + number(half, decimals)
	}
	s := scaleOf(v, unit)
	x, lo, hi := v/s.size, low/s.size, high/s.size
	half := math.Max(hi-x, x-lo)
	smaller := math.Min(hi-x, x-lo)
	if half <= 0 {
		return Value(v, unit)
	}
	// Digits follow the half-width (one digit of it, two if it begins with
	// 1) and never exceed four significant digits of the value.
	decimals := min(decimalsOfWidth(half), decimalsFor(x, 4))
	if s.size == 1 && (unit == "B" || unit == "1") {
		decimals = max(0, min(decimals, decimalsFor(x, 3)))
	}
	if number(half, decimals) == number(0, decimals) {
		return join(number(x, decimals), s.name) // narrower than the printed digits
	}
	if half > 0.3*math.Abs(x) || smaller < 0.6*half {
		decimals = max(decimals, min(decimalsFor(x, 2), decimalsFor(lo, 1)))
		return join(number(x, decimals), s.name) + " (" + number(lo, decimals) + "–" + number(hi, decimals) + ")"
	}
	return join(number(x, decimals), s.name) + " ±" + number(half, decimals)
}

// Ratio formats a factor: "1.8×", "12×", "1.03×".
func Ratio(v float64) string {
	if bad(v) {
		return "unknown"
	}
	return number(v, ratioDecimals(v)) + "×"
}

// Two digits suffice for a factor, and two decimals near one.
func ratioDecimals(v float64) int {
	if a := math.Abs(v); a >= 0.1 && a < 1.995 {
		return 2
	}
	return decimalsFor(v, 2)
}

// RatioInterval formats a factor with its interval: "1.8× (1.6–2.0)".
func RatioInterval(v, low, high float64) string {
	if bad(v) {
		return "unknown"
	}
	if low == high {
		return Ratio(v)
	}
	if bad(low) || bad(high) {
		return Ratio(v) + " (interval unknown)"
	}
	if hardlyKnown(low, high) {
		return Ratio(v) + " (hardly known)"
	}
	// Digits follow the width, up to three significant digits.
	d := max(ratioDecimals(v), min(decimalsOfWidth(math.Max(high-v, v-low)), decimalsFor(v, 3)))
	a, b := number(low, d), number(high, d)
	if a == b {
		return Ratio(v) // narrower than the printed digits
	}
	return number(v, d) + "× (" + a + "–" + b + ")"
}

// hardlyKnown reports an interval whose ends differ by a factor of more than a
// thousand: its digits would suggest knowledge that is missing.
func hardlyKnown(low, high float64) bool { return low > 0 && high/low > 1000 }

// Share formats a fraction as a percentage: "3.5 %", "12 %", "0.4 %".
func Share(f float64) string {
	if bad(f) {
		return "unknown"
	}
	p := 100 * f
	if math.Abs(p) < 9.95 && p != 0 {
		return number(p, 1) + " %"
	}
	return number(p, 0) + " %"
}

// bad reports a figure that nothing here can have measured.
func bad(v float64) bool { return math.IsNaN(v) || math.Abs(v) > 1e24 }

// decimalsFor returns how many decimals show v with the given significant
// digits; a negative result is the number of digits to round away before the
// decimal point.
func decimalsFor(v float64, significant int) int {
	v = math.Abs(v)
	if v == 0 || bad(v) {
		return 0
	}
	magnitude := int(math.Floor(math.Log10(v)))
	// Rounding may add a digit: 9.996 with three of them is 10.0.
	if d := significant - 1 - magnitude; d >= 0 && d < 15 {
		p := math.Pow(10, float64(d))
		if r := math.Round(v*p) / p; r >= math.Pow(10, float64(magnitude+1)) {
			magnitude++
		}
	}
	return min(significant-1-magnitude, 15)
}

func decimalsOfWidth(w float64) int {
	d := decimalsFor(w, 1)
	if lead := w * math.Pow(10, float64(d)); lead < 1.95 {
		d++
	}
	return d
}

// number formats x with the given decimals; negative ones round before the
// decimal point.
func number(x float64, decimals int) string {
	if decimals < 0 {
		p := math.Pow(10, float64(-decimals))
		x = math.Round(x/p) * p
		decimals = 0
	}
	text := strconv.FormatFloat(x, 'f', decimals, 64)
	if zero := strings.Trim(text, "-0."); zero == "" {
		text = strings.TrimPrefix(text, "-")
	}
	if len(text) > 4 && !strings.Contains(text, ".") {
		text = group(text)
	}
	return strings.Replace(text, "-", "−", 1) // a hyphen begins an option
}

// group puts narrow spaces between groups of three digits: 12 345.
func group(digits string) string {
	sign := ""
	if strings.HasPrefix(digits, "-") {
		sign, digits = "-", digits[1:]
	}
	var parts []string
	for len(digits) > 3 {
		parts = append([]string{digits[len(digits)-3:]}, parts...)
		digits = digits[:len(digits)-3]
	}
	return sign + strings.Join(append([]string{digits}, parts...), "\u202f")
}

func join(number, unit string) string {
	if unit == "" {
		return number
	}
	return number + " " + unit
}

// Size formats a whole number of bytes exactly, in the largest unit that
// divides it: "4 MiB", "1536 KiB". Value rounds what no unit divides well.
func Size(bytes int64) string {
	list := scales["B"]
	for i := len(list) - 1; i >= 0; i-- {
		unit := int64(list[i].size)
		if bytes%unit == 0 && (bytes != 0 || unit == 1) && bytes/unit < 10000 {
			return join(strconv.FormatInt(bytes/unit, 10), list[i].name)
		}
	}
	return Value(float64(bytes), "B")
}

// List joins names as a sentence does, at most most of them: "a, b and c", "a,
// b and 4 more".
func List(names []string, most int) string {
	if len(names) > most+1 {
		return strings.Join(names[:most], ", ") + fmt.Sprintf(" and %d more", len(names)-most)
	}
	if len(names) < 2 {
		return strings.Join(names, "")
	}
	return strings.Join(names[:len(names)-1], ", ") + " and " + names[len(names)-1]
}

// Count formats a number with its noun: "1 round", "3 rounds".
func Count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// Rough formats a duration the way people say it.
func Rough(d time.Duration) string {
	switch {
	case d < 90*time.Second:
		return fmt.Sprintf("%d s", int(d.Seconds()+0.5))
	case d < 90*time.Minute:
		return fmt.Sprintf("%d min", int(d.Minutes()+0.5))
	}
	return fmt.Sprintf("%.1f h", d.Hours())
}
