package storage

import (
	"context"
	"fmt"
	"os"
	"regexp"
	"sort"
	"strconv"
	"time"

	"whichfs/internal/plan/media"
)

// patience is how long to wait for a device or its node. It takes a second at most; an emulated
// guest on a busy machine takes many.
const patience = time.Minute

// BySerial waits for the disk with a serial number and returns its path. It is for guests, whose
// disks appear while they boot.
func BySerial(ctx context.Context, serial string) (string, error) {
	d, err := Roots{}.filled().appear(ctx, media.Storage{Kind: media.KindSerial, Path: serial}, patience)
	return d.Path, err
}

// appear waits for a guest's device by polling: a guest has no udev that could report it.
func (r Roots) appear(ctx context.Context, on media.Storage, limit time.Duration) (Device, error) {
	deadline := time.Now().Add(limit)
	for {
		d, seen, err := r.guestDevice(on)
		if err != nil {
			return Device{}, err
		}
		if d.Name != "" {
			// A disk has a node before it can be opened (device_add_disk of
			// block/genhd.c).
			f, err := os.Open(d.Path)
			if err == nil {
				_ = f.Close()
				return d, nil
			}
			seen = append(seen, err.Error())
		}
		if ctx.Err() != nil {
			return Device{}, context.Cause(ctx)
		}
		if !time.Now().Before(deadline) {
			return Device{}, fmt.Errorf("storage %s did not appear within %v; there is %q", on, limit, seen)
		}
		time.Sleep(10 * time.Millisecond)
	}
}

var mmcName = regexp.MustCompile(`^mmcblk([0-9]+)$`)

// guestDevice searches for the device once. seen lists the other devices.
func (r Roots) guestDevice(on media.Storage) (found Device, seen []string, err error) {
	names, err := r.names()
	if err != nil {
		return Device{}, nil, err
	}
	var cards []Device
	for _, name := range names {
		d, err := r.byName(name)
		if err != nil || d.Partition != 0 || d.Size == 0 {
			continue // it may appear yet
		}
		seen = append(seen, name+" "+d.Serial)
		if on.Kind == media.KindSerial && d.Serial == on.Path {
			return d, nil, nil
		}
		if mmcName.MatchString(name) {
			cards = append(cards, d)
		}
	}
	if on.Kind != media.KindMMC {
		return Device{}, seen, nil
	}
	number := func(d Device) int {
		n, _ := strconv.Atoi(mmcName.FindStringSubmatch(d.Name)[1])
		return n
	}
	sort.Slice(cards, func(i, j int) bool { return number(cards[i]) < number(cards[j]) })
	if n, err := strconv.Atoi(on.Path); err == nil && n < len(cards) {
		return cards[n], nil, nil
	}
	return Device{}, seen, nil
}
