package report

import (
	"bufio"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"

	"whichfs/internal/judge/verdict"
	"whichfs/internal/result"
)

// lava exports runs as the signals that a job of LAVA finds in its console: a test set for each run,
// a test case for each candidate, which fails if the filesystem failed, and one with a measurement for
// each figure.
type lava struct {
	b     *bufio.Writer
	taken map[string]bool // names of the set
}

func newLAVA(w io.Writer) Exporter { return &lava{b: bufio.NewWriter(w)} }

// Add implements Exporter.
func (l *lava) Add(v verdict.Verdict, _ []result.Trial) error {
	l.taken = map[string]bool{}
	fmt.Fprintf(l.b, "<LAVA_SIGNAL_TESTSET START %s>\n", lavaName("whichfs-"+v.Run.Study+"-"+v.Run.ClockName()+"-"+v.Run.ID))
	failed := map[string]bool{}
	for _, f := range v.Trials.Failures {
		failed[f.Candidate] = failed[f.Candidate] || f.Outcome == result.SubjectFailed
	}
	for _, c := range v.Candidates {
		passed := "pass"
		switch {
		case failed[c.Name] || c.Outcome == result.SubjectFailed:
			passed = "fail"
		case c.Outcome == result.Unsupported || c.Outcome == result.Refused:
			passed = "skip"
		case c.Outcome != result.Done:
			passed = "unknown"
		}
		fmt.Fprintf(l.b, "<LAVA_SIGNAL_TESTCASE TEST_CASE_ID=%s RESULT=%s>\n", l.name("trials."+c.Name), passed)
	}
	for _, list := range [][]verdict.Column{v.Columns, v.Extra} {
		for _, col := range list {
			for _, c := range col.Cells {
				if x := c.Estimate.Value; c.Absent == "" && !math.IsNaN(x) && !math.IsInf(x, 0) {
					unit := map[string]string{"s": "seconds", "B": "bytes", "1": "count"}[col.Unit]
					if unit == "" {
						unit = lavaName(col.Unit)
					}
					fmt.Fprintf(l.b, "<LAVA_SIGNAL_TESTCASE TEST_CASE_ID=%s RESULT=pass UNITS=%s MEASUREMENT=%s>\n", l.name(col.Key+"."+c.Candidate), unit, strconv.FormatFloat(x, 'f', -1, 64))
				}
			}
		}
	}
	_, err := fmt.Fprintf(l.b, "<LAVA_SIGNAL_TESTSET STOP>\n")
	return err
}

// Close implements Exporter.
func (l *lava) Close() error { return l.b.Flush() }

// name is a test case's, which occurs once in its set.
func (l *lava) name(text string) string {
	base := lavaName(text)
	name := base
	for n := 2; l.taken[name]; n++ {
		name = fmt.Sprintf("%s_%d", base, n)
	}
	l.taken[name] = true
	return name
}

// lavaName keeps the characters that a signal's words may have.
func lavaName(text string) string {
	return strings.Trim(strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9', strings.ContainsRune("-_.=+", r):
			return r
		}
		return '_'
	}, clean(text)), "_")
}
