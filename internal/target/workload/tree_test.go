package workload

import (
	"archive/tar"
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"whichfs/internal/filesystem"
	"whichfs/internal/plan/scenario"
	"whichfs/internal/result"
	"whichfs/internal/sys/command"
	"whichfs/internal/sys/dirlist/dirlisttest"
	"whichfs/internal/target/memory"
	"whichfs/internal/testing/needs"
)

// header is an entry of a test's tree: body is the contents of a file.
type header struct {
	kind       byte
	name, body string
	mode       int64
}

// oddTree has everything that is difficult to write.
func oddTree() []header {
	deep, shut, suid := "deep", int64(0o500), int64(0o4755)
	if os.Geteuid() != 0 {
		// Users other than root could not remove its contents, and lose the
		// set-user-ID bit when they write.
		shut, suid = 0o700, 0o755
	}
	hs := []header{
		{tar.TypeDir, "etc", "", 0o755}, {tar.TypeDir, "etc/empty.d", "", 0o755},
		{tar.TypeReg, "etc/empty", "", 0o644}, {tar.TypeReg, "etc/new\nline and ü 漢", "hello", 0o600},
		{tar.TypeReg, "etc/" + strings.Repeat("n", 255), strings.Repeat("x", 300_000), 0o644},
		{tar.TypeReg, "etc/Case", "upper", 0o644}, {tar.TypeReg, "etc/case", "lower", 0o644},
		{tar.TypeSymlink, "etc/dangling", "../no/such", 0o777}, {tar.TypeLink, "etc/hard", "etc/new\nline and ü 漢", 0o600},
		{tar.TypeDir, "closed", "", shut}, {tar.TypeReg, "closed/in", "side", 0o400},
		{tar.TypeReg, "run", "#!", suid}, {tar.TypeDir, "deep", "", 0o755},
	}
	for i := range 40 {
		deep += fmt.Sprintf("/%d", i)
		hs = append(hs, header{tar.TypeDir, deep, "", 0o755}, header{tar.TypeReg, deep + "/f", deep, 0o644})
	}
	return hs
}

func makeTree(t testing.TB, hs []header) *memory.Tree {
	t.Helper()
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for _, h := range hs {
		th := tar.Header{Typeflag: h.kind, Name: h.name, Mode: h.mode}
		switch h.kind {
		case tar.TypeReg:
			th.Size = int64(len(h.body))
		case tar.TypeSymlink, tar.TypeLink:
			th.Linkname = h.body
		}
		if err := w.WriteHeader(&th); err != nil {
			t.Fatal(err)
		}
		if h.kind == tar.TypeReg {
			_, _ = io.WriteString(w, h.body)
		}
	}
	_ = w.Close()
	tree, err := memory.LoadTree("tree", &b, int64(b.Len()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = tree.Close() })
	return tree
}

func makeEnv(t testing.TB, mount string, hs []header) *Env {
	t.Helper()
	stream, err := memory.NewStream("video", 7, 3_000_001)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = stream.Close() })
	return &Env{
		FS:      filesystem.Filesystem{Name: "test"},
		Mount:   mount,
		Mounted: true,
		Trees:   map[string]*memory.Tree{"tree": makeTree(t, hs)},
		Streams: map[string]*memory.Stream{"video": stream},
	}
}

// perform sets a step up and runs it.
func perform(t testing.TB, env *Env, k Kind, step scenario.Step) (Tally, Extra, error) {
	t.Helper()
	step.Work = k.Name
	job, err := k.Setup(context.Background(), env, step)
	if err != nil {
		return Tally{}, Extra{}, err
	}
	if job.Absent != "" {
		t.Fatalf("%s: absent: %s", k.Name, job.Absent)
	}
	before := openFiles(t)
	var tally Tally
	if err := job.Run(&tally); err != nil {
		if after := openFiles(t); after != before {
			t.Errorf("%s: %d descriptors before, %d after it failed", k.Name, before, after)
		}
		return tally, Extra{}, err
	}
	if after := openFiles(t); after != before {
		t.Errorf("%s: %d descriptors before, %d after", k.Name, before, after)
	}
	var x Extra
	if job.After != nil {
		if x, err = job.After(); err != nil {
			t.Fatal(err)
		}
	}
	return tally, x, nil
}

func must(t testing.TB, env *Env, k Kind, step scenario.Step) (Tally, Extra) {
	t.Helper()
	tally, x, err := perform(t, env, k, step)
	if err != nil {
		t.Fatalf("%s: %v", k.Name, err)
	}
	return tally, x
}

func openFiles(t testing.TB) int {
	t.Helper()
	fds, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	return len(fds)
}

// digest describes everything in a directory: names, types, modes, contents.
func digest(t testing.TB, dir string) string {
	t.Helper()
	var b strings.Builder
	err := filepath.Walk(dir, func(path string, info os.FileInfo, err error) error {
		if err != nil {
			return err
		}
		rel, _ := filepath.Rel(dir, path)
		fmt.Fprintf(&b, "%q %v", rel, info.Mode())
		switch {
		case info.Mode().IsRegular():
			body, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			fmt.Fprintf(&b, " %x", sha256.Sum256(body))
		case info.Mode()&os.ModeSymlink != 0:
			to, _ := os.Readlink(path)
			fmt.Fprintf(&b, " %q", to)
		}
		b.WriteByte('\n')
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func noUmask(t testing.TB) {
	old := unix.Umask(0)
	t.Cleanup(func() { unix.Umask(old) })
}

// onFilesystems runs a test in an ordinary directory and, as root, on the
// filesystems that every test machine can make.
func onFilesystems(t *testing.T, f func(t *testing.T, mount string)) {
	t.Run("directory", func(t *testing.T) { f(t, t.TempDir()) })
	if os.Geteuid() == 0 {
		t.Run("ext4", func(t *testing.T) { f(t, loopMount(t, "64M", "mkfs.ext4", "-q")) })
	}
}

// loopMount makes a filesystem in a file and mounts it.
func loopMount(t testing.TB, size string, mkfs ...string) string {
	t.Helper()
	needs.Devices(t)
	work := t.TempDir()
	image, mount := filepath.Join(work, "image"), filepath.Join(work, "mnt")
	run(t, "truncate", "-s", size, image)
	run(t, append(mkfs, image)...)
	if err := os.Mkdir(mount, 0o755); err != nil {
		t.Fatal(err)
	}
	run(t, "mount", "-o", "loop", image, mount)
	t.Cleanup(func() { run(t, "umount", mount) })
	return mount
}

func run(t testing.TB, argv ...string) {
	t.Helper()
	if path, err := command.Look(argv[0]); err == nil {
		argv[0] = path
	}
	if _, err := command.Run(context.Background(), command.Options{}, argv...); err != nil {
		t.Fatal(err)
	}
}

func TestTreeLife(t *testing.T) {
	noUmask(t)
	hs := oddTree()
	onFilesystems(t, func(t *testing.T, mount string) {
		env := makeEnv(t, mount, hs)
		want := filepath.Join(t.TempDir(), "want")
		if err := os.Mkdir(want, 0o755); err != nil {
			t.Fatal(err)
		}
		if err := env.Trees["tree"].Extract(want); err != nil {
			t.Fatal(err)
		}
		step := scenario.Step{Data: "tree", Dir: "data/trees", Count: 3}
		wrote, x := must(t, env, TreeCopy, step)
		if n := int64(len(hs)); wrote.Files != 3*n {
			t.Errorf("%d entries written, want %d", wrote.Files, 3*n)
		}
		if wrote.Bytes != 3*env.Trees["tree"].Bytes {
			t.Errorf("%d bytes written, want %d", wrote.Bytes, 3*env.Trees["tree"].Bytes)
		}
		if len(x.Notes) != 0 || len(x.Measurements) != 3 {
			t.Errorf("nothing was left out, and yet: %+v", x)
		}
		for i := 1; i <= 3; i++ {
			if got, want := digest(t, filepath.Join(mount, "data/trees", fmt.Sprint(i))), digest(t, want); got != want {
				t.Fatalf("copy %d:\n%swant:\n%s", i, got, want)
			}
		}
		one, _ := os.Stat(filepath.Join(mount, "data/trees/2/etc/hard"))
		two, _ := os.Stat(filepath.Join(mount, "data/trees/2/etc/new\nline and ü 漢"))
		if !os.SameFile(one, two) {
			t.Error("the hard link is a file of its own")
		}

		read, _ := must(t, env, TreeRead, step)
		// The copies' own directories are entries, too, and a hard link is read again.
		if read.Files != wrote.Files+3 || read.Bytes != wrote.Bytes+3*int64(len("hello")) {
			t.Errorf("read %+v, wrote %+v", read, wrote)
		}

		must(t, env, TreeRotate, step)
		for i := 1; i <= 6; i++ {
			dir := filepath.Join(mount, "data/trees", fmt.Sprint(i))
			if _, err := os.Stat(dir); (err == nil) != (i > 3) {
				t.Errorf("copy %d after the rotation: %v", i, err)
			}
			if i > 3 && digest(t, dir) != digest(t, want) {
				t.Errorf("copy %d differs after the rotation", i)
			}
		}
		must(t, env, TreeRead, step)

		gone, _ := must(t, env, TreeRemove, step)
		if gone.Files != wrote.Files+3 {
			t.Errorf("%d entries removed, want %d", gone.Files, wrote.Files+3)
		}
		if left, err := os.ReadDir(filepath.Join(mount, "data/trees")); err != nil || len(left) != 0 {
			t.Errorf("left after removing: %v, %v", left, err)
		}
	})
}

// A directory so large that its listing takes many calls.
func TestTreeLargeDirectory(t *testing.T) {
	hs := []header{{tar.TypeDir, "d", "", 0o755}}
	for i := range 3000 {
		hs = append(hs, header{tar.TypeReg, fmt.Sprintf("d/a rather long name of file %d", i), "x", 0o644})
	}
	onFilesystems(t, func(t *testing.T, mount string) {
		env := makeEnv(t, mount, hs)
		step := scenario.Step{Data: "tree", Dir: "x"}
		must(t, env, TreeCopy, step)
		must(t, env, TreeRead, step)
		if gone, _ := must(t, env, TreeRemove, step); gone.Files != 3002 {
			t.Errorf("%d entries removed", gone.Files)
		}
	})
}

func TestTreeReadMismatch(t *testing.T) {
	env := makeEnv(t, t.TempDir(), oddTree())
	step := scenario.Step{Data: "tree", Dir: "x"}
	must(t, env, TreeCopy, step)
	if err := os.Truncate(filepath.Join(env.Mount, "x/1/etc/Case"), 2); err != nil {
		t.Fatal(err)
	}
	_, _, err := perform(t, env, TreeRead, step)
	wantFailure(t, err, result.SubjectFailed, "were written")
	step.Data = "" // nothing is known: nothing to compare with
	must(t, env, TreeRead, step)
}

func wantFailure(t testing.TB, err error, o result.Outcome, text string) {
	t.Helper()
	var f *result.Failure
	if !errors.As(err, &f) || f.Outcome != o || !strings.Contains(f.Error(), text) {
		t.Errorf("error %#v (%v), want %s with %q", err, err, o, text)
	}
}

// lacking is a filesystem that cannot hold certain things, whatever its options.
func lacking(l filesystem.Lacks) func(filesystem.Candidate) filesystem.Lacks {
	return func(filesystem.Candidate) filesystem.Lacks { return l }
}

func TestTreeLeftOut(t *testing.T) {
	hs := append(oddTree(), header{tar.TypeDir, "bad:dir", "", 0o755},
		header{tar.TypeReg, "bad:dir/one", "1", 0o644}, header{tar.TypeDir, "bad:dir/d", "", 0o755})
	env := makeEnv(t, t.TempDir(), hs)
	env.FS.Lacks = lacking(filesystem.Lacks{Symlinks: true, Owners: true, Hardlinks: true, FoldsCase: true, MaxFile: 200_000,
		Name: func(n string) bool { return !strings.ContainsAny(n, ":\n") }})
	step := scenario.Step{Data: "tree", Dir: "x", Count: 2}
	wrote, x := must(t, env, TreeCopy, step)
	got := map[string]float64{}
	for _, m := range x.Measurements {
		got[m.Metric] = m.Value
	}
	// Names: the one with a newline, "case" beside "Case", and three below bad:dir.
	n := float64(len(hs) - 1 - 5 - 1)
	if got[result.LeftOutLinks] != 1 || got[result.LeftOutNames] != 5 || got[result.LeftOutOwners] != n {
		t.Errorf("%v, want %v entries", got, n)
	}
	if wrote.Files != 2*int64(n) {
		t.Errorf("%d entries written, want %v", wrote.Files, 2*n)
	}
	if len(x.Notes) != 4 {
		t.Errorf("notes %+v", x.Notes)
	}
	// The name of a link remains, and is the file now.
	if body, err := os.ReadFile(filepath.Join(env.Mount, "x/1/etc/hard")); err != nil || string(body) != "hello" {
		t.Errorf("%q, %v", body, err)
	}
	must(t, env, TreeRead, step)
}

// Whatever the order of the archive, a link comes after its target.
func TestPlanLinkOrder(t *testing.T) {
	hs := []header{
		{tar.TypeDir, "a", "", 0o755}, {tar.TypeDir, "b", "", 0o755}, {tar.TypeReg, "b/file", "body", 0o644},
		{tar.TypeLink, "a/link", "b/file", 0o644}, {tar.TypeLink, "a/more", "b/file", 0o644},
	}
	env := makeEnv(t, t.TempDir(), hs)
	must(t, env, TreeCopy, scenario.Step{Data: "tree", Dir: "x"})
	file, err := os.Stat(filepath.Join(env.Mount, "x/1/b/file"))
	if err != nil || file.Size() != 4 {
		t.Fatalf("%v, %v", file, err)
	}
	for _, name := range []string{"a/link", "a/more"} {
		info, err := os.Stat(filepath.Join(env.Mount, "x/1", name))
		if err != nil || !os.SameFile(info, file) {
			t.Errorf("%s: %v, %v", name, info, err)
		}
	}
	env.FS.Lacks = lacking(filesystem.Lacks{Hardlinks: true})
	if _, x := must(t, env, TreeCopy, scenario.Step{Data: "tree", Dir: "y"}); len(x.Notes) != 1 || !strings.Contains(x.Notes[0].Text, "2 hard links") {
		t.Errorf("%+v", x.Notes)
	}
}

func TestRefused(t *testing.T) {
	env := makeEnv(t, t.TempDir(), oddTree())
	var deep []header
	for i, d := 0, "d"; i < maxDepth+1; i, d = i+1, d+"/d" {
		deep = append(deep, header{tar.TypeDir, d, "", 0o755})
	}
	env.Trees["deep"] = makeTree(t, deep)
	cases := []struct {
		kind Kind
		step scenario.Step
		want string
	}{
		{TreeCopy, scenario.Step{Data: "none"}, `no tree "none"`},
		{TreeCopy, scenario.Step{Data: "deep", Dir: "x"}, "64 directories deep"},
		{TreeCopy, scenario.Step{Data: "tree", Dir: "../x"}, "not below"},
		{TreeCopy, scenario.Step{Data: "tree", Dir: "x", Count: -1}, "count of -1"},
		{TreeCopy, scenario.Step{Data: "tree", Dir: "x", Count: 1 << 30}, "bytes are needed and"},
		{TreeRotate, scenario.Step{Dir: "x", Count: 1}, "at least 2"},
		{TreeRemove, scenario.Step{}, "must be named"},
		{StreamWrite, scenario.Step{Data: "none"}, `no stream "none"`},
		{StreamWrite, scenario.Step{Data: "video", Dir: "x", Count: 1 << 30}, "bytes are needed and"},
	}
	for _, c := range cases {
		_, _, err := perform(t, env, c.kind, c.step)
		wantFailure(t, err, result.Refused, c.want)
	}
	if err := env.Trees["deep"].Extract(mkdir(t, env.Mount, "deep")); err != nil {
		t.Fatal(err)
	}
	_, _, err := perform(t, env, TreeRead, scenario.Step{Dir: "deep"})
	wantFailure(t, err, result.SubjectFailed, "64 directories deep")
}

func mkdir(t testing.TB, parts ...string) string {
	t.Helper()
	dir := filepath.Join(parts...)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	return dir
}

func TestStream(t *testing.T) {
	onFilesystems(t, func(t *testing.T, mount string) {
		env := makeEnv(t, mount, nil)
		step := scenario.Step{Data: "video", Dir: "s", Count: 3}
		wrote, _ := must(t, env, StreamWrite, step)
		read, _ := must(t, env, StreamRead, step)
		if wrote != read || read.Bytes != 9_000_003 || read.Files != 3 {
			t.Errorf("wrote %+v, read %+v", wrote, read)
		}
		body, err := os.ReadFile(filepath.Join(mount, "s/stream.3"))
		if err != nil || !bytes.Equal(body, env.Streams["video"].Data) {
			t.Errorf("stream.3 differs: %v", err)
		}
		if err := os.Truncate(filepath.Join(mount, "s/stream.2"), 5); err != nil {
			t.Fatal(err)
		}
		_, _, err = perform(t, env, StreamRead, step)
		wantFailure(t, err, result.SubjectFailed, "s/stream.2 has 5 bytes")
	})
}

// The runtime's own count: timed sections allocate nothing at all.
func TestNoAllocation(t *testing.T) {
	noUmask(t)
	env := makeEnv(t, t.TempDir(), oddTree())
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	defer debug.SetGCPercent(debug.SetGCPercent(-1))
	for _, k := range []Kind{TreeCopy, TreeRead, TreeRotate, TreeRemove, StreamWrite, StreamRead} {
		// Other goroutines of the test may allocate once; not three times.
		least := ^uint64(0)
		for i := range 3 {
			dir := fmt.Sprintf("%s%d", map[bool]string{true: "s", false: "t"}[strings.HasPrefix(k.Name, "stream")], i)
			step := scenario.Step{Data: "tree", Dir: dir, Count: 2}
			if strings.HasPrefix(k.Name, "stream") {
				step.Data = "video"
			}
			job, err := k.Setup(context.Background(), env, step)
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
			least = min(least, after.Mallocs-before.Mallocs)
		}
		if least != 0 {
			t.Errorf("%s: %d allocations", k.Name, least)
		}
	}
}

// A directory that a damaged filesystem lists without end is a failure, and not a hang.
func TestEndlessDirectory(t *testing.T) {
	dirlisttest.Gives(t, dirlisttest.Parent)
	w := newWalk("/mnt")
	if err := w.enter(unix.AT_FDCWD, &dot[0]); err != nil {
		t.Fatal(err)
	}
	defer w.closeAll()
	if _, _, err := w.next(); err == nil || err.Error() != `listing "/mnt": the list has no end` {
		t.Error(err)
	}
	dirlisttest.Gives(t, dirlisttest.Parent)
	s := newMetaScan(&meta{target: &target{name: "/mnt"}, names: &metaNames{}})
	if _, err := s.each(-1, false, new(Tally)); err == nil || err.Error() != `listing "/mnt": the list has no end` {
		t.Error(err)
	}
}
