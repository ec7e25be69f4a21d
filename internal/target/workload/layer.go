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

// layer is the current state of what is between a filesystem and raw flash.
type layer struct {
	attached bool // to UBI
	ubi      int  // its device there
	volume   int  // the filesystem's in it; noVolume: none yet
	block    bool // UBI exports the volume as a block device
	attaches int  // how often in this trial
	// threshold is by how many erases the blocks must differ before UBI moves what stays; 0: it did
	// not say.
	threshold int64
}

const noVolume = -1

// place is the volume's name: "ubi0_0".
func (l layer) place() string { return fmt.Sprintf("ubi%d_%d", l.ubi, l.volume) }

// source is the device name for mount(2).
func (env *Env) source() (string, error) {
	switch {
	case !env.Raw:
		return env.Device, nil
	case env.Way.UBI():
		if !env.layer.attached || env.layer.volume == noVolume {
			return "", result.Refuse("the steps layer-load, attach and volume come before mount",
				"there is no UBI volume to mount")
		}
		if env.Way == filesystem.WayGluebi {
			n, err := mtdOf(sysMTD, volumeName)
			if err != nil {
				return "", err
			}
			return fmt.Sprintf("/dev/mtdblock%d", n), nil
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

// node is the device file that holds the filesystem's bytes.
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

// LeaveFlash tears down the layers between the filesystem and the chip: the block device of the
// volume, and the chip's attachment to UBI. What was attached before the trial is not ours and
// stays. It may be called at any time; a mounted filesystem holds its layer, and that is an error.
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

// LayerDown tears down the layers between the filesystem and the chip (see LeaveFlash), then
// unloads the modules that the trial loaded, so that the next load starts from the same state. The
// filesystem must be unmounted.
var LayerDown = Kind{Name: "layer-down", Setup: func(_ context.Context, env *Env, _ scenario.Step) (Job, error) {
	if env.Mounted {
		return Job{}, result.Refuse("the step unmount comes before layer-down",
			"the layer below a mounted filesystem cannot be torn down")
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
