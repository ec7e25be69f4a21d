package board

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"whichfs/internal/filesystem"
	"whichfs/internal/host/lab/toolset"
	"whichfs/internal/host/machine"
	"whichfs/internal/plan/processor"
	"whichfs/internal/result"
	"whichfs/internal/sys/units"
	"whichfs/internal/wire"
)

// Examined is what a board has of what trials need. What could not be examined, since something before it
// failed, is absent.
type Examined struct {
	Machine string `json:"machine"`
	// Works: trials can run there.
	Works      bool               `json:"works"`
	Points     []Point            `json:"points"`
	Conditions []result.Condition `json:"conditions,omitempty"`
	// Step is the smallest step of the clock, in seconds.
	Step  float64            `json:"step,omitempty"`
	Speed *processor.Profile `json:"speed,omitempty"`
	// Doubt is a warning about the speed.
	Doubt       string        `json:"doubt,omitempty"`
	Devices     []wire.Device `json:"devices,omitempty"`
	Filesystems []Supported   `json:"filesystems,omitempty"`
	// Run are the words of a command line that measures.
	Run []string `json:"run,omitempty"`
}

// Point is one thing that trials need.
type Point struct {
	Name string `json:"name"`
	OK   bool   `json:"ok"`
	Note string `json:"note"`
	// Help says what to do where it is not OK.
	Help string `json:"help,omitempty"`
}

// Supported says whether a filesystem can be measured on the board.
type Supported struct {
	Filesystem string `json:"filesystem"`
	Works      bool   `json:"works"`
	// Sent are programs that the board lacks, and that a run sends.
	Sent []string `json:"sent,omitempty"`
	// Lacks are programs that neither the board nor the lab's image has.
	Lacks  []string `json:"lacks,omitempty"`
	Reason string   `json:"reason,omitempty"` // why it does not work
	Help   string   `json:"help,omitempty"`
}

// coarsest is the largest step of a clock that does not show in figures.
const coarsest = 100 * time.Microsecond

// point adds a point.
func (e *Examined) point(name string, err error, note string) {
	p := Point{Name: name, OK: err == nil, Note: note}
	if err != nil {
		p.Note = err.Error()
		if f := result.FailureOf(err); f != nil {
			p.Help = f.Hint
		}
	}
	e.Works = e.Works && p.OK
	e.Points = append(e.Points, p)
}

// Examine finds out what a board has. Its power is switched only if that is asked for. The error is that of
// a context, or of a request that makes no sense; what the board lacks is a point.
func (m *Machine) Examine(ctx context.Context, power bool) (Examined, error) {
	e := Examined{Machine: m.Name(), Works: true}
	if err := m.acquire(ctx); err != nil {
		if ctx.Err() == nil {
			e.point("place", err, "")
			err = nil
		}
		return e, err
	}
	if power && m.power == nil {
		return e, result.Refuse("leave --power out, or check a board's file that names a program which switches it (docs/boards.md)",
			"--power: nothing is known that switches the power of machine %s", m.Name())
	}
	s, err := m.examinee(ctx, &e, power)
	if ctx.Err() != nil {
		if s != nil {
			_ = s.Close()
		}
		return e, machine.Canceled(ctx)
	}
	if err != nil {
		return e, nil
	}
	err = s.examine(ctx, &e)
	if ctx.Err() != nil {
		_ = s.Close()
		return e, machine.Canceled(ctx)
	}
	if err = errors.Join(err, s.Close()); err != nil {
		e.point("session", err, "")
	}
	if e.Works {
		e.Run = m.command(e.Devices)
	}
	return e, nil
}

// examinee begins a session, after the board's power was switched if that is asked for.
func (m *Machine) examinee(ctx context.Context, e *Examined, power bool) (s *session, err error) {
	switch {
	case power:
		m.o.Progress("switching " + m.Name() + " off and on")
		begun := time.Now()
		s, err = m.restart(ctx, machine.Spec{})
		e.point("power", err, fmt.Sprintf("switched by %s; reached again after %.1f s", m.power.Command[0], time.Since(begun).Seconds()))
		if err != nil {
			return s, err
		}
	case m.power != nil:
		e.point("power", nil, "would be switched by "+m.power.Command[0]+"; --power tries it")
	default:
		e.point("power", nil, "nothing switches it: no power cuts, and a board that hangs stays so")
	}
	if s == nil {
		s, err = m.attempt(ctx, machine.Spec{})
	}
	if err != nil {
		e.point("connection", err, "")
		return s, err
	}
	l := s.line
	e.point("connection", nil, l.name())
	as := l.user
	if l.as != "root" {
		as += ", root by " + l.as
	}
	e.point("rights", nil, as)
	memory := "agent and data go into " + path.Dir(l.dir)
	if l.memory > 0 {
		memory = units.Value(float64(l.memory), "B") + " available; " + memory
	}
	e.point("memory", nil, memory)
	return s, nil
}

// examine fills in what the agent knows. The error is that of the session.
func (s *session) examine(ctx context.Context, e *Examined) error {
	if err := s.Hello(ctx); err != nil {
		return err
	}
	e.Conditions = s.Facts().Conditions
	e.point("agent", nil, s.agent)
	step, err := s.command(ctx, clockScript)
	if err == nil {
		err = e.clock(step)
	}
	if err != nil {
		return err
	}
	s.line.o.Progress("measuring the processor of " + s.machine.Name())
	text, err := s.command(ctx, speedScript)
	if err == nil {
		err = e.speed(text)
	}
	if err != nil {
		return err
	}
	if e.Devices, err = s.List(ctx); err != nil {
		return err
	}
	e.storage(s.machine.file, s.line.workFor("loop:1M"))
	return s.filesystems(ctx, e)
}

// command has the agent carry out a command of its own.
func (s *session) command(ctx context.Context, script string) (string, error) {
	said, err := s.line.carry(ctx, nil, script, in(s.line.dir, agentName))
	return said, s.line.failed("examining", err)
}

// The agent $2 measures the clock and the processor.
var (
	clockScript = oneLine(`echo; echo "$1"; exec "$2" clock;`)
	speedScript = oneLine(`echo; echo "$1"; exec "$2" speed --quick --name board;`)
)

func (e *Examined) clock(text string) error {
	ns, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return &result.Failure{Outcome: result.LabFailed, Reason: "the agent does not say how fine the board's clock is", Err: err}
	}
	step := time.Duration(ns)
	e.Step = step.Seconds()
	note := "steps of " + units.Value(e.Step, "s")
	if step > coarsest || step == 0 {
		note += ": too coarse for phases of less than " + units.Value(max(e.Step, 0.01)*100, "s") + "; a kernel with high-resolution timers (CONFIG_HIGH_RES_TIMERS) is finer"
	}
	e.point("clock", nil, note)
	return nil
}

const warning = "# Warning: "

func (e *Examined) speed(text string) error {
	p, err := processor.Decode("the profile of the board's processor", []byte(text))
	if err != nil {
		return &result.Failure{Outcome: result.LabFailed, Reason: "the agent's measurement of the processor makes no sense", Err: err}
	}
	e.Speed = &p
	for line := range strings.Lines(text) {
		if doubt, ok := strings.CutPrefix(strings.TrimSpace(line), warning); ok {
			e.Doubt = strings.TrimSuffix(doubt, ".")
		}
	}
	return nil
}

// storage finds what can be tested: the file's device, or any.
func (e *Examined) storage(file File, work string) {
	d, err := tested(file, e.Devices)
	switch {
	case err != nil:
		e.point("storage", err, "")
	case d.Path != "":
		e.point("storage", nil, fmt.Sprintf("%s, %s, %s", d.Path, units.Value(float64(d.Size), "B"), d.ID))
	default:
		e.point("storage", nil, "no device may be overwritten; loop:SIZE is a file in "+work)
	}
}

// tested is the device under test; the zero value: the board has none that may be overwritten.
func tested(file File, devices []wire.Device) (wire.Device, error) {
	if file.Storage == "" {
		if i := slices.IndexFunc(devices, func(d wire.Device) bool { return d.Takes }); i >= 0 {
			return devices[i], nil
		}
		return wire.Device{}, nil
	}
	i := slices.IndexFunc(devices, func(d wire.Device) bool { return d.Path == file.Storage })
	switch {
	case i < 0:
		return wire.Device{}, result.Refuse("plug it in, or change storage in the file; the devices are listed below", "the board has no device %s", file.Storage)
	case !devices[i].Takes:
		return wire.Device{}, result.Refuse("change storage in the file, or free the device", "%s cannot be used: %s", file.Storage, strings.TrimPrefix(devices[i].Usable, "no: "))
	case file.Identity != "" && file.Identity != devices[i].ID:
		return wire.Device{}, result.Refuse("plug in that of the file, or change identity in the file", "%s is %s, and the file says %s", file.Storage, devices[i].ID, file.Identity)
	}
	return devices[i], nil
}

// command are the words that begin a run on the board.
func (m *Machine) command(devices []wire.Device) []string {
	words := []string{"whichfs", "run", "bootlin-2023", "--quick", "--machine", m.Name()}
	d, _ := tested(m.file, devices)
	switch {
	case d.Path == "":
		words = append(words, "--storage", "loop:256M")
	case m.file.Storage == "":
		words = append(words, "--storage", d.Path, "--destroy", d.ID)
	default:
		words = append(words, "--destroy", d.ID)
	}
	if m.o.Installed != "" {
		words = append(words, "--agent-path", m.o.Installed)
	}
	return words
}

// filesystems says which can be measured, with the programs that a run sends.
func (s *session) filesystems(ctx context.Context, e *Examined) error {
	var all []filesystem.Candidate
	var tools []filesystem.Tool
	for _, fs := range filesystem.All {
		all = append(all, filesystem.Candidate{FS: fs.Name})
		tools = append(tools, fs.Needs...)
	}
	support, err := s.Support(ctx, all)
	if err != nil {
		return err
	}
	said, err := s.line.carry(ctx, nil, lacking, programNames(tools)...)
	if err != nil {
		return s.line.failed("looking for programs", err)
	}
	missing := strings.Fields(said)
	sent, help, err := s.sendable(tools, missing)
	if err != nil {
		return err
	}
	works := 0
	for i, fs := range filesystem.All {
		one := supported(fs, support.Candidates[i], missing, sent, help)
		if one.Works {
			works++
		}
		e.Filesystems = append(e.Filesystems, one)
	}
	if works == 0 {
		err = result.Refuse("the list below says what each needs", "none of %d filesystems can be measured", len(all))
	}
	e.point("filesystems", err, fmt.Sprintf("%d of %d can be measured", works, len(all)))
	return nil
}

// sendable are those of the missing programs that a run would send, and else what would have it send them.
func (s *session) sendable(tools []filesystem.Tool, missing []string) (sent []string, help string, err error) {
	arch, err := s.line.goarch()
	if err != nil {
		return nil, "", err
	}
	image, err := imageFor(arch)
	if f := result.FailureOf(err); f != nil {
		return nil, f.Hint, nil
	}
	set, closer, err := toolset.FromLab(image)
	if err != nil {
		return nil, "", &result.Failure{Outcome: result.LabFailed, Reason: "cannot read the lab's image", Err: err}
	}
	defer closer.Close() //nolint:errcheck // read only
	for _, name := range programNames(wanted(tools)) {
		if slices.Contains(missing, name) && set.Add(name) == nil {
			sent = append(sent, name)
		}
	}
	return sent, "", nil
}

// supported combines what the agent says of a filesystem with what is sent.
func supported(fs filesystem.Filesystem, agent result.Support, missing, sent []string, help string) Supported {
	out := Supported{Filesystem: fs.Name, Works: agent.Reason == "", Reason: agent.Reason, Help: agent.Hint}
	var first filesystem.Tool // that is missing, which may be the agent's reason
	blocked, sendable := false, false
	for _, t := range fs.Needs {
		switch {
		case !slices.Contains(missing, t.Program):
			continue
		case slices.Contains(sent, t.Program):
			out.Sent = append(out.Sent, t.Program)
		default:
			out.Lacks = append(out.Lacks, t.Program)
			blocked = blocked || !t.Optional
			sendable = sendable || t.From == ""
		}
		if first.Program == "" && !t.Optional {
			first = t
		}
	}
	lacksProgram := first.Program != "" && agent.Reason == first.Absent()
	if sendable && (out.Works || lacksProgram) { // no program helps where the kernel has no driver
		out.Help = cmp.Or(help, out.Help)
	}
	if lacksProgram && !blocked {
		out.Works, out.Reason, out.Help = true, "", ""
	}
	if !out.Works {
		out.Sent = nil // no run uses them
	}
	return out
}

// bare words need no quoting in any shell.
var bare = regexp.MustCompile(`^[A-Za-z0-9_@%+=:,./-]+$`)

// Typed is a command line as it is typed.
func Typed(words []string) string {
	out := slices.Clone(words)
	for i, word := range out {
		if bare.MatchString(word) {
			continue
		}
		if text, err := quoted(word); err == nil {
			out[i] = text
		}
	}
	return strings.Join(out, " ")
}
