// Command recording runs a program, gives what it prints to a terminal, and draws what that shows as SVG, for the
// README: scripts/recording calls it. What a pattern matches is replaced by a word, so that a name that
// changes with every run does not change the picture.
//
//	go run ./internal/report/recording [-columns 100] [-shown COMMAND] [-replace PATTERN=WORD] OUT.svg PROGRAM [ARGUMENT …]
package main

import (
	"context"
	"flag"
	"fmt"
	"html"
	"image/color"
	"os"
	"regexp"
	"strings"

	uv "github.com/charmbracelet/ultraviolet"
	"github.com/charmbracelet/x/ansi"
	"github.com/charmbracelet/x/vt"

	"whichfs/internal/sys/command"
)

// most is how many lines a recording has at most.
const most = 60

func main() {
	columns := flag.Int("columns", 100, "width of the terminal")
	shown := flag.String("shown", "", "the command to show above, in place of the one that runs")
	replace := flag.String("replace", "", "PATTERN=WORD: what to replace in the picture")
	flag.Parse()
	if flag.NArg() < 2 {
		fmt.Fprintln(os.Stderr, "usage: recording [flags] OUT.svg PROGRAM [ARGUMENT …]")
		os.Exit(2)
	}
	if err := record(*columns, *shown, *replace, flag.Arg(0), flag.Args()[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "recording:", err)
		os.Exit(1)
	}
}

func record(columns int, shown, replace, out string, words []string) error {
	pattern, word, _ := strings.Cut(replace, "=")
	changing, err := regexp.Compile(pattern)
	if err != nil {
		return err
	}
	if shown == "" {
		shown = strings.Join(words, " ")
	}
	text, err := output(words)
	if err != nil {
		return err
	}
	if pattern != "" {
		text = changing.ReplaceAllString(text, word)
	}
	screen := vt.NewEmulator(columns, most)
	defer screen.Close() //nolint:errcheck // nothing is behind it
	if _, err := screen.Write([]byte("\x1b[1m$ " + shown + "\x1b[0m\r\n\r\n" + text)); err != nil {
		return err
	}
	return os.WriteFile(out, []byte(draw(screen, shown)), 0o644)
}

// output is all that a program prints with the colours of a terminal.
func output(words []string) (string, error) {
	var b strings.Builder
	_, err := command.Run(context.Background(), command.Options{Env: []string{"FORCE_COLOR=1", "NO_COLOR=", "TERM=xterm"}, Stdout: &b, Stderr: os.Stderr}, words...)
	return strings.ReplaceAll(b.String(), "\n", "\r\n"), err
}

// Sizes of a character, in pixels, and the colours of the picture: the terminal's sixteen as a dark theme has them.
const (
	wide, high, margin = 8.4, 18.0, 14.0
	background         = "#1b1f24"
	foreground         = "#d0d7de"
	faint              = "#8b949e"
)

var sixteen = []string{"#484f58", "#ff7b72", "#3fb950", "#d29922", "#58a6ff", "#bc8cff", "#39c5cf", "#b1bac4"}

// draw is the screen up to its last line with text.
func draw(screen *vt.Emulator, title string) string {
	var b strings.Builder
	last := 0
	for y := range most {
		if line, filled := drawLine(screen, y); filled {
			b.WriteString(line)
			last = y
		}
	}
	w, h := float64(screen.Width())*wide+2*margin, float64(last+1)*high+2*margin
	return fmt.Sprintf(`<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %.0f %.0f" role="img" aria-label="%s">
<rect width="100%%" height="100%%" rx="6" fill="%s"/>
<g font-family="ui-monospace, 'DejaVu Sans Mono', Menlo, Consolas, monospace" font-size="14" fill="%s">
%s</g>
</svg>
`, w, h, html.EscapeString("A terminal after "+title), background, foreground, b.String())
}

// drawLine draws runs of characters of one style; every run has its own place, so that no font shifts the next.
func drawLine(screen *vt.Emulator, y int) (line string, filled bool) {
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
	return b.String(), b.Len() > 0
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
