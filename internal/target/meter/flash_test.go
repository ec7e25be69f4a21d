package meter

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"whichfs/internal/result"
)

// histogram is the kernel's text of one, its lines sorted by hits.
func histogram(key string, hits map[int]int) string {
	var b strings.Builder
	fmt.Fprintf(&b, "# event histogram\n#\n# trigger info: hist:keys=%s:vals=hitcount:sort=hitcount:size=1024 if x [active]\n#\n\n", key)
	sum := 0
	for k, n := range hits {
		fmt.Fprintf(&b, "{ %s: %10d } hitcount: %10d\n", key, k, n)
		sum += n
	}
	fmt.Fprintf(&b, "\nTotals:\n    Hits: %d\n    Entries: %d\n    Dropped: 0\n", sum, len(hits))
	return b.String()
}

const tracing = "sys/kernel/tracing/"

// chip adds a NAND chip of 64 blocks to a world, with a kernel whose tracing accepts everything and
// counts nothing by itself.
func (w *world) chip() {
	w.write(tracing+"kprobe_events", "")
	for name, text := range map[string]string{
		"type": "nand\n", "size": "8388608\n", "erasesize": "131072\n", "writesize": "2048\n", "offset": "0\n",
		"corrected_bits": "0\n", "ecc_failures": "0\n", "bad_blocks": "0\n",
	} {
		w.write("sys/class/mtd/mtd0/"+name, text)
	}
	w.write("dev/mtd0", "")
	w.write("sys/module/nand/initstate", "live\n")
	for _, p := range probesOf {
		w.write(tracing+"events/whichfs_mtd0/"+p.event+"/trigger", "")
	}
	w.hits("erase", "block", nil)
	w.hits("program", "column", nil)
	w.hits("program_at_once", "column", nil)
	w.hits("load", "column", map[int]int{0: 2}) // the meter's own, when it tries whether they are counted
}

func (w *world) hits(event, key string, hits map[int]int) {
	w.write(tracing+"events/whichfs_mtd0/"+event+"/hist", histogram(key, hits))
}

func (w *world) text(name string) string {
	b, err := os.ReadFile(filepath.Join(w.root, name))
	if err != nil {
		w.t.Fatal(err)
	}
	return string(b)
}

func wantFigure(t *testing.T, all map[string]result.Measurement, metric string, value float64, absent string) {
	t.Helper()
	m, there := all[metric]
	if !there || m.Value != value || absent == "" && m.Absent != "" || !strings.Contains(m.Absent, absent) {
		t.Errorf("%s: %+v, want %v %q", metric, m, value, absent)
	}
}

func TestFlash(t *testing.T) {
	w := newWorld(t)
	w.chip()
	w.write(tracing+"events/whichfs_mtd0/erase/trigger", "# Available triggers:\nhist:keys=block:vals=hitcount:size=128 if block >= 0 [active]\n")
	w.write(tracing+"events/others/erase/trigger", "stacktrace:unlimited\n")
	m := w.meter(Config{Device: "mtd0", Raw: true})
	set := w.text(tracing + "kprobe_events")
	// Events left by a killed agent are removed first, and those of others stay.
	for _, line := range []string{
		"-:whichfs_mtd0/erase\n", "-:whichfs_mtd0/load\n",
		"p:whichfs_mtd0/erase nand:nand_erase_op block=$arg2:u32\n",
		"p:whichfs_mtd0/program nand:nand_prog_page_begin_op page=$arg2:u32 column=$arg3:u32\n",
	} {
		if !strings.Contains(set, line) {
			t.Errorf("no %q in\n%s", line, set)
		}
	}
	if strings.Contains(set, "others") || strings.LastIndex(set, "-:") > strings.Index(set, "p:") {
		t.Errorf("it begins with\n%s", set)
	}
	trigger := w.text(tracing + "events/whichfs_mtd0/erase/trigger")
	if !strings.Contains(trigger, "!hist:keys=block:vals=hitcount:size=128 if block >= 0\n") || !strings.Contains(trigger, "hist:keys=block:size=128 if block >= 0 && block < 64\n") {
		t.Errorf("trigger\n%s", trigger)
	}
	if text := w.text(tracing + "events/whichfs_mtd0/load/trigger"); text != "hist:keys=column:size=128 if page >= 0 && page < 4096\n" {
		t.Errorf("trigger %q", text)
	}

	m.Emptied()
	figures, _, err := m.Around("write", func() error {
		w.hits("erase", "block", map[int]int{0: 3, 7: 1})
		w.hits("program", "column", map[int]int{0: 100, 2048: 1})
		w.hits("program_at_once", "column", map[int]int{2048: 4, 0: 2})
		w.hits("load", "column", map[int]int{0: 12, 2048: 5})
		w.write("sys/class/mtd/mtd0/corrected_bits", "17\n")
		w.write("sys/class/mtd/mtd0/bad_blocks", "2\n")
		w.write("sys/class/ubi/ubi0/eraseblock_size", "126976\n")
		w.write("kmsg", "5,1,2,-;ubi0: scrubbed PEB 5 (LEB 0:3), data moved to PEB 7\n6,2,2,-;ubi0: scanning is finished\n")
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	all := named(t, figures)
	wantFigure(t, all, result.FlashErased, 4, "")
	wantFigure(t, all, result.FlashPages, 107, "")
	wantFigure(t, all, result.FlashProgrammed, 102*2048, "") // five were of spare bytes alone
	wantFigure(t, all, result.FlashPagesRead, 15, "")
	wantFigure(t, all, result.ECCCorrected, 17, "")
	wantFigure(t, all, result.ECCFailed, 0, "")
	wantFigure(t, all, result.FlashBad, 2, "")
	wantFigure(t, all, result.UBIScrubbed, 1, "")
	wantFigure(t, all, result.DeviceWritten, 0, "keeps no traffic statistics")

	wear := named(t, m.Wear(3000))
	wantFigure(t, wear, result.FlashSpread, 3/(4.0/62), "")
	wantFigure(t, wear, result.FlashBlocks, 62, "")
	wantFigure(t, wear, result.FlashBlock, 131072, "")
	wantFigure(t, wear, result.FlashCycles, 3000, "")
	wantFigure(t, named(t, m.Wear(0)), result.FlashCycles, 0, "is unknown")

	w.write(tracing+"kprobe_events", "")
	m.Close()
	if left := w.text(tracing + "kprobe_events"); strings.Count(left, "-:whichfs_mtd0/") != len(probesOf) || strings.Contains(left, "p:") {
		t.Errorf("closing it wrote %q", left)
	}
}

// Where the kernel has no probes and shows the erases of each block itself, those are counted, and
// nothing else; of a partition, its own.
func TestFlashShown(t *testing.T) {
	w := newWorld(t)
	w.chip()
	if err := os.RemoveAll(filepath.Join(w.root, "sys/kernel")); err != nil {
		t.Fatal(err)
	}
	w.write("sys/class/mtd/mtd0/size", "524288\n") // four blocks, from the second one on
	w.write("sys/class/mtd/mtd0/offset", "131072\n")
	w.write("proc/nandsim", "9\n1\n1\n1\n1\n9\n")
	m := w.meter(Config{Device: "mtd0", Raw: true})
	m.Emptied()
	figures, _, err := m.Around("wear", func() error {
		w.write("proc/nandsim", "9\n11\n3\n1\n1\n12\n")
		w.write("sys/class/mtd/mtd0/bad_blocks", "1\n")
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	all := named(t, figures)
	wantFigure(t, all, result.FlashErased, 12, "")
	wantFigure(t, all, result.FlashPages, 0, "no tracing")
	worn := named(t, m.Worn())
	wantFigure(t, worn, result.FlashMost, 10, "")
	wantFigure(t, worn, result.FlashMean, 4, "") // of the good ones
	wantFigure(t, worn, result.FlashUntouched, 1, "")
	wantFigure(t, named(t, m.Wear(0)), result.FlashSpread, 10/(12.0/3), "")

	// A chip of any number of blocks is read to its end.
	before := strings.Repeat("100000\n", 10_000)
	w.write("sys/class/mtd/mtd0/offset", fmt.Sprintf("%d\n", 10_001*131072))
	w.write("proc/nandsim", before+"9\n1\n1\n1\n1\n9\n")
	large := w.meter(Config{Device: "mtd0", Raw: true})
	large.Emptied()
	if _, _, err := large.Around("wear", func() error {
		w.write("proc/nandsim", before+"9\n11\n1\n1\n1\n9\n")
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	wantFigure(t, named(t, large.Worn()), result.FlashMost, 10, "")

	// A figure that cannot be read is absent, and so are all of a chip that was replaced.
	w.write("proc/nandsim", "9\n11\n3\nx\n1\n12\n")
	wantFigure(t, named(t, m.Worn()), result.FlashMost, 0, "line 4 of ")
	w.write("proc/nandsim", "0\n0\n0\n0\n0\n0\n")
	wantFigure(t, named(t, m.Worn()), result.FlashUntouched, 0, "restarted during the phase")
}

// A partition is counted separately, and again after the chip was replaced.
func TestFlashPartition(t *testing.T) {
	w := newWorld(t)
	w.chip()
	w.write("sys/class/mtd/mtd0/offset", "1048576\n")
	m := w.meter(Config{Device: "mtd0", Raw: true})
	trigger := tracing + "events/whichfs_mtd0/erase/trigger"
	if text := w.text(trigger); text != "hist:keys=block:size=128 if block >= 8 && block < 72\n" {
		t.Errorf("%q", text)
	}
	w.write("sys/class/mtd/mtd0/size", "4194304\n")
	figures, _, _ := m.Around("read", func() error {
		w.hits("load", "column", nil)
		return nil
	})
	if text := w.text(trigger); !strings.HasSuffix(text, "hist:keys=block:size=128 if block >= 8 && block < 40\n") {
		t.Errorf("%q", text)
	}
	all := named(t, figures)
	wantFigure(t, all, result.FlashPagesRead, 0, "counters restarted at zero")
	wantFigure(t, all, result.UBIScrubbed, 0, "no UBI")
}

// Figures that cannot be counted are absent with the reason, and not zero.
func TestFlashAbsent(t *testing.T) {
	for name, c := range map[string]struct {
		change func(w *world)
		want   string
	}{
		"no tracing":    {func(w *world) { _ = os.RemoveAll(filepath.Join(w.root, tracing)) }, "CONFIG_FTRACE"},
		"no MTD":        {func(w *world) { _ = os.RemoveAll(filepath.Join(w.root, "sys/class/mtd")) }, "no such file"},
		"no histograms": {func(w *world) { _ = os.Remove(filepath.Join(w.root, tracing+"events/whichfs_mtd0/erase/trigger")) }, "CONFIG_HIST_TRIGGERS"},
		"NOR":           {func(w *world) { w.write("sys/class/mtd/mtd0/type", "nor\n") }, `type "nor"`},
		"own driver":    {func(w *world) { w.hits("load", "column", nil) }, "bypasses the functions"},
		"another text":  {func(w *world) { w.write(tracing+"events/whichfs_mtd0/program/hist", "{ page: 1 }\n") }, "histogram"},
		"dropped": {func(w *world) {
			w.write(tracing+"events/whichfs_mtd0/load/hist", strings.Replace(histogram("column", nil), "Dropped: 0", "Dropped: 3", 1))
		}, "dropped 3"},
		"NAND on SPI": {func(w *world) { w.link("sys/class/mtd/mtd0/device/subsystem", "sys/bus/spi") }, "is SPI NAND"},
		"two NAND chips": {func(w *world) {
			w.link("sys/class/mtd/mtd0/device", "sys/devices/a")
			w.write("sys/class/mtd/mtd1/type", "nand\n")
			w.link("sys/class/mtd/mtd1/device", "sys/devices/b")
		}, "another NAND chip (mtd1)"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.chip()
			c.change(w)
			m := w.meter(Config{Device: "mtd0", Raw: true})
			figures, _, _ := m.Around("read", func() error { return nil })
			all := named(t, figures)
			for _, metric := range []string{result.FlashPages, result.FlashPagesRead, result.FlashProgrammed} {
				if all[metric].Absent == "" || all[metric].Value != 0 {
					t.Errorf("%+v", all[metric])
				}
				wantFigure(t, all, metric, 0, c.want)
			}
			if m := metricOf(m.Wear(1), result.FlashSpread); m.Absent == "" {
				t.Errorf("%+v", m)
			}
		})
	}
}

func (w *world) link(name, to string) {
	w.t.Helper()
	path, target := filepath.Join(w.root, name), filepath.Join(w.root, to)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		w.t.Fatal(err)
	}
	if err := os.MkdirAll(target, 0o755); err != nil {
		w.t.Fatal(err)
	}
	if err := os.Symlink(target, path); err != nil {
		w.t.Fatal(err)
	}
}

func TestScrubbed(t *testing.T) {
	for text, want := range map[string]bool{
		"ubi0: scrubbed PEB 5 (LEB 0:3), data moved to PEB 7": true, "ubi12: scrubbed PEB 1": true,
		"ubi0: scanning is finished": false, "scrubbed PEB 5": false, "EXT4-fs: ubi0: scrubbed PEB 5": false,
	} {
		if scrubbed(text) != want {
			t.Errorf("%q", text)
		}
	}
}

func FuzzHistogram(f *testing.F) {
	f.Add(histogram("block", map[int]int{1: 2, 300: 1}))
	f.Fuzz(func(t *testing.T, text string) {
		_ = parseHistogram([]byte(text), "block", func(_, _ uint64) {})
	})
}

func named(t *testing.T, ms []result.Measurement) map[string]result.Measurement {
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
