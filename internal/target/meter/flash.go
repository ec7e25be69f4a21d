package meter

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
)

// noStatistics says why raw flash lacks the figures of block devices.
const noStatistics = "the kernel keeps no traffic statistics for raw flash (MTD); the chip's operations are counted in pages and blocks"

// flash counts the operations on raw flash.
type flash struct {
	sys, dev string // roots of /sys and /dev
	shown    string // path of the erase counts that the kernel shows, in place of probes; "": none
	name     string // "mtd0"
	probes   probes
	geometry geometry // for which the probes are set
	unset    error    // why they are not set
	own      error    // why only erases can be counted
	err      error    // why nothing can be counted at present
	erases   []uint64 // of every block, at the last count
	fresh    []uint64 // of every block, after the storage was emptied
	begun    []uint64 // of every block, when the phase began
	base     flashCounts
}

// geometry is an MTD as sysfs describes it (Documentation/ABI/testing/sysfs-class-mtd).
type geometry struct{ size, block, page, offset uint64 }

// flashCounts is a snapshot of all counters.
type flashCounts struct {
	erased, programmed, loaded uint64 // blocks, and pages
	spare                      uint64 // included in programmed: only spare bytes
	page                       uint64 // B
	err, own                   error
	corrected, failed, bad     uint64
	eccErr                     error
	ubi                        bool // a UBI device is attached
}

// shownErases, in procfs, has the erases of every block of nandsim's chip, one number a line. Only
// the kernel of the virtual lab, which has no probes, has the file, while there is a chip.
const shownErases = "nandsim"

func newFlash(proc, sys, dev, name string) *flash {
	f := &flash{sys: sys, dev: dev, name: name, probes: probes{group: "whichfs_" + name, buf: make([]byte, 16<<10)}}
	if f.err = f.probes.mount(sys); f.err != nil {
		f.probes.root = ""
		shown := filepath.Join(proc, shownErases)
		if _, err := os.Stat(shown); err != nil {
			return f
		}
		f.shown, f.own = shown, f.err
	}
	f.prepare()
	return f
}

func (f *flash) close() {
	if f != nil {
		f.probes.close()
	}
}

func (f *flash) attribute(name string) (uint64, error) {
	var buf [32]byte
	text, err := readInto(filepath.Join(f.sys, "class/mtd", f.name, name), buf[:])
	if err != nil {
		return 0, err
	}
	n, _, ok := number(text)
	if !ok {
		return 0, fmt.Errorf("%s of %s is %q", name, f.name, strings.TrimSpace(string(text)))
	}
	return n, nil
}

func (f *flash) look() (g geometry, err error) {
	for name, v := range map[string]*uint64{"size": &g.size, "erasesize": &g.block, "writesize": &g.page, "offset": &g.offset} {
		var e error
		if *v, e = f.attribute(name); e != nil && name != "offset" { // of partitions only
			err = e
		}
	}
	if err == nil && (g.page == 0 || g.block < g.page || g.size < g.block) {
		err = fmt.Errorf("%s has %d bytes in blocks of %d and pages of %d", f.name, g.size, g.block, g.page)
	}
	return g, err
}

// prepare sets the probes, or sets them again if the chip was replaced. It is called outside of
// timed sections.
func (f *flash) prepare() {
	if f.probes.root == "" && f.shown == "" {
		return
	}
	g, err := f.look()
	if err != nil {
		f.err = err
		return
	}
	if g != f.geometry {
		f.geometry = g
		blocks := g.size / g.block
		f.erases, f.fresh, f.begun = make([]uint64, blocks), make([]uint64, blocks), make([]uint64, blocks)
		if f.shown != "" {
			f.err = nil
			return
		}
		if f.unset = f.uncountable(); f.unset == nil {
			x := extent{firstBlock: g.offset / g.block, endBlock: (g.offset + g.size) / g.block, perBlock: g.block / g.page}
			f.unset = f.probes.set(x, f.modular())
		}
		if f.unset == nil {
			f.own = f.bypassed()
		}
	}
	f.err = f.unset
}

// modular reports whether the NAND core is a module: only modules have a state.
func (f *flash) modular() bool {
	_, err := os.Stat(filepath.Join(f.sys, "module/nand/initstate"))
	return err == nil
}

// uncountable says why the functions of the NAND core do not show the operations on this MTD.
func (f *flash) uncountable() error {
	class := filepath.Join(f.sys, "class/mtd")
	kind := func(name string) string {
		text, _ := os.ReadFile(filepath.Join(class, name, "type"))
		return strings.TrimSpace(string(text))
	}
	bus := func(name string) string {
		path, err := filepath.EvalSymlinks(filepath.Join(class, name, "device/subsystem"))
		if err != nil {
			return ""
		}
		return filepath.Base(path)
	}
	if k := kind(f.name); k != "nand" && k != "mlc-nand" {
		return fmt.Errorf("%s is of type %q: only operations on NAND are counted", f.name, k)
	}
	if bus(f.name) == "spi" {
		return fmt.Errorf("%s is SPI NAND, which the kernel drives without its NAND core", f.name)
	}
	chip := func(name string) string {
		path, err := filepath.EvalSymlinks(filepath.Join(class, name, "device"))
		if err != nil {
			return "" // a simulated one has none
		}
		if rel, err := filepath.Rel(class, path); err == nil && !strings.Contains(rel, "/") {
			return "" // the chip as a whole is an MTD of its own
		}
		return path
	}
	all, err := os.ReadDir(class)
	if err != nil {
		return err
	}
	for _, e := range all {
		name := e.Name()
		if strings.HasSuffix(name, "ro") || name == f.name || kind(name) != "nand" && kind(name) != "mlc-nand" || bus(name) == "spi" {
			continue
		}
		if a, b := chip(f.name), chip(name); a != b && a != "" && b != "" {
			return fmt.Errorf("there is another NAND chip (%s), and probes of the kernel's NAND core cannot distinguish chips", name)
		}
	}
	return nil
}

// take reads all counters.
func (f *flash) take(c *flashCounts) {
	*c = flashCounts{page: f.geometry.page, err: f.err, own: f.own}
	if c.err == nil {
		c.err = f.count(c)
	}
	for name, v := range map[string]*uint64{"corrected_bits": &c.corrected, "ecc_failures": &c.failed, "bad_blocks": &c.bad} {
		var err error
		if *v, err = f.attribute(name); err != nil {
			c.eccErr = fmt.Errorf("the kernel does not report error correction: %w", err)
		}
	}
	ubi, _ := filepath.Glob(filepath.Join(f.sys, "class/ubi/ubi[0-9]*"))
	c.ubi = len(ubi) > 0
}

func (f *flash) count(c *flashCounts) error {
	p := &f.probes
	clear(f.erases)
	from := f.geometry.offset / f.geometry.block
	erases := func(block, n uint64) {
		if i := block - from; i < uint64(len(f.erases)) {
			c.erased += n
			f.erases[i] = n
		}
	}
	if f.shown != "" {
		return f.readShown(erases)
	}
	programs := func(column, n uint64) {
		c.programmed += n
		if column >= f.geometry.page {
			c.spare += n
		}
	}
	err := first(
		p.hits(&probesOf[probeErase], erases),
		p.hits(&probesOf[probeProgram], programs),
		p.hits(&probesOf[probeAtOnce], programs),
		p.hits(&probesOf[probeLoad], func(_, n uint64) { c.loaded += n }))
	return err
}

// readShown reads the erases of every block of the chip.
func (f *flash) readShown(add func(block, n uint64)) error {
	text, err := f.probes.read(f.shown)
	if err != nil {
		return err
	}
	for block := uint64(0); len(text) > 0; block++ {
		n, rest, ok := number(text)
		if !ok || len(rest) == 0 || rest[0] != '\n' {
			return fmt.Errorf("line %d of %s has no number of erases", block+1, f.shown)
		}
		add(block, n)
		text = rest[1:]
	}
	return nil
}

// bypassed reports whether the chip's driver reads pages without the NAND core's function, as some
// controllers' drivers do; then it also programs them without it. It reads two pages, because the
// core caches the last one.
func (f *flash) bypassed() error {
	fd, err := unix.Open(filepath.Join(f.dev, f.name), unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return fmt.Errorf("testing whether reads of %s are counted: %w", f.name, err)
	}
	defer unix.Close(fd) //nolint:errcheck // read only
	page := make([]byte, f.geometry.page)
	for i := range int64(2) {
		_, _ = unix.Pread(fd, page, i*int64(len(page))) // neither the data nor its correctness matters
	}
	var loaded uint64
	if err := f.probes.hits(&probesOf[probeLoad], func(_, n uint64) { loaded += n }); err != nil {
		return err
	}
	if loaded == 0 {
		return errors.New("the chip's driver bypasses the functions of the kernel's NAND core, where page reads and programs are counted")
	}
	return nil
}
