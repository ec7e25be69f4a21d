package report

import (
	"bytes"
	"reflect"
	"strings"
	"testing"

	"whichfs/internal/judge/contrast"
	"whichfs/internal/plan/study"
	"whichfs/internal/probe"
	"whichfs/internal/report/chromium"
	"whichfs/internal/report/doc"
)

// sampleCards are the sample probe, one of another card that could only be read, and a published one.
func sampleCards(t *testing.T) contrast.Cards {
	t.Helper()
	other := sampleProbe()
	other.Storage, other.Identity, other.Wrote, other.Warnings = "/dev/sdb", "0xfeed", false, nil
	other.Findings = []probe.Finding{
		{Key: probe.SegmentSize, Value: 8 << 20, Unit: "B", Confidence: 0.5},
		{Key: probe.WriteSpeed, Undetermined: "writing is not allowed, and reads cannot show it"},
		{Key: probe.Rotation, Text: "solid state", Confidence: 1},
	}
	published, of, _ := study.CardByName("bootlin-2023/kingston-16g")
	first := sampleProbe()
	sweep := &first.Curves[1]
	sweep.YName, sweep.YUnit = "speed", "B/s"
	for _, l := range sweep.Lines {
		for i, q := range l.Points {
			l.Points[i] = probe.Point{X: q.X, Y: 1 << 20 / q.Y, Low: 1 << 20 / q.High, High: 1 << 20 / q.Low, N: 3}
		}
	}
	first.Curves = append(first.Curves, probe.Curve{Key: probe.AlignCurve, Title: "Reading across aligned places", XName: "alignment", XUnit: "B", YName: "time", YUnit: "s",
		Lines: []probe.Line{{Name: "before and after", Points: []probe.Point{{X: 1 << 20, Y: 1e-3, N: 3}, {X: 4 << 20, Y: 1.1e-3, N: 3}}},
			{Name: "across", Points: []probe.Point{{X: 1 << 20, Y: 1.1e-3, N: 3}, {X: 4 << 20, Y: 1.4e-3, N: 3}}}}})
	slower := *sweep
	slower.Lines = []probe.Line{slower.Lines[0], {Name: "with a flush at the end"}}
	for _, q := range sweep.Lines[1].Points {
		slower.Lines[1].Points = append(slower.Lines[1].Points, probe.Point{X: q.X, Y: q.Y / 2, Low: q.Y / 2, High: q.Y / 2, N: 3})
	}
	other.Curves = []probe.Curve{slower, other.Curves[0]}
	c, err := contrast.CompareCards([]contrast.Card{{ID: "20260301-120000-abcd", Probe: first}, {ID: "20260301-130000-abcd", Probe: other}, {Source: of.Source, Probe: published}})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func writeCards(t *testing.T, c contrast.Cards, s *TextOptions) []byte {
	t.Helper()
	d, err := CardsDoc(c)
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	if s == nil {
		err = doc.HTML(&b, d)
	} else {
		err = doc.Text(&b, d, *s)
	}
	if err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func TestCardsGolden(t *testing.T) {
	c := sampleCards(t)
	golden(t, "cards.text", writeCards(t, c, &TextOptions{}))
	golden(t, "cards.ascii60", writeCards(t, c, &TextOptions{Width: 60, ASCII: true}))
	golden(t, "cards.html", writeCards(t, c, nil))
	var js, rows bytes.Buffer
	if err := CardsJSON(&js, c); err != nil {
		t.Fatal(err)
	}
	golden(t, "cards.json", js.Bytes())
	if err := CardsCSV(&rows, c); err != nil {
		t.Fatal(err)
	}
	golden(t, "cards.csv", rows.Bytes())
}

func TestHostileCards(t *testing.T) {
	c := sampleCards(t)
	n := 0
	poison(reflect.ValueOf(&c.Cards).Elem(), &n)
	poison(reflect.ValueOf(&c.Warnings).Elem(), &n)
	for i := range c.Curves { // named like the cards
		for k := range c.Curves[i].Lines {
			c.Curves[i].Lines[k].Name = c.Cards[k].Name
		}
	}
	text := writeCards(t, c, &TextOptions{})
	if i := bytes.IndexFunc(text, func(r rune) bool { return r != '\n' && harmful(r) }); i >= 0 {
		t.Errorf("the text has a harmful character: %q", text[max(0, i-20):i+20])
	}
	ctx, w := browse(t, writeCards(t, c, nil))
	if ask[bool](t, ctx, "window.pwned === true") {
		t.Error("the page runs what a device says")
	}
	w.check(t)
}

func TestCardsPage(t *testing.T) {
	page := writeCards(t, sampleCards(t), nil)
	ctx, w := browse(t, page)
	for _, width := range []int64{360, 420, 1280} {
		for _, dark := range []bool{false, true} {
			look(t, ctx, chromium.View{Width: width, Height: 900, Dark: dark})
			if out := ask[[]string](t, ctx, chromium.Overflowing); len(out) > 0 {
				t.Errorf("%d wide: sticks out: %q", width, out)
			}
		}
	}
	if n := ask[int](t, ctx, "document.querySelectorAll('svg.curve').length"); n != 4 {
		t.Errorf("%d charts", n)
	}
	if strings.Contains(string(page), "one line per candidate") {
		t.Error("the charts name candidates")
	}
	w.check(t)
}
