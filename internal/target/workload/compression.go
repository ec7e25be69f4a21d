package workload

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unsafe"

	"golang.org/x/sys/unix"

	"whichfs/internal/filesystem"
	"whichfs/internal/plan/scenario"
	"whichfs/internal/result"
	"whichfs/internal/sys/command"
	"whichfs/internal/sys/ioc"
)

// Compression reports how much the filesystem has compressed the contents of the files in DIR:
// bytes on storage over bytes of files. For Btrfs the figure comes from its extents (the program
// compsize), for F2FS from its count of saved blocks, and for a read-only filesystem from the
// length of its image, over the contents of the tree that the step names. Elsewhere the figures are
// absent.
//
// F2FS counts for the whole filesystem: DIR must hold all of its files.
var Compression = Kind{Name: "compression", Setup: func(ctx context.Context, env *Env, step scenario.Step) (Job, error) {
	target, err := newTarget(env, step)
	if err != nil {
		return Job{}, err
	}
	dir := string(target.dir[:len(target.dir)-1])
	switch {
	case env.FS.ReadOnly:
		return imageCompression(env, step)
	case env.FS.Compressed == filesystem.CompressedExtents:
		return btrfsCompression(ctx, env, dir)
	case env.FS.Compressed == filesystem.CompressedBlocks:
		return f2fsCompression(env, dir)
	}
	return noCompression(env.FS.Title + " does not compress"), nil
}}

// compressionFigures are present together or not at all.
var compressionFigures = []string{result.CompressRatio, result.CompressDisk, result.CompressPlain, result.ExtentsRegular, result.ExtentsInline,
	result.CompressNone, result.CompressZlib, result.CompressLzo, result.CompressZstd, result.CompressRest}

func noCompression(why string) Job {
	return Job{Absent: why, AbsentMetrics: append(slices.Clone(compressionFigures), result.DataFiles)}
}

// btrfsCompression runs compsize on the directory, in bytes. Its output is kept whole, with a line
// for each compressor.
func btrfsCompression(ctx context.Context, env *Env, dir string) (Job, error) {
	argv := []string{"compsize", "-b", dir}
	if _, err := command.Look(argv[0]); err != nil {
		return noCompression(argv[0] + " is not installed (apt-get install btrfs-compsize)"), nil
	}
	env.warm(argv[0])
	var r command.Result
	var nothing string // why nothing can be counted
	return Job{
		Run: func(*Tally) error {
			var err error
			r, err = command.Run(ctx, command.Options{}, argv...)
			var tool *command.Error
			if errors.As(err, &tool) && (strings.HasPrefix(r.Stderr, "No files") || strings.HasPrefix(r.Stderr, "All empty")) {
				nothing = strings.TrimSpace(r.Stderr)
				return nil
			}
			return err
		},
		After: func() (Extra, error) {
			if nothing != "" {
				return Extra{Measurements: absentFigures(noCompression("").AbsentMetrics, "compsize: "+nothing)}, nil
			}
			c, err := parseCompsize(r.Stdout)
			if err != nil {
				return Extra{}, err
			}
			x := Extra{Artifacts: []result.Artifact{{Name: "compsize.txt", Text: r.Stdout}}}
			x.Measurements = append(append(compressed(c.disk, c.plain), c.byType()...),
				result.Figure(result.ExtentsRegular, float64(c.regular)),
				result.Figure(result.ExtentsInline, float64(c.inline)),
				result.Figure(result.DataFiles, float64(c.files)))
			return x, nil
		},
	}, nil
}

// compressed returns the figures for a number of bytes on storage and of bytes in files.
func compressed(disk, plain int64) []result.Measurement {
	ratio := result.Missing(result.CompressRatio, "there are no contents")
	if plain > 0 {
		ratio = result.Figure(result.CompressRatio, float64(disk)/float64(plain))
	}
	return []result.Measurement{
		ratio,
		result.Figure(result.CompressDisk, float64(disk)),
		result.Figure(result.CompressPlain, float64(plain)),
	}
}

// f2fsBlock is the block of f2fs, in bytes.
const f2fsBlock = 4096

func f2fsCompression(env *Env, dir string) (Job, error) {
	features, err := os.ReadFile(filepath.Join("/sys/fs/f2fs", env.Name, "features"))
	if err != nil || !strings.Contains(string(features), "compression") {
		return noCompression("this F2FS was made without compression"), nil
	}
	return Job{
		Run: func(*Tally) error { return nil },
		After: func() (Extra, error) {
			var saved int64
			files, plain, err := contents(dir, f2fsBlock, func(path string) error {
				n, err := f2fsSavedOf(path)
				saved += n * f2fsBlock
				return err
			})
			if err != nil {
				return Extra{}, Subject("%v", err)
			}
			x := Extra{Notes: []result.Note{{Level: result.Info,
				Text: "F2FS reserves the space that compression saves: other files cannot use it"}}}
			x.Measurements = append(compressed(max(0, plain-saved), plain), absentFigures(compressionFigures[3:], env.FS.Title+" does not report this")...)
			x.Measurements = append(x.Measurements, result.Figure(result.DataFiles, float64(files)))
			return x, nil
		},
	}, nil
}

// requestSaved is F2FS_IOC_GET_COMPRESS_BLOCKS of linux/f2fs.h: _IOR(0xf5, 17, __u64). compr_saved_block in
// sysfs, the count for the whole filesystem, is unsuitable: it covers what was written since the mount, including
// what has been removed.
var requestSaved = ioc.Read(0xf5, 17, 8)

// f2fsSavedOf returns how many blocks of a file compression saves.
func f2fsSavedOf(path string) (int64, error) {
	fd, err := unix.Open(path, unix.O_RDONLY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return 0, &fs.PathError{Op: "open", Path: path, Err: err}
	}
	defer unix.Close(fd) //nolint:errcheck // read only
	var blocks uint64
	_, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(fd), requestSaved, uintptr(unsafe.Pointer(&blocks)))
	switch errno {
	case 0:
		return int64(blocks), nil
	case unix.EINVAL: // a file that is not compressed
		return 0, nil
	}
	return 0, &fs.PathError{Op: "compressed blocks", Path: path, Err: errno}
}

func absentFigures(metrics []string, why string) []result.Measurement {
	var out []result.Measurement
	for _, metric := range metrics {
		out = append(out, result.Missing(metric, why))
	}
	return out
}

// contents counts the files in a directory and their bytes, in whole blocks, and calls each for
// every one. A file with several names counts once per name.
func contents(dir string, block int64, each func(path string) error) (files, bytes int64, err error) {
	err = filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil || !e.Type().IsRegular() {
			return err
		}
		info, err := e.Info()
		if err != nil {
			return err
		}
		files++
		bytes += (info.Size() + block - 1) / block * block
		return each(path)
	})
	return files, bytes, err
}

func imageCompression(env *Env, step scenario.Step) (Job, error) {
	tree, err := treeOf(env, step)
	if err != nil {
		return Job{}, err
	}
	info, err := os.Stat(env.Image)
	if err != nil {
		return Job{}, fmt.Errorf("the image of %s: %w", env.FS.Title, err)
	}
	return Job{
		Run: func(*Tally) error { return nil },
		After: func() (Extra, error) {
			x := Extra{Measurements: append(compressed(info.Size(), tree.Bytes), absentFigures(compressionFigures[3:], env.FS.Title+" does not report this")...)}
			x.Measurements = append(x.Measurements, result.Figure(result.DataFiles, float64(tree.Files)))
			return x, nil
		},
	}, nil
}
