package media

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"whichfs/internal/result"
)

// NAND is a simulated raw chip (the kernel's nandsim), with its faults.
type NAND struct {
	Size  int64  // B, without the spare bytes
	Page  int    // B
	OOB   int    // spare bytes of a page
	Block int64  // erase block, B
	ID    []byte // the chip's answer to READ ID
	// Exponent: the chip has 2^Exponent erase blocks, whatever its answer says; 0: those of the
	// answer.
	Exponent int

	Bad        []int64 // blocks that are bad from the factory, in order
	Weak       []Limit // blocks that fail to erase after some erases
	WeakPages  []Limit // pages that fail to program after some writes
	GravePages []Limit // pages that lose their data after some reads
	// Bitflips is the maximum number of bits that flip in a page during a read, in about one of a
	// thousand reads; 0: none.
	Bitflips int
	// ECC bits per 512 B that a BCH code corrects; 0: the Hamming code, one bit
	// per 256 B.
	ECC int
	// Cycles is the rated number of erases of a block. The simulator does not wear out: it only
	// serves to compute years of life.
	Cycles int64
}

// Limit is a block or page, counted from the start of the chip, that works
// After times.
type Limit struct{ N, After int64 }

// Delays of the simulated chip. They are those of SLC parts in data sheets of
// the time, and always on, because times without them would be meaningless.
const (
	NANDReadDelay    = 25  // µs until a page is in the chip's register
	NANDProgramDelay = 200 // µs until the register is in a page
	NANDEraseDelay   = 2   // ms for a block
	NANDCycle        = 25  // ns for a byte on the bus, either way
)

// nandCycles is the usual rating of a chip with one bit per cell.
const nandCycles = 100_000

// nandTimes is how often a weak or grave block or page works by default; it is
// nandsim's own default.
const nandTimes = 3

// NAND is the chip of a nand: storage.
func (s Storage) NAND() (NAND, error) {
	if s.Kind != KindNAND {
		return NAND{}, fmt.Errorf("storage %s is not a simulated raw chip", s)
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
	n := NAND{Size: c.size, Page: c.page, OOB: c.oob, Block: c.block, ID: c.id, Exponent: c.exponent, Cycles: nandCycles}
	options := maps.Clone(s.Options)
	delete(options, "page")
	return n.with(options)
}

// With returns the chip with further options in the syntax of nand:, "bad=5:6,bitflips=1". Lists of
// blocks and pages are added to existing ones, numbers replace them. The geometry stays.
func (n NAND) With(text string) (NAND, error) {
	if text == "" {
		return n, nil
	}
	options, err := nandWords(strings.Split(text, ","))
	if err == nil && options["page"] != "" {
		err = fmt.Errorf("option page: it selects another chip, and belongs to --storage")
	}
	if err == nil {
		n, err = n.with(options)
	}
	if err != nil {
		return NAND{}, fmt.Errorf("options %q of a simulated chip: %w", text, err)
	}
	return n, nil
}

// Blocks is the number of erase blocks of the chip.
func (n NAND) Blocks() int64 { return n.Size / n.Block }

// Pages is the number of pages of the chip.
func (n NAND) Pages() int64 { return n.Size / int64(n.Page) }

// Partition returns an error if the chip cannot have a first partition of that
// many bytes. 0 is the whole chip.
func (n NAND) Partition(size int64) error {
	switch {
	case size < 0, size%n.Block != 0:
		return fmt.Errorf("a partition of %d bytes is not a multiple of the chip's erase blocks of %s", size, FormatSize(n.Block))
	case size > n.Size:
		return fmt.Errorf("a partition of %s does not fit on a chip of %s", FormatSize(size), FormatSize(n.Size))
	}
	return nil
}

// Parameters are the parameters of the kernel's nandsim for the chip, with a first partition (mtd0)
// of that many bytes and the rest after it (mtd1); 0: one partition for all of it. Partition has
// checked the size.
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
	add("overridesize", strconv.Itoa(n.Exponent))
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

// NANDOptions are the options of nand:, in the order in which they are written.
var NANDOptions = []string{"page", "bad", "weak", "weakpages", "grave", "bitflips", "ecc", "cycles"}

// nandText is the maximum length of a list as a module parameter: the kernel
// accepts at most 1024 bytes (param_set_charp).
const nandText = 1024

// maxBitflips per page: nandsim flips at most that many bits, and more than a few hundred only make
// it slow.
const maxBitflips = 256

// nandWords reads "name=value" words.
func nandWords(words []string) (map[string]string, error) {
	var options map[string]string
	for _, word := range words {
		name, value, _ := strings.Cut(word, "=")
		if !slices.Contains(NANDOptions, name) {
			return nil, fmt.Errorf("unknown option %q; allowed are %s", name, strings.Join(NANDOptions, ", "))
		}
		if _, twice := options[name]; twice {
			return nil, fmt.Errorf("option %s is given twice", name)
		}
		if options == nil {
			options = map[string]string{}
		}
		options[name] = value
	}
	return options, nil
}

func (n NAND) with(options map[string]string) (NAND, error) {
	for _, name := range NANDOptions {
		value, given := options[name]
		if !given {
			continue
		}
		var err error
		switch name {
		case "bad":
			var list []Limit
			if list, err = parseLimits(value, "block", n.Blocks(), false); err == nil {
				n.Bad = slices.Clone(n.Bad)
				for _, l := range list {
					n.Bad = append(n.Bad, l.N)
				}
				slices.Sort(n.Bad)
				n.Bad = slices.Compact(n.Bad)
			}
			err = first(err, tooLong(joined(n.Bad)))
		case "weak":
			n.Weak, err = moreLimits(n.Weak, value, "block", n.Blocks())
		case "weakpages":
			n.WeakPages, err = moreLimits(n.WeakPages, value, "page", n.Pages())
		case "grave":
			n.GravePages, err = moreLimits(n.GravePages, value, "page", n.Pages())
		case "bitflips":
			var v int64
			v, err = parseCount(value, 0, maxBitflips)
			n.Bitflips = int(v)
		case "ecc":
			var v int64
			// The spare bytes must fit 13 bits for each bit to correct in each 512
			// bytes, and 2 B for the bad block mark.
			if n.Page < 2048 {
				err = fmt.Errorf("a chip with pages of %d has too few spare bytes for a BCH code; leave ecc out, or use pages of 2k", n.Page)
			} else if v, err = parseCount(value, 1, maxBCH(n.Page, n.OOB)); err == nil {
				n.ECC = int(v)
			}
		case "cycles":
			n.Cycles, err = parseCount(value, 1, 1_000_000_000)
		}
		if err != nil {
			return NAND{}, fmt.Errorf("option %s: %w", name, err)
		}
	}
	return n, nil
}

func first(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

func tooLong(text string) error {
	if len(text) > nandText {
		return fmt.Errorf("the list is too long: nandsim accepts %d characters, and this has %d", nandText, len(text))
	}
	return nil
}

// maxBCH is the number of bits per 512 B that a BCH code in the spare bytes can
// correct.
func maxBCH(page, oob int) int64 {
	bits := int64(0)
	for (((bits+1)*13+7)/8)*int64(page/512)+2 <= int64(oob) {
		bits++
	}
	return bits
}

func moreLimits(old []Limit, value, what string, count int64) ([]Limit, error) {
	list, err := parseLimits(value, what, count, true)
	if err != nil {
		return nil, err
	}
	all := mergeLimits(old, list)
	return all, tooLong(limits(all, ":", ","))
}

// parseLimits parses blocks or pages separated by colons, each with an optional
// number of times that it works after a slash, if allowed: "7/100:9". "0-63" is
// all from 0 to 63.
func parseLimits(value, what string, count int64, timed bool) ([]Limit, error) {
	var list []Limit
	seen := map[int64]bool{}
	for _, word := range strings.Split(value, ":") {
		number, times, slash := strings.Cut(word, "/")
		after := int64(nandTimes)
		switch {
		case slash && !timed:
			return nil, fmt.Errorf("%q: a bad %s has no number of times; weak= takes one", word, what)
		case slash:
			var err error
			if after, err = parseCount(times, 0, 1_000_000_000); err != nil {
				return nil, err
			}
		}
		from, to, span := strings.Cut(number, "-")
		start, err := parsePlace(from, what, count)
		end := start
		if err == nil && span {
			end, err = parsePlace(to, what, count)
		}
		if err != nil {
			return nil, err
		}
		if end < start {
			return nil, fmt.Errorf("%q goes backwards", number)
		}
		for n := start; n <= end; n++ {
			if seen[n] {
				return nil, fmt.Errorf("%s %d is named twice", what, n)
			}
			if len(seen) == nandText { // before a long range fills the memory
				return nil, fmt.Errorf("the list is too long: nandsim accepts %d characters", nandText)
			}
			seen[n] = true
			list = append(list, Limit{n, after})
		}
	}
	return list, nil
}

func parsePlace(text, what string, count int64) (int64, error) {
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n < 0 || strconv.FormatInt(n, 10) != text {
		return 0, fmt.Errorf("%q is not the number of a %s", text, what)
	}
	if n >= count {
		return 0, fmt.Errorf("%s %d is not on the chip, which has %d, from 0 to %d", what, n, count, count-1)
	}
	return n, nil
}

func parseCount(text string, least, most int64) (int64, error) {
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || strconv.FormatInt(n, 10) != text || n < least || n > most {
		return 0, fmt.Errorf("%q is not a whole number from %d to %d", text, least, most)
	}
	return n, nil
}

// mergeLimits adds limits; a later one for the same block or page overrides.
func mergeLimits(old, more []Limit) []Limit {
	all := slices.Clone(old)
	for _, l := range more {
		if i := slices.IndexFunc(all, func(o Limit) bool { return o.N == l.N }); i >= 0 {
			all[i] = l
		} else {
			all = append(all, l)
		}
	}
	slices.SortFunc(all, func(a, b Limit) int { return int(a.N - b.N) })
	return all
}

// ECCText describes the chip's error correction.
func (n NAND) ECCText() string {
	if n.ECC > 0 {
		return fmt.Sprintf("BCH in software, %d bits per 512 B", n.ECC)
	}
	return "Hamming in software, 1 bit per 256 B"
}

// Conditions are all facts about the chip for the report.
func (n NAND) Conditions() []result.Condition {
	var all []result.Condition
	add := func(name, format string, args ...any) {
		all = append(all, result.Condition{Group: "storage", Name: name, Value: fmt.Sprintf(format, args...), Matters: true})
	}
	add("lab storage", "raw NAND chip in the guest's memory (nandsim), delays by busy waiting")
	add("chip size", "%d B", n.Size)
	add("chip id", "% x", n.ID)
	add("page", "%d B and %d spare", n.Page, n.OOB)
	add("erase block", "%d B", n.Block)
	add("page read", "%d µs", NANDReadDelay)
	add("page program", "%d µs", NANDProgramDelay)
	add("block erase", "%d ms", NANDEraseDelay)
	add("bus cycle", "%d ns a byte", NANDCycle)
	add("error correction", "%s", n.ECCText())
	if n.Bitflips > 0 {
		add("bit flips", "at most %d a page, in one of about 1000 reads", n.Bitflips)
	}
	if len(n.Bad) > 0 {
		add("bad blocks", "%s", joined(n.Bad))
	}
	for _, l := range []struct {
		name string
		list []Limit
	}{{"weak blocks (erases)", n.Weak}, {"weak pages (writes)", n.WeakPages}, {"grave pages (reads)", n.GravePages}} {
		if len(l.list) > 0 {
			add(l.name, "%s", limits(l.list, "/", ", "))
		}
	}
	cycles := fmt.Sprintf("%d erases of a block", n.Cycles)
	if n.Cycles == nandCycles {
		cycles += " (assumed: usual for one bit per cell)"
	}
	// It affects no measurement, so runs that differ in it remain comparable.
	return append(all, result.Condition{Group: "storage", Name: "rated endurance", Value: cycles})
}

// chip is one that the kernel's nandsim can simulate: its answer to READ ID
// determines its geometry.
type chip struct {
	size  int64 // B, without the spare bytes
	page  int   // B
	oob   int   // spare bytes of a page
	block int64 // B
	id    []byte
	// exponent: see NAND.
	exponent int
}

// chips are real parts of ST and Samsung, all with one bit per cell, in the
// order of the search for a size; the smallest is one cut down, of which every
// block can be erased hundreds of times within a trial.
var chips = []chip{
	{8 << 20, 2048, 64, 128 << 10, []byte{0x20, 0xa2, 0x00, 0x15}, 6},
	{64 << 20, 2048, 64, 128 << 10, []byte{0x20, 0xa2, 0x00, 0x15}, 0},
	{128 << 20, 2048, 64, 128 << 10, []byte{0xec, 0xa1, 0x00, 0x15}, 0},
	{256 << 20, 2048, 64, 128 << 10, []byte{0x20, 0xaa, 0x00, 0x15}, 0},
	{512 << 20, 2048, 64, 128 << 10, []byte{0x20, 0xac, 0x00, 0x15}, 0},
	{1 << 30, 2048, 64, 128 << 10, []byte{0xec, 0xd3, 0x51, 0x95}, 0},
	{16 << 20, 512, 16, 16 << 10, []byte{0x20, 0x33}, 0},
	{32 << 20, 512, 16, 16 << 10, []byte{0x20, 0x35}, 0},
	{64 << 20, 512, 16, 16 << 10, []byte{0x20, 0x36}, 0},
	{128 << 20, 512, 16, 16 << 10, []byte{0x20, 0x78}, 0},
}

// findChip finds a chip; page 0 is any size, larger pages first.
func findChip(size int64, page int) (chip, bool) {
	for _, c := range chips {
		if c.size == size && (page == 0 || c.page == page) {
			return c, true
		}
	}
	return chip{}, false
}

// NANDSizes lists the sizes of simulated chips, for people.
func NANDSizes() string {
	lists := map[int][]string{}
	for _, c := range chips {
		lists[c.page] = append(lists[c.page], FormatSize(c.size))
	}
	return "there are " + strings.Join(lists[2048], ", ") + " with pages of 2k, and " + strings.Join(lists[512], ", ") + " with pages of 512"
}
