package report

import (
	"io"
	"time"

	"whichfs/internal/judge/verdict"
	"whichfs/internal/result"
)

// Short is the summary of a run for programs, a small document whose fields stay: docs/summary.schema.json describes
// it, and JSONVersion is its version as well.
type Short struct {
	ID      string    `json:"id"`
	Study   string    `json:"study"`
	Scale   string    `json:"scale"`
	Machine string    `json:"machine"`
	Storage string    `json:"storage"`
	Clock   string    `json:"clock"`
	Kernel  string    `json:"kernel,omitempty"`
	State   string    `json:"state"`
	Started time.Time `json:"started"`
	Rounds  int       `json:"rounds"`
	Digest  string    `json:"digest,omitempty"`
	// Reach says what the figures can and cannot show; Warnings are whole sentences.
	Reach    string        `json:"reach,omitempty"`
	Warnings []string      `json:"warnings"`
	Answers  []ShortAnswer `json:"answers"`
	Survival string        `json:"survival,omitempty"` // what survived faults, in sentences
	// Claims are numbers of claims by result.
	Claims map[string]int `json:"claims,omitempty"`
	Trials ShortTrials    `json:"trials"`
}

// ShortAnswer is the answer for one use.
type ShortAnswer struct {
	Use     string `json:"use"`
	Settled bool   `json:"settled"`
	Text    string `json:"text"`
	// Needed is how many more rounds would settle it; absent: it is settled, or no reasonable number would. Command
	// runs them.
	Needed  int          `json:"rounds_needed,omitempty"`
	Command string       `json:"command,omitempty"`
	Ranks   []ShortPlace `json:"ranks"` // best first
}

// ShortPlace is a candidate in an order.
type ShortPlace struct {
	Candidate string   `json:"candidate"`
	RankLow   int      `json:"rank_low"`
	RankHigh  int      `json:"rank_high"`
	Ratio     float64  `json:"ratio"` // to the best, averaged over all columns
	TiedWith  []string `json:"tied_with,omitempty"`
}

// ShortTrials counts trials, and candidates that are unsupported.
type ShortTrials struct {
	Planned     int `json:"planned"`
	Done        int `json:"done"`
	Failed      int `json:"failed"` // by the filesystem
	Lost        int `json:"lost"`   // to failures of the lab
	Unsupported int `json:"unsupported"`
}

func shortOf(v verdict.Verdict) Short {
	run := v.Run
	s := Short{ID: run.ID, Study: run.Study, Scale: run.Scale, Machine: run.Machine, Storage: run.Storage, Clock: run.ClockName(), Kernel: condition(run, "", "kernel"),
		State: first(string(run.State), string(result.Interrupted)), Started: run.Started, Rounds: run.Rounds, Digest: v.Digest, Reach: v.Reach, Warnings: v.Warnings,
		Trials: ShortTrials{v.Trials.Planned, v.Trials.Done, v.Trials.Subject, v.Trials.Lab, v.Trials.Unsupported}}
	for _, u := range v.Uses {
		a := ShortAnswer{Use: u.Name, Settled: u.Settled, Text: u.Answer, Needed: u.Needed, Command: settlingCommand(v, u)}
		for _, r := range u.Ranks {
			a.Ranks = append(a.Ranks, ShortPlace{r.Candidate, r.RankLow, r.RankHigh, r.Score.Value, r.TiedWith})
		}
		s.Answers = append(s.Answers, a)
	}
	if v.Reliability != nil {
		s.Survival = v.Reliability.Answer
	}
	for _, c := range v.Claims {
		if s.Claims == nil {
			s.Claims = map[string]int{}
		}
		s.Claims[c.Result]++
	}
	return s
}

// SummaryJSON writes the summary of runs for programs.
func SummaryJSON(w io.Writer, runs []verdict.Verdict) error {
	var list []Short
	for _, v := range runs {
		list = append(list, shortOf(v))
	}
	return writeObject(w, "whichfs-summary", "runs", list)
}
