package script

import "fmt"

// Library returns the workloads that applications rely on, by name.
func Library() []Script {
	var all []Script
	for _, part := range [][]Script{replacing(), appending(), names(), spaces(), programs(), controls(), databases()} {
		all = append(all, part...)
	}
	return all
}

// Sizes of files, in bytes. Neither is a multiple of the block size, so that the
// last block is partly used.
const (
	small = 3000
	large = 20000
)

func create(path string) Op               { return Op{Do: "create", Path: path} }
func write(path string, size int64) Op    { return Op{Do: "write", Path: path, Size: size} }
func appendTo(path string, size int64) Op { return Op{Do: "append", Path: path, Size: size} }
func fsync(path string) Op                { return Op{Do: "fsync", Path: path} }
func fsyncDir(path string) Op             { return Op{Do: "fsync-dir", Path: path} }
func mkdir(path string) Op                { return Op{Do: "mkdir", Path: path} }
func unlink(path string) Op               { return Op{Do: "unlink", Path: path} }
func rename(path, to string) Op           { return Op{Do: "rename", Path: path, To: to} }
func link(path, to string) Op             { return Op{Do: "link", Path: path, To: to} }

func file(path string, size int64) []Op { return []Op{create(path), write(path, size)} }

func ops(parts ...[]Op) []Op {
	var all []Op
	for _, p := range parts {
		all = append(all, p...)
	}
	return all
}

func replacing() []Script {
	old := file("config", large)
	fresh := file("config.new", small)
	return []Script{
		{
			Name: "atomic-replace", About: "a file is replaced: write a new one, fsync, rename over, fsync the directory; twice",
			Setup: old,
			Ops: ops(fresh, []Op{fsync("config.new"), rename("config.new", "config"), fsyncDir("")},
				file("config.new", large), []Op{fsync("config.new"), rename("config.new", "config"), fsyncDir("")}),
		},
		{
			Name: "replace-without-dir-sync", About: "a file is replaced by rename after fsync of the new one; the directory is not synced, so either file may be there",
			Setup: old,
			Ops: ops(fresh, []Op{fsync("config.new"), rename("config.new", "config")},
				file("config.new", large), []Op{fsync("config.new"), rename("config.new", "config")}),
		},
		{
			Name: "replace-without-fsync", About: "a file is replaced by rename of a new one that was never synced, but that the author expects to be complete",
			Careless: true, Claims: Promises{ReplaceSyncs: true, AtomicReplace: true},
			Setup: old, Ops: ops(fresh, []Op{rename("config.new", "config"), fsyncDir("")}),
		},
		{
			Name: "log-rotation", About: "log is renamed to log.1, a new log is created, written and synced with its directory; twice",
			Setup: ops(file("log", large), file("log.1", small)),
			Ops: []Op{
				rename("log", "log.1"), create("log"), appendTo("log", 700), fsync("log"), fsyncDir(""),
				appendTo("log", 5000), fsync("log"),
				rename("log", "log.1"), create("log"), appendTo("log", 900), fsync("log"), fsyncDir(""),
			},
		},
		unpack(),
	}
}

// unpack does the same as dpkg when it upgrades a package (see dpkg's
// src/main/archives.c): all files are written beside their final places and synced,
// then each is renamed, then the status file is replaced.
func unpack() Script {
	s := Script{Name: "package-unpack", About: "a package is upgraded like dpkg does: each file is written as .dpkg-new, all are synced, each is renamed, then the status file is replaced"}
	paths := []string{"usr/bin/tool", "usr/lib/lib.so", "etc/tool.conf", "usr/share/doc"}
	s.Setup = []Op{mkdir("usr"), mkdir("usr/bin"), mkdir("usr/lib"), mkdir("usr/share"), mkdir("etc"), mkdir("var")}
	for _, p := range paths[:3] {
		s.Setup = append(s.Setup, file(p, 6000)...)
	}
	s.Setup = append(s.Setup, file("var/status", 2000)...)
	for i, p := range paths {
		s.Ops = append(s.Ops, file(p+".dpkg-new", 5000+int64(i)*3000)...)
	}
	for _, p := range paths {
		s.Ops = append(s.Ops, fsync(p+".dpkg-new"))
	}
	for _, p := range paths {
		s.Ops = append(s.Ops, rename(p+".dpkg-new", p))
	}
	for _, d := range []string{"usr/bin", "usr/lib", "usr/share", "etc"} {
		s.Ops = append(s.Ops, fsyncDir(d))
	}
	s.Ops = append(s.Ops, file("var/status-new", 2500)...)
	s.Ops = append(s.Ops, fsync("var/status-new"), rename("var/status-new", "var/status"), fsyncDir("var"))
	return s
}

func appending() []Script {
	appends := func(sync string) []Op {
		var all []Op
		for _, size := range []int64{100, 900, 4096, 7000, 513} {
			all = append(all, appendTo("journal", size), Op{Do: sync, Path: "journal"})
		}
		return all
	}
	var osync []Op
	for _, size := range []int64{200, 3896, 5000} {
		osync = append(osync, Op{Do: "append", Path: "journal", Size: size, Sync: true})
	}
	return []Script{
		{Name: "append-fsync", About: "records are appended to a file, each followed by fsync", Setup: file("journal", 100), Ops: appends("fsync")},
		{Name: "append-fdatasync", About: "records are appended to a file, each followed by fdatasync", Setup: file("journal", 100), Ops: appends("fdatasync")},
		{Name: "append-o-sync", About: "records are appended to a file that is opened with O_SYNC", Setup: file("journal", 100), Ops: osync},
		{
			Name: "overwrite-fsync", About: "parts of a file are overwritten in place, each followed by fsync",
			Setup: file("table", large),
			Ops: []Op{
				{Do: "write", Path: "table", Offset: 4096, Size: 4096}, fsync("table"),
				{Do: "write", Path: "table", Offset: 1000, Size: 700}, {Do: "write", Path: "table", Offset: 12288, Size: 6000}, fsync("table"),
				{Do: "write", Path: "table", Size: large}, {Do: "fdatasync", Path: "table"},
			},
		},
		{
			Name: "mmap-msync", About: "a file is changed through a shared mapping, each change followed by msync or fsync",
			Setup: file("map", 16384),
			Ops: []Op{
				{Do: "mmap-write", Path: "map", Offset: 4096, Size: 4096}, {Do: "msync", Path: "map"},
				{Do: "mmap-write", Path: "map", Offset: 100, Size: 9000}, {Do: "msync", Path: "map"},
				{Do: "mmap-write", Path: "map", Offset: 8192, Size: 8192}, fsync("map"),
			},
		},
	}
}

func many(n int, path string, size int64) []Op {
	var all []Op
	for i := range n {
		all = append(all, file(fmt.Sprintf(path, i), size+int64(i)*37)...)
	}
	return all
}
