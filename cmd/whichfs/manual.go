package main

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/alecthomas/kong"

	"whichfs/internal/report/prose"
	"whichfs/internal/result"
	"whichfs/internal/sys/build"
)

// manualCmd writes the manual pages. They follow from what --help prints and from the examples of the
// documents. Packages are built with it.
type manualCmd struct {
	Dir string `arg:"" help:"Directory for the pages."`
}

func (c *manualCmd) Run(k *kong.Context) error {
	if err := os.MkdirAll(c.Dir, 0o755); err != nil {
		return err
	}
	day := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC) // of a program built by hand
	if _, when := build.Commit(); when != "" {
		var err error
		if day, err = time.Parse(time.RFC3339, when); err != nil {
			return err
		}
	}
	examples, err := exampleLines()
	if err != nil {
		return err
	}
	for _, p := range manualPages(k.Model, examples, day) {
		if err := os.WriteFile(filepath.Join(c.Dir, p.name+".1"), []byte(p.text), 0o644); err != nil {
			return result.Refuse("name another directory", "%v", err)
		}
	}
	return nil
}

// manualPage is a page in mdoc(7).
type manualPage struct{ name, text string }

// manualPages are a page of the program and one of every command.
func manualPages(app *kong.Application, examples []string, day time.Time) []manualPage {
	commands := app.Leaves(true)
	all := []manualPage{programPage(app, commands, day)}
	for _, n := range commands {
		all = append(all, commandPage(n, examples, day))
	}
	return all
}

// pageName is the name of a command's page.
func pageName(n *kong.Node) string { return strings.ReplaceAll(n.FullPath(), " ", "-") }

// mdoc collects the lines of a page.
type mdoc struct{ strings.Builder }

func (m *mdoc) head(name, about string, day time.Time) {
	m.macro("Dd %s", day.Format("January 2, 2006"))
	m.macro("Dt %s 1", strings.ToUpper(name))
	m.macro("Os")
	m.macro("Sh NAME")
	m.macro("Nm %s", name)
	m.macro("Nd %s", escaped(strings.TrimRight(about, ".?")))
	m.macro("Sh SYNOPSIS")
}

func (m *mdoc) macro(format string, args ...any) { fmt.Fprintf(m, "."+format+"\n", args...) }

var sentence = regexp.MustCompile(`([.!?]\)?) +`)

// prose writes text, each sentence on a line of its own.
func (m *mdoc) prose(s string) {
	for line := range strings.Lines(sentence.ReplaceAllString(strings.TrimSpace(s), "$1\n")) {
		for _, part := range prose.Fold(strings.TrimSpace(line), 76) {
			part = escaped(part)
			if strings.HasPrefix(part, ".") || strings.HasPrefix(part, "'") {
				part = `\&` + part
			}
			m.WriteString(part + "\n")
		}
	}
}

// escaped is text that troff prints as it is.
func escaped(s string) string {
	return strings.NewReplacer(`\`, `\e`, "^", `\(ha`, "~", `\(ti`, "`", `\(ga`).Replace(s)
}

// word is an argument of a macro: nothing in it is a macro or a delimiter.
func word(s string) string {
	s = strings.ReplaceAll(escaped(s), "-", `\-`)
	if strings.ContainsAny(s, ` "`) {
		return `"` + strings.ReplaceAll(s, `"`, `\(dq`) + `"`
	}
	return `\&` + s
}

// flags lists flags with their help texts.
func (m *mdoc) flags(flags []*kong.Flag) {
	m.macro("Bl -tag -width Ds")
	for _, f := range flags {
		name := "-" + f.Name
		if f.Tag.Negatable != "" {
			name = "-[no-]" + f.Name
		}
		tag := "It Fl " + word(name)
		if f.Short != 0 {
			tag = "It Fl " + string(f.Short) + " , " + tag[len("It "):]
		}
		if !f.IsBool() && !f.IsCounter() {
			tag += " Ns = Ns Ar " + word(f.FormatPlaceHolder())
		}
		m.macro("%s", tag)
		m.prose(kong.DefaultHelpValueFormatter(f.Value))
	}
	m.macro("El")
}

func programPage(app *kong.Application, commands []*kong.Node, day time.Time) manualPage {
	var m mdoc
	about, _, _ := strings.Cut(app.Help, "\n")
	m.head(app.Name, about, day)
	m.macro("Nm")
	m.macro("Ar command")
	m.macro("Op Ar flag ...")
	m.macro("Sh DESCRIPTION")
	m.macro("Nm")
	m.prose("runs the real filesystems of a real kernel on storage and boards, or in a lab of guests and simulated cards that needs no root. It answers with a verdict, its confidence, its reasons and the raw figures. " +
		"It never writes to a real device without --destroy, and only to the exact device that its ID names.")
	m.macro("Pp")
	m.prose("The commands, each with a page of its own:")
	m.macro("Bl -tag -width Ds")
	for _, n := range commands {
		m.macro("It Cm %s", escaped(n.Path()))
		m.prose(n.Help)
	}
	m.macro("El")
	m.macro("Pp")
	m.prose("These flags go with every command:")
	m.flags(app.Flags)
	m.macro("Sh EXIT STATUS")
	m.macro("Bl -tag -width 130 -compact")
	for _, e := range exits {
		m.macro("It %d", e.code)
		m.prose(e.text + ".")
	}
	m.macro("El")
	m.macro("Sh SEE ALSO")
	var names []string
	for _, n := range commands {
		names = append(names, pageName(n))
	}
	slices.Sort(names)
	for _, name := range names[:len(names)-1] {
		m.macro("Xr %s 1 ,", name)
	}
	m.macro("Xr %s 1", names[len(names)-1])
	m.macro("Pp")
	m.prose(topicHelp())
	return manualPage{app.Name, m.String()}
}

func commandPage(n *kong.Node, examples []string, day time.Time) manualPage {
	var m mdoc
	name := pageName(n)
	m.head(name, n.Help, day)
	m.macro("Nm %s", n.FullPath())
	m.macro("Op Ar flag ...")
	for _, p := range n.Positional {
		dots := ""
		if p.IsCumulative() {
			dots = " ..."
		}
		if p.Required {
			m.macro("Ar %s%s", escaped(p.Name), dots)
		} else {
			m.macro("Op Ar %s%s", escaped(p.Name), dots)
		}
	}
	m.macro("Sh DESCRIPTION")
	m.prose(n.Help)
	if n.Detail != "" {
		m.macro("Pp")
		m.prose(n.Detail)
	}
	if len(n.Positional) > 0 {
		m.macro("Bl -tag -width Ds")
		for _, p := range n.Positional {
			m.macro("It Ar %s", escaped(p.Name))
			m.prose(p.Help)
		}
		m.macro("El")
	}
	var groups []string
	byGroup := map[string][]*kong.Flag{}
	for _, f := range n.Flags {
		if f.Hidden {
			continue
		}
		title := ""
		if f.Group != nil {
			title = f.Group.Title
		}
		if byGroup[title] == nil {
			groups = append(groups, title)
		}
		byGroup[title] = append(byGroup[title], f)
	}
	for _, title := range groups {
		if title == "" {
			title = "Flags"
			byGroup[title] = byGroup[""]
		}
		m.macro("Ss %s", escaped(title))
		m.flags(byGroup[title])
	}
	m.macro("Pp")
	m.prose("The flags of every command and the exit status are described in")
	m.macro("Xr whichfs 1 .")
	var fitting []string
	for _, line := range examples {
		if bare := strings.TrimPrefix(line, "sudo "); bare == n.FullPath() || strings.HasPrefix(bare, n.FullPath()+" ") {
			fitting = append(fitting, line)
		}
	}
	if len(fitting) > 0 {
		m.macro("Sh EXAMPLES")
		for i, line := range fitting {
			command, comment, _ := strings.Cut(line, "  #")
			if i > 0 {
				m.macro("Pp")
			}
			if comment = strings.TrimSpace(comment); comment != "" {
				m.prose(strings.ToUpper(comment[:1]) + comment[1:] + ":")
			}
			m.macro("Dl %s", word(strings.TrimSpace(command)))
		}
	}
	m.macro("Sh SEE ALSO")
	m.macro("Xr whichfs 1")
	return manualPage{name, m.String()}
}

var fence = regexp.MustCompile("(?ms)^```[a-z]*\n(.*?)^```")

// exampleLines are the command lines of the documents, each once.
func exampleLines() (lines []string, err error) {
	seen := map[string]bool{}
	for _, name := range topics() {
		text, err := topic(name)
		if err != nil {
			return nil, err
		}
		for _, b := range fence.FindAllSubmatch(text, -1) {
			for line := range strings.Lines(string(b[1])) {
				line = strings.TrimSpace(line)
				command, _, _ := strings.Cut(line, "  #")
				if strings.HasPrefix(strings.TrimPrefix(line, "sudo "), "whichfs ") && !seen[strings.TrimSpace(command)] {
					seen[strings.TrimSpace(command)] = true
					lines = append(lines, line)
				}
			}
		}
	}
	return lines, nil
}
