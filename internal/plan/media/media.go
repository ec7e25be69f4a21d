// Package media parses storage as a user writes it: a device of this machine, a disk, card or raw
// chip of the lab, a simulated one. It opens nothing.
package media

import (
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// Kinds of storage.
const (
	// KindDevice is a block device or partition of this host, by path.
	KindDevice = "device"
	// KindLoop is a loop device on a sparse file in the work directory.
	KindLoop = "loop"
	// KindDisk is a virtio disk of a lab guest, with throttling.
	KindDisk = "disk"
	// KindSD is an SD card behind the lab's real host controller.
	KindSD = "sd"
	// KindSim is a simulated card, stick or disk of the lab: Path names its
	// model, or is the path of a model file; Size 0 is the model's own.
	KindSim = "sim"
	// KindRAM is a disk in the memory of a lab guest, for the clock that counts
	// instructions.
	KindRAM = "ram"
	// KindNAND is a raw chip simulated by a lab guest's kernel; see Storage.NAND.
	KindNAND = "nand"
	// KindMTD is raw flash of this host, by the path of its node (/dev/mtd3).
	KindMTD = "mtd"
	// KindSerial is, inside a guest, the disk with a given serial number.
	KindSerial = "serial"
	// KindMMC is, inside a guest, the n-th card or eMMC from 0.
	KindMMC = "mmc"
)

// Limits of a lab disk or card: bytes (bps) and requests (iops) per second.
var Limits = []string{"bps", "bps_rd", "bps_wr", "iops", "iops_rd", "iops_wr"}

const forms = "allowed are /dev/NAME, loop:SIZE, sim:MODEL[,SIZE], disk:SIZE[,bps=…,iops=…], sd:SIZE[,bps=…,iops=…], ram:SIZE, " +
	"nand:SIZE[,page=2k|512,bad=…,bitflips=…,…] and mtd:/dev/mtdN"

// Storage is a storage as the user wrote it.
type Storage struct {
	Kind string
	// Path is the device's path (KindDevice, KindMTD), serial number (KindSerial),
	// number (KindMMC) or model (KindSim).
	Path string
	Size int64 // B; 0 of KindDevice, KindMTD, KindSerial, KindMMC, and of KindSim to use the model's size
	// Options are the limits by name, see Limits, and those of KindNAND, see
	// NANDOptions; values as written.
	Options map[string]string
	text    string
}

// String is the storage exactly as it was written.
func (s Storage) String() string {
	if s.text != "" {
		return s.text
	}
	switch s.Kind {
	case KindDevice:
		return s.Path
	case KindSerial, KindMMC, KindMTD:
		return s.Kind + ":" + s.Path
	case KindSim:
		if s.Size == 0 {
			return s.Kind + ":" + s.Path
		}
		return s.Kind + ":" + s.Path + "," + FormatSize(s.Size)
	}
	text := s.Kind + ":" + FormatSize(s.Size)
	for _, name := range append(slices.Clone(Limits), NANDOptions...) {
		if v, ok := s.Options[name]; ok {
			text += "," + name + "=" + v
		}
	}
	return text
}

// Lab reports whether the storage exists only in a lab guest.
func (s Storage) Lab() bool {
	return s.Kind == KindDisk || s.Kind == KindSD || s.Kind == KindSim || s.Kind == KindRAM || s.Kind == KindNAND
}

// Modelled reports whether the time of the storage is that of a model, or none, and not that of
// hardware or an emulator.
func (s Storage) Modelled() bool {
	return s.Kind == KindSim || s.Kind == KindRAM || s.Kind == KindNAND
}

// Raw reports whether the storage is raw flash, not a block device.
func (s Storage) Raw() bool { return s.Kind == KindNAND || s.Kind == KindMTD }

// Limit returns one of Limits per second, 0 if it is not set. An unset direction (bps_rd) does not
// default to the limit of both directions here; machines may do that.
func (s Storage) Limit(name string) int64 {
	n, err := parseLimit(name, s.Options[name])
	if err != nil {
		return 0
	}
	return n
}

// Parse parses a storage:
//
//	/dev/sdX, /dev/disk/by-id/…   a block device or partition
//	loop:2G                       a loop device on a sparse file
//	disk:1G,bps=20M,iops=500      a lab disk with limits
//	sd:1G                         a card in the lab, size a power of two
//	sim:sd-basic,1G               a simulated card; its model's size unless given
//	sim:./card.toml               likewise, from a model file
//	ram:512M                      a disk in a guest's memory
//	nand:128M,bad=5:6,bitflips=1  a simulated raw chip and its faults
//	mtd:/dev/mtd3                 raw flash
//	serial:NAME, mmc:0            what a guest calls them
func Parse(text string) (Storage, error) {
	s := Storage{text: text}
	fail := func(format string, args ...any) (Storage, error) {
		return Storage{}, fmt.Errorf("storage %q: "+format, append([]any{text}, args...)...)
	}
	if text == "" {
		return Storage{}, fmt.Errorf("no storage given; %s", forms)
	}
	if strings.ContainsFunc(text, func(r rune) bool { return r < ' ' || r == 0x7f }) {
		return fail("control characters are not allowed")
	}
	if strings.HasPrefix(text, "/") {
		s.Kind, s.Path = KindDevice, filepath.Clean(text)
		return s, nil
	}
	kind, rest, ok := strings.Cut(text, ":")
	if !ok {
		return fail("not a path that begins with / and not KIND:SIZE; %s", forms)
	}
	s.Kind = kind
	switch kind {
	case KindSerial:
		if rest == "" {
			return fail("the serial number is missing")
		}
		s.Path = rest
		return s, nil
	case KindMMC:
		if n, err := strconv.Atoi(rest); err != nil || n < 0 || strconv.Itoa(n) != rest {
			return fail("%q is not a number from 0", rest)
		}
		s.Path = rest
		return s, nil
	case KindSim:
		return parseSim(s, rest, fail)
	case KindMTD:
		if !strings.HasPrefix(rest, "/") {
			return fail("%q is not the path of the flash's node, as in mtd:/dev/mtd3; whichfs list storage shows all", rest)
		}
		s.Path = filepath.Clean(rest)
		return s, nil
	case KindNAND:
		return parseNAND(s, rest, fail)
	case KindLoop, KindDisk, KindSD, KindRAM:
	default:
		return fail("unknown kind %q; %s", kind, forms)
	}
	words := strings.Split(rest, ",")
	var err error
	if s.Size, err = ParseSize(words[0]); err != nil {
		return fail("%w", err)
	}
	if s.Size%512 != 0 {
		return fail("the size must be a multiple of 512 bytes")
	}
	if kind == KindSD && s.Size&(s.Size-1) != 0 {
		below, above := powersAround(s.Size)
		return fail("the size of a card must be a power of two: %s or %s", FormatSize(below), FormatSize(above))
	}
	if (kind == KindLoop || kind == KindRAM) && len(words) > 1 {
		return fail("%s: takes no options; limits exist for disk: and sd:", kind)
	}
	for _, word := range words[1:] {
		name, value, _ := strings.Cut(word, "=")
		if !slices.Contains(Limits, name) {
			return fail("unknown option %q; allowed are %s", name, strings.Join(Limits, ", "))
		}
		if _, twice := s.Options[name]; twice {
			return fail("option %s is given twice", name)
		}
		if _, err := parseLimit(name, value); err != nil {
			return fail("%w", err)
		}
		if s.Options == nil {
			s.Options = map[string]string{}
		}
		s.Options[name] = value
	}
	for _, unit := range []string{"bps", "iops"} {
		_, total := s.Options[unit]
		_, rd := s.Options[unit+"_rd"]
		_, wr := s.Options[unit+"_wr"]
		if total && (rd || wr) {
			return fail("%s limits both directions together, so it cannot be combined with %s_rd or %s_wr", unit, unit, unit)
		}
	}
	return s, nil
}

// parseSim parses MODEL[,SIZE]; the model is looked up elsewhere.
func parseSim(s Storage, rest string, fail func(string, ...any) (Storage, error)) (Storage, error) {
	model, size, sized := strings.Cut(rest, ",")
	if model == "" {
		return fail("the model is missing; whichfs list models shows them")
	}
	s.Path = model
	if !sized {
		return s, nil
	}
	var err error
	if s.Size, err = ParseSize(size); err != nil {
		return fail("%w", err)
	}
	if s.Size%(1<<20) != 0 {
		return fail("the size must be a multiple of 1 MiB")
	}
	return s, nil
}

// parseNAND parses SIZE[,option=value…]; Storage.NAND validates the options.
func parseNAND(s Storage, rest string, fail func(string, ...any) (Storage, error)) (Storage, error) {
	words := strings.Split(rest, ",")
	var err error
	if s.Size, err = ParseSize(words[0]); err != nil {
		return fail("%w", err)
	}
	if s.Options, err = nandWords(words[1:]); err != nil {
		return fail("%w", err)
	}
	if _, err = s.NAND(); err != nil {
		return fail("%w", err)
	}
	return s, nil
}

// parseLimit parses bytes per second like a size, and requests per second as a
// plain number.
func parseLimit(name, value string) (int64, error) {
	if strings.HasPrefix(name, "bps") {
		n, err := ParseSize(value)
		if err != nil {
			return 0, fmt.Errorf("option %s: %w", name, err)
		}
		return n, nil
	}
	n, err := strconv.ParseInt(value, 10, 64)
	if err != nil || n <= 0 || value[0] == '+' {
		return 0, fmt.Errorf("option %s: %q is not a number of requests per second above zero", name, value)
	}
	return n, nil
}

// InMemory reports whether the storage is in a guest's memory, so that nothing
// ever waits for it: all of its cost is processor time.
func (s Storage) InMemory() bool { return s.Kind == KindRAM || s.Kind == KindNAND }

// powersAround returns the powers of two below and above a size that is not
// one.
func powersAround(size int64) (below, above int64) {
	below = 512
	for below <= size/2 {
		below *= 2
	}
	if above = below * 2; above < 0 {
		above = below
	}
	return below, above
}

// Place is the position of a partition on its disk.
type Place struct {
	Name  string `json:"name"`  // the kernel's: mmcblk0p1
	Start int64  `json:"start"` // B from the start of the disk
	Size  int64  `json:"size"`  // B
}
