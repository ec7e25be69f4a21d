package workload

import (
	"context"
	"fmt"
	"unsafe"

	"golang.org/x/sys/unix"

	"whichfs/internal/plan/scenario"
	"whichfs/internal/result"
)

// Volume makes one UBI volume of all free blocks. The figure is the request alone.
var Volume = Kind{Name: "volume", Setup: func(_ context.Context, env *Env, _ scenario.Step) (Job, error) {
	if !env.Way.UBI() {
		return Job{Absent: noUBI}, nil
	}
	if !env.layer.attached {
		return Job{}, result.Refuse("the step attach comes before volume", "%s is not attached to UBI", env.Name)
	}
	device := env.layer.ubi
	request := &ubiVolume{number: ubiAuto, alignment: 1, kind: ubiDynamic, nameLength: int16(len(volumeName))}
	copy(request.name[:], volumeName)
	free, err := readNumber(ubiFile(device, "avail_eraseblocks"))
	if err != nil {
		return Job{}, err
	}
	if free == 0 {
		return Job{}, ubiFull(device)
	}
	block, err := readNumber(ubiFile(device, "eraseblock_size"))
	if err != nil {
		return Job{}, err
	}
	request.bytes = free * block
	fd, err := openNode(fmt.Sprintf("/dev/ubi%d", device), unix.O_RDONLY)
	if err != nil {
		return Job{}, err
	}
	return Job{
		Run: func(*Tally) error {
			errno := ioctl(fd, ubiMakeVolume, unsafe.Pointer(request))
			_ = unix.Close(fd)
			if errno != 0 {
				return Subject("making a volume of %d blocks in ubi%d: %v", free, device, errno)
			}
			env.layer.volume = int(request.number)
			return nil
		},
	}, nil
}}

// ubiFull explains where UBI's blocks went: it reserves some for bad ones, in proportion to the
// whole chip and not to the partition.
func ubiFull(device int) error {
	all, _ := readNumber(ubiFile(device, "total_eraseblocks"))
	reserve, _ := readNumber(ubiFile(device, "reserved_for_bad"))
	return result.Fail(result.SubjectFailed, "give a larger partition: UBI's reserve follows the size of the whole chip",
		"UBI has no free block for a volume: of %d blocks it reserves %d for bad ones, and needs some for itself", all, reserve)
}
