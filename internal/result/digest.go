package result

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
)

// Digest identifies the figures of trials: 16 digits of the SHA-256 of all of them, bit by bit, with
// what became of each trial; "" if there are none. The order of trials, what the lab failed at, and everything that is the
// host's (dates, how long the trial took) have no part in it. Two runs with the same digest have
// measured the same.
func Digest(trials []Trial) string {
	trials = slices.DeleteFunc(slices.Clone(trials), func(t Trial) bool { return t.Outcome == LabFailed || t.Outcome == "" })
	slices.SortStableFunc(trials, func(a, b Trial) int {
		return cmp.Or(cmp.Compare(a.Round, b.Round), cmp.Compare(a.Candidate, b.Candidate), cmp.Compare(a.Variant, b.Variant))
	})
	if len(trials) == 0 {
		return ""
	}
	sum := sha256.New()
	for _, t := range trials {
		fmt.Fprintf(sum, "%d %q %q %s %q %q\n", t.Round, t.Candidate, t.Variant, t.Outcome, t.Phase, t.Reason)
		figures := slices.SortedStableFunc(slices.Values(t.Measurements), func(a, b Measurement) int {
			return cmp.Or(cmp.Compare(a.Phase, b.Phase), cmp.Compare(a.Metric, b.Metric))
		})
		for _, m := range figures {
			fmt.Fprintf(sum, "%q %q %x %q\n", m.Phase, m.Metric, m.Value, m.Absent)
		}
	}
	return hex.EncodeToString(sum.Sum(nil))[:16]
}

// DigestOfRuns identifies the figures of several runs by their digests, in any order; "": one has none.
func DigestOfRuns(digests []string) string {
	if len(digests) == 0 || slices.Contains(digests, "") {
		return ""
	}
	sum := sha256.Sum256([]byte(strings.Join(slices.Sorted(slices.Values(digests)), " ")))
	return hex.EncodeToString(sum[:])[:16]
}
