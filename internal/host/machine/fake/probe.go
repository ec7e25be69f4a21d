package fake

import (
	"time"

	"whichfs/internal/probe"
	"whichfs/internal/result"
	"whichfs/internal/wire"
)

// probeSteps is the number of progress messages of a scripted probe.
const probeSteps = 4

// stopped waits for a scripted delay and reports whether the host wants the probe to end.
func (a *agent) stopped(id uint64) bool {
	if a.m.script.Delay <= 0 {
		return false
	}
	select {
	case <-time.After(time.Duration(a.m.script.Delay * float64(time.Second))):
		return false
	case r := <-a.inbox.Listen():
		a.inbox.Accept()
		if r.Err != nil {
			panic(over{})
		}
		return r.Message.Kind == wire.KindStop && r.Message.ID == id
	}
}

// probe answers with the scripted report.
func (a *agent) probe(id uint64) {
	r := a.report()
	answer := wire.Probed{Report: r}
	cut := func(f result.Failure) {
		answer.Failed, answer.Report.Partial = &f, f.Reason
		answer.Report.Findings = r.Findings[:min(1, len(r.Findings))]
	}
	for i := range probeSteps {
		a.send(wire.KindProgress, id, wire.Progress{What: "scripted part", Share: float64(i) / probeSteps})
		if i == probeSteps/2 {
			switch a.strike(At{Phase: AtProbe}, false, id) {
			case Negative:
				answer.Report.Findings[0].Value = -1
			case Hollow:
				answer.Report.Findings = nil
			case Subject:
				cut(result.Failure{Outcome: result.SubjectFailed,
					Reason: "reading 4096 bytes at offset 1048576 of fake storage: input/output error", Hint: "dmesg shows what the kernel reports about the device"})
				a.send(wire.KindProbed, id, answer)
				return
			case Gone:
				a.m.vanished(true)
				cut(result.Failure{Outcome: result.LabFailed, Reason: "fake storage is no longer the device that was claimed: it vanished"})
				a.send(wire.KindProbed, id, answer)
				return
			}
		}
		if a.stopped(id) {
			cut(result.Failure{Outcome: result.Refused, Reason: "it was stopped"})
			break
		}
	}
	a.send(wire.KindProbed, id, answer)
}

// report is the script's report, or that of a card.
func (a *agent) report() probe.Report {
	r := probe.Report{Seconds: 12.5, Effort: "normal", Findings: findings(), Curves: curves()}
	if p := a.m.script.Probe; p != nil {
		r = *p
	}
	r.Format, r.Clock, r.Kernel = 1, "wall", a.facts().Kernel
	r.Identity, r.Size = a.identity(), a.size()
	if r.Started.IsZero() {
		r.Started = time.Now().UTC()
	}
	r.Wrote = !a.readOnly
	return r
}

func findings() []probe.Finding {
	return []probe.Finding{
		{Key: probe.ReadSpeed, Name: "Reading", Value: 40e6, Unit: "B/s", Confidence: 0.95, Evidence: "64 MiB at 1 MiB a request"},
		{Key: probe.PageSize, Name: "Page size", Value: 16 << 10, Unit: "B", Confidence: 0.7, Evidence: "smaller writes take as long",
			Meaning: "Smaller writes are rounded up."},
		{Key: probe.SegmentSize, Name: "Segment size", Value: 4 << 20, Unit: "B", Confidence: 0.95, Evidence: "a step at every 4 MiB", Curves: []string{"segment"}},
		{Key: probe.OpenLinear, Name: "Open segments", Value: 5, Unit: "1", Confidence: 0.9, Evidence: "a sixth one is slower"},
		{Key: probe.FATArea, Name: "FAT area", Undetermined: "the fake does not look"},
		{Key: probe.Rotation, Name: "Kind", Text: "solid state", Confidence: 0.99, Evidence: "a seek takes no time"},
	}
}

func curves() []probe.Curve {
	return []probe.Curve{{Key: "segment", Title: "Reads across boundaries", XName: "boundary", XUnit: "B", YName: "time", YUnit: "s", LogX: true, Mark: 4 << 20,
		Lines: []probe.Line{{Name: "on", Points: []probe.Point{{X: 1 << 20, Y: 0.001, Low: 0.001, High: 0.001, N: 3}, {X: 4 << 20, Y: 0.002, Low: 0.002, High: 0.002, N: 3}}}}}}
}
