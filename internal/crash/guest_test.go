package crash

import (
	"bytes"
	"compress/gzip"
	"errors"
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"whichfs/internal/command"
	"whichfs/internal/fault/explore"
	"whichfs/internal/fault/script"
	"whichfs/internal/fault/states"
	"whichfs/internal/lab"
	"whichfs/internal/machine"
	"whichfs/internal/machine/qemu"
	"whichfs/internal/wire"
)

// update records anew what the tests of package explore look at.
var update = flag.Bool("update", false, "record the logs in ../fault/explore/testdata anew")

// theLab is a machine with an agent of its own.
func theLab(t *testing.T) machine.Machine {
	t.Helper()
	if _, err := lab.Build(t.Context(), lab.Native(), nil); err != nil {
		t.Fatalf("%v\nthe same by hand: whichfs lab build", err)
	}
	agent := filepath.Join(t.TempDir(), "whichfs-agent")
	_, err := command.Run(t.Context(), command.Options{Env: []string{"CGO_ENABLED=0"}}, "go", "build", "-trimpath", "-o", agent, "whichfs/cmd/whichfs-agent")
	if err != nil {
		t.Fatal(err)
	}
	return qemu.New(qemu.Options{Agent: agent})
}

// explain adds the console to an error.
func explain(err error) string {
	var e *machine.Error
	if errors.As(err, &e) {
		return err.Error() + "\n" + strings.Join(e.Console, "\n")
	}
	return err.Error()
}

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

// A guest records and explores: ext4 keeps what it promises, and an author who
// never syncs loses something, of which a small and whole finding is made.
func TestGuest(t *testing.T) {
	m := theLab(t)
	spec := SpecFor(m.Name())
	spec.Work = t.TempDir()
	begun := time.Now()
	o := Order{Explore: wire.Explore{Candidate: "ext4", Scripts: named(t, "append-fsync", "claims-without-fsync"),
		States: states.Options{Seed: 1, Most: 100}, Minimise: true}}
	r, err := Run(t.Context(), m, spec, o, nil)
	if err != nil {
		t.Fatal(explain(err))
	}
	t.Logf("%.1f s in all", time.Since(begun).Seconds())
	for _, one := range r.Tallies {
		total := 0.0
		for _, s := range one.Seconds {
			total += s
		}
		t.Logf("%s: %d entries, %d states, %d equal, %d promises, %d broken, %v; %.0f states/s: %v; %s",
			one.Script, one.Entries, one.States, one.Equal, one.Promises, one.Broken, one.Outcomes, float64(one.States)/total, one.Seconds, one.Stopped)
	}
	for _, f := range r.Findings {
		t.Logf("%s %v %d/%d state %+v same %d minimal %v %s ops %v check %q\n%s", explore.Key(f), f.Breaches, f.Began, f.Acked, f.State, f.Same, f.Minimal, f.Whole, f.Script.Ops, f.Check, strings.Join(f.Messages, "\n"))
	}
}

// TestRecord keeps the logs that package explore's tests need no guest for.
func TestRecord(t *testing.T) {
	if !*update {
		return
	}
	m := theLab(t)
	dir := filepath.Join("..", "fault", "explore", "testdata")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	for candidate, name := range map[string]string{"ext4": "atomic-replace", "ext2": "claims-without-fsync"} {
		spec := SpecFor(m.Name())
		spec.Work = t.TempDir()
		r, err := Run(t.Context(), m, spec, Order{Explore: wire.Explore{Candidate: candidate, Scripts: named(t, name), RecordOnly: true}}, nil)
		if err != nil {
			t.Fatal(explain(err))
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
