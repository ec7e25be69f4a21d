package dataset

import (
	"archive/tar"
	"bytes"
	"io"
	"strings"
	"testing"
	"time"

	"whichfs/internal/target/memory/memorytest"
	"whichfs/internal/testing/must"
)

// other makes an archive as another program might.
func other(t testing.TB, headers ...tar.Header) []byte {
	t.Helper()
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for _, h := range headers {
		body := ""
		if h.Typeflag == tar.TypeReg {
			body, h.PAXRecords = h.PAXRecords["body"], nil
			h.Size = int64(len(body))
		}
		h.ModTime = time.Unix(1234567890, 0)
		must.Do(t, w.WriteHeader(&h))
		_, err := io.WriteString(w, body)
		must.Do(t, err)
	}
	must.Do(t, w.Close())
	return append(b.Bytes(), make([]byte, 8192)...) // GNU tar fills its last record
}

func regular(name, body string, mode int64) tar.Header {
	return tar.Header{Typeflag: tar.TypeReg, Name: name, Mode: mode, Uid: 7, Gid: 8, Uname: "someone", PAXRecords: map[string]string{"body": body}}
}

func named(kind byte, name, target string) tar.Header {
	return tar.Header{Typeflag: kind, Name: name, Linkname: target, Mode: 0o777, Uid: 7}
}

func TestRepack(t *testing.T) {
	in := other(t,
		named(tar.TypeDir, "./", ""), named(tar.TypeDir, "./usr/", ""),
		regular("./usr/z", "text", 0o4711), named(tar.TypeLink, "./usr/b", "./usr/z"), named(tar.TypeLink, "./other/c", "./usr/b"),
		named(tar.TypeSymlink, "./usr/link", "z"), regular("./left", "out", 0o600), regular("./usr/plain", "", 0o666),
		named(tar.TypeChar, "./usr/null", ""), named(tar.TypeChar, "./null", ""),
	)
	var out bytes.Buffer
	info, err := Repack(ctx, bytes.NewReader(in), &out, RepackOptions{
		Plain: true,
		Keep:  func(p string) bool { return within(p, "usr") || within(p, "other") },
	})
	must.Do(t, err)
	found, order := headers(t, out.Bytes())
	if got, want := strings.Join(order, " "), "other other/c usr usr/b usr/link usr/plain usr/z"; got != want {
		t.Errorf("entries %s, want %s", got, want)
	}
	// The first name in the new order has the contents, wherever they
	// were.
	if h := found["other/c"]; h.Typeflag != tar.TypeReg || h.Size != 4 || h.Mode != 0o755 {
		t.Errorf("other/c: %+v", h)
	}
	if h := found["usr/z"]; h.Typeflag != tar.TypeLink || h.Linkname != "other/c" {
		t.Errorf("usr/z: %+v", h)
	}
	if h := found["usr/plain"]; h.Mode != 0o644 || h.Uid != 0 || h.Gid != 0 || h.Uname != "" {
		t.Errorf("usr/plain: %+v", h)
	}
	if info.Skipped["character devices"] != 1 || len(info.Skipped) != 1 {
		t.Errorf("left out %v, want the one device among what is kept", info.Skipped)
	}
	if info.Files != 2 || info.Size != 4 {
		t.Errorf("%d files of %d B, want 2 of 4", info.Files, info.Size)
	}
	memorytest.Loadable(t, info, out.Bytes())
}

// A link whose target is skipped keeps the contents.
func TestRepackLinkToSkippedFile(t *testing.T) {
	in := other(t, regular("a", "text", 0o644), named(tar.TypeLink, "b/c", "a"))
	var out bytes.Buffer
	info, err := Repack(ctx, bytes.NewReader(in), &out, RepackOptions{Keep: func(p string) bool { return p == "b/c" }})
	must.Do(t, err)
	found, _ := headers(t, out.Bytes())
	if h := found["b/c"]; h == nil || h.Typeflag != tar.TypeReg || h.Size != 4 || h.Uid != 7 {
		t.Errorf("b/c: %+v", h)
	}
	if h := found["b/"]; h == nil || h.Mode != 0o755 {
		t.Errorf("the directory above it: %+v", h)
	}
	memorytest.Loadable(t, info, out.Bytes())
}

func TestRepackRefuses(t *testing.T) {
	for name, in := range map[string][]byte{
		"occurs twice":      other(t, regular("a", "1", 0o644), regular("./a", "2", 0o644)),
		"leaves the tree":   other(t, regular("a/../../b", "1", 0o644)),
		"not precede it":    other(t, named(tar.TypeLink, "a", "b"), regular("b", "1", 0o644)),
		"a directory":       other(t, named(tar.TypeDir, "d/", ""), named(tar.TypeLink, "a", "d")),
		"not a directory":   other(t, regular("a", "1", 0o644), regular("a/b", "1", 0o644)),
		"shortest form":     other(t, regular("a//b", "1", 0o644)),
		"unexpected EOF":    other(t, regular("a", strings.Repeat("x", 9000), 0o644))[:5000],
		"more than the 100": other(t, regular("a", strings.Repeat("x", 101), 0o644)),
	} {
		_, err := Repack(ctx, bytes.NewReader(in), io.Discard, RepackOptions{MaxContents: limitFor(name)})
		if err == nil || !strings.Contains(err.Error(), strings.TrimPrefix(name, "more than the ")) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func limitFor(name string) int64 {
	if strings.HasPrefix(name, "more than") {
		return 100
	}
	return 0
}

// Whatever the input: no panic, and the output is canonical and acceptable to
// the agent.
func FuzzRepack(f *testing.F) {
	f.Add(other(f, named(tar.TypeDir, "d/", ""), regular("d/a", "text", 0o644), named(tar.TypeLink, "b", "d/a")))
	f.Add(other(f, named(tar.TypeSymlink, "latin\xe9", "/x"), named(tar.TypeFifo, "f", ""), regular(strings.Repeat("n/", 200)+"x", "", 0)))
	f.Add(other(f, regular("a", "1", 0o644), regular("a/b", "1", 0o644)))
	f.Add([]byte{})
	dir := f.TempDir()
	f.Fuzz(func(t *testing.T, in []byte) {
		var once, twice bytes.Buffer
		o := RepackOptions{Spool: dir, MaxContents: 1 << 20}
		info, err := Repack(ctx, bytes.NewReader(in), &once, o)
		if err != nil {
			return
		}
		memorytest.Loadable(t, info, once.Bytes())
		if _, err := Repack(ctx, bytes.NewReader(once.Bytes()), &twice, o); err != nil {
			t.Fatalf("its own archive is rejected: %v", err)
		}
		if !bytes.Equal(once.Bytes(), twice.Bytes()) {
			t.Error("repacking changes a canonical archive")
		}
	})
}
