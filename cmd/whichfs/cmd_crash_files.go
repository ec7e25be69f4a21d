package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"whichfs/internal/fault"
	lost "whichfs/internal/fault/finding"
	"whichfs/internal/fault/writelog"
	"whichfs/internal/result"
	"whichfs/internal/sys/units"
)

// findingOrLog reads a file that may be either. On a *writelog.Damage the log holds the entries
// before the damage.
func findingOrLog(path string) (*lost.Finding, writelog.Log, error) {
	file, size, err := openRegular(path)
	if err != nil {
		return nil, writelog.Log{}, err
	}
	defer file.Close() //nolint:errcheck // read only
	head := make([]byte, 1)
	if _, err := file.ReadAt(head, 0); err != nil && !errors.Is(err, io.EOF) {
		return nil, writelog.Log{}, err
	}
	if head[0] == '{' {
		f, err := lost.Decode(file)
		if err != nil {
			return nil, writelog.Log{}, result.Refuse("", "%s: %v", path, err)
		}
		return &f, writelog.Log{}, nil
	}
	l, err := writelog.Read(file, size)
	var damage *writelog.Damage
	if err != nil && (!errors.As(err, &damage) || len(l.Entries) == 0) {
		return nil, l, result.Refuse("whichfs crash explore writes findings, whichfs crash record writes logs", "%s: neither a finding nor a log in the format of dm-log-writes: %v", path, err)
	}
	return nil, l, err
}

// readFinding reads a file that must be a finding.
func readFinding(path string) (lost.Finding, error) {
	file, _, err := openRegular(path)
	if err != nil {
		return lost.Finding{}, err
	}
	defer file.Close() //nolint:errcheck // read only
	f, err := lost.Decode(file)
	if err != nil {
		return f, result.Refuse("whichfs crash explore writes such files", "%s: %v", path, err)
	}
	return f, nil
}

// openRegular opens a regular file for reading and returns its size.
func openRegular(path string) (*os.File, int64, error) {
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, 0, result.Refuse("", "%s: no such file", path)
	case err != nil:
		return nil, 0, result.Refuse("", "%v", err)
	case !info.Mode().IsRegular():
		return nil, 0, result.Refuse("name a file", "%s is not a regular file", path)
	}
	file, err := os.Open(path)
	if err != nil {
		return nil, 0, result.Refuse("", "%v", err)
	}
	return file, info.Size(), nil
}

// mostDisk is the largest base image accepted: the disk that states are made from is held in
// memory.
const mostDisk = 4 << 30

// readBase reads a raw image of a disk as it was before a log.
func readBase(path string) (fault.Image, error) {
	file, size, err := openRegular(path)
	if err != nil {
		return fault.Image{}, err
	}
	defer file.Close() //nolint:errcheck // read only
	if size > mostDisk || size == 0 || size%fault.BlockSize != 0 {
		return fault.Image{}, result.Refuse("", "--base %s: %d bytes; the size must be a multiple of %d, at most %s", path, size, fault.BlockSize, units.Size(mostDisk))
	}
	image, err := fault.ReadImage(file, size)
	if err != nil {
		return image, fmt.Errorf("--base %s: %w", path, err)
	}
	return image, nil
}

// writeBase writes an image as a raw file, sparse where it is zero.
func writeBase(file *os.File, image fault.Image) error {
	if err := file.Truncate(image.Size); err != nil {
		return err
	}
	for n, block := range image.Blocks {
		if _, err := file.WriteAt(block, n*fault.BlockSize); err != nil {
			return err
		}
	}
	return nil
}
