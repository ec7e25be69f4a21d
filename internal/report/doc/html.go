package doc

import (
	_ "embed"
	"fmt"
	"html"
	"io"
	"math"
	"strings"

	"whichfs/internal/sys/harmless"
)

//go:embed page.css
var pageStyle string

// HTML writes a document as a page: one file without scripts, which opens
// offline and from a mail attachment. The style sheet draws bars from shares;
// their figures are always next to them. The error is that of w.
func HTML(w io.Writer, d Doc) error { return Site{}.HTML(w, d) }

// page builds a page.
type page struct {
	b     strings.Builder
	site  Site
	notes notes
	name  string // of the innermost part: the subject of its tables
	level int    // of headings
}

// f writes a format with arguments that are escaped or our own numbers.
func (p *page) f(format string, args ...any) { fmt.Fprintf(&p.b, format, args...) }

// attr escapes a string for an attribute.
func attr(s string) string { return html.EscapeString(harmless.Line(s)) }

// breaks are the places where the parts of a candidate's name may be broken.
var breaks = strings.NewReplacer("@", "@<wbr>", "+", "+<wbr>")

// esc escapes a string for the page, and keeps lines from breaking after the
// dash of an option.
func esc(s string) string {
	words := strings.Split(attr(s), " ")
	for i, w := range words {
		if len(w) > 1 && w[0] == '-' {
			words[i] = `<span class="opt">` + w + `</span>`
		} else {
			words[i] = breaks.Replace(w)
		}
	}
	return strings.Join(words, " ")
}

// Slug makes a fragment identifier: lower-case letters, digits and hyphens.
func Slug(s string) string {
	return strings.Trim(strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z' || r >= '0' && r <= '9':
			return r
		case r >= 'A' && r <= 'Z':
			return r + 'a' - 'A'
		}
		return '-'
	}, s), "-")
}

func (t Tone) class() string {
	return map[Tone]string{Good: "t-good", Warn: "t-warn", Bad: "t-bad", Muted: "t-muted", Strong: "t-strong"}[t]
}

// classes is a class attribute of the names that are not empty.
func classes(list ...string) string {
	words := strings.Fields(strings.Join(list, " "))
	if len(words) == 0 {
		return ""
	}
	return ` class="` + strings.Join(words, " ") + `"`
}

func id(s string) string {
	if s == "" {
		return ""
	}
	return ` id="` + attr(s) + `"`
}

func (p *page) doc(d Doc) {
	window := d.Window
	if window == "" {
		window = d.Title
	}
	p.f("<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"+
		"<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<meta name=\"color-scheme\" content=\"light dark\">\n"+
		"<meta name=\"generator\" content=\"%s\">\n<title>%s – whichfs</title>\n<link rel=\"icon\" href=\"data:,\">\n<style>%s</style>\n%s</head>\n<body>\n",
		attr(strings.TrimSpace("whichfs "+d.Version)), attr(window), pageStyle+p.site.style(), p.site.live())
	var shown []Section
	for _, s := range d.Sections {
		if s.In.long().in(Page) {
			shown = append(shown, s)
		}
	}
	if len(shown) > 0 {
		p.f("<a class=\"skip\" href=\"#%s\">To the report</a>\n", attr(shown[0].ID))
	}
	p.links("site", "Site", p.site.Links)
	p.f("<header>\n")
	if d.Kicker != "" {
		p.f("<p class=\"kicker\">%s</p>\n", esc(d.Kicker))
	}
	p.f("<h1>%s</h1>\n", esc(d.Title))
	if d.Source != "" {
		p.f("<p class=\"source\">after %s</p>\n", esc(d.Source))
	}
	if d.Reach != "" {
		p.f("<p class=\"reach\">%s</p>\n", esc(d.Reach))
	}
	facts := func() {
		p.warnings(d.Warnings)
		p.facts("facts", d.Facts)
	}
	if !d.AnswerFirst || len(shown) == 0 {
		facts()
	}
	p.f("</header>\n")
	const few = 4 // too few sections for a table of contents
	if len(shown) > few {
		p.f("<nav aria-label=\"Contents\"><ol>\n")
		for _, s := range shown {
			words := s.Nav
			if words == "" {
				words = s.Title
			}
			p.f("<li><a href=\"#%s\">%s</a></li>\n", attr(s.ID), esc(words))
		}
		p.f("</ol></nav>\n")
	}
	p.f("<main>\n")
	for i, s := range shown {
		p.section(s)
		if i == 0 && d.AnswerFirst {
			facts()
		}
	}
	p.f("</main>\n<footer><p>%s</p></footer>\n</body>\n</html>\n", esc(d.Foot))
}

func (p *page) section(s Section) {
	p.footnotes()
	before := p.name
	p.name = s.Title
	p.level++
	p.f("\n<section%s>\n", id(s.ID))
	if s.Title != "" {
		p.f("<h%d>%s%s</h%d>\n", p.level+1, esc(s.Title), state(s.State), p.level+1)
	}
	p.blocks(s.Body)
	p.footnotes()
	p.f("</section>\n")
	p.level--
	p.name = before
}

func state(s *State) string {
	if s == nil {
		return ""
	}
	return ` <span` + classes("state", s.Tone.class()) + `>` + esc(s.Word) + `</span>`
}

func (p *page) blocks(list []Block) {
	for _, b := range list {
		if b.media().in(Page) {
			p.block(b)
		}
	}
}

func (p *page) block(b Block) {
	switch b := b.(type) {
	case Section:
		p.section(b)
	case Part:
		p.part("part", b)
	case Parts:
		class := map[PartStyle]string{Pictures: "pictures", Answers: "uses", FactLists: "groups"}[b.Style]
		p.f("<div class=\"%s\">\n", class)
		for _, part := range b.List {
			p.part(strings.TrimSuffix(class, "s"), part)
		}
		p.f("</div>\n")
	case Fold:
		open := ""
		if b.Open {
			open = " open"
		}
		p.f("<details%s><summary>%s", open, esc(b.Summary))
		if b.Small != "" {
			p.f(" <span class=\"small\">%s</span>", esc(b.Small))
		}
		p.f("</summary>\n")
		p.blocks(b.Body)
		p.f("</details>\n")
	case Para:
		if b.Text != "" {
			p.f("<p class=\"%s\">%s</p>\n", map[Role]string{Lead: "lead", Answer: "answer", Small: "small"}[b.Role], esc(b.Text))
		}
	case Items:
		p.items(b.List)
	case Warnings:
		p.warnings(b.List)
	case Facts:
		class := "method"
		for _, f := range b.List {
			if f.Sample.Class != "" {
				class = "ends-key"
			}
		}
		p.facts(class, b.List)
	case Claims:
		p.claims(b.List)
	case Table:
		p.table(b)
	case Chart:
		switch {
		case b.SVG == "":
		case b.Label != "":
			p.f("<div class=\"scroll\" role=\"region\" tabindex=\"0\" aria-label=\"%s\">%s</div>\n", attr(b.Label), b.SVG)
		default:
			p.f("%s\n", b.SVG)
		}
	case Strip:
	case Pre:
		p.f("<pre class=\"scroll\" tabindex=\"0\">")
		for _, l := range b.Lines {
			p.f("%s\n", attr(l))
		}
		p.f("</pre>\n")
	case Commands:
		p.f("<dl class=\"method\">")
		for _, c := range b.List {
			p.f("<div><dt>%s</dt><dd>%s</dd></div>\n", command(c.Line), esc(c.About))
		}
		p.f("</dl>\n")
	case Footnotes:
		p.footnotes()
	case Form:
		p.form(b)
	case Links:
		p.links("links", b.Name, b.List)
	}
}

func (p *page) part(class string, part Part) {
	before := p.name
	p.level++
	p.f("<article class=\"%s\"%s>\n", class, id(part.ID))
	if part.Title != "" {
		p.name = part.Title
		p.f("<h%d>%s%s", p.level+1, esc(part.Title), state(part.State))
		if part.Small != "" {
			p.f(" <span class=\"small\">%s</span>", esc(part.Small))
		}
		p.f("</h%d>\n", p.level+1)
	}
	p.blocks(part.Body)
	p.f("</article>\n")
	p.level--
	p.name = before
}

func (p *page) warnings(list []string) {
	if len(list) == 0 {
		return
	}
	p.f("<aside class=\"warnings\" aria-label=\"Warnings\"><p class=\"t-strong t-warn\">Keep in mind</p><ul>")
	for _, w := range list {
		p.f("<li>%s</li>\n", esc(w))
	}
	p.f("</ul></aside>\n")
}

func (p *page) items(list []Item) {
	open := false
	for _, i := range list {
		if !i.In.in(Page) {
			continue
		}
		if !open {
			p.f("<ul class=\"items\">\n")
			open = true
		}
		class := ""
		if i.Muted {
			class = "small"
		}
		p.f("<li%s>", classes(class))
		switch {
		case i.Sample != "":
			p.f("<span class=\"mark\">%s</span> ", i.Sample)
		case i.Mark != "":
			p.f("<span%s>%s</span> ", classes("mark", i.Tone.class()), esc(i.Mark))
		}
		if i.Lead != "" {
			tone := i.Tone
			if i.Mark != "" {
				tone = Plain
			}
			p.f("<strong%s>%s</strong>", classes(tone.class()), esc(i.Lead))
			if i.Text != "" {
				p.f(": ")
			}
		}
		p.f("%s", esc(i.Text))
		if i.Command != "" {
			p.f(" %s", command(i.Command))
		}
		p.items(i.Sub)
		p.f("</li>\n")
	}
	if open {
		p.f("</ul>\n")
	}
}

// command breaks lines only between words.
func command(line string) string {
	words := strings.Fields(line)
	for i, w := range words {
		words[i] = "<span>" + attr(w) + "</span>"
	}
	return `<code class="command">` + strings.Join(words, " ") + `</code>`
}

func (p *page) facts(class string, list []Fact) {
	open := false
	for _, f := range list {
		if f.Text == "" {
			continue
		}
		if !open {
			p.f("<dl class=\"%s\">\n", class)
			open = true
		}
		p.f("<div><dt>")
		if f.Sample.Class != "" {
			p.f("%s", stack([]Share{f.Sample}))
		}
		p.f("%s", esc(f.Name))
		if f.Mark {
			p.f(" <span class=\"matters\" title=\"runs that differ in it must not be compared silently\">◆<span class=\"away\"> matters</span></span>")
		}
		p.f("</dt><dd>%s</dd></div>\n", esc(f.Text))
	}
	if open {
		p.f("</dl>\n")
	}
}

func (p *page) claims(list []Claim) {
	if len(list) == 0 {
		return
	}
	p.f("<ul class=\"claims\">\n")
	for _, c := range list {
		p.f("<li class=\"claim\"><p%s><span class=\"mark\" aria-hidden=\"true\">%s</span> %s</p><div><p class=\"text\">%s</p>\n",
			classes("result", c.Tone.class()), esc(c.Mark), esc(c.Word), esc(c.Text))
		p.items(c.Below)
		p.f("</div></li>\n")
	}
	p.f("</ul>\n")
}

func (p *page) footnotes() {
	if len(p.notes.texts) > 0 {
		p.f("<ol class=\"notes\">")
		for _, text := range p.notes.texts {
			p.f("<li>%s</li>", esc(text))
		}
		p.f("</ol>\n")
	}
	p.notes = notes{}
}

// The style sheet's classes of table styles and column kinds.
var (
	styleClasses  = map[Style]string{List: "list cards", Grid: "grid cards", Bars: "bars", Scroll: "costs", Legend: "growth"}
	columnClasses = map[Kind]string{Words: "words", Ranks: "rank", Bar: "plot", Figures: "figure", Estimates: "figure", Ratios: "figure ratio"}
)

func (p *page) table(t Table) {
	rows := t.rows(Page)
	shown, names := t.columns(Page)
	if len(rows) == 0 || len(shown) == 0 {
		p.items(t.Below)
		return
	}
	name := t.Name
	if name == "" {
		name = p.name
	}
	label := fmt.Sprintf(" aria-label=\"%s\"", attr(name))
	if t.Style == Scroll {
		p.f("<div class=\"scroll\" role=\"region\" tabindex=\"0\"%s>\n", label)
	}
	many := ""
	if t.Style == Bars && len(shown) > 6 {
		many = "many"
	}
	if t.Caption != "" {
		label = ""
	}
	p.f("<table%s%s role=\"table\"%s>\n", classes(styleClasses[t.Style], many), id(t.ID), label)
	if t.Caption != "" {
		p.f("<caption>%s</caption>\n", esc(t.Caption))
	}
	p.f("<thead role=\"rowgroup\"><tr role=\"row\">")
	for _, j := range shown {
		c := t.Columns[j]
		head := esc(c.Head)
		switch {
		case c.Kind == Bar:
			head = `<span class="away">Bar</span>`
		case c.Under != "":
			head += ` <span class="under">` + esc(c.Under) + `</span>`
		}
		p.f("<th role=\"columnheader\" scope=\"col\"%s>%s</th>", classes(columnClasses[c.Kind]), head)
	}
	p.f("</tr></thead>\n<tbody role=\"rowgroup\">\n")
	for _, r := range rows {
		class := ""
		if r.Muted {
			class = "t-muted"
		}
		p.f("<tr role=\"row\"%s>", classes(class))
		for _, j := range shown {
			c := t.Columns[j]
			if j == names {
				p.f("<th role=\"rowheader\" scope=\"row\">%s</th>", p.cell(t, c, r.Cells[j]))
				continue
			}
			shade := r.Cells[j].Tone.class()
			if n := r.Cells[j].Shade; n > 0 {
				shade = fmt.Sprintf("g%d", n)
			}
			p.f("<td role=\"cell\"%s data-head=\"%s\">%s</td>", classes(columnClasses[c.Kind], shade), attr(c.Head), p.cell(t, c, r.Cells[j]))
		}
		p.f("</tr>\n")
	}
	p.f("</tbody>\n</table>\n")
	if t.Style == Scroll {
		p.f("</div>\n")
	}
	p.items(t.Below)
}

func (p *page) cell(t Table, col Column, c Cell) string {
	if c.Absent != "" {
		return `<span class="none">– <sup>` + p.notes.mark(c.Absent) + `</sup></span>`
	}
	var b strings.Builder
	if c.Bar != nil {
		b.WriteString(c.Bar.html())
	}
	if len(c.Stack) > 0 {
		b.WriteString(stack(c.Stack))
	}
	b.WriteString(string(c.Sample))
	words := c.Long
	if words == "" {
		words = c.Text
	}
	words = esc(words)
	href := c.Href
	if c.Origin != "" && p.site.Base != "" {
		href = p.site.Base + c.Origin
	}
	if href != "" && words != "" {
		words = `<a href="` + attr(href) + `">` + words + `</a>`
	}
	if c.Check != nil {
		words = c.Check.html() + words
	}
	if c.Foot != "" {
		words += ` <sup>` + p.notes.mark(c.Foot) + `</sup>`
	}
	if words != "" && (t.Style == List || t.Style == Grid) && col.Kind != Names {
		words = `<span class="word">` + words + `</span>`
	}
	b.WriteString(words)
	for _, x := range [][2]string{{c.Tail, "tail"}, {c.Tag, "tag"}, {c.Under, "under"}, {c.Detail, "under"}} {
		if x[0] != "" {
			b.WriteString(` <small class="` + x[1] + `">` + esc(x[0]) + `</small>`)
		}
	}
	return b.String()
}

// percent clamps a share to its room.
func percent(share float64) float64 {
	if math.IsNaN(share) {
		return 0
	}
	return 100 * min(max(share, 0), 1)
}

// html gives the style sheet the share of a bar (--v), or its left end and
// width if it begins in the middle (--a, --w), and the ends of the whisker
// (--l, --h).
func (s Span) html() string {
	whisker := ""
	if s.Whisker {
		whisker = "<b></b>"
	}
	v, l, h := percent(s.Value), percent(s.Low), percent(s.High)
	if s.Mid {
		return fmt.Sprintf(`<span class="bar effect" style="--a:%.3f%%;--w:%.3f%%;--l:%.3f%%;--h:%.3f%%" aria-hidden="true"><i></i>%s</span>`,
			min(v, 50), math.Abs(v-50), l, h, whisker)
	}
	return fmt.Sprintf(`<span class="bar" style="--v:%.3f%%;--l:%.3f%%;--h:%.3f%%" aria-hidden="true"><i></i>%s</span>`, v, l, h, whisker)
}

// leastLetter is the smallest share of a bar that fits a letter.
const leastLetter = 0.09

func stack(list []Share) string {
	var b strings.Builder
	b.WriteString(`<span class="ends" aria-hidden="true">`)
	for _, s := range list {
		letter := ""
		if s.Share >= leastLetter {
			letter = attr(s.Letter)
		}
		fmt.Fprintf(&b, `<i class="f-%s" style="--s:%.3f%%">%s</i>`, Slug(s.Class), percent(s.Share), letter)
	}
	b.WriteString(`</span>`)
	return b.String()
}
