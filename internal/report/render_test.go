package report

import (
	"bytes"
	"regexp"
	"strings"
	"testing"

	"whichfs/internal/judge/verdict"
	"whichfs/internal/result"
	kept "whichfs/internal/testing/golden"
)

// styleSheet is the style sheet of a page, which is a separate file.
var styleSheet = regexp.MustCompile(`(?s)<style>.*?</style>`)

// golden compares got with testdata/name, a page without its style sheet.
func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	if strings.HasSuffix(name, ".html") {
		got = styleSheet.ReplaceAll(got, []byte("<style></style>"))
	}
	kept.Check(t, name, got)
}

func render(t *testing.T, name string, v verdict.Verdict, trials []result.Trial) []byte {
	t.Helper()
	f, ok := ByName(name)
	if !ok {
		t.Fatalf("no format %q", name)
	}
	var b bytes.Buffer
	if err := f.Write(&b, v, trials); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return b.Bytes()
}

func TestGolden(t *testing.T) {
	v, trials := sample()
	for _, f := range All {
		t.Run(f.Name, func(t *testing.T) {
			golden(t, "sample."+f.Name, render(t, f.Name, v, trials))
		})
	}
}

func TestTextGolden(t *testing.T) {
	v, _ := sample()
	for name, screen := range map[string]TextOptions{
		"sample.text80":    {Width: 80},
		"sample.ascii80":   {Width: 80, ASCII: true},
		"sample.colour120": {Width: 120, Color: true},
	} {
		var b bytes.Buffer
		if err := Text(&b, v, screen); err != nil {
			t.Fatal(err)
		}
		golden(t, name, b.Bytes())
	}
}
