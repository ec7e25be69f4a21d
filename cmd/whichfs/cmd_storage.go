package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"sync"
	"syscall"
	"time"

	tea "charm.land/bubbletea/v2"
	"charm.land/lipgloss/v2"

	"whichfs/internal/app"
	"whichfs/internal/result"
	"whichfs/internal/sys/units"
)

// storageCmd works with simulated storage outside of runs.
type storageCmd struct {
	Serve storageServeCmd `cmd:"" help:"Lend simulated storage to other programs: your own QEMU, nbd-client, fio."`
}

type storageServeCmd struct {
	Storage   string        `complete:"storage" arg:"" help:"Simulated storage: sim:MODEL[,SIZE] (whichfs list models). It is new and empty, and gone in the end."`
	NBD       string        `name:"nbd" help:"Serve it as a network block device, on a socket (unix:PATH) or a TCP port (HOST:PORT) of loopback." placeholder:"ADDRESS"`
	VhostUser string        `name:"vhost-user" help:"Serve it on a socket to QEMU's vhost-user-blk, whose guests reach it faster than by NBD." placeholder:"PATH"`
	Expose    bool          `help:"Let --nbd listen on an address that other machines reach. There is no password."`
	Every     time.Duration `help:"Without a terminal: print the counters every so often; 0: never." default:"10s" placeholder:"10s"`
	AsJSON    bool          `name:"json" help:"Print the counters in the end as JSON."`
}

func (c *storageServeCmd) Run(a *shell) error {
	if c.Every < 0 {
		return result.Refuse("for instance --every 1m, or 0 for never", "--every cannot be negative")
	}
	show := &servedShow{a: a}
	lent, err := app.Serve(app.ServeAsk{Storage: c.Storage, NBD: c.NBD, VhostUser: c.VhostUser, Exposed: c.Expose, Note: show.note})
	if err != nil {
		return err
	}
	defer lent.Close()
	ctx, cancel := context.WithCancel(a.ctx)
	defer cancel()
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGUSR1)
	defer signal.Stop(signals)
	go func() {
		for {
			select {
			case <-signals:
				show.note(lent.Cut().String())
			case <-ctx.Done():
				return
			}
		}
	}()
	a.note(fmt.Sprintf("serving %s (%s); to attach it:\n%s", c.Storage, lent.Model.Title, strings.Join(howToAttach(lent), "\n")))
	_, screen := a.redraws()
	_, keys := terminalOf(a.stdin)
	if screen && keys {
		err = show.screen(ctx, lent)
	} else {
		show.lines(ctx, lent, c.Every)
	}
	lent.Close()
	switch {
	case err != nil:
		return err
	case c.AsJSON:
		return json.NewEncoder(a.stdout).Encode(lent.Served())
	}
	_, err = io.WriteString(a.stdout, servedText(lent.Served(), nil))
	return err
}

// howToAttach is what to type, per address.
func howToAttach(l *app.Lent) (lines []string) {
	for _, address := range l.Addresses {
		path, vhost := strings.CutPrefix(address, "vhost-user:")
		if vhost {
			lines = append(lines, fmt.Sprintf("  qemu-system-x86_64 … -m 1G -object memory-backend-memfd,id=m,size=1G,share=on -machine memory-backend=m "+
				"-chardev socket,id=card,path=%s,reconnect=1 -device vhost-user-blk-pci,chardev=card", path))
			continue
		}
		lines = append(lines, fmt.Sprintf("  qemu-system-x86_64 … -drive 'file=%s,format=raw,if=virtio,discard=unmap'", address))
		if path, ok := strings.CutPrefix(address, "nbd+unix:///?socket="); ok {
			lines = append(lines, fmt.Sprintf("  nbd-client -unix %s /dev/nbd0", path))
		} else {
			host := strings.TrimPrefix(address, "nbd://")
			at := strings.LastIndexByte(host, ':')
			lines = append(lines, fmt.Sprintf("  nbd-client %s %s /dev/nbd0", strings.Trim(host[:at], "[]"), host[at+1:]))
		}
	}
	return lines
}

// servedShow shows served storage: a screen that is redrawn in place, or lines.
type servedShow struct {
	a       *shell
	mu      sync.Mutex
	program *tea.Program // while there is a screen
}

func (s *servedShow) note(text string) {
	s.mu.Lock()
	program := s.program
	s.mu.Unlock()
	if program != nil {
		program.Send(noteMsg(text))
		return
	}
	s.a.note(text)
}

// screen shows the storage until ctx or the user ends it.
func (s *servedShow) screen(ctx context.Context, l *app.Lent) error {
	m := &servedScreen{lent: l, note: s.note, now: l.Served()}
	program := tea.NewProgram(m, tea.WithContext(ctx), tea.WithOutput(s.a.stderr), tea.WithInput(s.a.stdin), tea.WithoutSignalHandler())
	s.mu.Lock()
	s.program = program
	s.mu.Unlock()
	_, err := program.Run()
	s.mu.Lock()
	s.program = nil
	s.mu.Unlock()
	if ctx.Err() != nil {
		return nil
	}
	return err
}

// lines prints the state every so often, until ctx ends.
func (s *servedShow) lines(ctx context.Context, l *app.Lent, every time.Duration) {
	var tick <-chan time.Time
	if every > 0 {
		t := time.NewTicker(every)
		defer t.Stop()
		tick = t.C
	}
	before := l.Served()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick:
			now := l.Served()
			s.note(strings.Join(strings.Split(strings.TrimSpace(servedText(now, &before)), "\n"), "; "))
			before = now
		}
	}
}

// servedScreen is the model that is drawn.
type servedScreen struct {
	lent        *app.Lent
	note        func(string)
	before, now app.Served
}

type servedMsg struct{}

func (s *servedScreen) tick() tea.Cmd {
	return tea.Tick(time.Second, func(time.Time) tea.Msg { return servedMsg{} })
}

func (s *servedScreen) Init() tea.Cmd { return s.tick() }

func (s *servedScreen) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	switch m := msg.(type) {
	case tea.KeyPressMsg:
		switch m.String() {
		case "ctrl+c", "q":
			return s, tea.Quit
		case "c":
			return s, func() tea.Msg { return noteMsg(s.lent.Cut().String()) }
		}
	case servedMsg:
		s.before, s.now = s.now, s.lent.Served()
		return s, s.tick()
	case noteMsg:
		return s, tea.Println(string(m))
	}
	return s, nil
}

func (s *servedScreen) View() tea.View {
	return tea.NewView(servedText(s.now, &s.before) + lipgloss.NewStyle().Faint(true).Render("c cuts the power; q or Ctrl-C ends.") + "\n")
}

// servedText says what became of served storage; before, if not nil, is an earlier state, since which
// speeds are given.
func servedText(now app.Served, before *app.Served) string {
	speed := func(bytes func(app.Served) int64, requests func(app.Served) int64) string {
		if before == nil || now.Seconds <= before.Seconds {
			return ""
		}
		passed := now.Seconds - before.Seconds
		return fmt.Sprintf(", now %s and %.0f requests/s", units.Value(float64(bytes(now)-bytes(*before))/passed, "B/s"), float64(requests(now)-requests(*before))/passed)
	}
	size := func(n int64) string { return units.Value(float64(n), "B") }
	var b strings.Builder
	fmt.Fprintf(&b, "%s for %s", now.Storage, units.Rough(time.Duration(now.Seconds*float64(time.Second))))
	if before != nil {
		fmt.Fprintf(&b, ", %s", units.Count(now.Now, "client"))
	} else {
		fmt.Fprintf(&b, ", %s in all", units.Count(now.Clients, "client"))
	}
	fmt.Fprintf(&b, ", %s\n", units.Count(len(now.Cuts), "power cut"))
	fmt.Fprintf(&b, "read %s in %s%s\n", size(now.Read), units.Count(int(now.Reads), "request"),
		speed(func(s app.Served) int64 { return s.Read }, func(s app.Served) int64 { return s.Reads }))
	fmt.Fprintf(&b, "written %s in %s%s\n", size(now.Written), units.Count(int(now.Writes), "request"),
		speed(func(s app.Served) int64 { return s.Written }, func(s app.Served) int64 { return s.Writes }))
	fmt.Fprintf(&b, "flushed %s, discarded %s\n", units.Count(int(now.Flushes), "time"), size(now.Discarded))
	if now.Blocks > 0 {
		fmt.Fprintf(&b, "programmed %s (write amplification %.2f); erases of a block: %d to %d, %.2f on average", size(now.Programmed), now.Amplification,
			now.LeastErases, now.MostErases, now.MeanErases)
		if now.RatedErases > 0 {
			fmt.Fprintf(&b, ", rated for %d", now.RatedErases)
		}
		b.WriteByte('\n')
	}
	return b.String()
}
