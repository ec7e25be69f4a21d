package workload

import (
	"archive/tar"
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"whichfs/internal/filesystem"
	"whichfs/internal/plan/scenario"
	"whichfs/internal/result"
	"whichfs/internal/target/memory"
	"whichfs/internal/testing/needs"
	"whichfs/internal/testing/wait"
)

// Work that preserves or reads everything in a tree: tree-preserve, tree-pipe and tree-fetch.

// wholeTree has everything that cp -a preserves.
func wholeTree(t testing.TB) *memory.Tree {
	t.Helper()
	owner := 1000
	if os.Geteuid() != 0 {
		owner = os.Geteuid()
	}
	at := func(ns int64) time.Time { return time.Unix(1_600_000_000, ns) }
	hs := []tar.Header{
		{Typeflag: tar.TypeDir, Name: "etc", Mode: 0o755, ModTime: at(1)},
		{Typeflag: tar.TypeDir, Name: "etc/shut", Mode: 0o2550, Uid: owner, Gid: owner, ModTime: at(2), PAXRecords: map[string]string{"SCHILY.xattr.user.dir": "d"}},
		{Typeflag: tar.TypeReg, Name: "etc/shut/in", Mode: 0o400, Size: 5, ModTime: at(3)},
		{Typeflag: tar.TypeReg, Name: "etc/suid", Mode: 0o4755, Uid: owner, Gid: owner, Size: 300_001, ModTime: at(123_456_789),
			PAXRecords: map[string]string{"SCHILY.xattr.user.note": "a\x00b", "SCHILY.xattr.user.empty": ""}},
		{Typeflag: tar.TypeReg, Name: "etc/empty", Mode: 0o666, ModTime: at(5)},
		{Typeflag: tar.TypeSymlink, Name: "etc/dangling", Linkname: "../no/such", Mode: 0o777, Uid: owner, Gid: owner, ModTime: at(6)},
		{Typeflag: tar.TypeLink, Name: "hard", Linkname: "etc/suid"},
		{Typeflag: tar.TypeDir, Name: "sub", Mode: 0o700, ModTime: at(7)},
		{Typeflag: tar.TypeLink, Name: "sub/hard too", Linkname: "etc/suid"},
	}
	for i := range 300 { // more than a buffer of directory entries
		hs = append(hs, tar.Header{Typeflag: tar.TypeReg, Name: fmt.Sprintf("sub/%s.%03d", strings.Repeat("n", 120), i), Mode: 0o644, Size: int64(i * i), ModTime: at(int64(i))})
	}
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for _, h := range hs {
		h.Format = tar.FormatPAX
		if err := w.WriteHeader(&h); err != nil {
			t.Fatal(err)
		}
		_, _ = io.WriteString(w, strings.Repeat("0123456789", int(h.Size)/10+1)[:h.Size])
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	tree, err := memory.LoadTree("tree", &b, int64(b.Len()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = tree.Close() })
	return tree
}

// whole describes everything that a tree or a copy of it must contain: contents, links, owners,
// modes, times, attributes.
func whole(t testing.TB, dir string) string {
	t.Helper()
	var b strings.Builder
	first := map[uint64]string{}
	b.WriteString(digest(t, dir))
	err := filepath.Walk(dir, func(path string, info os.FileInfo, err error) error {
		if err != nil || path == dir {
			return err
		}
		rel, _ := filepath.Rel(dir, path)
		var st unix.Stat_t
		if err := unix.Lstat(path, &st); err != nil {
			return err
		}
		fmt.Fprintf(&b, "%q %d:%d %o %d.%09d", rel, st.Uid, st.Gid, st.Mode&0o7777, st.Mtim.Sec, st.Mtim.Nsec)
		if !info.IsDir() && st.Nlink > 1 {
			if first[st.Ino] == "" {
				first[st.Ino] = rel
			}
			fmt.Fprintf(&b, " = %q of %d", first[st.Ino], st.Nlink)
		}
		for _, name := range []string{"user.dir", "user.note", "user.empty"} {
			value := make([]byte, 100)
			if n, err := unix.Lgetxattr(path, name, value); err == nil {
				fmt.Fprintf(&b, " %s=%q", name, value[:n])
			}
		}
		b.WriteByte('\n')
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// sameWhole compares two such descriptions and shows the first line that differs.
func sameWhole(t testing.TB, what, got, want string) {
	t.Helper()
	g, w := strings.Split(got, "\n"), strings.Split(want, "\n")
	for i := range max(len(g), len(w)) {
		if i >= len(g) || i >= len(w) || g[i] != w[i] {
			t.Errorf("%s: line %d is\n%.300s\nwant\n%.300s", what, i+1, strings.Join(g[min(i, len(g)):], "\n"), strings.Join(w[min(i, len(w)):], "\n"))
			return
		}
	}
}

// wholeEnv has that tree, and as root a filesystem in memory to fetch into.
func wholeEnv(t testing.TB, mount string) *Env {
	t.Helper()
	env := makeEnv(t, mount, nil)
	env.Trees["tree"] = wholeTree(t)
	env.Work = t.TempDir()
	return env
}

func onWholeFilesystems(t *testing.T, f func(t *testing.T, mount string)) {
	onFilesystems(t, f)
	if os.Geteuid() == 0 {
		t.Run("xfs", func(t *testing.T) { f(t, loopMount(t, "320M", "mkfs.xfs", "-q")) })
		t.Run("btrfs", func(t *testing.T) { f(t, loopMount(t, "128M", "mkfs.btrfs", "-q")) })
	}
}

func TestTreePreserve(t *testing.T) {
	old := unix.Umask(0o077)
	t.Cleanup(func() { unix.Umask(old) })
	onWholeFilesystems(t, func(t *testing.T, mount string) {
		env := wholeEnv(t, mount)
		wrote, x := must(t, env, TreePreserve, scenario.Step{Data: "tree", Dir: "x", Count: 2})
		if wrote.Files != 2*309 || wrote.Bytes != 2*(5+300_001+8_955_050) {
			t.Errorf("%+v", wrote)
		}
		got := whole(t, filepath.Join(mount, "x/1"))
		sameWhole(t, "the second copy", whole(t, filepath.Join(mount, "x/2")), got)
		owner := 1000
		if os.Geteuid() != 0 {
			owner = os.Geteuid()
		}
		for _, want := range []string{
			`"etc" 0:0 755 1600000000.000000001`,
			fmt.Sprintf(`"etc/shut" %d:%d 2550 1600000000.000000002 user.dir="d"`, owner, owner),
			`"etc/shut/in" 0:0 400 1600000000.000000003`,
			fmt.Sprintf(`"etc/suid" %d:%d 4755 1600000000.123456789 = "etc/suid" of 3 user.note="a\x00b" user.empty=""`, owner, owner),
			`"etc/empty" 0:0 666 1600000000.000000005`,
			fmt.Sprintf(`"etc/dangling" %d:%d 777 1600000000.000000006`, owner, owner),
			`= "etc/suid" of 3`,
		} {
			if os.Geteuid() == 0 && !strings.Contains(got, want) {
				t.Errorf("there is no %s in\n%.3000s", want, got)
			}
		}
		for _, m := range x.Measurements {
			if copied := m.Metric == result.CopiedAfter; copied != (m.Value > 0) {
				t.Errorf("left out, or copied in no time: %+v", m)
			}
		}
		env.Counts = true
		_, x = must(t, env, TreePreserve, scenario.Step{Data: "tree", Dir: "counted"})
		if at := slices.IndexFunc(x.Measurements, func(m result.Measurement) bool { return m.Metric == result.CopiedAfter }); x.Measurements[at].Absent == "" {
			t.Errorf("a time by a clock that counts instructions: %+v", x.Measurements[at])
		}
	})
}

// The oracle: the result of cp -a for the same copy.
func TestTreePreserveAgainstTool(t *testing.T) {
	onWholeFilesystems(t, func(t *testing.T, mount string) {
		env := wholeEnv(t, mount)
		must(t, env, TreePreserve, scenario.Step{Data: "tree", Dir: "x"})
		run(t, "cp", "-a", filepath.Join(mount, "x/1"), filepath.Join(mount, "x/tool"))
		sameWhole(t, "ours", whole(t, filepath.Join(mount, "x/1")), whole(t, filepath.Join(mount, "x/tool")))
	})
}

func TestTreePreserveLeavesOut(t *testing.T) {
	needs.Devices(t)
	env := wholeEnv(t, loopMount(t, "64M", "mkfs.ext4", "-q"))
	if err := unix.Mount("", env.Mount, "", unix.MS_REMOUNT, "nouser_xattr"); err == nil {
		_, x := must(t, env, TreePreserve, scenario.Step{Data: "tree", Dir: "x", Count: 2})
		for _, m := range x.Measurements {
			if m.Metric == result.LeftOutAttributes && m.Value != 0 && m.Value != 3 {
				t.Errorf("%+v", m)
			}
		}
	}
	// tmpfs of Linux before 6.6 does not support user attributes; one without owners gets none.
	env = wholeEnv(t, mountTmpfs(t, "size=64m"))
	env.FS.Lacks = lacking(filesystem.Lacks{Owners: true, Symlinks: true, Hardlinks: true})
	_, x := must(t, env, TreePreserve, scenario.Step{Data: "tree", Dir: "x"})
	got := map[string]float64{}
	for _, m := range x.Measurements {
		got[m.Metric] = m.Value
	}
	if got[result.LeftOutLinks] != 1 || got[result.LeftOutOwners] != 308 {
		t.Errorf("%v", got)
	}
	var st unix.Stat_t
	if err := unix.Lstat(filepath.Join(env.Mount, "x/1/etc/suid"), &st); err != nil || st.Uid != 0 || st.Mode&0o7777 != 0o600 || st.Mtim.Nsec != 123_456_789 {
		t.Errorf("%+v, %v", st, err)
	}
}

// The refusal comes before anything is written.
func TestTreePreserveRefuses(t *testing.T) {
	needs.Devices(t)
	env := wholeEnv(t, mountTmpfs(t, "size=9150k,nr_inodes=1000"))
	_, _, err := perform(t, env, TreePreserve, scenario.Step{Data: "tree", Dir: "x"})
	wantFailure(t, err, result.Refused, "with a margin of 2 %")
	env = wholeEnv(t, mountTmpfs(t, "size=64m,nr_inodes=300"))
	_, _, err = perform(t, env, TreePreserve, scenario.Step{Data: "tree", Dir: "x"})
	wantFailure(t, err, result.Refused, "309 inodes are needed and 299 are free")
	if left, _ := os.ReadDir(env.Mount); len(left) != 0 {
		t.Errorf("%v was written", left)
	}
}

func TestTreePipe(t *testing.T) {
	onWholeFilesystems(t, func(t *testing.T, mount string) {
		env := wholeEnv(t, mount)
		step := scenario.Step{Data: "tree", Dir: "x"}
		must(t, env, TreePreserve, step)
		read, _ := must(t, env, TreePipe, step)
		// Three names of one file, which is read once.
		if read.Files != 309 || read.Bytes != 5+300_001+8_955_050 {
			t.Errorf("%+v", read)
		}
	})
}

// The pipe's output has the size of an archive: a block for each entry, contents in whole blocks,
// the end, in whole records.
func TestTreePipeStream(t *testing.T) {
	env := wholeEnv(t, t.TempDir())
	step := scenario.Step{Data: "tree", Dir: "x"}
	must(t, env, TreePreserve, step)
	tree := env.Trees["tree"]
	want := int64(2 * tarBlock)
	for i := range tree.Entries {
		want += tarBlock + (int64(len(tree.Entries[i].Data))+tarBlock-1)/tarBlock*tarBlock
	}
	want = (want + tarRecord - 1) / tarRecord * tarRecord
	d := newDrainer()
	defer d.end()
	p := &piper{dir: terminated(filepath.Join(env.Mount, "x/1")), walk: newWalk(""), names: newNames(tree), link: make([]byte, 4096),
		record: make([]byte, tarRecord), drain: d}
	var tally Tally
	if err := p.run(&tally); err != nil {
		t.Fatal(err)
	}
	if d.bytes != want || p.sent != want {
		t.Errorf("%d bytes came out, %d went in, want %d", d.bytes, p.sent, want)
	}
}

func TestTreeReadsMismatch(t *testing.T) {
	for _, k := range []Kind{TreePipe, TreeFetch} {
		env := wholeEnv(t, t.TempDir())
		step := scenario.Step{Data: "tree", Dir: "x"}
		must(t, env, TreePreserve, step)
		if err := os.Truncate(filepath.Join(env.Mount, "x/1/etc/suid"), 2); err != nil {
			t.Fatal(err)
		}
		_, _, err := perform(t, env, k, step)
		wantFailure(t, err, result.SubjectFailed, "were written")
		if err := os.Remove(filepath.Join(env.Mount, "x/1/etc/empty")); err != nil {
			t.Fatal(err)
		}
		_, _, err = perform(t, env, k, step)
		wantFailure(t, err, result.SubjectFailed, "were written")
		if err := os.RemoveAll(filepath.Join(env.Mount, "x/1")); err != nil {
			t.Fatal(err)
		}
		_, _, err = perform(t, env, k, step)
		wantFailure(t, err, result.SubjectFailed, `open "x/1": no such file`)
		if left, _ := os.ReadDir(env.Work); len(left) != 0 {
			t.Errorf("%s left %v", k.Name, left)
		}
		_, _, err = perform(t, env, k, scenario.Step{Data: "none", Dir: "x"})
		wantFailure(t, err, result.Refused, `no tree "none"`)
	}
}

func TestTreeFetch(t *testing.T) {
	onWholeFilesystems(t, func(t *testing.T, mount string) {
		env := wholeEnv(t, mount)
		step := scenario.Step{Data: "tree", Dir: "x"}
		must(t, env, TreePreserve, step)
		job, err := TreeFetch.Setup(t.Context(), env, step)
		if err != nil {
			t.Fatal(err)
		}
		var read Tally
		if err := job.Run(&read); err != nil {
			t.Fatal(err)
		}
		if read.Files != 309 || read.Bytes != 5+300_001+8_955_050 {
			t.Errorf("%+v", read)
		}
		sameWhole(t, "in memory", whole(t, filepath.Join(env.Work, "fetched")), whole(t, filepath.Join(mount, "x/1")))
		if _, err := job.After(); err != nil {
			t.Fatal(err)
		}
		if left, _ := os.ReadDir(env.Work); len(left) != 0 {
			t.Errorf("left: %v", left)
		}
	})
}

// Nothing is read if memory does not suffice.
func TestTreeFetchRefuses(t *testing.T) {
	needs.Devices(t)
	for _, options := range []string{"size=20m", "size=640m,nr_inodes=100"} {
		env := wholeEnv(t, t.TempDir())
		env.Work = mountTmpfs(t, options)
		_, _, err := perform(t, env, TreeFetch, scenario.Step{Data: "tree", Dir: "not there"})
		wantFailure(t, err, result.Refused, "does not fit into memory")
	}
}

// The programs do the same to the same tree, and what they do not do is an error.
func TestTreeTools(t *testing.T) {
	env := wholeEnv(t, t.TempDir())
	step := scenario.Step{Data: "tree", Dir: "x"}
	for _, k := range []Kind{TarNull, TarPipe, CpFetch} {
		_, _, err := perform(t, env, k, step)
		wantFailure(t, err, result.SubjectFailed, "No such file")
	}
	must(t, env, TreePreserve, step)
	for _, k := range []Kind{TarNull, TarPipe, CpFetch} {
		read, extra := must(t, env, k, step)
		if read.Files != 309 || read.Bytes != 5+300_001+8_955_050 || len(extra.Notes) != 1 || !strings.Contains(extra.Notes[0].Text, "GNU") {
			t.Errorf("%s: %+v %+v", k.Name, read, extra)
		}
	}
	large := step
	large.Block = 1 << 20
	must(t, env, TarPipe, large)
	large.Block = 1000
	_, _, err := perform(t, env, TarPipe, large)
	wantFailure(t, err, result.Refused, "multiples of 512")

	if err := os.RemoveAll(filepath.Join(env.Mount, "x/1/sub")); err != nil {
		t.Fatal(err)
	}
	_, _, err = perform(t, env, TarPipe, step)
	if err == nil || !strings.Contains(err.Error(), "tar wrote") {
		t.Error(err)
	}
	job, err := CpFetch.Setup(t.Context(), env, step)
	if err != nil || job.Run(&Tally{}) != nil {
		t.Fatal(err)
	}
	_, err = job.After()
	wantFailure(t, err, result.SubjectFailed, "cp copied")
	if left, _ := os.ReadDir(env.Work); len(left) != 0 {
		t.Errorf("left: %v", left)
	}
	dir := t.TempDir()
	t.Setenv("PATH", dir)
	for script, want := range map[string]string{
		"":                                  "tar is not installed",
		"#!/bin/sh\necho bsdtar 3.6.2\n":    "tar is not GNU tar",
		"#!/bin/sh\necho BusyBox >&2\n":     "tar is not GNU tar",
		"#!/bin/sh\necho GNU; kill -9 $$\n": "tar is not GNU tar",
	} {
		if script != "" {
			if err := os.WriteFile(filepath.Join(dir, "tar"), []byte(script), 0o755); err != nil {
				t.Fatal(err)
			}
		}
		if job, err := TarNull.Setup(t.Context(), env, step); err != nil || !strings.Contains(job.Absent, want) {
			t.Errorf("%q: %+v, %v", script, job, err)
		}
		_ = os.Remove(filepath.Join(dir, "tar"))
	}
}

// A step that names no tree has no expectations: every name is read.
func TestReadsOfUnknown(t *testing.T) {
	env := wholeEnv(t, t.TempDir())
	must(t, env, TreePreserve, scenario.Step{Data: "tree", Dir: "x"})
	for _, k := range []Kind{TreePipe, TreeFetch} {
		if read, _ := must(t, env, k, scenario.Step{Dir: "x"}); read.Files != 309 || read.Bytes != 5+3*300_001+8_955_050 {
			t.Errorf("%s: %+v", k.Name, read)
		}
	}
}

// The image of a read-only filesystem is the tree itself.
func TestReadsOfImages(t *testing.T) {
	env := wholeEnv(t, t.TempDir())
	if err := env.Trees["tree"].Extract(env.Mount); err != nil {
		t.Fatal(err)
	}
	env.FS.ReadOnly = true
	for _, k := range []Kind{TreePipe, TreeFetch} {
		if read, _ := must(t, env, k, scenario.Step{Data: "tree"}); read.Files != 309 {
			t.Errorf("%s: %+v", k.Name, read)
		}
	}
}

// A thread that never had to read ends with its step, and the runtime gets its processor back.
func TestDrainerUnused(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	env := wholeEnv(t, t.TempDir())
	ctx, cancel := context.WithCancel(t.Context())
	if _, err := TreePipe.Setup(ctx, env, scenario.Step{Data: "tree", Dir: "x"}); err != nil {
		t.Fatal(err)
	}
	if n := runtime.GOMAXPROCS(0); n != drainProcs {
		t.Errorf("the runtime has %d", n)
	}
	cancel()
	wait.Until(t, "the runtime gets back what it had", func() bool { return runtime.GOMAXPROCS(0) == 1 })
}

func TestWholeNoAllocation(t *testing.T) {
	env := wholeEnv(t, t.TempDir())
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	defer debug.SetGCPercent(debug.SetGCPercent(-1))
	for _, k := range []Kind{TreePreserve, TreePipe, TreeFetch} {
		least := ^uint64(0)
		for i := range 3 {
			dir := fmt.Sprintf("t%d", i)
			job, err := k.Setup(t.Context(), env, scenario.Step{Data: "tree", Dir: dir})
			if err != nil {
				t.Fatal(err)
			}
			var tally Tally
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			err = job.Run(&tally)
			runtime.ReadMemStats(&after)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := job.After(); err != nil {
				t.Fatal(err)
			}
			least = min(least, after.Mallocs-before.Mallocs)
		}
		if least != 0 {
			t.Errorf("%s: %d allocations", k.Name, least)
		}
	}
}
