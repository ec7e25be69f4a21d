package recommend

import (
	"os"
	"strconv"
	"strings"
	"testing"

	"whichfs/internal/filesystem"
)

// The table of facts in the manual is what facts say.
func TestFactsInDocuments(t *testing.T) {
	text, err := os.ReadFile("../../docs/recommend.md")
	if err != nil {
		t.Fatal(err)
	}
	heads := "| | power-loss-safe | compression | encryption | checksums | metadata-checksums | no-journal | dates until |"
	if !strings.Contains(string(text), heads) {
		t.Fatalf("the manual has no table %q", heads)
	}
	for _, name := range filesystem.Names() {
		c, err := filesystem.Parse(name)
		if err != nil {
			t.Fatal(err)
		}
		row := "| " + name + " |"
		for _, need := range strings.Split(heads, " | ")[1:7] {
			f, ok := factByName(need)
			if !ok {
				t.Fatalf("no need %q", need)
			}
			p := f.of(c)
			switch {
			case p.Has:
				row += " yes |"
			case p.With != "":
				row += " possible |"
			default:
				row += " no |"
			}
		}
		row += " " + strconv.FormatInt(c.Properties().Dates.Until, 10) + " |\n"
		if !strings.Contains(string(text), row) {
			t.Errorf("the manual lacks %q", row)
		}
	}
}
