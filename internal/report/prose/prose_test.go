package prose

import (
	"strings"
	"testing"

	"github.com/mattn/go-runewidth"

	"whichfs/internal/testing/golden"
)

const sample = `# A title

A paragraph with ` + "`code that is not broken`" + `, **bold** words, a [link](other.md#part), [other.md](other.md), one [outside](https://example.com/x) and a backslash \| before a bar.

## Lists

- one item that is so long that it takes a second line, indented as the first
  - nested
- two

3. three

   with a second paragraph
4. four

> quoted

` + "```" + `
code   # as it is
` + "```" + `

| name | what |
|---|---|
| ext4 | a description that does not fit into one line of the narrow width that this test has |
| ünïcode | two |
`

func TestMarkdown(t *testing.T) {
	var b strings.Builder
	if err := Markdown(&b, []byte(sample), 60, func(target, part string) string {
		if target == "other.md" {
			return "help other"
		}
		return ""
	}); err != nil {
		t.Fatal(err)
	}
	golden.Check(t, "sample.txt", b.String())
}

// Text fits any width that its longest word fits.
func TestWidth(t *testing.T) {
	for width := 34; width < 120; width++ {
		var b strings.Builder
		if err := Markdown(&b, []byte(sample), width, func(string, string) string { return "" }); err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(b.String()) {
			if runewidth.StringWidth(strings.TrimSuffix(line, "\n")) > width {
				t.Errorf("width %d: %q", width, line)
			}
		}
	}
}
