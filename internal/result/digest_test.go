package result

import (
	"slices"
	"testing"
	"time"
)

// Only what was measured changes the digest, and every bit of it does.
func TestDigest(t *testing.T) {
	trial := func(candidate string, round int, wall float64) Trial {
		return Trial{Candidate: candidate, Round: round, Outcome: Done, Measurements: []Measurement{
			Figure(Wall, wall).In("write"), Figure(DeviceReads, 3).In("write"), Missing(CPUUser, "unknown").In("write"),
		}}
	}
	base := []Trial{trial("ext4", 1, 2), trial("xfs", 1, 3), trial("ext4", 2, 2)}
	want := Digest(base)
	if len(want) != 16 || want == Digest(nil) {
		t.Errorf("%q", want)
	}
	for name, same := range map[string]func([]Trial) []Trial{
		"order of trials":  func(all []Trial) []Trial { slices.Reverse(all); return all },
		"order of figures": func(all []Trial) []Trial { slices.Reverse(all[0].Measurements); return all },
		"dates": func(all []Trial) []Trial {
			all[0].Started, all[0].ID, all[0].Overhead = time.Unix(5, 0), 7, 8
			return all
		},
		"failed attempt": func(all []Trial) []Trial {
			return append(all, Trial{Candidate: "xfs", Round: 2, Outcome: LabFailed, Reason: "the host"})
		},
	} {
		if got := Digest(same(clones(base))); got != want {
			t.Errorf("%s changes it to %s", name, got)
		}
	}
	for name, other := range map[string]func(all []Trial){
		"last bit":  func(all []Trial) { all[1].Measurements[0].Value = 3.0000000000000004 },
		"absence":   func(all []Trial) { all[1].Measurements[2].Absent = "unsupported" },
		"outcome":   func(all []Trial) { all[1].Outcome = SubjectFailed },
		"round":     func(all []Trial) { all[2].Round = 3 },
		"variant":   func(all []Trial) { all[2].Variant = "noatime" },
		"candidate": func(all []Trial) { all[0].Candidate = "ext2" },
	} {
		all := clones(base)
		other(all)
		if Digest(all) == want {
			t.Errorf("%s does not change it", name)
		}
	}
}

func clones(all []Trial) []Trial {
	all = slices.Clone(all)
	for i := range all {
		all[i].Measurements = slices.Clone(all[i].Measurements)
	}
	return all
}

// Trials without an outcome of their own are no figures, and no figures have no digest.
func TestDigestOfNothing(t *testing.T) {
	if got := Digest(nil) + Digest([]Trial{{Candidate: "ext4", Outcome: LabFailed}}); got != "" {
		t.Errorf("%q", got)
	}
}

// The order of runs has no part in their digest, and a run without one leaves all without.
func TestDigestOfRuns(t *testing.T) {
	both := DigestOfRuns([]string{"a", "b"})
	if len(both) != 16 || both != DigestOfRuns([]string{"b", "a"}) || both == DigestOfRuns([]string{"a", "c"}) {
		t.Errorf("%q", both)
	}
	if got := DigestOfRuns([]string{"a", ""}) + DigestOfRuns(nil); got != "" {
		t.Errorf("%q", got)
	}
}
