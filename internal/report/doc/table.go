package doc

import (
	"math"
	"slices"
	"strings"

	"charm.land/lipgloss/v2"
)

// Tables for a terminal. Columns align in any alphabet. A table too wide for
// the screen first wraps its flexible columns, then is split into several that
// all begin with the first column.

const (
	gap       = 2
	flexFloor = 14 // the narrowest width of a wrapped column
)

// laid is a table with its cells as they are printed.
type laid struct {
	Screen
	heads  [][2]string // head, and the line below it
	right  []bool
	flex   []bool
	cells  [][]string
	tones  [][]Tone
	widths []int
}

func (t *text) table(tb Table) {
	rows := tb.rows(t.where)
	shown, names := tb.columns(t.where)
	if len(rows) == 0 || len(shown) == 0 {
		if len(tb.Below) > 0 { // it says why
			t.gap(lines)
			t.items(t.indent, tb.Below)
		}
		return
	}
	t.gap(block)
	if t.Plain {
		shown = slices.DeleteFunc(shown, func(j int) bool { return tb.Columns[j].Kind == Bar })
	}
	if tb.Style == Bars && slices.ContainsFunc(shown, func(j int) bool { return tb.Columns[j].Kind == Bar }) {
		t.bars(tb, rows, shown, names)
	} else {
		l := t.lay(tb, rows, shown, names)
		l.widths = l.natural()
		l.write(&t.b)
	}
	t.last = block
	if len(tb.Below) > 0 {
		t.items(t.indent, tb.Below)
		t.last = lines
	}
}

// lay formats the cells. Suffixes of a text get a column of their own next to
// it.
func (t *text) lay(tb Table, rows []Row, shown []int, names int) laid {
	l := laid{Screen: t.Screen, cells: make([][]string, len(rows)), tones: make([][]Tone, len(rows))}
	last := ""
	for i, r := range rows {
		for _, j := range shown {
			c := r.Cells[j]
			text, tone := t.cell(c), c.Tone
			if c.Absent != "" || r.Muted && tone == Plain {
				tone = Muted
			}
			if j == names && tb.Merge {
				if i > 0 && text == last {
					text = ""
				} else {
					last = text
				}
			}
			l.cells[i] = append(l.cells[i], text)
			l.tones[i] = append(l.tones[i], tone)
		}
	}
	for k, j := range shown {
		c := tb.Columns[j]
		l.heads = append(l.heads, [2]string{t.fit(c.Head), t.fit(c.Under)})
		l.right = append(l.right, c.Kind == Figures || c.Kind == Ratios)
		l.flex = append(l.flex, c.Flex || j == names)
		t.tails(&l, rows, j, k)
	}
	return l
}

// tails aligns the suffixes of the texts of a column.
func (t *text) tails(l *laid, rows []Row, j, k int) {
	wide, tail := 0, 0
	for i, r := range rows {
		if text := t.fit(r.Cells[j].Tail); text != "" {
			wide, tail = max(wide, width(l.cells[i][k])), max(tail, width(text))
		}
	}
	for i, r := range rows {
		if text := t.fit(r.Cells[j].Tail); text != "" && r.Cells[j].Absent == "" {
			l.cells[i][k] = pad(l.cells[i][k], wide, l.right[k]) + "  " + pad(text, tail, false)
		} else if tail > 0 && l.right[k] {
			l.cells[i][k] = pad(l.cells[i][k], wide, true) + strings.Repeat(" ", tail+2)
		}
	}
}

func (t *text) cell(c Cell) string {
	if c.Absent != "" {
		return footnote(t.notes.mark(c.Absent))
	}
	s := t.fit(c.Text)
	for _, note := range []string{c.Detail, c.Foot} {
		if note != "" {
			s += " " + footnote(t.notes.mark(note))
		}
	}
	return s
}

// natural gives every column the width of its widest cell, then shrinks the
// flexible ones until the table fits.
func (l *laid) natural() []int {
	widths := make([]int, len(l.heads))
	total := 0
	for j, h := range l.heads {
		for _, word := range pieces(h[0]) {
			widths[j] = max(widths[j], width(strings.TrimRight(word, " ")))
		}
		widths[j] = max(widths[j], min(width(h[1]), 2*flexFloor))
		for i := range l.cells {
			widths[j] = max(widths[j], width(l.cells[i][j]))
		}
		total += widths[j]
		if j > 0 {
			total += gap
		}
	}
	before := slices.Clone(widths)
	for total > l.width() {
		widest := -1
		for j := range l.heads {
			if l.flex[j] && widths[j] > flexFloor && (widest < 0 || widths[j] > widths[widest]) {
				widest = j
			}
		}
		if widest < 0 {
			// The table must be split anyway: widen the first column, which every part
			// repeats.
			widths[0] = max(widths[0], min(before[0], l.width()*2/5))
			break
		}
		widths[widest]--
		total--
	}
	return widths
}

type writer interface {
	WriteString(string) (int, error)
}

// write writes the table, in parts if it is too wide.
func (l *laid) write(b writer) {
	for start, first := 1, true; first || start < len(l.heads); first = false {
		part, used := []int{0}, l.widths[0]
		for start < len(l.heads) && (len(part) == 1 || used+gap+l.widths[start] <= l.width()) {
			used += gap + l.widths[start]
			part = append(part, start)
			start++
		}
		if !first {
			_, _ = b.WriteString("\n")
		}
		l.part(b, part)
	}
}

func (l *laid) part(b writer, part []int) {
	heads := make([][]string, len(l.heads))
	height := 0
	for _, j := range part {
		for _, text := range l.heads[j] {
			if text != "" {
				heads[j] = append(heads[j], wrap(text, l.widths[j])...)
			}
		}
		height = max(height, len(heads[j]))
	}
	for k := range height {
		var line []string
		for _, j := range part {
			text := ""
			if at := k - (height - len(heads[j])); at >= 0 { // heads sit on the line below them
				text = heads[j][at]
			}
			line = append(line, l.bold(pad(text, l.widths[j], l.right[j])))
		}
		writeLine(b, line)
	}
	if !l.Plain {
		var rule []string
		for _, j := range part {
			rule = append(rule, strings.Repeat(l.fit("─"), l.widths[j]))
		}
		writeLine(b, rule)
	}
	for i := range l.cells {
		lines := make([][]string, len(l.heads))
		height := 1
		for _, j := range part {
			lines[j] = wrap(l.cells[i][j], l.widths[j])
			height = max(height, len(lines[j]))
		}
		for k := range height {
			var line []string
			for _, j := range part {
				text := ""
				if k < len(lines[j]) {
					text = lines[j][k]
				}
				line = append(line, l.tone(l.tones[i][j], pad(text, l.widths[j], l.right[j])))
			}
			writeLine(b, line)
		}
	}
}

// bars draws a table with a bar in each row. Names wrap where they would leave
// no room for bars.
func (t *text) bars(tb Table, rows []Row, shown []int, names int) {
	l := t.lay(tb, rows, shown, names)
	heads := slices.IndexFunc(shown, func(j int) bool { return tb.Columns[j].Kind == Ranks }) < 0
	widths := make([]int, len(shown))
	name, at := slices.Index(shown, names), 0
	others := t.indent + gap*(len(shown)-1)
	for k, j := range shown {
		l.right[k] = tb.Columns[j].Kind == Ranks || k == name && heads
		if tb.Columns[j].Kind == Bar {
			at = k
			continue
		}
		for i := range l.cells {
			widths[k] = max(widths[k], width(l.cells[i][k]))
		}
		if heads {
			widths[k] = max(widths[k], width(l.heads[k][0]))
		}
		if k != name {
			others += widths[k]
		}
	}
	const least, most = 8, 40 // columns of a bar
	widths[name] = min(widths[name], max(16, t.width()*3/8), max(12, t.width()-others-least))
	widths[at] = max(least, min(most, t.width()-others-widths[name]))
	margin := strings.Repeat(" ", t.indent)
	if heads {
		var line []string
		for k := range shown {
			line = append(line, t.faint(pad(l.heads[k][0], widths[k], l.right[k])))
		}
		writeLine(&t.b, append([]string{margin + line[0]}, line[1:]...))
	}
	for i, r := range rows {
		for part, words := range wrap(l.cells[i][name], widths[name]) {
			var line []string
			for k, j := range shown {
				text, tone := "", l.tones[i][k]
				switch {
				case k == name:
					text = words
					if i == 0 && !heads && tone == Plain {
						tone = Strong
					}
				case part > 0:
				case k == at:
					if b := r.Cells[j].Bar; b != nil {
						text = t.bar(b.Value, widths[k])
					}
					if i == 0 && !heads {
						tone = Good
					}
				default:
					text = l.cells[i][k]
				}
				text = pad(text, widths[k], l.right[k])
				if part == 0 || k == name {
					text = t.tone(tone, text)
				}
				line = append(line, text)
			}
			writeLine(&t.b, append([]string{margin + line[0]}, line[1:]...))
		}
	}
}

func writeLine(b writer, cells []string) {
	_, _ = b.WriteString(strings.TrimRight(strings.Join(cells, strings.Repeat(" ", gap)), " ") + "\n")
}

func (s Screen) width() int {
	switch {
	case s.Width == 0:
		return 100
	case s.Width < 40:
		return 40
	}
	return s.Width
}

var asciiWords = strings.NewReplacer(
	"±", "+-", "×", "x", "–", "-", "—", "-", "−", "-", "µ", "u", "…", "...", "≈", "~", "·", "*", "≠", "!=",
	"“", `"`, "”", `"`, "‘", "'", "’", "'", "\u202f", " ", "\u00a0", " ", "\u2009", " ",
	"✓", "+", "✗", "x", "▲", "^", "▼", "v", "≤", "<=", "≥", ">=", "─", "-", "→", "->",
	"●", "#", "◆", "K", "◐", "/", "○", "x", "⋅", ".",
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

func width(s string) int { return lipgloss.Width(s) }

func pad(text string, wide int, right bool) string {
	fill := strings.Repeat(" ", max(0, wide-width(text)))
	if right {
		return fill + text
	}
	return text + fill
}

// pieces are the parts of a text; a line may end after each.
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

// wrap breaks text into lines of at most wide columns, between words if
// possible. It returns at least one line.
func wrap(text string, wide int) []string {
	wide = max(wide, 1)
	if width(text) <= wide {
		return []string{text}
	}
	var lines []string
	line := ""
	flush := func() {
		lines = append(lines, strings.TrimRight(line, " "))
		line = ""
	}
	for _, piece := range pieces(text) {
		if line != "" && width(line+strings.TrimRight(piece, " ")) > wide {
			flush()
		}
		for {
			head := cut(piece, wide)
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

// cut returns the longest prefix of s that fits into wide columns, and at least
// one character.
func cut(s string, wide int) string {
	used := 0
	for i, r := range s {
		w := width(string(r))
		if used+w > wide && i > 0 {
			return s[:i]
		}
		used += w
	}
	return s
}

const blocks = "▏▎▍▌▋▊▉█"

// bar draws share (0 to 1) of wide columns, in eighths of a column. A share
// above 0 is at least an eighth wide.
func (s Screen) bar(share float64, wide int) string {
	if math.IsNaN(share) {
		share = 0
	}
	share = min(max(0, share), 1)
	eighths := int(share*float64(wide)*8 + 0.5)
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
