package main

import (
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/alecthomas/kong"

	"whichfs/docs"
	"whichfs/internal/report/prose"
	"whichfs/internal/result"
)

type helpCmd struct {
	Topic []string `complete:"topic" arg:"" optional:"" help:"A document or a command; without one: the list of the documents."`
}

// topics are the names of the documents. Those in folders are found through the links of these.
func topics() []string {
	names, err := fs.Glob(docs.Files, "*.md")
	if err != nil {
		panic(err) // of the pattern
	}
	for i, name := range names {
		names[i] = strings.TrimSuffix(name, ".md")
	}
	return names
}

// topic returns a document.
func topic(name string) ([]byte, error) { return docs.Files.ReadFile(name + ".md") }

// topicHelp lists the documents for --help.
func topicHelp() string {
	return "Documents, which whichfs help TOPIC shows: " + strings.Join(topics(), ", ") + "."
}

func (c *helpCmd) Run(a *shell, k *kong.Context) error {
	if len(c.Topic) == 0 {
		return listTopics(a)
	}
	if len(c.Topic) == 1 {
		name := strings.TrimSuffix(c.Topic[0], ".md")
		if text, err := topic(name); err == nil {
			return prose.Markdown(a.stdout, text, a.width(), func(file, _ string) string {
				other, ok := strings.CutSuffix(path.Join(path.Dir(name), file), ".md")
				if _, err := topic(other); ok && err == nil {
					return "whichfs help " + other
				}
				return ""
			})
		}
	}
	node := k.Model.Node
	for _, word := range c.Topic {
		i := slices.IndexFunc(node.Children, func(n *kong.Node) bool { return n.Name == word && !n.Hidden })
		if i < 0 {
			return result.Refuse("whichfs help lists the documents, whichfs --help the commands", "neither a document nor a command is called %q", strings.Join(c.Topic, " "))
		}
		node = node.Children[i]
	}
	if status := run(append(slices.Clone(c.Topic), "--help"), a.stdin, a.stdout, a.stderr); status != exitOK {
		return &problem{code: status} // already reported
	}
	return nil
}

func listTopics(a *shell) error {
	w := tabwriter.NewWriter(a.stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "TOPIC\tDOCUMENT")
	for _, name := range topics() {
		text, err := topic(name)
		if err != nil {
			return err
		}
		title, _, _ := strings.Cut(strings.TrimPrefix(string(text), "# "), "\n")
		fmt.Fprintf(w, "%s\t%s\n", name, title)
	}
	return w.Flush()
}

// width is that of the terminal, at most what is easy to read, and 80 for a file.
func (a *shell) width() int {
	const longest = 100
	if w, ok := terminalOf(a.stdout); ok {
		return min(w, longest)
	}
	return 80
}
