package workload

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"whichfs/internal/filesystem"
	"whichfs/internal/plan/scenario"
	"whichfs/internal/result"
	"whichfs/internal/sys/command"
	"whichfs/internal/sys/units"
)

// Discard empties the storage before a new filesystem is made. It is preparation and is part of no
// figure.
var Discard = Kind{Name: "discard", Setup: func(ctx context.Context, env *Env, _ scenario.Step) (Job, error) {
	var note string
	return Job{
		Simulates: env.Chip != nil,
		Run:       func(*Tally) (err error) { note, err = env.Discard(ctx); return err },
		After: func() (Extra, error) {
			if note == "" {
				return Extra{}, nil
			}
			return Extra{Notes: []result.Note{{Level: result.Info, Text: note}}}, nil
		},
	}, nil
}}

// Mkfs makes the filesystem with its own tool. The figure is the whole process: start, work, and
// the tool's own sync.
var Mkfs = Kind{Name: "mkfs", Setup: func(ctx context.Context, env *Env, _ scenario.Step) (Job, error) {
	if env.FS.Made != "" {
		return Job{Absent: env.FS.Made}, nil
	}
	if env.FS.Make == nil {
		return Job{}, fmt.Errorf("%s is made as an image, not by mkfs", env.FS.Name)
	}
	if _, err := env.source(); err != nil {
		return Job{}, err
	}
	size := int64(0)
	if env.Candidate.JournalInMemory() {
		var err error
		if size, err = env.storageSize(); err != nil {
			return Job{}, err
		}
	}
	argv, err := env.makeOn(ctx, env.node(), size)
	if err != nil {
		return Job{}, err
	}
	env.warm(argv[0])
	env.rehearse(ctx, false)
	return Job{Run: func(*Tally) error { return env.excused(runTool(ctx, argv)) }}, nil
}}

// excused is the failure to make or to mount the filesystem, where that is for want of something of the machine's:
// blocks that are larger than its kernel's pages, which the tool may know itself, or /etc/mtab.
func (env *Env) excused(err error) error {
	f := result.FailureOf(err)
	if f == nil || f.Outcome != result.SubjectFailed {
		return err
	}
	if strings.Contains(f.Reason, "/etc/mtab") { // mkfs.nilfs2 looks there for what is mounted
		return result.Fail(result.Unsupported, "on that machine: ln -s /proc/mounts /etc/mtab", "%s", f.Reason)
	}
	if env.FS.Block == nil {
		return err
	}
	page := int64(os.Getpagesize())
	size, larger := env.FS.Block(env.Candidate)
	if size <= page {
		return err
	}
	hint := "use blocks of at most " + units.Size(page)
	if larger != "" {
		hint += ", or " + larger
	}
	return result.Fail(result.Unsupported, hint, "blocks of %s are larger than this kernel's pages of %s: %s", units.Size(size), units.Size(page), f.Reason)
}

const smallerTree = "use --quick, or another tree (--data)"

// tooLarge refuses a tree with a file that an image of the filesystem does not hold: its tool would cut off
// the rest.
func (env *Env) tooLarge(step scenario.Step) error {
	most := env.lacks().MaxFile
	tree := env.Trees[step.Data]
	if most == 0 || tree == nil || !env.imaged() {
		return nil
	}
	for i := range tree.Entries {
		if e := &tree.Entries[i]; int64(len(e.Data)) > most {
			return result.Fail(result.Unsupported, smallerTree, "a file of %s has at most %d bytes, and %q of the tree has %d", env.FS.Name, most, bytes.TrimRight(e.Path, "\x00"), len(e.Data))
		}
	}
	return nil
}

// Image makes an image of a tree, from memory into memory: the figure is the work of the image
// makers alone. Of a filesystem that can be written, the size is what was written of the image, which
// has offlineRoom besides twice the tree.
var Image = Kind{Name: "image", Setup: func(ctx context.Context, env *Env, step scenario.Step) (Job, error) {
	byWay := env.Raw && env.Way.Image()
	var offline filesystem.Means
	if env.FS.Image == nil && !byWay {
		var lack string
		if offline, lack = env.FS.Can(filesystem.OfflineImage); lack != "" || offline.Steps == nil {
			return Job{}, fmt.Errorf("%s is not made as an image", env.FS.Name)
		}
	}
	if err := env.tooLarge(step); err != nil {
		return Job{}, err
	}
	dir, bytes, files, free, err := env.imageTree(step)
	if err != nil {
		free()
		return Job{}, err
	}
	env.Image = filepath.Join(env.Work, "image")
	if err := os.Remove(env.Image); err != nil && !errors.Is(err, os.ErrNotExist) {
		return Job{}, err
	}
	var steps [][]string
	switch {
	case byWay:
		block, err := readNumber(filepath.Join("/sys/class/mtd", env.Name, "erasesize"))
		if err != nil {
			free()
			return Job{}, err
		}
		steps = env.FS.FlashImage(env.Candidate, block, env.Image, dir)
	case offline.Steps != nil:
		size := (max(env.FS.MinSize(env.Candidate), offlineRoom) + 2*bytes + 1<<20) &^ (1<<20 - 1)
		if err := errors.Join(os.WriteFile(env.Image, nil, 0o600), os.Truncate(env.Image, size)); err != nil {
			free()
			return Job{}, err
		}
		steps = offline.Steps(filesystem.Object{Image: env.Image, Tree: dir, Size: size, Options: env.Candidate.Make()})
	default:
		steps = [][]string{env.FS.Image(env.Candidate, env.Image, dir)}
	}
	for _, argv := range steps {
		env.warm(argv[0])
	}
	return Job{
		Programs: true,
		Run: func(t *Tally) error {
			t.Bytes, t.Files = bytes, files
			for _, argv := range steps {
				if err := runTool(ctx, argv); err != nil {
					free()
					if most := env.lacks().MaxImage; most > 0 && bytes > most {
						return result.Fail(result.Unsupported, smallerTree, "an image of %s has at most %s, and a tree of %s did not fit into one (%v)",
							env.FS.Name, units.Value(float64(most), "B"), units.Value(float64(bytes), "B"), err)
					}
					return err
				}
			}
			return nil
		},
		After: func() (Extra, error) {
			free()
			// Intermediate files take memory.
			between, _ := filepath.Glob(env.Image + ".*") // the pattern is right
			for _, path := range between {
				_ = os.Remove(path)
			}
			info, err := os.Stat(env.Image)
			if err != nil {
				return Extra{}, Subject("%s succeeded and made no image", steps[len(steps)-1][0])
			}
			size := info.Size()
			if st, ok := info.Sys().(*syscall.Stat_t); ok && offline.Steps != nil {
				size = st.Blocks * 512
			}
			return Extra{Measurements: []result.Measurement{result.Figure(result.ImageSize, float64(size))}}, nil
		},
	}, nil
}}

// offlineRoom is in bytes: in an F2FS of 88 MiB sload.f2fs finds no room for a tree of 18 MB.
const offlineRoom = 128 << 20

// openImage opens the image that the trial has made.
func (env *Env) openImage() (*os.File, os.FileInfo, error) {
	image, err := os.Open(env.Image)
	if err != nil {
		return nil, nil, err
	}
	info, err := image.Stat()
	if err != nil {
		_ = image.Close()
		return nil, nil, err
	}
	return image, info, nil
}

// Flash writes the image to the storage, in pieces of 1 MiB, and syncs; to raw flash as the flash
// tools do (see flashRaw).
var Flash = Kind{Name: "flash", Setup: func(ctx context.Context, env *Env, _ scenario.Step) (Job, error) {
	if env.Raw {
		return env.flashRaw(ctx)
	}
	image, info, err := env.openImage()
	if err != nil {
		return Job{}, err
	}
	dev, err := env.Right(0)
	if err != nil {
		_ = image.Close()
		return Job{}, err
	}
	closeBoth := func() { _, _ = image.Close(), dev.Close() }
	size, err := dev.Seek(0, io.SeekEnd)
	if err == nil && size < info.Size() {
		closeBoth()
		return Job{}, result.Refuse("give a larger --storage", "the image has %d bytes and the storage %d", info.Size(), size)
	}
	buf := make([]byte, 1<<20)
	return Job{
		Run: func(t *Tally) error {
			for off := int64(0); off < info.Size(); {
				n, err := unix.Pread(int(image.Fd()), buf, off)
				if err != nil || n == 0 {
					return fmt.Errorf("reading the image: %w", err)
				}
				// The last piece is padded: a device takes whole blocks.
				whole := (n + 4095) &^ 4095
				clear(buf[n:min(whole, len(buf))])
				if int64(whole) > size-off {
					whole = n
				}
				if _, err := unix.Pwrite(int(dev.Fd()), buf[:whole], off); err != nil {
					return fmt.Errorf("writing the image to %s: %w", env.Device, err)
				}
				off += int64(n)
				t.Bytes += int64(n)
			}
			return unix.Fsync(int(dev.Fd()))
		},
		After: func() (Extra, error) { closeBoth(); return Extra{}, nil },
	}, nil
}}

// runTool runs a tool of the filesystem under test, or one that works on it: when it refuses an option,
// its own words are the message. files become its descriptors from 3 on.
func runTool(ctx context.Context, argv []string, files ...*os.File) error {
	_, err := command.Run(ctx, command.Options{Files: files}, argv...)
	return toolFailed(ctx, argv, err)
}

// toolFailed is the failure of such a tool; nil if it succeeded.
func toolFailed(ctx context.Context, argv []string, err error) error {
	if err == nil {
		return nil
	}
	if errors.As(err, new(*command.Stuck)) {
		return err
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if command.Missing(err) {
		return result.Fail(result.Unsupported, "", "%s is not installed", argv[0])
	}
	var tool *command.Error
	if errors.As(err, &tool) && tool.Status > 0 {
		return result.Fail(result.SubjectFailed, "the command was: "+strings.Join(argv, " "), "%v", err)
	}
	return err
}
