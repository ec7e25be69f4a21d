package storage

import (
	"path/filepath"
	"strconv"

	"whichfs/internal/plan/media"
)

// Fact is one statement of a device about itself.
type Fact struct {
	Name  string // the kernel's
	Value string // for people
	From  string // the source file
}

// stated are the sysfs files of a disk in which the device or its driver describes its inside. See
// the kernel's
// Documentation/ABI/stable/sysfs-block and driver-api/mmc/mmc-dev-attrs.rst.
var stated = []struct {
	file  string
	bytes bool // a number of bytes
}{
	{"queue/rotational", false},
	{"queue/logical_block_size", true},
	{"queue/physical_block_size", true},
	{"queue/minimum_io_size", true},
	{"queue/optimal_io_size", true},
	{"queue/max_sectors_kb", false},
	{"queue/discard_granularity", true},
	{"queue/discard_max_bytes", true},
	{"queue/write_cache", false},
	{"queue/fua", false},
	{"queue/nr_requests", false},
	{"device/queue_depth", false},
	{"device/erase_size", true},
	{"device/preferred_erase_size", true},
	{"device/type", false},
	{"device/name", false},
	{"device/manfid", false},
	{"device/oemid", false},
	{"device/date", false},
	{"device/fwrev", false},
	{"device/hwrev", false},
	{"device/cid", false},
	{"device/cmdq_en", false},
	{"device/life_time", false},
	{"device/pre_eol_info", false},
	{"device/vendor", false},
	{"device/model", false},
	{"device/rev", false},
	{"device/firmware_rev", false},
	{"device/serial", false},
	{"serial", false},
}

// Stated is what the device, or the kernel for it, reports about itself: shown beside what was
// measured, and never used for measuring. For a partition it is what its disk reports.
func (c *Claim) Stated() []Fact { return c.device.stated(c.o.Roots.filled()) }

func (d Device) stated(r Roots) []Fact {
	var all []Fact
	for _, s := range stated {
		v := printable(read(d.disk, s.file))
		if v == "" {
			continue
		}
		if n, err := strconv.ParseInt(v, 10, 64); err == nil && s.bytes {
			if v = "0"; n != 0 {
				v = media.FormatSize(n) + " (" + strconv.FormatInt(n, 10) + " B)"
			}
		}
		// The familiar path, not the one through the bus.
		all = append(all, Fact{filepath.Base(s.file), v, filepath.Join(r.Sys, "block", d.Disk, s.file)})
	}
	return all
}
