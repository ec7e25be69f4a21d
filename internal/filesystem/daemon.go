package filesystem

import (
	"slices"
	"strings"

	"whichfs/internal/result"
)

// Daemon is a program that works beside a mounted filesystem and that users have to start. It puts
// itself into the background, and the filesystem cannot be unmounted before it has ended.
type Daemon struct {
	Tool Tool
	// Option is the mount option that starts it, "NAME=on"; "NAME=off" says that it is not. Neither
	// reaches the kernel, nor do Keys, which are settings of its configuration file.
	Option string
	Keys   []string
	// Config is the configuration file of its package, which settings are added to.
	Config string
	// Args follow its name; config is the path of the file that whichfs writes.
	Args func(config, device, mount string) []string
	// Prints is what precedes the number of the process that stays, on its standard output.
	Prints string
	// Opens is how the name of a file begins that the process has open once it is ready.
	Opens string
	// Queues: it needs the kernel's POSIX message queues.
	Queues bool
}

// Daemon is the program that works beside the candidate's filesystem; ok: its options ask for it.
func (c Candidate) Daemon() (d *Daemon, ok bool) {
	d = c.Filesystem().Daemon
	if d == nil {
		return nil, false
	}
	on := "off"
	for _, w := range c.Mount() {
		if name, value, _ := strings.Cut(w, "="); name == d.Option {
			on = value
		}
	}
	return d, on == "on"
}

// Settings are the lines of its configuration file that the candidate's options stand for.
func (d *Daemon) Settings(c Candidate) string {
	var text strings.Builder
	for _, w := range c.Mount() {
		if key, value, _ := strings.Cut(w, "="); slices.Contains(d.Keys, key) {
			text.WriteString(key + " " + value + "\n")
		}
	}
	return text.String()
}

// takes reports whether a mount option is for the program and not for the kernel.
func (d *Daemon) takes(word string) bool {
	if d == nil {
		return false
	}
	name, _, _ := strings.Cut(word, "=")
	return name == d.Option || slices.Contains(d.Keys, name)
}

// judge is the finding about such an option.
func (d *Daemon) judge(word string, seen Evidence) finding {
	name, value, _ := strings.Cut(word, "=")
	switch {
	case name == d.Option && value != "on" && value != "off":
		return found(result.Ignored, "it is on or off")
	case name == d.Option && (value == "on") == seen.Daemon:
		return found(result.InForce, "%s", d.state(seen))
	case name == d.Option:
		return found(result.Altered, "%s", d.state(seen))
	case !seen.Daemon:
		return found(result.Ignored, "%s, which %s=on starts", d.state(seen), d.Option)
	}
	return found(result.Unverified, "it is in the configuration file of %s, which does not show its settings", d.Tool.Program)
}

func (d *Daemon) state(seen Evidence) string {
	if seen.Daemon {
		return d.Tool.Program + " runs beside it"
	}
	return d.Tool.Program + " does not run"
}
