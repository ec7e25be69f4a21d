// Package processor says how fast the processor is that a guest with the virtual clock is charged for.
// The guest's kernel counts what it executes, by kind of work, exactly; what an instruction costs is a
// figure of the profile. A profile is therefore right about ratios of work, and as right about time as
// its source is.
//
// Apart from reading a user's profile the package performs no I/O.
package processor

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// Profile is a processor.
type Profile struct {
	// Name in reports: "600MIPS", "bbb".
	Name  string `json:"name"`
	Title string `json:"title,omitempty"` // of a board
	// Speeds by kind of work, in instructions per second: of everything else, of compressing and
	// decompressing, and of checksums and hashes.
	Other       float64 `json:"other"`
	Compressing float64 `json:"compressing"`
	Checksums   float64 `json:"checksums"`
	// Copying and setting memory, in bytes per second.
	Copying float64 `json:"copying"`
	// CRC-32 and CRC-32C, in bytes per second: many processors have instructions for one or both.
	// 0: by tables, at the speed of Checksums.
	CRC32  float64 `json:"crc32,omitempty"`
	CRC32C float64 `json:"crc32c,omitempty"`
	// Call, Fault and Switch are what a system call, a page fault and a change from one thread to
	// another cost beyond the instructions that the kernel counts (entry, exit, the program's own
	// work around them; the scheduler of a kernel for several processors), in instructions of kind
	// Other. An interrupt costs as much as a call.
	Call   float64 `json:"call"`
	Fault  float64 `json:"fault"`
	Switch float64 `json:"switch"`
	// Source of the figures.
	Source string `json:"source"`
}

// Host is the name of the processor of the machine that whichfs runs on, which is measured before a run
// begins.
const Host = "host"

// Proportional reports whether all figures of two processors have the same ratio, up to the rounding of
// a profile, so that one of them is the other at another clock rate.
func (p Profile) Proportional(q Profile) bool {
	ratio := q.Other / p.Other
	same := func(a, b float64) bool { return math.Abs(b-a*ratio) <= 1e-6*b }
	return same(p.Compressing, q.Compressing) && same(p.Checksums, q.Checksums) && same(p.Copying, q.Copying) &&
		same(p.crc(p.CRC32), q.crc(q.CRC32)) && same(p.crc(p.CRC32C), q.crc(q.CRC32C)) &&
		p.Call == q.Call && p.Fault == q.Fault && p.Switch == q.Switch
}

// tableInstructions are what a byte takes Linux 6.1 on amd64 by tables for eight bytes at a time
// (lib/crc32.c): 88.4 million for 25.2 MB.
const tableInstructions = 3.5

// crc is the rate of a CRC in bytes per second, of which given is what the profile says.
func (p Profile) crc(given float64) float64 {
	if given == 0 {
		return p.Checksums / tableInstructions
	}
	return given
}

// Measured reports whether a profile has figures: Resolve returns Host without any.
func (p Profile) Measured() bool { return p.Name != Host || p.Other != 0 }

// Estimates of Call, Fault and Switch: what Debian's kernel 6.1 for amd64 executes beyond what is counted,
// measured by whichfs-agent speed under an emulator that counts instructions.
const (
	OwnCall   = 560
	OwnFault  = 800
	OwnSwitch = 1940
)

// Bounds of speeds, in instructions or bytes per second, and of the instructions of a call or a fault.
// What exceeds them is a typing error.
const (
	slowest = 1e6
	fastest = 1e12
	longest = 1e6
)

// mips is the unit of speeds, and megabytes that of copying.
const (
	mips      = "MIPS"
	megabytes = " MB/s"
)

// Parse reads the speed of a processor that takes the same time for every instruction: "600MIPS". To
// copy a byte is a quarter of one, a word of four bytes at a time.
func Parse(text string) (Profile, error) {
	speed, err := parseSpeed(text)
	if err != nil {
		return Profile{}, err
	}
	return Profile{
		Name: quantity(speed) + mips, Other: speed, Compressing: speed, Checksums: speed, Copying: 4 * speed,
		Call: OwnCall, Fault: OwnFault, Switch: OwnSwitch, Source: "every instruction takes the same time",
	}, nil
}

func parseSpeed(text string) (float64, error) {
	n := max(0, len(text)-len(mips))
	millions, err := strconv.ParseFloat(text[:n], 64)
	if err != nil || !strings.EqualFold(text[n:], mips) || strings.ContainsAny(text[:n], "+-_xX") {
		return 0, fmt.Errorf("%q is no speed of a processor; type 600MIPS for 600 million instructions per second", text)
	}
	if speed := millions * 1e6; speed >= slowest && speed <= fastest {
		return speed, nil
	}
	return 0, fmt.Errorf("%s is not a speed from 1MIPS to 1000000MIPS", text)
}

// quantity is a figure per second in millions.
func quantity(perSecond float64) string { return strconv.FormatFloat(perSecond/1e6, 'f', -1, 64) }

// String has all figures, for the conditions of a run.
func (p Profile) String() string {
	return fmt.Sprintf("%s: %s MIPS, compressing %s, checksums %s; copying %s MB/s, CRC-32 %s, CRC-32C %s; a system call %s instructions more than counted, a page fault %s, a change of threads %s",
		p.Name, quantity(p.Other), quantity(p.Compressing), quantity(p.Checksums), quantity(p.Copying), p.shown(p.CRC32), p.shown(p.CRC32C), number(p.Call), number(p.Fault), number(p.Switch))
}

// shown is the rate of a CRC in MB/s, to the second digit or better.
func (p Profile) shown(given float64) string {
	rate, step := p.crc(given), 1e6
	if rate < 1e7 {
		step = 1e5
	}
	return quantity(math.Round(rate/step) * step)
}

func number(v float64) string { return strconv.FormatFloat(v, 'f', -1, 64) }

// Check says what is wrong with a profile, or nil.
func (p Profile) Check() error {
	if key, what := p.mistake(); key != "" {
		return fmt.Errorf("%s %s", key, what)
	}
	return nil
}

// mistake is the first wrong figure by its key, and what is wrong with it; "": none is.
func (p Profile) mistake() (key, what string) {
	if strings.TrimSpace(p.Name) == "" {
		return "name", "is missing"
	}
	for _, f := range []struct {
		key         string
		value       float64
		least, most float64
		unit        string
	}{
		{"other", p.Other, slowest, fastest, "instructions per second"},
		{"compressing", p.Compressing, slowest, fastest, "instructions per second"},
		{"checksums", p.Checksums, slowest, fastest, "instructions per second"},
		{"copying", p.Copying, slowest, 4 * fastest, "bytes per second"},
		{"crc32", p.CRC32, 0, 4 * fastest, "bytes per second"},
		{"crc32c", p.CRC32C, 0, 4 * fastest, "bytes per second"},
		{"call", p.Call, 0, longest, "instructions"},
		{"fault", p.Fault, 0, longest, "instructions"},
		{"switch", p.Switch, 0, longest, "instructions"},
	} {
		if !(f.value >= f.least && f.value <= f.most) { // NaN is not, either
			return f.key, fmt.Sprintf("must be from %s to %s %s, not %s", number(f.least), number(f.most), f.unit, number(f.value))
		}
	}
	return "", ""
}

// Costs are picoseconds, in the order in which the guest's kernel takes them.
type Costs struct {
	Other, Compressing, Checksum uint64 // per instruction
	Copied, CRC32, CRC32C        uint64 // per byte
	Call, Fault, Switch          uint64 // each, beyond what is counted
}

// Costs of a valid profile, to the picosecond, but nothing that has a speed is free.
func (p Profile) Costs() Costs {
	each := func(perSecond float64) uint64 { return max(1, uint64(math.Round(1e12/perSecond))) }
	times := func(instructions float64) uint64 { return uint64(math.Round(instructions * 1e12 / p.Other)) }
	return Costs{
		Other: each(p.Other), Compressing: each(p.Compressing), Checksum: each(p.Checksums), Copied: each(p.Copying),
		CRC32: each(p.crc(p.CRC32)), CRC32C: each(p.crc(p.CRC32C)),
		Call: times(p.Call), Fault: times(p.Fault), Switch: times(p.Switch),
	}
}

// String is the value of the guest's kernel parameter.
func (c Costs) String() string {
	return fmt.Sprintf("%d,%d,%d,%d,%d,%d,%d,%d,%d", c.Other, c.Compressing, c.Checksum, c.Copied, c.CRC32, c.CRC32C, c.Call, c.Fault, c.Switch)
}
