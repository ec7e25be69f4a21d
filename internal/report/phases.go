package report

import (
	"slices"
	"strings"

	"whichfs/internal/report/doc"
	"whichfs/internal/result"
	"whichfs/internal/units"
	"whichfs/internal/verdict"
)

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

// phasesSection is what each phase cost.
func phasesSection(v verdict.Verdict) doc.Section {
	about := "What each step took beside time: processor time of the agent and of kernel threads, traffic at the device, memory."
	if v.Run.Counts() {
		about = "What each step took: instructions, in all and per file and byte, and memory."
	}
	s := doc.Section{ID: "phases", Title: "Costs by phase", In: doc.Page}
	for _, p := range v.Phases {
		s.Body = append(s.Body, phaseFold(p))
	}
	if len(s.Body) > 0 {
		s.Body = append([]doc.Block{doc.Para{Text: about}}, s.Body...)
	}
	return s
}

// phaseFold leaves out the metrics that no candidate has, and says why.
func phaseFold(p verdict.Phase) doc.Fold {
	t := doc.Table{Style: doc.Scroll, Name: "Costs of " + p.Name, Columns: []doc.Column{{Head: "Candidate"}}}
	for _, row := range p.Rows {
		t.Rows = append(t.Rows, doc.Texts(row.Candidate))
	}
	var missing doc.Groups
	metrics, heads := metricsOf(p)
	for i, m := range metrics {
		if why := neverHad(p, m); why != "" {
			missing.Add(why, heads[i])
			continue
		}
		t.Columns = append(t.Columns, doc.Column{Head: heads[i], Kind: doc.Figures})
		for k, row := range p.Rows {
			f, ok := row.Figures[m]
			cell := doc.Cell{Absent: f.Absent, Text: estimate(f.Estimate, f.Unit)}
			if !ok {
				cell.Absent = "not measured"
			}
			t.Rows[k].Cells = append(t.Rows[k].Cells, cell)
		}
	}
	for _, g := range missing {
		t.Below = append(t.Below, doc.Item{Mark: "–", Muted: true, Text: strings.Join(g.Names, ", ") + ": not available: " + g.Text})
	}
	return doc.Fold{Summary: p.Name, Small: units.Count(len(p.Rows), "candidate"), Body: []doc.Block{t, doc.Footnotes{}}}
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
