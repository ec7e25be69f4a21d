package workload

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"

	"whichfs/internal/command"
	"whichfs/internal/result"
	"whichfs/internal/scenario"
)

// Discard empties the storage before it is made anew. It is preparation and
// belongs in no figure.
var Discard = Kind{Name: "discard", Setup: func(ctx context.Context, env *Env, _ scenario.Step) (Job, error) {
	var note string
	return Job{
		Run: func(*Tally) (err error) { note, err = env.Discard(ctx); return err },
		After: func() (Extra, error) {
			if note == "" {
				return Extra{}, nil
			}
			return Extra{Notes: []result.Note{{Level: result.Info, Text: note}}}, nil
		},
	}, nil
}}

// Mkfs makes the filesystem with its own tool. The figure is the whole
// process: start, work, and the sync that the tool does itself.
var Mkfs = Kind{Name: "mkfs", Setup: func(ctx context.Context, env *Env, _ scenario.Step) (Job, error) {
	if env.FS.Make == nil {
		return Job{}, fmt.Errorf("%s is made as an image, not by mkfs", env.FS.Name)
	}
	argv := env.FS.Make(env.Candidate, env.Device)
	env.rehearse(ctx, false)
	return Job{Run: func(*Tally) error { return runTool(ctx, argv) }}, nil
}}

// Image makes a read-only filesystem's image of a tree, from memory into
// memory: the figure is the image maker's own work.
var Image = Kind{Name: "image", Setup: func(ctx context.Context, env *Env, step scenario.Step) (Job, error) {
	if env.FS.Image == nil {
		return Job{}, fmt.Errorf("%s is not made as an image", env.FS.Name)
	}
	dir, err := env.TreeDir(step.Data)
	if err != nil {
		return Job{}, err
	}
	env.Image = filepath.Join(env.Work, "image")
	if err := os.Remove(env.Image); err != nil && !errors.Is(err, os.ErrNotExist) {
		return Job{}, err
	}
	argv := env.FS.Image(env.Candidate, env.Image, dir)
	env.warm(argv[0])
	return Job{
		Run: func(t *Tally) error {
			t.Bytes, t.Files = env.Trees[step.Data].Bytes, int64(env.Trees[step.Data].Files)
			return runTool(ctx, argv)
		},
		After: func() (Extra, error) {
			info, err := os.Stat(env.Image)
			if err != nil {
				return Extra{}, Subject("%s ended well and made no image", argv[0])
			}
			return Extra{Measurements: []result.Measurement{{Metric: result.ImageSize, Value: float64(info.Size()), Unit: "B"}}}, nil
		},
	}, nil
}}

// Flash writes the image to the storage, in pieces of 1 MiB, and syncs.
var Flash = Kind{Name: "flash", Setup: func(_ context.Context, env *Env, _ scenario.Step) (Job, error) {
	image, err := os.Open(env.Image)
	if err != nil {
		return Job{}, err
	}
	info, err := image.Stat()
	if err != nil {
		_ = image.Close()
		return Job{}, err
	}
	dev, err := os.OpenFile(env.Device, os.O_WRONLY, 0)
	if err != nil {
		_ = image.Close()
		return Job{}, err
	}
	closeBoth := func() { _, _ = image.Close(), dev.Close() }
	size, err := dev.Seek(0, io.SeekEnd)
	if err == nil && size < info.Size() {
		closeBoth()
		return Job{}, &Failure{Outcome: result.Refused,
			Reason: fmt.Sprintf("the image has %d bytes and the storage %d", info.Size(), size),
			Hint:   "give a larger --storage"}
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

// runTool runs a tool of the filesystem under test: when it refuses an option
// its own words are the message.
func runTool(ctx context.Context, argv []string) error {
	_, err := command.Run(ctx, command.Options{}, argv...)
	if err == nil {
		return nil
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if command.Missing(err) {
		return &Failure{Outcome: result.Unsupported, Reason: argv[0] + " is not installed"}
	}
	var tool *command.Error
	if errors.As(err, &tool) && tool.Status > 0 {
		return &Failure{Outcome: result.SubjectFailed, Reason: err.Error(), Hint: "the command was: " + strings.Join(argv, " ")}
	}
	return err
}
