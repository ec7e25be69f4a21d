package fake

import (
	"cmp"
	"fmt"
	"io"
	"runtime"
	"strconv"
	"strings"
	"time"

	"whichfs/internal/filesystem"
	"whichfs/internal/host/debian"
	"whichfs/internal/plan/media"
	"whichfs/internal/plan/processor"
	"whichfs/internal/plan/scenario"
	"whichfs/internal/result"
	"whichfs/internal/target/kmod"
	"whichfs/internal/wire"
)

// agent is the scripted far end of one session.
type agent struct {
	m      *Machine
	w      *io.PipeWriter
	conn   *wire.Conn
	closed chan struct{} // by the host
	dead   chan struct{} // by the agent's own end
	data   map[string]scenario.Data

	processor *processor.Profile // charged for; nil: none
	memory    int64              // requested, in bytes; 0: default
	cpus      int                // likewise
	arch      string             // requested, by Debian's name; "": default
	kernel    string             // requested; "": default
	modules   []kmod.File        // that the user gave
	programs  []result.Condition // describe the user's
	readOnly  bool               // the storage
	inbox     wire.Inbox

	given map[string][]byte // files for the next exploration
}

// over ends the agent in the middle of its work.
type over struct{ die bool }

func (a *agent) serve() {
	defer func() {
		if r := recover(); r != nil {
			o, ok := r.(over)
			if !ok {
				panic(r)
			}
			if o.die {
				close(a.dead)
			}
		}
		_ = a.w.Close()
	}()
	for {
		m, err := a.inbox.Receive()
		if err != nil {
			return
		}
		switch m.Kind {
		case wire.KindHello:
			a.strike(At{Phase: AtHello}, false, m.ID)
			a.send(wire.KindFacts, m.ID, a.facts())
		case wire.KindPrepare:
			a.strike(At{Phase: AtPrepare}, false, m.ID)
			var p wire.Prepare
			a.must(m.Decode(&p))
			if _, err := media.Parse(p.Storage); err != nil {
				a.send(wire.KindFailed, m.ID, result.Failure{Outcome: result.Refused, Reason: err.Error()})
				continue
			}
			if a.m.vanished(false) {
				a.send(wire.KindFailed, m.ID, result.Failure{Outcome: result.Refused,
					Reason: "nothing is written to " + p.Storage + ": no such device", Hint: "see whichfs list storage"})
				continue
			}
			a.readOnly = p.ReadOnly
			a.data = map[string]scenario.Data{}
			for _, d := range p.Data {
				a.data[d.Name] = d
			}
			a.send(wire.KindReady, m.ID, a.ready(p.Storage))
		case wire.KindCandidates:
			a.strike(At{Phase: AtCandidates}, false, m.ID)
			var p wire.Candidates
			a.must(m.Decode(&p))
			a.send(wire.KindSupport, m.ID, a.support(p))
		case wire.KindTrial:
			var t wire.Trial
			a.must(m.Decode(&t))
			if a.readOnly {
				a.send(wire.KindFailed, m.ID, result.Failure{Outcome: result.Refused, Reason: "the storage was prepared for reading only, and a trial writes"})
				continue
			}
			a.trial(m.ID, t)
		case wire.KindProbe:
			a.probe(m.ID)
		case wire.KindGive:
			var g wire.Give
			a.must(m.Decode(&g))
			if a.given == nil {
				a.given = map[string][]byte{}
			}
			a.given[g.Name] = append(a.given[g.Name], g.Data...)
			a.send(wire.KindGiven, m.ID, nil)
		case wire.KindExplore:
			var order wire.Explore
			a.must(m.Decode(&order))
			a.explore(m.ID, order)
			a.given = nil
		case wire.KindStop: // of a probe that has ended
		case wire.KindBye:
			a.send(wire.KindBye, m.ID, nil)
			return
		default:
			a.send(wire.KindFailed, m.ID, result.Failure{Outcome: result.LabFailed, Reason: "unknown request " + m.Kind})
		}
	}
}

func (a *agent) must(err error) {
	if err != nil {
		panic(over{})
	}
}

func (a *agent) send(kind string, id uint64, body any) { a.must(a.conn.Send(kind, id, body)) }

// say prints a line that is not a message, as a kernel does.
func (a *agent) say(line string) {
	_, err := io.WriteString(a.w, line+"\n")
	a.must(err)
}

// strike causes the fault that is due at a place, if any. It returns a
// fault that the caller has to act on, or "".
func (a *agent) strike(at At, first bool, id uint64) Kind {
	kind, ok := a.m.fault(at, first)
	if !ok {
		return ""
	}
	a.say(fmt.Sprintf("[fake] %s in %s", kind, at.Phase))
	line, err := wire.Encode(wire.Message{Kind: wire.KindDone, ID: id})
	a.must(err)
	switch kind {
	case Hang:
		<-a.closed
		panic(over{})
	case Die:
		panic(over{die: true})
	case EOF:
		panic(over{})
	case Corrupt:
		line[len(line)/2] ^= 4
		_, _ = a.w.Write(line)
		panic(over{})
	case Truncate:
		_, _ = a.w.Write(line[:len(line)-5])
		panic(over{})
	case Garbage:
		a.send("porridge", id, nil)
		panic(over{})
	case WrongID:
		a.send(wire.KindDone, id+7, wire.Done{Outcome: result.Done})
		panic(over{})
	case Lab:
		a.send(wire.KindFailed, id, result.Failure{Outcome: result.LabFailed, Reason: "the script says so"})
		panic(over{})
	}
	return kind
}

// named is what scripts call a trial's candidate: "ext4 [noatime]".
func named(t wire.Trial) string {
	return result.Named(t.Candidate.String(), t.Variant.Name)
}

func (a *agent) facts() wire.Facts {
	kernel := cmp.Or(a.kernel, "0.0.0") + "-fake"
	f := wire.Facts{
		Version: "fake", Kernel: kernel, Arch: runtime.GOARCH, Processors: max(1, a.cpus), Memory: 1 << 30, Uptime: 1, Root: true,
		Conditions: []result.Condition{{Group: "machine", Name: "kernel", Value: kernel, Matters: true}},
	}
	for goarch, name := range debian.Architectures {
		if name == a.arch {
			f.Arch = goarch
			f.Conditions = append(f.Conditions, result.Condition{Group: "machine", Name: "architecture", Value: goarch, Matters: true})
		}
	}
	if a.cpus > 0 {
		f.Conditions = append(f.Conditions, result.Condition{Group: "machine", Name: "processors", Value: strconv.Itoa(a.cpus), Matters: true})
	}
	if a.memory > 0 {
		f.Memory = a.memory
		f.Conditions = append(f.Conditions, result.Condition{Group: "machine", Name: "guest memory", Value: fmt.Sprintf("%d MiB", a.memory>>20), Matters: true})
	}
	return f
}

func (a *agent) ready(spec string) wire.Ready {
	size := a.size()
	conditions := []result.Condition{
		{Group: "storage", Name: "storage", Value: spec, Matters: true},
		{Group: "storage", Name: "size", Value: fmt.Sprintf("%d B", size), Matters: true},
	}
	for _, f := range a.modules {
		conditions = append(conditions, result.Condition{Group: "tools", Name: "module " + f.Name, Value: f.String(), Matters: true})
	}
	return wire.Ready{Identity: a.identity(), Size: size, Conditions: append(conditions, a.programs...)}
}

func (a *agent) identity() string {
	if a.m.script.Identity != "" {
		return a.m.script.Identity
	}
	return "fake storage"
}

// size of the storage in bytes.
func (a *agent) size() int64 {
	if size := a.m.script.Size; size != 0 {
		return size
	}
	return 1 << 30
}

func (a *agent) support(p wire.Candidates) wire.Support {
	s := wire.Support{Conditions: []result.Condition{{Group: "tools", Name: "mkfs", Value: "fake 1.0"}}}
	for _, c := range p.Candidates {
		one := result.Support{Candidate: c.String()}
		one.Outcome, one.Reason, one.Hint = a.judge(c)
		s.Candidates = append(s.Candidates, one)
	}
	return s
}

func (a *agent) judge(c filesystem.Candidate) (result.Outcome, string, string) {
	if reason, ok := a.m.script.Unsupported[c.String()]; ok {
		return result.Unsupported, reason, "install what is missing"
	}
	if reason, ok := a.m.script.Refused[c.String()]; ok {
		return result.Refused, reason, ""
	}
	if err := c.Err(); err != nil {
		return result.Refused, err.Error(), "whichfs list filesystems"
	}
	if reason, hint := c.Misfit(a.size()); reason != "" {
		return result.Refused, reason, hint
	}
	return "", "", ""
}

func (a *agent) trial(id uint64, t wire.Trial) {
	if outcome, reason, hint := a.judge(t.Candidate); outcome != "" {
		a.m.finish(named(t))
		a.send(wire.KindDone, id, wire.Done{Outcome: outcome, Reason: reason, Hint: hint})
		return
	}
	for _, step := range t.Scenario {
		if _, ok := scenario.KindOf(step.Work); !ok {
			a.send(wire.KindDone, id, wire.Done{Outcome: result.Refused, Reason: fmt.Sprintf("unknown kind of work %q", step.Work)})
			return
		}
	}
	c, err := t.Candidate.With(t.Variant.Make, t.Variant.Mount)
	a.must(err)
	n := a.m.number(named(t))
	first, left := true, ""
	for i, step := range t.Scenario {
		if i == 0 {
			a.send(wire.KindFigures, id, sentinel())
		}
		if step.Phase == "" {
			continue
		}
		at := At{Candidate: named(t), Number: n, Phase: step.Phase}
		a.send(wire.KindPhase, id, wire.PhaseBegun{Phase: step.Phase})
		fault := a.strike(at, first, id)
		first = false
		reason := refusal(c, step.Work)
		if fault == Subject {
			reason = "input/output error"
		}
		if fault == Gone {
			a.m.vanished(true)
			a.send(wire.KindDone, id, wire.Done{Outcome: result.LabFailed, Phase: step.Phase,
				Reason: "fake storage is no longer the device that was claimed: it vanished", Hint: "connect it again; whichfs resume continues"})
			return
		}
		if reason != "" {
			a.m.finish(named(t))
			a.send(wire.KindDone, id, wire.Done{
				Outcome: result.SubjectFailed, Phase: step.Phase, Reason: reason, Hint: "read the kernel's messages",
			})
			return
		}
		if fault == Hollow || step.Phase == left {
			left = step.Phase
			continue
		}
		if d := a.m.script.Delay; d > 0 {
			select {
			case <-time.After(time.Duration(d * float64(time.Second))):
			case <-a.closed:
				panic(over{})
			}
		}
		f := a.figures(c, step, at)
		if fault == Negative {
			f.Measurements[0].Value = -1
		}
		a.send(wire.KindFigures, id, f)
		if fault == Twice {
			a.send(wire.KindFigures, id, f)
		}
	}
	a.m.finish(named(t))
	a.send(wire.KindDone, id, wire.Done{Outcome: result.Done})
}

// refusal is the error of mkfs and mount for options that begin with "no_such"; they accept every
// other option.
func refusal(c filesystem.Candidate, work string) string {
	words := map[string][]string{"mkfs": c.Make(), "mount": c.Mount()}[work]
	for _, w := range words {
		if strings.HasPrefix(w, "no_such") {
			return fmt.Sprintf("fake %s: unknown option %q", work, w)
		}
	}
	return ""
}

func sentinel() wire.Figures {
	return wire.Figures{Phase: "sentinel", Measurements: []result.Measurement{
		result.Figure(result.SentinelWrite, 0.25), result.Figure(result.SentinelRead, 0.125),
	}}
}

func (a *agent) figures(c filesystem.Candidate, step scenario.Step, at At) wire.Figures {
	f := wire.Figures{Phase: step.Phase}
	data := a.data[step.Data].Size * int64(max(1, step.Count))
	for _, m := range around(a.m.wall(at, a.processor), float64(data)) {
		if step.Only == "reflink" && !c.Filesystem().Reflink {
			m.Absent, m.Value = c.FS+" has no reflinks", 0
		}
		f.Measurements = append(f.Measurements, m)
	}
	if a.processor != nil {
		f.Measurements = append(f.Measurements, result.Figure(result.Processor, a.m.script.Processor*a.m.wall(at, a.processor)))
	}
	if a.processor == nil { // whose clock load does not change
		f.Measurements = append(f.Measurements, a.m.load(at, a.m.wall(at, nil))...)
	}
	f.Measurements = append(f.Measurements, special(step.Work, step.Phase, at.Candidate)...)
	f.Measurements = append(f.Measurements, fioFigures(step, a.m.wall(at, a.processor))...)
	for _, o := range c.Mount() {
		option := result.Option{Text: "-o " + o, State: result.InForce, Evidence: "fake mountinfo: rw," + o}
		if strings.HasPrefix(o, "ignored") {
			option.State, option.Evidence = result.Ignored, "fake mountinfo: rw"
		}
		if step.Work == "mount" {
			f.Options = append(f.Options, option)
		}
	}
	return f
}

// around are the figures of every phase, in proportion to its wall time, and the bytes of data that
// it handles, if any.
func around(wall, data float64) []result.Measurement {
	const rate = 20e6 // B/s
	bytes := float64(int64(wall * rate))
	figures := []result.Measurement{
		result.Figure(result.Wall, wall),
		result.Figure(result.CPUUser, wall/16),
		result.Figure(result.CPUSystem, wall/4),
		result.Figure(result.CPUFilesystem, wall/32),
		result.Figure(result.CPUKernel, wall/8),
		result.Figure(result.DeviceRead, bytes/2),
		result.Figure(result.DeviceWritten, bytes),
		result.Figure(result.DeviceReads, float64(int64(bytes/8192))),
		result.Figure(result.DeviceWrites, float64(int64(bytes/4096))),
		result.Figure(result.DeviceFlushes, 2),
		result.Missing(result.DeviceDiscards, "the fake storage cannot discard"),
		result.Missing(result.DeviceDiscard, "the fake storage cannot discard"),
		result.Figure(result.DeviceBusy, wall/2),
		result.Figure(result.DevicePeakRead, rate/2),
		result.Figure(result.DevicePeakWritten, rate),
		result.Figure(result.MemFreeBefore, 512<<20),
		result.Figure(result.MemFreeAfter, 500<<20),
		result.Figure(result.MemSlabBefore, 20<<20),
		result.Figure(result.MemSlabAfter, 24<<20),
		result.Figure(result.KernelMessages, 0),
		result.Figure(result.AgentMallocs, 0),
	}
	if data > 0 {
		figures = append(figures, result.Figure(result.DataBytes, data),
			result.Figure(result.DataFiles, 100))
	}
	return figures
}

// special are the additional figures of some kinds of work.
func special(work, phase, candidate string) []result.Measurement {
	k := 1 + share(candidate)
	if strings.Contains(phase, "empty") {
		k /= 100
	}
	kib := func(n float64) float64 { return float64(int64(n*k)) * 1024 }
	switch {
	case strings.Contains(work, "module"):
		return []result.Measurement{
			result.Figure(result.ModuleSize, kib(700)), result.Figure(result.ModuleOwn, kib(500)),
			result.Figure(result.ModuleRAM, kib(1000)), result.Figure(result.ModuleCount, 2),
		}
	case strings.Contains(work, "space"):
		return []result.Measurement{
			result.Figure(result.SpaceUsed, kib(10000)), result.Figure(result.SpaceTotal, 1<<30),
			result.Figure(result.SpaceFree, 1<<30-kib(10000)), result.Missing(result.SpaceSaved, "no compression"),
		}
	case work == "threads":
		return []result.Measurement{result.Figure(result.KernelThreads, 3), result.Figure(result.MemHeld, kib(2000))}
	case work == "ability":
		return []result.Measurement{result.Figure(result.Able, 1)}
	case strings.Contains(work, "image"):
		return []result.Measurement{result.Figure(result.ImageSize, kib(4000))}
	}
	return nil
}
