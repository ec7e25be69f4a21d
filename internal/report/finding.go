package report

import (
	"fmt"
	"slices"
	"strings"

	"whichfs/internal/fault/finding"
	"whichfs/internal/fault/picture"
	"whichfs/internal/fault/script"
	"whichfs/internal/fault/writelog"
	"whichfs/internal/filesystem"
	"whichfs/internal/report/doc"
	"whichfs/internal/sys/harmless"
	"whichfs/internal/sys/units"
)

// fateSigns are the same in every theme: a sign and a word show the fate of a
// write, and colour only repeats them.
var fateSigns = map[picture.Fate]string{
	picture.Durable: "●", picture.Kept: "◆", picture.Torn: "◐", picture.Lost: "○", picture.Unsent: "⋅",
}

// fateOrder is the order of the legend.
var fateOrder = []picture.Fate{picture.Durable, picture.Kept, picture.Torn, picture.Lost, picture.Unsent}

var fateMeaning = map[picture.Fate]string{
	picture.Durable: "durable: a flush or FUA had put it onto the medium",
	picture.Kept:    "kept: it was not made durable, but reached the medium",
	picture.Torn:    "torn: it was not made durable, and only some of its sectors reached the medium",
	picture.Lost:    "lost: it was not made durable and is gone",
	picture.Unsent:  "not sent: the power was already lost",
}

// fateLegend explains how the pictures of a page show the fate of writes.
func fateLegend() doc.Block {
	var list []doc.Item
	for _, f := range fateOrder {
		list = append(list, doc.Item{Sample: fateSVG(f), Text: fateMeaning[f]})
	}
	return doc.Fold{In: doc.Page, Open: true, Summary: "How to read the pictures", Body: []doc.Block{
		doc.Para{Text: "Time runs to the right, one column per entry of the log; the height is the place on the disk. ▸3 marks the start of operation 3, ✓3 its return; a vertical line is a flush, a wedge on a write is FUA."},
		doc.Items{List: list}}}
}

// findingPart is one of several findings: its number within its kind, and
// within the document.
func findingPart(f CrashFinding, place, number int) doc.Part {
	rows := rowsOf(f.Finding)
	items := append(findingItems(f.Finding, rows), doc.Item{Mark: "·", Text: sameText(f.Finding)})
	body := []doc.Block{doc.Items{List: items}, doc.Chart{SVG: crashSVG(f.Finding, number), Label: "Picture of " + findingTitle(f.Finding)}}
	if f.File != "" {
		body = append(body, doc.Commands{List: []doc.Command{{Line: "whichfs crash replay " + harmless.Word(f.File), About: "tries this state again", Whole: true}}})
	}
	body = append(body, doc.Fold{In: doc.Page, Summary: "The log in words", Body: []doc.Block{logTable(rows, f.State.Point, false), doc.Facts{List: findingFacts(f.Finding)}}})
	return doc.Part{ID: fmt.Sprintf("finding-%d", number), Title: fmt.Sprintf("%d. %s", place, findingTitle(f.Finding)), Body: body}
}

// FindingDoc is a finding with its log. all shows every entry and folds none.
func FindingDoc(f finding.Finding, all bool) doc.Doc {
	rows := rowsOf(f)
	return doc.Doc{Title: findingTitle(f), Kicker: "whichfs crash show", Facts: findingFacts(f), Sections: []doc.Section{
		{ID: "finding", Title: "Finding", Body: []doc.Block{doc.Items{List: findingItems(f, rows)}}},
		{ID: "log", Title: "The log, and what the cut left of it", Body: append([]doc.Block{doc.Chart{SVG: crashSVG(f, 1), Label: "Picture of " + findingTitle(f)}}, logBlocks(rows, f.State.Point, all)...)},
	}}
}

func findingFacts(f finding.Finding) []doc.Fact {
	return []doc.Fact{
		{Name: "candidate", Text: f.Candidate},
		{Name: "script", Text: f.Script.Name},
		{Name: "about", Text: f.Script.About},
		{Name: "disk", Text: units.Size(f.Size)},
		{Name: "kernel", Text: f.Kernel},
		{Name: "state", Text: fmt.Sprintf("number %d with seed %d", f.Number, f.Seed)},
	}
}

// findingItems says what was promised, what was found and what the medium held.
func findingItems(f finding.Finding, rows []picture.Row) []doc.Item {
	var out []doc.Item
	for _, text := range breachLines(f) {
		out = append(out, doc.Item{Mark: "✗", Tone: doc.Bad, Text: text})
	}
	out = append(out, doc.Item{Mark: "·", Text: when(f)}, doc.Item{Mark: "·", Text: left(f, rows)})
	if f.Check != "" {
		out = append(out, doc.Item{Mark: "·", Text: "its own check reported: " + f.Check})
	}
	const most = 6 // messages in a text
	for i, m := range f.Messages {
		item := doc.Item{Mark: "·", Muted: true, Text: "kernel: " + m}
		if i >= most {
			item.In = doc.Page
		}
		out = append(out, item)
	}
	if more := len(f.Messages) - most; more > 0 {
		out = append(out, doc.Item{Mark: "·", Muted: true, In: doc.Full, Text: fmt.Sprintf("and %d more kernel messages", more)})
	}
	return out
}

// LogDoc is a log without a power cut.
func LogDoc(name string, l writelog.Log, all bool) doc.Doc {
	rows := picture.Of(l, nil, script.Script{}, filesystem.Magics(filesystem.All...))
	n := map[string]int{}
	bytes := uint64(0)
	for i, r := range rows {
		n[r.Kind]++
		if l.Entries[i].IsWrite() {
			n["writes"]++
			bytes += r.Sectors * writelog.SectorSize
		}
		if r.Flushes() {
			n["flushes"]++
		}
	}
	return doc.Doc{Title: "Log " + name, Kicker: "whichfs crash show", Facts: []doc.Fact{
		{Name: "entries", Text: fmt.Sprint(len(rows))}, {Name: "writes", Text: fmt.Sprintf("%d, %s", n["writes"], units.Value(float64(bytes), "B"))},
		{Name: "flushes", Text: fmt.Sprint(n["flushes"])}, {Name: "discards", Text: fmt.Sprint(n["discard"])}, {Name: "marks", Text: fmt.Sprint(n["mark"])},
	}, Sections: []doc.Section{{ID: "log", Title: "Requests sent to the device", Body: logBlocks(rows, -1, all)}}}
}

// logBlocks shows entries in order of time, and explains their signs.
func logBlocks(rows []picture.Row, point int, all bool) []doc.Block {
	var legend []doc.Item
	for _, f := range fateOrder {
		if slices.ContainsFunc(fold(rows, point, all), func(part folded) bool { return part.row.Fate == f }) {
			legend = append(legend, doc.Item{Mark: fateSigns[f], Text: fateMeaning[f]})
		}
	}
	return []doc.Block{logTable(rows, point, all), doc.Items{List: legend}}
}

// logTable shows the entries in order of time. point is the number of entries
// sent before the power cut; below zero: there was none.
func logTable(rows []picture.Row, point int, all bool) doc.Table {
	t := doc.Table{Style: doc.Scroll, Name: "Log", Columns: []doc.Column{{Head: "Entry", Kind: doc.Figures}, {Head: "Request"}, {Head: "Sectors", Kind: doc.Figures}, {Head: "What", Flex: true}}}
	if point >= 0 {
		t.Columns = append(t.Columns, doc.Column{Head: "At the cut"})
	}
	cut := func() {
		row := doc.Texts("–", "✗ power cut", "", strings.Repeat("─", 24))
		for i := range row.Cells {
			row.Cells[i].Tone = doc.Strong
		}
		t.Rows = append(t.Rows, row)
	}
	done := point < 0
	for _, part := range fold(rows, point, all) {
		if !done && part.row.Entry >= point {
			cut()
			done = true
		}
		t.Rows = append(t.Rows, logRow(part))
	}
	if !done {
		cut()
	}
	return t
}

var fateTones = map[picture.Fate]doc.Tone{picture.Durable: doc.Good, picture.Kept: doc.Good, picture.Torn: doc.Warn, picture.Lost: doc.Bad, picture.Unsent: doc.Muted}

func logRow(part folded) doc.Row {
	r := part.row
	if part.more > 0 {
		row := doc.Texts("…", fmt.Sprintf("%d more", part.more), "", "", foldedFate(r))
		row.Cells[4].Tone = fateTones[r.Fate]
		return row
	}
	sectors, kind, fate := "", r.Kind, ""
	if r.Sectors > 0 {
		sectors = sectorRange(r)
	}
	if r.Mark() {
		kind = "  (mark)"
	}
	switch r.Fate {
	case picture.None:
		if r.Flushes() {
			fate = "everything before it is durable"
		}
	case picture.Torn:
		fate = fateSigns[r.Fate] + " " + tornText(r)
	case picture.Durable, picture.Kept, picture.Lost, picture.Unsent:
		fate = fateSigns[r.Fate] + " " + r.Fate.String()
	}
	row := doc.Texts(fmt.Sprint(r.Entry), kind, sectors, r.What, fate)
	row.Cells[4].Tone = fateTones[r.Fate]
	return row
}

// foldedFate is the fate of a stretch that is not shown.
func foldedFate(r picture.Row) string {
	switch r.Fate {
	case picture.Durable, picture.Unsent:
		return "all " + r.Fate.String()
	case picture.None, picture.Kept, picture.Torn, picture.Lost:
	}
	return ""
}

func tornText(r picture.Row) string {
	return fmt.Sprintf("torn: %d of %d from %d", r.Reached, r.Sectors, r.Sector+uint64(r.First))
}

func sectorRange(r picture.Row) string {
	if r.Sectors == 1 {
		return fmt.Sprint(r.Sector)
	}
	return fmt.Sprintf("%d–%d", r.Sector, r.Sector+r.Sectors-1)
}

// folded is a row, or a placeholder for rows that are not shown.
type folded struct {
	row  picture.Row
	more int
}

// fold omits the middle of long stretches of little interest: writes that were
// durable before anything was in flight, and writes that were never sent. In a
// log without a power cut all rows are equally interesting.
func fold(rows []picture.Row, point int, all bool) []folded {
	if point < 0 {
		return stretch(nil, rows, 40, 20, all)
	}
	settled := point
	for _, r := range rows[:point] {
		if r.Fate == picture.Kept || r.Fate == picture.Torn || r.Fate == picture.Lost {
			settled = r.Entry
			break
		}
	}
	out := stretch(nil, rows[:settled], 3, 10, all)
	out = stretch(out, rows[settled:point], 24, 24, all)
	return stretch(out, rows[point:], 3, 0, all)
}

// stretch adds rows, and shows only the first and last of many.
func stretch(out []folded, rows []picture.Row, head, tail int, all bool) []folded {
	const slack = 3 // fewer are not worth a placeholder
	if all || len(rows) <= head+tail+slack {
		head, tail = len(rows), 0
	}
	for _, r := range rows[:head] {
		out = append(out, folded{row: r})
	}
	rest := rows[head:]
	if middle := len(rest) - tail; middle > 0 {
		out = append(out, folded{row: rest[0], more: middle})
		rest = rest[middle:]
	}
	for _, r := range rest {
		out = append(out, folded{row: r})
	}
	return out
}

// Replay is a finding that was tried again. Now has the outcome, breaches,
// messages and kernel of this time.
type Replay struct {
	Was, Now finding.Finding
	Machine  string
}

// Shows reports whether the state reproduces the finding, or breaks another
// promise.
func (r Replay) Shows() bool { return r.Same() || len(r.Now.Breaches) > 0 || !r.Now.Outcome.Kept() }

// Same reports whether it reproduces the finding: the outcome and the promise.
func (r Replay) Same() bool {
	return r.Now.Outcome == r.Was.Outcome && promiseOf(r.Now) == promiseOf(r.Was)
}

func promiseOf(f finding.Finding) string {
	if len(f.Breaches) == 0 {
		return ""
	}
	return f.Breaches[0].Promise
}

// answer summarises the result in a sentence.
func (r Replay) answer() string {
	kernels := "kernel " + r.Now.Kernel
	if r.Was.Kernel != r.Now.Kernel {
		kernels += "; it was found with kernel " + r.Was.Kernel
	}
	switch {
	case r.Same():
		return "Reproduced (" + kernels + ")."
	case r.Shows():
		return "Not the same: this time " + r.Now.Outcome.Words() + ", and it was " + r.Was.Outcome.Words() + " (" + kernels + ")."
	}
	return "Not reproduced: this time " + r.Now.Outcome.Words() + ", with every promise kept (" + kernels + ")."
}

// ReplayDoc is a finding that was tried again, with its log. all shows every
// entry.
func ReplayDoc(r Replay, all bool) doc.Doc {
	answer := doc.Item{Mark: "✗", Tone: doc.Bad, Text: r.answer()}
	if !r.Shows() {
		answer.Mark, answer.Tone = "✓", doc.Good
	}
	if text := strings.Join(breachLines(r.Now), "; "); text != "" && !r.Same() {
		answer.Sub = []doc.Item{{Mark: "·", Text: text}}
	}
	shown := r.Was
	if r.Same() {
		shown = r.Now // the messages of this time
	}
	d := FindingDoc(shown, all)
	d.Title, d.Kicker = findingTitle(r.Was), "whichfs crash replay"
	d.Sections = append([]doc.Section{{ID: "replay", Title: "This time", Body: []doc.Block{doc.Items{List: []doc.Item{answer}}}}}, d.Sections...)
	return d
}

// findingTitle names a finding in a few words.
func findingTitle(f finding.Finding) string {
	return f.Candidate + ", " + f.Script.Name + ": " + f.Outcome.Words()
}

// when says how far the script had run at the power loss.
func when(f finding.Finding) string {
	switch {
	case f.Began == 0:
		return "Power was lost before the first operation."
	case f.Acked == f.Began:
		return fmt.Sprintf("Power was lost after operation %d had returned (%s).", f.Acked, picture.Turn(f.Script, f.Acked))
	case f.Acked == 0:
		return fmt.Sprintf("Power was lost during operation %d (%s); none had returned.", f.Began, picture.Turn(f.Script, f.Began))
	}
	return fmt.Sprintf("Power was lost during operation %d (%s); operations up to %d had returned (the last: %s).",
		f.Began, picture.Turn(f.Script, f.Began), f.Acked, picture.Turn(f.Script, f.Acked))
}

// left says which volatile writes reached the medium.
func left(f finding.Finding, rows []picture.Row) string {
	n := map[picture.Fate]int{}
	for _, r := range rows {
		n[r.Fate]++
	}
	volatile := n[picture.Kept] + n[picture.Torn] + n[picture.Lost]
	switch {
	case volatile == 0 && n[picture.Durable] == 0:
		return "Nothing had yet been sent to the storage."
	case volatile == 0:
		return "Nothing was in flight: everything sent was durable."
	}
	text := fmt.Sprintf("Of %s that no flush had made durable, %s reached the medium",
		units.Count(volatile, "request"), number(n[picture.Kept]+n[picture.Torn]))
	if n[picture.Torn] > 0 {
		text += ", one of them only in part"
	}
	switch {
	case f.Minimal:
		text += "; this finding is minimal"
	case f.Whole != "":
		text += "; not minimised: " + f.Whole
	}
	return text + "."
}

func number(n int) string {
	if n == 0 {
		return "none"
	}
	return fmt.Sprint(n)
}

// breachLines are the broken promises of a finding, one sentence each.
func breachLines(f finding.Finding) []string {
	var out []string
	for _, b := range f.Breaches {
		text := b.Outcome.Words()
		if b.Path != "" {
			text = b.Path + ": " + text
		}
		if b.What != "" {
			text += ": " + b.What
		}
		if promised := script.PromiseTexts[b.Promise]; promised != "" {
			text += " (" + b.Promise + ": " + promised + ")"
		} else if b.Promise != "" {
			text += " (" + b.Promise + ")"
		}
		out = append(out, text)
	}
	return out
}

// sameText says how often an exploration saw the same finding.
func sameText(f finding.Finding) string {
	if f.Same <= 1 {
		return "No other state showed the same."
	}
	if !f.Minimal {
		return plural(f.Same, "state") + " showed the same; this is the first of them."
	}
	return plural(f.Same, "state") + " showed the same; this is the smallest."
}

// rowsOf is what the power loss left of a finding's log, with each write
// identified by its filesystem's structures.
func rowsOf(f finding.Finding) []picture.Row {
	of := filesystem.All
	if c, err := filesystem.Parse(f.Candidate); err == nil {
		of = []filesystem.Filesystem{c.Filesystem()}
	}
	return picture.Of(f.Log, &f.State, f.Script, filesystem.Magics(of...))
}
