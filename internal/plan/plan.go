// Package plan says in advance what a run will do: which candidates, in how
// many rounds, in which order, under which limits. A plan is data and is stored
// with its run, so that a resumed run continues exactly as it would have
// without the interruption.
//
// Apart from reading a user's plan file the package performs no I/O.
package plan

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"whichfs/internal/filesystem"
	"whichfs/internal/plan/processor"
	"whichfs/internal/plan/scenario"
)

// Plan is a run to be carried out.
type Plan struct {
	Study   string `json:"study"`
	Scale   string `json:"scale"`   // "quick", "claims", "full"
	Machine string `json:"machine"` // "lab", "local", "ssh:root@board", "serial:/dev/ttyUSB0", "fake"
	Storage string `json:"storage"` // as the user wrote it
	// Clock of the figures, one of result.Clocks; empty in older plans: ClockWall.
	Clock string `json:"clock,omitempty"`
	// Processor is what guests with the virtual clock are charged for; nil: it is free.
	Processor *processor.Profile `json:"processor,omitempty"`
	// Predicted is the hardware that the run stands for: "BeagleBone Black (bbb) on model sd-basic".
	// Empty: the run is no prediction.
	Predicted string `json:"predicted,omitempty"`
	// Changed says what the run changes of the work that the user gave it.
	Changed []string `json:"changed,omitempty"`
	// KeepDisturbed: trials that other work of the machine disturbed are not taken again.
	KeepDisturbed bool `json:"keep_disturbed,omitempty"`
	// Precondition: each trial first brings the storage to a steady speed. The
	// scenario has the step; this field says that it was requested.
	Precondition bool                   `json:"precondition,omitempty"`
	Candidates   []filesystem.Candidate `json:"candidates"`
	Rounds       int                    `json:"rounds"`
	Seed         uint64                 `json:"seed"`
	// Budget is the time limit of the run, in nanoseconds in JSON; 0: none.
	Budget time.Duration `json:"budget_ns"`
	// Margin of interest: a smaller difference is a tie; 0.10 is 10 %.
	Margin    float64           `json:"margin"`
	ReadWrite scenario.Scenario `json:"read_write"`
	ReadOnly  scenario.Scenario `json:"read_only"` // for filesystems made as an image
	Data      []scenario.Data   `json:"data"`
	StepLimit float64           `json:"step_limit"` // s per step; 0: none
	// Factors are varied one at a time in addition to the candidates.
	Factors []scenario.Factor `json:"factors,omitempty"`
	// Until is UntilSettled if rounds are added until the answer is settled;
	// Rounds is then the maximum.
	Until string `json:"until,omitempty"`
	// Questions are the keys of the study's columns to be settled in addition to
	// the uses; only with Until.
	Questions []string `json:"questions,omitempty"`
	// Memory of a guest in bytes, except in trials of a level with another; 0: as much as it needs.
	// Work that must not be cached requires a small one.
	Memory int64 `json:"memory,omitempty"`
	// CPUs is the number of a guest's processors, except in trials of a level with another; 0: one.
	CPUs int `json:"cpus,omitempty"`
	// Arch is the processor of the lab's guest as Debian calls it; empty: the
	// host's.
	Arch string `json:"arch,omitempty"`
	// Kernel is the version of the guests' kernel, or how it begins ("6.12"), except
	// in trials of a level with another. Empty: the lab's own.
	Kernel string `json:"kernel,omitempty"`
	// Tools says which programs are sent to a board, one of the constants Tools…; empty: none.
	Tools string `json:"tools,omitempty"`
	// Modules are kernel module files on this host, by path.
	Modules []string `json:"modules,omitempty"`
	// Programs are files on this host that take the place of a machine's programs: NAME=PATH.
	Programs []string `json:"programs,omitempty"`
	// Cuts is the number of power cuts in mid-write after each trial of the
	// reference; 0: none.
	Cuts int `json:"cuts,omitempty"`
	// Untimed plans measure no time: their trials may run in parallel with any
	// clock, each in its own guest.
	Untimed bool `json:"untimed,omitempty"`
	// Fleet: workers carry the run out, which have all these labels.
	Fleet  bool     `json:"fleet,omitempty"`
	Labels []string `json:"labels,omitempty"`
	// Boots describes boots from the filesystem after each trial of the reference;
	// nil: none.
	Boots *Boots `json:"boots,omitempty"`
}

// Boots are boots from the filesystem under test as root, each in its own
// guest.
type Boots struct {
	Repeats int `json:"repeats"`
	// Kernels by version prefix ("6.1", "6.12"); empty: the lab's own.
	Kernels []string `json:"kernels,omitempty"`
}

// The programs that are sent to a board.
const (
	ToolsMissing = "missing" // those that it lacks
	ToolsLab     = "lab"     // all that the run needs, so that their versions are the lab's
	ToolsBoard   = "board"   // none
)

// UntilSettled is the only value of Until besides "".
const UntilSettled = "settled"

// MaxRounds is beyond any practical run.
const MaxRounds = 10_000

// DefaultMargin is the noise in careful measurements of real cards.
const DefaultMargin = 0.10

// VirtualSeed is the seed of a run with the virtual clock for which none was requested: the same
// command then gives the same figures.
const VirtualSeed = 1

// NewSeed draws a seed that is short enough to be typed.
func NewSeed() uint64 { return uint64(rand.Uint32()) }

// Check says what is wrong with a plan, or nil.
func (p Plan) Check() error {
	if err := checkCandidates(p.Candidates); err != nil {
		return err
	}
	if err := checkRounds(p.Rounds); err != nil {
		return err
	}
	if err := checkMargin(p.Margin); err != nil {
		return err
	}
	if err := p.checkClock(); err != nil {
		return err
	}
	if err := p.checkFactors(); err != nil {
		return err
	}
	if err := p.checkKernels(); err != nil {
		return err
	}
	if err := p.checkCPUs(); err != nil {
		return err
	}
	if err := p.checkMemory(); err != nil {
		return err
	}
	if p.Until != "" && p.Until != UntilSettled {
		return fmt.Errorf("until must be %q, not %q", UntilSettled, p.Until)
	}
	if p.Cuts < 0 || p.Cuts > MaxRounds {
		return fmt.Errorf("cuts must be from 0 to %d, not %d", MaxRounds, p.Cuts)
	}
	if p.Boots != nil && (p.Boots.Repeats < 1 || p.Boots.Repeats > MaxRounds) {
		return fmt.Errorf("boots must be from 1 to %d, not %d", MaxRounds, p.Boots.Repeats)
	}
	if p.Budget < 0 {
		return fmt.Errorf("budget must be above zero, not %v", p.Budget)
	}
	if !(p.StepLimit >= 0) || math.IsInf(p.StepLimit, 0) {
		return fmt.Errorf("step limit must be a number of seconds, not %v", p.StepLimit)
	}
	for name, s := range map[string]scenario.Scenario{"read-write": p.ReadWrite, "read-only": p.ReadOnly} {
		if err := p.checkScenario(s); err != nil {
			return fmt.Errorf("scenario %s: %w", name, err)
		}
	}
	for _, c := range p.Candidates {
		if len(p.Scenario(c)) == 0 {
			return fmt.Errorf("the plan has no scenario for candidate %q", c)
		}
	}
	return nil
}

// checkScenario: figures are stored under the name of their phase, so a phase
// has one step; and the plan must have the data that steps name.
func (p Plan) checkScenario(s scenario.Scenario) error {
	data := map[string]bool{"": true}
	for _, d := range p.Data {
		data[d.Name] = true
	}
	phases := map[string]bool{}
	for i, step := range s {
		switch {
		case step.Work == "":
			return fmt.Errorf("step %d names no work", i+1)
		case step.Phase != "" && phases[step.Phase]:
			return fmt.Errorf("phase %q appears twice", step.Phase)
		case !data[step.Data]:
			return fmt.Errorf("step %d (%s) needs the data set %q, which the plan lacks", i+1, step.Work, step.Data)
		}
		phases[step.Phase] = true
	}
	return nil
}

// Scenario returns the work of a trial of this candidate.
func (p Plan) Scenario(c filesystem.Candidate) scenario.Scenario {
	if c.Imaged() {
		return p.ReadOnly
	}
	return p.ReadWrite
}

// Drawn returns the steps of a round with their seeds. In an untimed plan these
// follow from the plan's seed and differ in every round, so that the iterations
// of several rounds are independent. In other plans every round does the same
// work, so that its times can be compared.
func (p Plan) Drawn(s scenario.Scenario, round int) scenario.Scenario {
	if !p.Untimed {
		return s
	}
	out := slices.Clone(s)
	for i, step := range out {
		if step.Seed != 0 {
			r := rand.New(rand.NewPCG(p.Seed, uint64(round)<<32|step.Seed))
			out[i].Seed = r.Uint64()>>11 | 1 // within the precision of JSON numbers in other readers, and never 0
		}
	}
	return out
}

// Encode returns the plan in the form stored with a run.
func (p Plan) Encode() ([]byte, error) { return json.Marshal(p) }

// Decode parses the output of Encode, and checks it. An unknown field, from a
// later whichfs, is an error, because its request would be ignored.
func Decode(text []byte) (Plan, error) {
	var p Plan
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(&p); err != nil {
		return Plan{}, fmt.Errorf("plan: %w", err)
	}
	if d.More() {
		return Plan{}, fmt.Errorf("plan: unexpected data after it")
	}
	if err := p.Check(); err != nil {
		return Plan{}, fmt.Errorf("plan: %w", err)
	}
	return p, nil
}

// Kept is the stored plan of a run, for code that judges a run and executes
// nothing: it ignores fields of a later version and checks nothing. A run
// without a plan has an empty one.
func Kept(text []byte) Plan {
	var p Plan
	if json.Unmarshal(text, &p) != nil {
		return Plan{}
	}
	return p
}

func checkRounds(n int) error {
	if n < 1 || n > MaxRounds {
		return fmt.Errorf("rounds must be a whole number from 1 to %d, not %d", MaxRounds, n)
	}
	return nil
}

func checkMargin(m float64) error {
	if !(m > 0 && m < 1) { // not a number fails both
		return fmt.Errorf("margin must be above 0 and below 1 (0.10 is 10 %%), not %v", m)
	}
	return nil
}

// checkCandidates says what is wrong with a list; an error caused by one
// candidate is a candidateError.
func checkCandidates(list []filesystem.Candidate) error {
	if len(list) == 0 {
		return fmt.Errorf("candidates must be a list of at least one")
	}
	seen := map[filesystem.Candidate]int{}
	for i, c := range list {
		if err := c.Err(); err != nil {
			return &candidateError{i, err}
		}
		if first, twice := seen[c]; twice {
			return &candidateError{i, fmt.Errorf("candidate %q appears twice (as number %d and %d)", c, first+1, i+1)}
		}
		seen[c] = i
	}
	return nil
}

type candidateError struct {
	index int
	err   error
}

func (e *candidateError) Error() string { return e.err.Error() }
func (e *candidateError) Unwrap() error { return e.err }

// How the names of boards begin, by the way to reach them.
const (
	SSH     = "ssh:"
	Serial  = "serial:"
	Labgrid = "labgrid:"
)

// Boards are the names of boards, as users write them.
const Boards = SSH + "[USER@]HOST[:PORT], " + Serial + "DEVICE[@BAUD] or " + Labgrid + "PLACE"

// BoardFile reports whether a machine is the path of a board's file.
func BoardFile(machine string) bool { return strings.HasSuffix(machine, ".toml") }

// OnBoard reports whether a machine is neither this host nor made by it.
func OnBoard(machine string) bool {
	return strings.HasPrefix(machine, SSH) || strings.HasPrefix(machine, Serial) || strings.HasPrefix(machine, Labgrid) || BoardFile(machine)
}

// Fake reports whether a machine is invented, as "fake" and "fake:NAME" are.
func Fake(machine string) bool { return machine == "fake" || strings.HasPrefix(machine, "fake:") }

// OwnKernel reports whether a machine has a kernel that whichfs did not start: this host or a board.
// Its processor, memory and kernel are what they are, and it outlives every session.
func OwnKernel(machine string) bool { return machine == "local" || OnBoard(machine) }

// OwnKernel reports it of the plan's machine.
func (p Plan) OwnKernel() bool { return OwnKernel(p.Machine) }
