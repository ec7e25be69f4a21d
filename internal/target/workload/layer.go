package workload

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"whichfs/internal/filesystem"
	"whichfs/internal/plan/scenario"
	"whichfs/internal/result"
)

// layer is what lies between a filesystem and raw flash, as it is set up just
// now.
type layer struct {
	attached bool // to UBI
	ubi      int  // its device there
	volume   int  // the filesystem's in it; noVolume: none yet
	block    bool // UBI shows the volume as a block device
	attaches int  // how often in this trial
}

const noVolume = -1

// place is the volume's name: "ubi0_0".
func (l layer) place() string { return fmt.Sprintf("ubi%d_%d", l.ubi, l.volume) }

// source is what mount(2) is given as the device.
func (env *Env) source() (string, error) {
	switch {
	case !env.Raw:
		return env.Device, nil
	case env.Way.UBI():
		if !env.layer.attached || env.layer.volume == noVolume {
			return "", result.Refuse("the steps layer-load, attach and volume come before mount",
				"there is no UBI volume to mount")
		}
		if env.Way.Block() {
			return "/dev/ubiblock" + strings.TrimPrefix(env.layer.place(), "ubi"), nil
		}
		return env.layer.place(), nil
	case env.Way == filesystem.WayMTDBlock:
		return "/dev/mtdblock" + strings.TrimPrefix(env.Name, "mtd"), nil
	case env.FS.Source != nil:
		return env.FS.Source(env.Name), nil
	}
	return env.Name, nil
}

// node is the device file that the filesystem's bytes can be read from.
func (env *Env) node() string {
	if !env.Raw {
		return env.Device
	}
	source, err := env.source()
	switch {
	case err == nil && strings.HasPrefix(source, "/"):
		return source
	case err == nil && env.Way.UBI():
		return "/dev/" + source
	}
	return env.Device
}

func readNumber(path string) (int64, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return 0, err
	}
	n, err := strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64)
	if err != nil {
		return 0, fmt.Errorf("%s holds %q", path, text)
	}
	return n, nil
}

// LeaveFlash takes down what lies between the filesystem and the chip: the
// block device of the volume, and the chip's place in UBI. What was attached
// before the trial is not ours and stays. It may be called at any time; a
// mounted filesystem holds its layer, and that is an error.
func (env *Env) LeaveFlash() error {
	l := &env.layer
	if l.block {
		if err := ubiBlock(l.place(), ubiRemoveBlock); err != nil {
			return fmt.Errorf("removing the block device of %s: %w", l.place(), err)
		}
		l.block = false
	}
	if !l.attached {
		return nil
	}
	if err := ubiDetach(l.ubi); err != nil {
		return fmt.Errorf("detaching %s from ubi%d: %w", env.Name, l.ubi, err)
	}
	l.attached, l.volume = false, noVolume
	return nil
}

// LayerDown takes down what lies between the filesystem and the chip (see
// LeaveFlash); when that is done it unloads the modules that came with the
// trial, so that the next load is a load again. The filesystem is unmounted
// before.
var LayerDown = Kind{Name: "layer-down", Setup: func(_ context.Context, env *Env, _ scenario.Step) (Job, error) {
	if env.Mounted {
		return Job{}, result.Refuse("the step unmount comes before layer-down",
			"the layer below a mounted filesystem cannot be taken down")
	}
	return Job{
		Run:   func(*Tally) error { return env.LeaveFlash() },
		After: func() (Extra, error) { return Extra{}, env.Modules.Unload() },
	}, nil
}}

// openNode opens a device file.
func openNode(path string, flags int) (int, error) {
	fd, err := unix.Open(path, flags|unix.O_CLOEXEC, 0)
	if err != nil {
		return -1, fmt.Errorf("open %s: %w", path, err)
	}
	return fd, nil
}
