package explore

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"whichfs/internal/fault"
	"whichfs/internal/fault/finding"
	"whichfs/internal/fault/script"
	"whichfs/internal/fault/states"
	"whichfs/internal/fault/writelog"
	"whichfs/internal/result"
	"whichfs/internal/target/blockdev"
	"whichfs/internal/testing/needs"
	"whichfs/internal/testing/parsed"
	"whichfs/internal/wire"
)

// These tests judge with this host's kernel what a guest has recorded (see TestRecord in package
// crash).

// recorded are the files of a recording: "log" and "base".
func recorded(t testing.TB, name string) map[string][]byte {
	t.Helper()
	out := map[string][]byte{}
	for _, kind := range []string{"log", "base"} {
		packed, err := os.ReadFile(filepath.Join("testdata", name+"."+kind+".gz"))
		if err != nil {
			t.Fatal(err)
		}
		z, err := gzip.NewReader(bytes.NewReader(packed))
		if err != nil {
			t.Fatal(err)
		}
		if out[kind], err = io.ReadAll(z); err != nil {
			t.Fatal(err)
		}
	}
	return out
}

// flushless is a log as left by a device that ignores flushes and FUA, or by nobarrier.
func flushless(t testing.TB, text []byte) []byte {
	t.Helper()
	l, err := writelog.Read(bytes.NewReader(text), int64(len(text)))
	if err != nil {
		t.Fatal(err)
	}
	var out writelog.Log
	for _, e := range l.Entries {
		e.Flags &^= writelog.Flush | writelog.FUA
		if e.Sectors > 0 || e.Flags&writelog.Mark != 0 {
			out.Entries = append(out.Entries, e)
		}
	}
	var b bytes.Buffer
	if err := out.Write(&b); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func libraryScript(t testing.TB, name string) script.Script {
	t.Helper()
	i := slices.IndexFunc(script.Library(), func(s script.Script) bool { return s.Name == name })
	if i < 0 {
		t.Fatalf("the library has no %s", name)
	}
	return script.Library()[i]
}

// nativeOrder judges what a script left on a candidate.
func nativeOrder(t testing.TB, line, name string, o states.Options) wire.Explore {
	return wire.Explore{Candidate: parsed.Candidate(line), Scripts: []script.Script{libraryScript(t, name)}, Given: "log", States: o}
}

// native judges natively and collects the findings.
func native(t testing.TB, order wire.Explore, files map[string][]byte, workers int) (finding.Tally, []finding.Finding) {
	t.Helper()
	needs.Devices(t)
	var found []finding.Finding
	out, err := explore(context.Background(), order, files, t.TempDir(), Host{
		Found: func(_ wire.Looking, f finding.Finding) error { found = append(found, f); return nil },
	}, workers)
	if err != nil {
		t.Fatal(err)
	}
	if len(out.Scripts) != 1 {
		t.Fatalf("%+v", out)
	}
	return out.Scripts[0], found
}

// Ext4 keeps its promises; if its flushes are ignored, it does not, and that is found.
func TestExt4(t *testing.T) {
	t.Parallel()
	files := recorded(t, "ext4-atomic-replace")
	order := nativeOrder(t, "ext4", "atomic-replace", states.Options{Seed: 1, Most: 250, Whole: true})
	order.Check = 60
	tally, found := native(t, order, files, 2)
	if tally.Broken != 0 || tally.States < 50 || tally.Promises == 0 || tally.Checked == 0 || tally.Dirty != 0 || len(found) != 0 {
		t.Errorf("%+v", tally)
		for _, f := range found { // without their logs
			t.Errorf("state %d, %s, %s: %v", f.Number, f.Outcome.Key(), f.Whole, f.Breaches)
		}
	}
	if kept := tally.Outcomes["whole"] + tally.Outcomes["recovered"]; kept != tally.States || tally.Outcomes["recovered"] == 0 {
		t.Errorf("%v", tally.Outcomes)
	}
	files["log"] = flushless(t, files["log"])
	tally, found = native(t, order, files, 2)
	if tally.Broken == 0 || len(found) == 0 {
		t.Errorf("without flushes: %+v", tally)
	}
	for _, f := range found {
		if f.Kernel == "" || f.Candidate != "ext4" || f.Check == "" || f.Same < 1 || f.Whole == "" || f.Minimal || f.Acked > f.Began {
			t.Errorf("%+v", f)
		}
	}
}

// The same log and the same seed give the same result, whatever judges them.
func TestNativeIsDeterministic(t *testing.T) {
	t.Parallel()
	files := recorded(t, "ext2-claims-without-fsync")
	order := nativeOrder(t, "ext2", "claims-without-fsync", states.Options{Seed: 5, Most: 60})
	var tallies []finding.Tally
	var all [][]finding.Finding
	for _, workers := range []int{1, 2} {
		tally, found := native(t, order, files, workers)
		for i := range found {
			found[i].Messages = nil // they name the loop device
		}
		tallies, all = append(tallies, withoutTime(tally)), append(all, found)
	}
	if !reflect.DeepEqual(tallies[0], tallies[1]) || len(all[0]) == 0 || !reflect.DeepEqual(all[0], all[1]) {
		t.Errorf("%+v\n%+v\n%d and %d findings", tallies[0], tallies[1], len(all[0]), len(all[1]))
	}
}

// An author who never syncs loses data, and the finding is minimised and reproduced from its file;
// operations cannot be left out if nothing can record.
func TestFindingIsReproduced(t *testing.T) {
	t.Parallel()
	order := nativeOrder(t, "ext2", "claims-without-fsync", states.Options{Seed: 1, Most: 40})
	order.Minimise = true
	tally, found := native(t, order, recorded(t, "ext2-claims-without-fsync"), 1)
	if tally.Broken == 0 || len(found) == 0 {
		t.Fatalf("%+v", tally)
	}
	f := found[0]
	if f.Outcome < fault.Truncated || len(f.Breaches) == 0 || f.Minimal != (f.Whole == "") || blockdev.Missing() != nil && !strings.Contains(f.Whole, "no operation was left out") {
		t.Errorf("%s: %v, whole %q", Key(f), f.Breaches, f.Whole)
	}
	var file bytes.Buffer
	if err := f.Encode(&file); err != nil {
		t.Fatal(err)
	}
	var again []finding.Finding
	out, err := explore(context.Background(), wire.Explore{Candidate: parsed.Candidate("ext2"), Given: "finding"},
		map[string][]byte{"finding": file.Bytes()}, t.TempDir(), Host{
			Found: func(_ wire.Looking, f finding.Finding) error { again = append(again, f); return nil },
		}, 1)
	if err != nil || len(out.Scripts) != 0 || len(again) != 1 || Key(again[0]) != Key(f) || !reflect.DeepEqual(again[0].Breaches, f.Breaches) {
		t.Errorf("%+v, %v: %+v", out, err, again)
	}
}

// Impossible orders are refused, and nothing is counted.
func TestRefused(t *testing.T) {
	good := recorded(t, "ext4-atomic-replace")
	order := nativeOrder(t, "ext4", "atomic-replace", states.Options{Most: 5})
	for name, c := range map[string]struct {
		line   string
		change func(o *wire.Explore, files map[string][]byte)
		want   string
	}{
		"read-only":      {"squashfs", nil, "never written"},
		"raw flash":      {"jffs2", nil, "raw flash"},
		"no log":         {"ext4", func(_ *wire.Explore, f map[string][]byte) { delete(f, "log") }, "none was given"},
		"broken log":     {"ext4", func(_ *wire.Explore, f map[string][]byte) { f["log"] = f["log"][:5000] }, "the given log"},
		"broken base":    {"ext4", func(_ *wire.Explore, f map[string][]byte) { f["base"] = f["base"][:100] }, "the given base image"},
		"no finding":     {"ext4", func(o *wire.Explore, _ map[string][]byte) { o.Given = "finding" }, "none was given"},
		"unknown":        {"ext4", func(o *wire.Explore, _ map[string][]byte) { o.Given = "porridge" }, "porridge"},
		"two scripts":    {"ext4", func(o *wire.Explore, _ map[string][]byte) { o.Scripts = append(o.Scripts, o.Scripts...) }, "2 scripts"},
		"no script":      {"ext4", func(o *wire.Explore, _ map[string][]byte) { o.Given, o.Scripts = "", nil }, "no script was given"},
		"too small":      {"btrfs", func(o *wire.Explore, _ map[string][]byte) { o.Given, o.Size = "", 16<<20 }, "needs at least"},
		"anew and after": {"ext4", func(o *wire.Explore, _ map[string][]byte) { o.Given, o.After.State = "", 3 }, "a new recording of a script"},
	} {
		o, files := order, map[string][]byte{"log": good["log"], "base": good["base"]}
		o.Candidate = parsed.Candidate(c.line)
		if c.change != nil {
			c.change(&o, files)
		}
		out, err := Explore(context.Background(), o, files, t.TempDir(), Host{})
		var f *result.Failure
		if !errors.As(err, &f) || f.Outcome != result.Refused || !strings.Contains(err.Error(), c.want) || len(out.Scripts) != 0 {
			t.Errorf("%s: %v, %+v", name, err, out)
		}
	}
}

// A kernel without the device mapper reports that it cannot record.
func TestRecordingNeedsTheMapper(t *testing.T) {
	needs.Devices(t)
	t.Parallel()
	_, err := Explore(context.Background(), wire.Explore{Candidate: parsed.Candidate("ext4"), Scripts: []script.Script{libraryScript(t, "append-fsync")}}, nil, t.TempDir(), Host{})
	var f *result.Failure
	if missing := blockdev.Missing(); (missing == nil) != (err == nil) || err != nil && (!errors.As(err, &f) || f.Outcome != result.Unsupported || f.Hint == "") {
		t.Errorf("%v", err)
	}
}

// BenchmarkExt4 is the time per state, mount, oracle and unmount included, with one worker.
func BenchmarkExt4(b *testing.B) {
	files := recorded(b, "ext4-atomic-replace")
	order := nativeOrder(b, "ext4", "atomic-replace", states.Options{Seed: 1, Whole: true})
	for b.Loop() {
		begun := time.Now()
		tally, _ := native(b, order, files, 1)
		b.ReportMetric(float64(tally.States)/time.Since(begun).Seconds(), "states/s")
		for stage, s := range tally.Seconds {
			b.ReportMetric(s/float64(tally.States)*1e6, stage+"-µs/state")
		}
	}
}
