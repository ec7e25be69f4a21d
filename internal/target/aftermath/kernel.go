package aftermath

import (
	"regexp"
	"slices"

	"whichfs/internal/filesystem"
	"whichfs/internal/sys/kmsg"
)

// kernelLog is what the kernel says of one disk.
type kernelLog struct {
	log kmsg.Log
	own *regexp.Regexp
	// alone: no other disk is in use, so lines that name no device are about this
	// one. Otherwise they are another's, unless they tell of a fault of the kernel
	// itself.
	alone bool
}

// aboveDisk matches lines about a device above the disk: late news of how the
// data was written.
var aboveDisk = regexp.MustCompile(`\((device )?dm-\d+`)

// followLog begins at the end of the log.
func followLog(device string, alone bool) kernelLog {
	return kernelLog{log: kmsg.SinceNow(), own: regexp.MustCompile(`\b` + regexp.QuoteMeta(device) + `\b`), alone: alone}
}

// lines are the new ones of the disk.
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
	fault, _ := filesystem.KernelFault(text)
	ours := fault || l.own.MatchString(text) || l.alone && !aboveDisk.MatchString(text)
	return l.own.ReplaceAllString(text, "disk"), ours
}

// death is the first line in which the kernel gives up on what was under way.
func death(lines []string) string {
	i := slices.IndexFunc(lines, func(line string) bool { _, fatal := filesystem.KernelFault(line); return fatal })
	if i < 0 {
		return ""
	}
	return lines[i]
}
