package report

import (
	"encoding/xml"
	"fmt"
	"io"
	"strconv"
	"strings"

	"whichfs/internal/judge/verdict"
	"whichfs/internal/result"
	"whichfs/internal/sys/harmless"
)

// The JUnit report has two suites. In "trials" every candidate's trial of a
// round is a test case, whatever the number of attempts: a filesystem that
// failed is a failure, a lab that failed an error, and an unsupported or
// refused candidate is skipped with its reason. In "claims" every claim is a
// test case that never fails: disagreement with a publication is a finding, in
// the property "result"; only a claim that was not tested is skipped. A run
// with cases of faults has a third, "reliability".

type junitSuites struct {
	XMLName  xml.Name     `xml:"testsuites"`
	Name     string       `xml:"name,attr"`
	Tests    int          `xml:"tests,attr"`
	Failures int          `xml:"failures,attr"`
	Errors   int          `xml:"errors,attr"`
	Suites   []junitSuite `xml:"testsuite"`
}

type junitSuite struct {
	Name       string          `xml:"name,attr"`
	Tests      int             `xml:"tests,attr"`
	Failures   int             `xml:"failures,attr"`
	Errors     int             `xml:"errors,attr"`
	Skipped    int             `xml:"skipped,attr"`
	Time       string          `xml:"time,attr,omitempty"`
	Timestamp  string          `xml:"timestamp,attr,omitempty"`
	Properties []junitProperty `xml:"properties>property,omitempty"`
	Cases      []junitCase     `xml:"testcase"`
}

type junitProperty struct {
	Name  string `xml:"name,attr"`
	Value string `xml:"value,attr"`
}

type junitCase struct {
	Class      string        `xml:"classname,attr"`
	Name       string        `xml:"name,attr"`
	Time       string        `xml:"time,attr,omitempty"`
	Properties *junitList    `xml:"properties"`
	Failure    *junitMessage `xml:"failure"`
	Error      *junitMessage `xml:"error"`
	Skipped    *junitMessage `xml:"skipped"`
	Out        string        `xml:"system-out,omitempty"`
}

type junitList struct {
	Properties []junitProperty `xml:"property"`
}

type junitMessage struct {
	Message string `xml:"message,attr"`
	Type    string `xml:"type,attr,omitempty"`
	Text    string `xml:",chardata"`
}

func writeJUnit(w io.Writer, v verdict.Verdict, trials []result.Trial) error {
	v = harmless.Copy(v, 0)
	doc := junitSuites{Name: "whichfs " + v.Run.Study, Suites: []junitSuite{trialSuite(v, trials), claimSuite(v)}}
	if v.Reliability != nil {
		doc.Suites = append(doc.Suites, reliabilitySuite(v))
	}
	for i := range doc.Suites {
		s := &doc.Suites[i]
		for _, c := range s.Cases {
			s.Tests++
			switch {
			case c.Failure != nil:
				s.Failures++
			case c.Error != nil:
				s.Errors++
			case c.Skipped != nil:
				s.Skipped++
			}
		}
		doc.Tests, doc.Failures, doc.Errors = doc.Tests+s.Tests, doc.Failures+s.Failures, doc.Errors+s.Errors
	}
	out, err := xml.MarshalIndent(doc, "", "  ")
	if err != nil {
		return err
	}
	_, err = w.Write(append(append([]byte(xml.Header), out...), '\n'))
	return err
}

func trialSuite(v verdict.Verdict, trials []result.Trial) junitSuite {
	s := junitSuite{Name: "trials", Time: seconds(v.Run.Active)}
	if !v.Run.Started.IsZero() {
		s.Timestamp = v.Run.Started.UTC().Format("2006-01-02T15:04:05")
	}
	for _, p := range []junitProperty{
		{"run", v.Run.ID}, {"study", v.Run.Study}, {"scale", v.Run.Scale}, {"machine", v.Run.Machine},
		{"storage", v.Run.Storage}, {"seed", strconv.FormatUint(v.Run.Seed, 10)},
	} {
		s.Properties = append(s.Properties, p)
	}
	for _, c := range v.Run.Conditions {
		s.Properties = append(s.Properties, junitProperty{c.Group + "." + c.Name, c.Value})
	}
	tried := map[string]bool{}
	cases := map[string]int{}
	for _, t := range trials {
		if t.Attempt == 0 {
			continue // planned, not yet begun
		}
		tried[clean(t.Candidate)] = true
		key := fmt.Sprintf("%d %s\x00%s", t.Round, t.Candidate, t.Variant)
		c := trialCase(t)
		at, again := cases[key]
		if !again {
			cases[key] = len(s.Cases)
			s.Cases = append(s.Cases, c)
			continue
		}
		// A later attempt decides; earlier ones are logged, not counted.
		c.Out = s.Cases[at].verdictLine() + c.Out
		s.Cases[at] = c
	}
	for _, c := range v.Candidates {
		if tried[c.Name] || c.Outcome != result.Unsupported && c.Outcome != result.Refused {
			continue
		}
		s.Cases = append(s.Cases, junitCase{
			Class: "trials." + c.Name, Name: "support",
			Skipped: &junitMessage{Message: withHint(c.Reason, c.Hint), Type: string(c.Outcome)},
		})
	}
	return s
}

func trialCase(t result.Trial) junitCase {
	c := junitCase{Class: "trials." + clean(t.Candidate), Name: fmt.Sprintf("round %d", t.Round)}
	if t.Variant != "" {
		c.Name += ", " + clean(t.Variant)
	}
	if !t.Ended.IsZero() && t.Ended.After(t.Started) {
		c.Time = seconds(t.Ended.Sub(t.Started).Seconds())
	}
	text := t.Reason
	if t.Phase != "" {
		text = t.Phase + ": " + text
	}
	lines := make([]string, len(t.Console))
	for i, l := range t.Console {
		lines[i] = clean(l)
	}
	m := &junitMessage{Message: withHint(clean(text), clean(t.Hint)), Type: string(t.Outcome), Text: strings.Join(lines, "\n")}
	switch t.Outcome {
	case result.Done:
	case result.SubjectFailed:
		c.Failure = m
	case result.Unsupported, result.Refused:
		c.Skipped = m
	case result.LabFailed:
		c.Error = m
	default:
		m.Type, m.Message = "not-finished", "the trial was started but never finished"
		c.Error = m
	}
	return c
}

// verdictLine says how an attempt ended, for the log of the next one.
func (c junitCase) verdictLine() string {
	for _, m := range []*junitMessage{c.Failure, c.Error, c.Skipped} {
		if m != nil {
			return c.Out + "earlier attempt: " + m.Type + ": " + m.Message + "\n"
		}
	}
	return c.Out
}

func claimSuite(v verdict.Verdict) junitSuite {
	s := junitSuite{Name: "claims"}
	for _, c := range v.Claims {
		tc := junitCase{Class: "claims." + v.Run.Study, Name: c.ID, Properties: &junitList{[]junitProperty{
			{"claim", c.Text}, {"where", c.Where}, {"result", c.Result}, {"figures", c.Figures},
		}}}
		if c.HasTau {
			tc.Properties.Properties = append(tc.Properties.Properties, junitProperty{"tau-b", strconv.FormatFloat(c.Tau, 'f', 2, 64)})
		}
		for _, p := range []junitProperty{{"contradicted", c.Contradicted}, {"follows", c.Follows}, {"decided by", c.DecidedBy}} {
			if p.Value != "" {
				tc.Properties.Properties = append(tc.Properties.Properties, p)
			}
		}
		if c.Result == verdict.NotTested {
			tc.Skipped = &junitMessage{Message: c.Figures}
		}
		s.Cases = append(s.Cases, tc)
	}
	return s
}

func withHint(reason, hint string) string {
	if hint == "" {
		return reason
	}
	return reason + " (" + hint + ")"
}

func seconds(s float64) string { return strconv.FormatFloat(s, 'f', 3, 64) }

// reliabilitySuite has a test case for each case of faults of each candidate.
// It fails if the filesystem broke one of its promises, after a power cut or in
// a crash state. The results of corrupted storage are findings, in the
// properties; a case that was not judged is skipped.
func reliabilitySuite(v verdict.Verdict) junitSuite {
	s := junitSuite{Name: "reliability"}
	for _, row := range v.Reliability.Rows {
		for i, c := range row.Cells {
			tc := junitCase{Class: "reliability." + row.Candidate, Name: c.Name}
			if c.Absent != "" {
				tc.Skipped = &junitMessage{Message: c.Absent}
				s.Cases = append(s.Cases, tc)
				continue
			}
			tc.Properties = &junitList{[]junitProperty{
				{"outcomes", outcomesText(c.Counts)}, {"lost", c.Lost.String()}, {"silent", c.Silent.String()}, {"promises", promisesText(c)},
			}}
			if c.Note != "" {
				tc.Properties.Properties = append(tc.Properties.Properties, junitProperty{"note", c.Note})
			}
			class := v.Reliability.Cases[i].Class
			if (class == verdict.PowerCuts || class == verdict.CrashStates) && !c.Kept() {
				tc.Failure = &junitMessage{Message: "promised data was lost in " + c.Lost.String(), Type: c.Worst}
			}
			s.Cases = append(s.Cases, tc)
		}
	}
	return s
}
