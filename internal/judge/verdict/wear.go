package verdict

import (
	"fmt"
	"math"
	"slices"

	"whichfs/internal/flash"
	"whichfs/internal/flash/models"
	"whichfs/internal/plan/media"
	"whichfs/internal/result"
	"whichfs/internal/sys/units"
)

// DefaultDaily is the default daily volume of the work's bytes, for years of
// life.
const DefaultDaily = 10 << 30

// leastErases of a block on average show how evenly a card wears.
const leastErases = 1

// Wear is what each candidate's work did to simulated or raw flash; real cards
// do not report it.
type Wear struct {
	// Raw: the flash is raw. It programs whatever it is sent, with no layer
	// between to merge writes.
	Raw bool `json:"raw,omitempty"`
	// Daily is the volume at which years are computed, in bytes of the work a day.
	Daily float64 `json:"daily"`
	// Rows are ordered by what was programmed, least first: writable filesystems,
	// then read-only ones; within each, those without figures last.
	Rows []WearRow `json:"rows"`
	// About says what the figures contain.
	About string `json:"about"`
}

// WearRow is one candidate's wear, means over its trials.
type WearRow struct {
	Candidate string `json:"candidate"`
	ReadOnly  bool   `json:"read_only"`
	// Data is what the work itself wrote, Sent what reached the device, Programmed
	// what the flash programmed, in bytes.
	Data       Figure `json:"data"`
	Sent       Figure `json:"sent"`
	Programmed Figure `json:"programmed"`
	// Device is Programmed over Sent, Total is Programmed over Data.
	Device Figure `json:"device_amplification"`
	Total  Figure `json:"total_amplification"`
	Erased Figure `json:"erased"` // blocks
	// PagesRead counts the pages loaded from the cells of raw flash.
	PagesRead Figure `json:"pages_read"`
	Merges    Figure `json:"merges"`
	// Spread is the most erases of any block over the mean, since the card was
	// new.
	Spread Figure `json:"spread"`
	Years  Figure `json:"years"`

	cycles, block float64 // block in B
	// capacity of the whole card in bytes, of which the run may have used a slice; 0
	// with unsized, the reason why it is unknown.
	capacity    float64
	unsized     string
	few         bool // blocks were erased too rarely to show how evenly they wear
	raw, imaged bool
}

// aboutWear describes the figures, for simulated cards and for raw flash.
var aboutWear = map[bool]string{
	false: "What the work did to the flash from the first mount to the last check, without making or preconditioning the filesystem. " +
		"Write amplification is the bytes programmed per byte sent to the device, and per byte that the work itself wrote. " +
		"Years are those of a card of the model's own size, of which the run may have used a slice, until the most worn block reaches the erases for which the model rates it, at the daily volume; in a short run the spread is larger and the years fewer than in the long run.",
	true: "What the work did to the flash from the first mount to the last unmount, without formatting UBI or making the filesystem; for a filesystem image, what writing the image did. " +
		"Flash is programmed in whole pages, erased in blocks, and counted in the kernel's NAND core; programming only spare bytes counts no bytes. " +
		"Write amplification is the bytes programmed per byte that the work itself wrote: below 1 where the filesystem compresses. " +
		"Spread is the most erases of a block over the mean of all good ones. " +
		"Years run until the most worn block reaches its rated erases, at the daily volume; every programmed byte must be erased eventually, and blocks that were not full when erased count whole; " +
		"in a short run few blocks have been erased, so the spread is larger and the years fewer than in the long run.",
}

// wear collects the figures of simulated or raw flash; nil where there are
// none.
func (f *figures) wear() *Wear {
	w := &Wear{}
	there := false
	for _, s := range f.subjects {
		for k := range s.figures {
			there = there || k.metric == result.FlashProgrammed
			w.Raw = w.Raw || k.metric == result.FlashPages
		}
	}
	if !there {
		return nil
	}
	w.About = aboutWear[w.Raw]
	for _, s := range f.subjects {
		if s.Done > 0 {
			w.Rows = append(w.Rows, f.wearOf(s, w.Raw))
		}
	}
	slices.SortStableFunc(w.Rows, func(a, b WearRow) int {
		x, y := a.Programmed, b.Programmed
		switch {
		case a.ReadOnly != b.ReadOnly && b.ReadOnly:
			return -1
		case a.ReadOnly != b.ReadOnly:
			return 1
		case x.Absent == "" && (y.Absent != "" || x.Estimate.Value < y.Estimate.Value):
			return -1
		case y.Absent == "" && (x.Absent != "" || y.Estimate.Value < x.Estimate.Value):
			return 1
		}
		return 0
	})
	w.SetDaily(DefaultDaily)
	return w
}

func (f *figures) wearOf(s *subject, raw bool) WearRow {
	sum := func(metric string) Figure {
		return s.over(f.phases(), metric, func(phase string) bool { k, known := s.work[phase]; return known && !k.Prepares })
	}
	data := s.over(f.phases(), result.DataBytes, func(phase string) bool { return s.work[phase].Writes })
	r := WearRow{
		Candidate: s.Name, ReadOnly: s.ReadOnly,
		Data: data, Sent: sum(result.FlashWritten),
		Programmed: sum(result.FlashProgrammed),
		Erased:     sum(result.FlashErased), Merges: sum(result.FlashMerges),
		PagesRead: sum(result.FlashPagesRead),
		Spread:    s.last(f.phases(), result.FlashSpread), raw: raw, imaged: s.Imaged,
	}
	if raw {
		const none = "raw flash programs exactly what it is sent"
		r.Sent, r.Merges = Figure{Unit: "B", Absent: none}, Figure{Unit: "1", Absent: none}
	}
	r.Device = quotient(r.Programmed, r.Sent, "nothing was sent to the device")
	r.Total = quotient(r.Programmed, r.Data, "the work wrote no data of its own")
	blocks, block := s.last(f.phases(), result.FlashBlocks), s.last(f.phases(), result.FlashBlock)
	r.block = block.Estimate.Value
	whole, unsized := f.whole()
	r.capacity, r.unsized = blocks.Estimate.Value*r.block*whole, unsized
	all := s.over(f.phases(), result.FlashErased, func(string) bool { return true })
	r.few = all.Absent == "" && all.Estimate.Value < leastErases*blocks.Estimate.Value
	r.cycles = s.last(f.phases(), result.FlashCycles).Estimate.Value
	return r
}

// whole is how many times the run's slice the card of a model is, or why that is
// unknown.
func (f *figures) whole() (times float64, why string) {
	on, err := media.Parse(f.run.Storage)
	if err != nil || on.Kind != media.KindSim || on.Size == 0 {
		return 1, ""
	}
	m, err := models.ByName(on.Path)
	if err != nil {
		return 0, "the size of the whole card is not known here, and this is a slice of it"
	}
	return float64(m.Size) / float64(on.Size), ""
}

// over adds up a figure over the phases that count. A phase without it is
// skipped; a phase where it could not be measured makes the sum absent.
func (s *subject) over(phases []string, metric string, counts func(phase string) bool) Figure {
	total, any, why := 0.0, false, ""
	for _, p := range phases {
		if !counts(p) {
			continue
		}
		x := s.figures[key{p, metric}]
		switch {
		case x == nil:
		case len(x.values) == 0:
			if s.tookPlace(p) {
				why = x.absent
			}
		default:
			total, any = total+x.mean(), true
		}
	}
	m, _ := result.MetricOf(metric)
	switch {
	case why != "":
		return Figure{Unit: m.Unit, Absent: why}
	case !any:
		return Figure{Unit: m.Unit, Absent: "no figure from the flash"}
	}
	return plainFigure(total, m.Unit, s.Done)
}

// tookPlace reports whether a phase ran: one that did not wrote nothing.
func (s *subject) tookPlace(phase string) bool {
	wall, instructions := s.figures[key{phase, result.Wall}], s.figures[key{phase, result.Instructions}]
	return wall == nil || len(wall.values) > 0 || instructions != nil && len(instructions.values) > 0
}

// last is a figure accumulated since the card was new: of the whole trial, or
// of the last phase that has it.
func (s *subject) last(phases []string, metric string) Figure {
	for _, p := range append([]string{"trial"}, backwards(phases)...) {
		if x := s.figures[key{p, metric}]; x != nil && len(x.values) > 0 {
			return plainFigure(x.mean(), x.unit, len(x.values))
		}
	}
	return Figure{Unit: "1", Absent: "the flash does not report it"}
}

func backwards(list []string) []string {
	out := slices.Clone(list)
	slices.Reverse(out)
	return out
}

func plainFigure(v float64, unit string, n int) Figure {
	return Figure{Unit: unit, Estimate: Interval{Value: v, Low: v, High: v, N: n, Single: n == 1}}
}

func quotient(a, b Figure, none string) Figure {
	switch {
	case a.Absent != "":
		return Figure{Unit: "1", Absent: a.Absent}
	case b.Absent != "":
		return Figure{Unit: "1", Absent: b.Absent}
	case b.Estimate.Value <= 0:
		return Figure{Unit: "1", Absent: none}
	}
	return plainFigure(a.Estimate.Value/b.Estimate.Value, "1", a.Estimate.N)
}

// SetDaily recomputes the years of life at another daily volume, in bytes of
// the work a day.
func (w *Wear) SetDaily(bytes float64) {
	if w == nil {
		return
	}
	w.Daily = bytes
	for i := range w.Rows {
		w.Rows[i].Years = w.Rows[i].years(bytes)
	}
}

func (r *WearRow) years(daily float64) Figure {
	if r.ReadOnly {
		return Figure{Unit: "years", Absent: "a read-only filesystem is written once"}
	}
	if r.imaged {
		return Figure{Unit: "years", Absent: "an image is written once"}
	}
	for _, needed := range []Figure{r.Total, r.Spread} {
		if needed.Absent != "" {
			return Figure{Unit: "years", Absent: needed.Absent}
		}
	}
	switch {
	case r.unsized != "":
		return Figure{Unit: "years", Absent: r.unsized}
	case r.few:
		return Figure{Unit: "years", Absent: "the work is too short: blocks were erased less than once on average, which does not show how evenly they wear"}
	}
	amplification := r.Total.Estimate.Value
	if data := r.Data.Estimate.Value; r.raw && r.Erased.Absent == "" && data > 0 {
		amplification = max(amplification, r.Erased.Estimate.Value*r.block/data)
	}
	years, why := flash.Years(int64(r.cycles), r.capacity, daily, amplification, r.Spread.Estimate.Value)
	if why != "" || math.IsInf(years, 0) || math.IsNaN(years) {
		return Figure{Unit: "years", Absent: why}
	}
	return plainFigure(years, "years", r.Total.Estimate.N)
}

// muchLess is the smallest ratio of bytes programmed by the recommended
// candidate to another's that its reasons mention.
const muchLess = 1.5

// reason is a sentence about the wear of the first of an order, where another
// candidate of it wears the flash much less.
func (w *Wear) reason(order []Place) string {
	if w == nil || len(order) < 2 {
		return ""
	}
	programmed := map[string]float64{}
	for _, r := range w.Rows {
		if r.Programmed.Absent == "" && r.Programmed.Estimate.Value > 0 {
			programmed[r.Candidate] = r.Programmed.Estimate.Value
		}
	}
	first := order[0].Candidate
	mine, ok := programmed[first]
	if !ok {
		return ""
	}
	least, by := mine, ""
	for _, p := range order[1:] {
		if x, there := programmed[p.Candidate]; there && x < least {
			least, by = x, p.Candidate
		}
	}
	if by == "" || mine < muchLess*least {
		return ""
	}
	return fmt.Sprintf("Wear: %s programs %s as much as %s for the same work (%s against %s).",
		first, units.Ratio(mine/least), by, units.Value(mine, "B"), units.Value(least, "B"))
}
