// Package doc is the document model of every report: sections of paragraphs,
// lists, tables and charts. Text renders it for a terminal, HTML as a page. The
// model holds content and no layout; both renderers sanitise everything from
// outside (names, messages of kernels and tools), so that a builder need not.
package doc

// Media are the media that show a part of a document. The zero value means all
// of them; for a section and for a document's head, a full text and the page.
type Media uint8

// The media. A brief is the answer in a few lines for a terminal.
const (
	Brief Media = 1 << iota
	Full
	Page
)

func (m Media) in(where Media) bool { return m == 0 || m&where != 0 }

// long is the default of sections.
func (m Media) long() Media {
	if m == 0 {
		return Full | Page
	}
	return m
}

// Tone is how a reader should take a text. Colour only repeats what a mark or
// the words say.
type Tone uint8

// The tones.
const (
	Plain Tone = iota
	Good
	Warn
	Bad
	Muted
	Strong
)

// Doc is a whole report: its head, and its sections.
type Doc struct {
	Title    string
	Kicker   string // the command that made it; only on the page
	Window   string // title of the page's window, if longer than Title
	Version  string // of whichfs
	Source   string // the source of the title
	Reach    string // what the figures can and cannot show
	Warnings []string
	Facts    []Fact
	In       Media // of the whole head
	// AnswerFirst puts a page's facts and warnings below its first section.
	AnswerFirst bool
	Sections    []Section
	Foot        string
}

// Block is a part of a section.
type Block interface{ media() Media }

// Section has its own heading; a nested section has a smaller one.
type Section struct {
	ID    string
	Title string
	Nav   string // its title in the contents, if shorter
	State *State
	In    Media
	Body  []Block
}

// State is shown beside a title: whether something is settled.
type State struct {
	Word string
	Tone Tone
}

// Part is a block with its own title, smaller than a section's.
type Part struct {
	ID, Title, Small string // small: beside the title
	State            *State
	Body             []Block
}

// Parts are laid out side by side if there is room.
type Parts struct {
	Style PartStyle
	List  []Part
	In    Media
}

// PartStyle is the kind of parts.
type PartStyle uint8

// The styles of parts.
const (
	Pictures  PartStyle = iota // bars and charts
	Answers                    // the main content
	FactLists                  // lists of facts
)

// Fold is collapsed on the page; a text shows its body.
type Fold struct {
	Summary, Small string
	Open           bool
	Body           []Block
	In             Media
}

// Para is a paragraph.
type Para struct {
	Role Role
	Text string
	In   Media
}

// Role is the purpose of a paragraph.
type Role uint8

// The roles.
const (
	Lead   Role = iota // explains what follows
	Answer             // the main content
	Small              // an aside
)

// Items is a list. Its entries may have nested lists.
type Items struct {
	List []Item
	In   Media
}

// Item is one entry of a list.
type Item struct {
	Mark    string // a sign for the kind of entry
	Tone    Tone   // of the mark, or of the lead if there is no mark
	Lead    string // the subject of the text
	Text    string
	Muted   bool   // less prominent than its neighbours
	Command string // a command for it
	Sample  SVG    // a sign that the page draws instead of the mark
	Sub     []Item
	In      Media
}

// Warnings are caveats for the reader.
type Warnings struct{ List []string }

// Facts are names with values.
type Facts struct {
	List []Fact
	In   Media
}

// Fact is a name with its value. A fact without a value is left out.
type Fact struct {
	Name, Text string
	Tone       Tone
	Mark       bool  // runs that differ in it must not be compared silently
	Sample     Share // its form in a table
}

// Claims are statements, each with a one-word verdict.
type Claims struct{ List []Claim }

// Claim is a statement with its verdict.
type Claim struct {
	Mark, Word string
	Tone       Tone
	Text       string
	Below      []Item
}

// SVG is a drawing made from our own numbers and escaped texts.
type SVG string

// Chart is a drawing on the page, with equivalent blocks for a terminal.
type Chart struct {
	SVG   SVG
	Label string // in a scrolling region, for a wide drawing
	Text  []Block
}

// Strip shows a line of many points as one row of steps, for a terminal.
type Strip struct {
	Steps []float64 // as shares of the highest
	Least bool      // where several points fall in one place, show the lowest and not the highest
	Text  string
}

// Pre is verbatim text of a program.
type Pre struct {
	Lines []string
	Most  int // how many of the last lines a text shows; 0: all
	In    Media
}

// Commands are suggestions for the next command.
type Commands struct {
	List []Command
	In   Media
}

// Command is a command line and what it does.
type Command struct {
	Line, About string
	Whole       bool // a text keeps it on one line for copying
}

// Footnotes lists the notes of the cells since the last such list. Every
// section ends with one implicitly.
type Footnotes struct{}

func (s Section) media() Media  { return s.In }
func (p Parts) media() Media    { return p.In }
func (f Fold) media() Media     { return f.In }
func (p Para) media() Media     { return p.In }
func (i Items) media() Media    { return i.In }
func (Warnings) media() Media   { return 0 }
func (f Facts) media() Media    { return f.In }
func (Claims) media() Media     { return 0 }
func (Chart) media() Media      { return 0 }
func (Strip) media() Media      { return Full }
func (p Pre) media() Media      { return p.In }
func (c Commands) media() Media { return c.In }
func (Footnotes) media() Media  { return 0 }
func (t Table) media() Media    { return t.In }
func (Part) media() Media       { return 0 }
func (Form) media() Media       { return Page }
func (Links) media() Media      { return Page }

// Table is a table of cells.
type Table struct {
	ID      string
	Name    string // for readers who cannot see its context
	Caption string // shown above it on the page
	Style   Style
	Columns []Column
	Rows    []Row
	// Merge shows a name shared by several rows only once in a text.
	Merge bool
	Below []Item // about the table, right below it
	In    Media
}

// Style is the layout of a table.
type Style uint8

// The styles of tables.
const (
	List   Style = iota // words
	Grid                // short cells on a coloured background
	Bars                // a bar in every row
	Scroll              // many figures, in a scrolling region of the page
	Legend              // of a chart
)

// Kind is the kind of content of a column.
type Kind uint8

// The kinds of columns. Unless another column has kind Names, the first one
// names the rows.
const (
	Words Kind = iota
	Names
	Ranks
	Bar       // the cells' bars
	Figures   // aligned on the right
	Estimates // figures with intervals, which a text aligns on the left
	Ratios    // less prominent figures
)

// Column is the head of a column.
type Column struct {
	Head, Under string // under is a smaller line below the head
	Kind        Kind
	Flex        bool // a text may wrap it
	In          Media
}

// Row is a row of cells.
type Row struct {
	Cells []Cell
	Muted bool
	In    Media
}

// Cell is one field of a table.
type Cell struct {
	Text   string
	Long   string // replaces the text where there is room: on the page
	Tail   string // suffix of the text, in smaller print
	Under  string // extra text below it, on the page
	Detail string // below it on the page, a footnote in a text
	Absent string // why the cell is empty: a footnote
	Foot   string // a footnote
	Tag    string // a short word beside it, on the page
	Href   string // target of a link, on the page
	Origin string // where a site shows what it is made from, relative to the site's document
	Check  *Check // chooses the row in a form
	Tone   Tone
	Shade  int // background colour, from 1, worst, to 8, best; 0: none
	Bar    *Span
	Stack  []Share
	Sample SVG
}

// Span is a bar, in shares of its room. Mid begins in the middle of the room,
// at a ratio of one.
type Span struct {
	Value, Low, High float64
	Whisker, Mid     bool
}

// Share is a part of a stacked bar.
type Share struct {
	Class, Letter string
	Share         float64
}

// T is a cell of plain text.
func T(text string) Cell { return Cell{Text: text} }

// Row of plain texts.
func Texts(texts ...string) Row {
	var r Row
	for _, t := range texts {
		r.Cells = append(r.Cells, T(t))
	}
	return r
}

// Heads are columns of one kind.
func Heads(kind Kind, flex bool, names ...string) []Column {
	var out []Column
	for _, n := range names {
		out = append(out, Column{Head: n, Kind: kind, Flex: flex})
	}
	return out
}

// Group is a text with the names that share it, in order of first appearance.
type Group struct {
	Text  string
	Names []string
}

// Groups collects them.
type Groups []Group

// Add adds a name to the group of its text.
func (g *Groups) Add(text, name string) {
	for i := range *g {
		if (*g)[i].Text == text {
			(*g)[i].Names = append((*g)[i].Names, name)
			return
		}
	}
	*g = append(*g, Group{text, []string{name}})
}

// notes numbers footnotes; equal texts share a number.
type notes struct{ texts []string }

func (n *notes) mark(text string) string {
	for i, t := range n.texts {
		if t == text {
			return Letter(i)
		}
	}
	n.texts = append(n.texts, text)
	return Letter(len(n.texts) - 1)
}

// Letter counts a, b, …, z, aa.
func Letter(i int) string {
	s := string(rune('a' + i%26))
	if i >= 26 {
		return Letter(i/26-1) + s
	}
	return s
}

// columns returns the indexes of the columns shown in a medium, and the index
// of the column with the names.
func (t Table) columns(where Media) (shown []int, names int) {
	for j, c := range t.Columns {
		if !c.In.in(where) {
			continue
		}
		shown = append(shown, j)
		if c.Kind == Names {
			names = j
		}
	}
	if len(shown) > 0 && t.Columns[names].Kind != Names {
		names = shown[0]
	}
	return shown, names
}

func (t Table) rows(where Media) []Row {
	var out []Row
	for _, r := range t.Rows {
		if r.In.in(where) {
			for len(r.Cells) < len(t.Columns) {
				r.Cells = append(r.Cells, Cell{})
			}
			out = append(out, r)
		}
	}
	return out
}
