package storage

import (
	"fmt"
	"maps"
	"strconv"
	"strings"
)

// NAND is a simulated raw chip (the kernel's nandsim), with its faults.
type NAND struct {
	Size  int64  // B, without the spare bytes
	Page  int    // B
	OOB   int    // spare bytes of a page
	Block int64  // erase block, B
	ID    []byte // what the chip answers when it is asked who it is

	Bad        []int64 // blocks that are bad from the factory, in order
	Weak       []Limit // blocks that fail to erase after some erases
	WeakPages  []Limit // pages that fail to program after some writes
	GravePages []Limit // pages that lose what they hold after some reads
	// Bitflips is the most bits that turn over in a page while it is read, in
	// one of about a thousand reads; 0: none.
	Bitflips int
	// ECC bits per 512 B that a BCH code corrects; 0: the Hamming code, one bit
	// per 256 B.
	ECC int
	// Cycles is how many erases a block is rated for. The simulator does not
	// wear out: it is what years of life are computed with.
	Cycles int64
}

// Limit is a block or page, counted from the start of the chip, that works
// After times.
type Limit struct{ N, After int64 }

// Delays of the simulated chip. They are those of the SLC parts in the data
// sheets of the time, and always on: without them its times mean nothing.
const (
	NANDReadDelay    = 25  // µs until a page is in the chip's register
	NANDProgramDelay = 200 // µs until the register is in a page
	NANDEraseDelay   = 2   // ms for a block
	NANDCycle        = 25  // ns for a byte on the bus, either way
)

// nandCycles is what a chip with one bit to the cell is usually rated for.
const nandCycles = 100_000

// nandTimes is how often a weak or grave one works where nothing is said;
// nandsim's own default.
const nandTimes = 3

// NAND is the chip that a nand: storage names.
func (s Spec) NAND() (NAND, error) {
	if s.Kind != KindNAND {
		return NAND{}, fmt.Errorf("storage %s is no simulated raw chip", s)
	}
	page := 0
	switch text, given := s.Options["page"]; {
	case !given:
	case text == "2k":
		page = 2048
	case text == "512":
		page = 512
	default:
		return NAND{}, fmt.Errorf("option page: %q is not 2k or 512", text)
	}
	c, ok := findChip(s.Size, page)
	if !ok && page == 0 {
		return NAND{}, fmt.Errorf("no simulated chip has %s; %s", FormatSize(s.Size), NANDSizes())
	}
	if !ok {
		return NAND{}, fmt.Errorf("no simulated chip has %s and pages of %s; %s", FormatSize(s.Size), s.Options["page"], NANDSizes())
	}
	n := NAND{Size: c.size, Page: c.page, OOB: c.oob, Block: c.block, ID: c.id, Cycles: nandCycles}
	options := maps.Clone(s.Options)
	delete(options, "page")
	return n.with(options)
}

// With returns the chip with further options, as nand: takes them:
// "bad=5:6,bitflips=1". Lists of blocks and pages add to those that it has,
// numbers take the place of theirs. The geometry stays.
func (n NAND) With(text string) (NAND, error) {
	if text == "" {
		return n, nil
	}
	options, err := nandWords(strings.Split(text, ","))
	if err == nil && options["page"] != "" {
		err = fmt.Errorf("option page: it makes another chip, and belongs to --storage")
	}
	if err == nil {
		n, err = n.with(options)
	}
	if err != nil {
		return NAND{}, fmt.Errorf("options %q of a simulated chip: %w", text, err)
	}
	return n, nil
}

// Blocks is how many erase blocks the chip has.
func (n NAND) Blocks() int64 { return n.Size / n.Block }

// Pages is how many pages the chip has.
func (n NAND) Pages() int64 { return n.Size / int64(n.Page) }

// Partition returns an error where the chip cannot have a first partition of
// that many bytes. 0 is all of it.
func (n NAND) Partition(size int64) error {
	switch {
	case size < 0, size%n.Block != 0:
		return fmt.Errorf("a partition of %d bytes is no multiple of the chip's erase blocks of %s", size, FormatSize(n.Block))
	case size > n.Size:
		return fmt.Errorf("a partition of %s does not fit on a chip of %s", FormatSize(size), FormatSize(n.Size))
	}
	return nil
}

// Parameters are what the kernel's nandsim is loaded with for the chip, with a
// first partition (mtd0) of that many bytes and the rest behind it (mtd1); 0:
// one partition over all of it. Partition has found the size good.
func (n NAND) Parameters(partition int64) string {
	var id []string
	for _, b := range n.ID {
		id = append(id, fmt.Sprintf("0x%02x", b))
	}
	words := []string{"id_bytes=" + strings.Join(id, ","), "do_delays=1",
		fmt.Sprintf("access_delay=%d", NANDReadDelay), fmt.Sprintf("programm_delay=%d", NANDProgramDelay),
		fmt.Sprintf("erase_delay=%d", NANDEraseDelay), fmt.Sprintf("output_cycle=%d input_cycle=%d", NANDCycle, NANDCycle)}
	add := func(name, value string) {
		if value != "" && value != "0" {
			words = append(words, name+"="+value)
		}
	}
	if partition < n.Size {
		add("parts", strconv.FormatInt(partition/n.Block, 10))
	}
	// A lone block 0 is a list too.
	if len(n.Bad) > 0 {
		words = append(words, "badblocks="+joined(n.Bad))
	}
	add("weakblocks", limits(n.Weak, ":", ","))
	add("weakpages", limits(n.WeakPages, ":", ","))
	add("gravepages", limits(n.GravePages, ":", ","))
	add("bitflips", strconv.Itoa(n.Bitflips))
	add("bch", strconv.Itoa(n.ECC))
	return strings.Join(words, " ")
}

func joined(list []int64) string {
	var words []string
	for _, n := range list {
		words = append(words, strconv.FormatInt(n, 10))
	}
	return strings.Join(words, ",")
}

func limits(list []Limit, times, next string) string {
	var words []string
	for _, l := range list {
		words = append(words, fmt.Sprintf("%d%s%d", l.N, times, l.After))
	}
	return strings.Join(words, next)
}
