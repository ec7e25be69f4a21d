package meter

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"whichfs/internal/result"
)

func TestProcessor(t *testing.T) {
	w := newWorld(t)
	w.copy("proc/tt_work", "tt-work/before")
	m := w.meter(Config{Virtual: true})
	all := byMetric(t, must(t, m, func() { w.copy("proc/tt_work", "tt-work/after") }))
	value(t, all, result.InstructionsOther, 1_000_000)
	value(t, all, result.InstructionsCompressing, 20_000)
	value(t, all, result.InstructionsChecksums, 300)
	value(t, all, result.Instructions, 1_020_300)
	value(t, all, result.ProcessorCopied, 65536)
	value(t, all, result.ProcessorCRC32, 0)
	value(t, all, result.ProcessorCRC32C, 4096)
	value(t, all, result.ProcessorCalls, 12)
	value(t, all, result.ProcessorInterrupts, 2)
	value(t, all, result.ProcessorFaults, 0)
	value(t, all, result.ProcessorSwitches, 5)
	value(t, all, result.Processor, 0.0025)
	// The next phase counts from where it begins.
	all = byMetric(t, must(t, m, func() {}))
	value(t, all, result.Processor, 0)
	value(t, all, result.Instructions, 0)

	for what, all := range map[string][]result.Measurement{"given": m.Given(1), "without": m.Without("not taken")} {
		got := byMetric(t, all)
		for _, metric := range append([]string{result.Processor}, result.ProcessorWork...) {
			absent(t, got, metric, "not taken")
		}
		if len(got) != len(all) {
			t.Errorf("%s: %+v", what, all)
		}
	}
}

// Nothing charges for work: there are no such figures, neither values nor reasons.
func TestNoProcessor(t *testing.T) {
	for name, c := range map[string]Config{"hardware": {}, "virtual clock": {Virtual: true}, "instructions": {Instructions: true}} {
		w := newWorld(t)
		if c.Instructions {
			w.copy("proc/tt_work", "tt-work/before")
		}
		m := w.meter(c)
		for _, x := range append(append(must(t, m, func() {}), m.Given(1)...), m.Without("x")...) {
			if x.Metric == result.Processor || strings.HasPrefix(x.Metric, "processor.") || x.Metric == result.Instructions && !c.Instructions {
				t.Errorf("%s: %+v", name, x)
			}
		}
	}
}

// A damaged text says what is wrong with it and gives no figure at all.
func TestProcessorDamaged(t *testing.T) {
	good, later := fixtureText(t, "tt-work/before"), fixtureText(t, "tt-work/after")
	for name, c := range map[string]struct{ before, after, why string }{
		"empty":            {"", later, `tt_work: its line "other" is missing`},
		"missing line":     {good, strings.Replace(later, "calls", "call", 1), `line "calls" is missing`},
		"not a number":     {strings.Replace(good, "faults 3", "faults three", 1), later, `line "faults"`},
		"negative":         {strings.Replace(good, "faults 3", "faults -3", 1), later, `line "faults"`},
		"no value":         {strings.Replace(good, "faults 3", "faults", 1), later, `line "faults"`},
		"two numbers":      {strings.Replace(good, "faults 3", "faults 3 4", 1), later, `line "faults"`},
		"beyond 64 bits":   {good, strings.Replace(later, "busy ", "busy 99999999999999999999", 1), `line "busy"`},
		"cut off":          {good, strings.TrimSuffix(later, "\n"), `line "busy"`},
		"went back":        {later, good, `figure "other" went back from 1000123 to 123`},
		"one went back":    {good, strings.Replace(later, "faults 3", "faults 2", 1), `figure "faults" went back from 3 to 2`},
		"binary":           {"\x00\xff", later, `line "other"`},
		"other whitespace": {good, strings.ReplaceAll(later, " ", "\t"), `line "other"`},
	} {
		w := newWorld(t)
		w.write("proc/tt_work", c.before)
		m := w.meter(Config{Virtual: true})
		all := byMetric(t, must(t, m, func() { w.write("proc/tt_work", c.after) }))
		for _, metric := range append([]string{result.Processor}, result.ProcessorWork...) {
			if m := all[metric]; !strings.Contains(m.Absent, c.why) || m.Value != 0 {
				t.Errorf("%s: %+v, want it absent: %s", name, m, c.why)
			}
		}
		value(t, all, result.KernelMessages, 0) // other figures are not affected
	}
}

func TestProcessorUnreadable(t *testing.T) {
	w := newWorld(t)
	if err := os.Symlink("tt_work", filepath.Join(w.root, "proc/tt_work")); err != nil {
		t.Fatal(err)
	}
	all := byMetric(t, must(t, w.meter(Config{Virtual: true}), func() {}))
	absent(t, all, result.Processor, "too many levels of symbolic links")
}

// Processor times are there if and only if time passes for the processor.
func TestProcessorTimes(t *testing.T) {
	for name, c := range map[string]struct{ virtual, charged, there bool }{
		"hardware": {false, false, true}, "free": {true, false, false}, "charged": {true, true, true},
	} {
		w := newWorld(t)
		if c.charged {
			w.copy("proc/tt_work", "tt-work/before")
		}
		m := w.meter(Config{Virtual: c.virtual, Threads: []string{"jbd2/*"}})
		figures := append(must(t, m, func() {}), result.Figure(result.FioUser, 1), result.Missing(result.FioSystem, "fio failed"))
		m.Processor(figures)
		all := byMetric(t, figures)
		for _, metric := range result.ProcessorTimes[:len(result.ProcessorTimes)-1] {
			if x := all[metric]; c.there && x.Absent != "" || !c.there && (x.Absent != noProcessor || x.Value != 0) {
				t.Errorf("%s: %+v", name, x)
			}
		}
		absent(t, all, result.FioSystem, "fio failed")
		if all[result.Wall].Absent != "" || all[result.MemFreeAfter].Absent != "" {
			t.Errorf("%s: other figures are absent, too: %+v", name, all)
		}
		m.Programs(figures)
		for _, metric := range []string{result.Wall, result.CPUUser} {
			if x := byMetric(t, figures)[metric]; c.virtual != (x.Absent == notCharged && x.Value == 0) {
				t.Errorf("%s: programs' own work: %+v", name, x)
			}
		}
	}
}

func TestProcessorAllocatesNothing(t *testing.T) {
	w := newWorld(t)
	w.copy("proc/tt_work", "tt-work/before")
	m := w.meter(Config{Virtual: true})
	if n := testing.AllocsPerRun(100, func() { m.processor.starts(); m.processor.stops() }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func FuzzParseCharged(f *testing.F) {
	seeds(f, "tt-work")
	f.Fuzz(func(t *testing.T, text []byte) {
		c, err := parseCharged(text)
		for i, l := range chargedLines {
			if err == nil && !strings.Contains(string(text), l.name+" ") || err != nil && c[i] != 0 {
				t.Fatalf("%q: %v, %v", text, c, err)
			}
		}
	})
}
