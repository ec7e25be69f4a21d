package workload

import (
	"context"
	"fmt"
	"os"
	"unsafe"

	"golang.org/x/sys/unix"

	"whichfs/internal/plan/scenario"
)

// LayerBlock has UBI export the volume as a read-only block device. The figure is the request
// alone.
var LayerBlock = Kind{Name: "layer-block", Setup: func(_ context.Context, env *Env, _ scenario.Step) (Job, error) {
	switch {
	case env.Way.MTDBlock():
		return Job{Absent: "the block device of an MTD device comes with its module"}, nil
	case !env.Way.Block():
		return Job{Absent: env.FS.Title + " needs no block device"}, nil
	}
	source, err := env.source()
	if err != nil {
		return Job{}, err
	}
	fd, err := openNode("/dev/"+env.layer.place(), unix.O_RDONLY)
	if err != nil {
		return Job{}, err
	}
	reserved := new([128]byte) // struct ubi_blkcreate_req
	return Job{
		Run: func(*Tally) error {
			errno := ioctl(fd, ubiCreateBlock, unsafe.Pointer(reserved))
			_ = unix.Close(fd)
			if errno != 0 {
				return Subject("making a block device of %s: %v", env.layer.place(), errno)
			}
			env.layer.block = true
			return nil
		},
		After: func() (Extra, error) {
			if _, err := os.Stat(source); err != nil {
				return Extra{}, fmt.Errorf("UBI made a block device, but its node is missing: %w", err)
			}
			return Extra{}, nil
		},
	}, nil
}}
