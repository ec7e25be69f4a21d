package storage

import (
	"fmt"
	"strconv"

	"whichfs/internal/plan/media"
)

// Layout returns the device and the places of its partitions, in the kernel's order; for a
// partition, only its own place. It reads only sysfs.
func Layout(path string, r Roots) (Device, []media.Place, error) {
	r = r.filled()
	d, err := r.find(path)
	if err != nil {
		return d, nil, err
	}
	places, err := r.places(d)
	return d, places, err
}

func (r Roots) places(d Device) ([]media.Place, error) {
	names := d.Partitions
	if d.Partition != 0 {
		names = []string{d.Name}
	}
	var places []media.Place
	for _, name := range names {
		part, err := r.byName(name)
		if err != nil {
			return nil, fmt.Errorf("partition %s: %w", name, err)
		}
		sectors, err := strconv.ParseInt(read(part.dir, "start"), 10, 54)
		if err != nil || sectors < 0 {
			return nil, fmt.Errorf("start of %s: %q is not a number of sectors", name, read(part.dir, "start"))
		}
		places = append(places, media.Place{Name: name, Start: sectors * 512, Size: part.Size})
	}
	return places, nil
}
