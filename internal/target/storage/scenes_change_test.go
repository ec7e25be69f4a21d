package storage

import (
	"os"
	"path/filepath"
)

// changeScenes: changes after the storage was permitted.
var changeScenes = []scene{
	{name: "mounted after the claim", common: true, want: used, stage: freeDisk, change: func(s *stage) {
		s.mount(s.storage, "ext4")
	}},
	{name: "swap after the claim", common: true, want: used, stage: freeDisk, change: func(s *stage) {
		s.swapOn(s.storage)
	}},
	{name: "held after the claim", common: true, want: used, stage: freeDisk, change: func(s *stage) {
		s.hold(s.storage)
	}},
	{name: "loop device over it after the claim", common: true, want: used, stage: freeDisk, change: func(s *stage) {
		s.over(s.storage)
	}},
	{name: "mounted loop device over it after the claim", common: true, want: used, stage: freeDisk, change: func(s *stage) {
		s.mount(s.over(s.storage), "ext4")
	}},
	{name: "partition mounted after the claim", common: true, want: used, stage: func(s *stage) {
		path, _ := s.disk()
		s.target(path)
		s.formatted(s.partition(path))
	}, change: func(s *stage) {
		s.mount(s.storage+"p1", "ext4")
	}},
	{name: "disk of the partition mounted after the claim", common: true, want: used, stage: func(s *stage) {
		path, _ := s.disk()
		s.storage = s.partition(path)
		s.own(path, partStart, partStart+partLength)
		s.formatted(path)
	}, change: func(s *stage) {
		s.mount(s.storage[:len(s.storage)-2], "ext4")
	}},
	{name: "loop twin mounted after the claim", common: true, want: used, stage: func(s *stage) {
		path, file := s.disk()
		s.formatted(path)
		s.beside = s.over(file.Name())
		s.target(path)
	}, change: func(s *stage) {
		s.mount(s.beside, "ext4")
	}},
	{name: "made smaller after the claim", common: true, want: gone, stage: freeDisk, change: func(s *stage) {
		file := read("/sys/block/"+filepath.Base(s.storage), "loop/backing_file")
		if err := os.Truncate(file, diskSize/2); err != nil {
			s.Fatal(err)
		}
		s.run("losetup", "--set-capacity", s.storage)
		s.remember()
	}},
	{name: "node that refers to another device after the claim", common: true, want: gone, stage: func(s *stage) {
		path, _ := s.disk()
		s.target(s.formatted(path))
		s.beside, _ = s.disk()
		s.fill(s.beside, 0, diskSize)
		s.storage = s.node(s.dir()+"/disk", path)
	}, change: func(s *stage) {
		if err := os.Remove(s.storage); err != nil {
			s.Fatal(err)
		}
		s.node(s.storage, s.beside)
	}},
	{name: "node that becomes a file after the claim", common: true, want: gone, stage: func(s *stage) {
		path, _ := s.disk()
		s.target(s.formatted(path))
		s.storage = s.node(s.dir()+"/disk", path)
		s.beside = s.file()
	}, change: func(s *stage) {
		if err := os.Rename(s.beside, s.storage); err != nil {
			s.Fatal(err)
		}
		s.watch(s.storage)
		s.remember()
	}},
	{name: "link that leads elsewhere after the claim", common: true, want: kept, stage: func(s *stage) {
		path, _ := s.disk()
		s.target(s.formatted(path))
		s.beside, _ = s.disk()
		s.fill(s.beside, 0, diskSize)
		s.storage = s.link(path)
	}, change: func(s *stage) {
		if err := os.Remove(s.storage); err != nil {
			s.Fatal(err)
		}
		if err := os.Symlink(s.beside, s.storage); err != nil {
			s.Fatal(err)
		}
	}},
	{name: "locked by another program after the claim", common: true, want: kept, stage: freeDisk, change: func(s *stage) {
		s.lock(s.storage) // mkfs.btrfs does, too
	}},
	{name: "detached after the claim", common: true, want: kept, stage: freeDisk, change: func(s *stage) {
		s.run("losetup", "--detach", s.storage) // happens when the last one closes it
	}},
}

func freeDisk(s *stage) {
	path, _ := s.disk()
	s.target(s.formatted(path))
}
