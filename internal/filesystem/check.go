package filesystem

import (
	"fmt"
	"strings"
)

// lineWith returns the first line of a text that contains one of the marks, in the order of the
// lines, trimmed; "" if none does.
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

// broken is the result of a tool that itself failed; the reason is its likeliest error message, or
// else its last line.
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

// dirty is the result of a filesystem with errors. The reason is the first line with one of the
// marks, or else the last line.
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

// cannotOpen reports whether a tool says that it could not open the device, for tools whose exit
// status does not distinguish that from damage.
func cannotOpen(output string) bool {
	for _, m := range []string{"No such file or directory", "Permission denied", "Device or resource busy", "is currently mounted", "is mounted", "No such device", "failed to open("} {
		if strings.Contains(output, m) {
			return true
		}
	}
	return false
}

// repairs is a Repair of argument vectors to which the device is appended.
func repairs(vectors ...[]string) func(string) [][]string {
	return func(device string) [][]string {
		out := make([][]string, len(vectors))
		for i, v := range vectors {
			out[i] = append(append([]string{}, v...), device)
		}
		return out
	}
}

// mended is the result of a tool that repaired; the first line with one of the marks describes the
// repair.
func mended(status int, output string, marks ...string) RepairResult {
	return RepairResult{WasMended, dirty(status, output, marks...).Reason}
}

// notMended is the result of a tool that could not repair.
func notMended(status int, output string, marks ...string) RepairResult {
	return RepairResult{NotMended, dirty(status, output, marks...).Reason}
}

// mendBroken is the result of a tool that itself failed.
func mendBroken(status int, output string) RepairResult {
	return RepairResult{MendBroken, broken(status, output).Reason}
}

func nothingToMend() RepairResult { return RepairResult{Mended: NothingToMend} }
