package report

import (
	"io"
	"math"
	"slices"
	"strings"

	"charm.land/lipgloss/v2"
)

// TextOptions say what screen a text is written for.
type TextOptions struct {
	Width   int  // columns; below 40 counts as 40, 0 as 100
	Color   bool // ANSI colours; they repeat what the words say
	ASCII   bool // no character beyond ASCII, for serial lines and old terminals
	Summary bool // of a report, only the answer in a few lines
}

func (s TextOptions) width() int {
	switch {
	case s.Width == 0:
		return 100
	case s.Width < 40:
		return 40
	}
	return s.Width
}

// text prepares a string of ours or of anybody else for this screen.
func (s TextOptions) text(t string) string {
	if s.ASCII {
		return ascii(t)
	}
	return t
}

var asciiWords = strings.NewReplacer(
	"±", "+-", "×", "x", "–", "-", "—", "-", "−", "-", "µ", "u", "…", "...", "≈", "~", "·", "*",
	"“", `"`, "”", `"`, "‘", "'", "’", "'", "\u202f", " ", "\u00a0", " ", "\u2009", " ",
	"✓", "+", "✗", "x", "▲", "^", "▼", "v", "≤", "<=", "≥", ">=", "─", "-", "→", "->",
)

func ascii(s string) string {
	s = asciiWords.Replace(s)
	return strings.Map(func(r rune) rune {
		if r > 126 {
			return '?'
		}
		return r
	}, s)
}

// TableColumn is one column of a text table.
type TableColumn struct {
	Head  string
	Right bool // align right: figures
	Flex  bool // may be broken into lines when the table is too wide
}

// Table is a table for a terminal. Columns align whatever alphabet is in them.
// A table too wide for the screen first breaks the lines of its flexible
// columns, then is cut into several that all begin with the first column.
type Table struct {
	Columns []TableColumn
	Rows    [][]string // control characters are escaped when written
	// Paint colours one line of a cell, already padded; not called on a screen
	// without colour. It must not change the visible width. May be nil.
	Paint func(row, column int, line string) string
}

const (
	gap       = 2
	flexFloor = 14 // a column is not broken narrower than this
)

// Write renders the table.
func (t Table) Write(w io.Writer, s TextOptions) error {
	cells := make([][]string, len(t.Rows))
	for i, row := range t.Rows {
		cells[i] = make([]string, len(t.Columns))
		for j := range min(len(row), len(t.Columns)) {
			cells[i][j] = s.text(clean(row[j]))
		}
	}
	widths := t.widths(cells, s)
	var b strings.Builder
	for start := 1; start <= max(1, len(t.Columns)-1); {
		if len(t.Columns) == 0 {
			break
		}
		block := []int{0}
		used := widths[0]
		for start < len(t.Columns) && (len(block) == 1 || used+gap+widths[start] <= s.width()) {
			used += gap + widths[start]
			block = append(block, start)
			start++
		}
		if b.Len() > 0 {
			b.WriteByte('\n')
		}
		t.block(&b, s, cells, widths, block)
		if len(t.Columns) == 1 {
			break
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// widths gives every column the width of its widest cell, then takes from the
// flexible ones what is too much.
func (t Table) widths(cells [][]string, s TextOptions) []int {
	widths := make([]int, len(t.Columns))
	total := 0
	for j, c := range t.Columns {
		for _, word := range pieces(s.text(clean(c.Head))) {
			widths[j] = max(widths[j], lipgloss.Width(strings.TrimRight(word, " ")))
		}
		for i := range cells {
			widths[j] = max(widths[j], lipgloss.Width(cells[i][j]))
		}
		total += widths[j]
		if j > 0 {
			total += gap
		}
	}
	natural := slices.Clone(widths)
	for total > s.width() {
		widest := -1
		for j, c := range t.Columns {
			if c.Flex && widths[j] > flexFloor && (widest < 0 || widths[j] > widths[widest]) {
				widest = j
			}
		}
		if widest < 0 {
			// It must be cut anyway: give the first column, which every part
			// repeats, more room again.
			if len(natural) > 0 {
				widths[0] = max(widths[0], min(natural[0], s.width()*2/5))
			}
			break
		}
		widths[widest]--
		total--
	}
	return widths
}

func (t Table) block(b *strings.Builder, s TextOptions, cells [][]string, widths, block []int) {
	head := make([][]string, len(t.Columns))
	height := 0
	for _, j := range block {
		head[j] = wrap(s.text(clean(t.Columns[j].Head)), widths[j])
		height = max(height, len(head[j]))
	}
	for k := range height {
		var line []string
		for _, j := range block {
			// Headings stand on the line below them.
			text := ""
			if at := k - (height - len(head[j])); at >= 0 {
				text = head[j][at]
			}
			line = append(line, s.bold(pad(text, widths[j], t.Columns[j].Right)))
		}
		writeLine(b, line)
	}
	var rule []string
	for _, j := range block {
		rule = append(rule, strings.Repeat(s.text("─"), widths[j]))
	}
	writeLine(b, rule)
	for i := range cells {
		lines := make([][]string, len(t.Columns))
		height := 1
		for _, j := range block {
			lines[j] = wrap(cells[i][j], widths[j])
			height = max(height, len(lines[j]))
		}
		for k := range height {
			var line []string
			for _, j := range block {
				text := ""
				if k < len(lines[j]) {
					text = lines[j][k]
				}
				text = pad(text, widths[j], t.Columns[j].Right)
				if t.Paint != nil && s.Color {
					text = t.Paint(i, j, text)
				}
				line = append(line, text)
			}
			writeLine(b, line)
		}
	}
}

func writeLine(b *strings.Builder, cells []string) {
	b.WriteString(strings.TrimRight(strings.Join(cells, strings.Repeat(" ", gap)), " "))
	b.WriteByte('\n')
}

func pad(text string, width int, right bool) string {
	fill := strings.Repeat(" ", max(0, width-lipgloss.Width(text)))
	if right {
		return fill + text
	}
	return text + fill
}

// pieces are the parts of a text that a line may end after.
func pieces(s string) []string {
	var out []string
	start := 0
	for i, r := range s {
		joint := i > 0 && i+1 < len(s) && isLetter(s[i+1]) && (r == '-' && isLetter(s[i-1]) || (r == '@' || r == '+') && s[i-1] != ' ')
		if r == ' ' || joint {
			out = append(out, s[start:i+1])
			start = i + 1
		}
	}
	return append(out, s[start:])
}

func isLetter(c byte) bool { return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' }

// wrap breaks text into lines of at most width columns, between words where
// that is possible. It returns at least one line.
func wrap(text string, width int) []string {
	width = max(width, 1)
	if lipgloss.Width(text) <= width {
		return []string{text}
	}
	var lines []string
	line := ""
	flush := func() {
		lines = append(lines, strings.TrimRight(line, " "))
		line = ""
	}
	for _, piece := range pieces(text) {
		if line != "" && lipgloss.Width(line+strings.TrimRight(piece, " ")) > width {
			flush()
		}
		for {
			head := cut(piece, width)
			if strings.TrimSpace(piece[len(head):]) == "" {
				break
			}
			lines = append(lines, head)
			piece = piece[len(head):]
		}
		line += piece
	}
	if strings.TrimSpace(line) != "" || len(lines) == 0 {
		flush()
	}
	return lines
}

// cut returns the longest beginning of s that is at most width columns wide,
// and at least one character.
func cut(s string, width int) string {
	used := 0
	for i, r := range s {
		w := lipgloss.Width(string(r))
		if used+w > width && i > 0 {
			return s[:i]
		}
		used += w
	}
	return s
}

// Colours: the sixteen that every terminal has, so that its own theme decides.
func (s TextOptions) paint(code, text string) string {
	if !s.Color || text == "" {
		return text
	}
	return "\x1b[" + code + "m" + text + "\x1b[0m"
}

func (s TextOptions) bold(text string) string   { return s.paint("1", text) }
func (s TextOptions) faint(text string) string  { return s.paint("2", text) }
func (s TextOptions) red(text string) string    { return s.paint("31", text) }
func (s TextOptions) green(text string) string  { return s.paint("32", text) }
func (s TextOptions) yellow(text string) string { return s.paint("33", text) }

const blocks = "▏▎▍▌▋▊▉█"

// bar draws share (0 to 1) of width columns, in eighths of a column. What is
// there at all is at least an eighth wide.
func (s TextOptions) bar(share float64, width int) string {
	share = max(0, share)
	if math.IsNaN(share) {
		share = 0
	}
	eighths := int(share*float64(width)*8 + 0.5)
	if share > 0 {
		eighths = max(eighths, 1)
	}
	if s.ASCII {
		return strings.Repeat("#", max((eighths+4)/8, min(eighths, 1)))
	}
	full := []rune(blocks)
	out := strings.Repeat(string(full[7]), eighths/8)
	if rest := eighths % 8; rest > 0 {
		out += string(full[rest-1])
	}
	return out
}
