package qemu

import (
	"context"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"golang.org/x/term"

	"whichfs/internal/host/machine"
	"whichfs/internal/plan/media"
	"whichfs/internal/target/storage"
)

// Shell starts a guest with the storage and data sets of spec and connects its
// shell with the user's terminal until the shell ends. The lab image is made
// first if need be.
func (m *Machine) Shell(ctx context.Context, stdin io.Reader, stdout io.Writer, spec machine.Spec) error {
	h, err := m.hostFor(ctx, spec)
	if err != nil {
		return err
	}
	return m.shell(ctx, h, stdin, stdout, spec)
}

// shell is Shell with the host's parts of guests, and further arguments of QEMU's.
func (m *Machine) shell(ctx context.Context, h *host, stdin io.Reader, stdout io.Writer, spec machine.Spec, extra ...string) error {
	p, err := m.plan(h, spec)
	if err != nil {
		return err
	}
	p.config.extra = extra
	p.config.append = slices.Concat(p.config.append, []string{"whichfs.shell"}, terminal(stdout))
	modules, err := machine.CheckModules(spec.Modules, p.config.arch)
	if err != nil {
		return err
	}
	for _, m := range modules {
		p.config.append = append(p.config.append, fmt.Sprintf("whichfs.module=%s:%d", m.Base, m.Size))
		first := ""
		if len(m.Depends) > 0 {
			first = "modprobe -a " + strings.Join(m.Depends, " ") + "; "
		}
		fmt.Fprintf(stdout, "Module %s is in /root: %sinsmod %s loads it.\r\n", m.Name, first, m.Base)
	}
	fmt.Fprintf(stdout, "The storage is %s; exit or Ctrl-D ends the guest and everything in it.\r\n", inGuest(p))
	g, err := start(p.config, false, p.files...)
	if err != nil {
		return err
	}
	defer g.end() //nolint:errcheck // the user has seen how it ended
	if f, ok := stdin.(*os.File); ok && term.IsTerminal(int(f.Fd())) {
		before, err := term.MakeRaw(int(f.Fd()))
		if err != nil {
			return fmt.Errorf("terminal: %w", err)
		}
		defer func() { _ = term.Restore(int(f.Fd()), before) }()
	}
	up, over := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(over)
		first := make([]byte, 1)
		if n, err := g.console.Read(first); n == 0 || err != nil {
			return
		}
		close(up)
		if _, err := stdout.Write(first); err == nil {
			_, _ = io.Copy(stdout, g.console)
		}
	}()
	// A read of the terminal cannot be interrupted; the program ends soon after.
	go func() {
		// The guest discards input before its prompt.
		select {
		case <-up:
		case <-over:
			return
		}
		_, _ = io.Copy(g.console, stdin)
		// At the end of a file or pipe, the shell ends.
		_, _ = g.console.Write([]byte(lastWords))
	}()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-over:
	}
	return g.process.Wait(ctx)
}

// lastWords end the shell. Ctrl-D alone, the last character here, would be lost while another
// program has the terminal: by the time the shell, which reads character by character, gets it, it
// no longer means end of input.
const lastWords = "\nexit\n\x04"

// inGuest is where the shell finds the storage.
func inGuest(p planned) string {
	if p.spec.Kind == media.KindRAM {
		return "/dev/ram0 after modprobe brd " + storage.RAMParameters(p.spec.Size)
	}
	if n, err := p.spec.NAND(); err == nil {
		return "/dev/mtd0 after modprobe nandsim " + n.Parameters(0)
	}
	if p.config.sim != nil {
		return "/dev/vd" + string(rune('a'+len(p.config.disks)))
	}
	if p.config.disks[len(p.config.disks)-1].card {
		return "/dev/mmcblk0 after modprobe -a sdhci_pci mmc_block"
	}
	return "/dev/vd" + string(rune('a'+len(p.config.disks)-1))
}

// terminal describes the user's terminal to the guest.
func terminal(stdout io.Writer) []string {
	f, ok := stdout.(*os.File)
	if !ok || !term.IsTerminal(int(f.Fd())) {
		return []string{"whichfs.term=dumb"}
	}
	var out []string
	if t := os.Getenv("TERM"); t != "" {
		out = append(out, "whichfs.term="+t)
	}
	if cols, rows, err := term.GetSize(int(f.Fd())); err == nil {
		out = append(out, fmt.Sprintf("whichfs.rows=%d", rows), fmt.Sprintf("whichfs.columns=%d", cols))
	}
	return out
}
