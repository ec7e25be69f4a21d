package report

import (
	"bytes"
	"fmt"
	"html"
	"image/color"
	"math"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgsvg"

	"whichfs/internal/probe"
	"whichfs/internal/report/doc"
	"whichfs/internal/sys/units"
)

// The plotting library draws curves as SVG with fixed colours. Each drawn
// colour is a stand-in, replaced by one of the page's own, which follow the
// light and dark themes.
var (
	inkStandIn  = color.RGBA{1, 2, 3, 255}
	softStandIn = color.RGBA{4, 5, 6, 255}
	markStandIn = color.RGBA{7, 8, 9, 255}
	lineStandIn = []color.RGBA{
		{10, 11, 12, 255}, {13, 14, 15, 255}, {16, 17, 18, 255}, {19, 20, 21, 255},
		{22, 23, 24, 255}, {25, 26, 27, 255}, {28, 29, 30, 255}, {31, 32, 33, 255},
	}

	pageColours = map[color.RGBA]string{
		inkStandIn: "var(--ink)", softStandIn: "var(--rule)", markStandIn: "var(--bad)",
		lineStandIn[0]: "var(--bar-best)", lineStandIn[1]: "var(--no)", lineStandIn[2]: "var(--yes)", lineStandIn[3]: "var(--soft)",
		lineStandIn[4]: "var(--bad)", lineStandIn[5]: "var(--violet)", lineStandIn[6]: "var(--ink)", lineStandIn[7]: "var(--earth)",
	}
	// Lines also differ in their dashes: colour is never the only cue.
	dashes = [][]vg.Length{nil, {6, 3}, {2, 2}, {8, 2, 2, 2}, {10, 4}, {4, 2, 1, 2, 1, 2}}
)

const (
	curveWidth, curveHeight = 400, 240 // pt
	mostMarks               = 40       // the most points of a line that get marks
)

// curveSVG draws a curve for the page.
func curveSVG(c probe.Curve) (doc.SVG, error) {
	p := plot.New()
	p.BackgroundColor = nil // the page's own
	p.X.Label.Text, p.Y.Label.Text = c.XName, c.YName
	lowX, highX, lowY, highY := bounds(c)
	if math.IsInf(lowX, 0) || math.IsInf(lowY, 0) {
		return "", nil // no points
	}
	p.X.Min, p.X.Max, p.Y.Min, p.Y.Max = lowX, highX, lowY, highY
	style(&p.X, c.LogX && lowX > 0, c.XUnit)
	style(&p.Y, c.LogY && lowY > 0, c.YUnit)
	p.Add(faintGrid())
	for i, l := range c.Lines {
		if err := addLine(p, i, l, len(c.Lines) > 1); err != nil {
			return "", fmt.Errorf("curve %s: %w", c.Key, err)
		}
	}
	if c.Mark > 0 && c.Mark >= lowX && c.Mark <= highX {
		mark, err := plotter.NewLine(plotter.XYs{{X: c.Mark, Y: lowY}, {X: c.Mark, Y: highY}})
		if err != nil {
			return "", fmt.Errorf("curve %s: %w", c.Key, err)
		}
		mark.Color, mark.Width, mark.Dashes = markStandIn, 1.2, []vg.Length{3, 3}
		p.Add(mark)
	}
	p.Legend.TextStyle.Color, p.Legend.Top = inkStandIn, true
	p.Legend.TextStyle.Font.Size, p.Legend.TextStyle.Font.Variant = 9, "Sans"
	p.Legend.Padding, p.Legend.ThumbnailWidth = 2, 22
	canvas := vgsvg.New(curveWidth, curveHeight)
	p.Draw(draw.New(canvas))
	out, err := themed(canvas, "curve", c.Title, curveWidth, curveHeight)
	if err != nil {
		return "", fmt.Errorf("curve %s: %w", c.Key, err)
	}
	return out, nil
}

func faintGrid() *plotter.Grid {
	grid := plotter.NewGrid()
	grid.Vertical.Color, grid.Horizontal.Color = softStandIn, softStandIn
	grid.Vertical.Width, grid.Horizontal.Width = 0.4, 0.4
	return grid
}

func addLine(p *plot.Plot, i int, l probe.Line, named bool) error {
	var points plotter.XYs
	for _, q := range l.Points {
		if !math.IsNaN(q.X+q.Y) && !math.IsInf(q.X+q.Y, 0) {
			points = append(points, plotter.XY{X: q.X, Y: q.Y})
		}
	}
	if len(points) == 0 {
		return nil
	}
	line, marks, err := plotter.NewLinePoints(points)
	if err != nil {
		return err
	}
	n := i % len(lineStandIn)
	line.Color, line.Width, line.Dashes = lineStandIn[n], 1.5, dashes[i%len(dashes)]
	marks.Color, marks.Radius, marks.Shape = lineStandIn[n], 1.8, draw.CircleGlyph{}
	p.Add(line)
	if len(points) <= mostMarks {
		p.Add(marks)
	}
	if named {
		p.Legend.Add(clean(l.Name), line)
	}
	return nil
}

// bounds of all points; a linear axis begins at zero unless it shows places on
// the device.
func bounds(c probe.Curve) (lowX, highX, lowY, highY float64) {
	lowX, lowY, highX, highY = math.Inf(1), math.Inf(1), math.Inf(-1), math.Inf(-1)
	for _, l := range c.Lines {
		for _, q := range l.Points {
			if math.IsNaN(q.X+q.Y) || math.IsInf(q.X+q.Y, 0) {
				continue
			}
			lowX, highX = min(lowX, q.X), max(highX, q.X)
			lowY, highY = min(lowY, q.Y), max(highY, q.Y)
		}
	}
	// Room for the legend, if there is one.
	head, factor := 1.08, 1.0
	if len(c.Lines) > 1 {
		head, factor = 1.25, 1.8
	}
	if c.LogY {
		highY *= factor
	} else {
		lowY, highY = min(lowY, 0), highY*head
	}
	if highX == lowX {
		highX = lowX + 1
	}
	if highY == lowY {
		highY = lowY + 1
	}
	return lowX, highX, lowY, highY
}

func style(a *plot.Axis, log bool, unit string) {
	a.Color, a.Label.TextStyle.Color, a.Tick.Color, a.Tick.Label.Color = inkStandIn, inkStandIn, inkStandIn, inkStandIn
	a.Label.TextStyle.Font.Size, a.Tick.Label.Font.Size = 10, 9
	for _, f := range []*font.Font{&a.Label.TextStyle.Font, &a.Tick.Label.Font} {
		f.Variant = "Sans"
	}
	a.Width, a.Tick.Width = 0.6, 0.6
	if log {
		a.Scale = plot.LogScale{}
	}
	a.Tick.Marker = ticker{log: log, unit: unit}
}

// ticker labels an axis in the units that the rest of the report uses.
type ticker struct {
	log  bool
	unit string
}

// mostTicks is the number of labels that fit on an axis.
const mostTicks = 7

// Ticks implements plot.Ticker.
func (t ticker) Ticks(low, high float64) []plot.Tick {
	var at []float64
	switch {
	case t.log && t.unit == "B":
		first, last := math.Ceil(math.Log2(low)-1e-9), math.Floor(math.Log2(high)+1e-9)
		step := max(1, math.Ceil((last-first+1)/mostTicks))
		for e := first; e <= last; e += step {
			at = append(at, math.Exp2(e))
		}
	case t.log:
		at = decades(low, high)
	case t.unit == "B":
		step := math.Exp2(math.Ceil(math.Log2((high - low) / (mostTicks - 1))))
		for x := math.Ceil(low/step) * step; x <= high; x += step {
			at = append(at, x)
		}
	default:
		for _, tick := range (plot.DefaultTicks{}).Ticks(low, high) {
			if tick.Label != "" {
				at = append(at, tick.Value)
			}
		}
	}
	ticks := make([]plot.Tick, len(at))
	for i, x := range at {
		ticks[i] = plot.Tick{Value: x, Label: tickLabel(x, t.unit)}
	}
	return ticks
}

// decades are 1, 2 and 5 times each power of ten, thinned out to fit.
func decades(low, high float64) []float64 {
	for _, digits := range [][]float64{{1, 2, 5}, {1, 3}, {1}} {
		var at []float64
		for e := math.Floor(math.Log10(low)); e <= math.Ceil(math.Log10(high)); e++ {
			for _, d := range digits {
				if x := d * math.Pow(10, e); x >= low*0.999 && x <= high*1.001 {
					at = append(at, x)
				}
			}
		}
		if len(at) <= mostTicks || len(digits) == 1 {
			return at
		}
	}
	return nil
}

// tickLabel drops the trailing zeros of a value with three digits.
func tickLabel(x float64, unit string) string {
	label := rate(units.Value(x, unit))
	number, name, _ := strings.Cut(label, " ")
	if strings.Contains(number, ".") {
		number = strings.TrimRight(strings.TrimRight(number, "0"), ".")
	}
	if x == 0 {
		number, name = "0", ""
	}
	if strings.HasPrefix(name, "/") {
		return number + name
	}
	return strings.TrimSpace(number + " " + name)
}

// rate writes "100 1/s" as "100 /s".
func rate(label string) string { return strings.Replace(label, " 1/s", " /s", 1) }

// themed strips the drawing's header, and adds the page's colours and a text
// alternative; without text the drawing is hidden from screen readers.
func themed(canvas *vgsvg.Canvas, class, words string, width, height int) (doc.SVG, error) {
	var b bytes.Buffer
	if _, err := canvas.WriteTo(&b); err != nil {
		return "", err
	}
	svg := b.String()
	if i := strings.Index(svg, "<svg"); i >= 0 {
		svg = svg[i:]
	}
	role := `aria-hidden="true"`
	if words != "" {
		role = fmt.Sprintf(`role="img" aria-label="%s"`, html.EscapeString(clean(words)))
	}
	if i := strings.IndexByte(svg, '>'); i >= 0 {
		svg = fmt.Sprintf(`<svg class="%s" %s viewBox="0 0 %d %d" xmlns="http://www.w3.org/2000/svg">`, class, role, width, height) + svg[i+1:]
	}
	for from, to := range pageColours {
		svg = strings.ReplaceAll(svg, fmt.Sprintf("#%02X%02X%02X", from.R, from.G, from.B), to)
	}
	return doc.SVG(svg), nil
}
