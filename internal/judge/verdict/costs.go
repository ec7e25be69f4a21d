package verdict

import (
	"cmp"

	"whichfs/internal/result"
)

// Costs are what each candidate's work cost besides time, over all phases of
// its scenario except those that make the filesystem or prepare the storage.
type Costs struct {
	Rows  []CostRow `json:"rows"` // in plan order
	About string    `json:"about"`
}

// CostRow is one candidate's costs, means over its trials.
type CostRow struct {
	Candidate string `json:"candidate"`
	// CPU is the processor time of the work and of all kernel threads, s; absent where the processor
	// takes none.
	CPU Figure `json:"cpu"`
	// PerByte and PerOp are that time per byte moved, and per file or operation;
	// each over the phases that have such figures.
	PerByte Figure `json:"cpu_per_byte"` // s
	PerOp   Figure `json:"cpu_per_op"`   // s
	// Busy is the share of the time that the device was busy.
	Busy Figure `json:"busy"`
	// Threads are the kernel threads of the mounted filesystem, and ThreadCPU
	// their processor time, s.
	Threads   Figure `json:"threads"`
	ThreadCPU Figure `json:"thread_cpu"`
	// Memory that the mounted filesystem keeps, including its module, B.
	Memory Figure `json:"memory"`
	// Work is what CPU was charged for, by the metrics of result.ProcessorWork; nil where nothing is
	// charged.
	Work map[string]Figure `json:"work,omitempty"`
}

const (
	aboutScheduled = "Processor time is that of the work itself and of all kernel threads" + aboutProcessor
	aboutCharged   = "Processor time is what the virtual clock charges for the kernel's instructions, for copying in memory, and for each system call and page fault" + aboutProcessor
	aboutProcessor = ", over every measured phase except making the filesystem and preparing the storage. " +
		"The time per byte and per operation covers only the phases that count bytes or operations. "
	aboutBusy = "Busy is the share of the phases' time during which the device had a request in flight."
)

// costTable has the costs of all candidates; nil where nothing of them was
// measured.
func (f *figures) costTable() *Costs {
	out := &Costs{}
	var there, scheduled, charged bool
	for _, s := range f.subjects {
		if s.Done == 0 {
			continue
		}
		r := f.costsOf(s)
		there = there || r.CPU.Absent == "" || r.Busy.Absent == "" || r.Threads.Absent == "" || r.Memory.Absent == ""
		scheduled, charged = scheduled || r.CPU.Absent == "", charged || r.Work != nil
		out.Rows = append(out.Rows, r)
	}
	switch {
	case charged:
		out.About = aboutCharged
	case scheduled:
		out.About = aboutScheduled
	}
	out.About += aboutBusy
	if !there {
		return nil
	}
	return out
}

func (f *figures) costsOf(s *subject) CostRow {
	r := CostRow{Candidate: s.Name}
	var cpu, byteCPU, opCPU, bytes, ops, busy, wall, threads float64
	var hasCPU, hasThreads bool
	for _, phase := range f.costPhases(s) {
		one, ok := s.processorTime(phase)
		if ok {
			cpu, hasCPU = cpu+one, true
		}
		if n, moved := s.sumOf(phase, result.DataBytes); ok && moved && n > 0 {
			byteCPU, bytes = byteCPU+one, bytes+n
		}
		n, counted := s.sumOf(phase, result.Ops)
		if !counted {
			n, counted = s.sumOf(phase, result.DataFiles)
		}
		if ok && counted && n > 0 {
			opCPU, ops = opCPU+one, ops+n
		}
		b, okBusy := s.sumOf(phase, result.DeviceBusy)
		if w, okWall := s.sumOf(phase, result.Wall); okBusy && okWall {
			busy, wall = busy+b, wall+w
		}
		if x, ok := s.sumOf(phase, result.CPUFilesystem); ok {
			threads, hasThreads = threads+x, true
		}
	}
	figure := func(v float64, unit string, ok bool, why string) Figure {
		if !ok {
			return Figure{Unit: unit, Absent: why}
		}
		return plainFigure(v, unit, s.Done)
	}
	none := s.why(f.phases(), result.Processor, s.why(f.phases(), result.CPUSystem, "no processor time was measured"))
	r.CPU = figure(cpu, "s", hasCPU, none)
	if hasCPU {
		none = ""
	}
	r.PerByte = figure(byteCPU/bytes, "s", bytes > 0, cmp.Or(none, "no phase counts bytes"))
	r.PerOp = figure(opCPU/ops, "s", ops > 0, cmp.Or(none, "no phase counts files or operations"))
	r.Busy = figure(busy/wall, "1", wall > 0, "the device's busy time is unknown")
	r.Threads = s.last(f.phases(), result.KernelThreads)
	r.ThreadCPU = figure(threads, "s", hasThreads, s.why(f.phases(), result.CPUFilesystem, "no kernel threads of the filesystem were seen"))
	r.Memory = s.last(f.phases(), result.MemHeld)
	for _, x := range []*Figure{&r.Threads, &r.Memory} {
		if x.Absent != "" {
			x.Absent = "the study does not measure it"
		}
	}
	r.Work = f.workOf(s)
	return r
}

// workOf adds up the work for which the virtual clock charges time.
func (f *figures) workOf(s *subject) map[string]Figure {
	var out map[string]Figure
	for _, phase := range f.costPhases(s) {
		if _, charged := s.sumOf(phase, result.Processor); !charged {
			continue // its instructions, if any, are those of another clock
		}
		if out == nil {
			out = map[string]Figure{}
		}
		for _, m := range result.ProcessorWork {
			if n, ok := s.sumOf(phase, m); ok {
				x := s.figures[key{phase, m}]
				out[m] = plainFigure(out[m].Estimate.Value+n, shownUnit(m, x.unit), s.Done)
			}
		}
	}
	return out
}

// processorTime is the time that the processor took in a phase: what the clock was charged, where it
// is, and otherwise what the scheduler accounts for.
func (s *subject) processorTime(phase string) (float64, bool) {
	if s.figures[key{phase, result.Processor}] != nil {
		return s.sumOf(phase, result.Processor)
	}
	return s.sumOf(phase, result.CPUUser, result.CPUSystem, result.CPUKernel)
}

// costPhases are the measured phases of the work itself.
func (f *figures) costPhases(s *subject) []string {
	var out []string
	for _, p := range f.phases() {
		kind, known := s.work[p]
		if known && !kind.Prepares && !kind.Checks || len(s.work) == 0 && p != "sentinel" {
			out = append(out, p)
		}
	}
	return out
}

// sumOf adds up the means of metrics in a phase; ok if there are any.
func (s *subject) sumOf(phase string, metrics ...string) (sum float64, ok bool) {
	for _, m := range metrics {
		if x := s.figures[key{phase, m}]; x != nil && len(x.values) > 0 {
			sum, ok = sum+x.mean(), true
		}
	}
	return sum, ok
}

// why gives the reason of the first phase in which a metric is absent, or
// otherwise.
func (s *subject) why(phases []string, metric, otherwise string) string {
	for _, p := range phases {
		if x := s.figures[key{p, metric}]; x != nil && x.absent != "" {
			return x.absent
		}
	}
	return otherwise
}
