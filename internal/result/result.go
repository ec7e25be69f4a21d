// Package result defines a measurement and everything that accompanies one:
// trials, notes, conditions. It contains only types and performs no I/O; the
// store is in result/store.
//
// Units are base units throughout: seconds ("s"), bytes ("B"), counts ("1").
// They are converted only where they are printed.
package result

import "time"

// Outcome is how a trial ended. The zero value is invalid: a trial that began
// but was never finished has none, and is run again.
type Outcome string

const (
	// Done: every phase of the scenario was measured, or is absent with its reason.
	Done Outcome = "done"
	// SubjectFailed: the filesystem under test, or one of its tools, failed.
	// That is a result.
	SubjectFailed Outcome = "subject-failed"
	// LabFailed: our own machinery failed (a guest hung, the stream broke).
	// It says nothing about the filesystem; the trial is tried again once.
	LabFailed Outcome = "lab-failed"
	// Unsupported: this kernel or machine lacks what the candidate needs.
	Unsupported Outcome = "unsupported"
	// Refused: the request is impossible (a bad option, a device that is too small, a tree that
	// does not fit).
	Refused Outcome = "refused"
)

// Valid reports whether o is one of the outcomes above.
func (o Outcome) Valid() bool {
	switch o {
	case Done, SubjectFailed, LabFailed, Unsupported, Refused:
		return true
	}
	return false
}

// Measurement is one figure of one phase of one trial. If Absent is not empty, the figure is not
// available, Absent says why, and Value is meaningless: an absent figure is never a zero.
type Measurement struct {
	Phase  string  `json:"phase"`
	Metric string  `json:"metric"`
	Value  float64 `json:"value"`
	Unit   string  `json:"unit"`
	Absent string  `json:"absent,omitempty"`
}

// Level of a note.
type Level string

const (
	Info    Level = "info"
	Warning Level = "warning"
)

// Note is something a reader of the figures must know: a kernel message, an
// option that did not take effect, data that was left out.
type Note struct {
	Phase string `json:"phase,omitempty"`
	Level Level  `json:"level"`
	Text  string `json:"text"`
}

// OptionState says whether a requested option is in force.
type OptionState string

const (
	InForce    OptionState = "in force"     // the mounted filesystem or the image shows it
	Altered    OptionState = "altered"      // the filesystem shows something else instead
	Ignored    OptionState = "ignored"      // it was accepted but is not in force
	Unverified OptionState = "not verified" // nothing shows it either way
)

// Option is one option of a candidate with the evidence of its state.
type Option struct {
	Text     string      `json:"text"`
	State    OptionState `json:"state"`
	Evidence string      `json:"evidence"`
}

// Trial is one scenario of one candidate on one storage, once.
type Trial struct {
	ID        int64  `json:"id"`    // in the store
	Round     int    `json:"round"` // from 1
	Place     int    `json:"place"` // position in the round, from 1
	Candidate string `json:"candidate"`
	// Variant is the trial's level of a factor; "" is the reference.
	Variant string `json:"variant,omitempty"`
	Attempt int    `json:"attempt"` // from 1; 0 for a trial not yet begun
	// Worker of a fleet that carried it out; empty: no fleet did.
	Worker  string    `json:"worker,omitempty"`
	Outcome Outcome   `json:"outcome,omitempty"`
	Phase   string    `json:"phase,omitempty"`  // where it ended, unless Done
	Reason  string    `json:"reason,omitempty"` // why, unless Done
	Hint    string    `json:"hint,omitempty"`   // what would help
	Started time.Time `json:"started"`
	Ended   time.Time `json:"ended"`
	// Overhead is the wall time of the trial outside its measured phases, in
	// seconds, including guest start.
	Overhead     float64       `json:"overhead"`
	Measurements []Measurement `json:"measurements,omitempty"`
	Notes        []Note        `json:"notes,omitempty"`
	Options      []Option      `json:"options,omitempty"`
	Console      []string      `json:"console,omitempty"` // last lines, when the lab failed
	// Artifacts are the complete output of other programs. The store returns them only on request.
	Artifacts []Artifact `json:"artifacts,omitempty"`
}

// Named is the candidate together with its variant: "ext4", "ext4 [noatime]".
func (t Trial) Named() string { return Named(t.Candidate, t.Variant) }

// Named is the name of a candidate with its variant: "ext4", "ext4 [noatime]".
// variant is empty for the reference.
func Named(candidate, variant string) string {
	if variant == "" {
		return candidate
	}
	return candidate + " [" + variant + "]"
}

// Artifact is the output of another program during a phase, kept unchanged for readers who want
// more than our figures.
type Artifact struct {
	Phase string `json:"phase"`
	Name  string `json:"name"` // in the form of a file name: "fio.json"
	Text  string `json:"text"`
}

// Condition is one fact under which a run was made: kernel, tools, storage,
// digest of a data set. Group orders them in reports.
type Condition struct {
	Group string `json:"group"` // "machine", "storage", "tools", "data", "run"
	Name  string `json:"name"`
	Value string `json:"value"`
	// Matters: two runs that differ in it must not be compared silently.
	Matters bool `json:"matters,omitempty"`
}

// Run is an executed plan.
type Run struct {
	ID      string `json:"id"`
	Study   string `json:"study"`
	Scale   string `json:"scale"` // "quick", "full"
	Machine string `json:"machine"`
	Storage string `json:"storage"` // as the user wrote it
	// Clock of the figures; empty in runs from before there were two: ClockWall.
	Clock string `json:"clock,omitempty"`
	// Processor that the guests were charged for; empty: it was free, or real.
	Processor string `json:"processor,omitempty"`
	// Predicted is the hardware for which the run predicts figures: "BeagleBone Black (bbb) on model
	// sd-basic". Empty: it is no prediction.
	Predicted  string      `json:"predicted,omitempty"`
	Seed       uint64      `json:"seed"`
	Rounds     int         `json:"rounds"`     // planned
	Candidates []string    `json:"candidates"` // in plan order
	Margin     float64     `json:"margin"`     // of interest, 0.10 is 10 %
	Plan       []byte      `json:"-"`          // the whole plan, JSON
	Version    string      `json:"version"`    // of whichfs
	Emulated   bool        `json:"emulated"`
	Started    time.Time   `json:"started"`
	Ended      time.Time   `json:"ended"` // zero while unfinished
	State      RunState    `json:"state"`
	Conditions []Condition `json:"conditions"`
	Notes      []Note      `json:"notes,omitempty"`
	// Series joins the runs of one study on several storages: the ID of the first
	// of them. Empty: a single run.
	Series string `json:"series,omitempty"`
	// Active is the wall time spent running so far, in seconds; a run that was
	// resumed has several stretches of it.
	Active float64 `json:"active"`
}

// Where is the machine of a run with the processor that its guests were charged for, or the hardware
// for which it predicts figures.
func (r Run) Where() string {
	switch {
	case r.Predicted != "":
		return "predicts " + r.Processor
	case r.Processor != "":
		return r.Machine + " (" + r.Processor + ")"
	}
	return r.Machine
}

// Kernel is the run's kernel; empty: no condition says it.
func (r Run) Kernel() string {
	for _, c := range r.Conditions {
		if c.Group == "machine" && c.Name == "kernel" {
			return c.Value
		}
	}
	return ""
}

// RunState is the state of a run.
type RunState string

const (
	Running     RunState = "running"     // or killed: nothing recorded its end
	Interrupted RunState = "interrupted" // ended by the user or its budget
	Finished    RunState = "finished"
)
