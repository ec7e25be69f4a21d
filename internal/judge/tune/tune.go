// Package tune turns what a probe found into advice: where partitions should
// begin, which mkfs options follow from the geometry, what to do about
// discards and access times. Its point of view: each piece of advice names the
// finding it stands on, and whether it gains anything is for a run to measure.
//
// The package computes and performs no I/O.
package tune

import (
	"fmt"
	"math"
	"strings"

	"whichfs/internal/filesystem"
	"whichfs/internal/plan/media"
	"whichfs/internal/probe"
	"whichfs/internal/sys/units"
)

// Advice is all that follows from a probe.
type Advice struct {
	Probe     string              `json:"probe,omitempty"` // its number in the store
	Storage   string              `json:"storage"`
	Identity  string              `json:"identity"`
	Geometry  filesystem.Geometry `json:"geometry"`
	Findings  []string            `json:"findings"` // what it stands on, each with its sureness
	Partition Partition           `json:"partition"`
	Make      []Make              `json:"make"`
	Mount     []Mount             `json:"mount"`
	Warnings  []string            `json:"warnings,omitempty"`
}

// Partition is where partitions should begin, and where they do.
type Partition struct {
	Start  int64   `json:"start"` // B, the first good one
	Step   int64   `json:"step"`  // B, every multiple of which is good
	Reason string  `json:"reason"`
	Today  []Today `json:"today,omitempty"`
}

// Today is a partition as it lies.
type Today struct {
	Name    string `json:"name"`
	Start   int64  `json:"start"` // B
	Aligned bool   `json:"aligned"`
	To      int64  `json:"to"` // B, the largest power of two that divides the start; 0 for a start of 0
	Text    string `json:"text"`
}

// Make is one filesystem's mkfs options.
type Make struct {
	Filesystem string `json:"filesystem"`
	// Candidate is the tuned line; "" where no option follows.
	Candidate string `json:"candidate,omitempty"`
	Options   string `json:"options,omitempty"`
	Reason    string `json:"reason"`
}

// Mount is advice about one mount option.
type Mount struct {
	Option string `json:"option"`
	Use    string `json:"use"` // "yes", "no", "as you like"
	Reason string `json:"reason"`
}

// safeStep is what partitions begin on where the segment is not known: no card
// of the published surveys had more than 4 MiB (bootlin-2023), and pandora-2012
// met 8 MiB once.
const safeStep = 4 << 20

// Advise turns a probe of storage whose partitions lie at places into advice.
func Advise(r probe.Report, places []media.Place) Advice {
	a := Advice{Storage: r.Storage, Identity: r.Identity, Geometry: Geometry(r)}
	for _, key := range []string{probe.PageSize, probe.SegmentSize, probe.OpenLinear, probe.OpenRandom, probe.FATArea, probe.DiscardCost, probe.Rotation} {
		if f := r.Find(key); f.Key != "" {
			a.Findings = append(a.Findings, stands(f))
		}
	}
	a.Partition = partition(r, a.Geometry, places)
	for _, fs := range filesystem.All {
		if fs.ReadOnly || fs.Raw { // a probe is of a block device
			continue
		}
		t := fs.Tuned(a.Geometry)
		m := Make{Filesystem: fs.Name, Reason: t.Reason}
		if len(t.Words) > 0 {
			m.Options = strings.Join(t.Words, " ")
			m.Candidate = fs.Name + " " + m.Options
		}
		a.Make = append(a.Make, m)
	}
	a.Mount = []Mount{noatime(), discard(r)}
	for _, t := range a.Partition.Today {
		if !t.Aligned && a.Geometry.Segment > 0 {
			a.Warnings = append(a.Warnings, t.Name+" does not begin on a segment: options that count in segments do nothing good on it before it is moved.")
		}
	}
	if f := r.Find(probe.Rotation); strings.HasPrefix(f.Text, "rotating") && f.Sureness() != "unsure" {
		a.Warnings = append(a.Warnings, "This is a rotating disk: it has no pages and segments, and none of the options for them.")
	}
	return a
}

// Geometry is what a probe is sure enough of to build on. Findings that are
// only a guess are left out: an option that follows from a wrong segment size
// is worse than none.
func Geometry(r probe.Report) filesystem.Geometry {
	g := filesystem.Geometry{Size: r.Size}
	for key, field := range map[string]*int64{probe.PageSize: &g.Page, probe.SegmentSize: &g.Segment} {
		if f := r.Find(key); f.Known() && f.Sureness() != "unsure" && f.Value >= 512 {
			*field = int64(math.Round(f.Value))
		}
	}
	return g
}

// stands names a finding as advice quotes it.
func stands(f probe.Finding) string {
	switch {
	case !f.Known():
		return fmt.Sprintf("%s: cannot be determined (%s)", f.Name, f.Undetermined)
	case f.Text != "":
		return fmt.Sprintf("%s: %s (%s)", f.Name, f.Text, f.Sureness())
	case f.Unit == "1":
		return fmt.Sprintf("%s: %.0f (%s)", f.Name, f.Value, f.Sureness())
	case f.Unit == "B" && f.Value == 0:
		return fmt.Sprintf("%s: none (%s)", f.Name, f.Sureness())
	case f.Unit == "B":
		return fmt.Sprintf("%s: %s (%s)", f.Name, units.Size(int64(math.Round(f.Value))), f.Sureness())
	}
	return fmt.Sprintf("%s: %s (%s)", f.Name, units.Value(f.Value, f.Unit), f.Sureness())
}

func partition(r probe.Report, g filesystem.Geometry, places []media.Place) Partition {
	p := Partition{Step: safeStep}
	switch {
	case g.Segment > 0:
		p.Step = g.Segment
		p.Reason = fmt.Sprintf("The storage works in segments of %s. A filesystem that begins inside one shares its first and every further segment with its neighbour, and what it writes at once lies in two.", size(g.Segment))
	default:
		p.Reason = fmt.Sprintf("The segment size is not known; %s is a multiple of nearly every one that was ever found on cards.", size(safeStep))
	}
	// Partition tables and tools count in MiB.
	p.Start = leastCommonMultiple(p.Step, 1<<20)
	if fat := r.Find(probe.FATArea); fat.Known() && fat.Value > 0 {
		p.Reason += fmt.Sprintf(" The first %s are faster at small writes: the card's own format keeps the FAT there, and a partition that begins later gives that up.", size(int64(fat.Value)))
	}
	for _, place := range places {
		p.Today = append(p.Today, today(place, p.Step, g.Segment > 0))
	}
	return p
}

func today(place media.Place, step int64, known bool) Today {
	t := Today{Name: place.Name, Start: place.Start, Aligned: place.Start%step == 0, To: place.Start & -place.Start}
	what := "segment"
	if !known {
		what = "multiple of " + size(step)
	}
	switch {
	case t.Aligned:
		t.Text = fmt.Sprintf("begins at %s, on a %s", size(place.Start), what)
	default:
		t.Text = fmt.Sprintf("begins at %s, %s after the last %s; it is aligned to %s and no more",
			size(place.Start), size(place.Start%step), what, size(t.To))
	}
	return t
}

func noatime() Mount {
	return Mount{Option: "noatime", Use: "as you like",
		Reason: "Reading then never writes. Over relatime, the kernel's default, which writes an access time about once a day and file, pandora-2012 found nothing that could be measured; a program that looks for unread mail may miss it."}
}

// dearDiscard, in seconds a GiB: deleting 32 MiB then costs 5 ms more, as much
// as a write to a slow card, and the kernel sends discards while somebody waits.
const dearDiscard = 0.16

func discard(r probe.Report) Mount {
	m := Mount{Option: "discard"}
	f := r.Find(probe.DiscardCost)
	switch {
	case !f.Known():
		m.Use, m.Reason = "no", fmt.Sprintf("What a discard costs here is not known (%s). A weekly fstrim tells the device the same and delays nobody; where the device cannot discard, it does nothing.", f.Undetermined)
	case f.Text == "unsupported":
		m.Use, m.Reason = "no", "The device does not take discards: neither the option nor fstrim does anything."
	case f.Value > dearDiscard:
		m.Use, m.Reason = "no", fmt.Sprintf("A discard costs %s a GiB and is sent while files are deleted. A weekly fstrim tells the device the same when nobody waits.", units.Value(f.Value, "s"))
	default:
		m.Use, m.Reason = "as you like", fmt.Sprintf("A discard costs %s a GiB, which deleting hardly feels. A weekly fstrim does as well.", units.Value(f.Value, "s"))
	}
	return m
}

func size(n int64) string { return units.Size(n) }

func leastCommonMultiple(a, b int64) int64 {
	x, y := a, b
	for y != 0 {
		x, y = y, x%y
	}
	return a / x * b
}
