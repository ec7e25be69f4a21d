package study

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"whichfs/internal/plan/fio"
	"whichfs/internal/plan/media"
	"whichfs/internal/sys/command"
	"whichfs/internal/testing/must"
	"whichfs/internal/testing/needs"
)

// A job file makes a study as consistent as a published one, with the job
// unchanged, and its name alone gives the same columns again.
func TestFromFio(t *testing.T) {
	const job = "; mine\n[own]\nrw=randrw\nsize=4m\n"
	s := FromFio("own.fio", job)
	checkColumns(t, s)
	for name, scale := range s.Scales {
		if len(scale.Candidates) < 5 || scale.Rounds < 3 || scale.StepLimit <= 0 {
			t.Errorf("scale %s: %+v", name, scale)
		}
	}
	found := 0
	for _, step := range s.Scenario(false, s.Scales["quick"]) {
		if step.Work == "fio" {
			found++
			if step.Job != job || step.Size != 4<<20 {
				t.Errorf("the job became %q of %d bytes", step.Job, step.Size)
			}
		}
	}
	if found != 1 || s.Scenario(true, s.Scales["quick"]) != nil {
		t.Errorf("%d steps with fio, and for read-only filesystems %v", found, s.Scenario(true, s.Scales["quick"]))
	}
	later, ok := ByName(FioName)
	if !ok || len(later.Columns) != len(s.Columns) || later.Name != s.Name {
		t.Fatalf("a report does not find the study: %v", ok)
	}
	for i, c := range later.Columns {
		if c.Key != s.Columns[i].Key {
			t.Errorf("column %s is %s later", s.Columns[i].Key, c.Key)
		}
	}
}

func TestFioStorage(t *testing.T) {
	for size, want := range map[string]int64{"4m": 1, "512m": 1, "513m": 2, "3g": 8, "900g": 16, "10%": 1} {
		if got := fioStorage("[a]\nsize=" + size + "\n"); got != want {
			t.Errorf("%s: %d GiB, want %d", size, got, want)
		}
	}
	for _, spec := range FromFio("", "[a]\nsize=3g\n").Storages[0].Specs {
		if _, err := media.Parse(spec); err != nil {
			t.Error(err)
		}
	}
}

// Every job of the study passes, has the published shape at the published
// volume, and the files of all that share a directory are the same ones.
func TestElc2015Jobs(t *testing.T) {
	s := Elc2015()
	for name, scale := range elcScales(s) {
		layouts := map[string]string{}
		jobs := 0
		for _, step := range s.Scenario(false, scale) {
			if step.Work != "fio" {
				continue
			}
			jobs++
			if err := fio.Check(step.Job); err != nil {
				t.Errorf("%s, %s: %v", name, step.Phase, err)
			}
			f, err := fio.Parse(step.Job)
			if err != nil {
				t.Fatal(err)
			}
			if volume, known := f.Volume(); volume != step.Size || !known {
				t.Errorf("%s, %s: %d bytes where the step says %d", name, step.Phase, volume, step.Size)
			}
			if old, ok := layouts[step.Dir]; ok && old != f.Layout() {
				t.Errorf("%s, %s: other files than the jobs before it:\n%s\n%s", name, step.Phase, old, f.Layout())
			}
			layouts[step.Dir] = f.Layout()
		}
		want := 16 + 4 + len(e15Background(scale.e15()))
		if scale.e15().alone {
			want += 4
		}
		if jobs != want {
			t.Errorf("%s has %d jobs", name, jobs)
		}
	}
	const published = "[elc]\nrw=randread\nsize=524288000\nblocksize=4M\nnrfiles=50\ndirect=1\nbuffered=0\nnumjobs=1\nioengine=libaio\n"
	const percentiles = "lat_percentiles=1\n" // changes the report, but not the work
	if got := e15Matrix()[0].job(s.Scales["full"].e15()); got != published+percentiles {
		t.Errorf("the published job became\n%s", got)
	}
}

// elcScales are the scales of the study, and quick as it is by wall clock.
func elcScales(s Study) map[string]Scale {
	scales := maps.Clone(s.Scales)
	scales["quick by wall clock"] = s.Scales["quick"].Short()
	return scales
}

// The order in which fio itself takes the blocks of a random job is not that of the files: two files of
// one block each would be read from start to end.
func TestElc2015IsRandom(t *testing.T) {
	needs.Programs(t)
	for name, scale := range elcScales(Elc2015()) {
		for _, block := range []string{"4M", "4k"} {
			job := e15Cell{rw: "randread", block: block}.job(scale.e15())
			requests, inOrder := taken(t, strings.Replace(job, "ioengine=libaio", "ioengine=null", 1))
			if requests < 3 || inOrder > requests/2 {
				t.Errorf("%s, blocks of %s: %d of %d requests follow the one before", name, block, inOrder, requests)
			}
		}
	}
	if requests, inOrder := taken(t, "[two]\nrw=randread\nsize=8M\nblocksize=4M\nnrfiles=2\nioengine=null\n"); inOrder < requests-1 {
		t.Errorf("two files of one block: %d of %d requests follow the one before", inOrder, requests)
	}
}

// taken runs a job file with fio, and counts its requests and how many of them follow on the request
// before: in the same file, or at the beginning of the next one.
func taken(t *testing.T, job string) (requests, inOrder int) {
	t.Helper()
	dir := t.TempDir()
	file, log := filepath.Join(dir, "job.fio"), filepath.Join(dir, "log")
	must.Do(t, os.WriteFile(file, []byte(job), 0o644))
	_, err := command.Run(t.Context(), command.Options{Dir: dir}, "fio", "--write_iolog="+log, file)
	must.Do(t, err)
	text, err := os.ReadFile(log)
	must.Do(t, err)
	next, last := int64(-1), ""
	for line := range strings.Lines(string(text)) {
		var at, length int64
		var ms int
		var name string
		if n, _ := fmt.Sscanf(line, "%d %s read %d %d", &ms, &name, &at, &length); n < 4 {
			continue
		}
		if requests++; last != "" && (name == last && at == next || name > last && at == 0) {
			inOrder++
		}
		next, last = at+length, name
	}
	return requests, inOrder
}

// The published figures a second time, as on the slides, so that a typo in one
// of the two is found.
func TestElc2015Numbers(t *testing.T) {
	want := map[string][]float64{
		"total": {976, 1024, 1023, 981, 936}, "empty": {1.3, 0.25, 141, 32, 16}, "threads": {2, 23, 1, 5, 1},
		"check": {60, 130, 2090, 1320}, "check-cpu": {10, 60, 1700, 300},
	}
	tables := Elc2015().Numbers
	if len(tables) != len(want) {
		t.Errorf("%d tables", len(tables))
	}
	for _, table := range tables {
		var got []float64
		for _, c := range table.Cells {
			if c.Text == "" {
				got = append(got, c.Value)
			}
		}
		if !slices.Equal(got, want[table.Key]) {
			t.Errorf("%s: %v, want %v", table.Key, got, want[table.Key])
		}
	}
}

// The jobs during which threads are watched move the scale's share of 38 GB, and no more than a
// hundredth of it on one filesystem.
func TestElc2015Background(t *testing.T) {
	s := Elc2015()
	for name, want := range map[string]int64{"quick": 38_000_000, "claims": 380_000_000, "full": 3_800_000_000} {
		var sum int64
		fresh := false
		for _, step := range s.Scenario(false, s.Scales[name]) {
			fresh = fresh || step.Work == "mkfs"
			if step.Dir != "background" {
				continue
			}
			if sum += step.Size; step.Size > 380_000_000 || !fresh {
				t.Errorf("%s, %s: %d bytes, on a new filesystem: %t", name, step.Phase, step.Size, fresh)
			}
			fresh = false
		}
		if sum != want {
			t.Errorf("%s: %d bytes, want %d", name, sum, want)
		}
	}
}
