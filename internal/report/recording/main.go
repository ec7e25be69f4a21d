// Command recording draws as SVG, for the README, what a program has shown in a terminal that script(1) recorded:
// scripts/recording calls it. The picture moves as the terminal did, only faster, and ends with what was shown last;
// where nothing may move, it is that alone. What a pattern matches is replaced by a word: the name of a run, for
// instance.
//
//	go run ./internal/report/recording [-columns 100] [-shown COMMAND] [-replace PATTERN=WORD] OUT.svg TYPESCRIPT TIMES
package main

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"html"
	"image/color"
	"io"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"

	uv "github.com/charmbracelet/ultraviolet"
	"github.com/charmbracelet/x/ansi"
	"github.com/charmbracelet/x/vt"
)

// most is how many lines a recording has at most.
const most = 60

// The picture moves for so many seconds, in so many steps at most; at first it shows the command alone.
const (
	duration = 15.0
	steps    = 75
	lead     = 3 // steps
)

func main() {
	columns := flag.Int("columns", 100, "width of the terminal")
	shown := flag.String("shown", "", "the command to show above")
	replace := flag.String("replace", "", "PATTERN=WORD: what to replace in the picture")
	flag.Parse()
	if flag.NArg() != 3 {
		fmt.Fprintln(os.Stderr, "usage: recording [flags] OUT.svg TYPESCRIPT TIMES")
		os.Exit(2)
	}
	if err := record(*columns, *shown, *replace, flag.Arg(0), flag.Arg(1), flag.Arg(2)); err != nil {
		fmt.Fprintln(os.Stderr, "recording:", err)
		os.Exit(1)
	}
}

func record(columns int, shown, replace, out, typescript, times string) error {
	pattern, word, _ := strings.Cut(replace, "=")
	changing, err := regexp.Compile(pattern)
	if err != nil {
		return err
	}
	parts, err := read(typescript, times)
	if err != nil {
		return err
	}
	screen := vt.NewEmulator(columns, most)
	defer screen.Close()                               //nolint:errcheck // nothing is behind it
	go func() { _, _ = io.Copy(io.Discard, screen) }() // what a terminal answers
	var all []frame
	add := func(text []byte) error {
		if pattern != "" {
			text = changing.ReplaceAll(text, []byte(word))
		}
		_, err := screen.Write(text)
		all = append(all, drawLines(screen))
		return err
	}
	if err := add([]byte("\x1b[1m$ " + shown + "\x1b[0m\r\n\r\n")); err != nil {
		return err
	}
	for range lead - 1 {
		all = append(all, all[0])
	}
	for _, text := range parts {
		if err := add(text); err != nil {
			return err
		}
	}
	return os.WriteFile(out, []byte(draw(screen.Width(), all, shown)), 0o644)
}

// read is what a program showed during each step.
func read(typescript, times string) ([][]byte, error) {
	text, err := os.ReadFile(typescript)
	if err != nil {
		return nil, err
	}
	_, text, _ = bytes.Cut(text, []byte{'\n'}) // the first line is of script
	timing, err := os.ReadFile(times)
	if err != nil {
		return nil, err
	}
	type piece struct {
		at   float64
		size int
	}
	var pieces []piece
	at := 0.0
	for line := range strings.Lines(string(timing)) {
		var delay float64
		var size int
		if _, err := fmt.Sscan(line, &delay, &size); err != nil || size < 0 {
			return nil, fmt.Errorf("%s: %q is not a delay and a number of bytes", times, line)
		}
		at += delay
		pieces = append(pieces, piece{at, size})
	}
	parts := make([][]byte, steps-lead)
	for _, p := range pieces {
		if p.size > len(text) {
			return nil, errors.New(typescript + " is shorter than its times say")
		}
		step := min(int(p.at/at*float64(len(parts))), len(parts)-1)
		parts[step] = append(parts[step], text[:p.size]...)
		text = text[p.size:]
	}
	return parts, nil
}

// frame is what a terminal shows, line by line.
type frame [most]string

func drawLines(screen *vt.Emulator) (f frame) {
	for y := range most {
		f[y] = drawLine(screen, y)
	}
	return f
}

// Sizes of a character, in pixels, and the colours of the picture: the terminal's sixteen as a dark theme has them.
const (
	wide, high, margin = 8.4, 18.0, 14.0
	background         = "#1b1f24"
	foreground         = "#d0d7de"
	faint              = "#8b949e"
)

var sixteen = []string{"#484f58", "#ff7b72", "#3fb950", "#d29922", "#58a6ff", "#bc8cff", "#39c5cf", "#b1bac4"}

// span are the steps during which a line is shown.
type span struct{ from, to int }

// name is that of the span's class; "" if the line is always shown.
func (s span) name(last int) string {
	switch {
	case s.from == 0 && s.to == last:
		return ""
	case s.to == last:
		return fmt.Sprintf("e%d", s.from)
	}
	return fmt.Sprintf("s%d-%d", s.from, s.to)
}

// style shows lines of the span during it. Without movement those of the end are shown, and no others.
func (s span) style(last int) string {
	name, at := s.name(last), func(step int) float64 { return float64(step) * 100 / float64(last) }
	rule, still := fmt.Sprintf("%.4g%%{visibility:visible}", at(s.from)), ""
	if s.from > 0 {
		rule = "0%{visibility:hidden}" + rule
	}
	if s.to < last {
		rule += fmt.Sprintf("%.4g%%,to{visibility:hidden}", at(s.to))
		still = fmt.Sprintf(".%s{visibility:hidden}\n", name)
	}
	return fmt.Sprintf("%s@keyframes %s{%s}\n@media(prefers-reduced-motion:no-preference){.%s{animation:%s %gs step-end both}}\n", still, name, rule, name, name, duration)
}

// draw is a picture that shows one frame after the other.
func draw(columns int, all []frame, title string) string {
	var b strings.Builder
	spans, bottom := map[span]bool{}, 0
	for y := range most {
		for from := 0; from < len(all); {
			to := from + 1
			for to < len(all) && all[to][y] == all[from][y] {
				to++
			}
			if line := all[from][y]; line != "" {
				s := span{from, to}
				if name := s.name(len(all)); name != "" {
					spans[s] = true
					line = fmt.Sprintf("<g class=\"%s\">\n%s</g>\n", name, line)
				}
				b.WriteString(line)
				bottom = y
			}
			from = to
		}
	}
	var css strings.Builder
	for _, s := range slices.SortedFunc(maps.Keys(spans), func(a, b span) int { return slices.Compare([]int{a.from, a.to}, []int{b.from, b.to}) }) {
		css.WriteString(s.style(len(all)))
	}
	w, h := float64(columns)*wide+2*margin, float64(bottom+1)*high+2*margin
	return fmt.Sprintf(`<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %.0f %.0f" role="img" aria-label="%s">
<style>
%s</style>
<rect width="100%%" height="100%%" rx="6" fill="%s"/>
<g font-family="ui-monospace, 'DejaVu Sans Mono', Menlo, Consolas, monospace" font-size="14" fill="%s">
%s</g>
</svg>
`, w, h, html.EscapeString("A terminal in which "+title+" runs"), css.String(), background, foreground, b.String())
}

// drawLine draws runs of characters of one style; every run has its own place, so that no font shifts the next.
func drawLine(screen *vt.Emulator, y int) string {
	var b strings.Builder
	for x := 0; x < screen.Width(); {
		cell := screen.CellAt(x, y)
		if cell == nil || cell.Content == "" || cell.Content == " " {
			x++
			continue
		}
		from, style := x, cell.Style
		var text strings.Builder
		for x < screen.Width() {
			cell = screen.CellAt(x, y)
			if cell == nil || cell.Content == "" || !cell.Style.Equal(&style) {
				break
			}
			if strings.HasSuffix(text.String(), " ") && cell.Content == " " { // browsers draw several as one
				break
			}
			text.WriteString(cell.Content)
			x += max(1, cell.Width)
		}
		content := strings.TrimRight(text.String(), " ")
		fmt.Fprintf(&b, `<text x="%.1f" y="%.1f" textLength="%.1f"%s>%s</text>`+"\n", margin+float64(from)*wide, margin+(float64(y)+0.75)*high,
			float64(len([]rune(content)))*wide, look(style), html.EscapeString(content))
	}
	return b.String()
}

// look is a style's attributes.
func look(s uv.Style) string {
	out := ""
	if s.Attrs&uv.AttrBold != 0 {
		out += ` font-weight="bold"`
	}
	switch fill := paint(s.Fg); {
	case s.Attrs&uv.AttrFaint != 0:
		out += fmt.Sprintf(` fill="%s"`, faint)
	case fill != "":
		out += fmt.Sprintf(` fill="%s"`, fill)
	}
	return out
}

// paint is a colour of the theme; "" for the usual one.
func paint(c color.Color) string {
	switch c := c.(type) {
	case nil:
		return ""
	case ansi.BasicColor:
		return sixteen[c%8]
	}
	r, g, b, _ := c.RGBA()
	return fmt.Sprintf("#%02x%02x%02x", r>>8, g>>8, b>>8)
}
