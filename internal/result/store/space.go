package store

import (
	"os"
	"path/filepath"
	"syscall"

	"golang.org/x/sys/unix"
)

// room is the space of a file system.
type room struct {
	Mount            string // mount point
	Available, Total int64  // B; Available to this user
}

// space examines the file system of path.
func space(path string) (room, bool) {
	dir := filepath.Dir(path)
	var fs unix.Statfs_t
	if unix.Statfs(dir, &fs) != nil {
		return room{}, false
	}
	size := int64(fs.Bsize)
	return room{mountPoint(dir), int64(fs.Bavail) * size, int64(fs.Blocks) * size}, true
}

// mountPoint is the highest directory above dir on the same device.
func mountPoint(dir string) string {
	device := func(dir string) (uint64, bool) {
		info, err := os.Stat(dir)
		if err != nil {
			return 0, false
		}
		st, ok := info.Sys().(*syscall.Stat_t)
		if !ok {
			return 0, false
		}
		return uint64(st.Dev), true
	}
	if real, err := filepath.EvalSymlinks(dir); err == nil {
		dir = real
	}
	here, ok := device(dir)
	for ok && dir != filepath.Dir(dir) {
		above, known := device(filepath.Dir(dir))
		if !known || above != here {
			break
		}
		dir = filepath.Dir(dir)
	}
	return dir
}
