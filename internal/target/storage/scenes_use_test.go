package storage

import (
	"fmt"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"

	"whichfs/internal/testing/wait"
)

// useScenes: storage in use is refused, whatever is named.
var useScenes = []scene{
	{name: "mounted", common: true, want: refusal, says: []string{"mounted at", "umount"}, stage: func(s *stage) {
		path, _ := s.disk()
		s.storage = s.formatted(path)
		s.knownAs(path)
		s.mount(path, "ext4")
	}},
	{name: "mounted for reading", common: true, want: refusal, says: []string{"mounted at"}, stage: func(s *stage) {
		path, _ := s.disk()
		s.storage = s.formatted(path)
		s.knownAs(path)
		dir := s.mount(path, "ext4")
		if err := unix.Mount("", dir, "", unix.MS_REMOUNT|unix.MS_RDONLY, ""); err != nil {
			s.Fatal(err)
		}
	}},
	{name: "mounted in another namespace alone", common: true, want: refusal, says: []string{"mounted at"}, stage: func(s *stage) {
		path, _ := s.disk()
		s.storage = s.formatted(path)
		s.knownAs(path)
		other(s.T, "mount", path, s.dir())
	}},
	{name: "disk of a mounted partition", common: true, want: refusal, says: []string{"p1 is mounted at"}, stage: func(s *stage) {
		path, _ := s.disk()
		s.storage = path
		part := s.formatted(s.partition(path))
		s.knownAs(path)
		s.mount(part, "ext4")
	}},
	{name: "mounted partition", common: true, want: refusal, says: []string{"mounted at"}, stage: func(s *stage) {
		path, _ := s.disk()
		s.storage = s.formatted(s.partition(path))
		s.knownAs(s.storage)
		s.mount(s.storage, "ext4")
	}},
	{name: "partition of a disk that is mounted whole", common: true, want: refusal, says: []string{"is mounted at"}, stage: func(s *stage) {
		path, _ := s.disk()
		s.storage = s.partition(path)
		s.knownAs(s.storage)
		s.mount(s.formatted(path), "ext4")
	}},
	{name: "swap", common: true, want: refusal, says: []string{"in use as swap", "swapoff"}, stage: func(s *stage) {
		path, _ := s.disk()
		s.storage = path
		s.knownAs(path)
		s.swapOn(path)
	}},
	{name: "disk of a partition that is swap", common: true, want: refusal, says: []string{"p1 is in use as swap"}, stage: func(s *stage) {
		path, _ := s.disk()
		s.storage = path
		part := s.partition(path)
		s.knownAs(path)
		s.swapOn(part)
	}},
	{name: "held by a program that no list shows", common: true, want: refusal, says: []string{"exclusively"}, stage: func(s *stage) {
		path, _ := s.disk()
		s.storage = path
		s.knownAs(path)
		s.hold(path)
	}},
	{name: "partition held by a program that no list shows", common: true, want: refusal, says: []string{"exclusively"}, stage: func(s *stage) {
		path, _ := s.disk()
		s.storage = path
		part := s.partition(path)
		s.knownAs(path)
		s.hold(part)
	}},
	{name: "locked by another program", common: true, want: refusal, probe: probed, says: []string{"has locked"}, stage: func(s *stage) {
		path, _ := s.disk()
		s.storage = path
		s.knownAs(path)
		s.lock(path)
	}},
	{name: "partition whose disk another program has locked", common: true, want: refusal, probe: probed, says: []string{"has locked"}, stage: func(s *stage) {
		path, _ := s.disk()
		s.storage = s.partition(path)
		s.knownAs(s.storage)
		s.lock(path)
	}},
	{name: "another run on it", common: true, want: refusal, probe: notProbed, says: []string{"another run of whichfs"}, stage: func(s *stage) {
		path, _ := s.disk()
		s.knownAs(path)
		s.anotherRun(path)
		s.storage = path
	}},
	{name: "another run on its partition", common: true, want: refusal, probe: notProbed, says: []string{"another run of whichfs"}, stage: func(s *stage) {
		path, _ := s.disk()
		part := s.partition(path)
		s.knownAs(path)
		s.anotherRun(part)
		s.storage = path
	}},
	{name: "another run on another partition of the disk", common: true, want: refusal, probe: notProbed, says: []string{"another run of whichfs"}, stage: func(s *stage) {
		path, _ := s.disk()
		first := s.partition(path)
		s.run("addpart", path, "2", fmt.Sprint((partStart+partLength)/512), "2048")
		wait.Until(s.T, "node of the second partition", func() bool { return has("/dev", filepath.Base(path)+"p2") })
		s.anotherRun(first)
		s.storage = path + "p2"
		s.knownAs(s.storage)
	}},
	{name: "another run on the disk of the partition", common: true, want: refusal, probe: notProbed, says: []string{"another run of whichfs"}, stage: func(s *stage) {
		path, _ := s.disk()
		part := s.partition(path)
		s.knownAs(part)
		s.anotherRun(path)
		s.storage = part
	}},
	{name: "read-only device", common: true, want: refusal, probe: probed, says: []string{"read-only"}, stage: func(s *stage) {
		path, _ := s.disk()
		s.storage = path
		s.knownAs(path)
		protect(s.T, path, 1)
		s.Cleanup(func() { protect(s.T, path, 0) })
	}},
	{name: "partition of a read-only device", common: true, want: refusal, probe: probed, says: []string{"read-only"}, stage: func(s *stage) {
		path, _ := s.disk()
		s.storage = s.partition(path)
		s.knownAs(s.storage)
		protect(s.T, path, 1)
		s.Cleanup(func() { protect(s.T, path, 0) })
	}},
	{name: "btrfs whose other device is mounted", common: true, want: refusal, says: []string{"btrfs"}, stage: func(s *stage) {
		first, _ := s.disk(32 << 20)
		second, _ := s.disk(32 << 20)
		s.run("mkfs.btrfs", "-q", "--mixed", "-d", "single", "-m", "single", first, second)
		s.storage = second
		s.knownAs(second)
		s.run("btrfs", "device", "scan", first, second)
		// Read-write, it could commit a transaction at any time after the mount.
		s.mount(first, "btrfs", "ro", "device="+first, "device="+second)
	}},
	{name: "external journal in use", common: true, want: refusal, says: []string{"exclusively"}, stage: func(s *stage) {
		journal, _ := s.disk(16 << 20)
		path, _ := s.disk(16 << 20)
		s.run("mkfs.ext4", "-q", "-F", "-O", "journal_dev", "-b", "1024", journal)
		s.run("mkfs.ext4", "-q", "-F", "-b", "1024", "-E", "lazy_itable_init=0,lazy_journal_init=0", "-J", "device="+journal, path)
		s.storage = journal
		s.knownAs(journal)
		s.mount(path, "ext4")
	}},
	{name: "loop device's file is on it", common: true, want: refusal, says: []string{"mounted at"}, stage: func(s *stage) {
		path, _ := s.disk()
		s.storage = s.formatted(path)
		s.knownAs(path)
		dir := s.mount(path, "ext4")
		file := dir + "/image"
		if err := os.WriteFile(file, make([]byte, 1<<20), 0o600); err != nil {
			s.Fatal(err)
		}
		s.over(file)
	}},
	{name: "loop device over it", common: true, want: refusal, says: []string{"loop"}, stage: func(s *stage) {
		path, _ := s.disk()
		s.storage = path
		s.knownAs(path)
		s.over(path)
	}},
	{name: "loop device over a device", common: true, want: refusal, says: []string{"loop device on"}, stage: func(s *stage) {
		path, _ := s.disk()
		s.storage = s.over(path)
		s.knownAs(s.storage)
	}},
	{name: "disk with a loop device over its partition", common: true, want: refusal, says: []string{"loop"}, stage: func(s *stage) {
		path, _ := s.disk()
		s.storage = path
		part := s.partition(path)
		s.knownAs(path)
		s.over(part)
	}},
	{name: "partition with a loop device over it", common: true, want: refusal, says: []string{"loop"}, stage: func(s *stage) {
		path, _ := s.disk()
		s.storage = s.partition(path)
		s.knownAs(s.storage)
		s.over(s.storage)
	}},
	{name: "partition with a loop device over its disk", common: true, want: refusal, says: []string{"loop"}, stage: func(s *stage) {
		path, _ := s.disk()
		s.storage = s.partition(path)
		s.knownAs(s.storage)
		s.over(path)
	}},
	{name: "loop device over it by a node elsewhere", common: true, want: refusal, says: []string{"loop"}, stage: func(s *stage) {
		path, _ := s.disk()
		s.storage = path
		s.knownAs(path)
		s.over(s.node(s.dir()+"/disk", path))
	}},
	{name: "mounted loop device over it by a node elsewhere", common: true, want: refusal, says: []string{"loop"}, stage: func(s *stage) {
		path, _ := s.disk()
		s.storage = s.formatted(path)
		s.knownAs(path)
		s.mount(s.over(s.node(s.dir()+"/disk", path)), "ext4")
	}},
	{name: "mounted loop device over it by a node that is gone", common: true, want: refusal, says: []string{"loop"}, stage: func(s *stage) {
		path, _ := s.disk()
		s.storage = s.formatted(path)
		s.knownAs(path)
		node := s.node(s.dir()+"/disk", path)
		s.mount(s.over(node), "ext4")
		if err := os.Remove(node); err != nil {
			s.Fatal(err)
		}
	}},
	{name: "loop device over a device by a node elsewhere", common: true, want: refusal, says: []string{"loop device on"}, stage: func(s *stage) {
		path, _ := s.disk()
		s.storage = s.over(s.node(s.dir()+"/disk", path))
		s.knownAs(s.storage)
	}},
	{name: "loop twin that is mounted", common: true, want: refusal, says: []string{", which is the same storage, is mounted at"}, stage: func(s *stage) {
		path, file := s.disk()
		s.formatted(path)
		s.storage = s.over(file.Name())
		s.knownAs(s.storage)
		s.mount(path, "ext4")
	}},
	{name: "loop twin whose partition is mounted", common: true, want: refusal, says: []string{"mounted at"}, stage: func(s *stage) {
		path, file := s.disk()
		part := s.formatted(s.partition(path))
		s.storage = s.over(file.Name())
		s.knownAs(s.storage)
		s.mount(part, "ext4")
	}},
	{name: "loop twin that is swap", common: true, want: refusal, says: []string{"swap"}, stage: func(s *stage) {
		path, file := s.disk()
		s.storage = s.over(file.Name())
		s.knownAs(s.storage)
		s.swapOn(path)
	}},
	{name: "loop twin that a program holds", common: true, want: refusal, says: []string{", which is the same storage: it is in use"}, stage: func(s *stage) {
		path, file := s.disk()
		s.storage = s.over(file.Name())
		s.knownAs(s.storage)
		s.hold(path)
	}},
	{name: "loop twin by another name of the file", common: true, want: refusal, says: []string{"mounted at"}, stage: func(s *stage) {
		path, file := s.disk()
		s.formatted(path)
		second := file.Name() + "-too"
		if err := os.Link(file.Name(), second); err != nil {
			s.Fatal(err)
		}
		s.storage = s.over(second)
		s.knownAs(s.storage)
		s.mount(path, "ext4")
	}},
}

// lock takes the lock that systemd and mkfs take.
func (s *stage) lock(path string) {
	s.Helper()
	f, err := lockFile(s.Context(), path, 0)
	if err != nil {
		s.Fatal(err)
	}
	s.Cleanup(func() { _ = f.Close() })
}

// anotherRun claims storage for the length of the scene.
func (s *stage) anotherRun(path string) {
	s.Helper()
	s.storage = path
	if _, err := s.claim("", Options{ReadOnly: true}); err != nil {
		s.Fatal(err)
	}
}
