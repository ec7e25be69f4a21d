package agent

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"time"

	"whichfs/internal/fault/finding"
	"whichfs/internal/filesystem"
	"whichfs/internal/result"
	"whichfs/internal/sys/guest"
	"whichfs/internal/target/explore"
	"whichfs/internal/target/workload"
	"whichfs/internal/wire"
)

// mostGiven is the largest size of a file from the host, in bytes; it is held in memory.
const mostGiven = 1 << 30

// lookingEvery is the shortest interval between two reports of the current state when the judging
// kernel is not at stake.
const lookingEvery = 100 * time.Millisecond

// give receives a piece of a file for the next exploration.
func (a *Agent) give(g wire.Give) error {
	if a.given == nil {
		a.given = map[string][]byte{}
	}
	switch {
	case g.Name == "":
		return result.Refuse("", "a file without a name")
	case len(a.given[g.Name])+len(g.Data) > mostGiven:
		a.given = nil
		return result.Refuse("", "the %s is longer than %d MiB", g.Name, mostGiven>>20)
	}
	a.given[g.Name] = append(a.given[g.Name], g.Data...)
	return nil
}

// explore performs an exploration of crash states, and restores the machine afterwards.
func (a *Agent) explore(ctx context.Context, id uint64, order wire.Explore) (wire.Explored, error) {
	given := a.given
	a.given = nil
	c := order.Candidate
	if err := c.Err(); err != nil {
		return wire.Explored{}, result.Refuse("", "%v", err)
	}
	if a.work == "" {
		return wire.Explored{}, errors.New("an exploration was requested before the session was prepared")
	}
	if !a.risk && !order.RecordOnly {
		return wire.Explored{}, workload.AtRisk()
	}
	cs := result.Support{}
	a.judgeAnywhere(ctx, &cs, c)
	if cs.Reason != "" {
		return wire.Explored{}, result.Fail(cs.Outcome, cs.Hint, "%s", cs.Reason)
	}
	if err := workload.LoadForFaults(a.modules, c); err != nil {
		return wire.Explored{}, err
	}
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	ended, watched := make(chan struct{}), make(chan struct{})
	go func() { a.watchHost(id, ended, stop); close(watched) }()
	defer func() { close(ended); <-watched }()
	work := filepath.Join(a.work, "crash")
	if err := os.MkdirAll(work, 0o755); err != nil {
		return wire.Explored{}, err
	}
	return explore.Explore(ctx, order, given, work, a.exploreHost(id))
}

// exploreHost reports progress to the host. A guest reports each state before it is mounted: if its
// kernel crashes, that report is all that remains.
func (a *Agent) exploreHost(id uint64) explore.Host {
	ours := guest.Ours()
	var last time.Time
	send := func(kind string, body any) error { return a.conn.Send(kind, id, body) }
	return explore.Host{
		Each: ours,
		Looking: func(l wire.Looking) error {
			if !ours {
				now := time.Now()
				if now.Sub(last) < lookingEvery {
					return nil
				}
				last = now
			}
			return send(wire.KindLooking, l)
		},
		Found: func(l wire.Looking, f finding.Finding) error {
			f.Version = a.o.Version
			var b bytes.Buffer
			if err := f.Encode(&b); err != nil {
				return err
			}
			return send(wire.KindFound, wire.Found{Looking: l, File: b.Bytes()})
		},
		Tallied: func(t wire.Tallied) error { return send(wire.KindTallied, t) },
		Recorded: func(index int, r explore.Recording) error {
			return errors.Join(
				sendFile(send, index, "base", r.Base.Encode),
				sendFile(send, index, "log", r.Log.Write))
		},
	}
}

// sendFile sends a recorded file in pieces.
func sendFile(send func(string, any) error, index int, name string, write func(w io.Writer) error) error {
	var b bytes.Buffer
	if err := write(&b); err != nil {
		return err
	}
	pieces := slices.Collect(slices.Chunk(b.Bytes(), wire.PieceSize))
	for i, piece := range pieces {
		if err := send(wire.KindRecorded, wire.Recorded{Script: index, Name: name, Data: piece, Last: i == len(pieces)-1}); err != nil {
			return err
		}
	}
	return nil
}

// judgeAnywhere is judge for storage that whichfs makes itself.
func (a *Agent) judgeAnywhere(ctx context.Context, cs *result.Support, c filesystem.Candidate) {
	claim := a.claim
	a.claim = nil // the claimed storage does not matter
	defer func() { a.claim = claim }()
	a.judge(ctx, cs, c, readText("/proc/filesystems"))
}
