package storage

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/moby/sys/mountinfo"
	"golang.org/x/sys/unix"
)

// ownMounts lists what is mounted in this process's namespace.
func (r Roots) ownMounts() ([]*mountinfo.Info, error) {
	b, err := os.ReadFile(filepath.Join(r.Proc, "self/mountinfo"))
	if err != nil {
		return nil, fmt.Errorf("list of mounts: %w", err)
	}
	all, err := mountinfo.GetMountsFromReader(bytes.NewReader(b), nil)
	if err != nil {
		return nil, fmt.Errorf("list of mounts: %w", err)
	}
	return all, nil
}

// mounts lists the mounts of this mount namespace and of every other one that is visible through
// some process. The exclusive open in guard.go covers the namespaces that are not.
func (r Roots) mounts() ([]*mountinfo.Info, error) {
	all, err := r.ownMounts()
	if err != nil {
		return nil, err
	}
	own, _ := os.Readlink(filepath.Join(r.Proc, "self/ns/mnt"))
	seen := map[string]bool{own: true}
	processes, err := os.ReadDir(r.Proc)
	if err != nil {
		return nil, fmt.Errorf("list of processes: %w", err)
	}
	for _, process := range processes {
		dir := filepath.Join(r.Proc, process.Name())
		id, err := os.Readlink(dir + "/ns/mnt")
		if err != nil || seen[id] {
			continue
		}
		b, err := os.ReadFile(dir + "/mountinfo")
		if err != nil {
			continue // the process ended, or belongs to another user
		}
		more, err := mountinfo.GetMountsFromReader(bytes.NewReader(b), nil)
		if err != nil {
			return nil, fmt.Errorf("list of mounts of %s: %w", id, err)
		}
		seen[id] = true
		all = append(all, more...)
	}
	return all, nil
}

// on reports whether a mount is on the device. Filesystems that span devices (btrfs) have device
// numbers of their own, so their source counts too.
func (r Roots) on(m *mountinfo.Info, d Device) bool {
	if uint32(m.Major) == d.Major && uint32(m.Minor) == d.Minor {
		return true
	}
	return m.Major == 0 && strings.HasPrefix(m.Source, "/") && r.means(m.Source, d)
}

// means reports whether a path from the kernel or its command line is the device's. A path that
// leads nowhere (deleted, or in another namespace) is compared by its last component: better to
// refuse one too many.
func (r Roots) means(path string, d Device) bool {
	if rest, ok := strings.CutPrefix(path, "/dev/"); ok {
		path = filepath.Join(r.Dev, rest)
	}
	if real, err := filepath.EvalSymlinks(path); err == nil {
		path = real
	}
	var st unix.Stat_t
	if err := unix.Stat(path, &st); err == nil && st.Mode&unix.S_IFMT == unix.S_IFBLK {
		return unix.Major(uint64(st.Rdev)) == d.Major && unix.Minor(uint64(st.Rdev)) == d.Minor
	}
	return filepath.Dir(path) == r.Dev && filepath.Base(path) == filepath.Base(d.Path)
}

// rootMounts are the mounts below the root directory: the one at /, and under an overlay those of
// its layers.
func rootMounts(all []*mountinfo.Info) map[*mountinfo.Info]bool {
	roots := map[*mountinfo.Info]bool{}
	var layers []string
	for _, m := range all {
		if m.Mountpoint != "/" {
			continue
		}
		roots[m] = true
		if m.FSType != "overlay" {
			continue
		}
		for _, option := range strings.Split(m.VFSOptions, ",") {
			key, value, _ := strings.Cut(option, "=")
			switch key {
			case "upperdir", "workdir", "lowerdir", "lowerdir+", "datadir+":
				layers = append(layers, strings.Split(value, ":")...)
			}
		}
	}
	for _, layer := range layers {
		var best *mountinfo.Info
		for _, m := range all {
			if m.Mountpoint != "/" && below(layer, m.Mountpoint) && (best == nil || len(m.Mountpoint) >= len(best.Mountpoint)) {
				best = m
			}
		}
		if best != nil {
			roots[best] = true
		}
	}
	return roots
}

func below(path, dir string) bool {
	return path == dir || strings.HasPrefix(path, strings.TrimSuffix(dir, "/")+"/")
}

// bootRoot is the root device on the kernel's command line, "" if there is none. In a container, or
// after an initial RAM disk has handed over to an overlay, no mount shows it.
func (r Roots) bootRoot() string {
	for _, word := range strings.Fields(read(r.Proc, "cmdline")) {
		value, ok := strings.CutPrefix(word, "root=")
		if !ok {
			continue
		}
		value = strings.Trim(value, `"`)
		for prefix, dir := range map[string]string{"UUID=": "by-uuid", "PARTUUID=": "by-partuuid", "LABEL=": "by-label", "PARTLABEL=": "by-partlabel"} {
			if id, ok := strings.CutPrefix(value, prefix); ok {
				return filepath.Join("/dev/disk", dir, id)
			}
		}
		if strings.HasPrefix(value, "/dev/") {
			return value
		}
	}
	return ""
}

// swaps lists the paths of swap areas; none where the kernel has no swap.
func (r Roots) swaps() ([]string, error) {
	b, err := os.ReadFile(filepath.Join(r.Proc, "swaps"))
	if os.IsNotExist(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("list of swap areas: %w", err)
	}
	return parseSwaps(string(b))
}

// parseSwaps reads /proc/swaps: a heading, then one line for each area.
func parseSwaps(text string) ([]string, error) {
	var paths []string
	for i, line := range strings.Split(strings.TrimSuffix(text, "\n"), "\n") {
		fields := strings.Fields(line)
		if i == 0 {
			if len(fields) < 2 || fields[0] != "Filename" {
				return nil, fmt.Errorf("list of swap areas: unknown heading %q", line)
			}
			continue
		}
		if len(fields) != 5 || !strings.HasPrefix(fields[0], "/") {
			return nil, fmt.Errorf("list of swap areas: unknown line %q", line)
		}
		path := unescape(fields[0])
		paths = append(paths, strings.TrimSuffix(path, " (deleted)"))
	}
	return paths, nil
}

// unescape turns the kernel's \040 back into characters.
func unescape(s string) string {
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] == '\\' && i+3 < len(s) {
			n, ok := 0, true
			for _, c := range s[i+1 : i+4] {
				if c < '0' || c > '7' {
					ok = false
				}
				n = n*8 + int(c-'0')
			}
			if ok && n < 256 {
				b.WriteByte(byte(n))
				i += 3
				continue
			}
		}
		b.WriteByte(s[i])
	}
	return b.String()
}
