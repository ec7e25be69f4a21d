package workload

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"unsafe"

	"golang.org/x/sys/unix"

	"whichfs/internal/result"
	"whichfs/internal/sys/ioc"
)

// UBI as its control devices and sysfs show it. Requests and structures are those of
// include/uapi/mtd/ubi-user.h, which have no implicit padding.

const (
	sysUBI     = "/sys/class/ubi"
	sysMTD     = "/sys/class/mtd"
	ubiControl = "/dev/ubi_ctrl"

	ubiAuto    = -1 // UBI takes the first number that is free
	ubiDynamic = 3  // a volume that is written to
	volumeName = "whichfs"
)

// Requests of mtd/ubi-user.h.
var (
	ubiAttachRequest = ioc.Write('o', 64, unsafe.Sizeof(ubiAttachTo{}))
	ubiDetachRequest = ioc.Write('o', 65, 4)
	ubiMakeVolume    = ioc.Write('o', 0, unsafe.Sizeof(ubiVolume{}))
	ubiUpdateVolume  = ioc.Write('O', 0, 8)
	ubiCreateBlock   = ioc.Write('O', 7, 128)
	ubiRemoveBlock   = ioc.None('O', 8)
)

// ubiAttachTo is struct ubi_attach_req. The kernel stores the number of the new device in number.
type ubiAttachTo struct {
	number, mtd  int32
	headerOffset int32
	maxBad       int16
	_            [10]byte
}

// ubiVolume is struct ubi_mkvol_req. The kernel stores the number of the new volume in number.
type ubiVolume struct {
	number, alignment int32
	bytes             int64
	kind              int8
	flags             uint8
	nameLength        int16
	_                 [4]byte
	name              [128]byte
}

func ioctl(fd int, request uintptr, arg unsafe.Pointer) unix.Errno {
	_, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(fd), request, uintptr(arg))
	return errno
}

func ubiFile(device int, name string) string {
	return filepath.Join(sysUBI, "ubi"+strconv.Itoa(device), name)
}

// ubiOf returns the UBI device that an MTD device is attached to.
func ubiOf(mtd int) (device int, ok bool) {
	files, _ := filepath.Glob(sysUBI + "/ubi*/mtd_num") // the pattern is right
	for _, f := range files {
		if n, err := readNumber(f); err == nil && n == int64(mtd) {
			device, err = strconv.Atoi(strings.TrimPrefix(filepath.Base(filepath.Dir(f)), "ubi"))
			return device, err == nil
		}
	}
	return 0, false
}

// mtdOf returns the number of the MTD device that gluebi makes of the volume of that name, below
// sysfs's class of MTD devices. Which UBI device the volume is of, it does not say.
func mtdOf(class, volume string) (number int, err error) {
	read := func(dir, file string) string {
		text, _ := os.ReadFile(filepath.Join(dir, file))
		return strings.TrimSpace(string(text))
	}
	dirs, _ := filepath.Glob(filepath.Join(class, "mtd*[0-9]"))
	var found []int
	for _, dir := range dirs {
		n, err := strconv.Atoi(strings.TrimPrefix(filepath.Base(dir), "mtd"))
		if err == nil && read(dir, "type") == "ubi" && read(dir, "name") == volume {
			found = append(found, n)
		}
	}
	switch len(found) {
	case 1:
		return found[0], nil
	case 0:
		return 0, noGluebi()
	}
	return 0, result.Refuse("detach the other UBI devices", "%d UBI volumes are named %s, and one of them is meant", len(found), volume)
}

// ubiVolumeNamed returns the number of a device's volume; noVolume: none has this name.
func ubiVolumeNamed(device int, name string) int {
	prefix := fmt.Sprintf("ubi%d_", device)
	dirs, _ := filepath.Glob(filepath.Join(sysUBI, prefix+"*"))
	for _, dir := range dirs {
		text, err := os.ReadFile(filepath.Join(dir, "name"))
		if err != nil || strings.TrimSpace(string(text)) != name {
			continue
		}
		if n, err := strconv.Atoi(strings.TrimPrefix(filepath.Base(dir), prefix)); err == nil {
			return n
		}
	}
	return noVolume
}

// ubiErases says how often UBI has erased its most worn block, by its own counters: since the chip
// was formatted, and a second source beside the chip's.
func (env *Env) ubiErases() (x Extra, err error) {
	if !env.layer.attached {
		return x, nil
	}
	most, err := readNumber(ubiFile(env.layer.ubi, "max_ec"))
	if err == nil {
		x.Notes = []result.Note{{Level: result.Info, Text: fmt.Sprintf("by UBI's own counters, its most worn block was erased %d times since the chip was formatted", most)}}
	}
	return x, err
}

func ubiDetach(device int) error {
	fd, err := openNode(ubiControl, unix.O_RDWR)
	if err != nil {
		return err
	}
	defer unix.Close(fd) //nolint:errcheck // a control device
	number := int32(device)
	if errno := ioctl(fd, ubiDetachRequest, unsafe.Pointer(&number)); errno != 0 {
		return errno
	}
	return nil
}

// ubiBlock makes or removes the block device of a volume ("ubi0_0").
func ubiBlock(place string, request uintptr) error {
	fd, err := openNode("/dev/"+place, unix.O_RDONLY)
	if err != nil {
		return err
	}
	defer unix.Close(fd) //nolint:errcheck // a control device
	var reserved [128]byte
	if errno := ioctl(fd, request, unsafe.Pointer(&reserved)); errno != 0 {
		return errno
	}
	return nil
}
