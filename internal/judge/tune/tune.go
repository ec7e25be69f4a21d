// Package tune turns the findings of a probe into advice: where partitions
// should begin, which mkfs options follow from the geometry, what to do about
// discards and access times. Its point of view: each piece of advice names the
// finding behind it, and only a run can measure whether it gains anything.
//
// The package only computes; it performs no I/O.
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

// Advice is everything that follows from a probe.
type Advice struct {
	Probe     string              `json:"probe,omitempty"` // its number in the store
	Storage   string              `json:"storage"`
	Identity  string              `json:"identity"`
	Geometry  filesystem.Geometry `json:"geometry"`
	Findings  []string            `json:"findings"` // the findings behind it, each with its certainty
	Partition Partition           `json:"partition"`
	Make      []Make              `json:"make"`
	Mount     []Mount             `json:"mount"`
	Warnings  []string            `json:"warnings,omitempty"`
}

// Partition says where partitions should begin, and where they do begin.
type Partition struct {
	Start  int64   `json:"start"` // B, the first good one
	Step   int64   `json:"step"`  // B; every multiple of it is good
	Reason string  `json:"reason"`
	Today  []Today `json:"today,omitempty"`
}

// Today is a partition at its current place.
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
	// Candidate is the tuned line; "" if no option follows.
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

// safeStep aligns partitions where the segment size is unknown: no card of the
// published surveys had more than 4 MiB (bootlin-2023), and pandora-2012 found
// 8 MiB once.
const safeStep = 4 << 20

// Advise turns a probe of storage, with partitions at places, into advice.
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
			a.Warnings = append(a.Warnings, t.Name+" does not begin on a segment boundary: options that count in segments gain nothing on it until it is moved.")
		}
	}
	if f := r.Find(probe.Rotation); strings.HasPrefix(f.Text, "rotating") && f.Sureness() != "unsure" {
		a.Warnings = append(a.Warnings, "This is a rotating disk: it has no pages or segments, so the options for them do not apply.")
	}
	return a
}

// Geometry holds the findings of a probe that are certain enough to build on.
// Guesses are left out: an option that follows from a wrong segment size is
// worse than none.
func Geometry(r probe.Report) filesystem.Geometry {
	g := filesystem.Geometry{Size: r.Size}
	for key, field := range map[string]*int64{probe.PageSize: &g.Page, probe.SegmentSize: &g.Segment} {
		if f := r.Find(key); f.Known() && f.Sureness() != "unsure" && f.Value >= 512 {
			*field = int64(math.Round(f.Value))
		}
	}
	return g
}

// stands formats a finding the way advice quotes it.
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
		p.Reason = fmt.Sprintf("The storage works in segments of %s. A filesystem that begins inside a segment shares its first segment with its neighbour, and each of its segment-sized writes straddles two.", size(g.Segment))
	default:
		p.Reason = fmt.Sprintf("The segment size is unknown; %s is a multiple of nearly every segment size ever found on cards.", size(safeStep))
	}
	// Partition tables and tools count in MiB.
	p.Start = leastCommonMultiple(p.Step, 1<<20)
	if fat := r.Find(probe.FATArea); fat.Known() && fat.Value > 0 {
		p.Reason += fmt.Sprintf(" The first %s are faster at small writes: the card's original format keeps the FAT there, and a partition that begins later loses that speed.", size(int64(fat.Value)))
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
		t.Text = fmt.Sprintf("begins at %s, %s after the last %s; it is aligned to only %s",
			size(place.Start), size(place.Start%step), what, size(t.To))
	}
	return t
}

func noatime() Mount {
	return Mount{Option: "noatime", Use: "as you like",
		Reason: "Reads then never cause writes. Compared with relatime, the kernel's default, which writes each file's access time about once a day, pandora-2012 measured no gain; a program that relies on access times to find unread mail may miss it."}
}

// dearDiscard, in seconds a GiB: deleting 32 MiB then costs 5 ms more, as much
// as a write to a slow card, and the kernel sends discards while the caller
// waits.
const dearDiscard = 0.16

func discard(r probe.Report) Mount {
	m := Mount{Option: "discard"}
	f := r.Find(probe.DiscardCost)
	switch {
	case !f.Known():
		m.Use, m.Reason = "no", fmt.Sprintf("The cost of a discard here is unknown (%s). A weekly fstrim tells the device the same without delaying other work; where the device cannot discard, it does nothing.", f.Undetermined)
	case f.Text == "unsupported":
		m.Use, m.Reason = "no", "The device does not support discards: neither the option nor fstrim does anything."
	case f.Value > dearDiscard:
		m.Use, m.Reason = "no", fmt.Sprintf("A discard costs %s per GiB and is sent while files are deleted. A weekly fstrim tells the device the same at a time when no program waits.", units.Value(f.Value, "s"))
	default:
		m.Use, m.Reason = "as you like", fmt.Sprintf("A discard costs %s per GiB, which hardly slows deletion. A weekly fstrim works as well.", units.Value(f.Value, "s"))
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
