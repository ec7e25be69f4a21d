package storage

import (
	"fmt"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"

	"whichfs/internal/plan/media"
	"whichfs/internal/result"
)

const notReported = "unknown: not reported by this kernel"

// Rotation says "solid state", "rotating" or "unknown: " with the reason.
func (d Device) Rotation() string {
	flag := read(d.disk, "queue/rotational")
	switch {
	case flag != "0" && flag != "1":
		return notReported
	case d.Transport == "virtio":
		return "unknown: the flag of a virtio disk says nothing about the storage behind it"
	case d.Transport == "loop":
		return "unknown: a loop device rotates if the storage of its file does"
	case d.Transport == "usb" && flag == "1":
		return "unknown: USB bridges report rotating for solid state too"
	case flag == "0":
		return "solid state"
	}
	return "rotating"
}

// Discards reports whether the device can discard, and if not, why.
func (d Device) Discards() (bool, string) {
	switch limit := read(d.disk, "queue/discard_max_bytes"); limit {
	case "":
		return false, "this kernel does not say whether the device can discard"
	case "0":
		return false, "the device cannot discard (discard_max_bytes is 0)"
	default:
		return true, ""
	}
}

// Conditions are all facts about the device for the report.
func (d Device) Conditions() []result.Condition {
	var all []result.Condition
	add := func(matters bool, name, value string) {
		if value != "" {
			all = append(all, result.Condition{Group: "storage", Name: name, Value: value, Matters: matters})
		}
	}
	queue := func(name string) string {
		if v := read(d.disk, "queue/"+name); v != "" {
			return v
		}
		return notReported
	}
	bytes := func(name string) string {
		n, err := strconv.ParseInt(queue(name), 10, 64)
		if err != nil {
			return notReported
		}
		return media.FormatSize(n) + " (" + strconv.FormatInt(n, 10) + " B)"
	}
	add(false, "device", d.Path)
	if d.Partition != 0 {
		add(false, "partition", fmt.Sprintf("%d of %s", d.Partition, d.Disk))
	}
	add(true, "size", strconv.FormatInt(d.Size, 10)+" B")
	add(true, "transport", orUnknown(d.Transport))
	add(true, "vendor", d.Vendor)
	add(true, "model", d.Model)
	add(true, "serial", d.Serial)
	add(true, "firmware", d.Firmware)
	add(false, "wwid", d.WWID)
	add(false, "by-id", strings.Join(d.ByID, " "))
	add(true, "logical block size", bytes("logical_block_size"))
	add(true, "physical block size", bytes("physical_block_size"))
	add(false, "rotational", d.Rotation())
	if ok, why := d.Discards(); ok {
		add(true, "discard", "yes, granularity "+bytes("discard_granularity")+", at most "+bytes("discard_max_bytes")+" at once")
	} else {
		add(true, "discard", "no: "+why)
	}
	add(true, "scheduler", scheduler(queue("scheduler")))
	add(true, "write cache", queue("write_cache"))
	add(false, "fua", flag(queue("fua")))
	if d.Transport == "loop" {
		add(true, "direct i/o", flag(orUnknown(read(d.disk, "loop/dio"))))
	}
	return append(all, d.card()...)
}

// card registers, as the mmc driver shows them. See the kernel's
// Documentation/driver-api/mmc/mmc-dev-attrs.rst for what they mean.
func (d Device) card() []result.Condition {
	if d.Transport != "mmc" {
		return nil
	}
	var all []result.Condition
	for _, name := range []string{"type", "name", "manfid", "oemid", "date", "fwrev", "hwrev", "cid", "csd", "scr", "ssr", "ocr",
		"cmdq_en", "life_time", "pre_eol_info", "rev", "enhanced_area_size", "raw_rpmb_size_mult"} {
		if v := printable(read(d.disk, "device/"+name)); v != "" {
			identity := name == "cid" || name == "csd" || name == "type" || name == "date" || name == "cmdq_en"
			all = append(all, result.Condition{Group: "storage", Name: "card " + name, Value: v, Matters: identity})
		}
	}
	for _, name := range []string{"erase_size", "preferred_erase_size"} {
		if v := printable(read(d.disk, "device/"+name)); v != "" {
			all = append(all, result.Condition{Group: "storage", Name: "card " + name, Value: v + " B (a hint, not the size of a segment)"})
		}
	}
	return all
}

var active = regexp.MustCompile(`\[([^\]]+)\]`)

// scheduler picks the active one from the list, which marks it with brackets.
func scheduler(list string) string {
	if m := active.FindStringSubmatch(list); m != nil {
		return m[1]
	}
	return list // a kernel with one scheduler shows its name alone
}

func flag(v string) string {
	switch v {
	case "0":
		return "no"
	case "1":
		return "yes"
	}
	return v
}

func orUnknown(v string) string {
	if v == "" {
		return notReported
	}
	return v
}

// backing is the file of a loop device, "" for anything else.
func (d Device) backing() string {
	if d.Transport != "loop" {
		return ""
	}
	return read(filepath.Join(d.disk, "loop"), "backing_file")
}
