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

func names() []Script {
	dirs := []Op{mkdir("A"), mkdir("B")}
	return []Script{
		{Name: "create-fsync", About: "new files are written and synced, but the directory is not", Setup: []Op{mkdir("A")},
			Ops: ops(file("foo", small), []Op{fsync("foo")}, file("A/bar", large), []Op{fsync("A/bar")}, file("A/foo", 10), []Op{fsync("A/foo")})},
		{Name: "create-fsync-dir", About: "new files are written and synced, and then their directory", Setup: []Op{mkdir("A")},
			Ops: ops(file("A/foo", small), []Op{fsync("A/foo"), fsyncDir("A")}, file("bar", large), []Op{fsync("bar"), fsyncDir("")})},
		{Name: "rename-across-dirs", About: "files move from one directory to another, and both are synced",
			Setup: ops(dirs, file("A/foo", small), file("A/bar", large)),
			Ops:   []Op{rename("A/foo", "B/foo"), fsyncDir("B"), fsyncDir("A"), rename("A/bar", "B/bar"), fsync("B/bar"), rename("B/foo", "A/bar"), fsyncDir("A"), fsyncDir("B")}},
		{Name: "rename-dir", About: "a directory with files in it is renamed, and moved into another one",
			Setup: ops(dirs, []Op{mkdir("A/C")}, file("A/C/foo", small), file("A/C/bar", large)),
			Ops: ops([]Op{rename("A/C", "A/D"), fsyncDir("A"), rename("A/D", "B/C"), fsyncDir("B"), fsyncDir("A")},
				file("B/C/new", small), []Op{fsync("B/C/new"), fsyncDir("B/C"), rename("B", "E"), fsyncDir("")})},
		{Name: "link-fsync", About: "a file gets more hard links, and loses its first name",
			Setup: ops(dirs, file("A/foo", small)),
			Ops:   []Op{link("A/foo", "A/bar"), fsync("A/foo"), link("A/foo", "B/foo"), fsyncDir("B"), unlink("A/foo"), fsyncDir("A"), appendTo("B/foo", 2000), fsync("B/foo")}},
		{Name: "unlink-recreate", About: "a file is removed and created again under the same name with different contents",
			Setup: ops(file("foo", large), file("bar", small)),
			Ops: ops([]Op{unlink("foo")}, file("foo", small), []Op{fsync("foo"), fsyncDir(""), unlink("bar"), fsyncDir(""), unlink("foo")},
				file("foo", 9000), []Op{fsync("foo"), fsyncDir("")})},
		{Name: "directory-tree", About: "nested directories with files are created, and each parent is synced",
			Ops: ops([]Op{mkdir("A"), fsyncDir(""), mkdir("A/B"), fsyncDir("A")}, file("A/B/foo", small), []Op{fsync("A/B/foo"), fsyncDir("A/B"),
				mkdir("A/B/C"), mkdir("A/B/C/D")}, file("A/B/C/D/bar", large), []Op{fsync("A/B/C/D/bar"), fsyncDir("A/B/C/D"), fsyncDir("A/B/C"), fsyncDir("A/B")})},
		{Name: "remove-tree", About: "files and their directories are removed, and the parent directories synced",
			Setup: ops([]Op{mkdir("A"), mkdir("A/B")}, file("A/B/foo", small), file("A/bar", large)),
			Ops:   []Op{unlink("A/B/foo"), fsyncDir("A/B"), {Do: "rmdir", Path: "A/B"}, fsyncDir("A"), unlink("A/bar"), {Do: "rmdir", Path: "A"}, fsyncDir("")}},
		{Name: "symlink", About: "a symbolic link is created, and switched to another target by rename",
			Setup: []Op{mkdir("v1"), mkdir("v2")},
			Ops:   []Op{{Do: "symlink", Path: "current", To: "v1"}, fsyncDir(""), {Do: "symlink", Path: "current.new", To: "v2"}, rename("current.new", "current"), fsyncDir("")}},
		{Name: "mail-delivery", About: "a message is written to tmp, synced and moved to new, as in maildir, and the directory of new is synced",
			Setup: []Op{mkdir("tmp"), mkdir("new")},
			Ops: ops(file("tmp/1", small), []Op{fsync("tmp/1"), link("tmp/1", "new/1"), fsyncDir("new"), unlink("tmp/1")},
				file("tmp/2", large), []Op{fsync("tmp/2"), rename("tmp/2", "new/2"), fsyncDir("new")})},
	}
}

func spaces() []Script {
	return []Script{
		{Name: "truncate-down", About: "a file is truncated and synced, and appended to again", Setup: file("foo", large),
			Ops: []Op{{Do: "truncate", Path: "foo", Size: 6000}, fsync("foo"), appendTo("foo", 5000), fsync("foo"), {Do: "truncate", Path: "foo"}, {Do: "fdatasync", Path: "foo"}, appendTo("foo", 800), fsync("foo")}},
		{Name: "truncate-up", About: "a file is extended by truncate and synced, and its hole is written", Setup: file("foo", small),
			Ops: []Op{{Do: "truncate", Path: "foo", Size: large}, fsync("foo"), {Do: "write", Path: "foo", Offset: 9000, Size: 3000}, {Do: "fdatasync", Path: "foo"}}},
		{Name: "fallocate", About: "space is preallocated for a file and then written, synced each time", Setup: file("foo", small),
			Ops: []Op{{Do: "fallocate", Path: "foo", Offset: small, Size: 12000}, fsync("foo"), {Do: "write", Path: "foo", Offset: 4096, Size: 4096}, {Do: "fdatasync", Path: "foo"}, {Do: "write", Path: "foo", Offset: 8192, Size: 6000}, fsync("foo")}},
		{Name: "fallocate-keep-size", About: "space is preallocated beyond the end of a file, which is then appended to", Setup: file("foo", small),
			Ops: []Op{{Do: "fallocate", Path: "foo", Offset: 4096, Size: 16384, KeepSize: true}, {Do: "fdatasync", Path: "foo"}, appendTo("foo", 3000), {Do: "fdatasync", Path: "foo"}, appendTo("foo", 6000), fsync("foo")}},
		{Name: "punch", About: "holes are punched into a file and written again", Setup: file("foo", large),
			Ops: []Op{{Do: "punch", Path: "foo", Offset: 4096, Size: 8192}, fsync("foo"), {Do: "punch", Path: "foo", Offset: 1000, Size: 2000}, {Do: "fdatasync", Path: "foo"}, {Do: "write", Path: "foo", Offset: 4096, Size: 5000}, fsync("foo")}},
	}
}

func programs() []Script {
	return []Script{
		{Name: "many-files-syncfs", About: "24 small files in two directories are made durable by one syncfs",
			Setup: []Op{mkdir("A"), mkdir("B")},
			Ops:   ops(many(12, "A/%02d", 300), many(12, "B/%02d", 4000), []Op{{Do: "sync"}})},
		{Name: "many-files-fsync", About: "8 small files are each written and synced, and then their directory",
			Setup: []Op{mkdir("A")}, Ops: ops(syncedFiles(8), []Op{fsyncDir("A")})},
	}
}

func syncedFiles(n int) []Op {
	var all []Op
	for i := range n {
		path := "A/" + string(rune('a'+i))
		all = append(all, ops(file(path, 900+int64(i)*700), []Op{fsync(path)})...)
	}
	return all
}

// controls verify the oracle: in one script nothing is promised, so no loss may be
// reported; in the other every filesystem must be caught.
func controls() []Script {
	claimed := []Op{create("foo"), write("foo", large), create("bar"), write("bar", small), rename("bar", "baz"), appendTo("foo", 3000)}
	for i := range claimed {
		claimed[i].Claimed = true
	}
	return []Script{
		{Name: "unsynced", About: "files are written, renamed and removed without any sync; nothing is claimed", Setup: file("old", large),
			Ops: ops(file("foo", large), file("bar", small), []Op{rename("bar", "baz"), appendTo("foo", 5000), unlink("old")}, file("old", small))},
		{Name: "claims-without-fsync", About: "the author expects each call to be durable on return and syncs nothing: the losses must be found on every filesystem",
			Careless: true, Setup: file("old", large), Ops: claimed},
	}
}
