package qemu

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
