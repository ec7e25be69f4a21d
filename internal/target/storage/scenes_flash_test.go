package storage

import (
	"fmt"
	"os"
	"strings"

	"whichfs/internal/plan/media"
	"whichfs/internal/testing/wait"
)

// flashScenes: raw flash, and block devices on it. A guest's kernel simulates the chips.
var flashScenes = []scene{
	{name: "flash that is erased", virtual: true, want: named, says: []string{"blank"}, stage: func(s *stage) {
		s.flash("mtd0")
	}},
	{name: "flash with jffs2", virtual: true, want: named, says: []string{"jffs2"}, stage: func(s *stage) {
		s.flash("mtd0")
		s.jffs2(0)
	}},
	{name: "flash with ubi", virtual: true, want: named, says: []string{"UBI"}, stage: func(s *stage) {
		s.flash("mtd0")
		s.run("ubiformat", "-q", "-y", "/dev/mtd0")
	}},
	{name: "flash with data of no kind", virtual: true, want: named, says: []string{"data of an unknown kind"}, stage: func(s *stage) {
		s.flash("mtd0")
		s.program(0)
	}},
	{name: "partition of flash beside one in use", virtual: true, want: named, stage: func(s *stage) {
		s.flash("mtd1")
		s.mountFlash(0)
	}},
	{name: "mounted jffs2", virtual: true, want: refusal, says: []string{"mounted at"}, stage: func(s *stage) {
		s.flash("mtd0")
		s.mountFlash(0)
	}},
	{name: "flash with ubi attached", virtual: true, want: refusal, says: []string{"attached to UBI as ubi0"}, stage: func(s *stage) {
		s.flash("mtd0")
		s.attach(0)
	}},
	{name: "flash with a mounted ubi volume", virtual: true, want: refusal, says: []string{"attached to UBI as ubi0, with a volume mounted"}, stage: func(s *stage) {
		s.flash("mtd0")
		s.attach(0)
		s.run("ubimkvol", "/dev/ubi0", "-N", "data", "-m")
		s.mount("ubi0:data", "ubifs")
	}},
	{name: "chip whose inner partition is mounted", want: refusal, says: []string{"shares blocks with it, is mounted at"}, stage: func(s *stage) {
		s.ramFlash()
		s.run("mtdpart", "add", "/dev/mtd0", "inner", "0", "2097152")
		s.still(s.mountFlash(1))
	}},
	{name: "inner partition of mounted flash", want: refusal, says: []string{"shares blocks with it, is mounted at"}, stage: func(s *stage) {
		s.ramFlash()
		s.run("mtdpart", "add", "/dev/mtd0", "inner", "0", "2097152")
		s.storage, s.names = "mtd:/dev/mtd1", []string{"mtd:inner/2M"}
		s.still(s.mountFlash(0))
	}},
	{name: "flash that is swap", want: refusal, says: []string{"in use as swap"}, stage: func(s *stage) {
		s.ramFlash()
		s.module("mtdblock")
		s.Cleanup(func() { s.unload("mtdblock") })
		s.swapOn("/dev/mtdblock0")
	}},
	{name: "flash whose block device is held", want: refusal, says: []string{"exclusively"}, stage: func(s *stage) {
		s.ramFlash()
		s.module("mtdblock")
		s.Cleanup(func() { s.unload("mtdblock") })
		s.hold("/dev/mtdblock0")
	}},
	{name: "flash with a loop device over its block device", want: refusal, says: []string{"loop"}, stage: func(s *stage) {
		s.ramFlash()
		s.module("mtdblock")
		s.Cleanup(func() { s.unload("mtdblock") })
		s.over("/dev/mtdblock0")
	}},
	{name: "block device over flash", want: refusal, probe: probed, says: []string{"raw flash behind a block device"}, stage: func(s *stage) {
		s.ramFlash()
		s.module("mtdblock")
		s.Cleanup(func() { s.unload("mtdblock") })
		s.storage = "/dev/mtdblock0"
		s.knownAs(s.storage)
	}},
	{name: "flash's node for reading", virtual: true, want: refusal, says: []string{"read-only node"}, stage: func(s *stage) {
		s.flash("mtd0ro")
	}},
	{name: "flash as a block device", virtual: true, want: refusal, probe: notProbed, says: []string{"it is raw flash"}, stage: func(s *stage) {
		s.flash("mtd0")
		s.storage = "/dev/mtd0"
	}},
	{name: "block device as flash", virtual: true, want: refusal, says: []string{"it is a block device, not raw flash"}, stage: func(s *stage) {
		path, _ := s.disk()
		s.storage = "mtd:" + path
	}},
	{name: "another run on a partition of the chip", virtual: true, want: refusal, says: []string{"another run of whichfs"}, stage: func(s *stage) {
		s.flash("mtd0")
		lock, err := lockFile(s.Context(), s.chip(1), 0)
		if err != nil {
			s.Fatal(err)
		}
		s.Cleanup(func() { _ = lock.Close() })
	}},
	{name: "simulated chip of the guest", virtual: true, lab: true, want: ours, stage: func(s *stage) {
		s.simulator("nand:16M")
		s.program(0)
		s.storage = "nand:16M"
		s.own("/dev/mtd0", 0, 1<<40)
	}},
	{name: "simulated chip of the guest that is in use", virtual: true, lab: true, want: refusal, probe: notProbed, says: []string{"mounted at"}, stage: func(s *stage) {
		s.simulator("nand:16M")
		s.mountFlash(0)
		s.storage = "nand:16M"
	}},
	{name: "jffs2 mounted after the claim", virtual: true, want: used, stage: func(s *stage) {
		s.flash("mtd0")
		s.jffs2(0)
	}, change: func(s *stage) {
		s.mountFlash(0)
	}},
	{name: "ubi attached after the claim", virtual: true, want: used, stage: func(s *stage) {
		s.flash("mtd0")
		s.run("ubiformat", "-q", "-y", "/dev/mtd0")
	}, change: func(s *stage) {
		s.attach(0)
	}},
}

// flash makes a simulated chip with two partitions and the rest, and names one.
func (s *stage) flash(name string) {
	s.Helper()
	s.module("nandsim", "id_bytes=0x20,0x33", "parts=256,256")
	s.Cleanup(func() { s.unload("nandsim") })
	s.watch("/dev/mtd0", "/dev/mtd1", "/dev/mtd2")
	s.storage = "mtd:/dev/" + name
	s.own("/dev/"+name, 0, 1<<40)
	if !strings.HasSuffix(name, "ro") {
		s.names = []string{"mtd:NAND simulator partition 2/8M"}
	}
}

// simulator makes the chip like a guest's agent.
func (s *stage) simulator(storage string) {
	s.Helper()
	spec, err := media.Parse(storage)
	if err != nil {
		s.Fatal(err)
	}
	chip, err := spec.NAND()
	if err != nil {
		s.Fatal(err)
	}
	s.module(append([]string{"nandsim"}, strings.Fields(chip.Parameters(0))...)...)
	s.Cleanup(func() { s.unload("nandsim") })
	s.watch("/dev/mtd0")
}

// ramFlash makes flash that needs no erasing.
func (s *stage) ramFlash() {
	s.Helper()
	s.module("mtdram", "total_size=4096", "erase_size=128")
	s.Cleanup(func() { s.unload("mtdram") })
	s.watch("/dev/mtd0")
	s.storage = "mtd:/dev/mtd0"
	s.names = []string{"mtd:mtdram test device/4M"}
}

func (s *stage) unload(module string) {
	wait.Until(s.T, module+" is unloaded", func() bool { return s.unloaded(module) })
}

// chip is the sysfs directory that a run locks.
func (s *stage) chip(number int) string {
	s.Helper()
	m, err := Roots{}.filled().mtd(number)
	if err != nil {
		s.Fatal(err)
	}
	return m.chip()
}

// program writes data that no program recognises to the second erase block.
func (s *stage) program(number int) {
	s.Helper()
	file := s.dir() + "/image"
	if err := os.WriteFile(file, []byte(strings.Repeat("what is this? ", 100)), 0o600); err != nil {
		s.Fatal(err)
	}
	s.run("nandwrite", "-q", "-p", "-s", fmt.Sprint(s.eraseSize(number)), fmt.Sprintf("/dev/mtd%d", number), file)
}

func (s *stage) eraseSize(number int) int64 {
	m, err := Roots{}.filled().mtd(number)
	if err != nil {
		s.Fatal(err)
	}
	return m.Erase
}

// jffs2 leaves a filesystem with a file.
func (s *stage) jffs2(number int) {
	s.Helper()
	dir := s.mountFlash(number)
	if err := os.WriteFile(dir+"/file", []byte("precious"), 0o600); err != nil {
		s.Fatal(err)
	}
	s.run("umount", dir)
}

func (s *stage) mountFlash(number int) string {
	s.Helper()
	return s.mount(fmt.Sprintf("mtd%d", number), "jffs2")
}

// still stops a mounted jffs2 from preparing its free blocks, which it does in the background and,
// on flash without spare bytes, with writes.
func (s *stage) still(mount string) {
	s.Helper()
	s.run("mount", "-o", "remount,ro", mount)
}

// attach attaches the flash to UBI.
func (s *stage) attach(number int) {
	s.Helper()
	s.module("ubi")
	s.run("ubiattach", "-p", fmt.Sprintf("/dev/mtd%d", number))
	s.Cleanup(func() { s.run("ubidetach", "-p", fmt.Sprintf("/dev/mtd%d", number)) })
}
