// Package prose renders Markdown for a terminal: text without markup, wrapped, with tables in columns.
package prose

import (
	"bytes"
	"fmt"
	"io"
	"strings"

	"github.com/mattn/go-runewidth"
	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	table "github.com/yuin/goldmark/extension/ast"
	"github.com/yuin/goldmark/text"
)

// Markdown writes a document for lines of a width. place says where the target of a link is to be
// found, or "" if the text of the link suffices: target is the part before a #, the other one that after it.
func Markdown(w io.Writer, source []byte, width int, place func(target, part string) string) error {
	r := &renderer{source: source, place: place}
	r.blocks(goldmark.New(goldmark.WithExtensions(extension.Table)).Parser().Parse(text.NewReader(source)), "", width)
	_, err := io.Copy(w, &r.out)
	return err
}

type renderer struct {
	source []byte
	place  func(target, part string) string
	out    bytes.Buffer
}

// blocks renders the children of a node. indent precedes every line; width includes it.
func (r *renderer) blocks(parent ast.Node, indent string, width int) {
	for n := parent.FirstChild(); n != nil; n = n.NextSibling() {
		start := r.out.Len()
		r.block(n, indent, width)
		_, tight := n.(*ast.TextBlock)
		if r.out.Len() > start && n.NextSibling() != nil && !tight {
			r.out.WriteByte('\n')
		}
	}
}

func (r *renderer) block(n ast.Node, indent string, width int) {
	switch n := n.(type) {
	case *ast.Heading:
		title := r.inline(n)
		if n.Level == 1 {
			title = strings.ToUpper(title)
		}
		r.wrap(title, indent, indent, width)
		if n.Level == 2 {
			r.out.WriteString(indent + strings.Repeat("-", min(runewidth.StringWidth(title), max(width-len(indent), 1))) + "\n")
		}
	case *ast.Paragraph, *ast.TextBlock:
		r.wrap(r.inline(n), indent, indent, width)
	case *ast.FencedCodeBlock, *ast.CodeBlock:
		lines := n.Lines()
		for i := range lines.Len() {
			line := lines.At(i)
			r.out.WriteString(strings.TrimRight(indent+"    "+string(line.Value(r.source)), " \n") + "\n")
		}
	case *ast.Blockquote:
		r.blocks(n, indent+"  | ", width)
	case *ast.List:
		number := n.Start
		for item := n.FirstChild(); item != nil; item = item.NextSibling() {
			mark := "- "
			if n.IsOrdered() {
				mark = fmt.Sprintf("%d. ", number)
				number++
			}
			// The mark stands in the place of the first line's indentation.
			inner := indent + strings.Repeat(" ", len(mark))
			start := r.out.Len()
			r.blocks(item, inner, width)
			if written := r.out.Bytes()[start:]; len(written) > len(inner) {
				copy(written[len(indent):], mark)
			}
			if !n.IsTight && item.NextSibling() != nil {
				r.out.WriteByte('\n')
			}
		}
	case *table.Table:
		r.table(n, indent, width)
	case *ast.ThematicBreak:
		r.out.WriteString(indent + strings.Repeat("-", max(width-len(indent), 1)) + "\n")
	}
}

// inline is the text of a node's children.
func (r *renderer) inline(parent ast.Node) string {
	var b strings.Builder
	for n := parent.FirstChild(); n != nil; n = n.NextSibling() {
		switch n := n.(type) {
		case *ast.Text:
			b.Write(n.Value(r.source))
			if n.SoftLineBreak() || n.HardLineBreak() {
				b.WriteByte(' ')
			}
		case *ast.String:
			b.Write(n.Value)
		case *ast.AutoLink:
			b.Write(n.URL(r.source))
		case *ast.Link:
			b.WriteString(r.link(n))
		case *ast.Image:
		case *ast.CodeSpan:
			// A blank in it is no place to break the line.
			b.WriteString(strings.ReplaceAll(r.inline(n), " ", hard))
		default:
			b.WriteString(r.inline(n))
		}
	}
	return unescape(b.String())
}

// hard is a blank at which no line ends.
const hard = "\u00a0"

// unescape removes the backslashes before punctuation that Markdown has taken for text.
func unescape(s string) string {
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] == '\\' && i+1 < len(s) && strings.IndexByte("|*_<>#`[]", s[i+1]) >= 0 {
			continue
		}
		b.WriteByte(s[i])
	}
	return b.String()
}

func (r *renderer) link(n *ast.Link) string {
	label := r.inline(n)
	target, part, _ := strings.Cut(string(n.Destination), "#")
	where := r.place(target, part)
	if strings.Contains(target, "://") {
		where = target
	}
	if where == "" || where == label {
		return label
	}
	if strings.TrimSuffix(label, ".md") == strings.TrimSuffix(target, ".md") || label == "docs/"+target {
		return strings.ReplaceAll(where, " ", hard)
	}
	return label + " (" + strings.ReplaceAll(where, " ", hard) + ")"
}

// wrap writes a paragraph.
func (r *renderer) wrap(s, first, rest string, width int) {
	for i, line := range Fold(s, width-len(first)) {
		indent := rest
		if i == 0 {
			indent = first
		}
		r.out.WriteString(strings.ReplaceAll(indent+line, hard, " ") + "\n")
	}
}

// Fold breaks a text into lines of at most width columns; a longer word has a line of its own.
func Fold(s string, width int) []string {
	var lines []string
	line, used := "", 0
	for _, word := range strings.FieldsFunc(s, func(c rune) bool { return c == ' ' || c == '\n' || c == '\t' }) {
		n := runewidth.StringWidth(word)
		if used > 0 && used+1+n > width {
			lines = append(lines, line)
			line, used = "", 0
		}
		if used > 0 {
			line, used = line+" ", used+1
		}
		line, used = line+word, used+n
	}
	return append(lines, line)
}

// table writes columns, whose cells are wrapped if all do not fit.
func (r *renderer) table(t *table.Table, indent string, width int) {
	var rows [][]string
	for row := t.FirstChild(); row != nil; row = row.NextSibling() {
		var cells []string
		for cell := row.FirstChild(); cell != nil; cell = cell.NextSibling() {
			cells = append(cells, r.inline(cell))
		}
		rows = append(rows, cells)
	}
	widths := columns(rows, width-len(indent))
	for i, row := range rows {
		if i == 0 && strings.Join(row, "") == "" {
			continue // without a heading
		}
		r.row(row, widths, indent)
		if i == 0 {
			rule := make([]string, len(widths))
			for c, w := range widths {
				rule[c] = strings.Repeat("-", w)
			}
			r.out.WriteString(indent + strings.Join(rule, gap) + "\n")
		}
	}
}

// gap separates columns.
const gap = "  "

// columns shares a width among the columns of a table: the widest give way first, down to their longest word.
func columns(rows [][]string, width int) []int {
	var want, least []int
	for _, row := range rows {
		for c, cell := range row {
			if c == len(want) {
				want, least = append(want, 1), append(least, 1)
			}
			want[c] = max(want[c], runewidth.StringWidth(cell))
			for _, word := range strings.Fields(cell) {
				least[c] = max(least[c], min(runewidth.StringWidth(word), 30))
			}
		}
	}
	total := len(gap) * (len(want) - 1)
	for _, w := range want {
		total += w
	}
	for ; total > width; total-- {
		widest := -1
		for c, w := range want {
			if w > least[c] && (widest < 0 || w > want[widest]) {
				widest = c
			}
		}
		if widest < 0 {
			break
		}
		want[widest]--
	}
	return want
}

func (r *renderer) row(cells []string, widths []int, indent string) {
	folded := make([][]string, len(cells))
	height := 1
	for c, cell := range cells {
		folded[c] = Fold(cell, widths[c])
		height = max(height, len(folded[c]))
	}
	for i := range height {
		line := indent
		for c := range cells {
			text := ""
			if i < len(folded[c]) {
				text = strings.ReplaceAll(folded[c][i], hard, " ")
			}
			line += text + strings.Repeat(" ", max(widths[c]-runewidth.StringWidth(text), 0)) + gap
		}
		r.out.WriteString(strings.TrimRight(line, " ") + "\n")
	}
}
