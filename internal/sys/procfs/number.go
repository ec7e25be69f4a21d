package procfs

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"

	"golang.org/x/sys/unix"
)

// Self is the number of this process in a procfs. In a process-id namespace with its host's procfs it
// is not Getpid's.
func Self(proc string) (int, error) {
	link, err := os.Readlink(filepath.Join(proc, "self"))
	if err != nil {
		return 0, err
	}
	self, err := strconv.Atoi(link)
	if err != nil {
		return 0, fmt.Errorf("%s/self: %w", proc, err)
	}
	return self, nil
}

// Number is the number in a procfs of a process that has this number here, about 10 µs. It needs Linux
// 5.3 if they differ.
func Number(proc string, pid int) (int, error) {
	self, err := Self(proc)
	if err != nil || self == os.Getpid() {
		return pid, err
	}
	fd, err := unix.PidfdOpen(pid, 0)
	if err != nil {
		return 0, err
	}
	defer unix.Close(fd) //nolint:errcheck // nothing was written
	text, err := os.ReadFile(filepath.Join(proc, "self/fdinfo", strconv.Itoa(fd)))
	if err != nil {
		return 0, err
	}
	for line := range bytes.Lines(text) {
		if value, ok := bytes.CutPrefix(line, []byte("Pid:")); ok {
			n, rest, ok := number(value)
			if ok && n > 0 && len(bytes.TrimSpace(rest)) == 0 {
				return int(n), nil
			}
		}
	}
	return 0, errors.New("this process is not in that procfs")
}
