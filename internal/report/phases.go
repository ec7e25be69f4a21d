package report

import (
	"slices"

	"whichfs/internal/result"
	"whichfs/internal/verdict"
)

// pagePhase is the table of what one phase cost.
type pagePhase struct {
	Name  string
	Heads []string
	Rows  []pageCosts
	Notes []string // reasons of absent figures, lettered
	// Missing are metrics that no candidate has, with the reason.
	Missing []reason
}

type pageCosts struct {
	Candidate string
	Cells     []pageCell
}

// phaseMetrics are the columns of a phase's table, in order. Metrics that are
// not listed follow under their own names.
var phaseMetrics = []struct{ metric, head string }{
	{result.Wall, "Time"},
	{"rate", "Rate"},
	{result.Instructions, "Instructions"},
	{result.InstructionsOp, "Per file"},
	{result.InstructionsByte, "Per byte"},
	{result.CPUUser, "Agent, user"},
	{result.CPUSystem, "Agent, system"},
	{result.CPUKernel, "Kernel threads"},
	{result.CPUFilesystem, "Filesystem’s threads"},
	{result.DeviceRead, "Device read"},
	{result.DeviceWritten, "Device written"},
	{result.DeviceReads, "Read requests"},
	{result.DeviceWrites, "Write requests"},
	{result.DeviceFlushes, "Flushes"},
	{result.DeviceDiscards, "Discards"},
	{result.DeviceDiscard, "Discarded"},
	{result.DeviceBusy, "Device busy"},
	{result.MemFreeBefore, "Free memory before"},
	{result.MemFreeAfter, "Free memory after"},
	{result.MemSlabBefore, "Slab before"},
	{result.MemSlabAfter, "Slab after"},
	{result.KernelMessages, "Kernel messages"},
	{result.DataBytes, "Data moved"},
	{result.DataFiles, "Files handled"},
	{result.Ops, "Operations"},
	{result.LatP50, "Latency, median"},
	{result.LatP95, "95 % within"},
	{result.LatP99, "99 % within"},
	{result.LatP999, "99.9 % within"},
	{result.LatMax, "Longest"},
	{result.SpaceUsed, "Space used"},
	{result.SpaceFree, "Space free"},
	{result.SpaceTotal, "Space in all"},
	{result.SpaceSaved, "Saved by compression"},
	{result.ImageSize, "Image size"},
	{result.SpaceFull, "Share in use"},
	{result.CompressRatio, "Compressed to"},
	{result.CompressDisk, "Disk use"},
	{result.CompressPlain, "Uncompressed"},
	{result.ExtentsRegular, "Regular extents"},
	{result.ExtentsInline, "Inline extents"},
	{result.KernelThreads, "Own kernel threads"},
	{result.MemHeld, "Memory held"},
	{result.BootKernel, "Boot, kernel"},
	{result.BootRoot, "Boot, root"},
	{result.ModuleSize, "Modules, stored"},
	{result.ModuleOwn, "Own module, stored"},
	{result.ModuleRAM, "Modules, in memory"},
	{result.ModuleCount, "Modules loaded"},
	{result.FlashWritten, "Sent to the flash"},
	{result.FlashProgrammed, "Programmed"},
	{result.FlashCopied, "Copied inside"},
	{result.FlashErased, "Blocks erased"},
	{result.FlashMerges, "Merges"},
	{result.FlashSpread, "Spread of erases"},
	{result.AgentMallocs, "Agent’s allocations"},
}

// metricsOf lists the metrics of a phase in the order above.
func metricsOf(p verdict.Phase) (metrics, heads []string) {
	var found []string
	for _, row := range p.Rows {
		for m := range row.Figures {
			if !slices.Contains(found, m) {
				found = append(found, m)
			}
		}
	}
	slices.Sort(found)
	for _, m := range phaseMetrics {
		if i := slices.Index(found, m.metric); i >= 0 {
			metrics, heads = append(metrics, m.metric), append(heads, m.head)
			found = slices.Delete(found, i, i+1)
		}
	}
	return append(metrics, found...), append(heads, found...)
}

func phasesFor(v verdict.Verdict) []pagePhase {
	var out []pagePhase
	for _, p := range v.Phases {
		out = append(out, phaseOf(p))
	}
	return out
}

func phaseOf(p verdict.Phase) pagePhase {
	out := pagePhase{Name: p.Name}
	n := &notes{}
	metrics, heads := metricsOf(p)
	var shown []string
	for i, m := range metrics {
		if why := neverHad(p, m); why != "" {
			at := slices.IndexFunc(out.Missing, func(r reason) bool { return r.Text == why })
			if at < 0 {
				out.Missing = append(out.Missing, reason{Text: why})
				at = len(out.Missing) - 1
			}
			out.Missing[at].Names = append(out.Missing[at].Names, heads[i])
			continue
		}
		shown = append(shown, m)
		out.Heads = append(out.Heads, heads[i])
	}
	for _, row := range p.Rows {
		costs := pageCosts{Candidate: row.Candidate}
		for i, m := range shown {
			cell := pageCell{Head: out.Heads[i]}
			switch f, ok := row.Figures[m]; {
			case !ok:
				cell.Note = n.mark("not measured")
			case f.Absent != "":
				cell.Note = n.mark(f.Absent)
			default:
				cell.Figure = estimate(f.Estimate, f.Unit)
			}
			costs.Cells = append(costs.Cells, cell)
		}
		out.Rows = append(out.Rows, costs)
	}
	out.Notes = n.texts
	return out
}

// neverHad returns the reason that a metric is absent for, if it is absent for
// every candidate and for one reason.
func neverHad(p verdict.Phase, metric string) string {
	why := ""
	for _, row := range p.Rows {
		f, ok := row.Figures[metric]
		if !ok {
			continue
		}
		if f.Absent == "" || why != "" && f.Absent != why {
			return ""
		}
		why = f.Absent
	}
	return why
}
