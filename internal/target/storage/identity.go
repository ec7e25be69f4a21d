package storage

import (
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// identify fills in the identity of the device: transport, model, serial number.
func (d *Device) identify() {
	dev := filepath.Join(d.disk, "device")
	d.Transport = transport(d.disk, d.Disk)
	first := func(names ...string) string {
		for _, name := range names {
			if v := printable(read(d.disk, name)); v != "" {
				return v
			}
		}
		return ""
	}
	d.WWID = first("wwid", "device/wwid")
	switch d.Transport {
	case "loop", "device-mapper", "md", "bcache", "virtual":
		return
	case "mmc":
		d.Model, d.Serial, d.CID = first("device/name"), first("device/serial"), first("device/cid")
		if d.Vendor = first("device/manfid"); d.Vendor != "" {
			d.Vendor = "manufacturer " + d.Vendor
		}
		d.Firmware = first("device/fwrev")
	case "virtio":
		d.Serial = first("serial")
	case "nvme":
		d.Model, d.Serial = first("device/model"), first("device/serial")
		d.Firmware = first("device/firmware_rev")
	default:
		d.Model, d.Vendor = first("device/model"), first("device/vendor")
		d.Firmware = first("device/rev")
		d.Serial = page80(read(dev, "vpd_pg80"))
		if d.Serial == "" && d.Transport == "usb" {
			d.Serial = usbSerial(d.disk)
		}
		if d.Serial == "" {
			d.Serial = first("serial", "device/serial")
		}
	}
}

var ataPort = regexp.MustCompile(`/ata[0-9]+/`)

// transport derives how a disk is attached from its place in sysfs. USB comes first: behind a
// bridge the rest of the path looks like SCSI.
func transport(dir, name string) string {
	switch {
	case strings.Contains(dir, "/devices/virtual/"):
		for prefix, kind := range map[string]string{"loop": "loop", "dm-": "device-mapper", "md": "md", "bcache": "bcache"} {
			if strings.HasPrefix(name, prefix) {
				return kind
			}
		}
		// The NVMe driver puts its multipath heads here.
		if strings.HasPrefix(name, "nvme") {
			return "nvme"
		}
		return "virtual"
	case strings.Contains(dir, "/usb"):
		return "usb"
	case strings.Contains(dir, "/nvme/"):
		return "nvme"
	case strings.Contains(dir, "/mmc_host/"):
		return "mmc"
	case strings.Contains(dir, "/virtio") && !strings.Contains(dir, "/target"):
		return "virtio"
	case ataPort.MatchString(dir):
		return "sata"
	case strings.Contains(dir, "/target"):
		return "scsi"
	}
	return ""
}

// page80 is the unit serial number page of SCSI: a header of four bytes, then
// the number.
func page80(page string) string {
	if len(page) < 4 {
		return ""
	}
	return printable(page[4:])
}

// usbSerial walks up to the USB device, the directory that has a vendor number.
func usbSerial(dir string) string {
	for dir != "/" && dir != "." {
		if has(dir, "idVendor") {
			return printable(read(dir, "serial"))
		}
		dir = filepath.Dir(dir)
	}
	return ""
}

// printable keeps the characters that can be shown and typed.
func printable(s string) string {
	return strings.TrimSpace(strings.Map(func(r rune) rune {
		if r < ' ' || r >= 0x7f {
			return -1
		}
		return r
	}, s))
}

// IDs are the names that --destroy accepts for this very device, the recommended one first. There
// is always one. A partition's IDs never name its disk: permission to destroy a partition is not
// permission to destroy the disk.
func (d Device) IDs() []string {
	var ids []string
	serial := d.Serial
	if d.shared {
		serial = ""
	}
	if serial != "" && d.Partition != 0 {
		serial = fmt.Sprintf("%s-part%d", serial, d.Partition)
	}
	if serial != "" {
		ids = append(ids, serial)
	}
	ids = append(ids, d.ByID...)
	if len(ids) == 0 {
		// No durable name exists. Number, size and the kernel's count of appearances identify this
		// device until it is removed, and no longer.
		id := fmt.Sprintf("%s-%d", d.Number(), d.Size)
		if d.Sequence != 0 {
			id += fmt.Sprintf("-%d", d.Sequence)
		}
		ids = append(ids, id)
	}
	return ids
}

// pin separates a device's name from the fingerprint of its contents.
const pin = "@"

// nameless reports whether the names of the device are those of a reader or slot that may hold any
// medium: a removable disk (USB sticks claim to be removable too) that is not a card with a CID, or
// a device known only by its number. Such a device is named together with its contents.
func (d Device) nameless() bool {
	durable := d.Serial != "" && !d.shared || len(d.ByID) > 0 || d.Sequence != 0
	return d.Removable && d.CID == "" || !durable
}

// cutPin splits a name from the fingerprint after it.
func cutPin(id string) (name, fingerprint string, pinned bool) {
	i := strings.LastIndex(id, pin)
	if i < 0 {
		return id, "", false
	}
	return id[:i], id[i+len(pin):], true
}

// Named reports whether --destroy accepts id for this device while its contents have that
// fingerprint. Any name may be pinned to the contents; the name of a nameless device must be.
func (d Device) Named(id, fingerprint string) bool {
	name, pinned, isPinned := cutPin(id)
	if isPinned && pinned == fingerprint && fingerprint != "" && d.Is(name) {
		return true
	}
	return d.Is(id) && !d.nameless()
}

// sharesSerial reports whether another disk has the device's serial number, as with cheap USB
// sticks and the namespaces of one NVMe controller. Such a number identifies no device. The boot
// areas of an eMMC are part of it and do not count.
func (d Device) sharesSerial(disks []Device) bool {
	return d.Serial != "" && slices.ContainsFunc(disks, func(o Device) bool {
		ownBoot := strings.HasPrefix(o.Name, d.Disk+"boot") || strings.HasPrefix(o.Name, d.Disk+"rpmb")
		return o.Name != d.Disk && o.Serial == d.Serial && !ownBoot
	})
}

// Is reports whether id names this very device. Only an exact match counts.
func (d Device) Is(id string) bool {
	return id != "" && slices.Contains(d.IDs(), id)
}
