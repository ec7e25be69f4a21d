package steps

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"
)

// carried carries work out by a clock of the test, in which each step takes the seconds given.
func carried(w *Work, clock *time.Time, end bool, script ...any) (said []string) {
	w.now = func() time.Time { return *clock }
	say := w.Saying(func(line string) { said = append(said, line) })
	for i := 0; i < len(script); i += 2 {
		say(script[i].(string))
		*clock = clock.Add(time.Duration(script[i+1].(int)) * time.Second)
	}
	if end {
		w.End()
	}
	return said
}

func TestWorkLearns(t *testing.T) {
	t.Setenv("WHICHFS_CACHE", t.TempDir())
	clock := time.Unix(1e9, 0)
	script := []any{"fetching 98.2 MB of packages", 10, "unpacking", 20, "kernel 6.1.0-49", 0, "making the image", 30}
	if got := carried(Of("image"), &clock, true, script...); !slices.Equal(got, []string{"fetching 98.2 MB of packages", "unpacking", "kernel 6.1.0-49", "making the image"}) {
		t.Errorf("the first time: %q", got)
	}
	// Another version of the packages, on a machine that is half as fast today.
	script[0], script[1], script[3], script[4] = "fetching 99.0 MB of packages", 20, 40, "kernel 6.1.0-50"
	want := []string{"fetching 99.0 MB of packages, about 60 s left", "unpacking, about 2 min left", "kernel 6.1.0-50, about 60 s left", "making the image"}
	if got := carried(Of("image"), &clock, false, script...); !slices.Equal(got, want) {
		t.Errorf("the second time: %q", got)
	}
	// It did not end, so that nothing was learnt of it.
	w := Of("image")
	carried(w, &clock, false, "unpacking", 5)
	if left, ok := w.Left(); !ok || left != 45*time.Second {
		t.Errorf("in the midst of a step: %v, %v", left, ok)
	}
	clock = clock.Add(time.Hour)
	if left, ok := w.Left(); !ok || left != 30*time.Second {
		t.Errorf("a step that takes too long: %v, %v", left, ok)
	}
	if got := carried(Of("other"), &clock, false, "unpacking", 5); !slices.Equal(got, []string{"unpacking"}) {
		t.Errorf("other work: %q", got)
	}
}

func TestWorkSaysNothingOfWhatIsKnown(t *testing.T) {
	t.Setenv("WHICHFS_CACHE", t.TempDir())
	clock := time.Unix(1e9, 0)
	carried(Of("kernel"), &clock, true, "configuring", 1, "compiling: 1 of 9 files", 10, "compiling: 5 of 9 files", 10, "linking", 9)
	got := carried(Of("kernel"), &clock, false, "configuring", 1, "compiling: 1 of 9 files", 10, "compiling: 5 of 9 files, about 8 s left", 10, "linking", 1)
	want := []string{"configuring, about 30 s left", "compiling: 1 of 9 files", "compiling: 5 of 9 files, about 8 s left", "linking, about 9 s left"}
	if !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
}

func TestDamagedDurations(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("WHICHFS_CACHE", dir)
	if err := os.WriteFile(filepath.Join(dir, file), []byte(`{"image": 3`), 0o644); err != nil {
		t.Fatal(err)
	}
	clock := time.Unix(1e9, 0)
	carried(Of("image"), &clock, true, "unpacking", 7)
	if got := carried(Of("image"), &clock, false, "unpacking", 1); !slices.Equal(got, []string{"unpacking, about 7 s left"}) {
		t.Errorf("%q", got)
	}
}
