package explore

import (
	"regexp"
	"strings"

	"whichfs/internal/kmsg"
)

// kernelLog has what the kernel says of one device. Others' devices may be in
// use at the same time, so a line that names none of ours is nobody's, but where
// it tells of a fault of the kernel itself.
type kernelLog struct {
	log kmsg.Log
	own *regexp.Regexp
}

// ofTheKernel are beginnings of lines about faults of the kernel itself.
var ofTheKernel = []string{"BUG: ", "kernel BUG at", "Oops: ", "general protection fault", "Internal error: Oops", "Unable to handle kernel", "Kernel panic", "WARNING: CPU: "}

// followLog begins at the end of the log.
func followLog(device string) kernelLog {
	return kernelLog{kmsg.SinceNow(), regexp.MustCompile(`\b` + regexp.QuoteMeta(device) + `\b`)}
}

// lines are the new ones of the device.
func (l kernelLog) lines() []string {
	var out []string
	for _, text := range l.log.Lines() {
		if text, ours := l.take(text); ours {
			out = append(out, text)
		}
	}
	return out
}

// take returns a line if it is ours, with one name for whatever device it was
// about: which number was free just then is no part of a finding.
func (l kernelLog) take(text string) (string, bool) {
	return l.own.ReplaceAllString(text, "disk"), l.own.MatchString(text) || kernelFault(text)
}

func kernelFault(line string) bool {
	for _, begin := range ofTheKernel {
		if strings.HasPrefix(line, begin) {
			return true
		}
	}
	return false
}

// died reports whether the kernel told of an end of what was under way, after
// which nothing can return.
func died(lines []string) bool {
	for _, l := range lines {
		if kernelFault(l) && !strings.HasPrefix(l, "WARNING: ") {
			return true
		}
	}
	return false
}
