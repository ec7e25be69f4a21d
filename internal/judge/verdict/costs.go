package verdict

import (
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
	// CPU is the processor time of the work and of all kernel threads, s.
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
}

const aboutCosts = "Processor time is that of the work itself and of all kernel threads, over every measured phase except making the filesystem and preparing the storage. " +
	"The time per byte and per operation covers only the phases that count bytes or operations. Busy is the share of the phases' time during which the device had a request in flight."

// costRows are the costs of all candidates; nil where no processor time was
// measured.
func (f *figures) costTable() *Costs {
	out := &Costs{About: aboutCosts}
	there := false
	for _, s := range f.subjects {
		if s.Done == 0 {
			continue
		}
		r := f.costsOf(s)
		there = there || r.CPU.Absent == ""
		out.Rows = append(out.Rows, r)
	}
	if !there {
		return nil
	}
	return out
}

var cpuMetrics = []string{result.CPUUser, result.CPUSystem, result.CPUKernel}

func (f *figures) costsOf(s *subject) CostRow {
	r := CostRow{Candidate: s.Name}
	var cpu, byteCPU, opCPU, bytes, ops, busy, wall, threads float64
	var hasCPU, hasThreads bool
	for _, phase := range f.costPhases(s) {
		one, ok := s.sumOf(phase, cpuMetrics...)
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
	r.CPU = figure(cpu, "s", hasCPU, "no processor time was measured")
	r.PerByte = figure(byteCPU/bytes, "s", bytes > 0, "no phase counts bytes")
	r.PerOp = figure(opCPU/ops, "s", ops > 0, "no phase counts files or operations")
	r.Busy = figure(busy/wall, "1", wall > 0, "the device's busy time is unknown")
	r.Threads = s.last(f.phases(), result.KernelThreads)
	r.ThreadCPU = figure(threads, "s", hasThreads, s.why(f.phases(), result.CPUFilesystem, "no kernel threads of the filesystem were seen"))
	r.Memory = s.last(f.phases(), result.MemHeld)
	for _, x := range []*Figure{&r.Threads, &r.Memory} {
		if x.Absent != "" {
			x.Absent = "the study does not measure it"
		}
	}
	return r
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
