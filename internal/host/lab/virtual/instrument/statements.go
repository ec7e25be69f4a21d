package instrument

import (
	"fmt"
	"strings"
)

// enter changes to a section. Flags are those of its first declaration.
func (f *file) enter(name, arguments string) {
	f.before, f.longs = f.now, 0
	r, ok := f.roles[name]
	if !ok {
		r = roleOf(name, arguments)
		f.roles[name] = r
	}
	f.now = section{name: name, role: r}
}

func roleOf(name, arguments string) role {
	flags := ""
	if _, after, ok := strings.Cut(arguments, "\""); ok {
		flags, _, _ = strings.Cut(after, "\"")
	}
	switch {
	case name == ".altinstr_replacement" || name == ".altinstr_aux" || name == ".__syscall_stub":
		return foreign
	case name == "__ex_table":
		return faults
	case name == ".altinstructions":
		return lengths
	case begins(name, "__bug_table", "__jump_table", ".smp_locks", ".parainstructions", ".retpoline_sites", ".return_sites", ".call_sites", ".ibt_endbr_seal"):
		return marks
	case begins(name, ".discard", ".orc", ".debug", ".eh_frame", ".note", ".comment"):
		return ignored
	case strings.Contains(flags, "x") || strings.Contains(name, ".text") || name == ".fixup" || name == ".init" || name == ".fini":
		return code
	}
	return data
}

func begins(s string, with ...string) bool {
	for _, w := range with {
		if strings.HasPrefix(s, w) {
			return true
		}
	}
	return false
}

// directive takes a statement that begins with a dot.
func (f *file) directive(name, arguments string, start, end int) error {
	switch name {
	case ".text", ".data", ".bss":
		f.enter(name, "")
		f.subsection(arguments)
	case ".section", ".pushsection":
		if name == ".pushsection" {
			f.pushed = append(f.pushed, [2]section{f.now, f.before})
		}
		section, flags, _ := strings.Cut(arguments, ",")
		f.enter(strings.Trim(strings.TrimSpace(section), "\""), flags)
	case ".subsection":
		f.before = f.now
		f.now.name, _, _ = strings.Cut(f.now.name, "\x00")
		f.subsection(arguments)
	case ".previous":
		f.now, f.before = f.before, f.now
	case ".popsection":
		n := len(f.pushed) - 1
		if n < 0 {
			return fmt.Errorf(".popsection without .pushsection")
		}
		f.now, f.before = f.pushed[n][0], f.pushed[n][1]
		f.pushed = f.pushed[:n]
	case ".macro":
		f.macros[token(strings.TrimSpace(arguments))] = true
		f.body = append(f.body, ".endm")
	case ".rept", ".irp", ".irpc":
		f.body = append(f.body, ".endr")
		f.each(arguments, true, func(l *label) { l.entry, l.taken = true, true })
		f.add(item{kind: barrierItem, start: start, end: end})
	case ".endm", ".endr":
		return fmt.Errorf("%s without a beginning", name)
	case ".code16", ".code16gcc", ".code32":
		f.narrow = true
	case ".code64":
		f.narrow = false
	case ".intel_syntax":
		return fmt.Errorf("the syntax is not that of AT&T")
	case ".globl", ".global", ".weak":
		f.each(arguments, false, func(l *label) { l.entry, l.taken = true, true })
	case ".type":
		if symbol := token(arguments); symbol != "" && strings.Contains(strings.ToLower(arguments[len(symbol):]), "func") {
			l := f.named(symbol)
			l.entry, l.taken = true, true
		}
	case ".set", ".equ", ".equiv":
		symbol, value, _ := strings.Cut(arguments, ",")
		return f.alias(strings.TrimSpace(symbol), value, start)
	case ".align", ".balign", ".p2align":
		f.longs = 0
	default:
		f.emit(name, arguments, start, end)
	}
	return nil
}

func (f *file) subsection(arguments string) {
	if n := strings.TrimSpace(arguments); n != "" && n != "0" {
		f.now.name += "\x00" + n
	}
}

// alias takes another name: what it stands for may be jumped to, but not a
// difference.
func (f *file) alias(name, value string, start int) error {
	value = strings.TrimSpace(value)
	switch word := token(value); {
	case word == "." && value == "." && name != ".":
		l := f.named(name)
		l.entry, l.taken = true, true
		return f.define(name, start, start)
	case word != "" && word == value && word != ".":
		f.each(value, false, func(l *label) { l.entry, l.taken = true, true })
	}
	return nil
}

// emit takes a directive that may emit data, and whose labels may be referred to.
func (f *file) emit(name, arguments string, start, end int) {
	switch name {
	case ".byte", ".word", ".short", ".value", ".hword", ".2byte", ".long", ".int", ".4byte", ".quad", ".8byte", ".octa",
		".uleb128", ".sleb128", ".reloc", ".dc.b", ".dc.w", ".dc.l", ".dc.a", ".insn":
		f.table(arguments)
	case ".skip", ".space", ".fill", ".org", ".zero", ".nops":
		f.freeze(arguments)
		return
	case ".ascii", ".asciz", ".string", ".string8", ".incbin", ".include", ".float", ".single", ".double":
	default:
		if !begins(name, ".if", ".else", ".endif") {
			return
		}
		// Of labels with the same number, the wrong one may be found.
		f.conditional = f.conditional || f.now.role == code
	}
	if f.narrow || f.now.role != code {
		return
	}
	it := item{kind: barrierItem, start: start, end: end}
	if name == ".byte" || name == ".insn" {
		it.kind, it.effect = instructionItem, unknown
	}
	f.add(it)
}

// table takes what data refer to.
func (f *file) table(arguments string) {
	switch f.now.role {
	case ignored:
	case lengths:
		f.freeze(arguments)
	case faults:
		// Its entries are the instruction, where it goes on, and how.
		f.each(arguments, false, func(l *label) { l.pinned = l.pinned || f.longs == 0 })
		f.longs++
	case marks:
		f.each(arguments, false, func(l *label) { l.pinned = l.pinned || l.local() })
	default:
		f.each(arguments, false, func(l *label) { l.entry, l.taken = true, true })
	}
}

// freeze keeps the bytes between labels as they are.
func (f *file) freeze(arguments string) {
	var group []*label
	f.each(arguments, false, func(l *label) { group = append(group, l) })
	if group != nil {
		f.frozen = append(f.frozen, group)
	}
}

// prefixes belong to the instruction behind them.
var prefixes = map[string]bool{
	"lock": true, "rep": true, "repe": true, "repz": true, "repne": true, "repnz": true,
	"data16": true, "addr32": true, "rex": true, "rex64": true, "rex.w": true, "notrack": true, "bnd": true,
	"xacquire": true, "xrelease": true, "cs": true, "ds": true, "es": true, "fs": true, "gs": true, "ss": true,
}

// instruction takes an instruction, or a prefix as a statement of its own.
func (f *file) instruction(name, s string, start, end int) error {
	if f.now.role != code && f.now.role != foreign {
		f.mention(s, start)
		return nil
	}
	if f.narrow {
		f.add(item{kind: barrierItem, start: start, end: end})
		return nil
	}
	st, whole := &stream{}, start
	if f.now.role == code {
		st = f.stream()
	}
	for s != "" && (prefixes[name] || s[0] == '{') {
		word := name
		if s[0] == '{' {
			if word, _, _ = strings.Cut(s, "}"); len(word) < len(s) {
				word += "}"
			}
		}
		if f.now.role == code && st.prefix < 0 {
			st.prefix = start
		}
		st.repeat = st.repeat || begins(name, "rep")
		rest := strings.TrimLeft(s[len(word):], " \t\r\f\v")
		whole, s = whole+len(s)-len(rest), rest
		name = strings.ToLower(token(s))
	}
	if s == "" {
		return nil
	}
	if name == "" || name[0] < 'a' || name[0] > 'z' {
		return fmt.Errorf("no instruction: %q", s)
	}
	operands := strings.TrimSpace(s[len(name):])
	f.mention(s, whole)
	it := item{kind: instructionItem, start: start, end: end}
	if err := f.flow(&it, name, operands); err != nil {
		return err
	}
	it.effect = effectOf(name, operands, st.repeat)
	if st.repeat && begins(name, "movs", "stos") && !vector(operands) {
		if it.copies = width(name); it.copies == 0 {
			return fmt.Errorf("the width of %q is unknown", s)
		}
	}
	f.add(it)
	return nil
}

// width is the counter of a string instruction.
func width(name string) int {
	switch name {
	case "movsb", "stosb":
		return Bytes
	case "movsw", "stosw":
		return Words
	case "movsl", "stosl", "movsd", "stosd":
		return Longs
	case "movsq", "stosq":
		return Quads
	}
	return 0
}

// mention notes references to the functions that Uncounted replaces.
func (f *file) mention(s string, start int) {
	if !strings.Contains(s, "mem") {
		return
	}
	f.eachName(s, true, func(name string, at int) {
		if copiers[name] != "" {
			f.mentions = append(f.mentions, mention{name, start + at})
		}
	})
}

// flow finds where an instruction leads, and what it refers to.
func (f *file) flow(it *item, name, operands string) error {
	base := name
	if n := len(name) - 1; n > 0 && (name[n] == 'q' || name[n] == 'l' || name[n] == 'w') {
		base = name[:n]
	}
	indirect := strings.HasPrefix(operands, "*")
	switch {
	case name == "call" || base == "call":
		it.control = call
	case name == "ljmp" || base == "jmp" && indirect:
		it.control = wild
	case base == "jmp":
		it.control = jump
	case name[0] == 'j' || begins(name, "loop") || name == "xbegin":
		it.control = branch
	case base == "ret" || name == "lret" || base == "iret" || base == "sysret" || base == "sysexit":
		it.control = leave
	}
	if it.control == next || indirect || it.control == wild {
		f.each(operands, false, func(l *label) { l.entry, l.taken = true, true })
		return nil
	}
	if it.control == leave {
		return nil
	}
	if operands == "" {
		return fmt.Errorf("%s leads nowhere", name)
	}
	// gcc's hints whether a jump is likely are part of the mnemonic.
	if i := strings.IndexAny(operands, " \t"); i > 0 && operands[0] == ',' {
		operands = strings.TrimSpace(operands[i:])
	}
	target := token(operands)
	plain := strings.TrimSuffix(operands, "@PLT")
	if target == "." || target == "" && plain != "" || target != plain {
		if strings.ContainsAny(operands, ".+-") {
			return fmt.Errorf("%s %s counts bytes, which change", name, operands)
		}
	}
	f.each(operands, false, func(l *label) {
		l.entry = true
		l.taken = l.taken || it.control == call
		it.label = l
	})
	return nil
}
