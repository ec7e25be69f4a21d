// Package terminal is a board's end of a serial line: it takes the console over from the shell that
// started it, runs the programs that the host asks for, and gives the console back.
package terminal

import (
	"errors"
	"fmt"
	"os"
	"os/signal"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"whichfs/internal/wire/link"
	"whichfs/internal/wire/programs"
)

const (
	// patience is how long programs may take to end once the host is gone: more than remote's and the
	// shell's that removes the directory.
	patience = 40 * time.Second
	// farewell is how long the host may take to end its side of the line.
	farewell = 10 * time.Second
	// The host's last words must not become the shell's input: so long nothing has to arrive, and at most
	// that is waited for.
	hush, longestHush = 400 * time.Millisecond, 4 * time.Second
)

// Serve takes the terminal over and speaks with the host that knows the key, until it ends the line or
// says nothing for the silence. The terminal is then as it was.
func Serve(in, out *os.File, key string, silence time.Duration) (err error) {
	restore, err := raw(in)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, restore()) }()
	l := link.New(out, link.Options{Key: key, Silence: silence})
	// A line that hangs up, and who ends programs, must not take the console with them.
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, unix.SIGHUP, unix.SIGINT, unix.SIGTERM)
	go func() { l.Fail(fmt.Errorf("ended by signal %v", <-signals)) }()
	var heard atomic.Int64
	go func() {
		b := make([]byte, 4096)
		for {
			n, err := in.Read(b)
			heard.Store(time.Now().UnixNano())
			l.Feed(b[:n])
			if err != nil {
				l.Fail(fmt.Errorf("cannot read the line: %w", err))
				return
			}
		}
	}()
	err = programs.Serve(l, patience)
	err = errors.Join(err, l.Close(farewell))
	for until := time.Now().Add(longestHush); time.Now().Before(until) && time.Since(time.Unix(0, heard.Load())) < hush; {
		time.Sleep(hush / 8)
	}
	return err
}

// raw has a terminal pass on every byte as it is, as cfmakeraw(3) does.
func raw(f *os.File) (restore func() error, err error) {
	fd := int(f.Fd())
	had, err := unix.IoctlGetTermios(fd, unix.TCGETS)
	if errors.Is(err, unix.ENOTTY) {
		return func() error { return nil }, nil
	}
	if err != nil {
		return nil, fmt.Errorf("cannot read the terminal's settings: %w", err)
	}
	t := *had
	t.Iflag &^= unix.IGNBRK | unix.BRKINT | unix.PARMRK | unix.ISTRIP | unix.INLCR | unix.IGNCR | unix.ICRNL | unix.IXON
	t.Oflag &^= unix.OPOST
	t.Lflag &^= unix.ECHO | unix.ECHONL | unix.ICANON | unix.ISIG | unix.IEXTEN
	t.Cc[unix.VMIN], t.Cc[unix.VTIME] = 1, 0
	if err := unix.IoctlSetTermios(fd, unix.TCSETS, &t); err != nil {
		return nil, fmt.Errorf("cannot set the terminal: %w", err)
	}
	return func() error {
		// Input that has not been read is discarded: it was meant for the agent.
		if err := unix.IoctlSetTermios(fd, unix.TCSETSF, had); err != nil {
			return fmt.Errorf("cannot restore the terminal's settings: %w", err)
		}
		return nil
	}, nil
}
