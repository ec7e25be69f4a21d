package report

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"whichfs/internal/judge/contrast"
	"whichfs/internal/judge/recommend"
	"whichfs/internal/judge/verdict"
	"whichfs/internal/report/chromium"
	"whichfs/internal/report/doc"
)

func iv(value, spread float64) verdict.Interval { return sampleInterval(value, spread) }

func one(value float64) verdict.Interval {
	return verdict.Interval{Value: value, Low: value, High: value, N: 1, Single: true}
}

// sampleOrder has one of everything that an order can have.
func sampleOrder() recommend.Order {
	counted := []recommend.Counted{
		{Key: "write", Name: "Write", Unit: "s", Study: "bootlin-2023", Weight: 3, Share: 0.75, Runs: []string{"20260314-092653-5a5a"}, About: "copies of the tree from memory"},
		{Key: "space", Name: "Space", Unit: "B", Study: "bootlin-2023", Weight: 1, Share: 0.25, Runs: []string{"20260314-092653-5a5a"}},
	}
	part := func(key string, ratio, spread, figure float64) recommend.Part {
		return recommend.Part{Key: key, Ratio: iv(ratio, spread), Estimate: iv(figure, spread), Share: 0.5}
	}
	return recommend.Order{
		Measured: true,
		Answer:   "Not settled between ext4 and f2fs: ext4 is ahead as measured, with 1.04× the best on the weighted average; f2fs follows with 1.09×. ext4 is best with a probability of 83 %. ext4 is not shown to keep max-boot=50ms.",
		Places: []recommend.Place{
			{Candidate: "ext4", Score: iv(1.04, 0.03), RankLow: 1, RankHigh: 2, TiedWith: []string{"xfs"}, Best: 0.83, HasBest: true,
				Why:   "Ahead of f2fs at Write (0.85× (0.80–0.91)); behind it at Space (1.20× (1.19–1.21)).",
				Parts: []recommend.Part{part("write", 1, 0, 2.31), part("space", 1.2, 0.01, 96.1e6)},
				Doubt: []recommend.Doubt{{Need: "max-boot=50ms", Text: "max-boot=50ms is not shown: Boot time is 47.2 ms (41.0 ms to 54.1 ms)"}},
				Notes: []string{"encryption requires -O encrypt, which was not measured"}},
			{Candidate: "f2fs", Score: iv(1.09, 0.04), RankLow: 1, RankHigh: 2, Best: 0.168, HasBest: true,
				Why:   "Behind ext4 at Write (1.17× (1.10–1.25)); ahead of it at Space (0.83×).",
				Parts: []recommend.Part{part("write", 1.17, 0.06, 2.71), part("space", 1, 0, 80.2e6)}},
			{Candidate: "btrfs -m single -o compress=lzo", Score: one(1.52), RankLow: 3, RankHigh: 3, Best: 0.002, HasBest: true,
				Why:   "Behind ext4 at Write (1.54×); ahead of it at nothing.",
				Parts: []recommend.Part{part("write", 1.54, 0.02, 3.55), {Key: "space", Ratio: one(1.4), Estimate: one(112e6), Share: 0.1}}},
		},
		Without: []recommend.Absent{
			{Candidate: "squashfs -comp lzo", Reason: "Write: not part of the work with a read-only filesystem"},
			{Candidate: "erofs", Reason: "Write: not part of the work with a read-only filesystem"},
			{Candidate: "jfs", Reason: "Write: no trial of it counts: fsck.jfs: exit status 4"},
		},
		Excluded: []recommend.Exclusion{
			{Candidate: "ext2", Need: "power-loss-safe", Why: "keeps no journal", Source: "Linux Documentation/filesystems/ext4"},
			{Candidate: "ext4 -O ^has_journal", Need: "power-loss-safe", Why: "keeps no journal", Source: "Linux Documentation/filesystems/ext4"},
			{Candidate: "vfat", Need: "power-loss-safe", Why: "overwrites its tables in place and keeps no journal", Source: "Microsoft, FAT32 File System Specification 1.03"},
			{Candidate: "xfs", Need: "encryption", Why: "has no encryption of its own", Source: "Linux Documentation/filesystems/fscrypt"},
			{Candidate: "btrfs -m single", Need: "compression", Why: "is mounted without compression", Source: "btrfs(5)", Remedy: "-o compress=zstd"},
			{Candidate: "nilfs2", Need: "max-boot=50ms", Why: "has Boot time 99.0 ms ±4, all of it above the limit", Source: "measured in 20260314-092653-5a5a"},
		},
		Counted: counted,
		Missing: []recommend.Missing{{Keys: []string{"seeks"}, Text: "seeks is not measured in these runs, so it does not count; pandora-2012 measures it.", Remedy: "whichfs run pandora-2012"}},
		Changes: []recommend.Change{
			{Kind: "rounds", Text: "About 6 more rounds would settle ext4 against f2fs.", Remedy: "whichfs resume 20260314-092653-5a5a --rounds 9"},
			{Kind: "weight", Text: "If the weight of Space were above 2.7 instead of 1, f2fs would be first as measured."},
			{Kind: "need", Text: "Without the need power-loss-safe, ext2 would be first (not settled)."},
			{Kind: "candidate", Text: "Not tried, although it meets the needs according to the facts: reiserfs.", Remedy: "whichfs run bootlin-2023 --quick --storage disk:1G --candidates 'ext4; f2fs; reiserfs'"},
		},
	}
}

func sampleAnswer() recommend.Answer {
	return recommend.Answer{
		Runs:    []recommend.RunFact{{ID: "20260314-092653-5a5a", Study: "bootlin-2023", Scale: "quick", Storage: "disk:1G", Machine: "lab", Kernel: "6.1.0-56-amd64", Rounds: 3}},
		Needs:   []recommend.Need{{Name: "power-loss-safe"}, {Name: "encryption"}, {Name: "compression"}, {Name: "max-boot", Column: "boot", Limit: 0.05, Unit: "s", Written: "50ms"}},
		Weights: []recommend.Weight{{Key: "write", Weight: 3}, {Key: "space", Weight: 1}, {Key: "seeks", Weight: 0.5}},
		Orders:  []recommend.Order{sampleOrder()}, Margin: 0.1, Seed: 2026,
		Warnings: []string{"The limit max-boot=50ms is tested against times of an emulated machine, which do not transfer to hardware."},
		Reach:    "Measured on an emulated machine: the order of filesystems and their ratios can be compared.",
	}
}

func sampleProfiles() recommend.Answer {
	a := sampleAnswer()
	a.Needs, a.Weights, a.Orders, a.Warnings = nil, nil, nil, nil
	settled := sampleOrder()
	settled.Settled, settled.Answer, settled.Missing = true, "Take ext4: 1.04× the best on the weighted average; f2fs follows with 1.09×.", nil
	unmeasured := recommend.Order{Measured: true, Answer: "These runs measure nothing that counts, so nothing is ordered: according to the facts alone, 2 candidates meet the needs.",
		Without: []recommend.Absent{{Candidate: "ext4", Reason: "nothing that counts is measured"}, {Candidate: "xfs", Reason: "nothing that counts is measured"}}, Missing: sampleOrder().Missing}
	nobody := recommend.Order{Measured: true, Answer: "No candidate meets all needs.", Excluded: sampleOrder().Excluded}
	for i, o := range []recommend.Order{settled, sampleOrder(), unmeasured, nobody} {
		a.Profiles = append(a.Profiles, recommend.ProfileAnswer{Profile: recommend.Profiles[i], Order: o})
	}
	return a
}

// sampleFacts is an answer that rests on facts alone.
func sampleFacts() recommend.Answer {
	o := sampleOrder()
	o.Measured, o.Places, o.Counted, o.Changes = false, nil, nil, nil
	o.Answer, o.Missing = "Nothing was measured, so nothing is ordered: according to the facts alone, 3 candidates meet the needs.", nil
	for i := range o.Without {
		o.Without[i].Reason = "not measured"
	}
	return recommend.Answer{Needs: sampleAnswer().Needs, Orders: []recommend.Order{o}, Margin: 0.1, Seed: 2026}
}

func sampleContrast() contrast.Contrast {
	side := func(id, kernel, storage string) contrast.Side {
		return contrast.Side{ID: id, Study: "bootlin-2023", Scale: "quick", Machine: "lab", Storage: storage, Kernel: kernel, Version: "0.1.0", Rounds: 5,
			Started: time.Date(2026, 3, 14, 9, 26, 53, 0, time.UTC)}
	}
	change := func(name string, a, b, spread, p float64, o contrast.Outcome) contrast.Change {
		return contrast.Change{Candidate: name, A: iv(a, spread), B: iv(b, spread), Ratio: iv(b/a, 1.4*spread), SimLow: b / a / (1 + 3*spread), SimHigh: b / a * (1 + 3*spread), P: p / 9, Adjusted: p, Outcome: o}
	}
	single := contrast.Change{Candidate: "vfat", A: one(5.9), B: one(5.1), Ratio: one(5.1 / 5.9), P: 1, Adjusted: 1, Outcome: contrast.Open}
	lacks := contrast.Change{Candidate: "erofs -zlz4hc,12", Absent: "not part of the work with a read-only filesystem"}
	column := func(key, name, unit string, all contrast.Change, rows ...contrast.Change) contrast.Column {
		return contrast.Column{Key: key, Name: name, Unit: unit, About: "what it contains", All: all, Rows: rows}
	}
	write := column("write", "Write", "s", change("", 2.4, 2.1, 0.02, 0.0002, contrast.Lower),
		change("ext4", 2.31, 1.62, 0.03, 0.001, contrast.Lower), change("btrfs -m single -o compress=lzo", 3.55, 3.6, 0.02, 0.7, contrast.Same), single, lacks)
	read := column("read", "Read", "s", change("", 1.9, 2, 0.03, 0.3, contrast.Open),
		change("ext4", 1.91, 2.6, 0.04, 0.012, contrast.Higher), change("btrfs -m single -o compress=lzo", 2.31, 2.5, 0.09, 0.6, contrast.Open),
		contrast.Change{Candidate: "vfat", Absent: "in the second run: no trial of it counts"}, change("erofs -zlz4hc,12", 1.21, 1.22, 0.01, 0.9, contrast.Same))
	check := column("check", "Check", "s", contrast.Change{Absent: "there is only one candidate"}, change("ext4", 0.3, 0.6, 0.03, 0.004, contrast.Higher))
	return contrast.Contrast{
		A: side("20260314-092653-5a5a", "6.1.0-56-amd64", "disk:1G"), B: side("20260315-101112-1b1b", "6.12.9-amd64", "sim:sd-basic,1G"),
		Title: "Finding the best block filesystem",
		Answer: []string{
			"With a different storage and kernel, of 8 figures: 1 higher and 1 lower beyond chance and by more than 10 %, 2 shown to be the same within that, 4 open.",
			"The largest change: Write of ext4, from 2.31 s ±0.07 to 1.62 s ±0.05, 0.70× (0.67–0.73).", "All candidates together: Write 0.88× (0.85–0.90).",
		},
		Differs: []contrast.Difference{
			{About: "storage", Name: "storage", A: "disk:1G", B: "sim:sd-basic,1G", Matters: true},
			{About: "storage", Name: "model", B: "sd-basic", Matters: true},
			{About: "kernel", Name: "kernel", A: "6.1.0-56-amd64", B: "6.12.9-amd64", Matters: true},
			{About: "machine", Name: "frequency governor", A: "performance", B: "powersave"},
			{About: "lab image", Name: "lab image", A: sampleDigest, B: strings.Replace(sampleDigest, "5f2c", "77aa", 1), Matters: true},
		},
		About: []string{"storage", "kernel"}, Columns: []contrast.Column{write, read}, Extra: []contrast.Column{check}, Family: 9, Further: 1,
		Orders: []contrast.Order{{Use: "read-write", A: "ext4", B: "ext4, equal to xfs", Same: true, Settled: true}, {Use: "read-only", A: "erofs -zlz4hc,12 (not settled)", B: "squashfs -comp lzo"}},
		OnlyA:  []string{"jfs"}, OnlyB: []string{"xfs", "reiserfs"}, Margin: 0.1,
		Warnings: []string{"Storage and kernel differ: no change can be attributed to one of them alone."},
		Reach:    "Measured on an emulated machine: the order of filesystems and their ratios can be compared.",
	}
}

// answers are all reports of recommendations and comparisons.
func answers() map[string]func(io.Writer) error {
	recommended := func(a recommend.Answer, s TextOptions) func(io.Writer) error {
		return func(w io.Writer) error { return doc.Text(w, RecommendDoc(a), s) }
	}
	return map[string]func(io.Writer) error{
		"recommend.text":     recommended(sampleAnswer(), TextOptions{}),
		"recommend.ascii60":  recommended(sampleAnswer(), TextOptions{Width: 60, ASCII: true}),
		"recommend.profiles": recommended(sampleProfiles(), TextOptions{}),
		"recommend.facts":    recommended(sampleFacts(), TextOptions{}),
		"recommend.json":     func(w io.Writer) error { return RecommendJSON(w, sampleAnswer()) },
		"recommend.html":     func(w io.Writer) error { return doc.HTML(w, RecommendDoc(sampleAnswer())) },
		"profiles.html":      func(w io.Writer) error { return doc.HTML(w, RecommendDoc(sampleProfiles())) },
		"compare.text":       func(w io.Writer) error { return doc.Text(w, ContrastDoc(sampleContrast()), TextOptions{}) },
		"compare.ascii60": func(w io.Writer) error {
			return doc.Text(w, ContrastDoc(sampleContrast()), TextOptions{Width: 60, ASCII: true})
		},
		"compare.json": func(w io.Writer) error { return ContrastJSON(w, sampleContrast()) },
		"compare.csv":  func(w io.Writer) error { return ContrastCSV(w, sampleContrast()) },
		"compare.html": func(w io.Writer) error { return doc.HTML(w, ContrastDoc(sampleContrast())) },
	}
}

func TestAnswerGolden(t *testing.T) {
	for name, write := range answers() {
		var b bytes.Buffer
		if err := write(&b); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		golden(t, name, b.Bytes())
	}
}

func TestAnswerWriteErrors(t *testing.T) {
	for name, write := range answers() {
		if write(&brokenPipe{}) == nil {
			t.Errorf("%s: a broken pipe is no error", name)
		}
	}
}

func TestAnswerJSONReadsBack(t *testing.T) {
	var b bytes.Buffer
	a := sampleAnswer()
	a.Orders[0].Places[0].Score.High = math.Inf(1)
	if err := RecommendJSON(&b, a); err != nil {
		t.Fatal(err)
	}
	var doc struct {
		Schema  string
		Version int
		Answer  recommend.Answer
	}
	if err := json.Unmarshal(b.Bytes(), &doc); err != nil || doc.Schema != "whichfs-recommend" || doc.Version != JSONVersion {
		t.Fatalf("%+v %v", doc, err)
	}
	if doc.Answer.Orders[0].Places[1].Best != 0.168 || doc.Answer.Needs[3].Limit != 0.05 {
		t.Errorf("%+v", doc.Answer)
	}
	b.Reset()
	if err := ContrastJSON(&b, sampleContrast()); err != nil {
		t.Fatal(err)
	}
	var other struct {
		Schema   string
		Contrast contrast.Contrast
	}
	if err := json.Unmarshal(b.Bytes(), &other); err != nil || other.Schema != "whichfs-compare" || !reflect.DeepEqual(other.Contrast, sampleContrast()) {
		t.Errorf("%+v %v", other, err)
	}
}

func TestContrastCSVReadsBack(t *testing.T) {
	var b bytes.Buffer
	if err := ContrastCSV(&b, sampleContrast()); err != nil {
		t.Fatal(err)
	}
	rows, err := csv.NewReader(&b).ReadAll()
	if err != nil || len(rows) != 13 {
		t.Fatalf("%d rows, %v", len(rows), err)
	}
	at := map[string]int{}
	for i, name := range rows[0] {
		at[name] = i
	}
	find := func(column, candidate string) []string {
		for _, r := range rows {
			if r[at["column"]] == column && r[at["candidate"]] == candidate {
				return r
			}
		}
		t.Fatalf("no row for %s of %s", column, candidate)
		return nil
	}
	if r := find("write", "*"); r[at["outcome"]] != "lower" || r[at["a"]] != "2.4" || r[at["ratio"]] == "" {
		t.Errorf("%q", r)
	}
	if r := find("write", "vfat"); r[at["a_low"]] != "" || r[at["ratio_high"]] != "" || r[at["a_n"]] != "1" {
		t.Errorf("one figure with an interval: %q", r)
	}
	if r := find("read", "vfat"); r[at["a"]] != "" || r[at["absent"]] != "in the second run: no trial of it counts" {
		t.Errorf("absent: %q", r)
	}
}

// poisoned has hostile strings everywhere except in lookup keys.
func poisonedAnswers() (recommend.Answer, recommend.Answer, contrast.Contrast) {
	n := 0
	a, p, c := sampleAnswer(), sampleProfiles(), sampleContrast()
	for _, v := range []reflect.Value{reflect.ValueOf(&a).Elem(), reflect.ValueOf(&p).Elem(), reflect.ValueOf(&c).Elem()} {
		poison(v, &n)
	}
	return a, p, c
}

func TestHostileAnswers(t *testing.T) {
	a, p, c := poisonedAnswers()
	for _, s := range []TextOptions{{Width: 80}, {Width: 80, ASCII: true}, {Width: 1}} {
		for name, write := range map[string]func(io.Writer) error{
			"answer": func(w io.Writer) error { return doc.Text(w, RecommendDoc(a), s) }, "profiles": func(w io.Writer) error { return doc.Text(w, RecommendDoc(p), s) },
			"contrast": func(w io.Writer) error { return doc.Text(w, ContrastDoc(c), s) },
		} {
			var b bytes.Buffer
			if err := write(&b); err != nil {
				t.Fatal(err)
			}
			if b.Len() < 500 {
				t.Errorf("%s: %d bytes", name, b.Len())
			}
			checkPrintable(t, s, b.String())
		}
	}
	for name, write := range map[string]func(io.Writer) error{
		"answer": func(w io.Writer) error { return doc.HTML(w, RecommendDoc(a)) }, "profiles": func(w io.Writer) error { return doc.HTML(w, RecommendDoc(p)) },
		"contrast": func(w io.Writer) error { return doc.HTML(w, ContrastDoc(c)) },
	} {
		var page bytes.Buffer
		if err := write(&page); err != nil {
			t.Fatal(err)
		}
		ctx, w := browse(t, page.Bytes())
		ask[chromedp.Void](t, ctx, openAll)
		if n := ask[int](t, ctx, `document.querySelectorAll('script, img, iframe, body [onerror]').length`); n != 0 || ask[bool](t, ctx, "window.pwned === true") {
			t.Errorf("%s: %d elements came from hostile strings", name, n)
		}
		w.check(t)
	}
}

// The pages fit every window in both themes, are legible, and keep their tables
// for screen readers.
func TestAnswerPages(t *testing.T) {
	for name, write := range answers() {
		if !strings.HasSuffix(name, ".html") {
			continue
		}
		var page bytes.Buffer
		if err := write(&page); err != nil {
			t.Fatal(err)
		}
		ctx, w := browse(t, page.Bytes())
		ask[chromedp.Void](t, ctx, openAll)
		for _, v := range []chromium.View{{Width: 320, Height: 800}, {Width: 390, Height: 800, Dark: true}, {Width: 820, Height: 800}, {Width: 1280, Height: 800, Dark: true}, {Width: 1280, Height: 800}} {
			look(t, ctx, v)
			if got := ask[int64](t, ctx, `document.documentElement.scrollWidth`); got > v.Width {
				t.Errorf("%s: at %d pixels the page is %d wide; %v", name, v.Width, got, ask[[]string](t, ctx, chromium.Overflowing))
			}
			for _, poor := range ask[[]string](t, ctx, chromium.PoorContrast) {
				t.Errorf("%s %+v: contrast below 4.5: %s", name, v, poor)
			}
		}
		look(t, ctx, chromium.View{Width: 390, Height: 800})
		bad := append(ask[[]string](t, ctx, chromium.Tables), ask[[]string](t, ctx, dangling)...)
		if bad = append(bad, ask[[]string](t, ctx, doubled)...); len(bad) > 0 {
			t.Errorf("%s: %q", name, bad)
		}
		w.check(t)
		if out := fmt.Sprint(page.String()); strings.Contains(out, "<script") || strings.Contains(out, "http") && strings.Contains(out, "src=") {
			t.Errorf("%s needs something beside itself", name)
		}
	}
}
