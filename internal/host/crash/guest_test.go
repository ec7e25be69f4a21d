package crash

import (
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"whichfs/internal/fault"
	"whichfs/internal/fault/script"
	"whichfs/internal/fault/states"
	"whichfs/internal/fault/writelog"
	"whichfs/internal/host/lab/labtest"
	"whichfs/internal/host/machine"
	"whichfs/internal/host/machine/machinetest"
	"whichfs/internal/host/machine/qemu/qemutest"
	"whichfs/internal/host/machine/usermode"
	"whichfs/internal/result"
	"whichfs/internal/target/explore"
	"whichfs/internal/testing/golden"
	"whichfs/internal/testing/parsed"
	"whichfs/internal/testing/wait"
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

// labs are the machines with guests, by their clock.
var labs = map[string]func(t *testing.T) machine.Machine{
	result.ClockWall: func(t *testing.T) machine.Machine { return qemutest.Lab(t) },
	result.ClockVirtual: func(t *testing.T) machine.Machine {
		return usermode.New(usermode.Options{Agent: labtest.Virtual(t), Handshake: wait.Patience})
	},
}

// inGuest is the virtual lab, with the spec of its guests.
func inGuest(t *testing.T) (machine.Machine, machine.Spec) {
	t.Helper()
	spec := SpecFor("lab", result.ClockVirtual)
	spec.Work, spec.Seed = t.TempDir(), 1
	return labs[result.ClockVirtual](t), spec
}

// A guest records and explores: ext4 keeps its promises, and an author who never syncs loses data,
// which yields a small and complete finding.
func TestGuestRecordsAndExplores(t *testing.T) {
	m, spec := inGuest(t)
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
	if len(r.Tallies) != 2 || len(r.Deaths) != 0 || len(r.Recordings) != 2 || r.Facts.Kernel == "" || r.Emulated == spec.Virtual || r.Looking <= 0 {
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

// recorded has a script recorded.
func recorded(t *testing.T, m machine.Machine, spec machine.Spec, candidate, name string) explore.Recording {
	t.Helper()
	r, err := Run(t.Context(), m, spec, Order{Explore: wire.Explore{Candidate: parsed.Candidate(candidate), Scripts: named(t, name), RecordOnly: true}}, nil)
	if err != nil || len(r.Recordings) != 1 || len(r.Recordings[0].Log.Entries) == 0 {
		t.Fatalf("%v, %+v", machinetest.Explain(err), r.Tallies)
	}
	return r.Recordings[0]
}

// looksSame is what two labs must agree on: not the time, nor the kernel's messages and version.
func looksSame(r Result) (out []string) {
	for _, one := range r.Tallies {
		one.Seconds = nil
		out = append(out, fmt.Sprintf("%+v", one))
	}
	for _, f := range r.Findings {
		torn := f.State.Torn
		f.State.Torn = nil
		out = append(out, fmt.Sprintf("%s in state %d %+v, torn %+v, %d the same: %+v; %s", explore.Key(f), f.Number, f.State, torn, f.Same, f.Breaches, f.Check))
	}
	return out
}

// Both labs judge the states of a log alike. The virtual lab makes the same log each time.
func TestLabsAgree(t *testing.T) {
	virtual := SpecFor("lab", result.ClockVirtual)
	virtual.Work, virtual.Seed = t.TempDir(), 3
	for _, candidate := range []string{"ext4", "xfs"} {
		m := labs[result.ClockVirtual](t)
		one := recorded(t, m, virtual, candidate, "claims-without-fsync")
		if again := recorded(t, m, virtual, candidate, "claims-without-fsync"); !reflect.DeepEqual(one, again) {
			t.Errorf("%s: the same seed gives another log", candidate)
		}
		given, err := files(one)
		if err != nil {
			t.Fatal(err)
		}
		found := map[string][]string{}
		for clock, lab := range labs {
			spec := SpecFor("lab", clock)
			spec.Work = t.TempDir()
			r, err := Run(t.Context(), lab(t), spec, Order{Files: given, Explore: wire.Explore{Candidate: parsed.Candidate(candidate), Given: "log",
				Scripts: named(t, "claims-without-fsync"), States: states.Options{Seed: 1, Most: 60}, Check: 10}}, nil)
			if err != nil {
				t.Fatal(machinetest.Explain(err))
			}
			found[clock] = looksSame(r)
			if len(r.Findings) == 0 || r.Tallies[0].States < 20 || r.Tallies[0].Checked == 0 || r.Emulated == spec.Virtual {
				t.Errorf("%s, %s: %q", candidate, clock, found[clock])
			}
		}
		if a, b := found[result.ClockWall], found[result.ClockVirtual]; !slices.Equal(a, b) {
			t.Errorf("%s: the labs do not agree:\n%s\n%s", candidate, strings.Join(a, "\n"), strings.Join(b, "\n"))
		}
	}
}

// A state in which the kernel panics costs that state alone: it is a finding, and the states after it
// are judged by the next guest.
func TestPanicCostsOneState(t *testing.T) {
	m, spec := inGuest(t)
	one := recorded(t, m, spec, "ext4", "append-fsync")
	// The beginning of the table of inodes, with the root directory's (fs/ext4/ext4.h).
	super := one.Base.Blocks[0][1024:]
	size := int64(1024) << binary.LittleEndian.Uint32(super[0x18:])
	groups := max(2048, size) // the block after the superblock's
	table := int64(binary.LittleEndian.Uint32(one.Base.Blocks[groups/fault.BlockSize][groups%fault.BlockSize+8:])) * size
	damaged := bytes.Clone(one.Base.Blocks[table/fault.BlockSize])
	for i := range damaged {
		damaged[i] ^= 0xff
	}
	write := func(at int64, data []byte) writelog.Entry {
		return writelog.Entry{Sector: uint64(at / writelog.SectorSize), Sectors: uint64(len(data) / writelog.SectorSize), Data: data}
	}
	harmless := func(blocks int64, with byte) writelog.Entry {
		return write(one.Size-blocks*fault.BlockSize, bytes.Repeat([]byte{with}, fault.BlockSize))
	}
	one.Log = writelog.Log{Entries: []writelog.Entry{
		harmless(1, 1), {Flags: writelog.Flush}, write(table/fault.BlockSize*fault.BlockSize, damaged), harmless(2, 2),
	}}
	given, err := files(one)
	if err != nil {
		t.Fatal(err)
	}
	r, err := Run(t.Context(), m, spec, Order{Files: given, Explore: wire.Explore{Candidate: parsed.Candidate("ext4 -o errors=panic"), Given: "log",
		States: states.Options{Seed: 1, Whole: true}}}, nil)
	if err != nil {
		t.Fatal(machinetest.Explain(err))
	}
	// The disk as it was, with the first write, with the damage, with the last write, with both.
	if got := r.Tallies[0]; got.States != 5 || got.Outcomes["whole"] != 3 || got.Outcomes["died"] != 2 || got.Stopped != "" || len(r.Deaths) != 2 {
		t.Fatalf("%+v, %+v", got, r.Deaths)
	}
	if len(r.Findings) != 1 {
		t.Fatalf("%d findings", len(r.Findings))
	}
	f := r.Findings[0]
	if said := strings.Join(f.Messages, "\n"); f.Outcome != fault.Died || f.Same != 2 || !slices.Contains(f.State.Kept, 2) || !strings.Contains(said, "panic forced after error") {
		t.Errorf("%s, %d the same, %+v: %s", explore.Key(f), f.Same, f.State, said)
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
		spec := SpecFor(m.Name(), "")
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
