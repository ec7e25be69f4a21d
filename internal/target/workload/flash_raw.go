package workload

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"unsafe"

	"golang.org/x/sys/unix"

	"whichfs/internal/result"
	"whichfs/internal/target/mtd"
)

// flashRaw writes the image to raw flash: as an update of the UBI volume, as ubiupdatevol does, or
// to the chip itself, as nandwrite does. Neither leaves anything to sync. nandwrite skips bad
// blocks and continues in the next good one. A driver for raw flash expects that, but mtdblock does
// not know it: after a bad block, everything is at another place than where the filesystem searches
// for it.
func (env *Env) flashRaw(ctx context.Context) (Job, error) {
	image, info, err := env.openImage()
	if err != nil {
		return Job{}, err
	}
	if env.Way.UBI() {
		return env.updateVolume(image, info.Size())
	}
	// The part of the chip beyond the image must look like an empty filesystem; it is prepared
	// before the clock starts.
	if env.FS.Make != nil {
		if err := runTool(ctx, env.FS.Make(env.Candidate, env.Device)); err != nil {
			_ = image.Close()
			return Job{}, err
		}
	}
	right, err := env.Right(0)
	if err != nil {
		_ = image.Close()
		return Job{}, err
	}
	dev := right.Flash()
	if info.Size() > dev.Size {
		_, _ = image.Close(), dev.Close()
		return Job{}, imageTooLarge(info.Size(), dev.Size)
	}
	return Job{
		Run: func(t *Tally) (err error) {
			t.Bytes, err = mtd.WriteImage(ctx, dev, image, 0xff)
			_, cerr := image.Close(), dev.Close()
			if errors.Is(err, mtd.ErrTooSmall) {
				return result.Refuse("give a larger --storage", "%v", err)
			}
			return errors.Join(err, cerr)
		},
	}, nil
}

// updateVolume replaces the contents of the volume: UBI learns the number of bytes beforehand, and
// marks the volume as whole after the last one.
func (env *Env) updateVolume(image *os.File, size int64) (Job, error) {
	if _, err := env.source(); err != nil {
		_ = image.Close()
		return Job{}, err
	}
	room, err := readNumber(filepath.Join(sysUBI, env.layer.place(), "data_bytes"))
	if err == nil && room < size {
		err = imageTooLarge(size, room)
	}
	volume := -1
	if err == nil {
		volume, err = openNode("/dev/"+env.layer.place(), unix.O_RDWR)
	}
	if err != nil {
		_ = image.Close()
		return Job{}, err
	}
	buf := make([]byte, 1<<20)
	length := new(int64)
	*length = size
	return Job{
		Run: func(t *Tally) error {
			err := fillVolume(volume, image, size, length, buf, t)
			// An open volume keeps the chip attached to UBI.
			_, cerr := image.Close(), unix.Close(volume)
			return errors.Join(err, cerr)
		},
	}, nil
}

func fillVolume(volume int, image *os.File, size int64, length *int64, buf []byte, t *Tally) error {
	if errno := ioctl(volume, ubiUpdateVolume, unsafe.Pointer(length)); errno != 0 {
		return Subject("announcing an image of %d bytes to UBI: %v", size, errno)
	}
	for t.Bytes < size {
		n, err := unix.Read(int(image.Fd()), buf)
		if err != nil || n == 0 {
			return fmt.Errorf("reading the image: %w", err)
		}
		for done := 0; done < n; {
			m, err := unix.Write(volume, buf[done:n])
			if err != nil {
				return Subject("writing the image to the volume: %v", err)
			}
			done += m
		}
		t.Bytes += int64(n)
	}
	return nil
}

func imageTooLarge(image, room int64) error {
	return result.Refuse("give a larger --storage", "the image has %d bytes and the storage %d", image, room)
}
