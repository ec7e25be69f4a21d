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

// flashRaw writes the image to raw flash: as an update of the UBI volume, as
// ubiupdatevol does it; or to the chip itself, as nandwrite does it. Neither
// leaves anything to sync. nandwrite passes over bad blocks and goes on in the
// next good one, which a driver for raw flash expects, and mtdblock knows nothing
// of: what lies behind a bad block is in another place then than the filesystem
// looks for it.
func (env *Env) flashRaw(ctx context.Context) (Job, error) {
	image, info, err := env.openImage()
	if err != nil {
		return Job{}, err
	}
	if env.Way.UBI() {
		return env.updateVolume(image, info.Size())
	}
	// What the image leaves of the chip is to look as an empty filesystem does;
	// that is made before the clock starts.
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

// updateVolume replaces the contents of the volume: UBI is told how many bytes
// come, and marks the volume as whole when it has them.
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
			// A volume that is open holds the chip in UBI.
			_, cerr := image.Close(), unix.Close(volume)
			return errors.Join(err, cerr)
		},
	}, nil
}

func fillVolume(volume int, image *os.File, size int64, length *int64, buf []byte, t *Tally) error {
	if errno := ioctl(volume, ubiUpdateVolume, unsafe.Pointer(length)); errno != 0 {
		return Subject("telling UBI of an image of %d bytes: %v", size, errno)
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
