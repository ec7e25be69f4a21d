package generated

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"strings"
	"testing"

	"whichfs/internal/plan/tree"
	"whichfs/internal/plan/tree/squeeze"
	"whichfs/internal/plan/tree/texture"
	"whichfs/internal/target/memory/memorytest"
	"whichfs/internal/testing/must"
)

var ctx = context.Background()

func profile(t testing.TB, name string) Profile {
	t.Helper()
	all, err := Profiles()
	must.Do(t, err)
	for _, p := range all {
		if p.Name == name {
			return p
		}
	}
	t.Fatalf("no profile %s", name)
	return Profile{}
}

func generate(t testing.TB, p Profile, size int64, seed uint64) (tree.Info, []byte) {
	t.Helper()
	var b bytes.Buffer
	info, err := Tree{p, size, seed}.Write(ctx, &b)
	must.Do(t, err)
	return info, b.Bytes()
}

// upTo is how many thousandths of the files have at most 2^c-1 bytes.
func upTo(p Profile, c int) int {
	n := 0
	for _, k := range p.Sizes[:min(c+1, len(p.Sizes))] {
		n += k.Files
	}
	return n * 1000 / p.Files
}

// mean is the mean of a distribution's classes, in thousandths.
func mean(counts []int) int {
	sum, n := 0, 0
	for c, times := range counts {
		sum, n = sum+c*times, n+times
	}
	return sum * 1000 / max(n, 1)
}

func near(t *testing.T, what string, got, want, tolerance int) {
	t.Helper()
	if got < want-tolerance || got > want+tolerance {
		t.Errorf("%s: %d, want %d within %d", what, got, want, tolerance)
	}
}

// A generated tree has the profile from which it was generated. The tolerances
// are those of docs/data.md.
func TestGeneratedTreesAreAlike(t *testing.T) {
	all, err := Profiles()
	must.Do(t, err)
	if len(all) != 5 {
		t.Fatalf("%d profiles", len(all))
	}
	for _, p := range all {
		t.Run(p.Name, func(t *testing.T) {
			t.Parallel()
			size := int64(24 << 20)
			if p.Bytes/int64(p.Files) > 1<<20 {
				size = 64 << 20 // otherwise there are too few files
			}
			info, archive := generate(t, p, size, 1)
			memorytest.Loadable(t, info, archive)
			q, err := Measure(ctx, p.Name, bytes.NewReader(archive))
			must.Do(t, err)
			if q.Of != info.Digest {
				t.Errorf("digests %s and %s", q.Of, info.Digest)
			}
			near(t, "bytes, thousandths of the requested size", int(q.Bytes*1000/size), 1000, 10)
			near(t, "files", q.Files, int(int64(p.Files)*size/p.Bytes), 1)
			near(t, "links", q.Links, int(int64(p.Links)*size/p.Bytes), 1)
			near(t, "directories", q.Dirs, int(int64(p.Dirs)*size/p.Bytes), 3+int(int64(p.Dirs)*size/p.Bytes/10))
			few := 1000 / q.Files // the share of one file
			for _, c := range []int{0, 9, 12, 14, 17, 20} {
				near(t, "files up to a size, thousandths", upTo(q, c), upTo(p, c), 20+2*few)
			}
			near(t, "depth of files, thousandths", mean(q.FileDepths), mean(p.FileDepths), 150+5*few)
			near(t, "class of file names' lengths, thousandths", mean(q.FileNames), mean(p.FileNames), 300+5*few)
			for a := range squeeze.Algorithms {
				near(t, a.String()+", thousandths", q.Ratios[a], p.Ratios[a], 30)
				near(t, a.String()+" plain, thousandths", q.Plain[a], p.Plain[a], 50)
			}
		})
	}
}

// The same bytes on every architecture: computed on amd64, and the same on
// 386.
func TestGeneratedDigest(t *testing.T) {
	for _, c := range []struct {
		name   string
		size   int64
		seed   uint64
		digest string
	}{
		{"build-small", 1 << 20, 1, "01cfcb19f36e231e4d2fcf61bb343f704c1fd5c1889e551a8702885106c2fe01"},
		{"build-small", 1 << 20, 2, "7921295964f54a0eaf81ba6b00036f77d86f04e25bf84f735e7d4408f5af240a"},
		{"build-large", 3 << 20, 1, "41a2a9160486e277ef0859b0abb7dbebc412c51bceac7085b7a5629b000a5a80"},
		{"kernel-source", 300_000, 7, "2d9a9e07f9a12ca495b52c4e2ac509697c94e08f4c8bda8e33297d577a475211"},
		{"debian-armhf", 64 << 10, 1, "941d5eb109501a93d2931af2abde795d0d85f3a15bea692f038a8d4bd464dff8"},
	} {
		info, _ := generate(t, profile(t, c.name), c.size, c.seed)
		if info.Digest != c.digest {
			t.Errorf("gen:%s,%d,seed=%d has digest %s, want %s", c.name, c.size, c.seed, info.Digest, c.digest)
		}
	}
}

func TestGenerateRefuses(t *testing.T) {
	p := profile(t, "build-small")
	for _, size := range []int64{0, -1, leastGenerated - 1, mostGenerated + 1} {
		if _, err := (Tree{p, size, 1}).Write(ctx, io.Discard); err == nil {
			t.Errorf("%d bytes: no error", size)
		}
	}
	if _, err := (Tree{Profile{Name: "x"}, 1 << 20, 1}).Write(ctx, io.Discard); err == nil {
		t.Error("an empty profile: no error")
	}
	stopped, cancel := context.WithCancel(ctx)
	cancel()
	if _, err := (Tree{p, 1 << 20, 1}).Write(stopped, io.Discard); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
}

func TestRoom(t *testing.T) {
	p := profile(t, "build-small")
	info, _ := generate(t, p, 1<<20, 1)
	if room := (Tree{p, 1 << 20, 1}).Room(); info.Archive > room {
		t.Errorf("%d bytes computed, %d needed", room, info.Archive)
	}
}

// A profile is recorded completely from an archive, including textures.
func TestRecord(t *testing.T) {
	p := Profile{
		Name: "x", Files: 40, Bytes: 40 * 20_000, Dirs: 3, Sizes: make([]SizeClass, 16), FileDepths: []int{20, 20}, DirDepths: []int{3},
		FilesIn: []int{0, 0, 0, 4}, DirsIn: []int{3, 0, 1}, FileNames: []int{0, 0, 40}, DirNames: []int{0, 3},
		Textures: []Kind{{UpTo: squeeze.Block, Whole: true, Bytes: 1, Block: 20_000, Texture: texture.Texture{Copy: 16, Run: 60, Odd: 100}}},
	}
	p.Sizes[15] = SizeClass{40, p.Bytes}
	_, archive := generate(t, p, p.Bytes, 1)
	q, err := Record(ctx, "y", bytes.NewReader(archive))
	must.Do(t, err)
	if q.Name != "y" || q.Files != 40 || len(q.Textures) == 0 || q.Textures[0].Copy == 0 {
		t.Errorf("%+v", q)
	}
	text, err := json.Marshal(q)
	must.Do(t, err)
	back, err := parseProfile(text)
	must.Do(t, err)
	_, second := generate(t, back, p.Bytes, 5)
	r, err := Measure(ctx, "z", bytes.NewReader(second))
	must.Do(t, err)
	for a := range squeeze.Algorithms {
		near(t, a.String(), r.Ratios[a], q.Ratios[a], 40)
	}
	for name, bad := range map[string][]byte{"empty": make([]byte, 2*tree.Block), "truncated": archive[:len(archive)/2], "no archive": []byte("text")} {
		if _, err := Record(ctx, name, bytes.NewReader(bad)); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

// A profile that passes its check works.
func FuzzProfile(f *testing.F) {
	for _, name := range []string{"build-large.json", "debian-armhf.json"} {
		text, err := profileFiles.ReadFile("profiles/" + name)
		must.Do(f, err)
		f.Add(text)
	}
	f.Add([]byte(`{"files":1,"bytes":1,"sizes":[{},{"files":1,"bytes":1}],"textures":[{"bytes":1}]}`))
	f.Add([]byte(`{"files":1,"bytes":1000,"dirs":1,"links":1,"file_depths":[1],"dir_depths":[1],"file_names":[1],"dir_names":[1],"sizes":[{},{},{},{},{},{},{},{},{},{},{"files":1,"bytes":1000}],"textures":[{"bytes":1}]}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		p, err := parseProfile(text)
		if err != nil || p.Files/int(min(p.Bytes, 1<<30)) > 1 || p.Dirs > p.Files*10 || p.Links > p.Files*10 {
			return
		}
		var b bytes.Buffer
		info, err := Tree{p, leastGenerated, 1}.Write(ctx, &b)
		if err != nil && strings.Contains(err.Error(), "too deep for their names") {
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		memorytest.Loadable(t, info, b.Bytes())
	})
}
