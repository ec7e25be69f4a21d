package report

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgsvg"

	"whichfs/internal/judge/verdict"
	"whichfs/internal/report/doc"
	"whichfs/internal/sys/units"
)

// Charts of many lines. Each line has its number at its end, and its own mark,
// dash and colour; the legend uses the number.

// marks are the shapes of points, by the number of the line.
var marks = []draw.GlyphDrawer{
	draw.CircleGlyph{}, draw.BoxGlyph{}, draw.PyramidGlyph{}, draw.RingGlyph{},
	draw.SquareGlyph{}, draw.TriangleGlyph{}, draw.CrossGlyph{}, draw.PlusGlyph{},
}

const (
	linesWidth, linesHeight   = 420, 250 // pt
	sampleWidth, sampleHeight = 40, 10   // pt
	markRadius                = 2.6      // pt
	linesFont                 = 11       // pt: a phone shows the whole chart at reduced size
	// logFrom is the ratio of the largest to the smallest figure from which the
	// axis is logarithmic.
	logFrom = 20
)

func lineLook(number int) (draw.LineStyle, draw.GlyphStyle) {
	c := lineStandIn[number%len(lineStandIn)]
	return draw.LineStyle{Color: c, Width: 1.4, Dashes: dashes[number%len(dashes)]},
		draw.GlyphStyle{Color: c, Radius: markRadius, Shape: marks[number%len(marks)]}
}

// linesSVG draws a curve; names give the numbers of its lines, of which there is one for each of
// something. A curve without points yields nothing.
func linesSVG(c verdict.Curve, names []string, each string) (doc.SVG, error) {
	p := plot.New()
	p.BackgroundColor = nil
	p.X.Label.Text = c.Axis
	f := frameOf(c)
	if !f.any {
		return "", nil
	}
	p.X.Min, p.X.Max, p.Y.Min, p.Y.Max = f.lowX, f.highX, f.lowY, f.highY
	style(&p.X, f.logX, c.AxisUnit)
	style(&p.Y, f.logY, c.Unit)
	for _, f := range []*font.Font{&p.X.Label.TextStyle.Font, &p.X.Tick.Label.Font, &p.Y.Tick.Label.Font} {
		f.Size = linesFont
	}
	if !f.logY {
		p.Y.Tick.Marker = evenTicks{c.Unit}
	}
	p.X.Tick.Marker = pointTicks{pointsOf(c), c.AxisUnit, f.logX}
	p.Add(faintGrid())
	var ends endLabels
	for _, l := range c.Lines {
		number := slices.Index(names, l.Candidate)
		points := finite(l)
		if len(points) == 0 || number < 0 {
			continue
		}
		if err := addNumbered(p, number, points, f); err != nil {
			return "", fmt.Errorf("%s: %w", c.Name, err)
		}
		last := points[len(points)-1]
		ends = append(ends, endLabel{last.Value, last.Estimate.Value, number})
	}
	p.Add(ends)
	canvas := vgsvg.New(linesWidth, linesHeight)
	p.Draw(draw.New(canvas))
	words := fmt.Sprintf("%s by %s, one line per %s; the table below has the figures", c.Label(), c.Axis, each)
	out, err := themed(canvas, "curve lines", words, linesWidth, linesHeight)
	// The style sheet sets it for all of them.
	return doc.SVG(strings.ReplaceAll(string(out), "font-family:Liberation Sans;font-variant:normal;font-weight:normal;font-style:normal;", "")), err
}

// finite returns the points of a line that can be drawn.
func finite(l verdict.CurveLine) []verdict.CurvePoint {
	return slices.DeleteFunc(slices.Clone(l.Points), func(q verdict.CurvePoint) bool {
		sum := q.Value + q.Estimate.Value
		return q.Absent != "" || math.IsNaN(sum) || math.IsInf(sum, 0)
	})
}

// frame is the drawing area of a curve.
type frame struct {
	lowX, highX, lowY, highY float64
	logX, logY, any          bool
}

// frameOf puts sizes that lie far apart on a logarithmic axis, and figures too;
// a linear axis of figures begins at zero.
func frameOf(c verdict.Curve) frame {
	f := frame{lowX: math.Inf(1), lowY: math.Inf(1), highX: math.Inf(-1), highY: math.Inf(-1)}
	for _, l := range c.Lines {
		for _, q := range finite(l) {
			f.any = true
			f.lowX, f.highX = min(f.lowX, q.Value), max(f.highX, q.Value)
			f.lowY, f.highY = min(f.lowY, q.Estimate.Value), max(f.highY, q.Estimate.Value)
		}
	}
	if !f.any {
		return f
	}
	f.logX = f.lowX > 0 && f.highX >= 4*f.lowX && c.AxisUnit == "B"
	f.logY = f.lowY > 0 && f.highY >= logFrom*f.lowY
	if f.logY {
		f.lowY, f.highY = f.lowY/1.3, f.highY*1.3
	} else {
		f.lowY, f.highY = min(f.lowY, 0), f.highY*1.06
	}
	if f.highX == f.lowX {
		f.highX = f.lowX + 1
	}
	if f.highY <= f.lowY {
		f.highY = f.lowY + 1
	}
	return f
}

// addNumbered adds a line with its marks and intervals.
func addNumbered(p *plot.Plot, number int, points []verdict.CurvePoint, f frame) error {
	xys := make(plotter.XYs, len(points))
	for i, q := range points {
		xys[i] = plotter.XY{X: q.Value, Y: q.Estimate.Value}
	}
	line, dots, err := plotter.NewLinePoints(xys)
	if err != nil {
		return err
	}
	line.LineStyle, dots.GlyphStyle = lineLook(number)
	p.Add(line)
	if len(points) > mostMarks {
		return nil
	}
	p.Add(dots)
	for _, q := range points {
		low, high := max(q.Estimate.Low, f.lowY), min(q.Estimate.High, f.highY)
		if q.Estimate.Single || !(low < high) {
			continue
		}
		bar, err := plotter.NewLine(plotter.XYs{{X: q.Value, Y: low}, {X: q.Value, Y: high}})
		if err != nil {
			return err
		}
		bar.Color, bar.Width = line.Color, 0.8
		p.Add(bar)
	}
	return nil
}

// lineSample draws the legend's sample of a line.
func lineSample(number int) (doc.SVG, error) {
	canvas := vgsvg.New(sampleWidth, sampleHeight)
	c := draw.New(canvas)
	line, mark := lineLook(number)
	c.StrokeLine2(line, 1, sampleHeight/2, sampleWidth-1, sampleHeight/2)
	c.DrawGlyph(mark, vg.Point{X: sampleWidth / 2, Y: sampleHeight / 2})
	return themed(canvas, "key-line", "", sampleWidth, sampleHeight)
}

// endLabels are the numbers of lines, to the right of their last points.
type endLabels []endLabel

type endLabel struct {
	x, y   float64
	number int
}

const (
	labelGap  = 10 // pt between the numbers of lines that end close together
	labelRoom = 27 // pt of their width beside the plot
)

// Plot implements plot.Plotter.
func (e endLabels) Plot(c draw.Canvas, p *plot.Plot) {
	trX, trY := p.Transforms(&c)
	type placed struct {
		x, y, at vg.Length
		endLabel
	}
	var all []placed
	for _, l := range e {
		all = append(all, placed{trX(l.x), trY(l.y), trY(l.y), l})
	}
	slices.SortStableFunc(all, func(a, b placed) int { return cmp.Compare(a.y, b.y) })
	// Labels that end at the same place are pushed apart: first upwards, then down
	// from the top.
	for i := 1; i < len(all); i++ {
		if all[i].x == all[i-1].x {
			all[i].at = max(all[i].at, all[i-1].at+labelGap)
		}
	}
	const half = linesFont / 2.5 // of a number's height, so that the topmost stays within the picture
	top := c.Max.Y - half
	for i := len(all) - 1; i >= 0; i-- {
		if i+1 < len(all) && all[i].x == all[i+1].x {
			top = min(top, all[i+1].at-labelGap)
		} else {
			top = c.Max.Y - half
		}
		all[i].at = min(all[i].at, top)
	}
	for _, l := range all {
		style := draw.TextStyle{Color: lineStandIn[l.number%len(lineStandIn)], Font: font.Font{Typeface: "Liberation", Variant: "Sans", Size: linesFont}, YAlign: draw.YCenter, Handler: plot.DefaultTextHandler}
		c.StrokeLine2(draw.LineStyle{Color: softStandIn, Width: 0.5}, l.x+markRadius+1, l.y, l.x+10, l.at)
		c.FillText(style, vg.Point{X: l.x + 12, Y: l.at}, fmt.Sprint(l.number+1))
	}
}

// GlyphBoxes implements plot.GlyphBoxer: the numbers need room beside the plot.
func (e endLabels) GlyphBoxes(*plot.Plot) []plot.GlyphBox {
	if len(e) == 0 {
		return nil
	}
	return []plot.GlyphBox{{X: 1, Y: 0.5, Rectangle: vg.Rectangle{Max: vg.Point{X: labelRoom, Y: 1}}}}
}

// pointTicks puts ticks at the points of an axis, labelled where there is room.
type pointTicks struct {
	at   []float64
	unit string
	log  bool
}

// Ticks implements plot.Ticker.
func (t pointTicks) Ticks(low, high float64) []plot.Tick {
	place := func(x float64) float64 {
		if t.log {
			return math.Log(x/low) / math.Log(high/low)
		}
		return (x - low) / (high - low)
	}
	var out []plot.Tick
	const room = 0.14 // of the axis, for a label
	last := math.Inf(-1)
	for _, x := range t.at {
		if !(x >= low && x <= high) {
			continue
		}
		tick := plot.Tick{Value: x}
		if at := place(x); at-last >= room {
			tick.Label, last = verdict.AxisValue(x, t.unit), at
			if t.unit == "" { // a place in a list
				tick.Label = units.Value(x, "1")
			}
		}
		out = append(out, tick)
	}
	return out
}

// evenTicks puts about five ticks at 1, 2 or 5 times a power of ten of the
// printed unit.
type evenTicks struct{ unit string }

// Ticks implements plot.Ticker.
func (t evenTicks) Ticks(low, high float64) []plot.Tick {
	const about = 5
	base := 1.0
	if t.unit == "B" { // of the power of 1024 below the top
		base = math.Pow(1024, math.Max(0, math.Floor(math.Log2(high)/10)))
	}
	rough := (high - low) / base / about
	power := math.Pow(10, math.Floor(math.Log10(rough)))
	step := 10 * power
	for _, k := range []float64{1, 2, 5} {
		if k*power >= rough*0.8 {
			step = k * power
			break
		}
	}
	var out []plot.Tick
	for k := math.Ceil(low / base / step); k*step*base <= high; k++ {
		out = append(out, plot.Tick{Value: k * step * base, Label: tickLabel(k*step*base, t.unit)})
	}
	return out
}
