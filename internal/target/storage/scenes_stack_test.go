package storage

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"unsafe"

	"golang.org/x/sys/unix"

	"whichfs/internal/sys/command"
	"whichfs/internal/testing/wait"
)

// stackScenes: devices that are built on others, share their blocks with others, or come from
// special drivers. A guest's kernel in QEMU has them all.
var stackScenes = []scene{
	{name: "plain dm-crypt that is closed", want: named, says: []string{"no known signature", "places hold data"}, stage: func(s *stage) {
		path, _ := s.disk()
		s.target(path)
		node := s.mapped("vault", "", s.crypt(path, 0))
		s.formatted(node)
		s.write(node, 1<<20, make([]byte, diskSize-1<<20)) // encrypted zeros
		s.run("dmsetup", "remove", "vault")
	}},
	{name: "plain dm-crypt that is open", want: refusal, says: []string{"held by"}, stage: func(s *stage) {
		path, _ := s.disk()
		s.storage = path
		s.knownAs(path)
		s.mapped("vault", "", s.crypt(path, 0))
	}},
	{name: "luks that is open", want: refusal, says: []string{"held by encrypted volume vault"}, stage: func(s *stage) {
		path, _ := s.disk()
		s.storage = path
		s.header(path, "luks1", 0, diskSize)
		s.knownAs(path)
		s.mapped("vault", "CRYPT-LUKS1-ed744038ccb549a6a07c3e139e881372-vault", s.crypt(path, 4096))
	}},
	{name: "mounted encrypted volume", want: refusal, says: []string{"mounted at"}, stage: func(s *stage) {
		path, _ := s.disk()
		s.storage = s.formatted(s.mapped("vault", "CRYPT-PLAIN-vault", s.crypt(path, 0)))
		s.knownAs(s.storage)
		s.mount(s.storage, "ext4")
	}},
	{name: "disk whose partition is encrypted and open", want: refusal, says: []string{"p1 is held by"}, stage: func(s *stage) {
		path, _ := s.disk()
		s.storage = path
		part := s.partition(path)
		s.knownAs(path)
		s.mapped("vault", "CRYPT-PLAIN-vault", fmt.Sprintf("0 8192 crypt aes-xts-plain64 %s 0 %s 0", cryptKey, part))
	}},
	{name: "lvm with an active volume", virtual: true, want: refusal, says: []string{"held by LVM volume vg-root"}, stage: func(s *stage) {
		path, _ := s.disk()
		s.storage = path
		s.header(path, "lvm2", 0, diskSize)
		s.knownAs(path)
		s.mapped("vg-root", "LVM-3B2sCre5TuuEueKy8ud0V7eq6gHF4qMO3B2sCre5TuuEueKy8ud0V7eq6gHF4qMO", fmt.Sprintf("0 8192 linear %s 2048", path))
	}},
	{name: "lvm volume that is free", virtual: true, want: named, says: []string{"precious"}, stage: func(s *stage) {
		path, _ := s.disk()
		s.header(path, "lvm2", 0, diskSize)
		s.storage = s.formatted(s.mapped("vg-root", "LVM-3B2sCre5TuuEueKy8ud0V7eq6gHF4qMO3B2sCre5TuuEueKy8ud0V7eq6gHF4qMO", fmt.Sprintf("0 8192 linear %s 2048", path)))
		s.own(path, 1<<20, 5<<20)
	}},
	{name: "device-mapper device over it", virtual: true, want: refusal, says: []string{"held by device-mapper device slice"}, stage: func(s *stage) {
		path, _ := s.disk()
		s.storage = path
		s.knownAs(path)
		s.mapped("slice", "", fmt.Sprintf("0 2048 linear %s 8192", path))
	}},
	{name: "device-mapper device under another", virtual: true, want: refusal, says: []string{"held by device-mapper device upper"}, stage: func(s *stage) {
		path, _ := s.disk()
		s.storage = s.mapped("lower", "", fmt.Sprintf("0 8192 linear %s 0", path))
		s.knownAs(s.storage)
		s.mapped("upper", "", fmt.Sprintf("0 2048 linear %s 0", s.storage))
	}},
	{name: "device-mapper slice beside one that is mounted", virtual: true, want: refusal, says: []string{"it shares", "with device-mapper device taken"}, stage: func(s *stage) {
		path, _ := s.disk()
		s.storage = s.mapped("free", "", fmt.Sprintf("0 8192 linear %s 8192", path))
		s.mount(s.formatted(s.mapped("taken", "", fmt.Sprintf("0 8192 linear %s 0", path))), "ext4")
		s.knownAs(s.storage)
	}},
	{name: "origin of a snapshot", virtual: true, want: refusal, says: []string{"held by device-mapper device"}, stage: func(s *stage) {
		s.storage, _ = s.snapshot()
		s.knownAs(s.storage)
	}},
	{name: "store of a snapshot", virtual: true, want: refusal, says: []string{"held by device-mapper device"}, stage: func(s *stage) {
		_, s.storage = s.snapshot()
		s.knownAs(s.storage)
	}},
	{name: "multipath over it", want: refusal, says: []string{"held by multipath device mpatha"}, stage: func(s *stage) {
		twins := s.scsi("add_host=2", "vpd_use_hostno=0")
		s.storage = twins[1]
		s.knownAs(twins[1])
		s.module("dm-round-robin")
		s.mapped("mpatha", "mpath-3333333000000007d0", fmt.Sprintf("0 16384 multipath 0 0 1 1 round-robin 0 2 1 %s 1000 %s 1000", twins[0], twins[1]))
	}},
	{name: "member of a running array", want: refusal, says: []string{"held by RAID array md"}, stage: func(s *stage) {
		first, second := s.array(true)
		s.storage = second
		s.knownAs(first)
	}},
	{name: "array that is free", want: named, says: []string{"blank"}, stage: func(s *stage) {
		first, second := s.array(true)
		s.storage = "/dev/md0"
		s.own(first, 0, 1<<40)
		s.own(second, 0, 1<<40)
	}},
	{name: "mounted array", want: refusal, says: []string{"mounted at"}, stage: func(s *stage) {
		s.array(true)
		s.storage = s.formatted("/dev/md0")
		s.knownAs(s.storage)
		s.mount(s.storage, "ext4")
	}},
	{name: "member of an array that is stopped", want: named, says: []string{"raid"}, stage: func(s *stage) {
		_, second := s.array(false)
		s.target(second)
	}},
	{name: "bcache's backing device", want: refusal, says: []string{"held by bcache device"}, stage: func(s *stage) {
		path, _ := s.disk()
		s.storage = path
		s.header(path, "bcache", 0, diskSize)
		s.knownAs(path)
		s.bcache(path)
	}},
	{name: "f2fs whose other device is mounted", virtual: true, want: refusal, says: []string{"exclusively"}, stage: func(s *stage) {
		first, _ := s.disk(64 << 20)
		second, _ := s.disk(64 << 20)
		s.run("mkfs.f2fs", "-q", "-c", second, first)
		s.storage = second
		s.knownAs(second)
		s.mount(first, "f2fs")
	}},
	{name: "scsi disk by its serial number", want: named, says: []string{"--destroy 2000", "blank"}, stage: func(s *stage) {
		s.target(s.scsi("vpd_use_hostno=0")[0])
	}},
	{name: "scsi disk with the partition's name", want: named, stage: func(s *stage) {
		disk := s.scsi()[0]
		part := s.partition(disk)
		s.knownAs(part)
		s.target(disk)
	}},
	{name: "scsi partition with the disk's name", want: named, says: []string{"-part1"}, stage: func(s *stage) {
		disk := s.scsi()[0]
		s.fill(disk, 0, diskSize)
		s.storage = s.partition(disk)
		s.own(disk, partStart, partStart+partLength)
		s.knownAs(disk)
	}},
	{name: "twins of one lun that are free", want: named, stage: func(s *stage) {
		twins := s.scsi("add_host=2", "vpd_use_hostno=0")
		s.formatted(twins[0])
		s.target(twins[1])
		s.own(twins[0], 0, 1<<40)
		s.names = append(s.names, "2000") // the serial number of both
	}},
	{name: "twin of one lun that is mounted", want: refusal, says: []string{"mounted at"}, stage: func(s *stage) {
		twins := s.scsi("add_host=2", "vpd_use_hostno=0")
		s.formatted(twins[0])
		s.storage = twins[1]
		s.knownAs(twins[1])
		s.mount(twins[0], "ext4")
	}},
	{name: "twin of one lun whose partition is mounted", want: refusal, says: []string{"mounted at"}, stage: func(s *stage) {
		twins := s.scsi("add_host=2", "vpd_use_hostno=0")
		part := s.formatted(s.partition(twins[0]))
		s.storage = twins[1]
		s.knownAs(twins[1])
		s.mount(part, "ext4")
	}},
	{name: "twin of one lun that is swap", want: refusal, says: []string{"swap"}, stage: func(s *stage) {
		twins := s.scsi("add_host=2", "vpd_use_hostno=0")
		s.storage = twins[1]
		s.knownAs(twins[1])
		s.swapOn(twins[0])
	}},
	{name: "twin of one lun that is held", want: refusal, says: []string{"held by"}, stage: func(s *stage) {
		twins := s.scsi("add_host=2", "vpd_use_hostno=0")
		s.storage = twins[1]
		s.knownAs(twins[1])
		s.mapped("slice", "", fmt.Sprintf("0 2048 linear %s 8192", twins[0]))
	}},
	{name: "twin of one lun that a program holds", want: refusal, says: []string{"exclusively"}, stage: func(s *stage) {
		twins := s.scsi("add_host=2", "vpd_use_hostno=0")
		s.storage = twins[1]
		s.knownAs(twins[1])
		s.hold(twins[0])
	}},
	{name: "partition of a twin of one lun that is mounted", want: refusal, says: []string{"mounted at"}, stage: func(s *stage) {
		twins := s.scsi("add_host=2", "vpd_use_hostno=0")
		first := s.formatted(s.partition(twins[0]))
		s.storage = s.partition(twins[1])
		s.knownAs(s.storage)
		s.mount(first, "ext4")
	}},
	{name: "twin of one lun mounted after the claim", want: used, stage: func(s *stage) {
		twins := s.scsi("add_host=2", "vpd_use_hostno=0")
		s.beside = s.formatted(twins[0])
		s.target(twins[1])
		s.own(twins[0], 0, 1<<40)
	}, change: func(s *stage) {
		s.mount(s.beside, "ext4")
	}},
	{name: "scsi disk removed after the claim", want: gone, stage: func(s *stage) {
		s.target(s.formatted(s.scsi()[0]))
	}, change: func(s *stage) {
		s.set("/sys/block/"+filepath.Base(s.storage)+"/device/delete", "1")
	}},
	{name: "scsi disk removed and found again after the claim", want: gone, stage: func(s *stage) {
		s.target(s.formatted(s.scsi()[0]))
	}, change: func(s *stage) {
		host, _ := filepath.EvalSymlinks("/sys/block/" + filepath.Base(s.storage) + "/device")
		number := strings.SplitN(filepath.Base(host), ":", 2)[0]
		s.set("/sys/block/"+filepath.Base(s.storage)+"/device/delete", "1")
		s.set("/sys/class/scsi_host/host"+number+"/scan", "- - -")
		var again []string
		wait.Until(s.T, "the disk that is found again", func() bool { again = s.disksOf("scsi_debug"); return len(again) == 1 && opens(again[0]) })
		s.watched = nil
		s.watch(again[0])
		s.remember()
	}},
	{name: "scsi disk whose node is the next one's after the claim", want: gone, stage: func(s *stage) {
		disks := s.scsi("add_host=2", "per_host_store=1")
		s.target(s.formatted(disks[0]))
		s.beside = disks[1]
		s.fill(s.beside, 0, diskSize)
	}, change: func(s *stage) {
		s.set("/sys/block/"+filepath.Base(s.storage)+"/device/delete", "1")
		_ = os.Remove(s.storage)
		s.node(s.storage, s.beside)
		s.Cleanup(func() { _ = os.Remove(s.storage) })
		s.watched = nil
		s.watch(s.beside)
		s.remember()
	}},
	{name: "mapped after the claim", virtual: true, want: used, stage: freeDisk, change: func(s *stage) {
		s.mapped("slice", "", fmt.Sprintf("0 2048 linear %s 8192", s.storage))
	}},
	{name: "partition mapped after the claim", virtual: true, want: used, stage: func(s *stage) {
		path, _ := s.disk()
		s.target(path)
		s.partition(path)
	}, change: func(s *stage) {
		s.mapped("slice", "", fmt.Sprintf("0 2048 linear %sp1 0", s.storage))
	}},
	{name: "zram that is free", want: named, says: []string{"blank"}, stage: func(s *stage) {
		s.target(s.zram())
	}},
	{name: "zram that is swap", want: refusal, says: []string{"in use as swap"}, stage: func(s *stage) {
		s.storage = s.zram()
		s.knownAs(s.storage)
		s.swapOn(s.storage)
	}},
	{name: "disk in memory of another program", virtual: true, want: named, says: []string{"precious"}, stage: func(s *stage) {
		s.target(s.formatted(s.brd()))
	}},
	{name: "mounted disk in memory", virtual: true, want: refusal, says: []string{"mounted at"}, stage: func(s *stage) {
		s.storage = s.formatted(s.brd())
		s.knownAs(s.storage)
		s.mount(s.storage, "ext4")
	}},
	{name: "network block device", want: named, says: []string{"precious"}, stage: func(s *stage) {
		s.target(s.formatted(s.nbd()))
	}},
	{name: "mounted network block device", want: refusal, says: []string{"mounted at"}, stage: func(s *stage) {
		s.storage = s.formatted(s.nbd())
		s.knownAs(s.storage)
		s.mount(s.storage, "ext4")
	}},
	{name: "layer of a container's root", virtual: true, want: refusal, says: []string{"carries the root filesystem"}, stage: func(s *stage) {
		path, _ := s.disk()
		s.storage = s.formatted(path)
		s.knownAs(path)
		s.container(s.mount(path, "ext4"))
	}},
	{name: "image that the guest runs from", virtual: true, want: refusal, stage: func(s *stage) {
		s.storage = "/dev/vda"
		s.knownAs(s.storage)
	}},
	{name: "disk of the lab", virtual: true, want: ours, lab: true, stage: func(s *stage) {
		disk := s.labDisk()
		s.storage = "serial:lab0"
		s.own(disk, 0, 1<<40)
	}},
	{name: "disk of the lab outside the lab", virtual: true, want: refusal, probe: notProbed, says: []string{"lab"}, stage: func(s *stage) {
		s.labDisk()
		s.storage = "serial:lab0"
	}},
	{name: "disk of the lab by its path", virtual: true, want: named, says: []string{"--destroy lab0"}, stage: func(s *stage) {
		s.target(s.labDisk())
	}},
}

// labDisk is the guest's disk under test, with data that no program recognises.
func (s *stage) labDisk() string {
	s.Helper()
	all, _ := filepath.Glob("/sys/block/*/serial")
	path := ""
	for _, serial := range all {
		if read(filepath.Dir(serial), "serial") == "lab0" {
			path = "/dev/" + filepath.Base(filepath.Dir(serial))
		}
	}
	s.watch(path)
	s.fill(path, 0, 1<<20)
	return path
}

const cryptKey = "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f"

// crypt is the device mapper's table for an encrypted device.
func (s *stage) crypt(path string, from int64) string {
	return fmt.Sprintf("0 %d crypt aes-xts-plain64 %s 0 %s %d", diskSize/512-from, cryptKey, path, from)
}

// mapped makes a device of the device mapper, and returns its node.
func (s *stage) mapped(name, uuid, table string) string {
	s.Helper()
	s.module("dm-mod")
	argv := []string{"dmsetup", "create", name, "--table", table}
	if uuid != "" {
		argv = append(argv, "--uuid", uuid)
	}
	s.run(argv...)
	s.Cleanup(func() {
		// Some scenes remove it themselves.
		path, _ := command.Look("dmsetup")
		_, _ = command.Run(context.Background(), command.Options{}, path, "remove", "--retry", name)
	})
	return "/dev/dm-" + s.output("dmsetup", "info", "--columns", "--noheadings", "-o", "minor", name)
}

// snapshot makes a snapshot, and returns its origin and the device for changes.
func (s *stage) snapshot() (origin, store string) {
	s.Helper()
	origin, _ = s.disk()
	store, _ = s.disk()
	s.module("dm-snapshot")
	s.mapped("origin", "", fmt.Sprintf("0 16384 snapshot-origin %s", origin))
	s.mapped("snap", "", fmt.Sprintf("0 16384 snapshot %s %s P 8", origin, store))
	return origin, store
}

// module loads a kernel module.
func (s *stage) module(words ...string) {
	s.Helper()
	s.run(append([]string{"modprobe"}, words...)...)
}

// set writes to a file of sysfs.
func (s *stage) set(path, text string) {
	s.Helper()
	if err := os.WriteFile(path, []byte(text), 0); err != nil {
		s.Fatal(err)
	}
}

// scsi makes simulated SCSI disks, which keep their contents in memory: by default all share one
// memory.
func (s *stage) scsi(options ...string) []string {
	s.Helper()
	s.module("sd_mod")
	s.module(append([]string{"scsi_debug", "dev_size_mb=8"}, options...)...)
	s.Cleanup(func() { wait.Until(s.T, "scsi_debug is unloaded", func() bool { return s.unloaded("scsi_debug") }) })
	want := 1
	for _, o := range options {
		if o == "add_host=2" {
			want = 2
		}
	}
	var disks []string
	wait.Until(s.T, "the simulated disks", func() bool { disks = s.disksOf("scsi_debug"); return len(disks) == want && opens(disks...) })
	s.watch(disks...)
	return disks
}

// disksOf are the nodes of the disks of a model, including those that the kernel is still making or
// removing (opens).
func (s *stage) disksOf(model string) (nodes []string) {
	all, _ := filepath.Glob("/sys/block/sd*")
	for _, dir := range all {
		if read(dir, "device/model") == model {
			nodes = append(nodes, "/dev/"+filepath.Base(dir))
		}
	}
	return nodes
}

// opens reports whether the nodes can be opened. The kernel makes a disk's
// directory and node first, and until it has entered the disk in its table,
// opening the node fails (device_add_disk of block/genhd.c).
func opens(nodes ...string) bool {
	for _, node := range nodes {
		f, err := os.Open(node)
		if err != nil {
			return false
		}
		_ = f.Close()
	}
	return true
}

func (s *stage) unloaded(module string) bool {
	err := unix.DeleteModule(module, unix.O_NONBLOCK)
	return err == nil || err == unix.ENOENT
}

// array makes a mirror of two disks with the kernel's own superblocks (version 0.90, which it
// writes itself), and leaves it running or not.
func (s *stage) array(running bool) (first, second string) {
	s.Helper()
	first, _ = s.disk()
	second, _ = s.disk()
	s.module("raid1")
	f, err := os.OpenFile("/dev/md0", os.O_RDWR, 0)
	if os.IsNotExist(err) {
		if err = unix.Mknod("/dev/md0", unix.S_IFBLK|0o600, int(unix.Mkdev(9, 0))); err == nil {
			f, err = os.OpenFile("/dev/md0", os.O_RDWR, 0)
		}
	}
	if err != nil {
		s.Fatal(err)
	}
	defer f.Close() //nolint:errcheck // nothing was written
	// struct mdu_array_info_t and mdu_disk_info_t of include/uapi/linux/raid/md_u.h
	ask := func(what string, request uint, arg unsafe.Pointer) {
		s.Helper()
		if _, _, errno := unix.Syscall(unix.SYS_IOCTL, f.Fd(), uintptr(request), uintptr(arg)); errno != 0 {
			s.Fatalf("array: %s: %v", what, errno)
		}
	}
	stop := func() {
		f, err := os.OpenFile("/dev/md0", os.O_RDWR, 0)
		if err != nil {
			s.Error(err)
			return
		}
		defer f.Close()                                                 //nolint:errcheck // nothing was written
		if err := unix.IoctlSetInt(int(f.Fd()), 0x932, 0); err != nil { // STOP_ARRAY
			s.Errorf("stopping the array: %v", err)
		}
	}
	const size = diskSize/1024 - 64 - 64                                           // KiB; the superblock is in the last 64 KiB that are aligned
	info := [18]int32{0: 0, 1: 90, 4: 1, 5: size, 6: 2, 7: 2, 11: 1, 12: 2, 13: 2} // clean
	ask("its form", 0x40480923, unsafe.Pointer(&info))
	for i, path := range []string{first, second} {
		var st unix.Stat_t
		if err := unix.Stat(path, &st); err != nil {
			s.Fatal(err)
		}
		disk := [5]int32{int32(i), int32(unix.Major(uint64(st.Rdev))), int32(unix.Minor(uint64(st.Rdev))), int32(i), 6} // active, in sync
		ask("a disk", 0x40140921, unsafe.Pointer(&disk))
	}
	ask("start", 0x400c0930, unsafe.Pointer(&[3]int32{}))
	if running {
		s.Cleanup(stop)
		s.kernelWrites(size<<10, diskSize)
	} else {
		_ = f.Close()
		stop()
	}
	return first, second
}

// bcache makes the kernel use a device with a header as a backing device.
func (s *stage) bcache(path string) {
	s.Helper()
	s.module("bcache")
	s.set("/sys/fs/bcache/register", path)
	made := "/sys/block/" + filepath.Base(path) + "/bcache"
	wait.Until(s.T, "bcache", func() bool { return has(made, "dev") })
	s.Cleanup(func() {
		_ = os.WriteFile(made+"/stop", []byte("1"), 0)
		wait.Until(s.T, "bcache lets go", func() bool { return !has(made, "dev") })
	})
}

// zram makes a compressed disk in memory.
func (s *stage) zram() string {
	s.Helper()
	s.module("zram")
	s.set("/sys/block/zram0/disksize", fmt.Sprint(diskSize))
	s.Cleanup(func() { wait.Until(s.T, "zram is unloaded", func() bool { return s.unloaded("zram") }) })
	s.watch("/dev/zram0")
	return "/dev/zram0"
}

// brd makes a disk in memory.
func (s *stage) brd() string {
	s.Helper()
	s.module("brd", "rd_nr=1", fmt.Sprintf("rd_size=%d", diskSize>>10))
	s.Cleanup(func() { wait.Until(s.T, "brd is unloaded", func() bool { return s.unloaded("brd") }) })
	s.watch("/dev/ram0")
	return "/dev/ram0"
}

// container starts another process whose root is an overlay over a directory.
func (s *stage) container(layer string) {
	s.Helper()
	for _, dir := range []string{"upper", "work", "lower"} {
		if err := os.Mkdir(layer+"/"+dir, 0o755); err != nil {
			s.Fatal(err)
		}
	}
	line, _ := other(s.T, "container", layer, s.dir())
	if line != "up" {
		s.Fatal(line)
	}
}

// nbd makes a network block device with a server of this process.
func (s *stage) nbd() string {
	s.Helper()
	s.module("nbd", "nbds_max=1")
	s.Cleanup(func() { wait.Until(s.T, "nbd is unloaded", func() bool { return s.unloaded("nbd") }) })
	s.serveNBD()
	s.watch("/dev/nbd0")
	return "/dev/nbd0"
}

const (
	nbdSetSocket  = 0xab00
	nbdSetBlocks  = 0xab07
	nbdSetSize    = 0xab01
	nbdDo         = 0xab03
	nbdClear      = 0xab04
	nbdDisconnect = 0xab08
	nbdSetFlags   = 0xab0a
)

func (s *stage) serveNBD() {
	s.Helper()
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		s.Fatal(err)
	}
	f, err := os.OpenFile("/dev/nbd0", os.O_RDWR, 0)
	if err != nil {
		s.Fatal(err)
	}
	for _, set := range [][2]int{{nbdSetSize, 512}, {nbdSetBlocks, diskSize / 512}, {nbdSetFlags, 1}, {nbdSetSocket, fds[0]}} {
		if err := unix.IoctlSetInt(int(f.Fd()), uint(set[0]), set[1]); err != nil {
			s.Fatalf("nbd: %x: %v", set[0], err)
		}
	}
	server := os.NewFile(uintptr(fds[1]), "nbd")
	go func() {
		answerNBD(server, make([]byte, diskSize))
		_ = server.Close() // the kernel waits for that
	}()
	over := make(chan struct{})
	go func() {
		defer close(over)
		_ = unix.IoctlSetInt(int(f.Fd()), nbdDo, 0)
		_ = unix.IoctlSetInt(int(f.Fd()), nbdClear, 0)
		_ = f.Close()
		_ = unix.Close(fds[0])
	}()
	wait.Until(s.T, "the network block device", func() bool { return has("/sys/block/nbd0", "pid") })
	s.Cleanup(func() {
		if control, err := os.OpenFile("/dev/nbd0", os.O_RDWR, 0); err == nil {
			_ = unix.IoctlSetInt(int(control.Fd()), nbdDisconnect, 0)
			_ = control.Close()
		}
		<-over
	})
}

// answerNBD answers requests of the kernel (the nbd project's doc/proto.md,
// transmission phase) until it says goodbye.
func answerNBD(stream io.ReadWriter, contents []byte) {
	head := make([]byte, 28)
	for {
		if _, err := io.ReadFull(stream, head); err != nil {
			return
		}
		number := func(from, to int) (n int64) {
			for _, b := range head[from:to] {
				n = n<<8 | int64(b)
			}
			return n
		}
		kind, at, length := number(6, 8), number(16, 24), number(24, 28)
		answer := append([]byte{0x67, 0x44, 0x66, 0x98, 0, 0, 0, 0}, head[8:16]...)
		switch kind {
		case 0:
			answer = append(answer, contents[at:at+length]...)
		case 1:
			if _, err := io.ReadFull(stream, contents[at:at+length]); err != nil {
				return
			}
		case 2:
			return
		}
		if _, err := stream.Write(answer); err != nil {
			return
		}
	}
}
