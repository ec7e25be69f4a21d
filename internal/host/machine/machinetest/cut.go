package machinetest

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"whichfs/internal/flash"
	"whichfs/internal/flash/models"
	"whichfs/internal/host/machine"
	"whichfs/internal/result"
	"whichfs/internal/testing/must"
	"whichfs/internal/testing/parsed"
	"whichfs/internal/wire"
)

// Cuts is the contract of labs that cut the power. session returns one with simulated storage.
func Cuts(t *testing.T, session func(t *testing.T, storage string) machine.Cutter) {
	// A card that survives a cut in the middle of a merge keeps synced data.
	card := session(t, ModelWith(t, "sd-basic", "64M", func(m *flash.Model) { m.Power.MergeLoses = false }))
	f, notes := Cut(t, card, machine.Cut{Candidate: parsed.Candidate("ext4"), Repeats: 1, Seed: 7})
	for metric, want := range map[string]float64{result.CutsDone: 1, result.CutsMounted: 1, result.CutsWithLoss: 0,
		result.FilesWrong: 0, result.FilesMissing: 0, result.FilesUnreadable: 0} {
		if f[metric].Value != want || f[metric].Absent != "" {
			t.Errorf("%s: %+v, want %v (%s)", metric, f[metric], want, notes)
		}
	}
	if f[result.CutsOps].Value < 1 || f[result.FilesWhole].Value < 1 || f[result.CutsMount].Value <= 0 {
		t.Errorf("%+v", f)
	}
	// A filesystem that does not wait for the device loses data it had promised; the check notices that,
	// and keeps the evidence. A disk that had just caught up has nothing to lose: then it is cut again,
	// at other instants.
	dir := t.TempDir()
	const tries = 5
	for try := range uint64(tries) {
		disk := session(t, SlowDisk(t))
		f, notes = Cut(t, disk, machine.Cut{Candidate: parsed.Candidate("ext4 -o nobarrier"), Repeats: 2, Seed: 5 + try, Keep: dir})
		if f[result.CutsWithLoss].Value > 0 {
			break
		}
	}
	if f[result.CutsWithLoss].Value == 0 || f[result.FilesMissing].Value+f[result.FilesWrong].Value == 0 {
		t.Errorf("nothing that was not flushed is lost: %+v", f)
	}
	kept, err := filepath.Glob(filepath.Join(dir, "cut-ext4*.img.gz"))
	must.Do(t, err)
	if len(kept) == 0 || !strings.Contains(notes, dir) {
		t.Errorf("evidence: %q; %s", kept, notes)
	}
	for _, path := range kept {
		if st, err := os.Stat(path); err != nil || st.Size() < 1000 {
			t.Errorf("evidence: %v, %v", st, err)
		}
	}
}

// Cut cuts a candidate off and returns its figures of phase "cut" and its notes, one per line.
func Cut(t *testing.T, s machine.Cutter, order machine.Cut) (map[string]result.Measurement, string) {
	t.Helper()
	figures, notes := map[string]result.Measurement{}, ""
	start := time.Now()
	done, err := s.Cut(t.Context(), order, machine.Events{Figures: func(f wire.Figures) {
		for _, m := range f.Measurements {
			figures[m.Metric] = m
		}
		for _, n := range f.Notes {
			notes += fmt.Sprintf("%s: %s\n", n.Level, n.Text)
		}
	}})
	t.Logf("%s, %.2f s a cut: %+v\n%s", order.Candidate, time.Since(start).Seconds()/float64(order.Repeats), figures, notes)
	if err != nil || done.Outcome != result.Done {
		t.Fatalf("%+v, %v", done, Explain(err))
	}
	return figures, notes
}

// SlowDisk is a disk at one 18th of its speed: it is still busy with what it has promised, however
// long a busy host takes to cut its power.
func SlowDisk(t *testing.T) string {
	t.Helper()
	return ModelWith(t, "hdd", "64M", func(m *flash.Model) { m.Disk.RPM /= 18 })
}

// ModelWith is a model's storage of a size, with a change.
func ModelWith(t *testing.T, name, size string, change func(m *flash.Model)) string {
	t.Helper()
	m, err := models.ByName(name)
	if err != nil {
		t.Fatal(err)
	}
	change(&m)
	file := filepath.Join(t.TempDir(), "changed.toml")
	if err := os.WriteFile(file, []byte(models.Write(m)), 0o600); err != nil {
		t.Fatal(err)
	}
	return "sim:" + file + "," + size
}
