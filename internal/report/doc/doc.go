// Package doc is the document that every report is made as, once: sections of
// paragraphs, lists, tables and charts. Text renders it for a terminal, HTML as
// a page. The model holds content and no layout; both renderers make all that
// comes from outside (names, messages of kernels and tools) harmless, so that a
// builder need not think of it.
package doc

// Media are the places that a part of a document is for. The zero value is all
// of them; of a section and of a document's head, a full text and the page.
type Media uint8

// The media. A brief is the answer in a few lines for a terminal.
const (
	Brief Media = 1 << iota
	Full
	Page
)

func (m Media) in(where Media) bool { return m == 0 || m&where != 0 }

// long is where sections are, if nothing else is said.
func (m Media) long() Media {
	if m == 0 {
		return Full | Page
	}
	return m
}

// Tone is what a reader should feel about a text. Colour repeats it; a mark or
// the words say it first.
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
	Kicker   string // which command made it; on the page alone
	Window   string // title of the page's window, where it is longer than Title
	Version  string // of whichfs
	Source   string // what the title is from
	Reach    string // how far the figures can be trusted
	Warnings []string
	Facts    []Fact
	In       Media // of all of the head
	// AnswerFirst sets the facts and warnings of a page below its first section.
	AnswerFirst bool
	Sections    []Section
	Foot        string
}

// Block is a part of a section.
type Block interface{ media() Media }

// Section has a heading of its own. A section within a section has a smaller one.
type Section struct {
	ID    string
	Title string
	Nav   string // its title in the contents, where that is shorter
	State *State
	In    Media
	Body  []Block
}

// State stands beside a title: whether something is settled.
type State struct {
	Word string
	Tone Tone
}

// Part is a block with a title of its own, smaller than a section's.
type Part struct {
	ID, Title, Small string // small: beside the title
	State            *State
	Body             []Block
}

// Parts stand side by side where there is room.
type Parts struct {
	Style PartStyle
	List  []Part
	In    Media
}

// PartStyle says what parts are.
type PartStyle uint8

// The styles of parts.
const (
	Pictures  PartStyle = iota // bars and charts
	Answers                    // what the reader came for
	FactLists                  // lists of facts
)

// Fold hides its body on the page until it is asked for. A text has the body.
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

// Role is what a paragraph is for.
type Role uint8

// The roles.
const (
	Lead   Role = iota // explains what follows
	Answer             // what the reader came for
	Small              // an aside
)

// Items is a list. Its entries may have lists of their own.
type Items struct {
	List []Item
	In   Media
}

// Item is one entry of a list.
type Item struct {
	Mark    string // a sign that says what kind of entry it is
	Tone    Tone   // of the mark, or of the lead where there is none
	Lead    string // a name that the text is about
	Text    string
	Muted   bool   // of less weight than its neighbours
	Command string // what to type about it
	Sample  SVG    // a sign that the page draws in place of the mark
	Sub     []Item
	In      Media
}

// Warnings are what a reader has to keep in mind.
type Warnings struct{ List []string }

// Facts are names with values.
type Facts struct {
	List []Fact
	In   Media
}

// Fact is a name with its value. One without a value is left out.
type Fact struct {
	Name, Text string
	Tone       Tone
	Mark       bool  // runs that differ in it must not be compared silently
	Sample     Share // what a table shows it as
}

// Claims are statements, each with a verdict in a word.
type Claims struct{ List []Claim }

// Claim is a statement with its verdict.
type Claim struct {
	Mark, Word string
	Tone       Tone
	Text       string
	Below      []Item
}

// SVG is a drawing that was made of our own numbers and of escaped texts.
type SVG string

// Chart is a drawing on the page, and for a terminal blocks that say the same.
type Chart struct {
	SVG   SVG
	Label string // in a region that scrolls, where the drawing is wide
	Text  []Block
}

// Strip is a line of many points as one row of steps, for a terminal.
type Strip struct {
	Steps []float64 // shares of the highest
	Least bool      // where several points are in one place the lowest counts, not the highest
	Text  string
}

// Pre is text of a program as it came.
type Pre struct {
	Lines []string
	Most  int // last lines that a text shows; 0: all
	In    Media
}

// Commands are what to type next.
type Commands struct {
	List []Command
	In   Media
}

// Command is a command line and what it does.
type Command struct {
	Line, About string
	Whole       bool // a text does not break it into lines: it is to be copied
}

// Footnotes lists the notes of the cells since the last such list. A section
// ends with one by itself.
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

// Table is a table of cells.
type Table struct {
	ID      string
	Name    string // for those who cannot see what it stands below
	Caption string // shown above it on the page
	Style   Style
	Columns []Column
	Rows    []Row
	// Merge shows a name that several rows share only once in a text.
	Merge bool
	Below []Item // about the table, right below it
	In    Media
}

// Style is what a table is laid out for.
type Style uint8

// The styles of tables.
const (
	List   Style = iota // words
	Grid                // short cells, with a colour behind them
	Bars                // a bar in every row
	Scroll              // many figures: a region of the page that scrolls
	Legend              // of a chart
)

// Kind is what stands in a column.
type Kind uint8

// The kinds of columns. The first column has the names of the rows if no other
// is one of names.
const (
	Words Kind = iota
	Names
	Ranks
	Bar       // the cells' bars
	Figures   // aligned by their ends
	Estimates // figures with intervals, which a text aligns by their beginnings
	Ratios    // figures of less weight
)

// Column is the head of a column.
type Column struct {
	Head, Under string // under: a smaller line below the head
	Kind        Kind
	Flex        bool // a text may break it into lines
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
	Long   string // in place of the text where there is room: on the page
	Tail   string // belongs to the text, in smaller print
	Under  string // what the page has room for below it
	Detail string // below it on the page, a footnote in a text
	Absent string // why there is nothing: a footnote
	Foot   string // a footnote
	Tag    string // a word of few letters beside it, on the page
	Href   string // where the text leads, on the page
	Tone   Tone
	Shade  int // 1, worst, to 8, best: the colour behind the cell; 0: none
	Bar    *Span
	Stack  []Share
	Sample SVG
}

// Span is a bar: shares of the room that it has. Mid begins in the middle of the
// room, where a ratio of one is.
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

// Group gathers names that have a text in common, in the order of their first.
type Group struct {
	Text  string
	Names []string
}

// Groups collects them.
type Groups []Group

// Add puts a name to its text.
func (g *Groups) Add(text, name string) {
	for i := range *g {
		if (*g)[i].Text == text {
			(*g)[i].Names = append((*g)[i].Names, name)
			return
		}
	}
	*g = append(*g, Group{text, []string{name}})
}

// notes numbers footnotes, each text once.
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

// columns are those of a table that are in a medium, by their places, and the
// place of the one with the names.
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
