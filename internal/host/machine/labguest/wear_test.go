package labguest

import (
	"testing"

	"whichfs/internal/flash"
	"whichfs/internal/host/machine"
	"whichfs/internal/result"
	"whichfs/internal/wire"
)

// A step that is not measured but reports something has the name of its work, which may also be the
// name of a phase: only the phase has the device's figures.
func TestWearOfMeasuredPhasesOnly(t *testing.T) {
	var at flash.Stats
	w := wear{stats: func() flash.Stats { return at }}
	var figures []wire.Figures
	watched := w.watch(machine.Events{Figures: func(f wire.Figures) { figures = append(figures, f) }})
	watched.Phase("mount")
	at.Written += 5
	watched.Figures(wire.Figures{Phase: "mount", Options: []result.Option{{Text: "-o noatime"}}})
	watched.Phase("mount")
	at.Written += 7
	watched.Figures(wire.Figures{Phase: "mount", Measurements: []result.Measurement{{Phase: "mount", Metric: result.Wall}}})
	watched.Figures(wire.Figures{Phase: "mount", Artifacts: []result.Artifact{{Name: "x"}}})
	var written []float64
	for _, f := range figures {
		for _, m := range f.Measurements {
			if m.Metric == result.FlashWritten {
				written = append(written, m.Value)
			}
		}
	}
	if len(figures) != 3 || len(written) != 1 || written[0] != 7 {
		t.Errorf("written %v in %+v", written, figures)
	}
}

// Figures go to the phase in which the device counted them.
func TestWearOfPhases(t *testing.T) {
	var now flash.Stats
	w := wear{stats: func() flash.Stats { return now }, model: flash.Model{Media: flash.Media{Block: 4096}}}
	var got []wire.Figures
	var begun []string
	e := w.watch(machine.Events{Phase: func(p string) { begun = append(begun, p) }, Figures: func(f wire.Figures) { got = append(got, f) }})
	now.Written, now.Programmed = 100, 200 // of no phase
	e.Phase("write")
	now = flash.Stats{Written: 110, Programmed: 230, Copied: 7, Erased: 3, Merges: 2}
	e.Figures(wire.Figures{Phase: "write", Measurements: []result.Measurement{{Phase: "write", Metric: result.Wall, Value: 1, Unit: "s"}}})
	now.Written = 500
	e.Figures(wire.Figures{Phase: "sentinel"})
	value := func(list []result.Measurement, metric string) result.Measurement {
		for _, m := range list {
			if m.Metric == metric {
				return m
			}
		}
		return result.Measurement{Absent: "missing"}
	}
	if len(begun) != 1 || len(got) != 2 || len(got[1].Measurements) != 0 {
		t.Fatalf("%v, %+v", begun, got)
	}
	for metric, want := range map[string]float64{result.Wall: 1, result.FlashWritten: 10, result.FlashProgrammed: 30,
		result.FlashCopied: 7, result.FlashErased: 3, result.FlashMerges: 2} {
		if m := value(got[0].Measurements, metric); m.Absent != "" || m.Value != want || m.Phase != "write" {
			t.Errorf("%s is %+v, want %v", metric, m, want)
		}
	}
	whole := w.whole()
	if m := value(whole, result.FlashWritten); m.Value != 500 || m.Phase != WholeTrial {
		t.Errorf("%+v", m)
	}
	for _, metric := range []string{result.FlashSpread, result.FlashBlocks, result.FlashCycles} {
		if m := value(whole, metric); m.Absent == "" {
			t.Errorf("%s is %v, and nothing is known of it", metric, m.Value)
		}
	}
	now.MaxErases, now.MeanErases, now.Blocks = 6, 1.5, 10
	if m := value(w.whole(), result.FlashSpread); m.Value != 4 || m.Absent != "" {
		t.Errorf("spread %+v", m)
	}
}
