package app

import (
	"path/filepath"
	"strings"
	"testing"

	"whichfs/internal/plan"
	"whichfs/internal/result"
	"whichfs/internal/result/store"
)

// A run probes a model that claims are about, once, and nothing else; a probe that fails leaves a note
// and the run alone.
func TestProbeForClaims(t *testing.T) {
	st, err := store.Open(filepath.Join(t.TempDir(), "runs.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close() //nolint:errcheck // a test
	var notes []string
	j := &Job{Store: st, app: &App{Note: func(text string) { notes = append(notes, text) }}}
	for _, one := range []struct {
		study, machine, storage, scale string
		fleet                          bool
		probes                         int // in the store afterwards
		note                           string
	}{
		{"devbuild-gist", "lab", "sim:devbuild-nvme,256M", "quick", false, 0, ""}, // no claim about bare storage
		{"bootlin-2023", "lab", "disk:1G", "quick", false, 0, ""},                 // of this host
		{"bootlin-2023", "lab", "sim:sd-basic,256M", "quick", false, 1, ""},
		{"bootlin-2023", "lab", "sim:sd-basic,256M", "claims", false, 1, ""}, // known
		{"bootlin-2023", "local", "/dev/does-not-exist", "quick", false, 1, ""},
		{"bootlin-2023", "local", "/dev/does-not-exist", "claims", false, 1, "the probe of /dev/does-not-exist failed: "},
		{"bootlin-2023", "local", "/dev/does-not-exist", "claims", true, 1, ""}, // of a worker's machine
		{"bootlin-2023", "lab", "sim:no-such-model,256M", "quick", false, 1, "the probe of sim:no-such-model,256M failed: "},
	} {
		notes = nil
		j.probeForClaims(t.Context(), result.Run{Study: one.study}, plan.Plan{Study: one.study, Scale: one.scale, Fleet: one.fleet, Machine: one.machine, Storage: one.storage, Seed: 1})
		list, err := st.Probes()
		if err != nil || len(list) != one.probes {
			t.Errorf("%+v: %d probes, %v", one, len(list), err)
		}
		if text := strings.Join(notes, "\n"); !strings.Contains(text, one.note) || one.note == "" && text != "" {
			t.Errorf("%+v: it says %q", one, text)
		}
	}
}
