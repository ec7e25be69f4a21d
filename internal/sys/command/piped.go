package command

import (
	"errors"
	"fmt"
	"io"
	"os"
	"time"
)

// Piped is a program whose standard input and output are its starter's.
type Piped struct {
	*Process
	In, Out *os.File
}

// StartPiped starts a program with pipes as its standard input and output; o has neither. The caller
// ends it.
func StartPiped(o Options, argv ...string) (*Piped, error) {
	theirIn, in, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	out, theirOut, err := os.Pipe()
	if err != nil {
		return nil, errors.Join(err, theirIn.Close(), in.Close())
	}
	o.Stdin, o.Stdout = theirIn, theirOut
	p, err := Start(o, argv...)
	// The child has its own copies; if ours stayed open, its end would go unnoticed.
	err = errors.Join(err, theirIn.Close(), theirOut.Close())
	if err != nil {
		if p != nil {
			err = errors.Join(err, p.Kill())
		}
		return nil, errors.Join(err, in.Close(), out.Close())
	}
	return &Piped{Process: p, In: in, Out: out}, nil
}

// End closes the program's input, at whose end it is to end, and kills it if it does not within
// patience, which is an error that calls it name. What it still prints is read, since it could not end
// otherwise, and dropped. One that cannot even be killed is left behind.
func (p *Piped) End(name string, patience time.Duration) error {
	err := p.In.Close()
	go func() { _, _ = io.Copy(io.Discard, p.Out) }() // until Close
	timer := time.NewTimer(patience)
	defer timer.Stop()
	select {
	case <-p.Done():
	case <-timer.C:
		if stuck := p.Kill(); stuck != nil {
			err = errors.Join(err, fmt.Errorf("%s did not end within %v: %w", name, patience, stuck))
		} else {
			err = errors.Join(err, fmt.Errorf("%s did not end within %v and was killed", name, patience))
		}
	}
	return errors.Join(err, p.Out.Close())
}
