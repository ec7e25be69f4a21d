package units

import (
	"math"
	"strings"
	"testing"
)

func TestValue(t *testing.T) {
	for _, c := range []struct {
		v    float64
		unit string
		want string
	}{
		{1.234, "s", "1.23 s"},
		{0.0452, "s", "45.2 ms"},
		{0.0009999, "s", "1.00 ms"},
		{12.3e-6, "s", "12.3 µs"},
		{0, "s", "0 s"},
		{99.96, "s", "100 s"},
		{599, "s", "599 s"},
		{620, "s", "10.3 min"},
		{7300, "s", "2.03 h"},
		{512, "B", "512 B"},
		{1 << 20, "B", "1.00 MiB"},
		{12.34 * (1 << 20), "B", "12.3 MiB"},
		{15e6, "B/s", "15.0 MB/s"},
		{3, "1", "3"},
		{12345, "1", "12\u202f345"},
		{2.5, "1", "2.50"},
		{math.NaN(), "s", "unknown"},
		{math.Inf(1), "B", "unknown"},
		{-0.0452, "s", "−45.2 ms"},
	} {
		if got := Value(c.v, c.unit); got != c.want {
			t.Errorf("Value(%v, %q) = %q, want %q", c.v, c.unit, got, c.want)
		}
	}
}

func TestInterval(t *testing.T) {
	for _, c := range []struct {
		v, low, high float64
		unit         string
		want         string
	}{
		{1.234, 1.184, 1.284, "s", "1.23 s ±0.05"},
		{1.234, 1.22, 1.249, "s", "1.234 s ±0.015"},
		{1.2, 0.4, 3.6, "s", "1.2 s (0.4–3.6)"},
		{1.234, 1.234, 1.234, "s", "1.23 s"},
		{1.234, math.NaN(), 2, "s", "1.23 s (interval unknown)"},
		{1.234, 0, math.Inf(1), "s", "1.23 s (interval unknown)"},
		{1.234, 1.2339999, 1.2340001, "s", "1.234 s"},
		{0.0452, 0.0412, 0.0492, "s", "45 ms ±4"},
		{1e9, 0.9e9, 1.1e9, "B", "950 MiB ±100"},
		{12, 10, 14, "1", "12 ±2"},
		{-233e3, -7.2e6, 6.7e6, "B", "0 MiB ±7"},
		{-2.5e6, -2.7e6, -2.3e6, "B", "−2.38 MiB ±0.19"},
	} {
		if got := Interval(c.v, c.low, c.high, c.unit); got != c.want {
			t.Errorf("Interval(%v, %v, %v, %q) = %q, want %q", c.v, c.low, c.high, c.unit, got, c.want)
		}
	}
}

func TestRatioAndShare(t *testing.T) {
	for v, want := range map[float64]string{1: "1.00×", 1.034: "1.03×", 1.8: "1.80×", 2.34: "2.3×", 12.4: "12×", 123: "120×", 0.034: "0.034×", 0.5: "0.50×"} {
		if got := Ratio(v); got != want {
			t.Errorf("Ratio(%v) = %q, want %q", v, got, want)
		}
	}
	for v, want := range map[float64]string{0: "0 %", 0.035: "3.5 %", 0.123: "12 %", 0.0996: "10 %", 1: "100 %", -0.035: "−3.5 %"} {
		if got := Share(v); got != want {
			t.Errorf("Share(%v) = %q, want %q", v, got, want)
		}
	}
	for _, c := range []struct {
		v, low, high float64
		want         string
	}{
		{1.8, 1.6, 2.04, "1.80× (1.60–2.04)"}, {2.08, 2.06, 2.11, "2.08× (2.06–2.11)"}, {12.3, 11.9, 12.7, "12.3× (11.9–12.7)"},
		{1.25, 1.2499, 1.2501, "1.25×"}, {0.965, 0.9604, 0.9696, "0.965× (0.960–0.970)"}, {3, 1, 9, "3.0× (1.0–9.0)"}, {2, 2, 2, "2.0×"},
	} {
		if got := RatioInterval(c.v, c.low, c.high); got != c.want {
			t.Errorf("RatioInterval(%v, %v, %v) = %q, want %q", c.v, c.low, c.high, got, c.want)
		}
	}
}

// No input may make the printer panic, loop or print Go's own notation.
func FuzzInterval(f *testing.F) {
	f.Add(1.0, 0.5, 2.0, "s")
	f.Add(0.0, 0.0, 0.0, "B")
	f.Add(1e300, -1e300, math.MaxFloat64, "1")
	f.Add(5e-324, 0.0, 1.0, "B/s")
	f.Fuzz(func(t *testing.T, v, low, high float64, unit string) {
		switch unit {
		case "s", "B", "B/s", "1":
		default:
			unit = "s"
		}
		for _, text := range []string{Interval(v, low, high, unit), Value(v, unit), Ratio(v), Share(v), RatioInterval(v, low, high)} {
			if text == "" || strings.Contains(text, "NaN") || strings.Contains(text, "Inf") || strings.Contains(text, "e+") {
				t.Fatalf("%v [%v, %v] %s printed as %q", v, low, high, unit, text)
			}
		}
	})
}

func TestSize(t *testing.T) {
	for bytes, want := range map[int64]string{
		0: "0 B", 512: "512 B", 4096: "4 KiB", 4 << 20: "4 MiB", 1536 << 10: "1536 KiB", 64 << 30: "64 GiB",
		62333952 * 512: "29.7 GiB", 1000000: "977 KiB", -4096: "-4 KiB",
	} {
		if got := Size(bytes); got != want {
			t.Errorf("Size(%d) = %q, want %q", bytes, got, want)
		}
	}
}

// The bounds of a meaningless interval are omitted.
func TestHardlyKnown(t *testing.T) {
	for got, want := range map[string]string{
		RatioInterval(2.6, 1e-9, 1.6e15): "2.6× (hardly known)",
		RatioInterval(2.6, 0.1, 99):      "2.6× (0.1–99.0)",
		Interval(0.19, 1e-6, 8e13, "s"):  "190 ms (hardly known)",
		Interval(1.1, 1.0, 1.2, "s"):     "1.10 s ±0.10",
		RatioInterval(1.1, 0, 3):         "1.10× (0.00–3.00)",
	} {
		if got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
