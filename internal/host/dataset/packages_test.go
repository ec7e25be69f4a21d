package dataset

import (
	"archive/tar"
	"bytes"
	"os"
	"strings"
	"testing"

	"whichfs/internal/sys/command"
	"whichfs/internal/testing/must"
)

// packed compresses an archive in the format of kernel packages.
func packed(t *testing.T, archive []byte) string {
	t.Helper()
	r, err := command.Run(ctx, command.Options{Stdin: bytes.NewReader(archive)}, "xz", "--compress", "--stdout")
	must.Do(t, err)
	return r.Stdout
}

func merger(t *testing.T, keep func(string) bool) *repacker {
	t.Helper()
	p, err := newRepacker(RepackOptions{Keep: keep, Plain: true, Spool: t.TempDir()})
	must.Do(t, err)
	t.Cleanup(func() { must.Do(t, p.spool.Close()) })
	p.merge = true
	return p
}

func order(t *testing.T, p *repacker) (map[string]*tar.Header, string) {
	t.Helper()
	var b bytes.Buffer
	_, err := p.write(ctx, &b)
	must.Do(t, err)
	found, names := headers(t, b.Bytes())
	return found, strings.Join(names, " ")
}

// Packages share directories; a file that two of them contain is an error,
// unless they are kept apart.
func TestMergePackages(t *testing.T) {
	one := other(t, named(tar.TypeDir, "./usr/", ""), regular("./usr/a", "1", 0o644), regular("./usr/left", "x", 0o644),
		named(tar.TypeLink, "./usr/left2", "./usr/left"))
	two := other(t, named(tar.TypeDir, "./usr/", ""), regular("./usr/b", "2", 0o644))
	p := merger(t, func(path string) bool { return !strings.Contains(path, "left") })
	must.Do(t, p.read(ctx, bytes.NewReader(one)))
	must.Do(t, p.read(ctx, bytes.NewReader(two)))
	if _, got := order(t, p); got != "usr usr/a usr/b" {
		t.Errorf("entries %s", got)
	}
	if p.spooled != 2 {
		t.Errorf("%d bytes were kept of two", p.spooled)
	}
	if err := p.read(ctx, bytes.NewReader(two)); err == nil || !strings.Contains(err.Error(), `"./usr/b": it occurs twice`) {
		t.Errorf("the same package again: %v", err)
	}
	p = merger(t, nil)
	for _, below := range []string{"x", "y"} {
		p.below = below
		must.Do(t, p.read(ctx, bytes.NewReader(two)))
	}
	if _, got := order(t, p); got != "x x/usr x/usr/b y y/usr y/usr/b" {
		t.Errorf("entries %s", got)
	}
}

func TestUnpack(t *testing.T) {
	tree := other(t, named(tar.TypeDir, "linux/", ""), regular("linux/b", "text", 0o644), named(tar.TypeLink, "linux/c", "linux/b"))
	deb := other(t, named(tar.TypeDir, "./usr/", ""), regular("./usr/other", "x", 0o644), regular("./usr/src.tar.xz", packed(t, tree), 0o644))
	p := merger(t, nil)
	p.below = "pkg"
	must.Do(t, p.unpack(ctx, bytes.NewReader(deb), "usr/src.tar.xz", t.TempDir(), func(string) {}))
	found, got := order(t, p)
	if got != "pkg pkg/usr pkg/usr/linux pkg/usr/linux/b pkg/usr/linux/c" {
		t.Errorf("entries %s", got)
	}
	if h := found["pkg/usr/linux/c"]; h.Linkname != "pkg/usr/linux/b" {
		t.Errorf("link to %s", h.Linkname)
	}
	for name, c := range map[string]struct{ deb, want string }{
		"too long":  {string(other(t, regular("./usr/src.tar.xz", strings.Repeat("x", 1<<16), 0o644))), "the package is too long"},
		"missing":   {string(other(t, regular("./a", "", 0o644))), "there is no usr/src.tar.xz in the package"},
		"damaged":   {string(other(t, regular("./usr/src.tar.xz", "not xz", 0o644))), "xz (exit status 1)"},
		"truncated": {string(other(t, regular("./usr/src.tar.xz", packed(t, tree)[:100], 0o644))), "xz (exit status 1)"},
	} {
		p := merger(t, nil)
		if name == "too long" {
			p.o.MaxContents = 1 << 16
		}
		err := p.unpack(ctx, strings.NewReader(c.deb), "usr/src.tar.xz", t.TempDir(), func(string) {})
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// Sets of packages without dependencies, and their host requirements.
func TestRecipes(t *testing.T) {
	files := map[string]bool{}
	for _, s := range debianSets {
		if files[s.file()] {
			t.Errorf("%s: its archive belongs to another set", s.name)
		}
		files[s.file()] = true
		if len(s.reference) != 64 {
			t.Errorf("%s: no reference", s.name)
		}
		if s.unpack != "" && !s.alone || s.apart && !s.alone {
			t.Errorf("%s: only packages without dependencies can be unpacked or kept apart", s.name)
		}
	}
	without(t)
	kernel, _ := byName("kernel-source-part")
	if err := kernel.installed(); err == nil || !strings.Contains(err.Error(), "apt-get install") {
		t.Errorf("error %v", err)
	}
	bin := t.TempDir()
	must.Do(t, os.WriteFile(bin+"/mmdebstrap", nil, 0o755))
	t.Setenv("PATH", bin)
	if err := kernel.installed(); err == nil || !strings.Contains(err.Error(), "apt-get install xz-utils") {
		t.Errorf("error %v", err)
	}
	if part, _ := byName("debian-armhf-part"); part.installed() != nil {
		t.Errorf("xz is not needed for %s", part.name)
	}
}
