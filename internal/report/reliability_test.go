package report

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"math"
	"reflect"
	"strings"
	"testing"

	"charm.land/lipgloss/v2"
	"github.com/chromedp/chromedp"

	"whichfs/internal/judge/recommend"
	"whichfs/internal/judge/verdict"
	"whichfs/internal/judge/verdict/toy"
	"whichfs/internal/report/chromium"
	"whichfs/internal/report/doc"
	"whichfs/internal/result"
)

// survivalSample is the made-up run of a study with cases and no columns.
func survivalSample(t *testing.T) (verdict.Verdict, []result.Trial) {
	t.Helper()
	run, trials, st := toy.ReliabilityRun()
	v, err := verdict.Compute(run, nil, trials, st, verdict.Beside{})
	if err != nil {
		t.Fatal(err)
	}
	return v, trials
}

func TestSurvivalGolden(t *testing.T) {
	v, trials := survivalSample(t)
	for _, name := range []string{"text", "summary", "html", "junit"} {
		golden(t, "survival."+name, render(t, name, v, trials))
	}
	golden(t, "survival.json", render(t, "json", v, nil))
	var b bytes.Buffer
	if err := Text(&b, v, TextOptions{Width: 80, ASCII: true}); err != nil {
		t.Fatal(err)
	}
	golden(t, "survival.ascii80", b.Bytes())
	save(t, "survival.html", render(t, "html", v, trials))
}

// A report of a study without ranking does not present that as missing, and
// shows no chart of times.
func TestSurvivalIsNotAStudyOfSpeed(t *testing.T) {
	v, trials := survivalSample(t)
	for _, f := range All {
		text := string(render(t, f.Name, v, trials))
		for _, bad := range []string{"No candidate has figures", "big picture", "Observations", "NaN", "%!", "No answer for read"} {
			if strings.Contains(text, bad) {
				t.Errorf("%s has %q", f.Name, bad)
			}
		}
	}
	for _, width := range []int{40, 60, 80, 120} {
		var b bytes.Buffer
		if err := Text(&b, v, TextOptions{Width: width, ASCII: true}); err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(b.String()) {
			if w := lipgloss.Width(strings.TrimSuffix(line, "\n")); w > width {
				t.Errorf("width %d: line of %d: %q", width, w, line)
			}
		}
	}
}

// Every format has the contents of the verdict, and no case that was not judged
// passes for survival.
func TestSurvivalIsReported(t *testing.T) {
	v, trials := survivalSample(t)
	var wide bytes.Buffer
	if err := Text(&wide, v, TextOptions{Width: 240}); err != nil {
		t.Fatal(err)
	}
	text := strings.Join(strings.Fields(string(wide.Bytes())), " ")
	for _, want := range []string{"wrong 12, lost 28, recovered 80 of 120", "0 of 240 (at most 1.2 %)", "58 of 240 (19 % to 30 %)", "this kernel has no nilfs2", "What survived"} {
		if !strings.Contains(text, want) {
			t.Errorf("text lacks %q", want)
		}
	}
	var doc struct {
		Verdict struct {
			Reliability verdict.Reliability `json:"reliability"`
		} `json:"verdict"`
	}
	if err := json.Unmarshal(render(t, "json", v, nil), &doc); err != nil {
		t.Fatal(err)
	}
	if got, want := doc.Verdict.Reliability, *v.Reliability; got.Answer != want.Answer || len(got.Rows) != len(want.Rows) || got.Rows[0].Cells[0].Lost != want.Rows[0].Cells[0].Lost {
		t.Errorf("JSON reads back as %+v", got)
	}
	var suites junitSuites
	if err := xml.Unmarshal(render(t, "junit", v, trials), &suites); err != nil {
		t.Fatal(err)
	}
	seen := map[string]string{}
	for _, s := range suites.Suites {
		for _, c := range s.Cases {
			state := "passed"
			if c.Failure != nil {
				state = "failed"
			} else if c.Skipped != nil {
				state = "skipped"
			}
			seen[c.Class+"/"+c.Name] = state
		}
	}
	for name, want := range map[string]string{
		"reliability.ext4/cut async": "passed", "reliability.ext4 -o nobarrier/cut async": "failed", "reliability.nilfs2/cut async": "skipped",
		"reliability.vfat/crash states": "skipped", "reliability.ext4/rot in data": "passed",
	} {
		if seen[name] != want {
			t.Errorf("%s %s, want %s", name, seen[name], want)
		}
	}
}

// The matrix of corruption has a table for each kind, and mounts have theirs.
func TestCorruptBytesTables(t *testing.T) {
	cell := func(key string, mount *verdict.MountTime) verdict.FaultCell {
		return verdict.FaultCell{Tried: 3, Counts: []verdict.OutcomeCount{{Key: key, N: 3}}, Worst: key, Mounted: 3, Mount: mount}
	}
	class := func(name, group, short string) verdict.FaultCase {
		return verdict.FaultCase{Name: name, Class: verdict.CorruptBytes, Group: group, Short: short}
	}
	r := &verdict.Reliability{Classes: []string{verdict.CorruptBytes},
		Cases: []verdict.FaultCase{class("a", "reads", "0x00 first"), class("b", "writes", "0x00 first"), class("c", "reads", "0xff first")},
		Rows: []verdict.FaultRow{{Candidate: "ext4", Cells: []verdict.FaultCell{
			cell("wrong", &verdict.MountTime{Median: 0.002, Longest: 1.5}), cell("unmountable", nil), {Absent: "this kernel corrupts no read"}}}}}
	tables := outcomeTables(r, verdict.CorruptBytes)
	if len(tables) != 2 {
		t.Fatalf("%d tables", len(tables))
	}
	reads, writes := tables[0].(doc.Table), tables[1].(doc.Table)
	if len(reads.Columns) != 3 || reads.Columns[0].Head != "Reads" || reads.Columns[2].Head != "0xff first" || reads.Rows[0].Cells[1].Text != "wrong 3 of 3" || reads.Rows[0].Cells[2].Absent == "" {
		t.Errorf("%+v", reads)
	}
	if len(writes.Columns) != 2 || writes.Rows[0].Cells[1].Text != "unmountable 3 of 3" {
		t.Errorf("%+v", writes)
	}
	if m := mountTable(r); len(m.Rows) != 1 || m.Rows[0].Cells[0].Text != "a" || m.Rows[0].Cells[1].Text != "2.00 ms, 1.50 s" {
		t.Errorf("%+v", m)
	}
}

// Space is reported with what fits.
func TestRoomSection(t *testing.T) {
	if s := roomSection(verdict.Verdict{}); len(s.Body) != 0 {
		t.Errorf("%+v", s)
	}
	s := roomSection(verdict.Verdict{Room: &verdict.Room{Cases: []string{"one", "small"},
		Rows: []verdict.RoomRow{{Candidate: "btrfs", Cells: []verdict.RoomCell{{Available: 300 << 20, Fits: 250 << 20, Off: 0.2}, {Absent: "it was not measured"}}}}}})
	cells := s.Body[1].(doc.Table).Rows[0].Cells
	if cells[1].Text != "300 MiB available, 250 MiB fit, off by 20 %" || cells[2].Absent == "" {
		t.Errorf("%+v", cells)
	}
}

// A recommendation compares the measurement with the design, and says where
// they disagree.
func TestProvenGolden(t *testing.T) {
	v, trials := survivalSample(t)
	st := toy.Reliability()
	for i := range v.Reliability.Rows { // btrfs returns wrong bytes
		if d := &v.Reliability.Rows[i].Detection; v.Reliability.Rows[i].Candidate == toy.Btrfs {
			d.Silent = d.Visible
		}
	}
	var needs []recommend.Need
	for _, text := range []string{"survives=power-cut", "checksums"} {
		n, err := recommend.ParseNeed(text)
		if err != nil {
			t.Fatal(err)
		}
		needs = append(needs, n)
	}
	a, err := recommend.Make(recommend.Question{Needs: needs}, []verdict.Judged{{Verdict: v, Study: st, Columns: verdict.Samples(v.Run, nil, trials, st)}})
	if err != nil {
		t.Fatal(err)
	}
	var text, ascii, page bytes.Buffer
	for _, err := range []error{doc.Text(&text, RecommendDoc(a), TextOptions{}), doc.Text(&ascii, RecommendDoc(a), TextOptions{Width: 80, ASCII: true}), doc.HTML(&page, RecommendDoc(a))} {
		if err != nil {
			t.Fatal(err)
		}
	}
	golden(t, "proven.text", text.Bytes())
	golden(t, "proven.ascii80", ascii.Bytes())
	golden(t, "proven.html", page.Bytes())
	for line := range strings.Lines(ascii.String()) {
		if w := lipgloss.Width(strings.TrimSuffix(line, "\n")); w > 80 {
			t.Errorf("line of %d: %q", w, line)
		}
	}
	for name, got := range map[string]string{"text": strings.Join(strings.Fields(text.String()), " "), "page": page.String()} {
		for _, want := range []string{"What survived, and what the design says", "58 of 240", "by design it verifies checksums of everything"} {
			if !strings.Contains(got, want) {
				t.Errorf("%s lacks %q", name, want)
			}
		}
	}
	ctx, w := browse(t, page.Bytes())
	for _, width := range []int64{320, 1280} {
		look(t, ctx, chromium.View{Width: width, Height: 800})
		if got := ask[int64](t, ctx, `document.documentElement.scrollWidth`); got > width {
			t.Errorf("at %d pixels the page is %d wide; %v", width, got, ask[[]string](t, ctx, chromium.Overflowing))
		}
	}
	w.check(t)
}

// In a study of speed it is a separate section.
func TestSurvivalBesideSpeed(t *testing.T) {
	v, trials := toyRun(t, toy.Run{Plain: true, Seed: 2})
	other, _ := survivalSample(t)
	v.Reliability = other.Reliability
	for name, wants := range map[string][]string{
		"text": {"What survived", "The big picture", other.Reliability.Findings[0][:40]}, "html": {`id="survival"`, `id="picture"`, "Every explored crash state"}, "summary": {"what survives:", "read-write:"},
	} {
		text := string(render(t, name, v, trials))
		for _, want := range wants {
			if !strings.Contains(text, want) {
				t.Errorf("%s lacks %q", name, want)
			}
		}
	}
}

// The parts of each bar are as wide as their shares, no part has zero width,
// and letters or words always repeat the colours.
func TestSurvivalPage(t *testing.T) {
	v, trials := survivalSample(t)
	ctx, w := browse(t, render(t, "html", v, trials))
	for _, width := range []int64{320, 390, 768, 1280} {
		for _, dark := range []bool{false, true} {
			look(t, ctx, chromium.View{Width: width, Height: 800, Dark: dark})
			if got := ask[int64](t, ctx, `document.documentElement.scrollWidth`); got > width {
				t.Errorf("at %d pixels the page is %d wide; %v", width, got, ask[[]string](t, ctx, chromium.Overflowing))
			}
		}
		off := ask[[]string](t, ctx, `Array.from(document.querySelectorAll('.grid .ends i')).filter(i => {
			const bar = i.parentElement.clientWidth, want = bar * parseFloat(i.style.getPropertyValue('--s')) / 100, got = i.getBoundingClientRect().width;
			return got < 3 || Math.abs(got - want) > 6;
		}).map(i => i.className + ' ' + i.getBoundingClientRect().width + ' of ' + i.parentElement.clientWidth + ' ' + i.getAttribute('style'))`)
		if len(off) > 0 {
			t.Errorf("at %d pixels parts of bars are not their share: %v", width, off)
		}
	}
	judged := 0
	for _, row := range v.Reliability.Rows {
		for _, c := range row.Cells {
			if c.Absent == "" {
				judged++
			}
		}
	}
	if got := ask[int](t, ctx, `document.querySelectorAll('.grid .ends').length`); got != judged {
		t.Errorf("%d bars of %d judged cells", got, judged)
	}
	alike := ask[[]string](t, ctx, `(() => { const seen = {}, out = []; for (const i of document.querySelectorAll('.ends-key i')) {
		const s = getComputedStyle(i), k = s.backgroundColor; if (seen[k]) out.push(i.className + ' and ' + seen[k]); seen[k] = i.className;
		if (!i.textContent.trim()) out.push(i.className + ' has no letter'); } return out; })()`)
	if len(alike) > 0 {
		t.Errorf("outcomes look alike: %v", alike)
	}
	w.check(t)
}

func TestHostileSurvival(t *testing.T) {
	v, trials := survivalSample(t)
	n := 0
	poison(reflect.ValueOf(&v).Elem(), &n)
	v.Reliability.Rows[0].Cells[0].Lost.High = math.Inf(1)
	v.Reliability.Rows[0].Sums[0].Lost.Low = math.NaN()
	for i := range trials {
		poison(reflect.ValueOf(&trials[i]).Elem(), &n)
	}
	for _, s := range []TextOptions{{Width: 80}, {Width: 80, ASCII: true}, {Width: 1}} {
		var b bytes.Buffer
		if err := Text(&b, v, s); err != nil {
			t.Fatal(err)
		}
		checkPrintable(t, s, b.String())
	}
	if !json.Valid(render(t, "json", v, trials)) {
		t.Error("no JSON")
	}
	ctx, w := browse(t, render(t, "html", v, trials))
	ask[chromedp.Void](t, ctx, openAll)
	if n := ask[int](t, ctx, `document.querySelectorAll('script, img, iframe, object, svg, body [onload], body [onerror], body [onclick]').length`); n != 0 {
		t.Errorf("%d elements came from hostile strings", n)
	}
	w.check(t)
}
