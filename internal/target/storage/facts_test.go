package storage

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestIdentity(t *testing.T) {
	for _, c := range []struct {
		fixture, name string
		want          Device
		ids           string
		rotation      string
	}{
		{"sata", "sda", Device{Major: 8, Size: 500107862016, Disk: "sda", Partitions: []string{"sda1", "sda2", "sda3"}, Sequence: 1,
			Model: "Samsung SSD 860", Vendor: "ATA", Serial: "S3Z8NB0K000001A", WWID: "naa.5002538e00000001", Firmware: "2B6Q", Transport: "sata"},
			"S3Z8NB0K000001A ata-Samsung_SSD_860_S3Z8NB0K000001A wwn-0x5002538e00000001", "solid state"},
		{"sata", "sda2", Device{Major: 8, Minor: 2, Size: 460800000000, Partition: 2, Disk: "sda", Sequence: 1,
			Model: "Samsung SSD 860", Vendor: "ATA", Serial: "S3Z8NB0K000001A", WWID: "naa.5002538e00000001", Firmware: "2B6Q", Transport: "sata"},
			"S3Z8NB0K000001A-part2 ata-Samsung_SSD_860_S3Z8NB0K000001A-part2", "solid state"},
		{"sata", "sdb", Device{Major: 8, Minor: 16, Size: 4000787030016, Disk: "sdb", Sequence: 2, ReadOnly: true,
			Model: "WDC WD40EFRX-68", Vendor: "ATA", Transport: "sata"}, "8:16-4000787030016-2", "rotating"},
		{"sata", "dm-0", Device{Major: 253, Size: 409600000000, Disk: "dm-0", Transport: "device-mapper"}, "253:0-409600000000", "solid state"},
		{"nvme", "nvme0n1", Device{Major: 259, Size: 512110190592, Disk: "nvme0n1", Sequence: 3, Model: "SAMSUNG MZVLB512HAJQ-000L7",
			Serial: "S3TNNX0K000002", WWID: "eui.0025385b00000001", Firmware: "4L2QEXA7", Transport: "nvme"},
			"S3TNNX0K000002 nvme-SAMSUNG_MZVLB512HAJQ-000L7_S3TNNX0K000002", "solid state"},
		// Two sticks with the same serial number: it names neither.
		{"usb-twins", "sdc", Device{Major: 8, Minor: 32, Size: 31004295168, Disk: "sdc", Sequence: 10, Removable: true, Model: "Flash Disk",
			Vendor: "Generic", Serial: "0123456789ABCDEF", Firmware: "8.07", Transport: "usb"}, "8:32-31004295168-10",
			"unknown: USB bridges report rotating for solid state too"},
		{"usb-twins", "sdd", Device{Major: 8, Minor: 48, Size: 31004295168, Disk: "sdd", Sequence: 11, Removable: true, Model: "Flash Disk",
			Vendor: "Generic", Serial: "0123456789ABCDEF", Firmware: "8.07", Transport: "usb"}, "usb-Generic_Flash_Disk_0123456789ABCDEF-0:0",
			"unknown: USB bridges report rotating for solid state too"},
		{"sd-card", "mmcblk0", Device{Major: 179, Size: 31914983424, Disk: "mmcblk0", Partitions: []string{"mmcblk0p1"}, Sequence: 5,
			Model: "SC32G", Vendor: "manufacturer 0x000003", Serial: "0x12345678", CID: "035344534333324780123456780152a1", Firmware: "0x0", Transport: "mmc"}, "0x12345678", "solid state"},
		{"sd-card", "mmcblk0p1", Device{Major: 179, Minor: 1, Size: 268435456, Disk: "mmcblk0", Partition: 1, Sequence: 5,
			Model: "SC32G", Vendor: "manufacturer 0x000003", Serial: "0x12345678", CID: "035344534333324780123456780152a1", Firmware: "0x0", Transport: "mmc"}, "0x12345678-part1", "solid state"},
		{"virtio", "vdb", Device{Major: 254, Minor: 16, Size: 1 << 30, Disk: "vdb", Serial: "target", Transport: "virtio"}, "target",
			"unknown: the flag of a virtio disk says nothing about the storage behind it"},
		{"stacked", "loop3", Device{Major: 7, Minor: 3, Size: 2 << 30, Disk: "loop3", Sequence: 40, Transport: "loop"}, "7:3-2147483648-40",
			"unknown: a loop device rotates if the storage of its file does"},
	} {
		t.Run(c.fixture+"/"+c.name, func(t *testing.T) {
			r := fixture(t, c.fixture)
			d := device(t, r, c.name)
			if got := strings.Join(d.IDs(), " "); got != c.ids {
				t.Errorf("names %q, want %q", got, c.ids)
			}
			if got := d.Rotation(); got != c.rotation {
				t.Errorf("rotation %q", got)
			}
			if d.Path != r.Dev+"/"+c.name {
				t.Errorf("path %s", d.Path)
			}
			same, err := r.byNumber(d.Major, d.Minor)
			if err != nil || same.Name != d.Name {
				t.Errorf("by number: %v, %v", same.Name, err)
			}
			d.Name, d.Path, d.ByID, d.dir, d.disk, d.shared = "", "", nil, "", "", false
			if diff := cmp.Diff(c.want, d, cmp.AllowUnexported(Device{})); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestConditions(t *testing.T) {
	for _, c := range []struct {
		fixture, name string
		want          map[string]string
	}{
		{"sata", "sda", map[string]string{"size": "500107862016 B", "scheduler": "mq-deadline", "write cache": "write back", "fua": "no",
			"discard": "yes, granularity 512 (512 B), at most 2097120K (2147450880 B) at once", "logical block size": "512 (512 B)",
			"transport": "sata", "rotational": "solid state", "by-id": "ata-Samsung_SSD_860_S3Z8NB0K000001A wwn-0x5002538e00000001"}},
		{"sata", "sdb", map[string]string{"physical block size": "4K (4096 B)", "logical block size": notReported, "scheduler": notReported,
			"discard": "no: the device cannot discard (discard_max_bytes is 0)"}},
		{"sata", "dm-0", map[string]string{"discard": "no: this kernel does not say whether the device can discard"}},
		{"nvme", "nvme0n1", map[string]string{"firmware": "4L2QEXA7", "fua": "yes", "scheduler": "none", "model": "SAMSUNG MZVLB512HAJQ-000L7"}},
		{"sd-card", "mmcblk0p1", map[string]string{"partition": "1 of mmcblk0", "card cid": "035344534333324780123456780152a1",
			"card csd": "400e00325b590000edc87f800a404001", "card scr": "0235804300000000", "card manfid": "0x000003", "card oemid": "0x5344",
			"card date": "02/2021", "card fwrev": "0x0", "card hwrev": "0x8", "card name": "SC32G", "card type": "SD",
			"card erase_size":           "512 B (a hint, not the size of a segment)",
			"card preferred_erase_size": "4194304 B (a hint, not the size of a segment)"}},
		{"virtio", "vdb", map[string]string{"scheduler": "none", "serial": "target"}},
		{"stacked", "loop3", map[string]string{"direct i/o": "yes", "transport": "loop"}},
	} {
		d := device(t, fixture(t, c.fixture), c.name)
		got := map[string]string{}
		for _, f := range d.Conditions() {
			if f.Group != "storage" || f.Value == "" {
				t.Errorf("%s: %+v", c.name, f)
			}
			if _, twice := got[f.Name]; twice {
				t.Errorf("%s: %s twice", c.name, f.Name)
			}
			got[f.Name] = f.Value
		}
		for name, want := range c.want {
			if got[name] != want {
				t.Errorf("%s: %s is %q, want %q", c.name, name, got[name], want)
			}
		}
	}
}

func TestIDsNameOnlyTheirDevice(t *testing.T) {
	r := fixture(t, "sata")
	disk, part := device(t, r, "sda"), device(t, r, "sda2")
	for _, id := range []string{"", "S3Z8NB0K000001", "s3z8nb0k000001a", "S3Z8NB0K000001A ", "/dev/sda", "sda", "S3Z8NB0K000001A-part2",
		"ata-Samsung_SSD_860_S3Z8NB0K000001A-part2", "8:0"} {
		if disk.Is(id) {
			t.Errorf("%q names the disk", id)
		}
	}
	for _, id := range []string{"S3Z8NB0K000001A", "ata-Samsung_SSD_860_S3Z8NB0K000001A", "S3Z8NB0K000001A-part1"} {
		if part.Is(id) {
			t.Errorf("%q names the partition", id)
		}
	}
	// The boot areas of an eMMC share its number; it still names the eMMC.
	card := fixture(t, "sd-card")
	boot := card.Sys + "/devices/platform/fe340000.mmc/mmc_host/mmc0/mmc0:aaaa/block/mmcblk0boot0"
	put(t, boot+"/dev", "179:8", "")
	put(t, boot+"/size", "8192", "")
	put(t, boot+"/device", "", "../../../mmc0:aaaa")
	put(t, card.Sys+"/class/block/mmcblk0boot0", "", boot)
	if d := device(t, card, "mmcblk0"); !d.Is("0x12345678") {
		t.Errorf("names of the eMMC: %q", d.IDs())
	}
	if d := device(t, card, "mmcblk0boot0"); d.Is("0x12345678") {
		t.Error("the boot area is named by the eMMC's number")
	}
}
