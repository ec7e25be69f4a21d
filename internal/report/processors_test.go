package report

import (
	"bytes"
	"reflect"
	"slices"
	"strings"
	"testing"

	"whichfs/internal/judge/verdict"
)

// sampleProcessors have one of everything.
func sampleProcessors() *verdict.Processors {
	best := func(names ...string) verdict.BestPlace {
		return verdict.BestPlace{Candidate: names[0], TiedWith: names[1:]}
	}
	lzo := "btrfs -o compress=lzo"
	open := best("ext4")
	open.Open = true
	var many []verdict.Overtaking
	for _, name := range []string{"xfs", "f2fs", "jfs", "vfat", "nilfs2", "ext2", "exfat"} {
		many = append(many, verdict.Overtaking{Slower: "50MIPS", Faster: "600MIPS", Candidate: lzo, Overtaken: name, Near: 231e6, Leads: name != "exfat"})
	}
	return &verdict.Processors{
		List: []verdict.Processor{{Name: "50MIPS", Speed: 50e6}, {Name: "bbb", Speed: 480e6}, {Name: "600MIPS", Speed: 600e6}, {Name: "2000MIPS", Speed: 2000e6}},
		Orders: []verdict.ProcessorOrder{
			{Key: "read-write", Title: "read-write", Use: true, Best: []verdict.BestPlace{best("ext4", "xfs"), best("xfs", "ext4"), best(lzo), best(lzo)}, Changes: []verdict.Overtaking{
				{Slower: "bbb", Faster: "600MIPS", Candidate: lzo, Overtaken: "ext4", Leads: true},
				{Slower: "600MIPS", Faster: "2000MIPS", Candidate: lzo, Overtaken: "xfs", Near: 1234.5e6, Leads: true}}},
			{Key: "write", Title: "Write", Best: []verdict.BestPlace{open, open, best(lzo), best(lzo)}, Changes: []verdict.Overtaking{
				{Slower: "50MIPS", Faster: "bbb", Candidate: "xfs", Overtaken: "jfs", Open: "50MIPS"},
				{Slower: "600MIPS", Faster: "2000MIPS", Candidate: lzo, Overtaken: "ext4", Near: 602e6, Leads: true}}},
			{Key: "read", Title: "Read", Compared: 1, Best: slices.Repeat([]verdict.BestPlace{best("ext4", "xfs", "jfs", "f2fs", "vfat", "ext2")}, 4)},
			{Key: "delete", Title: "Delete", Compared: 1, Best: slices.Repeat([]verdict.BestPlace{open}, 4), Unsettled: 2},
			{Key: "boot", Title: "Boot time", Best: []verdict.BestPlace{{}, {}, best("ext4"), {}}},
			{Key: "seq", Title: "Seq. write", Best: slices.Repeat([]verdict.BestPlace{best(lzo)}, 4), Changes: many},
			{Key: "none", Title: "Nothing", Best: make([]verdict.BestPlace, 4)},
			{Key: "mount", Title: "Mount", Extra: true, Compared: 1, Best: slices.Repeat([]verdict.BestPlace{best("ext4")}, 4)},
		},
	}
}

func TestProcessorsGolden(t *testing.T) {
	v := toySeries(t)
	v.Processors = sampleProcessors()
	write := func(how func(*bytes.Buffer) error) string {
		var b bytes.Buffer
		if err := how(&b); err != nil {
			t.Fatal(err)
		}
		return b.String()
	}
	text := write(func(b *bytes.Buffer) error { return SeriesText(b, v, TextOptions{}) })
	_, section, _ := strings.Cut(text, "What the processor changes")
	section, _, _ = strings.Cut(section, "Published figures and ours")
	golden(t, "processors.text", []byte("What the processor changes"+section))
	page := write(func(b *bytes.Buffer) error { return writeSeriesHTML(b, v) })
	_, section, _ = strings.Cut(page, `<section id="processors"`)
	section, _, _ = strings.Cut(section, "</section>")
	golden(t, "processors.html", []byte(`<section id="processors"`+section+"</section>"))
	for _, want := range []string{`<a href="#processors">`, "Processor by processor"} {
		if !strings.Contains(page, want) {
			t.Errorf("the page lacks %s", want)
		}
	}
	summary := write(func(b *bytes.Buffer) error { return SeriesText(b, v, TextOptions{Summary: true}) })
	for _, want := range []string{"processor: between bbb and 600MIPS: btrfs -o compress=lzo overtakes ext4 at read-write work", "near 1200 MIPS"} {
		if !strings.Contains(summary, want) {
			t.Errorf("the summary lacks %q:\n%s", want, summary)
		}
	}
	if json := write(func(b *bytes.Buffer) error { return SeriesJSON(b, v) }); strings.Count(json, `"overtaken": `) != 11 {
		t.Error("the JSON report lacks changes")
	}
}

// A speed is rounded to two digits, and stays on the same side of every processor.
func TestSpeedText(t *testing.T) {
	list := sampleProcessors().List
	for near, want := range map[float64]string{231e6: "230 MIPS", 602e6: "602 MIPS", 599.9e6: "599.9 MIPS", 1234.5e6: "1200 MIPS", 50.4e6: "50.4 MIPS", 600e6: "600 MIPS"} {
		if got := speedText(near, list); got != want {
			t.Errorf("%v: %s, want %s", near, got, want)
		}
	}
}

func TestProcessorsHostile(t *testing.T) {
	v := toySeries(t)
	v.Processors = sampleProcessors()
	n := 0
	poison(reflect.ValueOf(v.Processors).Elem(), &n)
	var b bytes.Buffer
	if err := SeriesText(&b, v, TextOptions{}); err != nil || slices.ContainsFunc([]rune(b.String()), func(r rune) bool { return r != '\n' && harmful(r) }) {
		t.Errorf("the text has control characters, or %v", err)
	}
	b.Reset()
	if err := writeSeriesHTML(&b, v); err != nil || strings.Contains(b.String(), "<script>window.pwned") || strings.Contains(b.String(), "<img src=x") {
		t.Errorf("the page has elements from outside, or %v", err)
	}
}
