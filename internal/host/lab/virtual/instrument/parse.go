package instrument

import (
	"fmt"
	"strconv"
	"strings"
)

type itemKind uint8

const (
	labelItem itemKind = iota + 1
	instructionItem
	// barrierItem is what control may enter, leave and pass by other ways than the
	// text says: a macro, a condition, data among code.
	barrierItem
)

// control is where an instruction leads.
type control uint8

const (
	next   control = iota // to the next one
	branch                // there, or to the target
	jump                  // to the target
	wild                  // to any label that has its address taken
	leave                 // out of the function
	call                  // to the next one, after another function
)

// item is a thing in the stream of code of a section.
type item struct {
	kind       itemKind
	control    control
	inline     bool // in inline assembly
	start, end int  // in the text
	line       int
	label      *label // of a label, or the target of a jump
	effect     effect
	copies     int // the counter that %rcx is added to before, or 0
}

// label is a symbol or a numeric label, which may be referred to before it is
// defined, and be defined more than once where conditions choose.
type label struct {
	name        string
	stream      *stream // with its definition, nil if that is not code
	at          int     // in the stream's items
	definitions int
	entry       bool // control may come from elsewhere: a block begins
	taken       bool // ... by an address
	pinned      bool // belongs to the instruction behind it
	block       int  // that it begins, counted from 1; -1 if what follows is no block
}

func (l *label) defined() bool { return l.definitions > 0 }

// local is whether a label is one of those of the compiler or of numbers, which
// tables describe instructions by.
func (l *label) local() bool {
	return strings.HasPrefix(l.name, ".L") || l.name[0] >= '0' && l.name[0] <= '9'
}

// stream is the code of a section, in the order of its addresses.
type stream struct {
	items  []item
	prefix int // where the statement of a prefix began, or -1
	repeat bool
}

type role uint8

const (
	data    role = iota // what it refers to may be jumped to
	code                // is counted
	foreign             // code that is not
	faults              // the exception table
	lengths             // describes instructions, and how many bytes they have
	marks               // describes instructions
	ignored
)

type section struct {
	name string // with the subsection
	role role
}

type mention struct {
	name string
	at   int
}

type file struct {
	text     string
	streams  []*stream
	names    map[string]*label
	mentions []mention // of copiers, in instructions
	compiled bool      // by gcc, and therefore keeping to the ABI
	edits    []edit

	byName            map[string]*stream
	roles             map[string]role
	now, before       section
	pushed            [][2]section
	backward, forward map[string]*label
	frozen            [][]*label // the bytes between these are counted by others
	macros            map[string]bool
	everywhere        map[string]bool // numeric labels that bodies of macros refer to
	body              []string        // ends of the macros and repetitions that the text is in
	conditional       bool
	inline            bool
	narrow            bool // 16-bit or 32-bit code
	longs             int  // in the entry of the exception table
	line              int
}

func parse(text string) (*file, error) {
	f := &file{
		text: text, names: map[string]*label{}, compiled: strings.Contains(text, "\t.ident\t\"GCC:"),
		byName: map[string]*stream{}, roles: map[string]role{},
		backward: map[string]*label{}, forward: map[string]*label{}, macros: map[string]bool{}, everywhere: map[string]bool{},
	}
	f.enter(".text", "")
	f.before = f.now
	if err := f.scan(); err != nil {
		return nil, fmt.Errorf("line %d: %w", f.line, err)
	}
	if len(f.body) > 0 {
		return nil, fmt.Errorf("%s is missing at the end", f.body[len(f.body)-1])
	}
	for _, s := range f.streams {
		if s.prefix >= 0 {
			return nil, fmt.Errorf("a prefix has no instruction: %q", firstLine(text[s.prefix:]))
		}
	}
	return f, nil
}

func firstLine(s string) string { s, _, _ = strings.Cut(s, "\n"); return s }

func space(c byte) bool { return c == ' ' || c == '\t' || c == '\r' || c == '\f' || c == '\v' }

// scan splits the text into statements.
func (f *file) scan() error {
	f.line = 1
	for i := 0; i < len(f.text); {
		switch c := f.text[i]; {
		case c == '\n':
			f.line++
			i++
		case space(c) || c == ';':
			i++
		case c == '#':
			i = f.comment(i)
		case strings.HasPrefix(f.text[i:], "/*"):
			end := strings.Index(f.text[i+2:], "*/")
			if end < 0 {
				return fmt.Errorf("a comment does not end")
			}
			f.line += strings.Count(f.text[i:i+2+end], "\n")
			i += end + 4
		default:
			end, clean, err := f.statement(i)
			if err != nil {
				return err
			}
			if err := f.take(i, strings.TrimRight(clean, " \t\r\f\v")); err != nil {
				return err
			}
			f.line += strings.Count(f.text[i:end], "\n")
			i = end
		}
	}
	return nil
}

// comment passes by the rest of a line. gcc marks inline assembly by comments.
func (f *file) comment(i int) int {
	rest := firstLine(f.text[i:])
	switch strings.TrimRight(rest, " \t\r") {
	case "#APP":
		f.inline = true
	case "#NO_APP":
		f.inline = false
	}
	return i + len(rest)
}

// statement finds the end of the one that begins at an offset, and returns it with
// its comments blanked.
func (f *file) statement(start int) (int, string, error) {
	var clean strings.Builder
	i, copied := start, start
scan:
	for i < len(f.text) {
		switch c := f.text[i]; {
		case c == '\n' || c == ';' || c == '#':
			break scan
		case c == '"':
			for i++; i < len(f.text) && f.text[i] != '"' && f.text[i] != '\n'; i++ {
				if f.text[i] == '\\' {
					i++
				}
			}
			if i >= len(f.text) || f.text[i] == '\n' {
				return 0, "", fmt.Errorf("a string does not end")
			}
		case c == '\'' && i+1 < len(f.text) && f.text[i+1] == '\\' && i+2 < len(f.text) && f.text[i+2] != '\n':
			i += 2
		case c == '\'' && i+1 < len(f.text) && f.text[i+1] != '\n':
			i++
		case c == '/' && strings.HasPrefix(f.text[i:], "/*"):
			end := strings.Index(f.text[i+2:], "*/")
			if end < 0 {
				return 0, "", fmt.Errorf("a comment does not end")
			}
			clean.WriteString(f.text[copied:i])
			clean.WriteString(strings.Repeat(" ", end+4))
			i += end + 3
			copied = i + 1
		}
		i++
	}
	if copied == start {
		return i, f.text[start:i], nil
	}
	clean.WriteString(f.text[copied:i])
	return i, clean.String(), nil
}

// take takes a statement, which may have labels before it.
func (f *file) take(start int, s string) error {
	for {
		word := token(s)
		rest := strings.TrimLeft(s[len(word):], " \t")
		if word == "" || rest == "" || rest[0] != ':' {
			break
		}
		end := start + len(s) - len(rest) + 1
		if len(f.body) == 0 {
			if err := f.define(word, start, end); err != nil {
				return err
			}
		}
		rest = strings.TrimLeft(rest[1:], " \t\r\f\v")
		start, s = start+len(s)-len(rest), rest
	}
	word := token(s)
	if s == "" {
		return nil
	}
	rest := strings.TrimLeft(s[len(word):], " \t")
	name := strings.ToLower(word)
	switch {
	case len(f.body) > 0:
		f.inBody(name, s, start)
	case strings.HasPrefix(rest, "=") && word != "":
		return f.alias(word, strings.TrimLeft(rest, "="), start)
	case word != "" && word[0] == '.' && !f.macros[word]:
		return f.directive(name, rest, start, start+len(s))
	case f.macros[word]:
		f.mention(s, start)
		f.each(s[len(word):], true, func(l *label) { l.entry, l.taken = true, true })
		f.add(item{kind: barrierItem, start: start, end: start + len(s)})
	default:
		return f.instruction(name, s, start, start+len(s))
	}
	return nil
}

// inBody follows the nesting of macros and repetitions. What they refer to may be
// jumped to.
func (f *file) inBody(name, s string, start int) {
	switch name {
	case ".macro":
		f.macros[token(strings.TrimLeft(s[len(name):], " \t"))] = true
		f.body = append(f.body, ".endm")
	case ".rept", ".irp", ".irpc":
		f.body = append(f.body, ".endr")
	case f.body[len(f.body)-1]:
		f.body = f.body[:len(f.body)-1]
		return
	}
	if name == "" || name[0] != '.' {
		f.mention(s, start)
	}
	f.eachName(s, true, func(name string, _ int) {
		if n, ok := numeric(name); ok {
			f.everywhere[n] = true
		} else {
			l := f.named(name)
			l.entry, l.taken = true, true
		}
	})
}

func (f *file) stream() *stream {
	s := f.byName[f.now.name]
	if s == nil {
		s = &stream{prefix: -1}
		f.byName[f.now.name] = s
		f.streams = append(f.streams, s)
	}
	return s
}

// add adds to the code of the section, if it is code that counts.
func (f *file) add(it item) {
	if f.now.role != code {
		return
	}
	s := f.stream()
	it.line, it.inline = f.line, f.inline
	if s.prefix >= 0 && it.kind != labelItem {
		it.start = s.prefix
		s.prefix, s.repeat = -1, false
	}
	s.items = append(s.items, it)
}

func (f *file) named(name string) *label {
	l := f.names[name]
	if l == nil {
		l = &label{name: name}
		f.names[name] = l
	}
	return l
}

func (f *file) define(name string, start, end int) error {
	var l *label
	if name[0] >= '0' && name[0] <= '9' {
		if l = f.forward[name]; l == nil {
			l = &label{name: name}
		}
		delete(f.forward, name)
		f.backward[name] = l
	} else {
		l = f.named(name)
	}
	l.definitions++
	if f.now.role == code {
		s := f.stream()
		if s.prefix >= 0 {
			return fmt.Errorf("label %s parts an instruction from its prefix", name)
		}
		l.stream, l.at = s, len(s.items)
		f.add(item{kind: labelItem, label: l, start: start, end: end})
	}
	return nil
}

// token is the symbol, number or mnemonic that a text begins with.
func token(s string) string {
	for i := 0; i < len(s); i++ {
		c := s[i]
		if c != '_' && c != '.' && (c|0x20 < 'a' || c|0x20 > 'z') && (c < '0' || c > '9') && (c != '$' || i == 0) && c < 0x80 {
			return s[:i]
		}
	}
	return s
}

// numeric finds the label that 1b and 1f refer to.
func numeric(name string) (string, bool) {
	n := len(name) - 1
	if n < 1 || name[n] != 'b' && name[n] != 'f' || strings.Trim(name[:n], "0123456789") != "" {
		return "", false
	}
	return name[:n], true
}

// number reads a constant; what is none, such as an expression, is 0.
func number(s string) uint64 {
	n, err := strconv.ParseInt(strings.TrimSpace(s), 0, 64)
	if err != nil {
		return 0
	}
	return uint64(n)
}

// eachName finds the symbols of an expression or of operands, and where they are.
// Strings are passed by unless quoted.
func (f *file) eachName(s string, quoted bool, visit func(name string, at int)) {
	for i := 0; i < len(s); {
		switch c := s[i]; {
		case c == '%' || c == '@' || c == '\\' && quoted:
			i += 1 + len(token(s[i+1:]))
			continue
		case c == '\'':
			i += 2
			continue
		case c == '"' && !quoted:
			for i++; i < len(s) && s[i] != '"'; i++ {
				if s[i] == '\\' {
					i++
				}
			}
		}
		if i >= len(s) {
			return
		}
		word := token(s[i:])
		if word == "" {
			i++
			continue
		}
		if _, ok := numeric(word); ok || word[0] < '0' || word[0] > '9' {
			visit(word, i)
		}
		i += len(word)
	}
}

// each finds the labels that operands refer to.
func (f *file) each(s string, quoted bool, visit func(*label)) {
	f.eachName(s, quoted, func(name string, _ int) {
		if name != "." {
			visit(f.refer(name))
		}
	})
}

func (f *file) refer(name string) *label {
	n, ok := numeric(name)
	if !ok {
		return f.named(name)
	}
	labels := f.forward
	if strings.HasSuffix(name, "b") {
		labels = f.backward
	}
	if labels[n] == nil {
		labels[n] = &label{name: n}
	}
	return labels[n]
}
