package meter

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"golang.org/x/sys/unix"
)

// The kernel keeps no counters of raw flash. Its NAND core, however, does every erase, program and
// page load through one function each, and trace events can be set on those
// (Documentation/trace/kprobetrace.rst) and counted without recording anything
// (Documentation/trace/histogram.rst; the trigger works on an event that is not enabled).
//
// A hit costs about 1,300 instructions (2.6 µs of the clock that counts them, some 8 µs of an
// emulated processor's time), the same each time. Relative to the cost of the core and a simulated
// chip with its delays, that is 3 % of a page read, 0.9 % of a page program and 0.1 % of a block
// erase, whoever requests it. Counts are read before and after a phase, never in it.

// probe is an event on a function of the NAND core (kernel 4.16 and later). The function's
// arguments: the chip, the page or block on the chip, the offset in the page.
type probe struct {
	event, function string
	fields          [2]string // names of the second and the third argument; "" for none
	key             string    // by which hits are distinguished
}

var probesOf = [...]probe{
	// A block's erase begins.
	{"erase", "nand_erase_op", [2]string{"block", ""}, "block"},
	// A program in steps: all writes of pages, including partial ones.
	{"program", "nand_prog_page_begin_op", [2]string{"page", "column"}, "column"},
	// A program at once: only spare bytes; in some drivers whole pages.
	{"program_at_once", "nand_prog_page_op", [2]string{"page", "column"}, "column"},
	// A page is loaded, whatever part of it is then read.
	{"load", "nand_read_page_op", [2]string{"page", "column"}, "column"},
}

const (
	probeErase = iota
	probeProgram
	probeAtOnce
	probeLoad
)

// probes are the events of one MTD. Their group is named after us and it: everything in that group
// is ours, from this process or from one that was killed.
type probes struct {
	root    string // of tracefs
	group   string
	mounted bool // by us
	buf     []byte
}

// extent is the place of an MTD on its chip, in blocks and pages.
type extent struct{ firstBlock, endBlock, perBlock uint64 }

// mount finds the kernel's tracefs, and mounts it if necessary.
func (p *probes) mount(sys string) error {
	for _, dir := range []string{"kernel/tracing", "kernel/debug/tracing"} {
		p.root = filepath.Join(sys, dir)
		if _, err := os.Stat(filepath.Join(p.root, "kprobe_events")); err == nil {
			return nil
		}
	}
	p.root = filepath.Join(sys, "kernel/tracing")
	if _, err := os.Stat(p.root); err != nil {
		return errors.New("this kernel has no tracing (CONFIG_FTRACE), which is needed to count operations on raw flash")
	}
	if err := unix.Mount("tracefs", p.root, "tracefs", unix.MS_NOSUID|unix.MS_NODEV|unix.MS_NOEXEC, ""); err != nil {
		return fmt.Errorf("mounting tracefs: %w", err)
	}
	p.mounted = true
	if _, err := os.Stat(filepath.Join(p.root, "kprobe_events")); err != nil {
		return errors.New("this kernel has no kprobe events (CONFIG_KPROBE_EVENTS), which are needed to count operations on raw flash")
	}
	return nil
}

// set sets the probes for a part of the chip. It removes existing ones first.
func (p *probes) set(x extent, modular bool) error {
	if err := p.remove(); err != nil {
		return err
	}
	for i := range probesOf {
		if err := p.add(&probesOf[i], x, modular); err != nil {
			return errors.Join(err, p.remove())
		}
	}
	return nil
}

func (p *probes) add(of *probe, x extent, modular bool) error {
	// A probe named with its module survives the module's absence.
	function := of.function
	if modular {
		function = "nand:" + function
	}
	err := errors.New("no supported syntax for arguments")
	for _, args := range arguments() {
		text := "p:" + p.group + "/" + of.event + " " + function
		for i, name := range of.fields {
			if name != "" {
				text += " " + name + "=" + args[i] + ":u32"
			}
		}
		if err = p.write("kprobe_events", text); err == nil {
			break
		}
	}
	if err != nil {
		return fmt.Errorf("a probe on the kernel's %s: %w", of.function, err)
	}
	first, end := x.firstBlock, x.endBlock
	if of.fields[0] == "page" {
		first, end = first*x.perBlock, end*x.perBlock
	}
	trigger := fmt.Sprintf("hist:keys=%s:size=%d if %s >= %d && %s < %d", of.key, entries(of, x), of.fields[0], first, of.fields[0], end)
	if err := p.write(filepath.Join("events", p.group, of.event, "trigger"), trigger); err != nil {
		return fmt.Errorf("counting hits of the kernel's %s (CONFIG_HIST_TRIGGERS): %w", of.function, err)
	}
	return nil
}

// entries is the number of keys that a histogram must hold: a power of two, at least 128.
func entries(of *probe, x extent) uint64 {
	n := uint64(128)
	for of.key == "block" && n < x.endBlock-x.firstBlock {
		n *= 2
	}
	return n
}

// arguments are the syntaxes for the second and third argument of a function: the kernel's own,
// then the registers.
func arguments() [][2]string {
	return append([][2]string{{"$arg2", "$arg3"}}, map[string][][2]string{
		"amd64": {{"%si", "%dx"}}, "arm": {{"%r1", "%r2"}}, "arm64": {{"%x1", "%x2"}}, "riscv64": {{"%a1", "%a2"}},
	}[runtime.GOARCH]...)
}

// write adds a line to a file of tracefs; opening one for anything but appending would remove the
// entries of others.
func (p *probes) write(file, line string) error {
	f, err := os.OpenFile(filepath.Join(p.root, file), os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		return err
	}
	_, err = f.WriteString(line + "\n")
	return errors.Join(err, f.Close())
}

// remove removes every event of our group, with its triggers.
func (p *probes) remove() error {
	events, err := os.ReadDir(filepath.Join(p.root, "events", p.group))
	if err != nil {
		return nil //nolint:nilerr // no group, no events
	}
	var errs []error
	for _, e := range events {
		if !e.IsDir() {
			continue
		}
		dir := filepath.Join("events", p.group, e.Name())
		triggers, _ := os.ReadFile(filepath.Join(p.root, dir, "trigger"))
		for line := range strings.Lines(string(triggers)) {
			line, _, _ = strings.Cut(strings.TrimSpace(line), " [")
			if line != "" && line[0] != '#' {
				errs = append(errs, p.write(filepath.Join(dir, "trigger"), "!"+line))
			}
		}
		errs = append(errs, p.write("kprobe_events", "-:"+p.group+"/"+e.Name()))
	}
	return errors.Join(errs...)
}

func (p *probes) close() {
	if p.root == "" {
		return
	}
	_ = p.remove()
	if p.mounted {
		_ = unix.Unmount(p.root, 0) // it stays if another process uses it
		p.mounted = false
	}
}
