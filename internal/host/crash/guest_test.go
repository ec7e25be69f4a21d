package crash

import (
	"bytes"
	"compress/gzip"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"whichfs/internal/fault/script"
	"whichfs/internal/fault/states"
	"whichfs/internal/host/machine/machinetest"
	"whichfs/internal/host/machine/qemu/qemutest"
	"whichfs/internal/target/explore"
	"whichfs/internal/testing/golden"
	"whichfs/internal/testing/parsed"
	"whichfs/internal/wire"
)

func named(t *testing.T, names ...string) []script.Script {
	t.Helper()
	var out []script.Script
	for _, s := range script.Library() {
		if slices.Contains(names, s.Name) {
			out = append(out, s)
		}
	}
	if len(out) != len(names) {
		t.Fatalf("the library has %d of the scripts %q", len(out), names)
	}
	return out
}

// A guest records and explores: ext4 keeps its promises, and an author who never syncs loses data,
// which yields a small and complete finding.
func TestGuestRecordsAndExplores(t *testing.T) {
	m := qemutest.Lab(t)
	spec := SpecFor(m.Name())
	spec.Work = t.TempDir()
	begun := time.Now()
	o := Order{Explore: wire.Explore{Candidate: parsed.Candidate("ext4"), Scripts: named(t, "append-fsync", "claims-without-fsync"),
		States: states.Options{Seed: 1, Most: 60, Whole: true}, Minimise: true}}
	r, err := Run(t.Context(), m, spec, o, nil)
	if err != nil {
		t.Fatal(machinetest.Explain(err))
	}
	t.Logf("%.1f s in all", time.Since(begun).Seconds())
	for _, one := range r.Tallies {
		total := 0.0
		for _, s := range one.Seconds {
			total += s
		}
		t.Logf("%s: %d entries, %d states, %.0f of them a second: %v", one.Script, one.Entries, one.States, float64(one.States)/total, one.Seconds)
		if one.States < 30 || one.Promises == 0 || one.Stopped != "" || one.Writes == 0 || one.Flushes == 0 || one.Outcomes["recovered"] == 0 {
			t.Errorf("%+v", one)
		}
	}
	if len(r.Tallies) != 2 || len(r.Deaths) != 0 || len(r.Recordings) != 2 || r.Facts.Kernel == "" || !r.Emulated {
		t.Fatalf("%d tallies, %+v", len(r.Tallies), r.Deaths)
	}
	if kept, lost := r.Tallies[0], r.Tallies[1]; kept.Broken != 0 || lost.Broken == 0 {
		t.Errorf("%d promises to who syncs are broken, and %d to who does not", kept.Broken, lost.Broken)
	}
	found := false
	for _, f := range r.Findings {
		t.Logf("%s: %v, %d of %d operations, state %+v, %d the same, minimal %v %s", explore.Key(f), f.Breaches, f.Acked, len(f.Script.Ops), f.State, f.Same, f.Minimal, f.Whole)
		if f.Script.Name != "claims-without-fsync" || len(f.Breaches) == 0 {
			continue
		}
		found = true
		if !f.Minimal || len(f.Script.Ops) != 1 || len(f.State.Kept) != 0 || f.State.Torn != nil || f.Check != "clean" || f.Version == "" {
			t.Errorf("%+v", f)
		}
		now, _, err := Replay(t.Context(), m, spec, f, 0)
		if err != nil || explore.Key(now) != explore.Key(f) {
			t.Errorf("judged again: %+v, %v", now.Breaches, err)
		}
		break
	}
	if !found {
		t.Errorf("%d findings, and none of who never syncs", len(r.Findings))
	}
}

// TestRecord keeps the logs from which package explore's tests work without a guest.
func TestRecord(t *testing.T) {
	if !*golden.Update {
		return
	}
	m := qemutest.Lab(t)
	dir := filepath.Join("..", "fault", "explore", "testdata")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	for candidate, name := range map[string]string{"ext4": "atomic-replace", "ext2": "claims-without-fsync"} {
		spec := SpecFor(m.Name())
		spec.Work = t.TempDir()
		r, err := Run(t.Context(), m, spec, Order{Explore: wire.Explore{Candidate: parsed.Candidate(candidate), Scripts: named(t, name), RecordOnly: true}}, nil)
		if err != nil {
			t.Fatal(machinetest.Explain(err))
		}
		given, err := files(r.Recordings[0])
		if err != nil {
			t.Fatal(err)
		}
		for kind, text := range given {
			var b bytes.Buffer
			z, _ := gzip.NewWriterLevel(&b, gzip.BestCompression)
			_, _ = z.Write(text)
			_ = z.Close()
			if err := os.WriteFile(filepath.Join(dir, candidate+"-"+name+"."+kind+".gz"), b.Bytes(), 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
}
