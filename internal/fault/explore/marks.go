package explore

import (
	"strconv"
	"strings"

	"whichfs/internal/fault/finding"
	"whichfs/internal/fault/script"
	"whichfs/internal/fault/states"
	"whichfs/internal/fault/writelog"
)

// Marks of a recording besides those of the script's own operations.
const (
	markMounted  = "mounted"
	markFinished = "finished"
)

// progress says how far the script had come when so many entries of the log had
// been sent.
type progress struct{ began, acked []int }

func readMarks(l writelog.Log) progress {
	p := progress{began: make([]int, 1, len(l.Entries)+1), acked: make([]int, 1, len(l.Entries)+1)}
	began, acked := 0, 0
	for _, e := range l.Entries {
		if e.Flags&writelog.Mark != 0 {
			what, number, _ := strings.Cut(string(e.Data), " ")
			n, err := strconv.Atoi(number)
			switch {
			case err != nil || n < 1:
			case what == script.Begin:
				began = max(began, n)
			case what == script.End:
				// What has returned had begun, whatever else the log says.
				acked, began = max(acked, n), max(began, n)
			}
		}
		p.began, p.acked = append(p.began, began), append(p.acked, acked)
	}
	return p
}

// at is for a state whose power went after so many entries.
func (p progress) at(point int) (began, acked int) { return p.began[point], p.acked[point] }

// LogTally is what can be told of a log before any state was looked at.
func LogTally(r Recording) finding.Tally {
	t := finding.Tally{Script: r.Script.Name, Entries: len(r.Log.Entries), Possible: states.Possible(r.Log),
		Outcomes: map[string]int64{}, Seconds: map[string]float64{}}
	for _, e := range r.Log.Entries {
		if e.IsWrite() {
			t.Writes++
		}
		if e.Flags&writelog.Flush != 0 {
			t.Flushes++
		}
	}
	return t
}

// Unseen makes a finding of the state of a number that nobody came back from;
// what was seen of it is for the caller to add. ok is false where the log has no
// such state.
func Unseen(r Recording, o states.Options, number int64) (f finding.Finding, ok bool) {
	for n, s := range states.All(r.Log, o) {
		if n != number {
			continue
		}
		f = finding.Finding{Size: r.Size, Script: r.Script, Base: r.Base, Log: r.Log, Seed: o.Seed, Number: n, State: s}
		f.Began, f.Acked = readMarks(r.Log).at(s.Point)
		return f, true
	}
	return f, false
}
