package board

import (
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"whichfs/internal/plan/media"
	"whichfs/internal/result"
)

// described is what a board says of itself before anything is sent to it.
type described struct {
	machine string // uname -m
	little  bool   // the lowest byte of a number comes first
	as      string // how to become root: "root" (already), "sudo", "doas", "none"
	user    string
	memory  int64 // available, in bytes; 0: unknown
	places  []inMemory
	has     []string // programs
	work    string   // directory for loop files; "": none
}

// littleFirst is what a program has in its sixth byte then (ELFDATA2LSB).
const littleFirst = "\x01"

// inMemory is a mounted filesystem in memory.
type inMemory struct {
	at         string
	executable bool  // and writable
	free       int64 // B; -1: not limited
}

// describe reads what script ask printed between its marks.
func describe(lines []string) described {
	var d described
	var free int64
	for _, one := range lines {
		key, value, _ := strings.Cut(one, "=")
		switch key {
		case "machine":
			d.machine = value
		case "order":
			d.little = value == littleFirst
		case "as":
			d.as = value
		case "user":
			d.user = value
		case "has":
			d.has = append(d.has, value)
		case "work":
			d.work = value
		case "MemAvailable:":
			d.memory = kibibytes(value)
		case "MemFree:":
			free = kibibytes(value)
		case "memory":
			if m, ok := readPlace(value); ok {
				// A later mount hides an earlier one.
				d.places = slices.DeleteFunc(d.places, func(had inMemory) bool { return had.at == m.at })
				d.places = append(d.places, m)
			}
		}
	}
	if d.memory == 0 { // Linux before 3.14
		d.memory = free
	}
	return d
}

func kibibytes(text string) int64 {
	n, err := strconv.ParseInt(text, 10, 54)
	if err != nil || n < 0 {
		return 0
	}
	return n << 10
}

// plain matches directories that need no quoting anywhere.
var plain = regexp.MustCompile(`^/[A-Za-z0-9/_.-]*$`)

// system matches filesystems in memory that are not for other data.
var system = regexp.MustCompile(`^/(sys|proc)(/|$)|^/run/(user|lock|credentials|systemd)(/|$)`)

// readPlace reads a line of a mounted filesystem in memory: type, directory, options, size and free
// KiB, of which df may have printed nothing.
func readPlace(text string) (inMemory, bool) {
	words := strings.Fields(text)
	if len(words) < 3 || !plain.MatchString(words[1]) || system.MatchString(words[1]) {
		return inMemory{}, false
	}
	options := strings.Split(words[2], ",")
	m := inMemory{at: words[1], free: -1, executable: !slices.Contains(options, "noexec") && !slices.Contains(options, "ro")}
	if len(words) == 5 && kibibytes(words[3]) > 0 { // ramfs has neither size nor limit
		m.free = kibibytes(words[4])
	}
	return m, true
}

// architectures by uname -m. That of MIPS does not say in which order bytes are, and a 64-bit kernel of it runs the
// 32-bit agent.
var architectures = map[string]string{
	"x86_64": "amd64", "aarch64": "arm64", "armv7l": "arm", "armv8l": "arm", "armv6l": "armv5", "armv5tel": "armv5", "armv5tejl": "armv5", "armv5l": "armv5",
	"riscv64": "riscv64", "mips": "mips", "mips64": "mips", "ppc64": "ppc64", "ppc64le": "ppc64le",
}

// goarch is the architecture of the agent that the board needs.
func (d described) goarch() (string, error) {
	arch, ok := architectures[d.machine]
	if !ok {
		return "", result.Fail(result.Unsupported, "agents are built for amd64, arm64, arm (ARMv5 and later), riscv64, mips (32-bit, either order of bytes), ppc64 and ppc64le",
			"no agent runs on the board's processor: uname -m is %q", d.machine)
	}
	if arch == "mips" && d.little {
		arch = "mipsle"
	}
	return arch, nil
}

// asRoot is the beginning of a command line that root's rights are needed for.
func (d described) asRoot() ([]string, error) {
	switch d.as {
	case "root":
		return nil, nil
	case "sudo", "doas":
		return []string{d.as, "-n"}, nil
	}
	return nil, result.Refuse("log in as root, or let "+d.user+" use sudo or doas without a password on the board (NOPASSWD, nopass)",
		"%s has no root rights on the board: it is not root, and neither sudo -n nor doas -n works", d.user)
}

// choose returns the directory of a filesystem in memory with the most room, which must be at least
// need bytes.
func (d described) choose(need int64) (string, error) {
	const hint = "on the board, as root: mount -t tmpfs tmpfs /mnt"
	best, room := "", int64(-1)
	refused := ""
	for _, m := range d.places {
		free := m.free
		if free < 0 {
			free = d.memory
		}
		switch {
		case !m.executable:
			refused = m.at
		case free > room:
			best, room = m.at, free
		}
	}
	switch {
	case best == "" && refused != "":
		return "", result.Refuse(hint, "the board has no filesystem in memory that programs can be started from: %s is mounted noexec or read-only", refused)
	case best == "":
		return "", result.Refuse(hint, "the board has no filesystem in memory (tmpfs), and whichfs leaves nothing on its storage")
	case room < need:
		return "", result.Refuse("make it larger, as root on the board: mount -o remount,size="+media.FormatSize(2*upToMiB(need))+" "+best+"; or use less data (--quick, --data)",
			"the board's filesystem in memory has too little room: %d MiB are free in %s, and what is sent takes %d MiB", room>>20, best, upToMiB(need)>>20)
	}
	return best, nil
}

// afford checks that the board has the memory for agent and data.
func (d described) afford(agent, data int64) error {
	if d.memory > 0 && agent+data > d.memory {
		return result.Refuse("use smaller data sets (--quick, --data), or end other programs on the board",
			"the board has too little memory: %d MiB are available, and the run needs %d MiB (%d for the agent and %d for data)",
			d.memory>>20, upToMiB(agent+data)>>20, upToMiB(agent)>>20, upToMiB(data)>>20)
	}
	return nil
}

// unpacker is the command that unpacks gzip's format from its input; "none" if the board has none.
func (d described) unpacker() string {
	for _, one := range []struct{ program, command string }{{"gzip", "gzip -dc"}, {"gunzip", "gunzip -c"}, {"zcat", "zcat"}} {
		if slices.Contains(d.has, one.program) {
			return one.command
		}
	}
	return "none"
}

// digester is the command that prints a file's digest, where the agent is at the path.
func (d described) digester(agent string) string {
	if slices.Contains(d.has, "sha256sum") {
		return "sha256sum"
	}
	return agent + " digest"
}

func upToMiB(n int64) int64 { return (n + 1<<20 - 1) &^ (1<<20 - 1) }

// in is a file in a directory of the board.
func in(dir, name string) string { return path.Join(dir, name) }
