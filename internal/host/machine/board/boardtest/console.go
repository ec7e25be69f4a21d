package boardtest

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/creack/pty"
	"golang.org/x/sys/unix"
	"golang.org/x/term"

	"whichfs/internal/host/machine/board/boardtest/parts"
	"whichfs/internal/sys/command"
	"whichfs/internal/testing/must"
	"whichfs/internal/testing/needs"
)

// Console is a board with nothing but a serial console: a shell or a login on one pseudoterminal, a cable,
// and another pseudoterminal as the host's serial port.
type Console struct {
	// Board has its name, its directory and its memory.
	Board
	// Device is the host's port.
	Device string

	t            testing.TB
	o            ConsoleOptions
	hostEnd      *os.File // of the cable
	boardEnd     *os.File
	host, screen *os.File // the other ends
	path         string

	mu     sync.Mutex
	frozen bool
	harmed bool
	shell  *command.Process
	over   bool
	raised chan struct{} // nothing is started any more
}

// ConsoleOptions of a board with a console; the zero value has a shell of root's with all programs, on a
// perfect cable.
type ConsoleOptions struct {
	Options
	// Login asks for root's password, as login(1) does; with Password empty there is none.
	Login    bool
	Password string
	// Shell is what runs on the console; nil: BusyBox's shell.
	Shell []string
	// Baud limits the speed, while Disturb is on; 0: none.
	Baud int
	// Kernel is the time between two messages of the kernel; 0: it is silent.
	Kernel time.Duration
	// Damage is the part of all characters that are flipped or dropped while Disturb is on.
	Damage float64
	// SevenBits: the cable drops the highest bit.
	SevenBits bool
}

// StartConsole starts a board, which ends with the test.
func StartConsole(t testing.TB, o ConsoleOptions) *Console {
	t.Helper()
	needs.Devices(t)
	c := &Console{t: t, o: o, Board: Board{Dir: t.TempDir()}, raised: make(chan struct{})}
	c.mount(t)
	c.path = c.tools(t, o.Options)
	var err error
	c.hostEnd, c.host, err = pty.Open()
	must.Do(t, err)
	c.boardEnd, c.screen, err = pty.Open()
	must.Do(t, err)
	c.Device = c.host.Name()
	c.Name = "serial:" + c.Device
	// As a port that no program has open, it must not echo.
	_, err = term.MakeRaw(int(c.host.Fd()))
	must.Do(t, err)
	c.spawn()
	go c.respawn()
	go c.carry(c.hostEnd, c.boardEnd, 0)
	go c.carry(c.boardEnd, c.hostEnd, o.Kernel)
	t.Cleanup(func() {
		c.mu.Lock()
		c.over = true
		c.mu.Unlock()
		c.kill()
		<-c.raised
		for _, f := range []*os.File{c.hostEnd, c.host, c.boardEnd, c.screen} {
			_ = f.Close()
		}
	})
	return c
}

// spawn starts what is on the console, as init does.
func (c *Console) spawn() {
	argv := c.o.Shell
	switch {
	case argv != nil:
	case c.o.Login:
		argv = append(InMounts(`mount --bind "$1/passwd" /etc/passwd && mount --bind "$1/shadow" /etc/shadow && exec busybox getty -L "$2" 115200 vt100`), c.Dir, strings.TrimPrefix(c.screen.Name(), "/dev/"))
		hash := ""
		if c.o.Password != "" {
			r, err := command.Run(c.t.Context(), command.Options{}, "busybox", "mkpasswd", "-m", "sha512", c.o.Password)
			if err != nil {
				c.t.Error(err)
			}
			hash = strings.TrimSpace(r.Stdout)
		}
		write(c.t, c.Board.path("passwd"), "root:x:0:0:root:/:"+c.Board.path("shell")+"\n", 0o644)
		write(c.t, c.Board.path("shell"), "#!/bin/sh\nPATH="+c.path+"; export PATH; exec busybox sh -i\n", 0o755)
		write(c.t, c.Board.path("shadow"), "root:"+hash+":19000:0:99999:7:::\n", 0o600)
	default:
		argv = []string{"busybox", "sh", "-i"}
	}
	setsid, err := command.Look("setsid") // the board may have none
	if err != nil {
		c.t.Error(err)
	}
	// What runs tests may ignore signals, and a shell cannot undo that.
	argv = append([]string{"env", "--default-signal", "PATH=" + c.path, "HOME=/", "TERM=vt100", setsid, "-c", "-w"}, argv...)
	p, err := command.Start(command.Options{Stdin: c.screen, Stdout: c.screen, Stderr: c.screen}, argv...)
	if err != nil {
		c.t.Error(err)
		return
	}
	c.mu.Lock()
	c.shell = p
	c.mu.Unlock()
}

// respawn starts it again whenever it ends.
func (c *Console) respawn() {
	for {
		<-c.shell.Done()
		c.mu.Lock()
		over := c.over
		c.mu.Unlock()
		if over {
			close(c.raised)
			return
		}
		time.Sleep(50 * time.Millisecond) // as init does, for what cannot start
		c.spawn()
		c.mu.Lock()
		over = c.over
		c.mu.Unlock()
		if over {
			c.kill()
		}
	}
}

// kill ends everything that runs on the board: what belongs to its terminal.
func (c *Console) kill() {
	var st unix.Stat_t
	if err := unix.Fstat(int(c.screen.Fd()), &st); err != nil {
		c.t.Error(err)
		return
	}
	// With the first of its session the others lose the terminal, so all are found before any is ended.
	var pids []int
	all, _ := filepath.Glob("/proc/[0-9]*/stat")
	for _, path := range all {
		text, err := os.ReadFile(path)
		_, after, _ := strings.Cut(string(text), ") ")
		words := strings.Fields(after) // state, ppid, pgrp, session, tty_nr, …
		if err != nil || len(words) < 5 || words[4] != strconv.FormatUint(st.Rdev, 10) {
			continue
		}
		if pid, err := strconv.Atoi(filepath.Base(filepath.Dir(path))); err == nil && pid > 1 {
			pids = append(pids, pid)
		}
	}
	for _, pid := range pids {
		_ = unix.Kill(pid, unix.SIGKILL)
	}
	c.mu.Lock()
	p := c.shell
	c.mu.Unlock()
	_ = p.Kill()
}

// carry is one direction of the cable.
func (c *Console) carry(from, to *os.File, kernel time.Duration) {
	r := rand.New(rand.NewPCG(1, 2))
	chunks := make(chan []byte, 1)
	go func() {
		defer close(chunks)
		for {
			b := make([]byte, 256)
			n, err := from.Read(b)
			if err != nil {
				return
			}
			chunks <- b[:n]
		}
	}()
	var spoken <-chan time.Time
	if kernel > 0 {
		ticker := time.NewTicker(kernel)
		defer ticker.Stop()
		spoken = ticker.C
	}
	var free time.Time // when the line will have sent what was written to it
	count := 0
	for {
		var b []byte
		select {
		case more, ok := <-chunks:
			if !ok {
				return
			}
			b = more
			if c.o.SevenBits {
				for i := range b {
					b[i] &= 0x7f
				}
			}
		case <-spoken:
			count++
			b = fmt.Appendf(nil, "[%5d.123456] mmc0: tuned\r\n", count)
		}
		c.mu.Lock()
		frozen, harmed := c.frozen, c.harmed
		c.mu.Unlock()
		if frozen {
			continue
		}
		if harmed {
			b = slices.DeleteFunc(b, func(byte) bool { return r.Float64() < c.o.Damage/2 })
			for i := range b {
				if r.Float64() < c.o.Damage/2 {
					b[i] ^= 1 << r.IntN(8)
				}
			}
		}
		if _, err := to.Write(b); err != nil {
			return
		}
		if c.o.Baud > 0 && harmed {
			// A late wake-up is made up for.
			if now := time.Now(); free.Before(now.Add(-100 * time.Millisecond)) {
				free = now
			}
			free = free.Add(time.Duration(len(b)) * 10 * time.Second / time.Duration(c.o.Baud))
			time.Sleep(time.Until(free))
		}
	}
}

// Disturb switches the damage and the limit of speed on or off.
func (c *Console) Disturb(is bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.harmed = is
}

// Settings are those of the host's port, as text.
func (c *Console) Settings() string {
	had, err := unix.IoctlGetTermios(int(c.host.Fd()), unix.TCGETS)
	return fmt.Sprintf("%+v %v", had, err)
}

// Freeze drops what is sent both ways, as a cable does that was pulled out of the board.
func (c *Console) Freeze() { c.freeze(true) }

// Thaw ends that.
func (c *Console) Thaw() { c.freeze(false) }

func (c *Console) freeze(is bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.frozen = is
}

// Restart ends everything on the board, which loses its memory, and starts it again.
func (c *Console) Restart() {
	c.kill()
	for _, dir := range c.dirs() {
		_ = os.RemoveAll(dir)
	}
	_, _ = c.hostEnd.WriteString("\r\n[    0.000000] Linux version 6.1.0 (a board's)\r\n[    0.000000] Memory: 64 MiB\r\n")
}

// Power switches the board's power, as this line of a board's file asks for.
func (c *Console) Power() string {
	c.t.Helper()
	r, err := parts.NewRelay(c.Dir, func(on bool) error {
		if !on {
			c.Freeze()
			return nil
		}
		c.Thaw()
		c.Restart()
		return nil
	})
	must.Do(c.t, err)
	c.t.Cleanup(r.Close)
	return r.Power()
}

// Release ends the exclusive use of the host's port, as the kernel does when the last program closes it:
// here it stays open.
func (c *Console) Release() { _ = unix.IoctlSetInt(int(c.host.Fd()), unix.TIOCNXCL, 0) }

// Unplug takes the host's port away, as a USB adapter that is pulled.
func (c *Console) Unplug() { _ = c.hostEnd.Close() }

// Forget removes the agents that are kept.
func (c *Console) Forget() {
	for _, one := range c.Kept() {
		_ = os.RemoveAll(filepath.Dir(one))
	}
}

// Left lists what sessions have on the board, besides the agent that is kept for the next.
func (c *Console) Left() []string {
	return slices.DeleteFunc(c.Board.Left(), func(one string) bool { return strings.Contains(one, "/whichfs-agent-") })
}

// Kept are the agents that are kept for the next session.
func (c *Console) Kept() []string {
	all, _ := filepath.Glob(filepath.Join(c.memory(), "whichfs-agent-*", "agent")) // the pattern is valid
	return all
}
