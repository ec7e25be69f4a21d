package filesystem

import (
	"fmt"
	"strings"
)

// lineWith returns the first line of a text that holds one of the marks, in
// the order of the lines, trimmed; "" if none does.
func lineWith(text string, marks ...string) string {
	for line := range strings.Lines(text) {
		for _, m := range marks {
			if strings.Contains(line, m) {
				return strings.TrimSpace(line)
			}
		}
	}
	return ""
}

// lastLine returns the last line of a text that is not empty.
func lastLine(text string) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	return strings.TrimSpace(lines[len(lines)-1])
}

// broken is the result of a tool that failed itself; its likeliest complaint,
// or else its last line, is the reason.
func broken(status int, output string) CheckResult {
	reason := fmt.Sprintf("exit status %d", status)
	l := lineWith(output, "No such file", "ermission denied", "annot open", "ailed", "rror")
	if l == "" {
		l = lastLine(output)
	}
	if l != "" {
		reason += ": " + l
	}
	return CheckResult{Broken: true, Reason: reason}
}

// dirty is the result of a filesystem with errors. The first line with one of
// the marks is the reason, or else the last line.
func dirty(status int, output string, marks ...string) CheckResult {
	reason := lineWith(output, marks...)
	if reason == "" {
		reason = lastLine(output)
	}
	if reason == "" {
		reason = fmt.Sprintf("exit status %d", status)
	}
	return CheckResult{Reason: reason}
}

// cannotOpen reports whether a tool says that it could not get at the device,
// for the tools whose exit status does not tell that from damage.
func cannotOpen(output string) bool {
	for _, m := range []string{"No such file or directory", "Permission denied", "Device or resource busy", "is currently mounted", "is mounted", "No such device", "failed to open("} {
		if strings.Contains(output, m) {
			return true
		}
	}
	return false
}
