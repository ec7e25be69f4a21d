package workload

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"unsafe"

	"golang.org/x/sys/unix"

	"whichfs/internal/plan/scenario"
	"whichfs/internal/result"
	"whichfs/internal/sys/kmsg"
)

// Attach attaches the chip to UBI, which reads a header of every block, or the fastmap that lists
// them. The figure is the request alone; the kernel reports which of the two it was.
var Attach = Kind{Name: "attach", Setup: func(_ context.Context, env *Env, _ scenario.Step) (Job, error) {
	if !env.Way.UBI() {
		return Job{Absent: noUBI}, nil
	}
	mtd, err := strconv.Atoi(strings.TrimPrefix(env.Name, "mtd"))
	if err != nil {
		return Job{}, fmt.Errorf("%s is not an MTD device", env.Name)
	}
	if err := env.dropCaches(); err != nil {
		return Job{}, err
	}
	log := kmsg.SinceNow()
	control, err := openNode(ubiControl, unix.O_RDWR)
	if err != nil {
		log.Close()
		return Job{}, fmt.Errorf("%w: UBI is not loaded", err)
	}
	request := &ubiAttachTo{number: ubiAuto, mtd: int32(mtd)}
	return Job{
		Run: func(*Tally) error {
			errno := ioctl(control, ubiAttachRequest, unsafe.Pointer(request))
			if errno == 0 {
				env.layer = layer{attached: true, ubi: int(request.number), volume: noVolume, attaches: env.layer.attaches + 1}
				return nil
			}
			_ = unix.Close(control)
			log.Close()
			return notAttached(env.Name, mtd, errno)
		},
		After: func() (Extra, error) {
			defer log.Close()
			_ = unix.Close(control)
			env.layer.volume = ubiVolumeNamed(env.layer.ubi, volumeName)
			lines := log.Lines()
			env.layer.threshold = wearThreshold(lines)
			return env.howAttached(lines), nil
		},
	}, nil
}}

func notAttached(name string, mtd int, errno unix.Errno) error {
	if errno == unix.EEXIST {
		if other, ok := ubiOf(mtd); ok {
			return result.Refuse(fmt.Sprintf("ubidetach -m %d if nothing needs it", mtd),
				"%s is attached to ubi%d already", name, other)
		}
	}
	return Subject("attaching %s to UBI: %v", name, errno)
}

// wearThreshold is the one that UBI names in its log ("ubi0: max/mean erase counter: 1/0, WL
// threshold: 4096, image sequence number: 7"); 0: it does not.
func wearThreshold(log []string) (n int64) {
	for _, line := range log {
		if _, rest, ok := strings.Cut(line, "WL threshold: "); ok {
			digits, _, _ := strings.Cut(rest, ",")
			n, _ = strconv.ParseInt(digits, 10, 64) // not a number: it does not say
		}
	}
	return n
}

// howAttached: the kernel's log says how UBI attached the chip.
func (env *Env) howAttached(log []string) Extra {
	var x Extra
	fast, scanned := false, false
	for _, line := range log {
		fast = fast || strings.Contains(line, "attached by fastmap")
		scanned = scanned || strings.Contains(line, "scanning is finished")
	}
	text := "the kernel's log does not say how UBI attached the chip"
	switch {
	case fast:
		text = "UBI attached the chip by its fastmap"
	case scanned:
		text = "UBI attached the chip by reading the headers of all blocks"
	}
	x.Notes = append(x.Notes, result.Note{Level: result.Info, Text: text})
	// The first attachment has no fastmap yet.
	if env.Way.Fastmap() && env.layer.attaches > 1 && (fast || scanned) {
		o := result.Option{Text: "@" + string(env.Way), State: result.Ignored, Evidence: text}
		if fast {
			o.State = result.InForce
		}
		x.Options = append(x.Options, o)
	}
	return x
}
