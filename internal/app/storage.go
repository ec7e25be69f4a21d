package app

import (
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"whichfs/internal/flash"
	"whichfs/internal/flash/models"
	"whichfs/internal/flash/nbd"
	"whichfs/internal/flash/realtime"
	"whichfs/internal/flash/vhostuser"
	"whichfs/internal/host/machine/labguest"
	"whichfs/internal/plan/media"
	"whichfs/internal/result"
	"whichfs/internal/sys/units"
)

// ServeAsk is simulated storage that a user lends to other programs.
type ServeAsk struct {
	Storage   string // sim:MODEL[,SIZE]
	NBD       string // unix:PATH or HOST:PORT; empty: not by NBD
	VhostUser string // [unix:]PATH; empty: not by vhost-user
	Exposed   bool   // NBD may be reached from other machines
	Note      func(string)
}

// Lent is storage that is being served.
type Lent struct {
	Model flash.Model
	// Addresses are where clients find it, in the notation of their programs.
	Addresses []string

	ask       ServeAsk
	device    *realtime.Device
	nbd       *nbd.Server
	vhost     *vhostuser.Server
	listeners []net.Listener
	serving   sync.WaitGroup // listeners and clients

	mu      sync.Mutex // guards what follows
	clients int        // now
	all     int        // ever
	cuts    []PowerCut
}

// PowerCut is a cut of served storage's power.
type PowerCut struct {
	Seconds    float64 `json:"seconds"` // since the storage was switched on
	Unflushed  int64   `json:"unflushed_bytes"`
	Torn       int64   `json:"torn_pages"`
	Undone     int64   `json:"undone_merges"`
	Neighbours int64   `json:"flushed_bytes"`
}

// Served is what became of storage, so far or in the end.
type Served struct {
	Storage string     `json:"storage"`
	Size    int64      `json:"size_bytes"`
	Seconds float64    `json:"seconds"`
	Now     int        `json:"-"` // clients
	Clients int        `json:"clients"`
	Cuts    []PowerCut `json:"power_cuts"`

	Reads         int64   `json:"reads"`
	Writes        int64   `json:"writes"`
	Flushes       int64   `json:"flushes"`
	Discards      int64   `json:"discards"`
	Read          int64   `json:"read_bytes"`
	Written       int64   `json:"written_bytes"`
	Discarded     int64   `json:"discarded_bytes"`
	Programmed    int64   `json:"programmed_bytes"`
	Copied        int64   `json:"copied_bytes"`
	Erased        int64   `json:"erased_blocks"`
	Blocks        int64   `json:"blocks"`
	LeastErases   int64   `json:"least_erases"`
	MeanErases    float64 `json:"mean_erases"`
	MostErases    int64   `json:"most_erases"`
	RatedErases   int64   `json:"rated_erases"`
	BusySeconds   float64 `json:"busy_seconds"`
	Amplification float64 `json:"write_amplification"`
}

// Serve begins to serve simulated storage. The caller closes it.
func Serve(q ServeAsk) (*Lent, error) {
	spec, err := media.Parse(q.Storage)
	if err == nil && spec.Kind != media.KindSim {
		err = fmt.Errorf("only simulated storage can be served, and %s is not simulated", q.Storage)
	}
	if err != nil {
		return nil, result.Refuse("for instance sim:sd-basic,2G; whichfs list models shows all", "%v", err)
	}
	if q.NBD == "" && q.VhostUser == "" {
		return nil, result.Refuse("add --nbd unix:card.sock, or --vhost-user card.sock, or both", "nothing says where to serve %s", q.Storage)
	}
	m, err := models.Resolve(spec.Path)
	if err == nil {
		m, err = models.Sized(m, spec.Size)
	}
	var device flash.Device
	if err == nil {
		err = labguest.Afford(0, spec.Path, m.Size)
	}
	if _, refused := errors.AsType[*result.Failure](err); refused {
		return nil, err
	}
	if err == nil {
		device, err = flash.New(m)
	}
	if err != nil {
		return nil, result.Refuse("whichfs list models", "storage %s: %v", spec, err)
	}
	l := &Lent{Model: m, ask: q, device: realtime.New(device)}
	if err := l.listen(); err != nil {
		l.Close()
		return nil, err
	}
	return l, nil
}

func (l *Lent) listen() error {
	if l.ask.NBD != "" {
		at, err := listenNBD(l.ask.NBD, l.ask.Exposed)
		if err != nil {
			return err
		}
		l.nbd = nbd.Share(l.device, nbd.Options{Trim: l.Model.Trim.Supported, Rotational: l.Model.Kind == flash.KindDisk})
		address := "nbd://" + at.Addr().String()
		if at.Addr().Network() == "unix" {
			address = "nbd+unix:///?socket=" + at.Addr().String()
		}
		l.accept(at, address, "NBD", l.nbd.Serve)
	}
	if l.ask.VhostUser != "" {
		path := strings.TrimPrefix(l.ask.VhostUser, "unix:")
		at, err := claim(path, "--vhost-user")
		if err != nil {
			return err
		}
		serial := l.Model.Name
		if len(serial) > 20 {
			serial = serial[:20] // virtio's limit
		}
		l.vhost = vhostuser.Share(l.device, vhostuser.Options{Trim: l.Model.Trim.Supported, Serial: serial})
		l.accept(at, "vhost-user:"+path, "vhost-user", func(c net.Conn) error { return l.vhost.Serve(c.(*net.UnixConn)) })
	}
	return nil
}

// listenNBD listens where a user asked for.
func listenNBD(text string, exposed bool) (net.Listener, error) {
	if path, ok := strings.CutPrefix(text, "unix:"); ok {
		return claim(path, "--nbd")
	}
	const hint = "for instance --nbd unix:card.sock or --nbd localhost:10809"
	address, err := net.ResolveTCPAddr("tcp", strings.TrimPrefix(text, "tcp:"))
	if err != nil {
		return nil, result.Refuse(hint, "--nbd: %v", err)
	}
	if !address.IP.IsLoopback() && !exposed {
		return nil, result.Refuse("listen on localhost, or add --expose if every machine that reaches this address may read and write the storage",
			"--nbd: %s can be reached from other machines, and NBD asks for no password", text)
	}
	at, err := net.ListenTCP("tcp", address)
	if err != nil {
		return nil, result.Refuse(hint, "--nbd: %v", err)
	}
	return at, nil
}

// longestPath of a socket (unix(7)), in bytes.
const longestPath = 107

// claim listens on a socket at a path. A socket without a listener was left by a killed server, and is
// replaced.
func claim(path, flag string) (net.Listener, error) {
	if path == "" || len(path) > longestPath {
		return nil, result.Refuse("name a file that does not exist, by a short path: card.sock",
			"%s: the path of a socket has 1 to %d bytes, and %q has %d", flag, longestPath, path, len(path))
	}
	at, err := net.ListenUnix("unix", &net.UnixAddr{Name: path})
	if !errors.Is(err, unix.EADDRINUSE) {
		if err != nil {
			return nil, result.Refuse("name a file that does not exist, in a directory that does", "%s: %v", flag, err)
		}
		return at, nil
	}
	if info, err := os.Lstat(path); err != nil || info.Mode().Type() != os.ModeSocket {
		return nil, result.Refuse("name a file that does not exist", "%s: %s exists, and is no socket", flag, path)
	}
	if conn, err := net.Dial("unix", path); !errors.Is(err, unix.ECONNREFUSED) {
		if err == nil {
			_ = conn.Close()
		}
		return nil, result.Refuse("name another file, or end the other program", "%s: another program listens on %s", flag, path)
	}
	if err := os.Remove(path); err != nil {
		return nil, result.Refuse("name another file", "%s: what is left of a server cannot be removed: %v", flag, err)
	}
	if at, err = net.ListenUnix("unix", &net.UnixAddr{Name: path}); err != nil {
		return nil, result.Refuse("name another file", "%s: %v", flag, err)
	}
	return at, nil
}

// accept serves the clients of one listener, each on its own.
func (l *Lent) accept(at net.Listener, address, by string, serve func(net.Conn) error) {
	l.Addresses = append(l.Addresses, address)
	l.listeners = append(l.listeners, at)
	l.serving.Go(func() {
		for {
			conn, err := at.Accept()
			if errors.Is(err, net.ErrClosed) {
				return
			}
			if err != nil {
				l.ask.Note(fmt.Sprintf("a client could not connect by %s: %v", by, err))
				time.Sleep(100 * time.Millisecond) // descriptors may be free again
				continue
			}
			l.serving.Go(func() { l.client(conn, by, serve) })
		}
	})
}

// client serves one client, until it leaves or the storage is closed.
func (l *Lent) client(conn net.Conn, by string, serve func(net.Conn) error) {
	l.mu.Lock()
	l.clients++
	l.all++
	name := fmt.Sprintf("client %d (%s)", l.all, by)
	l.mu.Unlock()
	l.ask.Note(name + " connected")
	err := serve(conn)
	l.mu.Lock()
	l.clients--
	l.mu.Unlock()
	switch {
	case err == nil:
		l.ask.Note(name + " left")
	case errors.Is(err, realtime.ErrClosed), errors.Is(err, net.ErrClosed): // we hung up
		l.ask.Note(name + " was disconnected")
	case errors.Is(err, io.EOF):
		l.ask.Note(name + " left without a word")
	default:
		l.ask.Note(fmt.Sprintf("%s was disconnected: %v", name, err))
	}
}

// Cut cuts the power of the storage, and restores it at once. All clients lose their connection.
func (l *Lent) Cut() PowerCut {
	at := l.device.Now()
	var loss flash.Loss
	if l.vhost != nil {
		l.vhost.HangUp()
	}
	if l.nbd != nil {
		loss = l.nbd.Cut()
	} else {
		loss = l.device.Cut()
	}
	c := PowerCut{Seconds: at.Seconds(), Unflushed: loss.Buffered, Torn: loss.Torn, Undone: loss.Undone, Neighbours: loss.Neighbours}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.cuts = append(l.cuts, c)
	return c
}

// String says what a cut destroyed.
func (c PowerCut) String() string {
	text := fmt.Sprintf("power cut after %s: lost %s that were acknowledged but not flushed, %s torn", units.Rough(time.Duration(c.Seconds*float64(time.Second))),
		units.Value(float64(c.Unflushed), "B"), units.Count(int(c.Torn), "page"))
	if c.Undone > 0 {
		text += ", " + units.Count(int(c.Undone), "merge") + " undone"
	}
	if c.Neighbours > 0 {
		text += fmt.Sprintf("; lost %s that had been flushed, in the segment of a merge", units.Value(float64(c.Neighbours), "B"))
	}
	return text
}

// Served returns the counters so far.
func (l *Lent) Served() Served {
	s := l.device.Stats()
	l.mu.Lock()
	defer l.mu.Unlock()
	return Served{
		Storage: l.ask.Storage, Size: l.Model.Size, Seconds: l.device.Now().Seconds(), Now: l.clients, Clients: l.all, Cuts: append([]PowerCut{}, l.cuts...),
		Reads: s.Reads, Writes: s.Writes, Flushes: s.Flushes, Discards: s.Trims, Read: s.Read, Written: s.Written, Discarded: s.Trimmed,
		Programmed: s.Programmed, Copied: s.Copied, Erased: s.Erased, Blocks: s.Blocks, LeastErases: s.MinErases, MeanErases: s.MeanErases,
		MostErases: s.MaxErases, RatedErases: l.Model.Media.Cycles, BusySeconds: s.Busy.Seconds(), Amplification: s.Amplification(),
	}
}

// Close disconnects all clients and removes the sockets. Served still works.
func (l *Lent) Close() {
	for _, at := range l.listeners {
		_ = at.Close()
	}
	if l.vhost != nil {
		l.vhost.Close()
	}
	if l.nbd != nil {
		_ = l.nbd.Close() // always nil
	}
	l.device.Close()
	l.serving.Wait()
}
