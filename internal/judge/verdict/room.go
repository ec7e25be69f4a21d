package verdict

import (
	"fmt"
	"slices"
	"strings"

	"whichfs/internal/plan/study"
	"whichfs/internal/result"
	"whichfs/internal/sys/units"
)

// Room compares what statfs calls available with what fits.
type Room struct {
	Cases []string  `json:"cases"` // phases
	Rows  []RoomRow `json:"rows"`
	About string    `json:"about"`
}

// RoomRow is one candidate, with a cell for each case.
type RoomRow struct {
	Candidate string     `json:"candidate"`
	Cells     []RoomCell `json:"cells"`
}

// RoomCell is of the round in which the answers were furthest off.
type RoomCell struct {
	Absent    string  `json:"absent,omitempty"`
	Available float64 `json:"available"` // B, on the empty filesystem
	Fits      float64 `json:"fits"`      // B
	// Off is the largest difference during the fill, as a share of Fits.
	Off float64 `json:"off"`
}

const aboutRoom = "Files are written until there is no space. Available is what statfs (df) says of the empty filesystem, and fits are the contents of the files. " +
	"Off is the largest difference, at any time during that, between what statfs said and what then still fitted, as a share of all that fits. Blocks reserved for root count as neither."

// roomWork is the kind of work.
const roomWork = "room"

// room collects the figures; nil where the run has none.
func (f *figures) room() *Room {
	r := &Room{About: aboutRoom}
	for _, step := range slices.Concat(f.scenario(false), f.scenario(true)) {
		if step.Work == roomWork && !slices.Contains(r.Cases, step.Phase) {
			r.Cases = append(r.Cases, step.Phase)
		}
	}
	if len(r.Cases) == 0 {
		return nil
	}
	for _, s := range f.subjects {
		row := RoomRow{Candidate: s.Name}
		for _, c := range r.Cases {
			row.Cells = append(row.Cells, s.roomIn(c))
		}
		r.Rows = append(r.Rows, row)
	}
	return r
}

func (s *subject) roomIn(phase string) RoomCell {
	off, available, fits := s.figures[key{phase, result.SpaceOff}], s.figures[key{phase, result.SpaceAvailable}], s.figures[key{phase, result.SpaceFits}]
	switch {
	case off == nil || available == nil || fits == nil:
		return RoomCell{Absent: "it was not measured"}
	case len(off.values) == 0:
		return RoomCell{Absent: off.absent}
	}
	at := slices.Index(off.values, slices.Max(off.values))
	if at >= len(available.values) || at >= len(fits.values) {
		return RoomCell{Absent: "a figure is missing"}
	}
	return RoomCell{Available: available.values[at], Fits: fits.values[at], Off: off.values[at]}
}

// checkRoom needs no interval: one wrong answer is one.
func (f *figures) checkRoom(out *Claim, k study.RoomCheck) {
	s := f.byName[k.Candidate]
	if s == nil {
		out.Figures = "this run has no " + k.Candidate
		return
	}
	var texts []string
	missing := ""
	result := Disagrees
	for _, c := range k.Cases {
		cell := s.roomIn(c)
		if cell.Absent != "" {
			missing = c + ": " + cell.Absent
			continue
		}
		texts = append(texts, fmt.Sprintf("%s: %s available, %s fit, off by at most %s", c, units.Value(cell.Available, "B"), units.Value(cell.Fits, "B"), Percent(cell.Off)))
		if cell.Off >= k.Low {
			result = Agrees
		}
	}
	if len(texts) == 0 {
		out.Figures = "not tested: " + missing
		return
	}
	if missing != "" && result == Disagrees {
		result = Undecided
	}
	out.Result, out.Figures = result, k.Candidate+", "+strings.Join(texts, "; ")
}
