package report

import (
	"whichfs/internal/verdict"
)

// reliabilitySuite has a test case for each case of faults of each candidate. It
// fails where a promise was broken that the filesystem makes: after a power cut,
// or in a crash state. What corrupted storage leaves of data is a finding, and
// stands in the properties; what was not judged is skipped.
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
				tc.Failure = &junitMessage{Message: "something that was promised was lost in " + c.Lost.String(), Type: c.Worst}
			}
			s.Cases = append(s.Cases, tc)
		}
	}
	return s
}
