package report

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"whichfs/internal/judge/verdict"
	"whichfs/internal/report/doc"
	"whichfs/internal/result"
	"whichfs/internal/sys/units"
)

const nothingCompared = "No candidate has figures to compare."

// verdictSection gives the answer for each use, and how close the run got to
// it.
func verdictSection(v verdict.Verdict) doc.Section {
	s := doc.Section{ID: "verdict", Title: "Verdict"}
	switch {
	case len(v.Uses) > 0:
		parts := doc.Parts{Style: doc.Answers}
		for _, u := range v.Uses {
			parts.List = append(parts.List, usePart(u))
		}
		s.Body = append(s.Body, parts)
	case v.Reliability != nil:
		s.Body = append(s.Body, doc.Part{Title: "what survives, ranked by what was lost", Body: survivalAnswer(v.Reliability)})
	case len(abilityPhases(v)) > 0:
		s.Body = append(s.Body, doc.Para{Role: doc.Answer, Text: "The table says what can be done to each filesystem; nothing is ranked."})
	default:
		s.Body = append(s.Body, doc.Para{Role: doc.Answer, Text: nothingCompared})
	}
	if v.Settling != nil {
		s.Body = append(s.Body, settlingSection(v.Settling))
	}
	s.Body = append(s.Body, doc.Warnings{List: v.Warnings})
	return s
}

func usePart(u verdict.Use) doc.Part {
	var list []doc.Item
	for _, r := range u.Reasons {
		list = append(list, doc.Item{Mark: "·", Text: r})
	}
	for _, r := range u.Unsettled {
		list = append(list, doc.Item{Mark: "?", Tone: doc.Warn, Text: r})
	}
	return doc.Part{Title: u.Name, State: settledState(u.Settled), Body: []doc.Block{
		doc.Para{Role: doc.Answer, Text: u.Answer}, doc.Items{List: list}, useRanks(u), doc.Para{Role: doc.Small, Text: u.Rule, In: doc.Page}}}
}

// useRanks is the overall order of a use.
func useRanks(u verdict.Use) doc.Table {
	t := rankTable("Overall order, as ratios to the best", "Ratio to the best")
	top := topOf(u.Ranks, func(p verdict.Place) verdict.Interval { return p.Score })
	for _, r := range u.Ranks {
		t.Rows = append(t.Rows, rankRow(r.RankLow, r.RankHigh, r.Candidate, r.TiedWith, r.Score, top))
	}
	return t
}

// settlingSection shows the progress of a run that stops once its questions are
// settled.
func settlingSection(s *verdict.Settling) doc.Section {
	var list []doc.Item
	for _, q := range s.Questions {
		item := doc.Item{Mark: "?", Tone: doc.Warn, Lead: q.Name, Text: questionLine(q)}
		if q.Settled {
			item.Mark, item.Tone = "✓", doc.Good
		}
		list = append(list, item)
	}
	for _, d := range dropped(s) {
		list = append(list, doc.Item{Mark: "–", Muted: true, Text: d})
	}
	return doc.Section{Title: "How many rounds it took", Body: []doc.Block{doc.Para{Text: settledLine(s)}, doc.Items{List: list}}}
}

// settledLine explains the number of rounds in one sentence.
func settledLine(s *verdict.Settling) string {
	open := 0
	for _, q := range s.Questions {
		if !q.Settled {
			open++
		}
	}
	rounds := units.Count(s.Look, "round") + fmt.Sprintf(" of at most %d", s.Most)
	switch {
	case open == 0 && len(s.Questions) > 0:
		return "Every question was settled after " + rounds + "."
	case s.Done:
		return fmt.Sprintf("After %s, %s open.", rounds, isOrAre(open, "question"))
	}
	return fmt.Sprintf("So far there are %s, and %s open.", rounds, isOrAre(open, "question"))
}

func isOrAre(n int, noun string) string {
	if n == 1 {
		return "1 " + noun + " is"
	}
	return fmt.Sprintf("%d %ss are", n, noun)
}

// questionLine is the answer to one question.
func questionLine(q verdict.Question) string {
	switch {
	case q.Best == "":
		return q.Reason
	case q.Settled && len(q.Tied) > 0:
		return fmt.Sprintf("%s, together with %s: %s", q.Best, strings.Join(q.Tied, ", "), q.Reason)
	case q.Settled:
		return q.Best + ": " + q.Reason
	}
	return fmt.Sprintf("%s is ahead; %s", q.Best, q.Reason)
}

// dropped says since when candidates were left out, and why, in order of
// rounds.
func dropped(s *verdict.Settling) []string {
	names := slices.Sorted(maps.Keys(s.Dropped))
	slices.SortStableFunc(names, func(a, b string) int { return s.Dropped[a] - s.Dropped[b] })
	var out []string
	for _, n := range names {
		if s.Done && s.Dropped[n] >= s.Look {
			continue // the run ended there anyway
		}
		why := "can no longer win"
		for _, q := range s.Questions {
			if q.Settled && (q.Best == n || slices.Contains(q.Tied, n)) {
				why = "its questions are settled"
			}
		}
		out = append(out, fmt.Sprintf("%s: left out from round %d on: %s", n, s.Dropped[n]+1, why))
	}
	return out
}

// clockFact names the clock if it is not the usual one.
func clockFact(run result.Run) string {
	switch {
	case run.Counts():
		return "counts instructions: every cost is in instructions, none is a time"
	case run.Virtual() && run.Processor != "":
		return "virtual: the storage and the processor " + run.Processor + " take time; the same at every repetition"
	case run.Virtual():
		return "virtual: only the storage takes time, the processor none; the same on every machine"
	}
	return ""
}

// predictedFact names the hardware that a prediction is for.
func predictedFact(run result.Run) string {
	if run.Predicted == "" {
		return ""
	}
	return "for " + run.Predicted
}

// kernelFact is the kernel's release, with those of the kernels compared with it.
func kernelFact(v verdict.Verdict) string {
	text := condition(v.Run, "", "kernel")
	var others []string
	for _, k := range v.Kernels {
		others = append(others, first(condition(v.Run, "machine", strings.ToLower(result.Named("kernel", k.Name))), k.Name))
	}
	if len(others) > 0 {
		text += ", compared with " + strings.Join(others, ", ")
	}
	return text
}

// processorsFact is the number of processors if there are several, or if other numbers are compared with
// it.
func processorsFact(run result.Run) string {
	text := ""
	var others []string
	for _, c := range run.Conditions {
		if c.Group == "machine" && c.Name == "processors" {
			text = c.Value
		} else if c.Group == "machine" && strings.HasPrefix(c.Name, "processors [") {
			others = append(others, c.Value)
		}
	}
	switch {
	case len(others) > 0:
		return text + ", compared with " + strings.Join(others, ", ")
	case text == "1":
		return ""
	}
	return text
}

// headFacts are the names and values at the head of a report.
func headFacts(v verdict.Verdict) []doc.Fact {
	run := v.Run
	study := run.Study
	if run.Scale != "" {
		study += ", " + run.Scale
	}
	state := units.Count(run.Rounds, "round")
	if v.Settling != nil {
		state = fmt.Sprintf("%d of at most %s", v.Settling.Look, state)
	}
	if run.State != result.Finished && run.State != "" {
		state += ", not finished (" + string(run.State) + ")"
	}
	began := ""
	if !run.Started.IsZero() {
		began = run.Started.UTC().Format("2006-01-02 15:04 UTC") + ", " + units.Value(run.Active, "s") + " of running"
	}
	return []doc.Fact{
		{Name: "study", Text: study},
		{Name: "run", Text: run.ID},
		{Name: "predicted", Text: predictedFact(run)},
		{Name: "machine", Text: run.Machine},
		{Name: "clock", Text: clockFact(run)},
		{Name: "kernel", Text: kernelFact(v)},
		{Name: "processors", Text: processorsFact(run)},
		{Name: "storage", Text: run.Storage},
		{Name: "data", Text: strings.Join(digests(run), "; ")},
		{Name: "rounds", Text: state + fmt.Sprintf(", order shuffled from seed %d", run.Seed)},
		{Name: "began", Text: began},
		{Name: "digest", Text: v.Digest},
	}
}
