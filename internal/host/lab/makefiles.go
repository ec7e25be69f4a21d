package lab

import (
	_ "embed"
	"fmt"
	"regexp"
	"strings"

	"whichfs/internal/result"
	"whichfs/internal/sys/command"
)

// KernelConfig is the configuration of kernels that the lab compiles, but for their machine.
//
//go:embed kernel.config
var KernelConfig string

// MakeEnvironment is that of the kernel's makefiles: what they print into the
// kernel is the same everywhere, and settings that are meant for other kernels,
// or come from a make that runs whichfs, do not reach them.
var MakeEnvironment = []string{
	"KBUILD_BUILD_TIMESTAMP=1970-01-01", "KBUILD_BUILD_USER=whichfs", "KBUILD_BUILD_HOST=lab", "KBUILD_BUILD_VERSION=1",
	"KCONFIG_CONFIG=.config", "MAKEFLAGS=", "MFLAGS=", "MAKELEVEL=", "MAKEFILES=", "KBUILD_OUTPUT=", "KBUILD_EXTMOD=",
	"KBUILD_VERBOSE=", "KCFLAGS=", "KCPPFLAGS=", "KAFLAGS=", "HOSTCFLAGS=", "HOSTLDFLAGS=", "CROSS_COMPILE=", "LLVM=",
}

// The file that a make failed to make: "make[3]: *** [scripts/Makefile.build:250: fs/ext4/super.o] Error 1".
var notMade = regexp.MustCompile(`(?m)^make.*\*\*\* \[(?:[^\[\]:]+:[0-9]+: )?([^\[\]]+)\]`)

// mostQuoted is how many lines of messages a failure quotes.
const mostQuoted = 8

// MakeFailure describes a failure of the kernel's makefiles: which file, what the
// compiler says first, and what to do next. what they make: "the kernel".
func MakeFailure(err error, messages, what, hint string) *result.Failure {
	f := result.Fail(result.LabFailed, hint, "%s cannot be built: %v", what, err)
	var last []string
	for line := range strings.Lines(messages) {
		line = strings.TrimRight(line, " \n")
		if strings.Contains(line, "rror:") || strings.Contains(line, "*** ") || strings.Contains(line, "undefined reference") {
			f.Console = append(f.Console, line)
		}
		last = append(last, line)
	}
	if len(f.Console) == 0 {
		f.Console = last[max(0, len(last)-mostQuoted):]
	}
	f.Console = f.Console[:min(len(f.Console), mostQuoted)]
	if m := notMade.FindStringSubmatch(messages); m != nil {
		f.Reason = fmt.Sprintf("%s cannot be built: %s failed: %s", what, m[1], f.Console[0])
	}
	return f
}

// CompilerCache are arguments of make that use ccache, if there is one.
func CompilerCache() []string {
	if _, err := command.Look("ccache"); err != nil {
		return nil
	}
	return []string{"CC=ccache gcc", "HOSTCC=ccache gcc"}
}

// Vanished lists the lines of the wanted configuration that are not in force.
// An option that the configuration does not mention is not set.
func Vanished(wanted, got string) (lines []string) {
	have := map[string]bool{}
	for line := range strings.Lines(got) {
		have[strings.TrimSpace(line)] = true
		name, _, _ := strings.Cut(line, "=")
		have[name] = true
	}
	for line := range strings.Lines(wanted) {
		line = strings.TrimSpace(line)
		if name, unset := strings.CutSuffix(line, " is not set"); unset {
			if have[strings.TrimPrefix(name, "# ")] {
				lines = append(lines, line)
			}
		} else if strings.HasPrefix(line, "CONFIG_") && !have[line] {
			lines = append(lines, line)
		}
	}
	return lines
}

// CompilerOf is the compiler that a configuration names.
func CompilerOf(config string) string {
	for line := range strings.Lines(config) {
		if text, ok := strings.CutPrefix(line, "CONFIG_CC_VERSION_TEXT="); ok {
			return strings.Trim(strings.TrimSpace(text), `"`)
		}
	}
	return ""
}
