package usermode

import (
	"context"
	"io"
	"slices"

	"whichfs/internal/host/machine"
	"whichfs/internal/result"
	"whichfs/internal/target/agent/pid1"
	"whichfs/internal/wire"
)

// Script starts a guest with the storage and data sets of spec, whose shell carries out the script in
// a file and ends the guest. What is printed on the console goes to stdout.
func (m *Machine) Script(ctx context.Context, path string, stdout io.Writer, spec machine.Spec) error {
	h, err := m.host(ctx, kernel(spec))
	if err != nil {
		return err
	}
	p, err := h.plan(spec, nil)
	if err != nil {
		return err
	}
	if err := p.add(pid1.ScriptSerial, path); err != nil {
		p.close()
		return err
	}
	p.append = slices.Concat(m.o.Append, []string{"whichfs.script", "whichfs.term=dumb"})
	p.line = func(line string) { _, _ = io.WriteString(stdout, line+"\n") }
	g, err := h.alone(ctx, p)
	if err != nil {
		return err
	}
	if why := g.reason(); why != poweredOff {
		return &result.Failure{Outcome: result.LabFailed, Reason: "the guest ended: " + why, Console: g.console.Last()}
	}
	return nil
}

// alone runs a guest whose agent does not answer until it has ended, or ctx does. The guest is nil if it
// was not started.
func (h *host) alone(ctx context.Context, p planned) (*guest, error) {
	g, err := start(h, p)
	if err != nil {
		return nil, err
	}
	defer g.end() //nolint:errcheck // it has ended or is killed
	// Its clock runs only while the host waits for an answer.
	conn := wire.New(nil, g.monitor.Stream(), nil)
	if err := conn.Send(wire.KindHello, 1, nil); err != nil {
		return nil, err
	}
	select {
	case <-g.dead:
		return g, nil
	case <-ctx.Done():
		return g, machine.Canceled(ctx)
	}
}
