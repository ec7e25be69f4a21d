package doc

import (
	"bytes"
	"io"
	"strings"
	"testing"
	"unicode/utf8"

	"charm.land/lipgloss/v2"

	"whichfs/internal/sys/harmless"
)

func harmful(r rune) bool { return harmless.Line(string(r)) != string(r) }

// Whatever a table contains, no harmful character and no line that is too wide
// reaches a terminal.
func FuzzText(f *testing.F) {
	for _, s := range []string{"", "ext4 -O ^has_journal", "\x1b[2J\x1b]0;title\x07 gone\r\n", "文件系统 ファイル 🙂 é", strings.Repeat("x", 300), "\u202egnirts", "a\xffb"} {
		f.Add(s, 10)
	}
	f.Fuzz(func(t *testing.T, s string, wide int) {
		screen := Screen{Width: wide}
		c := screen.fit(s)
		if !utf8.ValidString(c) || strings.IndexFunc(c, harmful) >= 0 {
			t.Errorf("%q is cleaned to %q", s, c)
		}
		wide = 4 + max(wide, -wide)%100
		for _, l := range wrap(c, wide) {
			if lipgloss.Width(l) > wide {
				t.Errorf("a line of %d at width %d: %q", lipgloss.Width(l), wide, l)
			}
		}
		if a := ascii(c); strings.IndexFunc(a, func(r rune) bool { return r > 126 }) >= 0 {
			t.Errorf("%q is not ASCII", a)
		}
		cells := []Cell{{Text: s, Tail: s, Detail: s}, {Absent: s}, {Text: s, Bar: &Span{Value: 0.5}}}
		table := Table{Columns: []Column{{Head: s, Flex: true}, {Head: "x", Kind: Figures}, {Head: s, Kind: Bar}}, Rows: []Row{{Cells: cells}, Texts(s), {}}, Below: []Item{{Mark: s, Lead: s, Text: s, Command: s}}}
		bars := table
		bars.Style = Bars
		d := Doc{Title: s, Source: s, Reach: s, Warnings: []string{s}, Facts: []Fact{{Name: s, Text: s}},
			Sections: []Section{{Title: s, State: &State{Word: s}, Body: []Block{Para{Text: s}, table, bars, Claims{List: []Claim{{Mark: s, Word: s, Text: s}}}, Commands{List: []Command{{Line: s, About: s}}}, Pre{Lines: []string{s}}}}}}
		var b bytes.Buffer
		if err := Text(&b, d, screen); err != nil {
			t.Error(err)
		}
		if i := strings.IndexFunc(b.String(), func(r rune) bool { return r != '\n' && harmful(r) }); i >= 0 {
			t.Errorf("%q reaches the terminal", b.String()[i:])
		}
		b.Reset()
		if err := HTML(&b, d); err != nil {
			t.Error(err)
		}
		if page := b.String(); strings.Contains(page, "<script") || strings.Contains(page, "<img") || strings.Contains(page, "<b>") {
			t.Errorf("markup reaches the page: %q", page)
		}
	})
}

// A table without rows is left out; what is said below it stays, since it says why.
func TestTableWithoutRows(t *testing.T) {
	d := Doc{Sections: []Section{{Title: "Boot time", Body: []Block{
		Table{Style: Bars, Columns: []Column{{Head: "Estimate", Kind: Bar}}, Below: []Item{{Mark: "–", Text: "no figure for ext4"}}},
		Table{Columns: []Column{{Head: "Nothing"}}}}}}}
	for name, render := range map[string]func(io.Writer) error{
		"text": func(w io.Writer) error { return Text(w, d, Screen{}) },
		"page": func(w io.Writer) error { return HTML(w, d) },
	} {
		var b bytes.Buffer
		if err := render(&b); err != nil || !strings.Contains(b.String(), "no figure for ext4") || strings.Contains(b.String(), "Estimate") || strings.Contains(b.String(), "Nothing") {
			t.Errorf("%s: %v\n%s", name, err, b.String())
		}
	}
}
