package scenario

import "slices"

// Factor is something varied in addition to the candidate: mount options, the place or the
// alignment of the partition. The question is its effect, so its levels are compared with the
// reference within each candidate, and are not candidates themselves.
type Factor struct {
	Name string `json:"name"` // "mount options"
	// Reference names the level of a trial without variant: "relatime".
	Reference string    `json:"reference"`
	Levels    []Variant `json:"levels"`
	// Candidates that the factor is varied for; empty: all that are not read-only.
	Candidates []string `json:"candidates,omitempty"`
	// Axis, if not empty, says that the levels are points of a curve ("partition
	// size"): Value of the levels, and Value here of the reference, in Unit.
	Axis  string  `json:"axis,omitempty"`
	Unit  string  `json:"unit,omitempty"`
	Value float64 `json:"value,omitempty"`
	// Once: the levels take part in the first round only, because one figure of each is enough.
	Once bool `json:"once,omitempty"`
	// Keys are the study's columns that the factor is about; empty: all.
	Keys []string `json:"keys,omitempty"`
	// Medium says that the levels are faults of the medium: what matters is what happened to the
	// data, not the time.
	Medium bool `json:"medium,omitempty"`
}

// Apart reports whether reports show the levels in other ways than the effects of options: as points of
// a curve, as faults of the medium, or as kernels.
func (f Factor) Apart() bool { return f.Axis != "" || f.Medium || f.Kernels() }

// Below reports whether the levels change what a trial runs on (the chip, its faults, the guest) and not
// how the filesystem is written. Filesystems made as an image have such levels, too.
func (f Factor) Below() bool {
	return f.Apart() || slices.ContainsFunc(f.Levels, func(v Variant) bool { return v.Guest() != Guest{} })
}

// Kernels reports whether the levels are kernels.
func (f Factor) Kernels() bool {
	return slices.ContainsFunc(f.Levels, func(v Variant) bool { return v.Kernel != "" })
}

// Variant is one level of one factor: how a trial differs from the reference of its candidate.
type Variant struct {
	// Name is unique among the levels of the plan; "" is the reference.
	Name string `json:"name,omitempty"`
	// Make are arguments of mkfs after the candidate's own.
	Make []string `json:"make,omitempty"`
	// Mount are mount options in addition to the candidate's own.
	Mount []string `json:"mount,omitempty"`
	// Part of the storage that the filesystem is made on; nil: all of it.
	Part *Part `json:"part,omitempty"`
	// Files, if above 0, is the fraction of the steps' empty files and directories to make: a level
	// that makes them a hundred times slower gets fewer. Such times are compared per file.
	Files float64 `json:"files,omitempty"`

	// Earlier are steps before the phase Before: what the filesystem has lived through until then.
	Earlier Scenario `json:"earlier,omitempty"`
	Before  string   `json:"before,omitempty"`

	// Value of the level on its factor's axis.
	Value float64 `json:"value,omitempty"`
	// Share, if above 0, replaces Share in the steps that have one.
	Share float64 `json:"share,omitempty"`
	// Size, if above 0, is that of the partition of a simulated raw chip, in
	// bytes, a multiple of its erase blocks.
	Size int64 `json:"size,omitempty"`
	// Chip are further options of a simulated raw chip, in the syntax of --storage nand:, such as
	// "bad=5:6" or "bitflips=1".
	Chip string `json:"chip,omitempty"`
	// Kernel is the version of the guest's kernel, or how it begins ("6.12"); empty: the plan's.
	Kernel string `json:"kernel,omitempty"`
	// CPUs is the number of the guest's processors; 0: the plan's.
	CPUs int `json:"cpus,omitempty"`
	// Memory of the guest in bytes; 0: the plan's.
	Memory int64 `json:"memory,omitempty"`
	// Without are phases to skip.
	Without []string `json:"without,omitempty"`
	// Until is the last phase of the level: later steps are skipped. Empty: all steps.
	Until string `json:"until,omitempty"`
}

// Guest is what a level's trials need of a guest; the zero value: nothing of their own.
type Guest struct {
	Kernel string
	CPUs   int
	Memory int64 // B
}

// Guest is what the level needs of a guest. Levels that differ in it share none.
func (v Variant) Guest() Guest { return Guest{v.Kernel, v.CPUs, v.Memory} }

// Apply returns the steps as modified by the variant.
func (v Variant) Apply(s Scenario) Scenario {
	out := slices.DeleteFunc(slices.Clone(s), func(step Step) bool {
		return step.Phase != "" && slices.Contains(v.Without, step.Phase)
	})
	if at := slices.IndexFunc(out, func(step Step) bool { return step.Phase != "" && step.Phase == v.Before }); at >= 0 {
		out = slices.Insert(out, at, v.Earlier...)
	}
	for i := range out {
		if v.Files > 0 {
			out[i].Files = share(out[i].Files, v.Files)
			out[i].Dirs = share(out[i].Dirs, v.Files)
		}
		if v.Share > 0 && out[i].Share > 0 {
			out[i].Share = v.Share
		}
		if v.Until != "" && out[i].Phase == v.Until {
			return out[:i+1]
		}
	}
	return out
}

// share returns a fraction of n, at least one unless n is 0.
func share(n int, of float64) int {
	if n == 0 {
		return 0
	}
	return max(1, int(float64(n)*of))
}

// Part is a part of the storage: a partition that exists only in the kernel and in no partition
// table.
type Part struct {
	// Start and Length are shares of the storage, 0 to 1. The start is aligned
	// down to PartAlign, the length likewise; Length 0 is what remains.
	Start  float64 `json:"start,omitempty"`
	Length float64 `json:"length,omitempty"`
	// Shift is added to the start, in bytes, a multiple of 512.
	Shift int64 `json:"shift,omitempty"`
}

// PartAlign is the alignment of a part's start and length before Shift, in bytes: more than any
// known segment.
const PartAlign = 32 << 20

// Bounds returns the first byte and the length of the part on storage of size
// bytes. A part of nothing has length 0.
func (p Part) Bounds(size int64) (start, length int64) {
	start = int64(p.Start*float64(size))/PartAlign*PartAlign + p.Shift
	length = size - start
	if p.Length > 0 {
		length = min(length, int64(p.Length*float64(size))/PartAlign*PartAlign)
	}
	return start, max(0, length) / 4096 * 4096
}
