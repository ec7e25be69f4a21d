package powercut

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"whichfs/internal/result"
	"whichfs/internal/sys/harmless"
	"whichfs/internal/target/workload"
	"whichfs/internal/wire"
)

const (
	// noted is how many cuts with losses get a note each.
	noted = 10
	// mostNote is the maximum length of a note about a cut, in bytes: it contains the notes of
	// the verifying guest.
	mostNote = 4 << 10
	// notedMessages is how many of the kernel's messages after cuts are quoted.
	notedMessages = 8
)

// figure is one of the verification after the cut.
func (o *oneCut) figure(phase, metric string) float64 { return o.Figures[phase+" "+metric] }

// lost reports whether a promise was broken.
func (o *oneCut) lost() bool {
	for _, metric := range result.FilesLost {
		if o.figure(phaseVerify, metric) > 0 {
			return true
		}
	}
	return o.Reason != ""
}

// tally adds up cuts.
type tally struct {
	space                           int64
	done, mounted, unfinished, lost int
	merges                          int
	ops                             int64
	files                           map[string]float64 // by metric
	mount, attach                   []float64          // s
	readOnly                        int
	notes                           []result.Note
	said                            map[string]int // kernel messages, and after how many cuts each came
	told                            []string       // the same messages, in order
}

func (t *tally) add(o oneCut) {
	if t.files == nil {
		t.files, t.said = map[string]float64{}, map[string]int{}
	}
	t.done++
	for _, why := range o.Failed {
		t.note(result.Warning, "cut %d was made anew, since it failed for other reasons than the filesystem's: %s", o.Number, why)
	}
	t.ops += o.Safe
	if o.Mounted {
		t.mounted++
		t.mount = append(t.mount, o.figure(phaseMount, result.Wall))
	} else {
		t.files[result.FilesMissing] += float64(workload.SyncedFiles(o.Seed, t.space, o.Safe))
	}
	if wall := o.figure(phaseAttach, result.Wall); wall > 0 {
		t.attach = append(t.attach, wall)
	}
	for _, metric := range filesAfter {
		t.files[metric] += o.figure(phaseVerify, metric)
	}
	if o.figure(phaseVerify, result.FilesUnfinished) > 0 {
		t.unfinished++
	}
	if o.figure(phaseVerify, result.MountReadOnly) > 0 {
		t.readOnly++
	}
	if o.Merge > 0 {
		t.merges++
	}
	t.listen(o)
	if !o.lost() {
		return
	}
	t.lost++
	if t.lost <= noted {
		t.note(result.Warning, "%s", o.tell())
	}
}

// miss notes a cut that could not be made.
func (t *tally) miss(o oneCut) {
	t.note(result.Warning, "cut %d is missing: it failed %d times for other reasons than the filesystem's, most recently: %s", o.Number, len(o.Failed), o.Failed[len(o.Failed)-1])
}

// filesAfter are the figures of files that are added up.
var filesAfter = slices.Concat([]string{result.FilesWhole}, result.FilesLost, []string{result.FilesUnfinished})

// tell describes the losses of a cut.
func (o *oneCut) tell() string {
	text := fmt.Sprintf("cut %d, %.3f s after the first promise, %d operations promised: ", o.Number, o.After, o.Safe)
	var parts []string
	if o.Merge > 0 {
		parts = append(parts, fmt.Sprintf("the cut interrupted a merge, and the storage lost %d KiB that it had been told to keep, whatever the filesystem (power.merge_loses of its model)", o.Merge>>10))
	}
	if o.Reason != "" {
		parts = append(parts, o.Reason)
	}
	for _, n := range o.Notes {
		if n.Phase == phaseVerify && n.Level == result.Warning && !strings.HasPrefix(n.Text, workload.KernelSaid) {
			parts = append(parts, n.Text)
		}
	}
	return text + strings.Join(append(parts, o.Kept), "; ")
}

// numbers matches the parts of a message that differ from cut to cut.
var numbers = regexp.MustCompile(`0x[0-9a-f]+|[0-9]+`)

// listen counts the kernel's messages during the verification of a cut.
func (t *tally) listen(o oneCut) {
	had := map[string]bool{}
	for _, n := range o.Notes {
		text, quoted := strings.CutPrefix(n.Text, workload.KernelSaid)
		key := numbers.ReplaceAllString(text, "N")
		if !quoted || had[key] {
			continue
		}
		had[key] = true
		if t.said[key] == 0 {
			t.told = append(t.told, text)
		}
		t.said[key]++
	}
}

func (t *tally) note(level result.Level, format string, args ...any) {
	t.notes = append(t.notes, result.Note{Phase: result.CutPhase, Level: level, Text: harmless.Cut(fmt.Sprintf(format, args...), mostNote)})
}

// figures are those of the phase "cut".
func (t *tally) figures() wire.Figures {
	f := wire.Figures{Phase: result.CutPhase}
	add := func(metric string, value float64, unit, absent string) {
		if absent != "" {
			value = 0
		}
		f.Measurements = append(f.Measurements, result.Measurement{Phase: result.CutPhase, Metric: metric, Value: value, Unit: unit, Absent: absent})
	}
	add(result.CutsDone, float64(t.done), "1", "")
	add(result.CutsMounted, float64(t.mounted), "1", "")
	add(result.CutsUnfinished, float64(t.unfinished), "1", "")
	add(result.CutsWithLoss, float64(t.lost), "1", "")
	add(result.CutsOfMerges, float64(t.merges), "1", "")
	add(result.CutsOps, float64(t.ops), "1", "")
	for _, metric := range filesAfter {
		add(metric, t.files[metric], "1", "")
	}
	add(result.MountReadOnly, float64(t.readOnly), "1", "")
	times := func(mean, most string, all []float64, absent string) {
		var sum float64
		for _, x := range all {
			sum += x
		}
		if len(all) > 0 {
			absent = ""
			add(mean, sum/float64(len(all)), "s", "")
			add(most, slices.Max(all), "s", "")
			return
		}
		add(mean, 0, "s", absent)
		add(most, 0, "s", absent)
	}
	times(result.CutsMount, result.CutsMountMost, t.mount, "it could not be mounted after any cut")
	times(result.CutsAttach, result.CutsAttachMost, t.attach, "there is no UBI below it")
	if t.lost > noted {
		t.note(result.Warning, "and %d more cuts with losses", t.lost-noted)
	}
	for i, text := range t.told {
		if i == notedMessages {
			t.note(result.Info, "and %d more kernel messages", len(t.told)-i)
			break
		}
		t.note(result.Info, "after %d of %d cuts the kernel reported: %s", t.said[numbers.ReplaceAllString(text, "N")], t.done, text)
	}
	f.Notes = t.notes
	return f
}
