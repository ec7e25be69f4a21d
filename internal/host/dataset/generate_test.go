package dataset

import (
	"strings"
	"testing"

	"whichfs/internal/plan/tree/generated"
	"whichfs/internal/testing/must"
)

func TestGetGenerated(t *testing.T) {
	t.Setenv("WHICHFS_CACHE", t.TempDir())
	without(t)
	d, err := Get(ctx, "gen:build-small,1M", nil)
	must.Do(t, err)
	must.Do(t, Verify(d))
	if d.Kind != "tree" || d.Name != "gen:build-small,1M" || d.Size != 1<<20 || len(d.Notes) != 1 {
		t.Errorf("%+v", d)
	}
	again, err := Get(ctx, "gen:build-small,1M,seed=1", nil)
	must.Do(t, err)
	if again.Path != d.Path || again.Digest != d.Digest {
		t.Errorf("the same in another notation: %+v", again)
	}
	other, err := Get(ctx, "gen:build-small,1M,seed=2", nil)
	must.Do(t, err)
	if other.Path == d.Path || other.Digest == d.Digest {
		t.Errorf("another seed: %+v", other)
	}
	must.Do(t, flip(d.Path))
	var said []string
	d, err = Get(ctx, "gen:build-small,1M", func(s string) { said = append(said, s) })
	must.Do(t, err)
	must.Do(t, Verify(d))
	if len(said) != 2 || !strings.Contains(said[0], "again") {
		t.Errorf("said %q", said)
	}
	listed := 0
	for _, s := range List() {
		if strings.HasPrefix(s.Name, "gen:") {
			listed++
		}
	}
	if listed != 5 {
		t.Errorf("%d generated sets are listed", listed)
	}
}

func TestGetGeneratedErrors(t *testing.T) {
	t.Setenv("WHICHFS_CACHE", t.TempDir())
	for name, want := range map[string]string{
		"gen:":                        "use build-large, build-small, debian-armhf, dot-git, kernel-source",
		"gen:ext4,5M":                 `there is no profile "ext4"`,
		"gen:build-small,":            "there is no number",
		"gen:build-small,5X":          "not a whole number with a known unit",
		"gen:build-small,1K":          "a size of 1K: it must be between 64K and 64G",
		"gen:build-small,1T":          "between 64K and 64G",
		"gen:build-small,5M,seed=":    "write a whole number",
		"gen:build-small,5M,seed=-1":  "write a whole number",
		"gen:build-small,5M,5M":       "as in gen:build-small,50M,seed=7",
		"gen:build-small,5M,depth=3":  "is not valid",
		"gen:build-small,seed=7,full": "is not valid",
	} {
		_, err := Get(ctx, name, nil)
		if err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestGeneratedNeedsRoom(t *testing.T) {
	dir := t.TempDir()
	room, err := free(dir)
	must.Do(t, err)
	g, err := generated.Parse("gen:build-small,1M")
	must.Do(t, err)
	must.Do(t, fits(g, dir))
	g.Size = room
	err = fits(g, dir)
	if err == nil || !strings.Contains(err.Error(), "WHICHFS_CACHE") {
		t.Errorf("error %v", err)
	}
}
