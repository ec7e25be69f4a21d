package twin

import (
	"context"
	"encoding/json"
	"errors"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"whichfs/internal/flash"
	"whichfs/internal/flash/models"
	"whichfs/internal/probe"
	"whichfs/internal/result"
)

// known is a prober without a probe: it reads a model's properties and
// measures its speeds directly.
func known(_ context.Context, m flash.Model, like probe.Report) (probe.Report, error) {
	s, err := models.Measure(m)
	if err != nil {
		return probe.Report{}, err
	}
	r := probe.Report{Format: 1, Storage: "sim:" + m.Name, Identity: "sim-" + m.Name, Size: m.Size, Clock: "simulated",
		Started: time.Date(2024, 5, 17, 12, 0, 0, 0, time.UTC), Wrote: true}
	add := func(key, name string, value float64, unit string) {
		r.Findings = append(r.Findings, probe.Finding{Key: key, Name: name, Value: value, Unit: unit, Confidence: 0.95})
	}
	add(probe.ReadSpeed, "Reading", s.Read, "B/s")
	add(probe.WriteSpeed, "Writing", s.Write, "B/s")
	add(probe.PageSize, "Page size", float64(m.Media.Page), "B")
	if m.Map.Scheme == flash.SchemePage {
		r.Findings = append(r.Findings, probe.Finding{Key: probe.SegmentSize, Name: "Segment size", Undetermined: "no boundary shows"})
	} else {
		add(probe.SegmentSize, "Segment size", float64(m.Map.Segment), "B")
		add(probe.OpenLinear, "Open segments, in order", float64(m.Map.Open), "1")
		random := 0.0
		if m.Map.Random {
			random = float64(m.Map.Open)
		}
		add(probe.OpenRandom, "Open segments, at random", random, "1")
	}
	add(probe.FATArea, "FAT area", float64(m.FAT), "B")
	add(probe.WriteCache, "Write cache", float64(m.Buffer.Size), "B")
	add(probe.FastCache, "Fast cache", float64(m.Fast.Size), "B")
	add(probe.QueueDepth, "Queue depth", float64(m.Bus.Queue), "1")
	add(probe.RandomRead, "Random reads", s.RandomRead, "1/s")
	add(probe.RandomWrite, "Random writes", s.RandomWrite, "1/s")
	point := func(x, y float64) probe.Point { return probe.Point{X: x, Y: y, Low: y, High: y, N: 1} }
	r.Curves = []probe.Curve{{Key: "write-sweep", Title: "Writing", XName: "block size", XUnit: "B", YName: "speed", YUnit: "B/s",
		Lines: []probe.Line{{Name: "direct", Points: []probe.Point{point(4096, 4096*s.SmallWrite), point(524288, s.Write)}}}}}
	return r, nil
}

// The twin of a model equals the model.
func TestFitFindsTheModelAgain(t *testing.T) {
	for _, name := range []string{"sd-basic", "pandora-sdxc-64g", "pandora-sdhc-16g", "pandora-microsdhc-16g"} {
		m, err := models.ByName(name)
		if err != nil {
			t.Fatal(err)
		}
		if m, err = models.Sized(m, 192<<20); err != nil {
			t.Fatal(err)
		}
		measured, err := known(context.Background(), m, probe.Report{})
		if err != nil {
			t.Fatal(err)
		}
		twin, rows, err := Fit(context.Background(), measured, known)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if m.Map.Scheme == flash.SchemePage {
			if math.Abs(twin.Map.Spare/m.Map.Spare-1) > 0.25 {
				t.Errorf("%s: over-provisioning of the twin is %g, of the model %g", name, twin.Map.Spare, m.Map.Spare)
			}
			twin.Map.Spare = m.Map.Spare
		}
		if twin.Map != m.Map || twin.FAT != m.FAT || twin.Buffer != m.Buffer || twin.Size != m.Size ||
			twin.Media.Page != m.Media.Page || twin.Bus.Queue != m.Bus.Queue {
			t.Errorf("%s: the geometry of the twin is %+v %+v", name, twin.Map, twin.Media)
		}
		for _, row := range rows {
			if row.Off() > 0.10 || row.Ratio == 0 && !row.Same || row.Curve && math.Max(row.Worst, 1/row.Worst) > 1.1 {
				t.Errorf("%s: %s: %s, twin %s", name, row.Name, row.Measured, row.Twin)
			}
		}
		for _, near := range []struct {
			key            string
			of, have, want float64
		}{
			{"bus.command", 0.3, twin.Bus.Command.Seconds(), m.Bus.Command.Seconds()},
			{"bus.read", 0.05, twin.Bus.Read, m.Bus.Read},
			{"bus.write", 0.1, twin.Bus.Write, m.Bus.Write},
		} {
			if math.Abs(near.have/near.want-1) > near.of {
				t.Errorf("%s: %s of the twin is %g, of the model %g", name, near.key, near.have, near.want)
			}
		}
		if !strings.HasPrefix(twin.Fit, "probe of sim-"+name+" on 2024-05-17: all ") {
			t.Errorf("%s: fit: %s", name, twin.Fit)
		}
		writtenAndRead(t, twin)
	}
}

// End to end: probe a model in virtual time, fit a twin to that probe, and
// probe the twin, too. This covers half of the findings; the probe has its own
// tests.
func TestFitToAProbe(t *testing.T) {
	for _, name := range []string{"sd-basic", "pandora-microsdhc-16g"} {
		m, err := models.ByName(name)
		if err != nil {
			t.Fatal(err)
		}
		if m, err = models.Sized(m, 512<<20); err != nil {
			t.Fatal(err)
		}
		measured, err := Virtual(context.Background(), m, probe.Report{Wrote: true, Effort: "normal", Seed: 1})
		if err != nil {
			t.Fatal(err)
		}
		twin, rows, err := Fit(context.Background(), measured, Virtual)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		t.Logf("%s: %s", name, twin.Fit)
		// Counting open segments takes longest and does not always
		// finish in time.
		counted := measured.Find(probe.OpenLinear).Known() || measured.Find(probe.OpenRandom).Known()
		if twin.Map.Scheme != m.Map.Scheme || twin.Map.Segment != m.Map.Segment || twin.Media.Page != m.Media.Page || counted && twin.Map.Open != m.Map.Open {
			t.Errorf("%s: the geometry of the twin is %+v %+v", name, twin.Map, twin.Media)
		}
		seen := 0
		for _, row := range rows {
			if slices.Contains(speeds, row.Key) {
				seen++
				if row.Off() > 0.10 {
					t.Errorf("%s: %s: %s, twin %s", name, row.Name, row.Measured, row.Twin)
				}
			}
		}
		if seen < 2 {
			t.Errorf("%s: %d speeds were compared", name, seen)
		}
		writtenAndRead(t, twin)
	}
}

// writtenAndRead: a twin is a model file with a source for each figure.
func writtenAndRead(t *testing.T, m flash.Model) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "twin.toml")
	if err := os.WriteFile(path, []byte(models.Write(m)), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := models.Load(path); err != nil {
		t.Errorf("%v\n%s", err, models.Write(m))
	}
	for _, k := range models.Keys {
		if k.Figure() && k.Set(m) != (m.Sources[k.Name] != "") {
			t.Errorf("%s: %s: value %q, source %q", m.Name, k.Name, k.Print(m), m.Sources[k.Name])
		}
	}
}

// What a probe could not determine becomes an estimate that says so.
func TestFitOfAProbeThatOnlyRead(t *testing.T) {
	r := probe.Report{Format: 1, Identity: "usb-Generic\x1b[2J_Stick-0:0", Size: 8 << 30, Started: time.Date(2024, 5, 17, 0, 0, 0, 0, time.UTC),
		Findings: []probe.Finding{
			{Key: probe.ReadSpeed, Name: "Reading", Value: 30e6, Unit: "B/s", Confidence: 0.95},
			{Key: probe.WriteSpeed, Name: "Writing", Undetermined: "the probe only read"},
			{Key: probe.SegmentSize, Name: "Segment size", Undetermined: "the probe only read"},
		}}
	m, err := First(r)
	if err != nil {
		t.Fatal(err)
	}
	if m.Name != "twin-usb-generic-2j-stick-0-0" {
		t.Errorf("name %q", m.Name)
	}
	for key, want := range map[string]string{
		"bus.read":   "probe usb-Generic [2J_Stick-0:0 2024-05-17: reading 30.0 MB/s, sure; including the overhead of a request",
		"bus.write":  "estimate: the probe could not determine it (the probe only read); as reading",
		"map.scheme": "estimate: the probe could not determine it (the probe only read); a mapping by pages has no visible segments",
		"bus.queue":  "estimate: the probe could not determine it (not measured); one, the minimum",
	} {
		if m.Sources[key] != want {
			t.Errorf("source of %s: %q, want %q", key, m.Sources[key], want)
		}
	}
	writtenAndRead(t, m)
}

func TestFitOfADisk(t *testing.T) {
	r := probe.Report{Format: 1, Identity: "ata-disk", Size: 320 << 30, Started: time.Date(2024, 5, 17, 0, 0, 0, 0, time.UTC),
		Findings: []probe.Finding{
			{Key: probe.ReadSpeed, Value: 75e6, Unit: "B/s", Confidence: 0.95},
			{Key: probe.Rotation, Text: "rotating", Value: 7200, Unit: "r/min", Confidence: 0.95},
			{Key: probe.RandomRead, Value: 70, Unit: "1/s", Confidence: 0.95},
		},
		Curves: []probe.Curve{{Key: "map-read", Lines: []probe.Line{{Points: []probe.Point{{X: 0, Y: 75e6}, {X: 3e11, Y: 40e6}}}}}}}
	m, err := First(r)
	if err != nil {
		t.Fatal(err)
	}
	// 1/70 s less half a revolution of 8.33 ms and 0.1 ms.
	if m.Kind != flash.KindDisk || m.Disk.RPM != 7200 || m.Disk.Inner != 40e6 || (m.Disk.MeanSeek-10019*time.Microsecond).Abs() > 2*time.Microsecond {
		t.Errorf("%+v", m.Disk)
	}
	writtenAndRead(t, m)
}

func TestFitImpossible(t *testing.T) {
	read := probe.Finding{Key: probe.ReadSpeed, Value: 30e6, Unit: "B/s"}
	for name, r := range map[string]probe.Report{
		"no size":   {Identity: "x", Findings: []probe.Finding{read}},
		"no speed":  {Identity: "x", Size: 1 << 30},
		"no reason": {Identity: "x", Size: 1 << 30, Findings: []probe.Finding{{Key: probe.ReadSpeed}}},
		"nonsense":  {Identity: "x", Size: 1 << 30, Findings: []probe.Finding{read, {Key: probe.PageSize, Value: 1e15, Unit: "B"}}},
		"too fast":  {Identity: "x", Size: 1 << 30, Findings: []probe.Finding{{Key: probe.ReadSpeed, Value: 1e300, Unit: "B/s"}}},
	} {
		_, _, err := Fit(context.Background(), r, known)
		var impossible *result.Failure
		if !errors.As(err, &impossible) || !strings.HasPrefix(err.Error(), "cannot make a twin of x: its probe ") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// For any probe file, First fails, or the model file can be read back.
func FuzzFirst(f *testing.F) {
	for _, name := range []string{"sd-basic", "pandora-microsdhc-16g"} {
		m, err := models.ByName(name)
		if err != nil {
			f.Fatal(err)
		}
		r := probe.Report{Identity: name, Size: m.Size, Findings: []probe.Finding{
			{Key: probe.ReadSpeed, Value: m.Bus.Read, Unit: "B/s"}, {Key: probe.WriteSpeed, Value: m.Bus.Write, Unit: "B/s"},
			{Key: probe.PageSize, Value: float64(m.Media.Page), Unit: "B"}, {Key: probe.SegmentSize, Value: float64(m.Map.Segment), Unit: "B"},
			{Key: probe.OpenRandom, Value: 5, Unit: "1"}, {Key: probe.FATArea, Value: 8 << 20, Unit: "B"}, {Key: probe.FastCache, Value: 64 << 20, Unit: "B"},
			{Key: probe.RandomRead, Value: 1000, Unit: "1/s"}, {Key: probe.FlushCost, Value: 0.01, Unit: "s"}, {Key: probe.DiscardCost, Value: 1, Unit: "s"},
			{Key: probe.QueueDepth, Value: 8, Unit: "1"}, {Key: probe.Rotation, Text: "rotating", Value: 7200, Unit: "1/min"},
		}}
		text, err := json.Marshal(r)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(text)
		f.Add([]byte(strings.Replace(string(text), "rotating", "solid state", 1)))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		var r probe.Report
		if json.Unmarshal(text, &r) != nil {
			return
		}
		m, err := First(r)
		if err != nil {
			return
		}
		again, err := models.Parse("twin.toml", []byte(models.Write(m)))
		if err != nil || !reflect.DeepEqual(again, m) {
			t.Errorf("%v\n%s", err, models.Write(m))
		}
	})
}

func TestCompare(t *testing.T) {
	at := func(ys ...float64) []probe.Line {
		l := probe.Line{Name: "direct"}
		for i, y := range ys {
			l.Points = append(l.Points, probe.Point{X: float64(int(4096) << i), Y: y})
		}
		return []probe.Line{l}
	}
	a := probe.Report{
		Storage: "card",
		Findings: []probe.Finding{
			{Key: probe.ReadSpeed, Name: "Reading", Value: 20e6, Unit: "B/s"},
			{Key: probe.FATArea, Name: "FAT area", Value: 0, Unit: "B"},
			{Key: probe.SegmentSize, Name: "Segment size", Value: 4 << 20, Unit: "B"},
			{Key: probe.OpenLinear, Name: "Open segments", Undetermined: "too slow"},
			{Key: probe.RealSize, Name: "Real size", Value: 1 << 30, Unit: "B"},
		},
		Curves: []probe.Curve{{Key: "sweep", Title: "Writing", XUnit: "B", Lines: at(1, 2, 4)}, {Key: "map-read", Lines: at(1, 1)}, {Key: "gone", Lines: at(1)}},
	}
	b := probe.Report{
		Findings: []probe.Finding{
			{Key: probe.ReadSpeed, Value: 15e6, Unit: "B/s"},
			{Key: probe.FATArea, Value: 0, Unit: "B"},
			{Key: probe.SegmentSize, Undetermined: "no boundary shows"},
		},
		Curves: []probe.Curve{{Key: "sweep", Lines: at(1, 4, 2)}, {Key: "map-read", Lines: at(1, 1)}},
	}
	rows := Compare(a, b)
	var text strings.Builder
	if err := ShowComparison(&text, rows, Summary(a, rows)); err != nil {
		t.Fatal(err)
	}
	want := `FINDING       MEASURED   TWIN          RATIO
Reading       20.0 MB/s  15.0 MB/s     0.75×
FAT area      none       none          same
Segment size  4.00 MiB   undetermined  different

CURVE    MEASURED  TWIN       MEAN RATIO  WORST RATIO
Writing  3 points  3 of them  1.00×       2.0× at 8.00 KiB

probe of card on 0001-01-01: 0 of 1 figures within 10 %; not reading (0.75×); different: segment
size (4.00 MiB, twin undetermined); the curves differ most in writing at 8.00 KiB (2.0×)
`
	if text.String() != want {
		t.Errorf("got\n%s\nwant\n%s", text.String(), want)
	}
}
