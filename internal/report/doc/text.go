package doc

import (
	"bytes"
	"fmt"
	"io"
	"slices"
	"strings"

	"whichfs/internal/sys/harmless"
)

// Screen describes the screen of a text.
type Screen struct {
	Width   int  // columns; below 40 counts as 40, 0 as 100
	Color   bool // ANSI colours; they repeat what the words say
	ASCII   bool // ASCII only, for serial lines and old terminals
	Plain   bool // for screen readers and logs: words instead of signs, no bars, no lines
	Summary bool // only the blocks of a brief
}

// Text writes a document for a terminal or a serial line. The error is that of
// w.
func Text(w io.Writer, d Doc, s Screen) error {
	t := &text{Screen: s, where: Full}
	if s.Summary {
		t.where = Brief
	}
	t.doc(d)
	_, err := w.Write(t.b.Bytes())
	return err
}

// text builds a text, and wraps lines that are too long.
type text struct {
	Screen
	where  Media
	b      bytes.Buffer
	notes  notes
	indent int  // of the contents of a part
	last   kind // the kind of the last block
}

// kind is the kind of a block, for the empty lines between blocks.
type kind int

const (
	nothing kind = iota
	title        // the next block belongs to it
	lines
	block // an empty line follows
)

// gap writes an empty line if one belongs between the last block and next.
func (t *text) gap(next kind) {
	if t.last == block || t.last == lines && next == block {
		t.line("")
	}
	t.last = next
}

func (t *text) line(l string) {
	t.b.WriteString(strings.TrimRight(l, " "))
	t.b.WriteByte('\n')
}

// fit sanitises a string for this screen.
func (s Screen) fit(text string) string {
	text = harmless.Line(text)
	if s.ASCII {
		return ascii(text)
	}
	return text
}

// para writes text after a mark, with the following lines indented. paint,
// which may be nil, colours the mark.
func (t *text) para(indent int, mark, text string, paint func(string) string) {
	mark = t.fit(t.sign(mark))
	hang := indent + width(mark)
	if mark != "" {
		hang++
	}
	hang = min(hang, t.width()/2)
	for i, l := range wrap(t.fit(text), t.width()-hang) {
		if i > 0 || mark == "" {
			t.line(strings.Repeat(" ", hang) + l)
			continue
		}
		m := mark
		if paint != nil {
			m = paint(m)
		}
		if indent+width(mark)+1 > hang { // a mark too long to share a line with its text
			for _, l := range wrap(mark, t.width()-indent) {
				t.line(strings.Repeat(" ", indent) + l)
			}
			t.line(strings.Repeat(" ", hang) + l)
			continue
		}
		t.line(strings.Repeat(" ", indent) + m + " " + l)
	}
}

func (t *text) head(words string) {
	if t.b.Len() > 0 {
		t.line("")
	}
	wide := 0
	for _, l := range wrap(t.fit(words), t.width()) {
		t.line(t.bold(l))
		wide = max(wide, width(l))
	}
	if !t.Plain {
		t.line(t.faint(strings.Repeat(t.fit("─"), wide)))
	}
	t.last = title
}

func (t *text) doc(d Doc) {
	if d.In.long().in(t.where) {
		t.para(0, "", d.Title, nil)
		if d.Source != "" {
			t.para(0, "", "after "+d.Source, nil)
		}
		t.last = block
		t.block(Facts{List: d.Facts})
		t.last = block
		if d.Reach != "" {
			t.block(Items{List: []Item{{Mark: "!", Text: d.Reach, Tone: Warn}}})
		}
		t.warnings(d.Warnings)
	}
	for _, s := range d.Sections {
		t.section(s)
	}
}

func (t *text) section(s Section) {
	if !s.In.long().in(t.where) {
		return
	}
	t.footnotes()
	if s.Title != "" {
		words := s.Title
		if s.State != nil {
			words += " (" + s.State.Word + ")"
		}
		t.head(words)
	}
	t.blocks(s.Body)
	t.footnotes()
}

func (t *text) blocks(list []Block) {
	for _, b := range list {
		if b.media().in(t.where) {
			t.block(b)
		}
	}
}

func (t *text) block(b Block) {
	switch b := b.(type) {
	case Section:
		t.section(b)
	case Part:
		t.part(b)
	case Parts:
		for _, p := range b.List {
			t.part(p)
		}
		t.last = block
	case Fold:
		t.blocks(b.Body)
	case Para:
		t.gap(lines)
		t.para(t.indent, "", b.Text, nil)
	case Items:
		if len(b.List) > 0 {
			t.gap(lines)
			t.items(t.indent, b.List)
		}
	case Warnings:
		if len(b.List) > 0 {
			t.head("Keep in mind")
			t.warnings(b.List)
		}
	case Facts:
		t.facts(b.List)
	case Claims:
		t.claims(b.List)
	case Table:
		t.table(b)
	case Chart:
		t.blocks(b.Text)
	case Strip:
		t.gap(lines)
		t.strip(b)
	case Pre:
		list := b.Lines
		if b.Most > 0 {
			list = list[max(0, len(list)-b.Most):]
		}
		for _, l := range list {
			t.line(strings.Repeat(" ", t.indent+2) + t.faint("|") + " " + cut(t.fit(l), t.width()-t.indent-4))
		}
	case Commands:
		for _, c := range b.List {
			t.gap(lines)
			lines := []string{t.fit(c.Line)}
			if !c.Whole {
				lines = wrap(lines[0], t.width())
			}
			for _, l := range lines {
				t.line(t.bold(l))
			}
			t.para(4, "", c.About, nil)
		}
	case Footnotes:
		t.footnotes()
	}
}

func (t *text) part(p Part) {
	t.gap(block)
	words := p.Title
	if p.Small != "" {
		words += ", " + p.Small
	}
	list := wrap(t.fit(words), t.width()-16)
	for i, l := range list {
		l = t.bold(l)
		if p.State != nil && i == len(list)-1 {
			l += " (" + t.tone(p.State.Tone, p.State.Word) + ")"
		}
		t.line(l)
	}
	t.last = title
	t.indent += 2
	t.blocks(p.Body)
	t.indent -= 2
}

func (t *text) warnings(list []string) {
	for _, w := range list {
		t.gap(lines)
		t.para(0, "!", w, t.yellow)
	}
}

func (t *text) items(indent int, list []Item) {
	for _, i := range list {
		if !i.In.in(t.where) {
			continue
		}
		mark, words, tone := i.Mark, i.Text, i.Tone
		switch {
		case mark == "" && i.Lead != "":
			if mark = i.Lead; words != "" {
				mark += ":"
			}
			if tone == Plain {
				tone = Strong
			}
		case i.Lead != "":
			words = strings.TrimSuffix(i.Lead+": "+words, " ")
		}
		if i.Muted && tone == Plain {
			tone = Muted
		}
		t.para(indent, mark, words, func(s string) string { return t.tone(tone, s) })
		if i.Command != "" {
			t.para(indent+2, "→", i.Command, nil)
		}
		t.items(indent+2, i.Sub)
	}
}

// facts prints names and values in two columns.
func (t *text) facts(list []Fact) {
	wide := 0
	for _, f := range list {
		if f.Text != "" {
			wide = max(wide, width(t.fit(f.Name)))
		}
	}
	wide = min(wide, t.width()/3)
	for _, f := range list {
		if f.Text == "" {
			continue
		}
		t.gap(lines)
		names := wrap(t.fit(f.Name), wide)
		for k, l := range wrap(t.fit(f.Text), t.width()-t.indent-wide-2) {
			name := ""
			if k < len(names) {
				name = names[k]
			}
			name = pad(name, wide, false)
			if f.Tone == Plain {
				name = t.faint(name)
			} else {
				name = t.tone(f.Tone, name)
			}
			t.line(strings.Repeat(" ", t.indent) + name + "  " + l)
		}
	}
	if t.last == lines {
		t.last = block
	}
}

func (t *text) claims(list []Claim) {
	wide := 0
	for _, c := range list {
		wide = max(wide, width(t.fit(c.Word)))
	}
	for _, c := range list {
		t.gap(lines)
		mark := c.Mark + " " + pad(c.Word, wide, false)
		if t.Plain {
			mark = c.Word + ":"
		}
		t.para(0, mark, c.Text, func(s string) string { return t.tone(c.Tone, s) })
		t.items(wide+3, c.Below)
	}
}

func (t *text) footnotes() {
	for i, text := range t.notes.texts {
		t.gap(lines)
		t.para(0, "("+Letter(i)+")", text, t.faint)
	}
	t.notes = notes{}
}

// signs are the words for marks where they are read aloud.
var signs = map[string]string{"·": "-", "–": "-", "✗": "-", "≈": "-", "?": "Open:", "!": "Note:", "→": "Command:", "✓": "Settled:"}

// sign is a mark as this screen shows it.
func (s Screen) sign(mark string) string {
	if word, ok := signs[mark]; ok && s.Plain {
		return word
	}
	return mark
}

// Colours: the sixteen of every terminal, so that its own theme decides.
func (s Screen) paint(code, text string) string {
	if !s.Color || text == "" {
		return text
	}
	return "\x1b[" + code + "m" + text + "\x1b[0m"
}

func (s Screen) bold(text string) string   { return s.paint("1", text) }
func (s Screen) faint(text string) string  { return s.paint("2", text) }
func (s Screen) yellow(text string) string { return s.paint("33", text) }

func (s Screen) tone(t Tone, text string) string {
	code, ok := map[Tone]string{Good: "32", Warn: "33", Bad: "31", Muted: "2", Strong: "1"}[t]
	if !ok {
		return text
	}
	return s.paint(code, text)
}

// steps of a strip, from lowest to highest.
var (
	stripSteps = []rune("▁▂▃▄▅▆▇█")
	asciiSteps = []rune("12345678")
)

func (t *text) strip(b Strip) {
	if t.Plain {
		t.para(2, "", b.Text, nil)
		return
	}
	steps := stripSteps
	if t.ASCII {
		steps = asciiSteps
	}
	var row strings.Builder
	wide := min(len(b.Steps), t.width()-4)
	for i := range wide {
		place := b.Steps[i*len(b.Steps)/wide : (i+1)*len(b.Steps)/wide]
		s := slices.Max(place)
		if b.Least {
			s = slices.Min(place)
		}
		row.WriteRune(steps[max(0, min(int(s*float64(len(steps))), len(steps)-1))])
	}
	t.line("  " + row.String())
	t.para(2, "", b.Text, nil)
}

func footnote(mark string) string { return fmt.Sprintf("(%s)", mark) }
