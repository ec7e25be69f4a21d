// Package board runs trials on a board that is reached over ssh or a serial line. It is the system's own
// ssh that connects, so the user's configuration, keys, jump hosts and known hosts count; on a serial
// line it is the shell of the board's console that is spoken to first, and then the agent. The board
// needs a POSIX shell, root's rights and some memory: BusyBox has everything else. The agent is sent into
// a directory in memory, which the board itself removes at the end, also if the line is cut.
package board

import (
	"bufio"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"whichfs/internal/host/debian"
	"whichfs/internal/host/machine"
	"whichfs/internal/host/machine/labguest"
	"whichfs/internal/plan"
	"whichfs/internal/plan/media"
	"whichfs/internal/result"
	"whichfs/internal/wire"
)

const (
	// agentName is the agent's file in the directory on the board.
	agentName = "agent"
	// agentMemory is what the running agent takes besides its file and data, in bytes: 9 MiB were
	// measured, and the rest is for the tools that it starts.
	agentMemory = 24 << 20
)

// Options of a board.
type Options struct {
	// Agent is the agent's binary; empty: machine.AgentPath finds one for the board's processor.
	Agent string
	// Config is a file for ssh in place of the user's configuration; empty: the user's.
	Config string
	// Installed is the path of the agent on the board; empty: it is sent.
	Installed string
	// Silence is how long a board may say nothing before the connection counts as lost; 0: a minute.
	Silence time.Duration
	// Progress receives a line per slow step; nil: none is reported.
	Progress func(text string)
}

// Machine is a board.
type Machine struct {
	place Place
	file  File // of the board; the zero value if it has none
	power *Power
	o     Options
	entry entry // to its console
	// console is the place of its serial port; the zero value: none is known.
	console Place
	// lease is of the place acquired from labgrid; nil: none is acquired.
	lease *lease

	mu sync.Mutex
	// left are directories of earlier sessions that were not seen to end.
	left []string
}

// New makes the board with a name. Errors are *result.Failure.
func New(name string, o Options) (*Machine, error) {
	file := File{Off: usualOff, Start: usualStart}
	at := name
	if plan.BoardFile(name) {
		var err error
		if file, err = ReadFile(name); err != nil {
			return nil, err
		}
		at = file.Connect
	}
	place, err := Parse(at)
	if err != nil {
		return nil, err
	}
	place.Name = name
	if o.Progress == nil {
		o.Progress = func(string) {}
	}
	m := &Machine{place: place, file: file, power: file.Power, o: o, entry: entry{login: file.Login, loader: file.Loader, agent: file.Agent, patience: usualPatience}}
	m.console = file.Console
	if place.serial() {
		m.console = place
	}
	return m, nil
}

// acquire acquires a board that somebody lends, and finds out how it is reached and switched. Its sessions share
// it until GiveBack.
func (m *Machine) acquire(ctx context.Context) error {
	if m.place.Lent == "" {
		return nil
	}
	if m.lease != nil {
		if lost, err := m.lease.lost(ctx); !lost {
			return err
		}
		_ = m.GiveBack() // it is not ours any more
	}
	m.o.Progress("acquiring " + m.Name())
	l, has, err := lend(ctx, m.place.Lent)
	if err != nil {
		return err
	}
	as := func(p *Place) Place {
		out := *p
		out.Name, out.Lent = m.place.Name, has.name
		return out
	}
	switch {
	case has.ssh != nil:
		m.place = as(has.ssh)
	case has.console != nil:
		m.place = as(has.console)
	default:
		err = result.Fail(result.Unsupported, "an exporter of labgrid offers NetworkService for ssh, and NetworkSerialPort, RawSerialPort or USBSerialPort for a console",
			"place %s of labgrid has neither ssh nor a console; it has: %s", has.name, strings.Join(append(has.otherResources, has.power), " "))
		return errors.Join(err, l.giveBack())
	}
	if has.console != nil && m.file.Console == (Place{}) {
		m.console = as(has.console)
	}
	m.lease = l
	text := fmt.Sprintf("%s is reached by %s", m.Name(), m.place.typed())
	switch {
	case m.file.Power != nil:
	case has.power != "":
		m.power = &Power{Command: []string{l.program, "-p", has.name, "power", actionWord}, Env: l.env, Off: m.file.Off, Start: m.file.Start}
		text += ", its power is switched by labgrid (" + has.power + ")"
	default:
		text += "; it has no resource that switches its power"
	}
	if l.guard == nil {
		text += "; it was acquired before, and stays so"
	}
	m.o.Progress(text)
	return nil
}

// GiveBack implements machine.Lent.
func (m *Machine) GiveBack() error {
	l := m.lease
	if m.lease = nil; l == nil {
		return nil
	}
	return l.giveBack()
}

// Name implements machine.Machine.
func (m *Machine) Name() string { return m.place.Name }

// Lasting implements machine.Lasting: the board's kernel outlives every session.
func (m *Machine) Lasting() bool { return true }

// Check implements machine.Checker. What only the board can know is checked there: its rights,
// processor and memory when a session starts, its devices by the agent.
func (m *Machine) Check(spec machine.Spec) error {
	if _, err := machine.CheckOwnKernel(m, spec, "of the board"); err != nil {
		return err
	}
	if err := m.file.permits(m.place.Name, spec.Storage, spec.Destroy); err != nil {
		return err
	}
	if spec.Work != "" && !filepath.IsAbs(spec.Work) {
		return result.Refuse("--work /DIRECTORY", "--work %s: a directory on a board is named from its root", spec.Work)
	}
	if _, err := machine.CheckModules(spec.Modules, ""); err != nil {
		return err
	}
	return machine.CheckPrograms(spec.Given, "")
}

// Start implements machine.Machine.
func (m *Machine) Start(ctx context.Context, spec machine.Spec) (machine.Session, error) {
	if err := m.Check(spec); err != nil {
		return nil, err
	}
	s, err := m.start(ctx, spec, m.begin)
	if err != nil {
		return nil, err
	}
	if len(m.file.Loader.BootFrom) > 0 {
		return booting{s}, nil
	}
	return s, nil
}

// beginning is a way to begin a session: with a board that is on, that starts, or that is switched off and on.
type beginning func(context.Context, machine.Spec) (*session, error)

// start begins a session and has it prepare its storage.
func (m *Machine) start(ctx context.Context, spec machine.Spec, begin beginning) (*session, error) {
	s, err := begin(ctx, spec)
	if err != nil {
		return nil, err
	}
	s.spec = spec
	prepare, err := s.prepare(ctx, spec)
	if err == nil {
		err = s.Open(ctx, prepare)
	}
	if err == nil {
		err = s.drop(ctx, prepare)
	}
	if err != nil {
		return nil, withCleaning(err, s.Close())
	}
	return s, nil
}

// List implements machine.Lister.
func (m *Machine) List(ctx context.Context) ([]wire.Device, error) {
	s, err := m.begin(ctx, machine.Spec{})
	if err != nil {
		return nil, err
	}
	if err = s.Hello(ctx); err != nil {
		return nil, withCleaning(err, s.Close())
	}
	list, err := s.Client.List(ctx)
	if err != nil {
		return nil, withCleaning(err, s.Close())
	}
	return list, s.Close()
}

// begin connects and starts the agent. A board that cannot be reached, and whose power can be switched, is
// switched off and on once.
func (m *Machine) begin(ctx context.Context, spec machine.Spec) (*session, error) {
	if err := m.acquire(ctx); err != nil {
		return nil, err
	}
	s, err := m.attempt(ctx, spec)
	if err == nil || m.power == nil || ctx.Err() != nil || !unreachable(err) {
		return s, err
	}
	m.o.Progress(fmt.Sprintf("%s cannot be used (%v): switching it off and on", m.Name(), err))
	return m.restart(ctx, spec)
}

// attempt connects and starts the agent.
func (m *Machine) attempt(ctx context.Context, spec machine.Spec) (*session, error) {
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	m.o.Progress("connecting to " + m.Name())
	l, err := connect(ctx, m.place, m.o, &m.entry)
	if err != nil {
		return nil, err
	}
	s := &session{line: l, machine: m}
	if err := s.launch(ctx, spec); err != nil {
		return nil, withCleaning(err, m.end(l))
	}
	return s, nil
}

// end ends a connection, and remembers what it may have left.
func (m *Machine) end(l *line) error {
	err := l.close()
	if l.dir != "" {
		m.mu.Lock()
		m.left = append(m.left, l.dir)
		m.mu.Unlock()
	}
	return err
}

// takeOver ends what earlier sessions have left on the board: as long as their agents live, they hold
// the storage.
func (m *Machine) takeOver(ctx context.Context, l *line) error {
	m.mu.Lock()
	left := m.left
	m.left = nil
	m.mu.Unlock()
	for i, dir := range left {
		if _, err := l.carry(ctx, nil, takeOver, dir); err != nil {
			m.mu.Lock()
			m.left = append(m.left, left[i:]...)
			m.mu.Unlock()
			return l.failed("ending an earlier session", err)
		}
	}
	return nil
}

// session is the agent on the board with the host's end of the protocol.
type session struct {
	*machine.Client
	machine  *Machine
	spec     machine.Spec
	line     *line
	process  process
	agent    string   // what was sent, for the report
	kit      kit      // of programs that were sent
	programs []string // archives of the user's programs, on this host
}

// launch sends the agent and starts it.
func (s *session) launch(ctx context.Context, spec machine.Spec) error {
	l := s.line
	arch, err := l.goarch()
	if err != nil {
		return err
	}
	if has := debian.Architecture(arch); spec.Arch != "" && spec.Arch != has {
		return machine.FixedArch(s.machine, spec.Arch, has)
	}
	if _, err := l.asRoot(); err != nil {
		return err
	}
	if _, err := machine.CheckModules(spec.Modules, arch); err != nil {
		return err
	}
	if err := s.machine.takeOver(ctx, l); err != nil {
		return err
	}
	path, err := machine.AgentPath(l.o.Agent, arch)
	if err != nil {
		return err
	}
	info, err := os.Stat(path)
	if err != nil {
		return &result.Failure{Outcome: result.LabFailed, Reason: "cannot send the agent", Err: err}
	}
	if s.programs, err = machine.PackPrograms(spec.Given, arch); err != nil {
		return err
	}
	sent, err := toSend(spec, s.programs)
	if err != nil {
		return err
	}
	tools, err := s.gather(ctx, spec, arch)
	if err != nil {
		return err
	}
	defer tools.remove()
	// Until the agent has read an archive, it is there twice.
	if err := l.afford(info.Size()+agentMemory+tools.room(), labguest.DataMemory(spec.Data, spec.Trees, 2)+sent.own); err != nil {
		return err
	}
	parent, err := l.choose(info.Size() + tools.room() + sent.archives + sent.own)
	if err != nil {
		return err
	}
	if err := l.make(ctx, parent); err != nil {
		return err
	}
	if s.agent, err = s.bringAgent(ctx, arch, path, info.Size()); err != nil {
		return err
	}
	if err := s.equip(ctx, tools); err != nil {
		return err
	}
	return s.start()
}

// bringAgent puts the agent into the directory, and describes it for the report.
func (s *session) bringAgent(ctx context.Context, arch, path string, size int64) (string, error) {
	l, how := s.line, "sent for this run"
	at, checked := l.resident()
	if at == "" {
		digest, had, err := s.bring(ctx, item{path, size, agentName, "", "the agent", "the agent for " + arch})
		if had {
			how = "kept as " + s.machine.file.Agent
		}
		return fmt.Sprintf("%s, %d bytes, %s", digest, size, how), err
	}
	digest, err := digestOf(path)
	if err != nil {
		return "", err
	}
	said, err := l.carry(ctx, nil, adopt, at, in(l.dir, agentName), strconv.FormatBool(checked))
	if err != nil {
		return "", l.failed("taking the agent from "+at, err)
	}
	if !checked {
		if err := l.sameAgent(at, said, path, digest); err != nil {
			return "", err
		}
	}
	if l.o.Installed != "" {
		how = "installed as " + at
	}
	return fmt.Sprintf("%s, %d bytes, %s", digest, size, how), nil
}

// sameAgent refuses an agent that is not this whichfs's own. said is the line of its digest.
func (l *line) sameAgent(at, said, path, digest string) error {
	if got, _, _ := strings.Cut(said, " "); got != digest {
		return result.Refuse("copy "+path+" there, or leave --agent-path out: then it is sent",
			"%s on %s is not the agent of this whichfs: its SHA-256 is %.64q and should be %s", at, l.place.Name, got, digest)
	}
	return nil
}

// digestOf is the SHA-256 of a file of this host.
func digestOf(path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", &result.Failure{Outcome: result.LabFailed, Reason: "cannot read what is to be sent", Err: err}
	}
	defer f.Close() //nolint:errcheck // read only
	hash := sha256.New()
	if _, err := io.Copy(hash, f); err != nil {
		return "", &result.Failure{Outcome: result.LabFailed, Reason: "cannot read what is to be sent", Err: err}
	}
	return fmt.Sprintf("%x", hash.Sum(nil)), nil
}

// amounts are sizes in bytes of what is sent besides the agent: data sets, and the user's modules and
// programs.
type amounts struct{ archives, own int64 }

func toSend(spec machine.Spec, programs []string) (a amounts, err error) {
	for _, d := range spec.Data {
		if d.Kind == "tree" && d.Generated == "" {
			a.archives += d.Archive
		}
	}
	for _, path := range slices.Concat(spec.Modules, programs) {
		info, err := os.Stat(path)
		if err != nil {
			return a, result.Refuse("", "%v", err)
		}
		a.own += 2 * info.Size() // as sent, and as the agent keeps it
	}
	return a, nil
}

// start starts the agent.
func (s *session) start() error {
	l := s.line
	argv, err := l.rooted(start, in(l.dir, agentName), l.dir)
	if err != nil {
		return err
	}
	words := &machine.Lines{}
	if s.process, err = l.start(words, argv); err != nil {
		return err
	}
	to, from := s.process.streams()
	s.Client = machine.NewClient(wire.New(&after{r: bufio.NewReader(from), mark: l.mark, heard: words.Add}, to, words.Add), machine.ClientOptions{
		Who: "agent", Closer: s.end, Console: func() []string { return slices.Concat(l.words.Last(), words.Last()) }, Dead: s.process.Done(), DeadReason: s.death, InTime: true,
	})
	return nil
}

// after reads what comes after a mark: the start of a login's shell may print anything.
type after struct {
	r     *bufio.Reader
	mark  string
	heard func(line string) // what comes before
	begun bool
}

func (a *after) Read(p []byte) (int, error) {
	for !a.begun {
		text, err := a.r.ReadString('\n')
		text = strings.TrimRight(text, "\r\n")
		if a.begun = text == a.mark; !a.begun && text != "" {
			a.heard(text)
		}
		if err != nil {
			return 0, err
		}
	}
	return a.r.Read(p)
}

func (s *session) death() string {
	if why := s.line.goneNow(); why != "" {
		return "the connection to " + s.line.place.Name + " was lost: " + why
	}
	if err := s.process.Err(); err != nil {
		return err.Error()
	}
	return "it ended without a message"
}

// prepare sends data sets, modules and archives of programs.
func (s *session) prepare(ctx context.Context, spec machine.Spec) (wire.Prepare, error) {
	l := s.line
	p := wire.Prepare{Storage: spec.Storage, Destroy: spec.Destroy, Data: slices.Clone(spec.Data), Work: spec.Work,
		ReadOnly: spec.ReadOnly, InUse: spec.InUse, RiskKernel: spec.RiskKernel, Load: true}
	if p.Work == "" {
		p.Work = l.workFor(spec.Storage)
	}
	for i, d := range p.Data {
		if d.Kind != "tree" {
			continue
		}
		what := "data set " + d.Name
		if d.Generated != "" {
			l.o.Progress(fmt.Sprintf("%s generates %s (%s)", l.place.Name, what, megabytes(d.Archive)))
			p.Data[i].Path = ""
			continue
		}
		name := fmt.Sprintf("data-%d", i)
		if _, _, err := s.bring(ctx, item{d.Path, d.Archive, name, "." + name, what, what}); err != nil {
			return p, err
		}
		p.Data[i].Path = in(l.dir, name)
	}
	files, err := machine.CheckModules(spec.Modules, "")
	if err != nil {
		return p, err
	}
	for i, f := range files {
		name := fmt.Sprintf("module-%d", i)
		if _, err := l.send(ctx, spec.Modules[i], f.Size, name, "module "+f.Base); err != nil {
			return p, err
		}
		p.Modules = append(p.Modules, wire.Module{Name: f.Base, Path: in(l.dir, name), Size: f.Size})
	}
	for i, archive := range s.programs {
		info, err := os.Stat(archive)
		if err != nil {
			return p, &result.Failure{Outcome: result.LabFailed, Reason: "cannot send a program", Err: err}
		}
		name := fmt.Sprintf("program-%d", i)
		if _, err := l.send(ctx, archive, info.Size(), name, "a program"); err != nil {
			return p, err
		}
		p.Programs = append(p.Programs, in(l.dir, name))
	}
	return p, nil
}

// workFor is the agent's directory: the one in memory, unless files for loop devices lie in it.
func (l *line) workFor(storage string) string {
	if s, err := media.Parse(storage); err == nil && s.Kind == media.KindLoop && l.work != "" {
		return l.work
	}
	return l.dir
}

// drop removes what the agent has read.
func (s *session) drop(ctx context.Context, p wire.Prepare) error {
	var paths []string
	for _, d := range p.Data {
		if d.Path != "" {
			paths = append(paths, d.Path)
		}
	}
	for _, m := range p.Modules {
		paths = append(paths, m.Path)
	}
	paths = append(paths, p.Programs...)
	if len(paths) == 0 {
		return nil
	}
	_, err := s.line.carry(ctx, nil, forget, paths...)
	return s.line.failed("removing what the agent has read", err)
}

// Facts implements machine.Session.
func (s *session) Facts() wire.Facts {
	f := s.Client.Facts()
	f.Conditions = slices.Clone(f.Conditions)
	if p := s.machine.power; p != nil {
		f.Conditions = append(f.Conditions, result.Condition{Group: "machine", Name: "power", Value: "switched by " + p.Command[0]})
	}
	if notes := strings.Join(strings.Fields(s.machine.file.Notes), " "); notes != "" {
		f.Conditions = append(f.Conditions, result.Condition{Group: "machine", Name: "board", Value: notes})
	}
	f.Conditions = append(f.Conditions,
		result.Condition{Group: "machine", Name: "transport", Value: s.line.name()},
		result.Condition{Group: "machine", Name: "agent", Value: s.agent})
	return f
}

// end ends the agent, which exits when its input ends, and the connection.
func (s *session) end() error {
	return errors.Join(s.process.End("the agent", endPatience), s.machine.end(s.line))
}
