package meter

import (
	"bytes"
	"errors"
	"fmt"
	"path/filepath"
	"slices"

	"golang.org/x/sys/unix"

	"whichfs/internal/result"
)

// chargedFile, in procfs, shows the work that a guest's kernel has charged to the virtual clock since
// it started. Kernels that charge nothing have no such file.
const chargedFile = "tt_work"

// chargedLines are the lines of the file, "NAME NUMBER", with the metric of each. The first
// kindsOfCode count instructions, the last one nanoseconds.
var chargedLines = [...]struct{ name, metric string }{
	{"other", result.InstructionsOther},
	{"compressing", result.InstructionsCompressing},
	{"checksums", result.InstructionsChecksums},
	{"copied", result.ProcessorCopied},
	{"crc32", result.ProcessorCRC32},
	{"crc32c", result.ProcessorCRC32C},
	{"calls", result.ProcessorCalls},
	{"interrupts", result.ProcessorInterrupts},
	{"faults", result.ProcessorFaults},
	{"switches", result.ProcessorSwitches},
	{"busy", result.Processor},
}

const kindsOfCode = 3

// charged holds the numbers of the file.
type charged [len(chargedLines)]uint64

// parseCharged ignores lines that it does not know.
func parseCharged(text []byte) (charged, error) {
	var c charged
	for i, l := range chargedLines {
		value, ok := chargedLine(text, l.name)
		if !ok {
			return charged{}, fmt.Errorf("its line %q is missing or has no number", l.name)
		}
		c[i] = value
	}
	return c, nil
}

func chargedLine(text []byte, key string) (uint64, bool) {
	for len(text) > 0 {
		line, rest, ended := bytes.Cut(text, []byte{'\n'})
		if name, digits, _ := bytes.Cut(line, []byte{' '}); string(name) == key {
			value, more, ok := number(digits)
			return value, ok && len(more) == 0 && ended
		}
		text = rest
	}
	return 0, false
}

// processor reads the file at the begin and the end of a phase, last before the clock starts and
// first after it stops, since reading is work that is charged, too. It is parsed later.
type processor struct {
	path       string
	fd         int
	err        error // of opening it
	begin, end reading
}

type reading struct {
	text [1024]byte
	n    int
	err  error
}

// newProcessor returns nil where the kernel charges nothing.
func newProcessor(proc string) *processor {
	p := &processor{path: filepath.Join(proc, chargedFile)}
	if p.fd, p.err = unix.Open(p.path, unix.O_RDONLY|unix.O_CLOEXEC, 0); errors.Is(p.err, unix.ENOENT) {
		return nil
	}
	return p
}

func (p *processor) close() {
	if p != nil && p.fd >= 0 {
		_ = unix.Close(p.fd)
		p.fd = -1
	}
}

// starts and stops allocate nothing.
func (p *processor) starts() {
	if p != nil {
		p.begin.n, p.begin.err = unix.Pread(p.fd, p.begin.text[:], 0)
	}
}

func (p *processor) stops() {
	if p != nil {
		p.end.n, p.end.err = unix.Pread(p.fd, p.end.text[:], 0)
	}
}

func (p *processor) parse(r *reading) (charged, error) {
	var c charged
	err := first(p.err, r.err)
	if err == nil {
		c, err = parseCharged(r.text[:r.n])
	}
	if err != nil {
		return c, fmt.Errorf("%s: %w", p.path, err)
	}
	return c, nil
}

// processor adds the work between the two readings. Nothing of a damaged reading is used.
func (f *figures) processor(p *processor) {
	if p == nil {
		return
	}
	before, err := p.parse(&p.begin)
	after, late := p.parse(&p.end)
	err = first(err, late)
	for i, l := range chargedLines {
		if err == nil && after[i] < before[i] {
			err = fmt.Errorf("%s: its figure %q went back from %d to %d", p.path, l.name, before[i], after[i])
		}
	}
	f.charged(before, after, err)
}

// uncharged returns the figures of the processor's work in a phase in which it was not counted.
func (m *Meter) uncharged(why string) []result.Measurement {
	var f figures
	if m.processor != nil {
		f.charged(charged{}, charged{}, errors.New(why))
	}
	return f.all
}

func (f *figures) charged(before, after charged, err error) {
	instructions := 0.0
	for i, l := range chargedLines {
		amount := float64(after[i] - before[i])
		if i < kindsOfCode {
			instructions += amount
		}
		if l.metric == result.Processor {
			amount /= 1e9
		}
		f.add(l.metric, amount, err)
	}
	f.add(result.Instructions, instructions, err)
}

// noProcessor is the reason that processor times are absent where the processor takes none.
const noProcessor = "the processor takes no time on this clock"

// notCharged is the reason that times of programs' own work are absent.
const notCharged = "programs' own work takes no time on this clock"

// Programs makes times of work absent that other programs do by themselves: the virtual clock knows
// only the storage's and the kernel's.
func (m *Meter) Programs(all []result.Measurement) {
	if !m.virtual {
		return
	}
	for i := range all {
		if metric := all[i].Metric; metric == result.Wall || metric == result.DevicePeakRead || metric == result.DevicePeakWritten || metric == result.Processor || slices.Contains(result.ProcessorTimes, metric) {
			all[i].Absent, all[i].Value = notCharged, 0
		}
	}
}

// Charged reports whether the kernel charges the clock for its work.
func (m *Meter) Charged() bool { return m.processor != nil }

// Processor makes processor times absent where no time passes for the processor: their accounting
// shows something all the same, which means nothing.
func (m *Meter) Processor(all []result.Measurement) {
	if !m.virtual || m.processor != nil {
		return
	}
	for i := range all {
		if slices.Contains(result.ProcessorTimes, all[i].Metric) && all[i].Absent == "" {
			all[i].Absent, all[i].Value = noProcessor, 0
		}
	}
}
