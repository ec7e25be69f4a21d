// Package tried holds the results from the laboratory for each filesystem: one text per filesystem,
// with a section for every candidate that was tried. Tests of internal/host/machine/usermode try it
// again in guests, and TestContract of internal/filesystem compares each filesystem's file with it.
// No program contains it.
//
// A line that begins at the left is a candidate; the indented lines below it are a key and the
// observation:
//
//	threads  the kernel threads of a mounted one, including its module's; "none"
//	count    their number in Linux 6.1
//	held     the least memory in bytes that it holds while it is mounted, with the
//	         virtual lab's kernel; 0 if that is little
//	holds    of symlinks, owners, groups, specials, hardlinks, case and
//	         colons (in names) those that it preserves; "nothing"
//	name     the length in bytes of the longest name
//	below    the result on storage that is one block of 4 KiB too small: the
//	         failing phase and its message; "nothing" if nothing fails
//	can      the abilities that were shown (Abilities); "nothing"
//	with     the kernel and the package with which they were
//	warns    what the kernel warns of each time
package tried

import (
	"embed"
	"fmt"
	"strings"
)

//go:embed *.txt
var texts embed.FS

// Candidate holds the observations for one candidate.
type Candidate struct {
	Line string
	seen map[string][]string
}

// Of returns the observations for a filesystem's candidates, the one without options first; nil if
// nothing was tried.
func Of(filesystem string) ([]Candidate, error) {
	text, err := texts.ReadFile(filesystem + ".txt")
	if err != nil {
		return nil, fmt.Errorf("tried/%s.txt: %w", filesystem, err)
	}
	return parse(filesystem, string(text))
}

func parse(filesystem, text string) ([]Candidate, error) {
	var all []Candidate
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, " \n")
		indented := strings.TrimLeft(line, " ")
		switch key, value, _ := strings.Cut(indented, " "); {
		case line == "":
		case line == indented:
			all = append(all, Candidate{line, map[string][]string{}})
		case len(all) == 0 || strings.TrimSpace(value) == "":
			return nil, fmt.Errorf("tried/%s.txt: %q belongs to no candidate, or says nothing", filesystem, line)
		default:
			last := all[len(all)-1]
			last.seen[key] = append(last.seen[key], strings.TrimSpace(value))
		}
	}
	if len(all) == 0 || all[0].Line != filesystem {
		return nil, fmt.Errorf("tried/%s.txt: %s without options is not the first candidate", filesystem, filesystem)
	}
	return all, nil
}

// Get is the first line of a key.
func (c Candidate) Get(key string) (string, bool) {
	if lines := c.seen[key]; len(lines) > 0 {
		return lines[0], true
	}
	return "", false
}

// All are all lines of a key.
func (c Candidate) All(key string) []string { return c.seen[key] }
