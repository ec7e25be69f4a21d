package report

import (
	"strings"
	"testing"

	"whichfs/internal/judge/verdict"
	"whichfs/internal/result"
)

// sampleWear is made-up wear with one of everything: a filesystem that is
// written once, one with lost counters, and one that outlives its users.
func sampleWear() *verdict.Wear {
	w := &verdict.Wear{Daily: 10 << 30, About: "What the work did to the flash, from the first mount to the last check."}
	fig := func(v float64, unit string) verdict.Figure {
		return verdict.Figure{Unit: unit, Estimate: verdict.Interval{Value: v, Low: v, High: v, N: 3}}
	}
	for _, x := range []struct {
		name                     string
		data, sent, prog, spread float64
		years                    float64
	}{
		{"f2fs", 180e6, 231e6, 244e6, 1.2, 2400},
		{"ext4", 180e6, 192e6, 301e6, 2.4, 4.31},
		{"btrfs -m single -o compress=lzo", 180e6, 140e6, 612e6, 3.9, 0.82},
	} {
		w.Rows = append(w.Rows, verdict.WearRow{
			Candidate: x.name, Data: fig(x.data, "B"), Sent: fig(x.sent, "B"), Programmed: fig(x.prog, "B"),
			Device: fig(x.prog/x.sent, "1"), Total: fig(x.prog/x.data, "1"), Erased: fig(x.prog/4e6, "1"), Merges: fig(17, "1"),
			Spread: fig(x.spread, "1"), Years: fig(x.years, "years"),
		})
	}
	lost := verdict.Figure{Absent: "the counters were lost with the guest"}
	w.Rows = append(w.Rows, verdict.WearRow{Candidate: "nilfs2", Data: lost, Sent: lost, Programmed: lost, Device: lost,
		Total: lost, Erased: lost, Merges: lost, Spread: lost, Years: lost})
	w.Rows = append(w.Rows, verdict.WearRow{
		Candidate: "erofs -zlz4hc,12", ReadOnly: true, Data: fig(47e6, "B"), Sent: fig(47e6, "B"), Programmed: fig(47e6, "B"),
		Device: fig(1, "1"), Total: fig(1, "1"), Erased: fig(12, "1"), Merges: fig(0, "1"), Spread: fig(1, "1"),
		Years: verdict.Figure{Unit: "years", Absent: "a read-only filesystem is written once"},
	})
	return w
}

func TestWearGolden(t *testing.T) {
	v, trials := sample()
	v.Wear = sampleWear()
	section := func(text, from, to string) string {
		_, text, found := strings.Cut(text, from)
		text, _, ended := strings.Cut(text, to)
		if !found || !ended {
			t.Fatalf("no section between %q and %q", from, to)
		}
		return from + text
	}
	text := section(string(render(t, "text", v, nil)), "Wear of the", "Claims of the study")
	page := section(string(render(t, "html", v, nil)), `<section id="wear"`, "</section>")
	golden(t, "wear.text", []byte(text))
	golden(t, "wear.html", []byte(page))
	if whole := string(render(t, "html", v, nil)); !strings.Contains(whole, `<a href="#wear">`) {
		t.Error("the contents do not name the section")
	}
	if j := string(render(t, "json", v, trials)); !strings.Contains(j, `"device_amplification"`) || !strings.Contains(j, `"years"`) {
		t.Error("the JSON report has no wear")
	}
	v.Wear = nil
	for _, f := range []string{"text", "html", "json"} {
		if got := strings.ToLower(string(render(t, f, v, trials))); strings.Contains(got, `id="wear"`) || strings.Contains(got, "wear of the") || strings.Contains(got, `"wear"`) {
			t.Errorf("%s has wear of a real device", f)
		}
	}
}

// Raw flash has no separate amount sent to the device, and no merging.
func TestWearRaw(t *testing.T) {
	v, _ := sample()
	v.Wear = sampleWear()
	v.Wear.Raw = true
	for i := range v.Wear.Rows {
		v.Wear.Rows[i].PagesRead = verdict.Figure{Unit: "1", Estimate: verdict.Interval{Value: 51_200, N: 1}}
	}
	text, page := string(render(t, "text", v, nil)), string(render(t, "html", v, nil))
	_, text, _ = strings.Cut(text, "Wear of the raw flash")
	text, _, _ = strings.Cut(text, "Claims of the study")
	golden(t, "wear_raw.text", []byte(text))
	_, section, _ := strings.Cut(page, `<section id="wear"`)
	section, _, _ = strings.Cut(section, "</section>")
	if !strings.Contains(section, "Pages read") {
		t.Errorf("the page: %s", section)
	}
	for _, other := range []string{"Merges", "Sent to it", "Per byte sent"} {
		if strings.Contains(text, other) || strings.Contains(section, other) {
			t.Errorf("%q of raw flash", other)
		}
	}
}

// A candidate's name reaches no terminal and no page unescaped.
func TestWearHostile(t *testing.T) {
	v, trials := sample()
	v.Wear = sampleWear()
	v.Wear.Rows[0].Candidate = "ext4 \x1b[31m<script>"
	for _, f := range All {
		if got := string(render(t, f.Name, v, trials)); strings.Contains(got, "\x1b[31m") || strings.Contains(got, "<script>") && f.Name == "html" {
			t.Errorf("%s: it comes through", f.Name)
		}
	}
}

// Every report for people says what takes time on the virtual clock.
func TestReportsOfVirtualTime(t *testing.T) {
	v, trials := sample()
	v.Run.Clock = result.ClockVirtual
	for processor, want := range map[string][2]string{
		"":    {"virtual: only the storage takes time, the processor none; the same on every machine", "it passes only while the guest waits"},
		"bbb": {"virtual: the storage and the processor bbb take time; the same at every repetition", "as the conditions say of the processor bbb, and each reading of the clock takes 256 ns"},
	} {
		v.Run.Processor = processor
		for _, name := range []string{"text", "html"} {
			got := strings.Join(strings.Fields(string(render(t, name, v, trials))), " ")
			if !strings.Contains(got, want[0]) || name == "html" && !strings.Contains(got, want[1]) {
				t.Errorf("%s with processor %q does not say it", name, processor)
			}
		}
		if got := string(render(t, "json", v, trials)); strings.Contains(got, `"processor": "bbb"`) != (processor != "") {
			t.Errorf("JSON with processor %q", processor)
		}
	}
}

// Every report says that it shows instructions, and none calls them a time.
func TestReportsOfInstructions(t *testing.T) {
	v, trials := sample()
	v.Run.Clock = result.ClockInstructions
	v.Run.Conditions = append(v.Run.Conditions, result.Condition{Group: "machine", Name: "clock", Value: "counts instructions (2ns each)", Matters: true})
	v.Reach = "These figures count the instructions that the processor executes."
	for i := range v.Columns {
		if v.Columns[i].Unit == "s" {
			v.Columns[i].Unit = "instr"
			for k := range v.Columns[i].Cells {
				e := &v.Columns[i].Cells[k].Estimate
				e.Value, e.Low, e.High = e.Value*5e8, e.Low*5e8, e.High*5e8
			}
		}
	}
	for i := range trials {
		for k := range trials[i].Measurements {
			if m := &trials[i].Measurements[k]; m.Unit == "s" {
				m.Absent, m.Value = "this guest's clock counts instructions, not time", 0
			}
		}
		trials[i].Measurements = append(trials[i].Measurements, result.Measurement{Phase: "write", Metric: result.Instructions, Value: 256e6, Unit: "1"})
	}
	for _, f := range All {
		got := string(render(t, f.Name, v, trials))
		if !strings.Contains(got, "nstructions") {
			t.Errorf("%s does not say that it counts instructions", f.Name)
		}
		for _, wrong := range []string{"wall time on the", "sec/op", "outside measured phases"} {
			if strings.Contains(got, wrong) {
				t.Errorf("%s speaks of %q", f.Name, wrong)
			}
		}
	}
	if got := string(render(t, "text", v, nil)); !strings.Contains(got, "Ginstr") {
		t.Error("figures are not in instructions")
	}
}

func TestLifetime(t *testing.T) {
	for years, want := range map[float64]string{
		2000: "over 1000 years", 12.4: "12 years", 3.21: "3.2 years", 1.5: "548 days", 0.0389: "14 days", 0.003: "1 day", 0.001: "less than a day",
	} {
		if got := lifetime(years); got != want {
			t.Errorf("%v: %q, want %q", years, got, want)
		}
	}
}
