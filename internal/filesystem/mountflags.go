package filesystem

import (
	"slices"
	"strings"

	"golang.org/x/sys/unix"
)

// mountFlags are the words that the kernel takes as flags of mount(2) and not as text for the
// filesystem, with what each sets and clears; see mount(8), "filesystem-independent mount options".
var mountFlags = map[string]struct{ set, clear uintptr }{
	"ro":            {set: unix.MS_RDONLY},
	"rw":            {clear: unix.MS_RDONLY},
	"nosuid":        {set: unix.MS_NOSUID},
	"suid":          {clear: unix.MS_NOSUID},
	"nodev":         {set: unix.MS_NODEV},
	"dev":           {clear: unix.MS_NODEV},
	"noexec":        {set: unix.MS_NOEXEC},
	"exec":          {clear: unix.MS_NOEXEC},
	"sync":          {set: unix.MS_SYNCHRONOUS},
	"async":         {clear: unix.MS_SYNCHRONOUS},
	"dirsync":       {set: unix.MS_DIRSYNC},
	"mand":          {set: unix.MS_MANDLOCK},
	"nomand":        {clear: unix.MS_MANDLOCK},
	"noatime":       {set: unix.MS_NOATIME, clear: unix.MS_STRICTATIME | unix.MS_RELATIME},
	"atime":         {clear: unix.MS_NOATIME},
	"nodiratime":    {set: unix.MS_NODIRATIME},
	"diratime":      {clear: unix.MS_NODIRATIME},
	"relatime":      {set: unix.MS_RELATIME, clear: unix.MS_NOATIME | unix.MS_STRICTATIME},
	"norelatime":    {clear: unix.MS_RELATIME},
	"strictatime":   {set: unix.MS_STRICTATIME, clear: unix.MS_NOATIME | unix.MS_RELATIME},
	"nostrictatime": {clear: unix.MS_STRICTATIME},
	"lazytime":      {set: unix.MS_LAZYTIME},
	"nolazytime":    {clear: unix.MS_LAZYTIME},
	"iversion":      {set: unix.MS_I_VERSION},
	"noiversion":    {clear: unix.MS_I_VERSION},
	"silent":        {set: unix.MS_SILENT},
	"loud":          {clear: unix.MS_SILENT},
	"nosymfollow":   {set: noSymFollow},
	"symfollow":     {clear: noSymFollow},
}

const noSymFollow = 256 // MS_NOSYMFOLLOW, Linux 5.10

// userSpace are the words that mount(8) handles itself: they belong in /etc/fstab and the kernel
// never sees them.
func userSpace(word string) bool {
	switch word {
	case "defaults", "auto", "noauto", "user", "nouser", "users", "nousers", "owner", "noowner", "group", "nogroup", "nofail", "_netdev":
		return true
	}
	return strings.HasPrefix(word, "x-") || strings.HasPrefix(word, "X-") || strings.HasPrefix(word, "comment=")
}

// MountFlags splits mount options into the flags and the text of mount(2).
// Later words win over earlier ones, as with mount(8).
func MountFlags(options []string) (flags uintptr, data string) {
	var rest []string
	for _, o := range options {
		if f, ok := mountFlags[o]; ok {
			flags = flags&^f.clear | f.set
		} else if !userSpace(o) {
			rest = append(rest, o)
		}
	}
	return flags, strings.Join(rest, ",")
}

// MountData returns the options that a candidate is mounted with, one word each: the filesystem's
// own, the candidate's except those of a program beside it, and "ro" if only that is possible.
func MountData(c Candidate) []string {
	fs := c.Filesystem()
	options := append(append([]string(nil), fs.MountOptions...), slices.DeleteFunc(c.Mount(), fs.Daemon.takes)...)
	if fs.ReadOnly {
		options = append(options, "ro")
	}
	return options
}
