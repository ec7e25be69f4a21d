package storage

import (
	"encoding/binary"
)

// contentScenes: whatever a device does or does not hold, it must be named.
var contentScenes = []scene{
	{name: "blank", common: true, want: named, says: []string{"blank"}, stage: func(s *stage) {
		path, _ := s.disk()
		s.target(path)
	}},
	{name: "random data everywhere", common: true, want: named, says: []string{"no known signature", "places hold data"}, stage: func(s *stage) {
		path, _ := s.disk()
		s.target(path)
		s.fill(path, 0, diskSize)
	}},
	{name: "random data only in the middle", common: true, want: named, says: []string{"no known signature", "places hold data"}, stage: func(s *stage) {
		path, _ := s.disk()
		s.target(path)
		s.fill(path, 3<<20, 2<<20)
	}},
	{name: "random data only at the end", common: true, want: named, says: []string{"no known signature", "places hold data"}, stage: func(s *stage) {
		path, _ := s.disk()
		s.target(path)
		s.fill(path, diskSize-64<<10, 64<<10)
	}},
	{name: "boot record", common: true, want: named, stage: func(s *stage) {
		path, _ := s.disk()
		s.target(path)
		s.write(path, 0, bootRecord)
	}},
	{name: "boot loader between boot record and first partition", common: true, want: named, stage: func(s *stage) {
		path, _ := s.disk()
		s.target(path)
		s.write(path, 0, bootRecord)
		s.fill(path, 512, 500<<10)
	}},
	{name: "boot loader without a boot record", common: true, want: named, says: []string{"no known signature"}, stage: func(s *stage) {
		path, _ := s.disk()
		s.target(path)
		s.fill(path, 512, 500<<10)
	}},
	{name: "gpt", common: true, want: named, says: []string{"rootfs"}, stage: func(s *stage) {
		path, _ := s.disk()
		s.target(path)
		s.header(path, "gpt", 0, diskSize)
	}},
	{name: "backup gpt alone", common: true, want: named, says: []string{"gpt"}, stage: func(s *stage) {
		path, _ := s.disk()
		s.target(path)
		s.header(path, "gpt", diskSize/2, diskSize)
	}},
	{name: "ext4 with a label", common: true, want: named, says: []string{"ext4", "precious"}, stage: func(s *stage) {
		path, _ := s.disk()
		s.target(path)
		s.run("mkfs.ext4", "-q", "-F", "-L", "precious", path)
	}},
	{name: "fat with a label", common: true, want: named, says: []string{"PHOTOS"}, stage: func(s *stage) {
		path, _ := s.disk()
		s.target(path)
		s.run("mkfs.vfat", "-n", "PHOTOS", path)
	}},
	{name: "btrfs", common: true, want: named, says: []string{"btrfs", "pool"}, stage: func(s *stage) {
		path, _ := s.disk(32 << 20)
		s.target(path)
		s.run("mkfs.btrfs", "-q", "--mixed", "-L", "pool", path)
	}},
	{name: "swap that is off", common: true, want: named, says: []string{"swap"}, stage: func(s *stage) {
		path, _ := s.disk()
		s.target(path)
		s.run("mkswap", path)
	}},
	{name: "luks1 header", common: true, want: named, says: []string{"LUKS"}, stage: func(s *stage) {
		path, _ := s.disk()
		s.target(path)
		s.header(path, "luks1", 0, diskSize)
	}},
	{name: "luks2 header", common: true, want: named, says: []string{"LUKS", "vault"}, stage: func(s *stage) {
		path, _ := s.disk()
		s.target(path)
		s.header(path, "luks2", 0, diskSize)
	}},
	{name: "second luks2 header alone", common: true, want: named, says: []string{"LUKS"}, stage: func(s *stage) {
		path, _ := s.disk()
		s.target(path)
		s.header(path, "luks2", 4096, diskSize)
	}},
	{name: "lvm physical volume", common: true, want: named, says: []string{"LVM"}, stage: func(s *stage) {
		path, _ := s.disk()
		s.target(path)
		s.header(path, "lvm2", 0, diskSize)
	}},
	{name: "bcache header", common: true, want: named, says: []string{"bcache"}, stage: func(s *stage) {
		path, _ := s.disk()
		s.target(path)
		s.header(path, "bcache", 0, diskSize)
	}},
	{name: "zfs labels", common: true, want: named, says: []string{"zfs"}, stage: func(s *stage) {
		const size = 64 << 20 // ZFS takes no smaller ones
		path, _ := s.disk(size)
		s.target(path)
		s.zfs(path, size)
	}},
	{name: "filesystem in a partition", common: true, want: named, says: []string{"p1", "precious"}, stage: func(s *stage) {
		path, _ := s.disk()
		s.formatted(s.partition(path))
		s.target(path)
	}},
	{name: "partition", common: true, want: named, says: []string{"precious"}, stage: func(s *stage) {
		path, _ := s.disk()
		s.fill(path, 0, diskSize)
		part := s.formatted(s.partition(path))
		s.storage = part
		s.own(path, partStart, partStart+partLength)
		s.knownAs(path) // the disk's name is not the partition's
	}},
	{name: "disk beside another of the same contents", common: true, want: named, says: []string{"precious"}, stage: func(s *stage) {
		path, _ := s.disk()
		s.target(s.formatted(path))
		path, _ = s.disk()
		s.formatted(path)
		s.knownAs(path)
	}},
	{name: "external journal that is not in use", virtual: true, want: named, says: []string{"jbd"}, stage: func(s *stage) {
		path, _ := s.disk()
		s.run("mkfs.ext4", "-q", "-F", "-O", "journal_dev", path)
		s.target(path)
	}},
}

// zfs writes the four labels of a pool's device, as far as programs search for them: arrays of
// uberblocks of 1 KiB after the first 128 KiB of each label of 256 KiB (the ZFS On-Disk
// Specification, chapter one).
func (s *stage) zfs(path string, size int64) {
	const label = 256 << 10
	blocks := make([]byte, label/2)
	for at := 0; at < len(blocks); at += 1024 {
		binary.LittleEndian.PutUint64(blocks[at:], 0x00bab10c)
		binary.LittleEndian.PutUint64(blocks[at+8:], 5000)
	}
	for _, at := range []int64{0, label, size - 2*label, size - label} {
		s.write(path, at+label/2, blocks)
	}
}
