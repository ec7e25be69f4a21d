package speed

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Where says what was measured, and when.
type Where struct {
	Machine, Kernel, Agent string // the agent's version
	At                     time.Time
}

// Text is the profile as a file, with comments about where it comes from and how much its figures vary.
func (m Measured) Text(w Where) string {
	var b strings.Builder
	comment := func(format string, args ...any) {
		text := fmt.Sprintf(format, args...)
		fmt.Fprintf(&b, "# %s\n", strings.Join(strings.Fields(text), " ")) // on one line
	}
	comment("Measured by whichfs-agent %s on %s, in %d rounds.", w.Agent, w.At.UTC().Format(time.DateOnly), m.Rounds)
	for _, line := range [][2]string{{"machine", w.Machine}, {"processor", m.Profile.Title}, {"kernel", w.Kernel}} {
		if line[1] != "" {
			comment("%s: %s", line[0], line[1])
		}
	}
	comment("Quartiles:")
	for _, f := range m.Figures {
		unit, per := "MIPS", 1e6
		switch f.Key {
		case copying, "crc32", "crc32c":
			unit = "MB/s"
		case call, fault, change:
			unit, per = "instructions", 1
		}
		number := func(v float64) string { return strconv.FormatFloat(rounded(v/per), 'f', -1, 64) }
		comment("%s: %s to %s %s, %.1f %% apart", f.Key, number(f.Lower), number(f.Upper), unit, 100*f.apart())
	}
	if warning := m.Warning(); warning != "" {
		comment("Warning: %s.", warning)
	}
	return b.String() + m.Profile.Encode()
}
