package agent

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"

	"whichfs/internal/plan/media"
	"whichfs/internal/result"
	"whichfs/internal/sys/guest"
	"whichfs/internal/target/workload"
)

const (
	nandModule = "nandsim"
	nandDevice = "/dev/mtd0" // its first partition, the kernel's only MTD device
)

// simulatedChip is the raw chip in a guest's memory: the kernel's nandsim, which has one, made when
// the module is loaded and removed when it is unloaded. The modules below it (nand, mtd, bch) stay:
// they are the storage's driver, so a filesystem that also needs mtd (jffs2) finds it loaded.
type simulatedChip struct {
	modules *workload.Modules
	whole   media.NAND // as named by the storage
	chip    media.NAND // as it is now, with a variant's options
	size    int64      // of the first partition, B; 0: all of the chip
	loaded  bool
	used    bool // since it was loaded
}

// makeNAND makes the chip. Like makeRAM, it refuses on a kernel that others use.
func (a *Agent) makeNAND(spec media.Storage) error {
	if !guest.Ours() {
		return result.Refuse("use --machine lab", "a simulated raw chip exists only in the lab")
	}
	chip, err := spec.NAND()
	if err != nil {
		return result.Refuse("", "%v", err)
	}
	if len(a.modules.Order(nandModule)) == 0 {
		return result.Fail(result.Unsupported, "Debian's kernels for amd64 and armhf have it, the one for arm64 does not: leave out --arch, or use --arch armhf",
			"this kernel has no module nandsim, which simulates raw flash")
	}
	a.chip = &simulatedChip{modules: a.modules, whole: chip, chip: chip}
	return a.chip.load()
}

// as brings the chip into the form that a variant requests, as new if needed.
func (c *simulatedChip) as(size int64, options string) error {
	chip, err := c.whole.With(options)
	if err == nil {
		err = chip.Partition(size)
	}
	if err != nil {
		return result.Refuse("", "%v", err)
	}
	if size == chip.Size {
		size = 0
	}
	if c.loaded && chip.Parameters(size) == c.chip.Parameters(c.size) {
		return nil
	}
	c.chip, c.size = chip, size
	return c.renew()
}

// bytes is the size of the partition.
func (c *simulatedChip) bytes() int64 {
	if c.size > 0 {
		return c.size
	}
	return c.chip.Size
}

// empty restores the chip to the state before any write: never used, with the same faults.
func (c *simulatedChip) empty(context.Context) (string, error) {
	if c.loaded && !c.used {
		c.used = true
		return "", nil
	}
	err := c.renew()
	c.used = true
	return "", err
}

// touched records that a trial has used the chip; a nil receiver has none.
func (c *simulatedChip) touched() {
	if c != nil {
		c.used = true
	}
}

func (c *simulatedChip) renew() error {
	if err := c.unload(); err != nil {
		return err
	}
	return c.load()
}

func (c *simulatedChip) load() error {
	files := c.modules.Order(nandModule)
	last := len(files) - 1
	for _, f := range files[:last] {
		if err := workload.InsertModule(filepath.Join(c.modules.Dir, f), ""); err != nil {
			return fmt.Errorf("loading %s, which the simulated chip needs: %w", f, err)
		}
	}
	parameters := c.chip.Parameters(c.size)
	if err := insertChip(filepath.Join(c.modules.Dir, files[last]), parameters); err != nil {
		return fmt.Errorf("the simulated chip: loading %s with %s: %w", files[last], parameters, err)
	}
	c.loaded, c.used = true, false
	if _, err := os.Stat(nandDevice); err != nil {
		return fmt.Errorf("the simulated chip was made, but cannot be found: %w", err)
	}
	return nil
}

// unload removes the chip with its contents.
func (c *simulatedChip) unload() error {
	if !c.loaded {
		return nil
	}
	if err := unix.DeleteModule(nandModule, unix.O_NONBLOCK); err != nil && !errors.Is(err, unix.ENOENT) {
		return fmt.Errorf("the simulated chip cannot be removed: it is still in use%s: %w", usersOf(nandModule), err)
	}
	c.loaded = false
	return nil
}

// chipNoise reports whether a note is the message that nandsim logs at every load: the kernel reads
// more bytes of a chip's ID than there are.
func chipNoise(n result.Note) bool {
	return strings.HasPrefix(n.Text, "kernel: [nandsim] warning: read_byte: unexpected data output cycle")
}

// usersOf is " (used by NAMES)", for a module with users; "" otherwise.
func usersOf(module string) string {
	entries, err := os.ReadDir("/sys/module/" + module + "/holders")
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	if err != nil || len(names) == 0 {
		return ""
	}
	return " (used by " + strings.Join(names, ", ") + ")"
}

// chipConditions are further facts that a report must state about a simulated chip.
func (a *Agent) chipConditions() []result.Condition {
	if a.chip == nil {
		return nil
	}
	return []result.Condition{
		{Group: "storage", Name: "chip driver", Matters: true, Value: "nandsim with nand, nandcore, bch and mtd, loaded before the trials: " +
			"figures of a filesystem's modules are without them"},
		{Group: "storage", Name: "chip in a trial", Matters: true, Value: "made anew before each: never used, with the same faults"},
		{Group: "storage", Name: "flushes", Matters: true, Value: "cost what programming costs: the chip keeps nothing back"},
	}
}
