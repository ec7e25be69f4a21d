package machine

import (
	"slices"
	"strings"
)

// StaleCode reports whether a console shows that a guest died of its emulator. Linux changes its code
// behind a breakpoint, and stops at one that is there no longer. An emulator with a thread for each
// processor that translates a piece of code while another processor changes it may keep the
// breakpoint: QEMU 7.2 does, once in some hundred starts of a guest with two processors.
func StaleCode(console []string) bool {
	return slices.ContainsFunc(console, func(line string) bool { return strings.Contains(line, "int3: 0000") })
}
