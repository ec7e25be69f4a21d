// Package instrument has a program count the instructions that it executes: it
// rewrites the assembly text that gcc hands to the assembler. The counts do not
// depend on the processor, so a clock that is charged by them repeats.
//
// The program must be linked below 2 GB, with a symbol tt_work for an array of
// Counters numbers of 64 bits. Code that runs where that array is not mapped, such
// as a vDSO, must not be rewritten; the section .__syscall_stub, which user-mode
// Linux maps into its processes, never is.
package instrument

import (
	"bytes"
	"fmt"
	"io"
	"slices"
	"strconv"
)

// Kind is what a file's code does: the counter of its instructions.
type Kind int

const (
	Other Kind = iota
	Compressing
	Checksums

	// Kinds is how many there are.
	Kinds
)

// The counters after those of the kinds: memory that was copied or set, in units
// of 1, 2, 4 and 8 bytes.
const (
	Bytes = int(Kinds) + iota
	Words
	Longs
	Quads

	// Counters is how many there are in all.
	Counters
)

// symbol names the counters.
const symbol = "tt_work"

// Rewrite copies assembly for amd64 (AT&T syntax, as gcc and the preprocessor
// write it) and has every basic block add its number of instructions to the counter
// of kind. Prefixes are part of their instruction, and a repeated one counts once;
// rep movs and rep stos also add %rcx to the counter of their width. A .byte among
// code is an instruction. Flags, registers and the red zone stay as they were.
//
// Bodies of macros and repetitions stay as they are, and count as nothing; so do
// 32-bit code, the padding of alignments, and what an alternative is replaced by. A
// macro must leave the section as it was. Errors name the line.
func Rewrite(w io.Writer, r io.Reader, kind Kind) error {
	if kind < 0 || kind >= Kinds {
		return fmt.Errorf("no kind of code: %d", kind)
	}
	f, err := read(r)
	if err != nil {
		return err
	}
	if err := f.count(kind); err != nil {
		return err
	}
	return f.write(w)
}

// copiers are the functions whose work is the bytes that they are asked for.
var copiers = map[string]string{
	"memcpy": "tt_uncounted_memcpy", "__memcpy": "tt_uncounted_memcpy",
	"memmove": "tt_uncounted_memmove", "__memmove": "tt_uncounted_memmove",
	"memset": "tt_uncounted_memset", "__memset": "tt_uncounted_memset",
}

// Copiers copies a file that implements memcpy, memmove or memset: each adds its
// length to the counter Bytes, and nothing else is counted. The global symbols
// tt_uncounted_memcpy, tt_uncounted_memmove and tt_uncounted_memset enter them
// behind that. A file without such a function is an error.
func Copiers(w io.Writer, r io.Reader) error {
	f, err := read(r)
	if err != nil {
		return err
	}
	for _, s := range f.streams {
		for i, it := range s.items {
			uncounted := ""
			if it.kind == labelItem {
				uncounted = copiers[it.label.name]
			}
			// Names of the same place count once, at the last of them.
			if uncounted == "" || i+1 < len(s.items) && s.items[i+1].kind == labelItem && copiers[s.items[i+1].label.name] == uncounted {
				continue
			}
			f.insert(it.end, fmt.Sprintf(" addq %%rdx, %s; .globl %s; %s: ", counter(Bytes), uncounted, uncounted))
		}
	}
	if len(f.edits) == 0 {
		return fmt.Errorf("no memcpy, memmove or memset is defined")
	}
	return f.write(w)
}

// Uncounted copies a file whose work is not counted: its instructions refer to
// tt_uncounted_memcpy, tt_uncounted_memmove and tt_uncounted_memset instead of
// memcpy, memmove and memset, which count.
func Uncounted(w io.Writer, r io.Reader) error {
	f, err := read(r)
	if err != nil {
		return err
	}
	for _, m := range f.mentions {
		if l := f.names[m.name]; l == nil || !l.defined() {
			f.edits = append(f.edits, edit{at: m.at, drop: len(m.name), text: copiers[m.name]})
		}
	}
	return f.write(w)
}

// counter is the operand of a counter. Its absolute address fits an instruction
// even where code is too far for one relative to it, as that of modules is.
func counter(n int) string { return symbol + "+" + strconv.Itoa(8*n) }

// edit replaces drop bytes of a file at an offset.
type edit struct {
	at, drop int
	text     string
}

func (f *file) insert(at int, text string) { f.edits = append(f.edits, edit{at: at, text: text}) }

// write writes the file with its edits; those at one place in their order.
func (f *file) write(w io.Writer) error {
	slices.SortStableFunc(f.edits, func(a, b edit) int { return a.at - b.at })
	var out bytes.Buffer
	out.Grow(len(f.text) + 40*len(f.edits))
	done := 0
	for _, e := range f.edits {
		out.WriteString(f.text[done:e.at])
		out.WriteString(e.text)
		done = e.at + e.drop
	}
	out.WriteString(f.text[done:])
	_, err := w.Write(out.Bytes())
	return err
}

func read(r io.Reader) (*file, error) {
	text, err := io.ReadAll(r)
	if err != nil {
		return nil, err
	}
	return parse(string(text))
}
