package report

import (
	"cmp"
	"fmt"
	"html"
	"slices"
	"strings"

	"whichfs/internal/fault/finding"
	"whichfs/internal/fault/picture"
	"whichfs/internal/report/doc"
)

// The picture of a finding: time runs to the right, one column per entry;
// sectors run upwards, in bands of the written areas, because a disk to scale
// would show nothing. Shape and pattern show the fate of a write, and colour
// repeats it.

// Sizes of the picture, in its own units.
const (
	crashColumn  = 15
	crashLeft    = 18
	crashTop     = 34
	crashBand    = 13
	crashBottom  = 38
	crashZoom    = 13 // tenths of a pixel
	crashColumns = 64 // more are folded
	crashBands   = 26 // more share one
)

// crashSVG draws what a cut left of a log. number keeps the patterns of several
// pictures on one page apart.
func crashSVG(f finding.Finding, number int) doc.SVG {
	rows := rowsOf(f)
	shown := drawnRows(rows, f.State.Point)
	if len(shown) == 0 {
		return ""
	}
	bands := bandsOf(shown)
	wide := crashLeft*2 + crashColumn*(len(shown)+1)
	high := crashTop + crashBand*max(bands.n, 1) + crashBottom
	d := &drawing{number: number, bottom: crashTop + crashBand*max(bands.n, 1)}
	d.f(`<svg class="crash" viewBox="0 0 %d %d" style="width:%dpx" role="img" aria-label="%s">`, wide, high, wide*crashZoom/10,
		html.EscapeString("The log and the cut; the table below says the same in words"))
	d.patterns()
	x, cut := crashLeft, false
	for _, part := range shown {
		if !cut && part.row.Entry >= f.State.Point {
			d.cut(x + crashColumn/2)
			x, cut = x+crashColumn, true
		}
		d.entry(x, part, bands)
		x += crashColumn
	}
	if !cut {
		d.cut(x + crashColumn/2)
	}
	d.f(`<text x="%d" y="%d">time →</text></svg>`, crashLeft, high-6)
	return doc.SVG(d.b.String())
}

// drawnRows are the entries that fit: the last ones of those that the text
// shows.
func drawnRows(rows []picture.Row, point int) []folded {
	shown := fold(rows, point, false)
	over := len(shown) - crashColumns
	if over <= 0 {
		return shown
	}
	left := folded{row: shown[0].row}
	for _, part := range shown[:over+1] {
		left.more += max(1, part.more)
	}
	return append([]folded{left}, shown[over+1:]...)
}

// bands are the written areas of the disk, in order.
type bands struct {
	starts []uint64 // first sectors
	n      int
}

func bandsOf(shown []folded) bands {
	var b bands
	for _, part := range shown {
		if part.row.Sectors > 0 && part.more == 0 {
			b.starts = append(b.starts, part.row.Sector)
		}
	}
	slices.Sort(b.starts)
	b.starts = slices.Compact(b.starts)
	b.n = min(len(b.starts), crashBands)
	return b
}

// place is the band of a sector, from 0 at the bottom.
func (b bands) place(sector uint64) int {
	i, _ := slices.BinarySearchFunc(b.starts, sector, cmp.Compare[uint64])
	return i * b.n / max(len(b.starts), 1)
}

type drawing struct {
	b      strings.Builder
	number int
	bottom int
}

func (d *drawing) f(format string, args ...any) { fmt.Fprintf(&d.b, format, args...) }

// patterns draws stripes for data kept by luck, to distinguish it from durable
// data in print and without colour vision.
func (d *drawing) patterns() {
	d.f(`<defs><pattern id="kept-%d" width="4" height="4" patternUnits="userSpaceOnUse" patternTransform="rotate(45)">`+
		`<rect class="k-paper" width="4" height="4"/><rect class="k-ink" width="2" height="4"/></pattern></defs>`, d.number)
}

func (d *drawing) entry(x int, part folded, b bands) {
	r := part.row
	d.f(`<g><title>%s</title>`, html.EscapeString(rowTitle(part)))
	switch {
	case part.more > 0:
		d.f(`<text class="c-mark" x="%d" y="%d">…</text>`, x, d.bottom-2)
	case r.Mark():
		d.f(`<path class="c-mark" d="M%d %dv6"/>`, x+crashColumn/2, d.bottom+2)
		if word, n, ok := strings.Cut(r.What, " "); ok && (strings.HasPrefix(n, "begins") || strings.HasPrefix(n, "has returned")) {
			sign := "▸"
			if strings.HasPrefix(n, "has") {
				sign = "✓"
			}
			d.f(`<text class="c-mark" text-anchor="middle" x="%d" y="%d">%s%s</text>`, x+crashColumn/2, crashTop-8, sign, html.EscapeString(word))
		}
	}
	if r.Flushes() && part.more == 0 {
		class := "c-flush"
		if r.Fate == picture.Unsent {
			class += " c-unsent"
		}
		d.f(`<path class="%s" d="M%d %dV%d"/>`, class, x+1, crashTop-4, d.bottom)
	}
	if r.Sectors > 0 && part.more == 0 {
		d.write(x, d.bottom-crashBand*(b.place(r.Sector)+1)+2, r)
	}
	d.f(`</g>`)
}

// write draws a write as a box that shows its fate.
func (d *drawing) write(x, y int, r picture.Row) {
	const w, h = crashColumn - 4, crashBand - 4
	x += 3
	box := func(class string) { d.f(`<rect class="%s" x="%d" y="%d" width="%d" height="%d"/>`, class, x, y, w, h) }
	switch r.Fate {
	case picture.Durable:
		box("c-durable")
	case picture.Kept:
		d.f(`<rect class="c-kept" fill="url(#kept-%d)" x="%d" y="%d" width="%d" height="%d"/>`, d.number, x, y, w, h)
	case picture.Torn:
		box("c-lost")
		from, to := part(float64(r.First), float64(r.Sectors)), part(float64(r.First+r.Reached), float64(r.Sectors))
		d.f(`<rect class="c-kept" fill="url(#kept-%d)" x="%.1f" y="%d" width="%.1f" height="%d"/>`, d.number, float64(x)+from*w, y, max(1, (to-from)*w), h)
	case picture.Lost:
		box("c-lost")
		d.f(`<path class="c-cross" d="M%d %dl%d %dm0 %dl%d %d"/>`, x, y, w, h, -h, -w, h)
	case picture.None, picture.Unsent:
		box("c-unsent")
	}
	if strings.HasSuffix(r.Kind, "FUA") {
		d.f(`<path class="c-fua" d="M%d %dl4 -5l4 5z"/>`, x+w/2-4, y)
	}
}

func (d *drawing) cut(x int) {
	d.f(`<path class="c-cut" d="M%d %dV%d"/><text class="c-cut" text-anchor="middle" x="%d" y="%d">power cut</text>`, x, crashTop-14, d.bottom+6, x, d.bottom+20)
}

// rowTitle is an entry in words, shown when the pointer is on it.
func rowTitle(part folded) string {
	r := part.row
	if part.more > 0 {
		return strings.TrimSpace(fmt.Sprintf("%d more entries %s", part.more, foldedFate(r)))
	}
	text := fmt.Sprintf("%d: %s", r.Entry, r.Kind)
	if r.Sectors > 0 {
		text += ", sectors " + sectorRange(r)
	}
	if r.What != "" {
		text += ", " + r.What
	}
	switch r.Fate {
	case picture.Torn:
		text += ", " + tornText(r)
	case picture.Durable, picture.Kept, picture.Lost, picture.Unsent:
		text += ", " + r.Fate.String()
	case picture.None:
	}
	return clean(text)
}

// fateSVG draws a write of that fate for the legend.
func fateSVG(f picture.Fate) doc.SVG {
	d := &drawing{number: -int(f)} // the pictures count from 1
	d.f(`<svg class="crash" viewBox="0 0 18 13" aria-hidden="true">`)
	d.patterns()
	d.write(0, 2, picture.Row{Fate: f, Sectors: 8, Reached: 4})
	d.f(`</svg>`)
	return doc.SVG(d.b.String())
}
