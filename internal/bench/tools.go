package bench

import (
	"io"
	"os"

	"whichfs/internal/sys/command"
)

// running is a started tool, or the error that prevented it from starting.
type running struct {
	p   *command.Process
	err error
}

// start starts a tool between two open files; nil means none.
func start(in, out *os.File, argv ...string) running {
	o := command.Options{Stdout: io.Discard}
	if in != nil {
		o.Stdin = in
	}
	if out != nil {
		o.Stdout = out
	}
	p, err := command.Start(o, argv...)
	return running{p, err}
}

func (r running) wait() error {
	if r.err != nil {
		return r.err
	}
	<-r.p.Done()
	return r.p.Err()
}

// then runs tools one after the other until one fails.
func then(tools ...[]string) error {
	for _, argv := range tools {
		if err := start(nil, nil, argv...).wait(); err != nil {
			return err
		}
	}
	return nil
}

// toNull runs a tool with its output discarded by the kernel.
func toNull(argv ...string) error {
	null, err := os.OpenFile(os.DevNull, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	defer null.Close() //nolint:errcheck // nothing was kept
	return start(nil, null, argv...).wait()
}

// pipeToNull runs two tools with a pipe between them.
func pipeToNull(from, to []string) error {
	null, err := os.OpenFile(os.DevNull, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	defer null.Close() //nolint:errcheck // nothing was kept
	r, w, err := os.Pipe()
	if err != nil {
		return err
	}
	first := start(nil, w, from...)
	second := start(r, null, to...)
	_, _ = r.Close(), w.Close()
	if err := first.wait(); err != nil {
		_ = second.wait()
		return err
	}
	return second.wait()
}
