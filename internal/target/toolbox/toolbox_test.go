package toolbox_test

import (
	"archive/tar"
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"whichfs/internal/target/toolbox"
	"whichfs/internal/testing/must"
)

func archive(t *testing.T, programs []toolbox.Entry, headers ...tar.Header) []byte {
	t.Helper()
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for _, h := range headers {
		must.Do(t, w.WriteHeader(&h))
	}
	if programs != nil {
		text, err := toolbox.List(programs)
		must.Do(t, err)
		must.Do(t, w.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: toolbox.ListName, Size: int64(len(text))}))
		_, err = w.Write(text)
		must.Do(t, err)
	}
	must.Do(t, w.Close())
	return b.Bytes()
}

// An archive that is cut off, or that would write elsewhere, is refused, and nothing is written
// outside the directory.
func TestUnpackRefuses(t *testing.T) {
	file := func(name string) tar.Header { return tar.Header{Typeflag: tar.TypeReg, Name: name} }
	whole := archive(t, []toolbox.Entry{{Name: "p", File: "program/p"}}, file("program/p"))
	for word, content := range map[string][]byte{
		"not whole":                    archive(t, nil, file("program/p")),
		"is damaged":                   whole[:len(whole)-1520],
		`"../out", which is no file`:   archive(t, nil, file("../out")),
		`"lib/../../out", which`:       archive(t, nil, file("lib/../../out")),
		`"/out", which is no file`:     archive(t, nil, file("/out")),
		`"lib/link", which is no file`: archive(t, nil, tar.Header{Typeflag: tar.TypeSymlink, Name: "lib/link", Linkname: "/out"}),
		`one of the name "../p"`:       archive(t, []toolbox.Entry{{Name: "../p", File: "program/p"}}, file("program/p")),
		`lacks its file "program/q"`:   archive(t, []toolbox.Entry{{Name: "p", File: "program/q"}}, file("program/p")),
		`lacks its file "lib/ld"`:      archive(t, []toolbox.Entry{{Name: "p", File: "program/p", Loader: "lib/ld"}}, file("program/p")),
		`"X;reboot" is not a variable`: archive(t, []toolbox.Entry{{Name: "p", File: "program/p", Settings: []toolbox.Setting{{Variable: "X;reboot"}}}}, file("program/p")),
		"file exists":                  archive(t, nil, file("lib/a"), file("lib/a")),
	} {
		parent := t.TempDir()
		_, err := toolbox.Unpack(bytes.NewReader(content), filepath.Join(parent, "dir"))
		if err == nil || !strings.Contains(err.Error(), word) {
			t.Errorf("%v does not say %q", err, word)
		}
		if all, _ := os.ReadDir(parent); len(all) != 1 {
			t.Errorf("%s: %v", word, all)
		}
	}
	all, err := toolbox.Unpack(bytes.NewReader(whole), filepath.Join(t.TempDir(), "dir"))
	if err != nil || len(all) != 1 || all[0].Name != "p" {
		t.Error(all, err)
	}
}
