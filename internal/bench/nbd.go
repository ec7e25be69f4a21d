package bench

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"text/tabwriter"
	"time"

	"whichfs/internal/flash"
	"whichfs/internal/flash/models"
	"whichfs/internal/flash/nbd"
	"whichfs/internal/flash/nbd/nbdtest"
	"whichfs/internal/sys/command"
)

// Limits of the NBD server.
const (
	nbdLate  = 100e-6 // s beyond the model, at the median
	nbdSpeed = 1e9    // B/s
)

const (
	nbdModelled = 500 * time.Microsecond // of every request of the slow device
	nbdRequests = 2000                   // of each kind, of 4 KiB
	nbdMoved    = 1 << 30                // B per direction and turn
	nbdPiece    = 1 << 20                // B in a request
	nbdTurns    = 7
	nbdArea     = 256 << 20 // B of the device that are used
)

// nbdCosts measures what the server adds to the model: lateness at queue depth 1, and the
// throughput with a model without delay.
func nbdCosts(ctx context.Context, c Config, out io.Writer) error {
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintf(table, "what\tmeasured\tlimit\t\n")
	return errors.Join(nbdLateness(ctx, table), nbdThroughput(ctx, c, table), table.Flush())
}

// steady is a device that takes the same time for every request.
type steady struct {
	takes time.Duration
	size  int64
}

func (s steady) Size() int64 { return s.size }
func (s steady) Depth() int  { return 1 }
func (s steady) Submit(now time.Duration, _ flash.Request) (time.Duration, error) {
	return now + s.takes, nil
}
func (s steady) Cut(time.Duration) flash.Loss { return flash.Loss{} }
func (s steady) Stats() flash.Stats           { return flash.Stats{} }

// nbdClient serves a device to a client over a socket pair.
func nbdClient(d flash.Device) (*nbdtest.Client, func() error, error) {
	conn, theirs, err := nbdtest.Pair()
	if err != nil {
		return nil, nil, err
	}
	s := nbd.New(d, nbd.Options{Trim: true})
	go func() { _ = s.Serve(theirs) }()
	end := func() error { return errors.Join(conn.Close(), s.Close()) }
	c, err := nbdtest.Open(conn)
	if err != nil {
		return nil, nil, errors.Join(err, end())
	}
	return c, end, nil
}

// nbdLateness sends small requests one after the other, alternating reads and writes, and takes the
// time of each less the model's.
func nbdLateness(ctx context.Context, table io.Writer) (err error) {
	c, end, err := nbdClient(steady{nbdModelled, 1 << 30})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, end()) }()
	awaitQuiet(quietLimit)
	data := make([]byte, 4096)
	commands := []uint16{nbdtest.Read, nbdtest.Write}
	late := map[uint16][]float64{}
	for i := range 2 * nbdRequests {
		if ctx.Err() != nil {
			return nil
		}
		kind := commands[i%2]
		begin := time.Now()
		status, err := c.Do(0, kind, int64(i)*4096%(1<<30), 0, data)
		took := time.Since(begin)
		if err != nil || status != 0 {
			return fmt.Errorf("request %d: status %d, %w", i, status, err)
		}
		late[kind] = append(late[kind], (took - nbdModelled).Seconds())
	}
	for i, name := range []string{"read", "write"} {
		l := late[commands[i]]
		slices.Sort(l)
		if l[0] < 0 {
			return fmt.Errorf("a %s was answered %.1f µs too early", name, -1e6*l[0])
		}
		middle := median(l)
		fmt.Fprintf(table, "%s of 4 KiB, one at a time, beyond the model's %v\tmedian %.1f µs, 95 %% within %.1f µs\tmedian below %.0f µs\t%s\n",
			name, nbdModelled, 1e6*middle, 1e6*l[len(l)*95/100], 1e6*nbdLate, holds(middle < nbdLate))
	}
	return nil
}

// nbdSubject is a server whose throughput is measured.
type nbdSubject struct {
	name  string
	limit bool
	c     *nbdtest.Client
	speed map[uint16][]float64 // B/s
}

// nbdThroughput moves data through our server of a model without delay, and through nbdkit's
// memory, in turns.
func nbdThroughput(ctx context.Context, c Config, table io.Writer) (err error) {
	m, err := models.ByName("free")
	if err != nil {
		return err
	}
	if m, err = models.Sized(m, 1<<30); err != nil {
		return err
	}
	device, err := flash.New(m)
	if err != nil {
		return err
	}
	client, end, err := nbdClient(device)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, end()) }()
	subjects := []*nbdSubject{{name: "whichfs", limit: true, c: client, speed: map[uint16][]float64{}}}
	peer, endPeer, absent := nbdkit(ctx, c.Dir)
	if absent == nil {
		defer func() { err = errors.Join(err, endPeer()) }()
		subjects = append(subjects, &nbdSubject{name: "nbdkit memory", c: peer, speed: map[uint16][]float64{}})
	}
	for turn := range nbdTurns + 1 { // the first fills the memory
		for _, s := range subjects {
			for _, kind := range []uint16{nbdtest.Write, nbdtest.Read} {
				if ctx.Err() != nil {
					return nil
				}
				awaitQuiet(quietLimit)
				seconds, err := move(s.c, kind)
				if err != nil {
					return fmt.Errorf("%s: %w", s.name, err)
				}
				if turn > 0 {
					s.speed[kind] = append(s.speed[kind], nbdMoved/seconds)
				}
			}
		}
	}
	for i, name := range []string{"read", "write"} {
		for _, s := range subjects {
			sp := spreadOf(s.speed[[]uint16{nbdtest.Read, nbdtest.Write}[i]])
			limit, kept := "–", ""
			if s.limit {
				limit, kept = fmt.Sprintf("at least %g GB/s", nbdSpeed/1e9), holds(sp.median >= nbdSpeed)
			}
			fmt.Fprintf(table, "%s, requests of 1 MiB, 8 at a time, %s\t%s\t%s\t%s\n", name, s.name,
				spread{sp.median / 1e9, sp.low / 1e9, sp.high / 1e9}.text("%.2f", " GB/s"), limit, kept)
		}
	}
	if absent != nil {
		fmt.Fprintf(table, "nbdkit memory\tnot measured here: %v\t\t\n", absent)
	}
	return nil
}

// move transfers nbdMoved bytes with several requests in flight, and returns the time in seconds.
func move(c *nbdtest.Client, kind uint16) (float64, error) {
	const depth = 8
	data, back := make([]byte, nbdPiece), make([]byte, nbdPiece)
	for i := range data {
		data[i] = byte(i * 7)
	}
	room := make(chan struct{}, depth)
	sent, stop := make(chan error, 1), make(chan struct{})
	defer close(stop)
	begin := time.Now()
	go func() {
		for i := range int64(nbdMoved / nbdPiece) {
			select {
			case room <- struct{}{}:
			case <-stop:
				return
			}
			payload := data
			if kind == nbdtest.Read {
				payload = nil
			}
			if err := c.Send(0, kind, uint64(i), i*nbdPiece%nbdArea, nbdPiece, payload); err != nil {
				sent <- err
				return
			}
		}
		sent <- nil
	}()
	for range nbdMoved / nbdPiece {
		_, status, err := c.Receive()
		if err == nil && status != 0 {
			err = fmt.Errorf("error %d", status)
		}
		if err == nil && kind == nbdtest.Read {
			err = c.Data(back)
		}
		if err != nil {
			return 0, err
		}
		<-room
	}
	return time.Since(begin).Seconds(), <-sent
}

// nbdkit starts the peer on a socket in a directory that is removed with it.
func nbdkit(ctx context.Context, dir string) (*nbdtest.Client, func() error, error) {
	work, release, err := workspace(dir)
	if err != nil {
		return nil, nil, err
	}
	program, err := command.Look("nbdkit")
	if err != nil {
		return nil, nil, errors.Join(errors.New("nbdkit is not installed: make packages-bench installs it"), release())
	}
	path := work + "/nbd"
	p, err := command.Start(command.Options{Stdout: io.Discard}, program, "--foreground", "--unix", path, "memory", "1G")
	if err != nil {
		return nil, nil, errors.Join(err, release())
	}
	end := func() error { return errors.Join(p.Kill(), release()) }
	var conn net.Conn
	for range 200 {
		if conn, err = net.Dial("unix", path); err == nil || ctx.Err() != nil {
			break
		}
		time.Sleep(10 * time.Millisecond)
	}
	if err != nil {
		return nil, nil, errors.Join(err, end())
	}
	c, err := nbdtest.Open(conn)
	if err != nil {
		return nil, nil, errors.Join(err, conn.Close(), end())
	}
	return c, func() error { return errors.Join(conn.Close(), end()) }, nil
}
