package workload

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"whichfs/internal/filesystem"
	"whichfs/internal/plan/scenario"
	"whichfs/internal/result"
	"whichfs/internal/testing/needs"
)

// Outputs of compsize 1.5 on Linux 6.1 and 6.18; the last is not in bytes.
const (
	compsizeMixed = `Processed 22328 files, 9941 regular extents (9941 refs), 12720 inline.
Type       Perc     Disk Usage   Uncompressed Referenced  
TOTAL       26%     72549503     274638058    274638058   
none       100%     3028174      3028174      3028174     
zstd        25%     69521329     271609884    271609884   
`
	compsizeInline = `Processed 2 files, 0 regular extents (0 refs), 1 inline.
Type       Perc     Disk Usage   Uncompressed Referenced  
TOTAL      100%     3            3            3           
none       100%     3            3            3           
`
	compsizeOne = `Processed 1 file, 229 regular extents (229 refs), 0 inline.
Type       Perc     Disk Usage   Uncompressed Referenced  
TOTAL      100%     30003200     30003200     30003200    
none       100%     30003200     30003200     30003200    
`
	compsizeHuman = `Processed 22328 files, 9941 regular extents (9941 refs), 12720 inline.
Type       Perc     Disk Usage   Uncompressed Referenced  
TOTAL       26%       69M         261M         261M       
`
)

func TestParseCompsize(t *testing.T) {
	for text, want := range map[string]compsize{
		compsizeMixed:  {22328, 9941, 12720, 72549503, 274638058, [4]int64{3028174, 0, 0, 69521329}, [4]int64{3028174, 0, 0, 271609884}},
		compsizeInline: {2, 0, 1, 3, 3, [4]int64{3}, [4]int64{3}},
		compsizeOne:    {1, 229, 0, 30003200, 30003200, [4]int64{30003200}, [4]int64{30003200}},
	} {
		if got, err := parseCompsize(text); err != nil || got != want {
			t.Errorf("%+v, %v of\n%s", got, err, text)
		}
	}
	for text, want := range map[string]string{
		"":                 "no counts",
		"No files.\n":      "no counts",
		compsizeMixed[:80]: "no total",
		compsizeHuman:      "not a number of bytes",
		strings.ReplaceAll(compsizeOne, "30003200     30003200    \n", "\n"): "TOTAL with 2 figures",
		strings.Replace(compsizeOne, "229", "99999999999999999999", 1):       "too large",
		strings.Replace(compsizeOne, "30003200", "-3", 1):                    "not a number of bytes",
	} {
		if _, err := parseCompsize(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q, of\n%s", err, want, text)
		}
	}
}

func FuzzParseCompsize(f *testing.F) {
	for _, text := range []string{compsizeMixed, compsizeInline, compsizeOne, compsizeHuman, "No files.\n"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		c, err := parseCompsize(text)
		if err == nil && (c.files < 0 || c.regular < 0 || c.inline < 0 || c.disk < 0 || c.plain < 0) {
			t.Fatalf("%+v of %q", c, text)
		}
	})
}

func byMetric(list []result.Measurement) map[string]result.Measurement {
	m := map[string]result.Measurement{}
	for _, x := range list {
		m[x.Metric] = x
	}
	return m
}

func TestCompressionBtrfs(t *testing.T) {
	needs.Devices(t)
	mount := loopMount(t, "256M", "mkfs.btrfs", "-q")
	if err := unix.Mount("", mount, "", unix.MS_REMOUNT, "compress=zstd:3"); err != nil {
		t.Fatal(err)
	}
	env := wholeEnv(t, mount)
	env.FS.Name, env.FS.Compressed = "btrfs", filesystem.CompressedExtents
	must(t, env, TreePreserve, scenario.Step{Data: "tree", Dir: "x"})
	must(t, env, StreamWrite, scenario.Step{Data: "video", Dir: "noise"})
	_, x := must(t, env, Compression, scenario.Step{Data: "tree", Dir: "x"})
	got := byMetric(x.Measurements)
	if r := got[result.CompressRatio]; r.Absent != "" || r.Value < 0.01 || r.Value > 0.2 {
		t.Errorf("%+v", r)
	}
	// 303 files, one of which has three names.
	if n := got[result.DataFiles].Value; n != 305 {
		t.Errorf("%v files", n)
	}
	if got[result.ExtentsInline].Value < 20 || got[result.ExtentsRegular].Value < 200 {
		t.Errorf("%+v", got)
	}
	if plain, rest := got[result.CompressNone].Value, got[result.CompressZstd].Value; rest < 1e6 || plain+rest != got[result.CompressPlain].Value || got[result.CompressLzo].Value != 0 {
		t.Errorf("%+v", got)
	}
	if r := got[result.CompressRest].Value; r <= 0 || r > got[result.CompressRatio].Value {
		t.Errorf("the compressed part has a ratio of %v", r)
	}
	if len(x.Artifacts) != 1 || !strings.Contains(x.Artifacts[0].Text, "zstd") {
		t.Errorf("%+v", x.Artifacts)
	}
	_, x = must(t, env, Compression, scenario.Step{Dir: "noise"})
	if got := byMetric(x.Measurements); got[result.CompressRatio].Value != 1 || got[result.CompressNone].Value != got[result.CompressPlain].Value || got[result.CompressRest].Absent == "" {
		t.Errorf("noise: %+v", got)
	}
	mkdir(t, mount, "empty")
	_, x = must(t, env, Compression, scenario.Step{Dir: "empty"})
	if r := byMetric(x.Measurements)[result.CompressRatio]; !strings.Contains(r.Absent, "No files") {
		t.Errorf("nothing: %+v", r)
	}
}

func TestCompressionElsewhere(t *testing.T) {
	env := wholeEnv(t, t.TempDir())
	env.FS.Name, env.FS.Title = "ext4", "ext4"
	job, err := Compression.Setup(t.Context(), env, scenario.Step{})
	if err != nil || job.Absent != "ext4 does not compress" || len(job.AbsentMetrics) != 11 {
		t.Errorf("%+v, %v", job, err)
	}
	env.FS.Name, env.FS.Compressed, env.Name = "f2fs", filesystem.CompressedBlocks, "nothing"
	if job, err = Compression.Setup(t.Context(), env, scenario.Step{}); err != nil || !strings.Contains(job.Absent, "without compression") {
		t.Errorf("%+v, %v", job, err)
	}
	env.FS.Name, env.FS.ReadOnly, env.Image = "squashfs", true, filepath.Join(t.TempDir(), "image")
	if _, err = Compression.Setup(t.Context(), env, scenario.Step{Data: "tree"}); err == nil {
		t.Error("there is no image, and no error")
	}
	if err := os.WriteFile(env.Image, make([]byte, 925506), 0o644); err != nil {
		t.Fatal(err)
	}
	_, x := must(t, env, Compression, scenario.Step{Data: "tree"})
	got := byMetric(x.Measurements)
	if r := got[result.CompressRatio].Value; r < 0.09 || r > 0.11 {
		t.Errorf("%v", r)
	}
	if got[result.ExtentsRegular].Absent == "" || got[result.CompressDisk].Value != 925506 {
		t.Errorf("%+v", got)
	}
}

func TestContents(t *testing.T) {
	dir := t.TempDir()
	for name, n := range map[string]int{"a": 0, "b": 1, "c": 4096, "d": 4097} {
		if err := os.WriteFile(filepath.Join(dir, name), make([]byte, n), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink("a", filepath.Join(dir, "link")); err != nil {
		t.Fatal(err)
	}
	n := 0
	each := func(string) error { n++; return nil }
	if files, bytes, err := contents(dir, 4096, each); files != 4 || bytes != 4*4096 || err != nil || n != 4 {
		t.Errorf("%d, %d, %v, %d calls", files, bytes, err, n)
	}
	if _, _, err := contents(filepath.Join(dir, "none"), 4096, each); err == nil {
		t.Error("no error")
	}
	// Only F2FS supports this request.
	if n, err := f2fsSavedOf(filepath.Join(dir, "d")); err == nil {
		t.Errorf("%d blocks saved", n)
	}
	if _, err := f2fsSavedOf(filepath.Join(dir, "none")); err == nil {
		t.Error("no error")
	}
}

func TestTrim(t *testing.T) {
	needs.Devices(t)
	mount := loopMount(t, "64M", "mkfs.ext4", "-q", "-E", "nodiscard")
	image := filepath.Join(filepath.Dir(mount), "image")
	env := makeEnv(t, mount, nil)
	must(t, env, StreamWrite, scenario.Step{Data: "video", Dir: "s", Count: 5})
	must(t, env, TreeRemove, scenario.Step{Dir: "s"})
	before := allocated(t, image)
	must(t, env, Trim, scenario.Step{})
	if after := allocated(t, image); before-after < 14<<20 {
		t.Errorf("%d bytes before, %d after", before, after)
	}
	env = makeEnv(t, mountTmpfs(t, "size=8m"), nil)
	job, err := Trim.Setup(t.Context(), env, scenario.Step{})
	if err != nil || job.Absent == "" {
		t.Errorf("%+v, %v", job, err)
	}
}

func allocated(t *testing.T, path string) int64 {
	t.Helper()
	unix.Sync()
	var st unix.Stat_t
	if err := unix.Stat(path, &st); err != nil {
		t.Fatal(err)
	}
	return st.Blocks * 512
}

func TestSpaceFull(t *testing.T) {
	needs.Devices(t)
	env := makeEnv(t, mountTmpfs(t, "size=8m"), nil)
	space := func() result.Measurement {
		job, err := Space.Setup(t.Context(), env, scenario.Step{})
		if err != nil {
			t.Fatal(err)
		}
		if err := job.Run(&Tally{}); err != nil {
			t.Fatal(err)
		}
		x, err := job.After()
		if err != nil {
			t.Fatal(err)
		}
		return byMetric(x.Measurements)[result.SpaceFull]
	}
	if m := space(); m.Value != 0 || m.Absent != "" {
		t.Errorf("empty: %+v", m)
	}
	must(t, env, StreamWrite, scenario.Step{Data: "video", Dir: "s"})
	if m := space(); m.Value < 0.35 || m.Value > 0.37 {
		t.Errorf("%+v", m)
	}
	if m := full(1, 0); m.Absent == "" {
		t.Errorf("%+v", m)
	}
}
