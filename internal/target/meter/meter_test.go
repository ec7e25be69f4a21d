package meter

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"whichfs/internal/result"
)

// world is a /proc, a /sys and a kernel log written by a test.
type world struct {
	t    *testing.T
	root string
}

func newWorld(t *testing.T) *world {
	w := &world{t: t, root: t.TempDir()}
	w.copy("proc/meminfo", "meminfo/linux-6.18-amd64")
	w.copy("proc/2/stat", "../../../sys/procfs/testdata/pid-stat/linux-6.18-kthreadd")
	w.write("proc/2/schedstat", "5000000 0 1\n")
	w.write(fmt.Sprintf("proc/%d/schedstat", os.Getpid()), "94438 25564 2\n")
	if err := os.Symlink(fmt.Sprint(os.Getpid()), filepath.Join(w.root, "proc/self")); err != nil {
		t.Fatal(err)
	}
	w.write("proc/2/task/2/children", "11 12 ")
	w.thread(11, "kworker/0:1-events", "1000000000 5 7\n")
	w.thread(12, "jbd2/vdb-8", "2000000000 5 7\n")
	w.copy("sys/class/block/vdb/stat", "stat/linux-6.18-vda")
	w.write("kmsg", "")
	return w
}

func (w *world) write(name, text string) {
	w.t.Helper()
	path := filepath.Join(w.root, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		w.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) copy(name, fixture string) {
	w.t.Helper()
	w.write(name, fixtureText(w.t, fixture))
}

func (w *world) thread(pid int, name, schedstat string) {
	w.t.Helper()
	w.write(fmt.Sprintf("proc/%d/stat", pid), fmt.Sprintf("%d (%s) I 2 0 0 0 -1 69238880 0 0 0 0 3 4 0 0 20 0 1 0 9 0 0\n", pid, name))
	w.write(fmt.Sprintf("proc/%d/schedstat", pid), schedstat)
}

func (w *world) meter(c Config) *Meter {
	c.ProcRoot, c.SysRoot, c.KernelLog = filepath.Join(w.root, "proc"), filepath.Join(w.root, "sys"), filepath.Join(w.root, "kmsg")
	c.DevRoot = filepath.Join(w.root, "dev")
	m := New(c)
	w.t.Cleanup(m.Close)
	return m
}

func fixtureText(t testing.TB, name string) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func byMetric(t *testing.T, ms []result.Measurement) map[string]result.Measurement {
	t.Helper()
	all := map[string]result.Measurement{}
	for _, m := range ms {
		if _, twice := all[m.Metric]; twice {
			t.Errorf("%s is there twice", m.Metric)
		}
		all[m.Metric] = m
	}
	return all
}

func value(t *testing.T, all map[string]result.Measurement, metric string, want float64) {
	t.Helper()
	if m, ok := all[metric]; !ok || m.Absent != "" || m.Value != want {
		t.Errorf("%s: %+v, want %v", metric, m, want)
	}
}

func absent(t *testing.T, all map[string]result.Measurement, metric, why string) {
	t.Helper()
	if m, ok := all[metric]; !ok || !strings.Contains(m.Absent, why) || m.Value != 0 {
		t.Errorf("%s: %+v, want it absent: %s", metric, m, why)
	}
}

func TestAround(t *testing.T) {
	w := newWorld(t)
	m := w.meter(Config{Device: "vdb", Threads: []string{"jbd2/%d-*"}})
	broken := errors.New("the work failed")
	ms, notes, err := m.Around("write", func() error {
		w.write("sys/class/block/vdb/stat", "  175494    22761  7079762    70137    68576    94505 16913080    58996        0    18352   131992    35339       46  4371832     2671     8206      188\n")
		w.write("proc/meminfo", "MemTotal: 505036 kB\nMemFree:          402396 kB\nSlab:             406624 kB\nVmallocUsed:       14996 kB\nPercpu:              712 kB\n")
		w.thread(11, "kworker/0:1-events", "1500000000 5 7\n")
		w.thread(12, "jbd2/vdb-8", "2250000000 5 7\n")
		w.thread(13, "kworker/u8:1-writeback", "1000000000 0 0\n")
		w.write("proc/2/task/2/children", "11 12 13 ")
		w.write("kmsg", fixtureText(t, "kmsg/ext4-and-errors"))
		return broken
	})
	if !errors.Is(err, broken) {
		t.Errorf("error %v", err)
	}
	all := byMetric(t, ms)
	value(t, all, result.DeviceReads, 175494-175468)
	value(t, all, result.DeviceRead, (7079762-7079266)*512)
	value(t, all, result.DeviceWrites, 68576-68261)
	value(t, all, result.DeviceWritten, (16913080-16910176)*512)
	value(t, all, result.DeviceBusy, 0.016)
	value(t, all, result.DeviceDiscards, 35339-35320)
	value(t, all, result.DeviceDiscard, (4371832-4371624)*512)
	value(t, all, result.DeviceFlushes, 8206-8102)
	value(t, all, result.MemFreeAfter, 402396*1024)
	value(t, all, result.MemSlabAfter, 406624*1024)
	value(t, all, result.MemSlabTaken, 2000*1024)
	value(t, all, result.MemTaken, (2000+20)*1024) // slabs and mappings; free memory fell by 20 GB
	value(t, all, result.CPUFilesystem, 0.25)
	value(t, all, result.CPUKernel, 0.5+0.25+1)
	value(t, all, result.KernelMessages, 6)
	for _, metric := range []string{result.Wall, result.CPUUser, result.CPUSystem, result.MemFreeBefore, result.MemSlabBefore, result.AgentMallocs} {
		if m := all[metric]; m.Absent != "" || m.Value < 0 || m.Unit == "" {
			t.Errorf("%s: %+v", metric, m)
		}
	}
	want := []string{
		"kernel: EXT4-fs warning (device loop0): ext4_update_dynamic_rev:1143: updating to rev 1 because of new feature flag",
		"kernel: Buffer I/O error on dev vdb, logical block 17, lost async page write",
		`kernel: tab and quote" stay one line`,
	}
	if len(notes) != len(want) {
		t.Fatalf("notes %+v", notes)
	}
	for i, n := range notes {
		if n.Text != want[i] || n.Level != result.Warning || n.Phase != "write" {
			t.Errorf("%+v, want %q", n, want[i])
		}
	}
}

// The second phase counts from where the first ended, not from the beginning.
// A phase that did not take place lacks the same figures, with the reason.
func TestAbsentListsTheFiguresOfAround(t *testing.T) {
	taken, _, err := newWorld(t).meter(Config{Device: "vdb"}).Around("write", func() error { return nil })
	if err != nil {
		t.Fatal(err)
	}
	absent := Absent("no clones here")
	if len(absent) != len(taken) {
		t.Fatalf("%d figures are absent and %d are taken", len(absent), len(taken))
	}
	for i, m := range absent {
		want := result.Measurement{Metric: taken[i].Metric, Unit: taken[i].Unit, Absent: "no clones here"}
		if m != want {
			t.Errorf("%+v, want %+v", m, want)
		}
	}
}

func TestAroundTwice(t *testing.T) {
	w := newWorld(t)
	m := w.meter(Config{Device: "vdb", Threads: []string{"jbd2/%d-*"}})
	nothing := func() error { return nil }
	if _, _, err := m.Around("first", nothing); err != nil {
		t.Fatal(err)
	}
	w.thread(12, "jbd2/vdb-8", "3000000000 5 7\n")
	appendTo(t, filepath.Join(w.root, "kmsg"), "4,1,1,-;between\n6,2,2,-;harmless\n")
	ms, notes, _ := m.Around("write", func() error {
		appendTo(t, filepath.Join(w.root, "kmsg"), "6,3,3,-;within\n")
		return nil
	})
	all := byMetric(t, ms)
	value(t, all, result.CPUFilesystem, 0)
	value(t, all, result.CPUKernel, 0)
	value(t, all, result.DeviceWrites, 0)
	value(t, all, result.KernelMessages, 1)
	if len(notes) != 1 || notes[0].Phase != "" || notes[0].Text != "kernel: between" {
		t.Errorf("%+v", notes)
	}
}

func appendTo(t *testing.T, path, text string) {
	t.Helper()
	f, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.WriteString(text); err != nil {
		t.Fatal(err)
	}
	_ = f.Close()
}

// Nothing can be read: every figure from outside says why.
func TestAroundWithoutProcAndSys(t *testing.T) {
	empty := t.TempDir()
	m := New(Config{ProcRoot: empty, SysRoot: empty, KernelLog: filepath.Join(empty, "kmsg"), Device: "vdb", Threads: []string{"x"}})
	defer m.Close()
	ms, notes, err := m.Around("write", func() error { return nil })
	if err != nil || len(notes) != 0 {
		t.Errorf("%v, %+v", err, notes)
	}
	all := byMetric(t, ms)
	for _, metric := range []string{
		result.CPUFilesystem, result.CPUKernel, result.DeviceRead, result.DeviceWritten, result.DeviceReads, result.DeviceWrites,
		result.DeviceFlushes, result.DeviceDiscards, result.DeviceDiscard, result.DeviceBusy, result.MemFreeBefore, result.MemFreeAfter,
		result.MemSlabBefore, result.MemSlabAfter, result.KernelMessages,
	} {
		absent(t, all, metric, "no such file")
	}
}

func TestAroundOldKernel(t *testing.T) {
	w := newWorld(t)
	w.copy("sys/class/block/vdb/stat", "stat/linux-4.9-mmcblk0p2")
	w.write("proc/self/schedstat", "0 0 0\n") // compiled in and not counting
	all := byMetric(t, must(t, w.meter(Config{Device: "vdb"}), func() {
		w.write("proc/12/stat", "12 (jbd2/vdb-8) I 2 0 0 0 -1 69238880 0 0 0 0 13 24 0 0 20 0 1 0 9 0 0\n")
	}))
	value(t, all, result.DeviceWrites, 0)
	absent(t, all, result.DeviceFlushes, "5.5")
	absent(t, all, result.DeviceDiscards, "4.18")
	absent(t, all, result.DeviceDiscard, "4.18")
	value(t, all, result.CPUKernel, 0.3)
	absent(t, all, result.CPUFilesystem, "no kernel threads of its own")
}

func must(t *testing.T, m *Meter, f func()) []result.Measurement {
	t.Helper()
	ms, _, err := m.Around("write", func() error { f(); return nil })
	if err != nil {
		t.Fatal(err)
	}
	return ms
}

func TestAroundNoDevice(t *testing.T) {
	w := newWorld(t)
	all := byMetric(t, must(t, w.meter(Config{}), func() {}))
	absent(t, all, result.DeviceWritten, "not a block device")
}

// Inside a container process 2 is an ordinary program.
func TestAroundContainer(t *testing.T) {
	w := newWorld(t)
	w.copy("proc/2/stat", "../../../sys/procfs/testdata/pid-stat/linux-6.18-bash")
	all := byMetric(t, must(t, w.meter(Config{Threads: []string{"x"}}), func() {}))
	absent(t, all, result.CPUKernel, "container")
	absent(t, all, result.CPUFilesystem, "container")
}

// Without a list of children all of /proc is searched.
func TestThreadsWithoutChildren(t *testing.T) {
	w := newWorld(t)
	if err := os.RemoveAll(filepath.Join(w.root, "proc/2/task")); err != nil {
		t.Fatal(err)
	}
	w.copy("proc/812/stat", "../../../sys/procfs/testdata/pid-stat/parentheses") // not a kernel thread
	all := byMetric(t, must(t, w.meter(Config{Threads: []string{"jbd2/*"}}), func() {
		w.write("proc/812/schedstat", "9000000000 0 0\n")
		w.thread(12, "jbd2/vdb-8", "2000000001 5 7\n")
	}))
	value(t, all, result.CPUFilesystem, 1e-9)
	value(t, all, result.CPUKernel, 1e-9)
}

// A thread that ends takes its last figure with it, and a note says so.
func TestThreadEnds(t *testing.T) {
	w := newWorld(t)
	m := w.meter(Config{Threads: []string{"jbd2/*"}})
	ms, notes, _ := m.Around("write", func() error {
		w.write("proc/12/schedstat", "") // represents a file whose thread is gone
		w.write("proc/2/task/2/children", "11 ")
		w.thread(11, "kworker/0:1-events", "1500000000 5 7\n")
		return nil
	})
	all := byMetric(t, ms)
	value(t, all, result.CPUFilesystem, 0)
	value(t, all, result.CPUKernel, 0.5)
	if len(notes) != 1 || notes[0].Level != result.Info || !strings.Contains(notes[0].Text, "1 kernel threads ended during the phase (jbd2/vdb-8") {
		t.Errorf("%+v", notes)
	}
}

// The number of omitted kernel messages is not itself a warning.
func TestSuppressedMessages(t *testing.T) {
	w := newWorld(t)
	m := w.meter(Config{})
	_, notes, _ := m.Around("write", func() error {
		w.write("kmsg", "4,1,1,-;set_capacity_and_notify: 11 callbacks suppressed\n4,2,2,-;EXT4-fs (loop1): warning: checktime reached\n")
		return nil
	})
	if len(notes) != 1 || !strings.Contains(notes[0].Text, "checktime") {
		t.Errorf("%+v", notes)
	}
}

// A flood of warnings is counted completely and quoted in part.
func TestKernelMessagesBounded(t *testing.T) {
	w := newWorld(t)
	m := w.meter(Config{})
	_, notes, _ := m.Around("write", func() error {
		var b strings.Builder
		for i := range 100 {
			fmt.Fprintf(&b, "3,%d,%d,-;I/O error %d\n", i, i, i)
		}
		w.write("kmsg", b.String())
		return nil
	})
	if len(notes) != maxNotes+1 || notes[maxNotes].Text != "kernel: 80 more warnings" {
		t.Errorf("%d notes, the last %+v", len(notes), notes[len(notes)-1])
	}
}

// This machine's own /proc: the time of this process's children is counted, and the meter itself
// allocates nothing.
func TestAroundOnThisMachine(t *testing.T) {
	m := New(Config{Threads: []string{"kthreadd"}})
	defer m.Close()
	before := openFiles(t)
	least := result.Measurement{Value: 1}
	for range 3 { // the test's own goroutines may allocate once
		ms, _, err := m.Around("write", func() error {
			unix.Sync()
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		all := byMetric(t, ms)
		if got := all[result.AgentMallocs]; got.Value < least.Value {
			least = got
		}
		for _, metric := range []string{result.Wall, result.MemFreeBefore, result.MemSlabAfter} {
			if got := all[metric]; got.Absent != "" || got.Value <= 0 {
				t.Errorf("%+v", got)
			}
		}
	}
	if least.Value != 0 {
		t.Errorf("%v allocations in an empty section", least.Value)
	}
	m.Close()
	if after := openFiles(t); after > before {
		t.Errorf("%d descriptors before, %d after", before, after)
	}
}

func openFiles(t *testing.T) int {
	t.Helper()
	fds, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	return len(fds)
}
