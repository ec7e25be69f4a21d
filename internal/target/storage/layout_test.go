package storage

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"whichfs/internal/plan/media"
)

func TestLayout(t *testing.T) {
	r := fixture(t, "sd-card")
	want := []media.Place{{Name: "mmcblk0p1", Start: 4 << 20, Size: 256 << 20}}
	for _, name := range []string{"mmcblk0", "mmcblk0p1"} {
		d, err := r.byName(name)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := r.places(d); err != nil || !slices.Equal(got, want) {
			t.Errorf("%s: %v, %v; want %v", name, got, err, want)
		}
	}
	d, err := r.byName("mmcblk0p1")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(d.dir, "start"), []byte("-1\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := r.places(d); err == nil || !strings.Contains(err.Error(), "-1") {
		t.Errorf("error %v", err)
	}
}
