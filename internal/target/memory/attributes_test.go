package memory

import (
	"archive/tar"
	"bytes"
	"strings"
	"testing"
	"time"
)

// belonging is an archive of one file with these records and this time.
func belonging(t *testing.T, records map[string]string, at time.Time) (*Tree, error) {
	t.Helper()
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	if err := w.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: "f", Mode: 0o644, ModTime: at, Format: tar.FormatPAX, PAXRecords: records}); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	tree, err := LoadTree("tree", &b, int64(b.Len()))
	if err == nil {
		t.Cleanup(func() { _ = tree.Close() })
	}
	return tree, err
}

func TestAttributes(t *testing.T) {
	tree, err := belonging(t, map[string]string{
		"SCHILY.xattr.user.b": "two\x00", "SCHILY.xattr.user.a": "", "comment": "no attribute",
	}, time.Unix(12, 345))
	if err != nil {
		t.Fatal(err)
	}
	e := tree.Entries[0]
	if e.Time != 12_000_000_345 || len(e.Attributes) != 2 || string(e.Attributes[0].Name) != "user.a\x00" || len(e.Attributes[0].Value) != 0 ||
		string(e.Attributes[1].Name) != "user.b\x00" || string(e.Attributes[1].Value) != "two\x00" {
		t.Errorf("%+v", e)
	}
	for _, records := range []map[string]string{
		{"SCHILY.xattr.": "without a name"},
		{"SCHILY.xattr." + strings.Repeat("n", 256): "long name"},
		{"SCHILY.xattr.user.large": strings.Repeat("v", maxAttributeValue+1)},
	} {
		if _, err := belonging(t, records, time.Unix(0, 0)); err == nil || !strings.Contains(err.Error(), "extended attribute") {
			t.Errorf("%v", err)
		}
	}
}
