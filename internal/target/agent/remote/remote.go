// Package remote runs an agent on a machine whose host is at the other end of a line. The host
// cannot contain the agent as it does on its own kernel, nor end it when the line is cut: both are
// done here, next to the agent.
package remote

import (
	"errors"
	"fmt"
	"os"
	"os/signal"
	"time"

	"golang.org/x/sys/unix"

	"whichfs/internal/sys/command"
)

// patience is how long the agent may take to end once its host is gone: it may be unmounting.
const patience = 10 * time.Second

// Serve starts this program again with the arguments, contained, and passes its standard streams on
// to it. It returns when that program has ended, which it must soon after the host is gone.
func Serve(arguments ...string) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	process, err := command.Start(command.Options{Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr, Contain: true},
		append([]string{self}, arguments...)...)
	if err != nil {
		return err
	}
	if why := process.Loose(); why != "" {
		fmt.Fprintln(os.Stderr, "whichfs-agent:", why)
	}
	// A login that ends may signal everything that it started. The agent needs its time to unmount.
	signal.Ignore(unix.SIGHUP, unix.SIGTERM, unix.SIGINT)
	gone := make(chan struct{})
	go func() {
		defer close(gone)
		waitForEnd(os.Stdin)
	}()
	select {
	case <-process.Done():
		return process.Err()
	case <-gone:
	}
	timer := time.NewTimer(patience)
	defer timer.Stop()
	select {
	case <-process.Done():
		return nil // there is no host to report an error to
	case <-timer.C:
	}
	return errors.Join(fmt.Errorf("the host is gone, and the agent did not end within %v", patience), process.Kill())
}

// waitForEnd waits until the other end of a pipe or socket is closed, and reads nothing from it.
func waitForEnd(f *os.File) {
	for {
		// Without POLLIN: what arrives is the agent's.
		ends := []unix.PollFd{{Fd: int32(f.Fd()), Events: unix.POLLRDHUP}}
		_, err := unix.Poll(ends, -1)
		if err == nil || !errors.Is(err, unix.EINTR) {
			return
		}
	}
}
