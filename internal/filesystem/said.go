package filesystem

import (
	"slices"
	"strings"
)

// Said is what a driver's kernel messages amount to.
type Said struct {
	// Replay: a journal or log was replayed, something was mended, or the driver
	// saw that the last use had no end: by design.
	Replay []string
	Errors []string // damage, corruption, aborted work
}

// says is how a driver speaks. Words are looked for in lower case.
type says struct {
	// Tags are in its lines; it has no line without one of them.
	Tags []string
	// Replay words, looked for before those of errors.
	Replay []string
	// Errors are words besides those that all drivers use.
	Errors []string
	// Idle lines are no news, whatever else is in them.
	Idle []string
}

// kernelFaults are the words with which the kernel reports its own faults, as
// they are written (lib/bug.c, kernel/panic.c, kernel/hung_task.c, mm/kasan,
// arch/*/mm/fault.c). After a fatal one what was under way never returns.
var kernelFaults = []kernelFault{
	{"kernel BUG at ", true}, {"BUG: unable to handle", true}, {"BUG: kernel NULL", true}, {"Oops: ", true}, {"Oops[#", true}, {"Oops [#", true}, {"Kernel panic", true},
	{"general protection fault", true}, {"Unable to handle kernel", true}, {"Internal error: ", true},
	{"BUG: ", false}, {"WARNING: ", false}, {"KASAN: ", false}, {"UBSAN: ", false}, {"blocked for more than", false},
}

type kernelFault struct {
	words string
	fatal bool
}

// KernelFault reports whether a line begins the report of a fault of the kernel
// itself, and whether that is fatal.
func KernelFault(line string) (fault, fatal bool) {
	for _, f := range kernelFaults {
		if strings.HasPrefix(line, f.words) {
			return true, f.fatal
		}
	}
	return false, false
}

// ioErrors are what the layers below and beside a filesystem tell of requests
// that failed (block/blk-core.c, fs/buffer.c, fs/iomap).
var ioErrors = []string{"buffer i/o error", "i/o error, dev ", "attempt to access beyond end of device", "writeback error on inode"}

// damage are words of all drivers.
var damage = []string{
	"error", "fail", "corrupt", "invalid", "bad ", "broken", "bogus", "checksum", "mismatch", "inconsisten", "read-only", "readonly",
	"abort", "can't", "cannot", "couldn't", "unable", "shut down", "data will be lost",
}

// ReadKernel classifies kernel messages ("EXT4-fs (loop0): recovery complete")
// that came while a filesystem was mounted, used and unmounted. Lines of others
// count only where they tell of failed requests or of the kernel's own faults.
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
		case !has(f.says.Tags), strings.Contains(low, "+0x") && !strings.Contains(low, "detected"), has(f.says.Idle):
			// Another's, part of a trace, or no news.
		case has(f.says.Replay):
			said.Replay = append(said.Replay, line)
		case has(damage), has(f.says.Errors):
			said.Errors = append(said.Errors, line)
		}
	}
	return said
}
