package storage

import (
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
)

// pathScenes: what a user can write in place of a device.
var pathScenes = []scene{
	{name: "link to a device", common: true, want: named, stage: func(s *stage) {
		path, _ := s.disk()
		s.target(path)
		s.storage = s.link(path)
	}},
	{name: "link to a link to a device", common: true, want: named, stage: func(s *stage) {
		path, _ := s.disk()
		s.target(path)
		s.storage = s.link(s.link(path))
	}},
	{name: "link to a mounted device", common: true, want: refusal, says: []string{"mounted at"}, stage: func(s *stage) {
		path, _ := s.disk()
		s.storage = s.link(s.formatted(path))
		s.knownAs(path)
		s.mount(path, "ext4")
	}},
	{name: "node elsewhere", common: true, want: named, stage: func(s *stage) {
		path, _ := s.disk()
		s.target(path)
		s.storage = s.node(s.dir()+"/disk", path)
	}},
	{name: "node elsewhere of a mounted device", common: true, want: refusal, says: []string{"mounted at"}, stage: func(s *stage) {
		path, _ := s.disk()
		s.storage = s.node(s.dir()+"/disk", s.formatted(path))
		s.knownAs(path)
		s.mount(path, "ext4")
	}},
	{name: "device mounted by a node elsewhere", common: true, want: refusal, says: []string{"mounted at"}, stage: func(s *stage) {
		path, _ := s.disk()
		s.storage = s.formatted(path)
		s.knownAs(path)
		s.mount(s.node(s.dir()+"/disk", path), "ext4")
	}},
	{name: "swap by a node elsewhere", common: true, want: refusal, says: []string{"swap"}, stage: func(s *stage) {
		path, _ := s.disk()
		s.storage = path
		s.knownAs(path)
		s.swapOn(s.node(s.dir()+"/disk", path))
	}},
	{name: "device that got another's number and size", common: true, want: named, says: []string{"precious"}, stage: func(s *stage) {
		before, after := s.dir()+"/before", s.dir()+"/after"
		for _, file := range []string{before, after} {
			if err := os.WriteFile(file, make([]byte, diskSize), 0o600); err != nil {
				s.Fatal(err)
			}
		}
		path := s.over(before)
		s.knownAs(path)
		s.run("losetup", "--detach", path)
		s.run("losetup", path, after)
		s.watch(path, before)
		s.target(s.formatted(path))
	}},
	{name: "dangling link", common: true, want: refusal, probe: notProbed, says: []string{"no such device"}, stage: func(s *stage) {
		s.storage = s.link("/dev/disk/by-id/none")
	}},
	{name: "links in a circle", common: true, want: refusal, probe: notProbed, stage: func(s *stage) {
		s.storage = s.link("there")
		if err := os.Symlink(filepath.Base(s.storage), filepath.Dir(s.storage)+"/there"); err != nil {
			s.Fatal(err)
		}
	}},
	{name: "nothing of that name", common: true, want: refusal, probe: notProbed, says: []string{"no such device"}, stage: func(s *stage) {
		s.storage = "/dev/sdzz"
	}},
	{name: "file", common: true, want: refusal, probe: notProbed, says: []string{"regular file"}, stage: func(s *stage) {
		s.storage = s.file()
	}},
	{name: "link to a file", common: true, want: refusal, probe: notProbed, says: []string{"regular file"}, stage: func(s *stage) {
		s.storage = s.link(s.file())
	}},
	{name: "file of a loop device", common: true, want: refusal, probe: notProbed, says: []string{"regular file"}, stage: func(s *stage) {
		_, file := s.disk()
		s.storage = file.Name()
	}},
	{name: "directory", common: true, want: refusal, probe: notProbed, says: []string{"directory"}, stage: func(s *stage) {
		s.storage = s.dir()
	}},
	{name: "fifo", common: true, want: refusal, probe: notProbed, says: []string{"not a block device"}, stage: func(s *stage) {
		s.storage = s.dir() + "/fifo"
		if err := unix.Mkfifo(s.storage, 0o600); err != nil {
			s.Fatal(err)
		}
	}},
	{name: "character device", common: true, want: refusal, probe: notProbed, says: []string{"not a block device"}, stage: func(s *stage) {
		s.storage = "/dev/zero"
	}},
	{name: "node without a device", common: true, want: refusal, probe: notProbed, says: []string{"no device is behind it"}, stage: func(s *stage) {
		s.storage = s.dir() + "/disk"
		if err := unix.Mknod(s.storage, unix.S_IFBLK|0o600, int(unix.Mkdev(8, 12345))); err != nil {
			s.Fatal(err)
		}
	}},
	{name: "device without a medium", common: true, want: refusal, probe: notProbed, says: []string{"its size is 0"}, stage: func(s *stage) {
		s.storage = s.unattached()
	}},
	{name: "storage of the lab", common: true, want: refusal, probe: notProbed, says: []string{"only in the lab"}, stage: func(s *stage) {
		s.storage = "disk:8M"
	}},
	{name: "serial number outside of the lab", common: true, want: refusal, probe: notProbed, says: []string{"lab"}, stage: func(s *stage) {
		s.storage = "serial:none"
	}},
	{name: "card outside of the lab", common: true, want: refusal, probe: notProbed, says: []string{"lab"}, stage: func(s *stage) {
		s.storage = "mmc:9"
	}},
	{name: "loop file", common: true, want: ours, stage: func(s *stage) {
		path, _ := s.disk()
		s.fill(path, 0, diskSize)
		s.storage = "loop:8M"
	}},
}

// file is a file that is in use.
func (s *stage) file() string {
	s.Helper()
	path := s.dir() + "/thesis"
	if err := os.WriteFile(path, []byte(strings.Repeat("precious\n", 1000)), 0o600); err != nil {
		s.Fatal(err)
	}
	s.watch(path)
	return path
}

// unattached is a loop device without a file.
func (s *stage) unattached() string {
	s.Helper()
	all, err := filepath.Glob("/sys/block/loop*")
	if err != nil {
		s.Fatal(err)
	}
	for _, dir := range all {
		if read(dir, "size") == "0" && !has(dir, "loop/backing_file") {
			return "/dev/" + filepath.Base(dir)
		}
	}
	s.Fatal("all loop devices have files")
	return ""
}
