package workload

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"whichfs/internal/fault"
	"whichfs/internal/filesystem"
	"whichfs/internal/result"
)

// faultNoted is how many iterations with losses are told one by one.
const faultNoted = 5

// faultTally counts what became of the filesystem in a step's iterations.
type faultTally struct {
	seed uint64
	fs   string

	tried, mounted, dirty, clean, replayed, complained int
	promises, broken                                   int
	outcomes, after                                    map[fault.Outcome]int
	total, longest                                     time.Duration // of mounts

	notes  []result.Note
	untold int
	said   map[string]bool // notes that are told once
}

func newFaultTally(fs filesystem.Filesystem, seed uint64) faultTally {
	return faultTally{seed: seed, fs: fs.Name, outcomes: map[fault.Outcome]int{}, after: map[fault.Outcome]int{}, said: map[string]bool{}}
}

// count takes in an iteration. dirty is what the check complained of.
func (t *faultTally) count(number int, o fault.Outcome, s *sight, dirty string) {
	t.tried++
	t.outcomes[o]++
	t.promises, t.broken = t.promises+s.promises, t.broken+s.broken
	if s.mounted {
		t.mounted++
		t.total, t.longest = t.total+s.took, max(t.longest, s.took)
	}
	if len(s.said.Replay) > 0 {
		t.replayed++
	}
	if len(s.said.Errors) > 0 {
		t.complained++
	}
	if o <= fault.Recovered && dirty == "" {
		return
	}
	if len(t.notes) == faultNoted {
		t.untold++
		return
	}
	text := s.words()
	if dirty != "" {
		text = strings.TrimPrefix(text+"; the check: "+dirty, "; ")
	}
	t.notes = append(t.notes, result.Note{Level: result.Info, Text: fmt.Sprintf("iteration %d (seed %d), %s: %s", number, t.seed, o.Key(), text)})
}

// once notes what concerns the whole step.
func (t *faultTally) once(text string) { t.said[text] = true }

func (t *faultTally) extra() (Extra, error) {
	var x Extra
	add := func(metric string, n int) {
		x.Measurements = append(x.Measurements, result.Measurement{Metric: metric, Value: float64(n), Unit: "1"})
	}
	add(fault.Tried, t.tried)
	for _, o := range fault.Outcomes {
		if n := t.outcomes[o]; n > 0 {
			add(fault.OutcomePrefix+o.Key(), n)
		}
	}
	for _, o := range fault.Outcomes {
		if n := t.after[o]; n > 0 {
			add(fault.AfterPrefix+o.Key(), n)
		}
	}
	add(fault.Mounted, t.mounted)
	add(fault.CheckDirty, t.dirty)
	add(fault.CheckClean, t.clean)
	add(fault.Promises, t.promises)
	add(fault.Broken, t.broken)
	add(fault.Replayed, t.replayed)
	add(fault.Complained, t.complained)
	mean := result.Measurement{Metric: fault.MountMean, Unit: "s", Absent: "it could not be mounted after any fault"}
	longest := mean
	longest.Metric = fault.MountLongest
	if t.mounted > 0 {
		mean.Absent, mean.Value = "", t.total.Seconds()/float64(t.mounted)
		longest.Absent, longest.Value = "", t.longest.Seconds()
	}
	x.Measurements = append(x.Measurements, mean, longest)
	x.Notes = t.notes
	if t.untold > 0 {
		x.Notes = append(x.Notes, result.Note{Level: result.Info, Text: fmt.Sprintf("and %d more iterations like these", t.untold)})
	}
	for _, text := range slices.Sorted(maps.Keys(t.said)) {
		x.Notes = append(x.Notes, result.Note{Level: result.Info, Text: text})
	}
	return x, nil
}
