package report

import (
	"fmt"
	"slices"
	"strings"

	"whichfs/internal/judge/verdict"
	"whichfs/internal/report/doc"
	"whichfs/internal/result"
	"whichfs/internal/sys/units"
)

// maxTrials is the largest number of trials that the page lists one by one; the
// CSV has all.
const maxTrials = 400

// trialsSection gives the number of trials and those that did not end well. The
// page lists them all.
func trialsSection(v verdict.Verdict, trials []result.Trial) doc.Section {
	s := doc.Section{ID: "trials", Title: "Trials", Body: []doc.Block{doc.Para{Text: trialCount(v.Trials)}}}
	switch t := v.Trials; {
	case (v.Run.Counts() || v.Run.Virtual()) && t.Active > 0:
		s.Body = append(s.Body, doc.Para{Text: fmt.Sprintf("The run took %s of this host's time.", units.Value(t.Active, "s"))})
	case t.Active > 0:
		s.Body = append(s.Body, doc.Para{Text: fmt.Sprintf("Overhead: %s of %s was spent outside measured phases.", units.Share(t.Overhead), units.Value(t.Active, "s"))})
	}
	s.Body = append(s.Body, loadBlocks(v.Load)...)
	for _, f := range failures(v.Trials.Failures) {
		item := doc.Item{Mark: "✗", Tone: doc.Bad, Lead: result.Named(f.Candidate, f.Variant) + " (" + f.when() + ")", Text: outcomeText(f.Outcome)}
		if f.Reason != "" {
			item.Text += ": " + f.Reason
		}
		if f.Outcome == result.LabFailed {
			item.Tone = doc.Warn
		}
		if f.Hint != "" {
			item.Sub = []doc.Item{{Mark: "→", Text: f.Hint}}
		}
		if len(f.Console) > 0 {
			item.Sub = append(item.Sub, doc.Item{Text: "last lines of the console:", In: doc.Full})
		}
		s.Body = append(s.Body, doc.Items{List: []doc.Item{item}})
		if len(f.Console) > 0 {
			s.Body = append(s.Body, doc.Fold{Summary: "Last lines of the console", Body: []doc.Block{doc.Pre{Lines: f.Console, Most: 8}}})
		}
	}
	if log := trialLog(v.Run, trials); len(log.Body) > 0 {
		s.Body = append(s.Body, log)
	}
	return s
}

// loadBlocks says how busy the machine was, and which figures are marked.
func loadBlocks(l *verdict.Load) []doc.Block {
	switch {
	case l == nil:
		return nil
	case l.Absent != "" && l.Share == 0:
		return []doc.Block{doc.Para{Text: "How busy this machine was is unknown: " + l.Absent + "."}}
	case l.Text == "":
		return []doc.Block{doc.Para{Text: fmt.Sprintf("This machine was quiet: phases waited %s of their time for a processor.", units.Share(l.Share))}}
	}
	t := doc.Table{Style: doc.Scroll, Name: "Phases that waited for a processor", Columns: []doc.Column{{Head: "Candidate", Kind: doc.Names}, {Head: "Phase"}, {Head: "Rounds"}, {Head: "Waited at worst", Kind: doc.Figures}}}
	for _, m := range l.Marked {
		var rounds []string
		for _, r := range m.Rounds {
			rounds = append(rounds, fmt.Sprint(r))
		}
		t.Rows = append(t.Rows, doc.Texts(result.Named(m.Candidate, m.Variant), m.Phase, strings.Join(rounds, ", "), units.Share(m.Share)))
	}
	out := []doc.Block{doc.Para{Text: l.Text}}
	if len(t.Rows) > 0 {
		out = append(out, doc.Fold{In: doc.Page, Summary: "Phases measured while this machine was busy", Small: units.Count(len(t.Rows), "phase"), Body: []doc.Block{t}})
	}
	return out
}

// trialLog lists every trial in the order it ran.
func trialLog(run result.Run, trials []result.Trial) doc.Fold {
	t := doc.Table{Style: doc.Scroll, Name: "Every trial", Columns: []doc.Column{{Head: "Round", Kind: doc.Figures}, {Head: "Place", Kind: doc.Figures}, {Head: "Candidate", Kind: doc.Names},
		{Head: "Attempt", Kind: doc.Figures}, {Head: "Outcome"}, {Head: "Overhead", Kind: doc.Figures}}}
	more, counted := 0, result.Counted(trials)
	for _, x := range trials {
		if x.Attempt == 0 {
			continue
		}
		if len(t.Rows) == maxTrials {
			more++
			continue
		}
		outcome := outcomeText(x.Outcome)
		if x.Phase != "" {
			outcome += " in " + x.Phase
		}
		if x.Reason != "" {
			outcome += ": " + x.Reason
		}
		if worst, disturbed := x.Disturbed(); disturbed {
			outcome += ", disturbed: " + worst.String()
			if !slices.ContainsFunc(counted, func(c result.Trial) bool {
				return c.ID == x.ID && c.Round == x.Round && c.Place == x.Place && c.Attempt == x.Attempt
			}) {
				outcome += "; left out"
			}
		}
		overhead := "–"
		if !run.Counts() {
			overhead = units.Value(x.Overhead, "s")
		}
		row := doc.Texts(fmt.Sprint(x.Round), fmt.Sprint(x.Place), x.Named(), fmt.Sprint(x.Attempt), outcome, overhead)
		row.Cells[2].Origin = fmt.Sprintf("trials/%d", x.ID)
		t.Rows = append(t.Rows, row)
	}
	if len(t.Rows) == 0 {
		return doc.Fold{}
	}
	small := units.Count(len(t.Rows), "trial")
	if more > 0 {
		small += fmt.Sprintf(" of %d; the CSV has all", len(t.Rows)+more)
	}
	return doc.Fold{In: doc.Page, Summary: "Every trial in the order it ran", Small: small, Body: []doc.Block{t}}
}

// failure is a trial that did not end well, or equal ones in several rounds.
type failure struct {
	verdict.Failure
	Rounds []string
}

// failures merges those that differ only in their round.
func failures(list []verdict.Failure) []failure {
	var out []failure
	for _, f := range list {
		at := slices.IndexFunc(out, func(o failure) bool {
			return o.Candidate == f.Candidate && o.Variant == f.Variant && o.Attempt == f.Attempt && o.Outcome == f.Outcome &&
				o.Phase == f.Phase && o.Reason == f.Reason && o.Hint == f.Hint && slices.Equal(o.Console, f.Console)
		})
		if at < 0 {
			out = append(out, failure{Failure: f})
			at = len(out) - 1
		}
		out[at].Rounds = append(out[at].Rounds, fmt.Sprint(f.Round))
	}
	return out
}

// when gives the round or rounds, and how far the trial got.
func (f failure) when() string {
	at := "round " + f.Rounds[0]
	if len(f.Rounds) > 1 {
		at = "rounds " + units.List(f.Rounds, 12)
	}
	if f.Attempt > 1 {
		at += fmt.Sprintf(", attempt %d", f.Attempt)
	}
	if f.Phase != "" {
		at += ", phase " + f.Phase
	}
	return at
}

func trialCount(t verdict.Trials) string {
	parts := []string{fmt.Sprintf("%d of %s done", t.Done, units.Count(t.Planned, "trial"))}
	add := func(n int, what string) {
		if n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, what))
		}
	}
	add(t.Subject, "ended by a filesystem failure")
	add(t.Lab, "lost to lab failures")
	add(t.Retried, "retried in a fresh guest")
	text := strings.Join(parts, ", ")
	if t.Unsupported > 0 {
		text += "; " + units.Count(t.Unsupported, "candidate") + " unsupported here"
	}
	if t.Refused > 0 {
		text += "; " + units.Count(t.Refused, "candidate") + " refused"
	}
	if t.Points > 0 {
		text += "; " + units.Count(t.Points, "point") + " of curves and tables could not be made"
	}
	return text + "."
}

// moreSection suggests the next commands.
func moreSection(v verdict.Verdict) doc.Section {
	id := v.Run.ID
	if id == "" {
		return doc.Section{}
	}
	list := []doc.Command{
		{Line: "whichfs report " + id + " --html page.html", About: "one page with the costs of every phase and all conditions"},
		{Line: "whichfs report " + id + " --csv figures.csv", About: "every measurement"},
	}
	if v.Run.State != result.Finished && v.Run.State != "" {
		list = append(list, doc.Command{Line: "whichfs resume " + id, About: "runs the missing trials"})
	}
	return doc.Section{ID: "more", Title: "More", In: doc.Full, Body: []doc.Block{doc.Commands{List: list}}}
}
