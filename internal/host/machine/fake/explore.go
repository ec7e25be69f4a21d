package fake

import (
	"bytes"
	"fmt"
	"io"

	"whichfs/internal/fault"
	"whichfs/internal/fault/finding"
	"whichfs/internal/fault/script"
	"whichfs/internal/fault/states"
	"whichfs/internal/fault/writelog"
	"whichfs/internal/result"
	"whichfs/internal/target/explore"
	"whichfs/internal/wire"
)

// exploreTells is the number of states between two progress messages of a scripted exploration.
const exploreTells = 4

// fakeSize is that of the disk of a scripted recording, in bytes.
const fakeSize = 1 << 20

// recording is what a scripted filesystem sends for any script: one write per operation, and a
// flush after every other one.
func recording(s script.Script) explore.Recording {
	r := explore.Recording{Script: s, Size: fakeSize, Base: fault.Image{Size: fakeSize, Blocks: map[int64][]byte{0: bytes.Repeat([]byte{1}, fault.BlockSize)}}}
	mark := func(format string, args ...any) {
		r.Log.Entries = append(r.Log.Entries, writelog.Entry{Flags: writelog.Mark, Data: []byte(fmt.Sprintf(format, args...))})
	}
	for i := range max(len(s.Ops), 4) {
		mark("%s %d", script.Begin, i+1)
		r.Log.Entries = append(r.Log.Entries, writelog.Entry{Sector: uint64(8 + 8*i), Sectors: 1, Data: bytes.Repeat([]byte{byte(2 + i)}, writelog.SectorSize)})
		if i%2 == 1 {
			r.Log.Entries = append(r.Log.Entries, writelog.Entry{Flags: writelog.Flush})
		}
		mark("%s %d", script.End, i+1)
	}
	return r
}

// explore follows the order without a kernel: all states are whole, except for the script's faults;
// a finding reproduces.
func (a *agent) explore(id uint64, order wire.Explore) {
	var out wire.Explored
	switch order.Given {
	case "finding":
		f, err := finding.Decode(bytes.NewReader(a.given["finding"]))
		if err != nil {
			a.send(wire.KindFailed, id, result.Failure{Outcome: result.Refused, Reason: err.Error()})
			return
		}
		a.send(wire.KindLooking, id, wire.Looking{State: f.Number})
		a.strike(At{Candidate: order.Candidate.String(), Phase: AtExplore, Number: int(f.Number)}, false, id)
		f.Kernel, f.Minimal = a.facts().Kernel, order.Minimise
		a.found(id, wire.Looking{State: f.Number}, f)
	case "log":
		l, err := writelog.Read(bytes.NewReader(a.given["log"]), int64(len(a.given["log"])))
		if err != nil {
			a.send(wire.KindFailed, id, result.Failure{Outcome: result.Refused, Reason: err.Error()})
			return
		}
		r := explore.Recording{Log: l}
		if len(order.Scripts) > 0 {
			r.Script = order.Scripts[0]
		}
		out.Scripts = append(out.Scripts, a.states(id, 0, r, order))
	default:
		for i, s := range order.Scripts {
			r := recording(s)
			if order.Send || order.RecordOnly {
				a.file(id, i, "base", r.Base.Encode)
				a.file(id, i, "log", r.Log.Write)
			}
			t := explore.LogTally(r)
			if !order.RecordOnly {
				t = a.states(id, i, r, order)
			}
			out.Scripts = append(out.Scripts, t)
		}
	}
	a.send(wire.KindExplored, id, out)
}

// states reports each state as explored and whole.
func (a *agent) states(id uint64, index int, r explore.Recording, order wire.Explore) finding.Tally {
	t := explore.LogTally(r)
	skip := map[int64]bool{}
	for _, n := range order.Skip {
		skip[n] = true
	}
	at := wire.Looking{Script: index}
	for n := range states.All(r.Log, order.States) {
		at.State = n
		if n <= order.After.State || skip[n] {
			continue
		}
		a.send(wire.KindLooking, id, at)
		if a.strike(At{Candidate: order.Candidate.String(), Phase: AtExplore, Number: int(n)}, false, id) == Subject {
			f, _ := explore.Unseen(r, order.States, n)
			f.Format, f.Candidate, f.Outcome, f.Same = finding.Format, order.Candidate.String(), fault.Lost, 1
			f.Size = fakeSize
			f.Breaches = []fault.Breach{{Promise: "fsync", Path: "a", Outcome: fault.Lost, What: "the script says so"}}
			t.Broken++
			t.Outcomes[fault.Lost.Key()]++
			a.found(id, at, f)
		} else {
			t.Outcomes[fault.Whole.Key()]++
		}
		t.States++
		t.Promises++
		if t.States%exploreTells == 0 {
			a.send(wire.KindTallied, id, wire.Tallied{Looking: at, Tally: t})
		}
	}
	t.All = true
	same := map[string]int64{}
	if n := t.Outcomes[fault.Lost.Key()]; n > 0 {
		same[fault.Lost.Key()+" fsync"] = n
	}
	a.send(wire.KindTallied, id, wire.Tallied{Looking: at, Tally: t, Same: same})
	return t
}

func (a *agent) found(id uint64, at wire.Looking, f finding.Finding) {
	var b bytes.Buffer
	a.must(f.Encode(&b))
	a.send(wire.KindFound, id, wire.Found{Looking: at, File: b.Bytes()})
}

func (a *agent) file(id uint64, index int, name string, encode func(w io.Writer) error) {
	var b bytes.Buffer
	a.must(encode(&b))
	a.send(wire.KindRecorded, id, wire.Recorded{Script: index, Name: name, Data: b.Bytes(), Last: true})
}
