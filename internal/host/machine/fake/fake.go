// Package fake is a machine without a kernel: an agent in this process, at the other end of pipes
// that carry the real protocol, with scripted figures and faults. It is for testing everything but
// the agent: its numbers are exact, and its guests hang, die and lie on command.
package fake

import (
	"context"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"sync"
	"time"

	"whichfs/internal/host/machine"
	"whichfs/internal/plan"
	"whichfs/internal/plan/processor"
	"whichfs/internal/probe"
	"whichfs/internal/result"
	"whichfs/internal/target/toolbox"
	"whichfs/internal/wire"
)

// Script says what the machine does. The zero value measures every known
// filesystem without a fault. It can be read from JSON.
type Script struct {
	// Wall returns the seconds of one phase. nil: Walls, else a number derived from the names.
	Wall func(At) float64 `json:"-"`
	// Walls are seconds by candidate, then phase. The candidate "" stands for every one that is not
	// listed.
	Walls map[string]map[string]float64 `json:"walls"`
	// Noise is the standard deviation, on the log scale, of a factor applied to each figure; the
	// factor is derived from Seed and the figure's place.
	Noise float64 `json:"noise"`
	Seed  uint64  `json:"seed"`
	// Processor is the share of each phase's time that a processor takes which is charged for; 0: the
	// machine has no virtual clock.
	Processor float64 `json:"processor"`
	// Work is what such a processor executes beyond Walls, in instructions, by candidate, then phase.
	Work map[string]map[string]float64 `json:"work"`
	// Delay is how long each measured phase really takes, in seconds.
	Delay float64 `json:"delay"`
	// Unsupported and Refused are reasons by candidate.
	Unsupported map[string]string `json:"unsupported"`
	Refused     map[string]string `json:"refused"`
	Faults      []Fault           `json:"faults"`
	// Load of the machine by place, of which the first that fits counts; without any nothing observes it.
	// Figures do not change with it.
	Load []Load `json:"load"`
	// Busy are the answers of Busy, one after the other; the last one stays. None: never busy.
	Busy []float64 `json:"busy"`
	// Limit is how long the host waits for a silent agent, in seconds; default 10.
	Limit float64 `json:"limit"`
	// Size of the storage in bytes; 0: 1 GiB.
	Size int64 `json:"size"`
	// Identity of the storage; "": "fake storage".
	Identity string `json:"identity"`
	// Probe is the result of a probe of the storage; nil: a plausible card. Fields that an agent
	// knows are filled in.
	Probe *probe.Report `json:"probe"`
}

// At is the place of a figure.
type At struct {
	Candidate string
	Number    int // of the candidate's trial on this machine, failed ones not counted, from 1
	Phase     string
}

// Load is for what share of its time a phase waits for a processor.
type Load struct {
	Candidate string  `json:"candidate"` // "": any
	Phase     string  `json:"phase"`     // "": every one
	Number    int     `json:"number"`    // of the candidate's trial; 0: every one
	Share     float64 `json:"share"`
	// Absent says why it is unknown; "": it is known.
	Absent string `json:"absent"`
}

// Kind of fault.
type Kind string

const (
	Hang     Kind = "hang"     // falls silent
	Die      Kind = "die"      // the process ends
	Corrupt  Kind = "corrupt"  // a message with a flipped bit
	Truncate Kind = "truncate" // the stream ends inside a message
	EOF      Kind = "eof"      // the stream ends between messages
	Garbage  Kind = "garbage"  // an unsolicited message
	WrongID  Kind = "wrong-id" // a message of another request
	Negative Kind = "negative" // an impossible figure
	Hollow   Kind = "hollow"   // done, with a phase left out
	Twice    Kind = "twice"    // a phase's figures come twice
	Subject  Kind = "subject"  // the filesystem under test fails: a result
	Lab      Kind = "lab"      // the agent reports that it failed itself
	Gone     Kind = "gone"     // the storage vanishes for good
)

// Further stages for faults, in addition to a scenario's phases.
const (
	AtHello      = "@hello"
	AtPrepare    = "@prepare"
	AtCandidates = "@candidates"
	AtProbe      = "@probe" // in the middle of it
	// AtExplore is before a crash state is mounted; Number is the state's.
	AtExplore = "@explore"
)

// Fault is something that goes wrong.
type Fault struct {
	Kind      Kind   `json:"kind"`
	Candidate string `json:"candidate"` // "": any
	// Phase where it happens: one of the scenario's, or a stage; "": the first.
	Phase string `json:"phase"`
	// Number of the candidate's trial, failed ones not counted, from 1; 0: every trial.
	Number int `json:"number"`
	// Times it happens in total; 0: every time. With 1, a second try works.
	Times int `json:"times"`
}

// Machine implements machine.Machine.
type Machine struct {
	script Script

	mu       sync.Mutex
	finished map[string]int // trials by candidate
	struck   []int          // how often each fault happened
	sessions int
	asked    int  // how often Busy was
	gone     bool // the storage
}

// New makes a machine that follows the script.
func New(s Script) *Machine {
	return &Machine{script: s, finished: map[string]int{}, struck: make([]int, len(s.Faults))}
}

// Read reads a script from a JSON file; an empty path is the zero script.
func Read(path string) (Script, error) {
	var s Script
	if path == "" {
		return s, nil
	}
	f, err := os.Open(path)
	if err != nil {
		return s, fmt.Errorf("script of the fake machine: %w", err)
	}
	defer f.Close()
	d := json.NewDecoder(f)
	d.DisallowUnknownFields()
	if err := d.Decode(&s); err != nil {
		return s, fmt.Errorf("script of the fake machine %s: %w", path, err)
	}
	return s, nil
}

// Name implements machine.Machine.
func (m *Machine) Name() string { return "fake" }

// Sessions is the number of sessions started so far.
func (m *Machine) Sessions() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.sessions
}

// Busy implements machine.Shared.
func (m *Machine) Busy(context.Context) float64 {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.asked++
	if n := len(m.script.Busy); n > 0 {
		return m.script.Busy[min(m.asked, n)-1]
	}
	return 0
}

// load returns the scripted figures of a phase of that length.
func (m *Machine) load(at At, wall float64) []result.Measurement {
	if len(m.script.Load) == 0 {
		return nil
	}
	window := time.Duration(wall * float64(time.Second))
	for _, l := range m.script.Load {
		if (l.Candidate == "" || l.Candidate == at.Candidate) && (l.Phase == "" || l.Phase == at.Phase) && (l.Number == 0 || l.Number == at.Number) {
			waited := time.Duration(l.Share * float64(window))
			return result.LoadFigures(window, waited, 0, waited, l.Absent, l.Absent)
		}
	}
	return result.LoadFigures(window, 0, 0, 0, "", "")
}

// session is the client alone: the fake has no process of its own.
type session struct {
	*machine.Client
	m       *Machine
	limited bool
}

// Trial implements machine.Session. The script's limit overrides the plan's, so that tests need not
// wait long for a hanging guest.
func (s session) Trial(ctx context.Context, t wire.Trial, events machine.Events) (wire.Done, error) {
	if s.limited {
		t.StepLimit = 0
	}
	return s.Client.Trial(ctx, t, events)
}

// Check implements machine.Checker.
func (m *Machine) Check(spec machine.Spec) error {
	if spec.Instructions {
		return machine.NoInstructions(m)
	}
	if spec.Virtual && m.script.Processor == 0 {
		return machine.NoVirtual(m)
	}
	if spec.Processor != nil && !spec.Virtual {
		return machine.NoProcessor(m)
	}
	return nil
}

// Start implements machine.Machine.
func (m *Machine) Start(ctx context.Context, spec machine.Spec) (machine.Session, error) {
	if err := m.Check(spec); err != nil {
		return nil, err
	}
	modules, err := machine.CheckModules(spec.Modules, "")
	if err != nil {
		return nil, err
	}
	programs, err := given(spec.Given)
	if err != nil {
		return nil, err
	}
	m.mu.Lock()
	m.sessions++
	m.mu.Unlock()
	hostRead, agentWrite := io.Pipe()
	agentRead, hostWrite := io.Pipe()
	a := &agent{
		m: m, processor: spec.Processor, memory: spec.Memory, cpus: spec.CPUs, arch: spec.Arch, kernel: spec.Kernel, modules: modules, programs: programs, w: agentWrite, closed: make(chan struct{}), dead: make(chan struct{}),
		conn: wire.New(agentRead, agentWrite, nil),
	}
	a.inbox.Conn = a.conn
	go a.serve()
	limit := time.Duration(m.script.Limit * float64(time.Second))
	if limit <= 0 {
		limit = 10 * time.Second
	}
	console := &machine.Lines{}
	c := machine.NewClient(wire.New(hostRead, hostWrite, console.Add), machine.ClientOptions{
		Who: "fake guest",
		Closer: func() error {
			close(a.closed)
			_ = hostRead.Close()
			_ = hostWrite.Close()
			return nil
		},
		Console: console.Last,
		Dead:    a.dead, DeadReason: func() string { return "killed by its script" },
		HandshakeLimit: limit, PrepareLimit: limit, StepLimit: limit, Grace: 100 * time.Millisecond,
	})
	if err := c.Open(ctx, wire.Prepare{Storage: spec.Storage, Destroy: spec.Destroy, Data: spec.Data, ReadOnly: spec.ReadOnly, InUse: spec.InUse}); err != nil {
		_ = c.Close()
		return nil, err
	}
	return session{c, m, m.script.Limit > 0}, nil
}

// given describes the user's programs, which the fake does not start.
func given(words []string) (out []result.Condition, err error) {
	if err := machine.CheckPrograms(words, ""); err != nil {
		return nil, err
	}
	for _, word := range words {
		name, path := plan.SplitProgram(word)
		content, err := os.ReadFile(path)
		if err != nil {
			return nil, err
		}
		out = append(out, result.Condition{Group: "tools", Name: "program " + name, Value: toolbox.Entry{File: path}.Describe(content), Matters: true})
	}
	return out, nil
}

// fault returns the fault due at a place, if any, and counts it.
func (m *Machine) fault(at At, first bool) (Kind, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for i, f := range m.script.Faults {
		switch {
		case f.Candidate != "" && f.Candidate != at.Candidate:
		case f.Phase != at.Phase && (f.Phase != "" || !first):
		case f.Number != 0 && f.Number != at.Number:
		case f.Times != 0 && m.struck[i] >= f.Times:
		default:
			m.struck[i]++
			return f.Kind, true
		}
	}
	return "", false
}

// vanished reports whether the storage has gone, and with now makes it go.
func (m *Machine) vanished(now bool) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.gone = m.gone || now
	return m.gone
}

func (m *Machine) number(candidate string) int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.finished[candidate] + 1
}

func (m *Machine) finish(candidate string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.finished[candidate]++
}

// wall is the scripted time of a phase with its noise, in seconds.
func (m *Machine) wall(at At, charged *processor.Profile) float64 {
	s := m.script
	seconds, ok := s.Walls[at.Candidate][at.Phase]
	if !ok {
		seconds, ok = s.Walls[""][at.Phase]
	}
	switch {
	case s.Wall != nil:
		seconds = s.Wall(at)
	case !ok:
		// Between 0.1 and 1.1 s by phase, up to twice that by candidate.
		seconds = (0.1 + share(at.Phase)) * (1 + share(at.Candidate))
	}
	if charged != nil {
		seconds += s.Work[at.Candidate][at.Phase] / charged.Other
	}
	if s.Noise > 0 {
		r := rand.New(rand.NewPCG(s.Seed, hash(fmt.Sprintf("%s\x00%s\x00%d", at.Candidate, at.Phase, at.Number))))
		seconds *= math.Exp(r.NormFloat64() * s.Noise)
	}
	return seconds
}

func hash(s string) uint64 {
	h := fnv.New64a()
	_, _ = io.WriteString(h, s)
	return h.Sum64()
}

// share turns a name into a number from 0 to 1, always the same.
func share(s string) float64 { return float64(hash(s)%1000) / 1000 }
