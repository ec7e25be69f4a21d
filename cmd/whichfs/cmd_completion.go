package main

import (
	_ "embed"
	"fmt"
	"strings"

	"github.com/alecthomas/kong"
)

// completionCmd prints what a shell reads to complete command lines.
type completionCmd struct {
	Shell string `arg:"" enum:"bash,zsh,fish" help:"bash, zsh or fish."`
}

var (
	//go:embed completion/whichfs.bash
	bashScript string
	//go:embed completion/_whichfs
	zshScript string
	//go:embed completion/whichfs.fish
	fishScript string
)

func (c *completionCmd) Run(a *shell) error {
	_, err := fmt.Fprint(a.stdout, map[string]string{"bash": bashScript, "zsh": zshScript, "fish": fishScript}[c.Shell])
	return err
}

// completeCmd is what these scripts call: it prints a line for every way to complete the last word, with a
// description after a tab. The line :files asks for names of files as well.
type completeCmd struct {
	// Line and Word are what bash has: the line up to the cursor, and the part of its last word that
	// bash replaces.
	Line string `hidden:""`
	Word string `hidden:""`

	Words []string `arg:"" optional:"" passthrough:""`
}

func (c *completeCmd) Run(a *shell, k *kong.Context) error {
	words := c.Words
	if len(words) > 0 && words[0] == "--" {
		words = words[1:]
	}
	if c.Line != "" {
		if words = shellSplit(c.Line); len(words) > 0 {
			words = words[1:] // the program
		}
	} else if n := len(words); n > 0 {
		words[n-1] = strings.Join(shellSplit(words[n-1]), " ")
	}
	if len(words) == 0 {
		words = []string{""}
	}
	cut, quoted := 0, false
	if c.Line != "" {
		cut, quoted = replaced(words[len(words)-1], c.Word)
	}
	found := completions(a, k.Model.Node, words)
	for _, s := range found.list {
		text := s.text[min(cut, len(s.text)):]
		if c.Line != "" && !quoted {
			text = shellQuote(text)
		}
		fmt.Fprintf(a.stdout, "%s\t%s\n", text, strings.ReplaceAll(s.about, "\n", " "))
	}
	if found.files {
		fmt.Fprintln(a.stdout, ":files")
	}
	return nil
}

// replaced says how much of a word stays when bash replaces part, which is the end of the word as it was
// typed, and whether that is between quotes.
func replaced(word, part string) (stays int, quoted bool) {
	if part == "=" || part == ":" { // they separate words, and stay
		return len(word), false
	}
	if part != "" && strings.ContainsRune(`'"`, rune(part[0])) {
		part, quoted = part[1:], true
	} else {
		part = strings.Join(shellSplit(part), " ")
	}
	if !strings.HasSuffix(word, part) {
		return 0, quoted
	}
	return len(word) - len(part), quoted
}

// shellSplit splits a line as a shell does; the last word may be unfinished, and is empty after a blank.
func shellSplit(line string) (words []string) {
	var word strings.Builder
	var quote byte
	begun := true
	for i := 0; i < len(line); i++ {
		switch c := line[i]; {
		case quote != 0 && c == quote:
			quote = 0
		case c == '\\' && quote != '\'' && i+1 < len(line):
			i++
			word.WriteByte(line[i])
		case quote != 0:
			word.WriteByte(c)
		case c == '\'' || c == '"':
			quote, begun = c, true
		case c == ' ' || c == '\t':
			if word.Len() > 0 || begun {
				words = append(words, word.String())
			}
			word.Reset()
			for i+1 < len(line) && (line[i+1] == ' ' || line[i+1] == '\t') {
				i++
			}
			begun = true
		default:
			word.WriteByte(c)
		}
	}
	return append(words, word.String())
}

// shellQuote protects a word outside quotes.
func shellQuote(s string) string {
	var b strings.Builder
	for _, c := range s {
		if strings.ContainsRune(" \t'\"\\$&;|<>()*?[]#~`!{}^", c) {
			b.WriteByte('\\')
		}
		b.WriteRune(c)
	}
	return b.String()
}
