package machine

import "time"

// ClientOptions say how to watch and how to end the agent at the other end of a stream. The zero
// value works for any stream that ends when the agent does.
type ClientOptions struct {
	// Who names the other end in messages: "guest", "agent". Default "agent".
	Who string
	// Closer ends the agent, by force if need be, and releases what the machine created. It is
	// called once, after the goodbye, and must make a pending read of the stream return.
	Closer func() error
	// Console returns the last lines of the machine's console, oldest first.
	Console func() []string
	// Dead is closed when the process behind the stream has ended; DeadReason
	// then says how ("qemu was killed by signal 9").
	Dead       <-chan struct{}
	DeadReason func() string
	// HandshakeLimit is how long hello, probe and goodbye may take; default 60 s.
	HandshakeLimit time.Duration
	// PrepareLimit is how long preparing may take, besides what loading the data sets takes by their
	// size; default 10 min.
	PrepareLimit time.Duration
	// StepLimit is how long a trial may be silent; default 10 min. A trial with a step limit of its
	// own gets at least that plus Grace, since the agent then abandons the step by itself.
	StepLimit time.Duration
	// Grace is the time for the agent to report an abandoned step, and for the end of the stream to
	// arrive after the end of the process; default 30 s (the stream gets at most 2 of them).
	Grace time.Duration
	// Waited returns how long the machine has waited, since the last call, for processors that other
	// work of this host had: a limit grows by that, so that a machine which gets no processor does not
	// count as one that hangs. Nil: unknown.
	Waited func() time.Duration
	// InTime: the other end's clock is one of real time. If it has gone on by more than this host's, its
	// figures are not believed; and it waits before each phase until this host has done with what it said before.
	InTime bool
	// Slower is the factor by which all limits grow because time passes more slowly at the other
	// end; default 1.
	Slower float64
}

// fill sets the defaults.
func (o *ClientOptions) fill() {
	if o.Who == "" {
		o.Who = "agent"
	}
	setDefault(&o.HandshakeLimit, 60*time.Second)
	setDefault(&o.PrepareLimit, 10*time.Minute)
	setDefault(&o.StepLimit, 10*time.Minute)
	setDefault(&o.Grace, 30*time.Second)
	if o.Slower > 1 {
		for _, d := range []*time.Duration{&o.HandshakeLimit, &o.PrepareLimit, &o.StepLimit} {
			*d = time.Duration(float64(*d) * o.Slower)
		}
	} else {
		o.Slower = 1
	}
}

func setDefault(d *time.Duration, v time.Duration) {
	if *d <= 0 {
		*d = v
	}
}
