// Package report makes documents from verdicts, comparisons, recommendations
// and whatever else whichfs reports, and writes verdicts in the formats of
// other programs. A section is one function, in one list; package doc renders
// it for a terminal and as a page. Reports print what the verdict holds and
// compute no statistics of their own; they compute only the layout.
package report

import (
	"io"

	"whichfs/internal/judge/verdict"
	"whichfs/internal/report/doc"
	"whichfs/internal/result"
)

// Format is one way to write a report.
type Format struct {
	Name      string // as the user types it: --html
	Extension string // of the file, without the dot
	Help      string // of the flag that names its file; empty: for a terminal
	// Write renders v to w. Formats that show single measurements take them from
	// trials; the others accept nil. The error is that of w.
	Write func(w io.Writer, v verdict.Verdict, trials []result.Trial) error
	// Series renders a whole series; nil: the series is written run by run.
	Series func(w io.Writer, v verdict.SeriesVerdict) error
	// Short renders only the summary, of one run or of those of a series; nil: there is none.
	Short func(w io.Writer, v []verdict.Verdict) error
	// Export begins a file of any number of runs; nil: a file has one. Judged: it takes their verdicts.
	Export func(w io.Writer) Exporter
	Judged bool
}

// All lists the formats in the order of help texts.
var All = []Format{
	{Name: "text", Extension: "txt", Write: writeText},
	{Name: "summary", Extension: "txt", Write: writeSummary},
	{Name: "html", Extension: "html", Help: "Write the page to FILE.", Write: writeHTML, Series: writeSeriesHTML},
	{Name: "json", Extension: "json", Help: "Write verdict and measurements as JSON to FILE; - is standard output. With --summary: the answers alone (docs/summary.schema.json).", Write: writeJSON, Series: SeriesJSON, Short: SummaryJSON, Export: newJSONList, Judged: true},
	{Name: "csv", Extension: "csv", Help: "Write one row per measurement to FILE; - is standard output.", Write: single(newCSV), Export: newCSV},
	{Name: "parquet", Extension: "parquet", Help: "Write one row per measurement as Parquet to FILE; - is standard output.", Write: single(newParquet), Export: newParquet},
	{Name: "junit", Extension: "xml", Help: "Write JUnit XML to FILE; - is standard output.", Write: writeJUnit},
	{Name: "bonnie", Extension: "csv", Help: "Write Bonnie++ CSV, for bon_csv2html, to FILE; - is standard output.", Write: writeBonnie},
	{Name: "gobench", Extension: "bench", Help: "Write Go benchmark format, for benchstat, to FILE; - is standard output.", Write: writeGoBench, Export: newBenchList},
	{Name: "openmetrics", Extension: "txt", Help: "Write the estimates as OpenMetrics, for Prometheus, to FILE; - is standard output.", Write: single(newOpenMetrics), Export: newOpenMetrics, Judged: true},
	{Name: "lava", Extension: "txt", Help: "Write the estimates as signals of LAVA to FILE; - is standard output.", Write: single(newLAVA), Export: newLAVA, Judged: true},
}

// ByName finds a format.
func ByName(name string) (Format, bool) {
	for _, f := range All {
		if f.Name == name {
			return f, true
		}
	}
	return Format{}, false
}

// VerdictDoc is the report of a run. trials, which may be nil, are listed on the
// page. The error is one of drawing.
func VerdictDoc(v verdict.Verdict, trials []result.Trial) (doc.Doc, error) {
	run := v.Run
	d := doc.Doc{Title: first(v.Title, run.Study), Window: first(v.Title, run.Study) + ", " + run.ID, Kicker: "whichfs report", Version: run.Version,
		Source: v.Source, Reach: v.Reach, Facts: headFacts(v), AnswerFirst: true, Foot: "Run " + run.ID + " · whichfs " + run.Version}
	d.Sections = []doc.Section{summarySection(v), verdictSection(v), survivalSection(v)}
	// Without any figures, empty tables would hide the reason.
	if v.Trials.Done > 0 {
		axes, err := axisSections(v)
		if err != nil {
			return d, err
		}
		d.Sections = append(d.Sections, pictureSection(v), matrixSection(v), observationsSection(v), driftSection(v))
		d.Sections = append(d.Sections, axes...)
		d.Sections = append(d.Sections, mediumSection(v), abilitiesSection(v), kernelsSection(v), effectsSection(v), numbersSection(v.Numbers, "figures"), choicesSection(v.Choices), furtherSection(v),
			costsSection(v.Costs), roundsSection(v), roomSection(v), cutsSection(v), wearSection(v), claimsSection(v), publishedSection(v), phasesSection(v))
	}
	d.Sections = append(d.Sections, withoutSection(v), differsSection(v), candidatesSection(v), trialsSection(v, trials), conditionsSection(v), methodSection(v), moreSection(v))
	d.Sections = compact(d.Sections...)
	return d, nil
}

// TextOptions describe the screen of a text.
type TextOptions = doc.Screen

// Text writes the report for a terminal or a serial line.
func Text(w io.Writer, v verdict.Verdict, s TextOptions) error {
	d, err := VerdictDoc(v, nil)
	if err != nil {
		return err
	}
	return doc.Text(w, d, s)
}

func writeText(w io.Writer, v verdict.Verdict, _ []result.Trial) error {
	return Text(w, v, TextOptions{})
}

func writeSummary(w io.Writer, v verdict.Verdict, _ []result.Trial) error {
	return Text(w, v, TextOptions{Summary: true})
}

func writeHTML(w io.Writer, v verdict.Verdict, trials []result.Trial) error {
	d, err := VerdictDoc(v, trials)
	if err != nil {
		return err
	}
	return doc.HTML(w, d)
}

func writeSeriesHTML(w io.Writer, v verdict.SeriesVerdict) error { return doc.HTML(w, SeriesDoc(v)) }

// Drift says in one sentence what comparisons were adjusted for.
func driftSection(v verdict.Verdict) doc.Section {
	if v.Drift == nil {
		return doc.Section{}
	}
	return doc.Section{In: doc.Full, Body: []doc.Block{doc.Para{Text: v.Drift.Text}}}
}
