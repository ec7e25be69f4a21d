package filesystem

import (
	"slices"
	"strings"
)

// Said is the classification of a driver's kernel messages.
type Said struct {
	// Replay: a journal or log was replayed, something was repaired, or the driver noticed that the
	// last use did not end cleanly: by design.
	Replay []string
	Errors []string // damage, corruption, aborted work
}

// says describes a driver's messages. Words are matched in lower case.
type says struct {
	// Tags mark its lines; every line of the driver has one.
	Tags []string
	// Replay words, matched before those of errors.
	Replay []string
	// Errors are words in addition to those of all drivers.
	Errors []string
	// Idle lines are ignored, whatever else they contain.
	Idle []string
}

// kernelFaults are the words with which the kernel reports its own faults, in their original case
// (lib/bug.c, kernel/panic.c, kernel/hung_task.c, mm/kasan, arch/*/mm/fault.c). After a fatal one
// the current operation never returns.
var kernelFaults = []kernelFault{
	{"kernel BUG at ", true}, {"BUG: unable to handle", true}, {"BUG: kernel NULL", true}, {"Oops: ", true}, {"Oops[#", true}, {"Oops [#", true}, {"Kernel panic", true},
	{"general protection fault", true}, {"Unable to handle kernel", true}, {"Internal error: ", true},
	{"BUG: ", false}, {"WARNING: ", false}, {"KASAN: ", false}, {"UBSAN: ", false}, {"blocked for more than", false},
}

type kernelFault struct {
	words string
	fatal bool
}

// KernelFault reports whether a line begins the report of a fault of the kernel itself, and whether
// the fault is fatal.
func KernelFault(line string) (fault, fatal bool) {
	for _, f := range kernelFaults {
		if strings.HasPrefix(line, f.words) {
			return true, f.fatal
		}
	}
	return false, false
}

// ioErrors are the messages of the layers below and beside a filesystem about failed requests
// (block/blk-core.c, fs/buffer.c, fs/iomap).
var ioErrors = []string{"buffer i/o error", "i/o error, dev ", "attempt to access beyond end of device", "writeback error on inode"}

// damage are words of all drivers.
var damage = []string{
	"error", "fail", "corrupt", "invalid", "bad ", "broken", "bogus", "checksum", "mismatch", "inconsisten", "read-only", "readonly",
	"abort", "can't", "cannot", "couldn't", "unable", "shut down", "data will be lost",
}

// Lines are the lines of the filesystem's driver.
func (f Filesystem) Lines(lines []string) []string {
	return slices.DeleteFunc(slices.Clone(lines), func(line string) bool { return !f.tagged(strings.ToLower(line)) })
}

// tagged reports whether a line, in lower case, is the driver's.
func (f Filesystem) tagged(low string) bool {
	return slices.ContainsFunc(f.says.Tags, func(tag string) bool { return strings.Contains(low, tag) })
}

// ReadKernel classifies kernel messages ("EXT4-fs (loop0): recovery complete") that came while a
// filesystem was mounted, used and unmounted. Other lines count only if they report failed requests
// or the kernel's own faults.
func (f Filesystem) ReadKernel(lines []string) Said {
	var said Said
	for _, line := range lines {
		low := strings.ToLower(line)
		has := func(words []string) bool {
			return slices.ContainsFunc(words, func(w string) bool { return strings.Contains(low, w) })
		}
		switch {
		case slices.ContainsFunc(kernelFaults, func(f kernelFault) bool { return strings.Contains(line, f.words) }), has(ioErrors):
			said.Errors = append(said.Errors, line)
		case !f.tagged(low), strings.Contains(low, "+0x") && !strings.Contains(low, "detected"), has(f.says.Idle):
			// Another driver's, part of a trace, or irrelevant.
		case has(f.says.Replay):
			said.Replay = append(said.Replay, line)
		case has(damage), has(f.says.Errors):
			said.Errors = append(said.Errors, line)
		}
	}
	return said
}
