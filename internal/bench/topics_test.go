package bench

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"whichfs/internal/host/machine"
	"whichfs/internal/plan/study"
	"whichfs/internal/result"
	"whichfs/internal/result/store"
	"whichfs/internal/result/store/storetest"
	"whichfs/internal/sys/owner"
)

func TestRunRefusesUnknownTopic(t *testing.T) {
	err := Run(t.Context(), Config{Only: "nothing"}, &strings.Builder{})
	if err == nil || !strings.Contains(err.Error(), "store") || !strings.Contains(err.Error(), "tree-copy") {
		t.Errorf("error %v", err)
	}
}

// A missing prerequisite is reported, and is not an error.
func TestRunReportsMissingPrerequisites(t *testing.T) {
	for topic, want := range map[string]string{"overhead": "make run makes one", "store": "make build"} {
		var out strings.Builder
		c := Config{Only: topic, Bin: t.TempDir(), Store: filepath.Join(t.TempDir(), "results.db")}
		if err := Run(t.Context(), c, &out); err != nil {
			t.Errorf("%s: %v", topic, err)
		}
		if text := out.String(); !strings.Contains(text, "not measured here: ") || !strings.Contains(text, want) {
			t.Errorf("%s:\n%s", topic, text)
		}
	}
}

func TestAgentSizes(t *testing.T) {
	bin := t.TempDir()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(self, filepath.Join(bin, "whichfs-agent-linux-arm64")); err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	if err := agentSizes(Config{Bin: bin}, &out); err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(self)
	if err != nil {
		t.Fatal(err)
	}
	if text := out.String(); !strings.Contains(text, fmt.Sprint(info.Size())) || strings.Count(text, "not built: make agents") != len(machine.Architectures)-1 {
		t.Errorf("sizes:\n%s", text)
	}
	if err := os.WriteFile(filepath.Join(bin, "whichfs-agent-linux-arm"), []byte("#!"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := agentSizes(Config{Bin: bin}, &out); err == nil {
		t.Error("a script passes for an agent")
	}
}

func TestLastQuick(t *testing.T) {
	run := func(id, scale, machine string, done int, state result.RunState) store.Summary {
		return store.Summary{Run: result.Run{ID: id, Scale: scale, Machine: machine, State: state}, Done: done}
	}
	var ids []string
	for _, r := range lastQuick([]store.Summary{
		run("a", "quick", "fake", 9, result.Finished),
		run("b", "full", "lab", 9, result.Finished),
		run("c", "quick", "lab", 0, result.Finished),
		run("d", "quick", "lab", 3, result.Running),
		run("e", "quick", "local", 3, result.Running),
		run("f", "quick", "lab", 9, result.Finished),
		run("g", "quick", "lab", 9, result.Finished),
	}) {
		ids = append(ids, r.Run.ID)
	}
	if !slices.Equal(ids, []string{"f", "e"}) {
		t.Errorf("chosen %v", ids)
	}
	part, whole := run("part", "quick", "lab", 9, result.Finished), run("whole", "quick", "lab", 9, result.Finished)
	whole.Run.Study, whole.Planned = "bootlin-2023", 30
	part.Run.Study, part.Planned = "bootlin-2023", 3
	if got := lastQuick([]store.Summary{part, whole, whole}); len(got) != 1 || got[0].Run.ID != "whole" {
		t.Errorf("a run of few candidates counts as a whole one: %v", got)
	}
}

func TestOverhead(t *testing.T) {
	path := filepath.Join(t.TempDir(), "results.db")
	run, trials := storetest.Run("real", storetest.Shape{Candidates: 2, Rounds: 2, Phases: 3, Metrics: 2}, 1)
	run.Machine = "lab"
	st, err := store.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(st.Import(run, len(trials), trials), st.Close()); err != nil {
		t.Fatal(err)
	}
	outside := run.Active
	for _, x := range trials {
		outside -= x.Ended.Sub(x.Started).Seconds() - x.Overhead
	}
	var out strings.Builder
	if err := overhead(t.Context(), Config{Store: path}, &out); err != nil {
		t.Fatal(err)
	}
	if want := fmt.Sprintf("%.1f %%", 100*outside/run.Active); !strings.Contains(out.String(), want) || !strings.Contains(out.String(), "4 of 4") {
		t.Errorf("want %s:\n%s", want, out.String())
	}
}

// The program is a script here that uses 64 MB and writes the requested output.
func TestReports(t *testing.T) {
	bin := t.TempDir()
	t.Setenv("TMPDIR", t.TempDir())
	script := `#!/bin/sh
dd if=/dev/zero of=/dev/null bs=64M count=1 2>/dev/null
test -f "$WHICHFS_STORE" || exit 4
echo "$@" >>` + bin + `/calls
echo text
[ -z "$4" ] || echo page >"$4"
`
	if err := os.WriteFile(filepath.Join(bin, "whichfs"), []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	if err := Run(t.Context(), Config{Only: "store", Bin: bin, Runs: 2, Rounds: 5, Reports: 2}, &out); err != nil {
		t.Fatal(err)
	}
	calls, err := os.ReadFile(filepath.Join(bin, "calls"))
	if err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(string(calls), "report fill-0001"); n != 4 || strings.Count(string(calls), "report last --html") != 2 {
		t.Errorf("calls:\n%s", calls)
	}
	if text := out.String(); strings.Count(text, "kept") != 8 || !regexp.MustCompile(`  (6[789]|7\d) MB`).MatchString(text) {
		t.Errorf("table:\n%s", text)
	}
	if left, _ := os.ReadDir(os.TempDir()); len(left) != 0 {
		t.Errorf("left behind: %v", left)
	}
	var one strings.Builder
	if err := oneReport(filepath.Join(bin, "whichfs"), filepath.Join(bin, "whichfs"), "text", "x", &one); err != nil || !peakAtLeast(one.String(), 60e6) {
		t.Errorf("%s, %v", one.String(), err)
	}
	if err := oneReport("/bin/false", bin, "text", "x", &one); err == nil {
		t.Error("a report that fails passes")
	}
	if err := oneReport("/bin/true", bin, "text", "x", &one); err == nil {
		t.Error("a report without output passes")
	}
}

// peakAtLeast reads the peak memory of one report. It may exceed the program's own: the test itself
// started the program, and a child inherits its parent's peak.
func peakAtLeast(text string, bytes float64) bool {
	var told struct{ Peak float64 }
	return json.Unmarshal([]byte(text), &told) == nil && told.Peak >= bytes
}

func TestWorkspaceSweepsOnlyTheDead(t *testing.T) {
	dir := t.TempDir()
	me, err := owner.Self()
	if err != nil {
		t.Fatal(err)
	}
	// The directory of an earlier process with our process ID.
	dead := filepath.Join(dir, fmt.Sprintf("whichfs-%s-%d-%d-%d-1", workKind, me.PID, me.Start-1, me.Space))
	if err := os.MkdirAll(filepath.Join(dead, "mnt"), 0o755); err != nil {
		t.Fatal(err)
	}
	first, releaseFirst, err := workspace(dir)
	if err != nil {
		t.Fatal(err)
	}
	second, releaseSecond, err := workspace(dir)
	if err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]bool{dead: false, first: true, second: true} {
		if _, err := os.Stat(path); (err == nil) != want {
			t.Errorf("%s: %v", path, err)
		}
	}
	if err := errors.Join(releaseFirst(), releaseSecond()); err != nil {
		t.Error(err)
	}
	if left, _ := os.ReadDir(dir); len(left) != 0 {
		t.Errorf("left behind: %v", left)
	}
}

func TestFavouredRestoresPriority(t *testing.T) {
	back := favoured()
	back()
	if got, err := unix.Getpriority(unix.PRIO_PROCESS, 0); err != nil || got != 20 {
		t.Errorf("priority %d, %v", got, err)
	}
}

func TestSpread(t *testing.T) {
	if got := spreadOf([]float64{3, 1, 2, 10}).text("%.1f", " s"); got != "2.5 s (1.0–10.0)" {
		t.Error(got)
	}
}

// Limits of the interval from tables of the binomial distribution: with 10
// figures one is left out at each end, with 25 seven.
func TestLikely(t *testing.T) {
	for n, out := range map[int]int{1: 0, 5: 0, 6: 0, 9: 1, 10: 1, 25: 7, 50: 17} {
		var values []float64
		for i := range n {
			values = append(values, float64(n-i)) // 1 … n
		}
		if low, high := likely(values); low != float64(1+out) || high != float64(n-out) {
			t.Errorf("%d figures: %g to %g, want %d to %d", n, low, high, 1+out, n-out)
		}
	}
}

func TestParseTicks(t *testing.T) {
	if busy, all := parseTicks("cpu  1 2 3 40 50 6 7 8 9 10\ncpu0 1 1 1 1 1 1 1 1\n"); busy != 27 || all != 117 {
		t.Errorf("%d of %d", busy, all)
	}
}

func FuzzParseTicks(f *testing.F) {
	f.Add("cpu  1 2 3 40 50 6 7 8 9 10\n")
	f.Add("cpu 1 2 3\n")
	f.Add("intr -1")
	f.Fuzz(func(_ *testing.T, text string) { parseTicks(text) })
}

// Config.Time ends a comparison, but not before three pairs are measured.
func TestCompareStopsAtItsTime(t *testing.T) {
	b := &bench{Config: Config{Pairs: 50, Time: time.Nanosecond}}
	n := 0
	pairs, err := b.turns(t.Context(), 0, func() (float64, error) { n++; return 1, nil }, func() (float64, error) { return 2, nil })
	if err != nil || len(pairs) != 3 || n != 4 {
		t.Errorf("%d pairs of %d turns, %v", len(pairs), n, err)
	}
	b.Pairs = 2
	if pairs, err = b.turns(t.Context(), 0, func() (float64, error) { return 1, nil }, func() (float64, error) { return 2, nil }); err != nil || len(pairs) != 2 {
		t.Errorf("%v, %v", pairs, err)
	}
	if _, err = b.turns(t.Context(), 0, func() (float64, error) { return 0, unix.EIO }, nil); !errors.Is(err, unix.EIO) {
		t.Errorf("error %v", err)
	}
}

// Every tree of the quick run has published percentages, of the same four
// candidates.
func TestPublishedRatios(t *testing.T) {
	st, ok := study.ByName(compressionStudy)
	if !ok {
		t.Fatal("there is no such study")
	}
	for _, d := range st.Scales["quick"].Data {
		rows := publishedRatios(st, d.Name)
		if len(rows) != 4 || !strings.HasSuffix(rows[0].Candidate, "lzo") || rows[0].Value < 30 || rows[0].Value > 50 {
			t.Errorf("%s: %+v", d.Name, rows)
		}
	}
	if rows := publishedRatios(st, "no such tree"); rows != nil {
		t.Errorf("%+v", rows)
	}
}

// A series counts if all of its lab runs completed.
func TestWholeSeries(t *testing.T) {
	run := func(id, series string, state result.RunState) store.Summary {
		return store.Summary{Run: result.Run{ID: id, Study: twinStudy, Series: series, Machine: "lab", State: state}}
	}
	runs := []store.Summary{ // latest first
		run("f", "d", result.Finished), run("e", "d", result.Interrupted), run("d", "d", result.Finished),
		run("x", "", result.Finished),
		run("c", "a", result.Finished), run("b", "a", result.Finished), run("a", "a", result.Finished),
	}
	if got := wholeSeries(runs, twinStudy, 3); !slices.Equal(got, []string{"a", "b", "c"}) {
		t.Errorf("the whole series is %q", got)
	}
	if got := wholeSeries(runs, "elc-2015", 2); got != nil {
		t.Errorf("a study without runs has the series %q", got)
	}
}

func TestTwinsReportsMissingPrerequisites(t *testing.T) {
	var out strings.Builder
	c := Config{Only: "twins", Bin: t.TempDir(), Store: filepath.Join(t.TempDir(), "results.db")}
	if err := Run(t.Context(), c, &out); err != nil || !strings.Contains(out.String(), "make build makes it") {
		t.Errorf("%v\n%s", err, out.String())
	}
}
