package script

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"whichfs/internal/sys/dirlist/dirlisttest"
	"whichfs/internal/testing/must"

	"golang.org/x/sys/unix"
)

func TestReadTree(t *testing.T) {
	dir := t.TempDir()
	at := func(p string) string { return filepath.Join(dir, p) }
	must.Do(t, os.MkdirAll(at("a/b/c"), 0o755))
	must.Do(t, os.WriteFile(at("a/one"), []byte("hello"), 0o600))
	must.Do(t, os.Link(at("a/one"), at("a/b/two")))
	must.Do(t, os.WriteFile(at("empty"), nil, 0o600))
	must.Do(t, os.WriteFile(at("big"), bytes.Repeat([]byte("x"), 600<<10), 0o600))
	must.Do(t, os.Truncate(at("big"), 700<<10))
	must.Do(t, os.Symlink("a/one", at("link")))
	must.Do(t, unix.Mkfifo(at("pipe"), 0o600))
	must.Do(t, os.WriteFile(at("huge"), nil, 0o600))
	must.Do(t, os.Truncate(at("huge"), mostData+1))
	for i := range 300 { // more than one call of getdents64
		must.Do(t, os.WriteFile(at(fmt.Sprintf("a/b/c/%0100d", i)), []byte{byte(i)}, 0o600))
	}
	var r Reader
	for range 2 { // the second time with the same memory
		got := r.Read(dir)
		if len(got) != 1+3+2+1+1+1+1+1+300 {
			t.Errorf("%d entries", len(got))
		}
		one, two := got["a/one"], got["a/b/two"]
		if one.Kind != kindFile || string(one.Data) != "hello" || one.Size != 5 || one.Links != 2 || one.Inode == 0 || one.Inode != two.Inode || one.Err != "" {
			t.Errorf("%+v, %+v", one, two)
		}
		if f := got["big"]; len(f.Data) != 700<<10 || f.Data[0] != 'x' || f.Data[650<<10] != 0 {
			t.Errorf("big has %d bytes", len(f.Data))
		}
		if f := got["link"]; f.Kind != kindSymlink || string(f.Data) != "a/one" || f.Size != 5 {
			t.Errorf("%+v", f)
		}
		if f := got["pipe"]; f.Kind != kindOther || f.Err != "" {
			t.Errorf("%+v", f)
		}
		if f := got["huge"]; !strings.Contains(f.Err, "says that it has") || f.Size != mostData+1 {
			t.Errorf("%+v", f)
		}
		if f := got["a/b"]; f.Kind != kindDir || f.Err != "" {
			t.Errorf("%+v", f)
		}
		for i := range 300 {
			if f := got[fmt.Sprintf("a/b/c/%0100d", i)]; len(f.Data) != 1 || f.Data[0] != byte(i) {
				t.Fatalf("file %d: %+v", i, f)
			}
		}
	}
	if got := ReadTree(at("nowhere")); got[""].Err == "" || len(got) != 1 {
		t.Errorf("%+v", got)
	}
}

// Endlessly nested directories are an error of one path, not of the reader.
func TestReadTreeEnds(t *testing.T) {
	dir := t.TempDir()
	deep := dir + strings.Repeat("/d", mostDepth+3)
	if err := os.MkdirAll(deep, 0o755); err != nil {
		t.Fatal(err)
	}
	got := ReadTree(dir)
	if len(got) != mostDepth+1 || got[strings.Repeat("/d", mostDepth)[1:]].Err == "" {
		t.Errorf("%d entries", len(got))
	}
}

// A directory that a damaged filesystem lists without end ends.
func TestReadTreeOfEndlessList(t *testing.T) {
	dirlisttest.Gives(t, dirlisttest.Parent)
	dir := t.TempDir()
	if got := ReadTree(dir); len(got) != 1 || got[""].Err != "list: the list has no end" {
		t.Errorf("%+v", got)
	}
}

func FuzzReadDatabase(f *testing.F) {
	f.Add("ok\nlast|1\nrow|4|1|turn 1 row 0;")
	f.Add("ok\nlast|99999999999999999999\n")
	f.Fuzz(func(t *testing.T, text string) {
		if st := readDatabase(text); st.broken == "" && !strings.HasPrefix(text, "ok\n") {
			t.Errorf("%q is judged whole", text)
		}
	})
}

func BenchmarkReadTree(b *testing.B) {
	dir := b.TempDir()
	sc := library(b, "atomic-replace")
	if err := sc.Prepare(dir); err != nil {
		b.Fatal(err)
	}
	var r Reader
	for b.Loop() {
		if len(r.Read(dir)) != 2 {
			b.Fatal("not two")
		}
	}
}
