package meter

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"whichfs/internal/result"
)

// maxNotes is the limit of quoted kernel messages per phase.
const maxNotes = 20

// figures collects the measurements and notes of one phase, which the notes name.
type figures struct {
	phase string
	all   []result.Measurement
	notes []result.Note
}

// Absent returns the figures of Around, all of them absent for one reason: for a phase that could
// not take place.
func Absent(why string) []result.Measurement {
	err := errors.New(why)
	none := &snapshot{diskErr: err, memoryErr: err, usageErr: err}
	var fig figures
	fig.add(result.Wall, 0, err)
	fig.take(none, none, threadTimes{err: err})
	fig.peaks(nil, err)
	fig.add(result.KernelMessages, 0, err)
	fig.add(result.AgentMallocs, 0, err)
	return fig.all
}

// take adds the differences between two snapshots.
func (f *figures) take(before, after *snapshot, cpu threadTimes) {
	f.usage(before, after)
	f.threads(cpu)
	f.device(before, after)
	f.memory(before, after)
}

// add adds a figure, absent where there is an error.
func (f *figures) add(metric string, value float64, err error) {
	why := ""
	if err != nil {
		why = err.Error()
	}
	f.all = append(f.all, result.FigureOr(metric, value, why))
}

func (f *figures) note(level result.Level, format string, args ...any) {
	f.notes = append(f.notes, result.Note{Phase: f.phase, Level: level, Text: fmt.Sprintf(format, args...)})
}

func (f *figures) usage(before, after *snapshot) {
	err := first(before.usageErr, after.usageErr)
	f.add(result.CPUUser, (after.usage.user - before.usage.user).Seconds(), err)
	f.add(result.CPUSystem, (after.usage.system - before.usage.system).Seconds(), err)
}

func (f *figures) threads(c threadTimes) {
	own := c.err
	if own == nil && c.none {
		own = fmt.Errorf("this filesystem has no kernel threads of its own")
	}
	f.add(result.CPUFilesystem, c.filesystem.Seconds(), own)
	f.add(result.CPUKernel, c.all.Seconds(), c.err)
	if len(c.gone) > 0 {
		names := strings.Join(c.gone[:min(len(c.gone), 5)], ", ")
		if len(c.gone) > 5 {
			names += ", …"
		}
		f.note(result.Info, "%d kernel threads ended during the phase (%s): their processor time in it is not counted", len(c.gone), names)
	}
}

func (f *figures) device(before, after *snapshot) {
	err := first(before.diskErr, after.diskErr)
	b, a := before.disk, after.disk
	diff := func(field int) float64 { return grown(b, a, field) }
	since := func(field int, kernel string) error {
		if err == nil && (!has(b, field) || !has(a, field)) {
			return fmt.Errorf("kernels before %s do not count this", kernel)
		}
		return err
	}
	f.add(result.DeviceRead, diff(readSectors)*sector, err)
	f.add(result.DeviceWritten, diff(writtenSectors)*sector, err)
	f.add(result.DeviceReads, diff(reads), err)
	f.add(result.DeviceWrites, diff(writes), err)
	f.add(result.DeviceFlushes, diff(flushes), since(flushes, "5.5"))
	f.add(result.DeviceDiscards, diff(discards), since(discards, "4.18"))
	f.add(result.DeviceDiscard, diff(discardedSectors)*sector, since(discardedSectors, "4.18"))
	f.add(result.DeviceBusy, (time.Duration(diff(busyTicks)) * time.Millisecond).Seconds(), err)
}

// grown is by how much a counter has grown; those of 32-bit kernels wrap at 2^32.
func grown(before, after disk, field int) float64 {
	d := after[field] - before[field]
	if after[field] < before[field] && before[field] < 1<<32 {
		d += 1 << 32
	}
	return float64(d)
}

func (f *figures) memory(before, after *snapshot) {
	f.add(result.MemFreeBefore, float64(before.memory.free), before.memoryErr)
	f.add(result.MemFreeAfter, float64(after.memory.free), after.memoryErr)
	f.add(result.MemSlabBefore, float64(before.memory.slab), before.memoryErr)
	f.add(result.MemSlabAfter, float64(after.memory.slab), after.memoryErr)
	f.add(result.MemTaken, float64(after.memory.kernel)-float64(before.memory.kernel), first(before.memoryErr, after.memoryErr))
	f.add(result.MemSlabTaken, float64(after.memory.slab)-float64(before.memory.slab), first(before.memoryErr, after.memoryErr))
}

// messages turns kernel warnings into notes, a bounded number of them.
func (f *figures) messages(phase string, m messages) {
	for i, text := range m.warnings {
		if i == maxNotes {
			break
		}
		f.notes = append(f.notes, result.Note{Phase: phase, Level: result.Warning, Text: "kernel: " + text})
	}
	if more := m.warned - min(len(m.warnings), maxNotes); more > 0 {
		f.notes = append(f.notes, result.Note{Phase: phase, Level: result.Warning, Text: fmt.Sprintf("kernel: %d more warnings", more)})
	}
	for _, text := range m.late {
		f.notes = append(f.notes, result.Note{Phase: phase, Level: result.Info, Text: "the processor was unavailable for a while: kernel: " + text})
	}
	if m.lost {
		f.notes = append(f.notes, result.Note{Phase: phase, Level: result.Warning,
			Text: "kernel: its message buffer overflowed; some messages are lost and not counted"})
	}
}

func first(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}
