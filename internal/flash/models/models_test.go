package models

import (
	"io/fs"
	"math"
	"reflect"
	"strings"
	"testing"
	"time"

	"whichfs/internal/flash"
)

func TestShippedAreListed(t *testing.T) {
	entries, err := fs.ReadDir(data, "data")
	if err != nil {
		t.Fatal(err)
	}
	all, err := All()
	if err != nil {
		t.Fatal(err)
	}
	if len(entries) != len(all) {
		t.Errorf("%d files, %d models in the list", len(entries), len(all))
	}
	for i, m := range all {
		if m.Name != shipped[i] {
			t.Errorf("the file %s.toml has a model called %s", shipped[i], m.Name)
		}
		if got, err := ByName(m.Name); err != nil || !reflect.DeepEqual(got, m) {
			t.Errorf("%s is not found by its name: %v", m.Name, err)
		}
		if m.Title == "" {
			t.Errorf("%s has no title", m.Name)
		}
		if m.Fit != "" {
			t.Errorf("%s was fitted", m.Name)
		}
	}
}

// Every figure has a source, and every source a figure: a source without a
// figure means that a figure was lost.
func TestEveryFigureHasASource(t *testing.T) {
	all, err := All()
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range all {
		for _, fault := range sourceFaults(m) {
			t.Errorf("%s: %s", m.Name, fault)
		}
	}
}

func sourceFaults(m flash.Model) []string {
	var faults []string
	for _, k := range Keys {
		source, sourced := m.Sources[k.Name]
		switch {
		case !k.Figure():
		case k.Set(m) && !sourced:
			faults = append(faults, k.Name+" has no source")
		case sourced && !k.Set(m):
			faults = append(faults, k.Name+" has a source but no value")
		case sourced && strings.HasPrefix(strings.ToLower(source), "estimate") && !strings.HasPrefix(source, "estimate: "):
			faults = append(faults, k.Name+`: an estimate begins with "estimate: "`)
		case sourced && len(strings.TrimPrefix(source, "estimate: ")) < 10:
			faults = append(faults, k.Name+": the source is too short to be one")
		}
	}
	return faults
}

func TestSourceFaultsAreSeen(t *testing.T) {
	m, err := ByName("hdd")
	if err != nil {
		t.Fatal(err)
	}
	m, err = Sized(m, m.Size/2) // a copy with separate sources
	if err != nil {
		t.Fatal(err)
	}
	delete(m.Sources, "disk.rpm")
	m.Sources["fat"] = "somewhere there is one"
	m.Sources["disk.outer"] = "Estimate of somebody"
	if got := sourceFaults(m); len(got) != 3 {
		t.Errorf("found %v", got)
	}
}

// Parse reads back exactly the model that Write wrote.
func TestWriteRoundTrip(t *testing.T) {
	all, err := All()
	if err != nil {
		t.Fatal(err)
	}
	odd, err := Parse("card", []byte(card))
	if err != nil {
		t.Fatal(err)
	}
	odd.Size = 1<<30 + 512
	odd.Bus.Read, odd.Bus.Write = 1e6/3, math.Pi*1e8
	odd.Bus.Command = 123456789*time.Nanosecond + time.Second
	odd.Title = `quotes " and \ and µ`
	odd.Fit = "how well"
	for _, m := range append(all, odd) {
		text := Write(m)
		again, err := Parse(m.Name, []byte(text))
		if err != nil || !reflect.DeepEqual(m, again) {
			t.Errorf("%s: %v\n%s", m.Name, err, text)
		}
	}
}

func TestFormatRate(t *testing.T) {
	for _, r := range []float64{1, 999, 1000, 1.5e6, 20e6, 12.6e6, 0.3, 1e12, 1e6 / 3, math.Nextafter(20e6, 0)} {
		text := formatRate(r)
		if back, err := parseRate(text); err != nil || back != r {
			t.Errorf("%v became %q became %v, %v", r, text, back, err)
		}
	}
	for text, want := range map[string]float64{"1 B/s": 1, "2kB/s": 2e3, "12.6 MB/s": 12.6e6, "1.5 GB/s": 1.5e9} {
		if got, err := parseRate(text); err != nil || got != want {
			t.Errorf("%q is %v, %v", text, got, err)
		}
	}
	if got := formatRate(12.6e6); got != "12.6 MB/s" {
		t.Errorf("12.6e6 B/s became %q", got)
	}
}

func TestSized(t *testing.T) {
	a2, err := ByName("sd-a2")
	if err != nil {
		t.Fatal(err)
	}
	before := Write(a2)
	small, err := Sized(a2, 1<<30)
	if err != nil {
		t.Fatal(err)
	}
	if small.Size != 1<<30 || small.Fast.Size != 64<<20 || small.Buffer != a2.Buffer || small.Media != a2.Media || small.Map != a2.Map || small.Bus != a2.Bus {
		t.Errorf("%+v", small)
	}
	if got, want := small.Sources["size"], "asked for; the model's own size is 60872M"; got != want {
		t.Errorf("source of the size: %q, want %q", got, want)
	}
	if got := small.Sources["fast.size"]; !strings.HasPrefix(got, "the model's 1G, limited to a sixteenth of the size; estimate: ") {
		t.Errorf("source of the limited cache: %q", got)
	}
	if Write(a2) != before {
		t.Error("the model itself changed")
	}
	if faults := sourceFaults(small); len(faults) > 0 {
		t.Errorf("sources of the small one: %v", faults)
	}
	large, err := Sized(a2, 1<<40)
	if err != nil || large.Fast != a2.Fast {
		t.Errorf("a larger one: %+v, %v", large.Fast, err)
	}
	if same, err := Sized(a2, 0); err != nil || !reflect.DeepEqual(same, a2) {
		t.Errorf("its own size: %v", err)
	}
	// A cache that would be smaller than a block is removed completely.
	tiny, err := Sized(a2, 32<<20)
	if err != nil || tiny.Fast != (flash.Fast{}) {
		t.Errorf("a tiny one: %+v, %v", tiny.Fast, err)
	}
	if faults := sourceFaults(tiny); len(faults) > 0 {
		t.Errorf("sources of the tiny one: %v", faults)
	}
	card1, err := ByName("pandora-sdxc-64g")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Sized(card1, 4<<20); err == nil || !strings.HasPrefix(err.Error(), "model pandora-sdxc-64g with a size of 4M: map.segment: ") {
		t.Errorf("less than a segment: %v", err)
	}
	for _, name := range Names() {
		m, err := ByName(name)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := Sized(m, 1<<30); err != nil {
			t.Errorf("%s cannot be 1 GiB: %v", name, err)
		}
	}
}
