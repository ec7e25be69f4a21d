package report

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"whichfs/internal/judge/verdict"
	"whichfs/internal/report/doc"
	"whichfs/internal/sys/units"
)

// SeriesDoc is the joint report of the runs of a series.
func SeriesDoc(v verdict.SeriesVerdict) doc.Doc {
	title := first(v.Title, v.Study)
	version := ""
	for _, s := range v.Storages {
		version = s.Verdict.Run.Version
	}
	d := doc.Doc{Title: title, Window: title + ", series " + v.Name, Kicker: "whichfs series", Version: version, Source: v.Source, Reach: v.Reach, Facts: seriesFacts(v), AnswerFirst: true,
		Foot: "Series " + v.Name + " · whichfs " + version}
	d.Sections = []doc.Section{seriesSummary(v), storagesSection(v), processorsSection(v.Processors), likenessSection(v), seriesChoices(v), seriesClaims(v)}
	for i := range v.Storages {
		d.Sections = append(d.Sections, storageSection(v.Storages[i], storageID(i)))
	}
	d.Sections = compact(append(d.Sections, seriesMore(v))...)
	return d
}

// SeriesText writes it for a terminal.
func SeriesText(w io.Writer, v verdict.SeriesVerdict, s TextOptions) error {
	return doc.Text(w, SeriesDoc(v), s)
}

// SeriesJSON writes everything, including the verdict of each run.
func SeriesJSON(w io.Writer, v verdict.SeriesVerdict) error {
	return writeObject(w, "whichfs-series", "series", v)
}

func storageID(i int) string { return fmt.Sprintf("storage-%d", i+1) }

// seriesSummary gives the answer of each storage in a line, and the claims.
func seriesSummary(v verdict.SeriesVerdict) doc.Section {
	var list []doc.Item
	for _, s := range v.Storages {
		list = append(list, doc.Item{Lead: s.Label, Text: first(strings.Join(s.Answers, " "), nothingCompared)})
	}
	for _, text := range v.Warnings {
		list = append(list, doc.Item{Mark: "!", Tone: doc.Warn, Text: text})
	}
	list = append(list, processorsBrief(v.Processors)...)
	list = append(list, likeness(v.Numbers).List...)
	for _, c := range v.Choices {
		if c.Of > 0 {
			list = append(list, doc.Item{Lead: "choices", Text: fmt.Sprintf("%s: %d of %d places as published", c.Name, c.Same, c.Of)})
		}
	}
	if len(v.Claims) > 0 {
		list = append(list, doc.Item{Lead: "claims", Text: tally(plainClaims(v))})
	}
	return doc.Section{In: doc.Brief, Body: []doc.Block{doc.Items{List: list}}}
}

func seriesFacts(v verdict.SeriesVerdict) []doc.Fact {
	study := v.Study
	if v.Scale != "" {
		study += ", " + v.Scale
	}
	var machines, predicted []string
	trials, active := 0, 0.0
	over, storage := "storages", ""
	if v.Processors != nil {
		over, storage = "processors", v.Storages[0].Verdict.Run.Storage
	}
	if v.ByMachine {
		over = "machines"
		var storages []string
		for _, s := range v.Storages {
			if on := s.Verdict.Run.Storage; !slices.Contains(storages, on) {
				storages = append(storages, on)
			}
		}
		storage = strings.Join(storages, ", ")
	}
	for _, s := range v.Storages {
		trials += s.Verdict.Trials.Done
		active += s.Verdict.Trials.Active
		if m := s.Verdict.Run.Machine; m != "" && (len(machines) == 0 || machines[len(machines)-1] != m) {
			machines = append(machines, m)
		}
		if text := predictedFact(s.Verdict.Run); text != "" {
			predicted = append(predicted, text)
		}
	}
	return []doc.Fact{
		{Name: "study", Text: study},
		{Name: "series", Text: v.Name},
		{Name: "predicted", Text: strings.Join(predicted, "; ")},
		{Name: "machine", Text: strings.Join(machines, ", ")},
		{Name: "storage", Text: storage},
		{Name: over, Text: units.Count(len(v.Storages), "run")},
		{Name: "trials", Text: fmt.Sprintf("%d that count, %s of running", trials, units.Value(active, "s"))},
		{Name: "digest", Text: v.Digest},
	}
}

// overWord is what the runs of a series differ in.
func overWord(v verdict.SeriesVerdict) string {
	switch {
	case v.Processors != nil:
		return "Processor"
	case v.ByMachine:
		return "Machine"
	}
	return "Storage"
}

// storagesSection has the answer on each storage, or processor.
func storagesSection(v verdict.SeriesVerdict) doc.Section {
	parts := doc.Parts{Style: doc.Answers}
	for _, s := range v.Storages {
		part := doc.Part{Title: s.Label, State: settledState(s.Settled)}
		for _, a := range s.Answers {
			part.Body = append(part.Body, doc.Para{Role: doc.Answer, Text: a})
		}
		if len(s.Answers) == 0 {
			part.Body = append(part.Body, doc.Para{Role: doc.Answer, Text: nothingCompared})
		}
		parts.List = append(parts.List, part)
	}
	return doc.Section{ID: "storages", Title: overWord(v) + " by " + strings.ToLower(overWord(v)), Body: []doc.Block{parts, doc.Warnings{List: v.Warnings}}}
}

// storageLabel names the storage of a table of figures.
func storageLabel(v verdict.SeriesVerdict, t verdict.NumbersTable) string {
	for _, s := range v.Storages {
		if s.Key == t.Storage {
			return s.Label
		}
	}
	return t.Storage
}

const aboutLikeness = "Tau is Kendall's tau-b over the figures of a table, ratios are ours over the published figures; – where too few have both, or the published ones are equal within the noise of their source. * marks tests that depend on the storage and not on the processor: their figures show how well this storage represents the published one."

// likenessSection shows how well the published tables and ours agree, table by
// table.
func likenessSection(v verdict.SeriesVerdict) doc.Section {
	if len(v.Numbers.Tables) == 0 {
		return doc.Section{}
	}
	t := doc.Table{Style: doc.Scroll, Merge: true, Columns: append(doc.Heads(doc.Words, true, overWord(v), "Test"), doc.Heads(doc.Figures, false, "Tau", "N", "Median ratio", fmt.Sprintf("Within ×%g", verdict.Near))...)}
	for _, one := range v.Numbers.Tables {
		name := one.Name
		if one.Card {
			name += " *"
		}
		median, near := "–", "–"
		if one.Median.N > 0 {
			median, near = units.Ratio(one.Median.Value), units.Share(float64(one.Within)/float64(one.Median.N))
		}
		t.Rows = append(t.Rows, doc.Texts(storageLabel(v, one), name, tauText(one.Tau), fmt.Sprint(one.Tau.N), median, near))
	}
	return doc.Section{ID: "figures", Title: "Published figures and ours", Nav: "Published figures", Body: []doc.Block{likeness(v.Numbers), t, doc.Para{Text: aboutLikeness}}}
}

func seriesChoices(v verdict.SeriesVerdict) doc.Section {
	s := doc.Section{ID: "choices", Title: "Choices, compared with the published ones", Nav: "Choices"}
	for i, c := range v.Choices {
		same := ""
		if c.Of > 0 {
			same = fmt.Sprintf(", %d of %d places the same", c.Same, c.Of)
		}
		s.Body = append(s.Body, choicePart(i, verdict.Choice{Name: c.Name, Source: c.Source}, c.Rows, same))
	}
	if len(v.Choices) > 0 {
		s.Body = append(s.Body, doc.Para{Text: aboutChoices})
	}
	return s
}

// plainClaims are the claims of a series in the form of a run's.
func plainClaims(v verdict.SeriesVerdict) []verdict.Claim {
	var out []verdict.Claim
	for _, c := range v.Claims {
		out = append(out, verdict.Claim{ID: c.ID, Text: c.Text, Where: c.Where, Result: c.Result, Figures: c.Figures,
			Contradicted: c.Contradicted, Follows: c.Follows, DecidedBy: c.DecidedBy})
	}
	return out
}

func seriesClaims(v verdict.SeriesVerdict) doc.Section {
	var list []doc.Claim
	for i, c := range plainClaims(v) {
		one := claimOf(c)
		for _, on := range v.Claims[i].On {
			one.Below = append(one.Below, doc.Item{Mark: first(claimMarks[on.Result], "–"), Tone: claimTones[on.Result], Lead: on.Storage, Text: on.Figures})
		}
		list = append(list, one)
	}
	if len(list) == 0 {
		return doc.Section{}
	}
	return doc.Section{ID: "claims", Title: "Claims of the study: " + tally(plainClaims(v)), Nav: "Claims", Body: []doc.Block{doc.Claims{List: list}}}
}

// storageSection shows the order and the published figures of one run.
func storageSection(s verdict.SeriesStorage, id string) doc.Section {
	run := s.Verdict.Run
	out := doc.Section{ID: id, Title: s.Label, In: doc.Page, Body: []doc.Block{
		doc.Para{Text: fmt.Sprintf("Run %s on %s: %s", run.ID, run.Storage, trialCount(s.Verdict.Trials))},
		doc.Commands{List: []doc.Command{{Line: "whichfs report " + run.ID + " --html page.html", About: "full report"}}}}}
	parts := doc.Parts{Style: doc.Answers}
	for _, u := range s.Verdict.Uses {
		parts.List = append(parts.List, doc.Part{Title: u.Name, Body: []doc.Block{useRanks(u)}})
	}
	out.Body = append(out.Body, parts, doc.Warnings{List: s.Verdict.Warnings})
	if n := s.Verdict.Numbers; n != nil && len(n.Tables) > 0 {
		body := numbersParts(n, id+"-figures")
		if source := commonSource(n.Tables); source != "" {
			body = append(body, doc.Para{Role: doc.Small, Text: "Published in: " + source + "."})
		}
		out.Body = append(out.Body, doc.Fold{Summary: "Published figures and ours", Small: units.Count(len(n.Tables), "table"), Body: append(body, doc.Footnotes{})})
	}
	return out
}

func seriesMore(v verdict.SeriesVerdict) doc.Section {
	var list []doc.Command
	for _, s := range v.Storages {
		if id := s.Verdict.Run.ID; id != "" {
			list = append(list, doc.Command{Line: "whichfs report " + id, About: "full report of the run on " + s.Label})
		}
	}
	if len(list) == 0 {
		return doc.Section{}
	}
	return doc.Section{ID: "more", Title: "More", In: doc.Full, Body: []doc.Block{doc.Commands{List: list}}}
}
