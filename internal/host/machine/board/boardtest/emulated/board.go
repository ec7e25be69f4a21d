// Package emulated has boards that QEMU emulates, with a processor and a kernel of their own: a 64-bit ARM board that
// is reached by ssh, and a 32-bit one with nothing but BusyBox, U-Boot and a serial console. Both have an SD card at
// an SDHCI controller, and a program switches their power. What they listen on is on loopback.
package emulated

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/creack/pty"
	"golang.org/x/sys/unix"
	"golang.org/x/term"

	"whichfs/internal/host/machine/board/boardtest/parts"
	"whichfs/internal/host/machine/qemu"
	"whichfs/internal/sys/command"
	"whichfs/internal/sys/newc"
)

// The boards, by Debian's names of their architectures: one with an ssh server, and others with a serial console alone.
const (
	SSH     = "arm64"
	Serial  = "armhf" // with U-Boot
	MIPS    = "mipsel"
	PowerPC = "ppc64el"
)

// firmware is the boot loader of Debian's package u-boot-qemu.
const firmware = "/usr/lib/u-boot/qemu_arm/u-boot.bin"

// oneArm is a processor of those boards, and kernelLine their kernels' parameters: as of the lab's guests, so that
// figures of both can be compared.
var oneArm = []string{"-accel", "tcg,thread=multi", "-smp", qemu.OneProcessor}

const kernelLine = "quiet loglevel=3 panic=1 mitigations=off cryptomgr.notests nr_cpus=1"

// hardware is what QEMU makes of a board, with the package of its kernel and the name of its console.
var hardware = map[string]struct {
	qemu    []string
	kernel  string
	console string
}{
	SSH:     {append([]string{"qemu-system-aarch64", "-machine", "virt", "-cpu", "cortex-a53"}, oneArm...), "linux-image-arm64", "ttyAMA0"},
	Serial:  {append([]string{"qemu-system-arm", "-machine", "virt,highmem=off", "-cpu", "cortex-a7", "-bios", firmware}, oneArm...), "linux-image-armmp", "ttyAMA0"},
	MIPS:    {[]string{"qemu-system-mipsel", "-machine", "malta", "-cpu", "24Kc"}, "linux-image-4kc-malta", "ttyS0"},
	PowerPC: {[]string{"qemu-system-ppc64", "-machine", "pseries", "-cpu", "power8"}, "linux-image-powerpc64le", "hvc0"},
}

// Options of a board.
type Options struct {
	// Board is SSH, Serial or another one of these.
	Board string
	// Dir, which must exist, is where its files are.
	Dir string
	// Card is the size of its SD card, and Memory its memory, in bytes.
	Card, Memory int64
	// MakesExt4: it has e2fsprogs.
	MakesExt4 bool
	// Baud is the speed of its serial line; 0: no limit.
	Baud int
	// Programs are this host's files that the board has in /bin, by their names there.
	Programs map[string]string
	// Progress is told what is done; not nil.
	Progress func(string)
}

// Board is a board that is on until Close.
type Board struct {
	o    Options
	argv []string
	// address is where its ssh server is reached; "": nowhere.
	address string
	config  string   // of its client
	port    *os.File // the host's serial port, and
	cable   *os.File // its other end
	relay   *parts.Relay
	works   sync.WaitGroup

	mu    sync.Mutex
	guest *command.Process // nil: it is off
	line  net.Conn         // the guest's end of the cable
	seen  strings.Builder  // its console output so far
	fault error
}

// Start makes a board and switches it on.
func Start(ctx context.Context, o Options) (*Board, error) {
	if _, ok := hardware[o.Board]; !ok {
		return nil, fmt.Errorf("there is no board %q; there are %v", o.Board, slices.Sorted(maps.Keys(hardware)))
	}
	i, err := build(ctx, o.Board, o.MakesExt4, o.Progress)
	if err != nil {
		return nil, fmt.Errorf("the board's system: %w", err)
	}
	b := &Board{o: o}
	if err := b.prepare(ctx, i); err != nil {
		return nil, errors.Join(err, b.Close())
	}
	b.works.Go(b.hear)
	err = b.on()
	if err == nil {
		err = b.up(ctx)
	}
	if err != nil {
		return nil, errors.Join(err, b.Close())
	}
	return b, nil
}

// up waits until somebody can log in.
func (b *Board) up(ctx context.Context) error {
	for begun := time.Now(); ; {
		if strings.Contains(b.Said(), "built-in shell") && (b.o.Board != SSH || b.greets()) {
			return nil
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(50 * time.Millisecond):
		}
		if time.Since(begun) > startLimit {
			return fmt.Errorf("the board has not started within %v; it said:\n%s", startLimit, b.Said())
		}
	}
}

// startLimit is when a board will never start.
const startLimit = 10 * time.Minute

// greets reports whether its ssh server does.
func (b *Board) greets() bool {
	c, err := net.Dial("tcp", b.address)
	if err != nil {
		return false
	}
	defer c.Close()                                    //nolint:errcheck // nothing was said
	_ = c.SetReadDeadline(time.Now().Add(time.Second)) // QEMU answers for a board that does not listen yet
	n, _ := c.Read(make([]byte, 1))
	return n == 1
}

// File is the board's file.
func (b *Board) File() string { return b.path("board.toml") }

// Config is the configuration of ssh, in which the host board is this one, and Bin a directory with an ssh that uses it.
func (b *Board) Config() string { return b.config }
func (b *Board) Bin() string    { return b.path("bin") }

// Said is what the board has said on its console.
func (b *Board) Said() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.seen.String()
}

func (b *Board) path(name string) string { return filepath.Join(b.o.Dir, name) }

// prepare makes the board's files and the host's serial port.
func (b *Board) prepare(ctx context.Context, i image) (err error) {
	if b.cable, b.port, err = pty.Open(); err != nil {
		return err
	}
	// As a port that no program has open, it must not echo.
	if _, err := term.MakeRaw(int(b.port.Fd())); err != nil {
		return err
	}
	if b.relay, err = parts.NewRelay(b.o.Dir, b.power); err != nil {
		return err
	}
	board := hardware[b.o.Board]
	b.argv = slices.Concat(board.qemu, []string{
		"-nodefaults", "-no-user-config", "-display", "none", "-m", fmt.Sprint(b.o.Memory >> 20),
		"-kernel", i.kernel, "-initrd", b.path("archive"), "-append", "console=" + board.console + " " + kernelLine,
		"-chardev", "socket,id=console,fd=3", "-serial", "chardev:console",
	}, qemu.Card(b.path("card"), "card"))
	var own newc.Archive
	for name, from := range b.o.Programs {
		text, err := os.ReadFile(from)
		if err != nil {
			return err
		}
		own.Add("bin/"+name, 0o100755, text)
	}
	file := fmt.Sprintf("connect = \"serial:%s\"\n", b.port.Name())
	if b.o.Board == SSH {
		file = fmt.Sprintf("connect = \"ssh:board\"\nconsole = \"serial:%s\"\n", b.port.Name())
		if err := b.serve(ctx, &own); err != nil {
			return err
		}
	}
	file += b.relay.Power() + "off_seconds = 0\n"
	if b.o.Board == Serial {
		file += bootLoader
	}
	archive, err := os.ReadFile(i.archive)
	if err != nil {
		return err
	}
	return errors.Join(
		os.WriteFile(b.File(), []byte(file), 0o644),
		os.WriteFile(b.path("archive"), append(archive, own.Finish()...), 0o644),
		os.WriteFile(b.path("card"), nil, 0o600), os.Truncate(b.path("card"), b.o.Card))
}

// bootLoader is of the serial board's file.
const bootLoader = `[boot_loader]
prompt = "=> "
boot = ["boot"]
boot_from = ["qfw load $kernel_addr_r $ramdisk_addr_r", "setenv bootargs console=ttyAMA0 {root}", "bootz $kernel_addr_r $ramdisk_addr_r:$filesize $fdtcontroladdr"]
`

// serve gives the board an ssh server, at a port of this host that is free, and makes the client's configuration.
func (b *Board) serve(ctx context.Context, own *newc.Archive) error {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	b.address = l.Addr().String()
	at := l.Addr().(*net.TCPAddr).Port
	if err := l.Close(); err != nil {
		return err
	}
	if b.config, err = parts.Client(ctx, b.o.Dir, at, ""); err != nil {
		return err
	}
	host, err := os.ReadFile(b.path(parts.HostKey))
	if err != nil {
		return err
	}
	client, err := os.ReadFile(b.path(parts.ClientKey + ".pub"))
	if err != nil {
		return err
	}
	for _, dir := range []string{"etc/dropbear", "root", "root/.ssh"} {
		own.Add(dir, 0o040700, nil)
	}
	own.Add("etc/dropbear/host", 0o100600, host)
	own.Add("root/.ssh/authorized_keys", 0o100600, client)
	b.argv = append(b.argv, "-netdev", fmt.Sprintf("user,id=net,restrict=on,hostfwd=tcp:%s-:22", b.address), "-device", "virtio-net-pci,netdev=net,romfile=")
	return errors.Join(
		os.Mkdir(b.Bin(), 0o755),
		os.WriteFile(filepath.Join(b.Bin(), "ssh"), fmt.Appendf(nil, "#!/bin/sh\nPATH=${PATH#*:} exec ssh -F '%s' \"$@\"\n", b.Config()), 0o755))
}

// power switches it.
func (b *Board) power(on bool) error {
	if on {
		return b.on()
	}
	return b.off()
}

// on switches it on.
func (b *Board) on() error {
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	ours, theirs := os.NewFile(uintptr(pair[0]), "board"), os.NewFile(uintptr(pair[1]), "board")
	defer theirs.Close() //nolint:errcheck // the guest has it
	line, err := net.FileConn(ours)
	_ = ours.Close()
	if err != nil {
		return err
	}
	guest, err := command.Start(command.Options{Files: []*os.File{theirs}}, b.argv...)
	if err != nil {
		return errors.Join(err, line.Close())
	}
	b.mu.Lock()
	b.guest, b.line = guest, line
	b.mu.Unlock()
	b.works.Go(func() { b.speak(guest, line) })
	return nil
}

// off takes its power away.
func (b *Board) off() error {
	b.mu.Lock()
	guest, line := b.guest, b.line
	b.guest, b.line = nil, nil
	b.mu.Unlock()
	if guest == nil {
		return nil
	}
	return errors.Join(guest.Kill(), line.Close())
}

// speak carries what the board says to the host's port, until the power is gone.
func (b *Board) speak(guest *command.Process, line net.Conn) {
	said := make(chan []byte, 1<<16) // a line that is slower than the emulated port does not stop the board
	b.works.Go(func() {
		for piece := range said {
			b.pace(len(piece))
			if _, err := b.cable.Write(piece); err != nil {
				return
			}
		}
	})
	defer close(said)
	for {
		piece := make([]byte, 256)
		n, err := line.Read(piece)
		if err != nil {
			break
		}
		b.mu.Lock()
		b.seen.Write(piece[:n])
		b.mu.Unlock()
		said <- piece[:n]
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.guest == guest { // off did not kill it
		<-guest.Done()
		b.fault = fmt.Errorf("QEMU has exited by itself: %w", guest.Err())
	}
}

// hear carries what the host types to the board.
func (b *Board) hear() {
	piece := make([]byte, 256)
	for {
		n, err := b.cable.Read(piece)
		if err != nil {
			return
		}
		b.pace(n)
		b.mu.Lock()
		line := b.line
		b.mu.Unlock()
		if line != nil {
			_, _ = line.Write(piece[:n]) // its power may be gone
		}
	}
}

// pace takes as long as the line does for n characters of ten bits.
func (b *Board) pace(n int) {
	if b.o.Baud > 0 {
		time.Sleep(time.Duration(n) * 10 * time.Second / time.Duration(b.o.Baud))
	}
}

// Close switches the board off for ever. An error is one that it had meanwhile.
func (b *Board) Close() error {
	if b.relay != nil {
		b.relay.Close()
	}
	err := b.off()
	for _, f := range []*os.File{b.cable, b.port} {
		if f != nil {
			_ = f.Close()
		}
	}
	b.works.Wait()
	b.mu.Lock()
	defer b.mu.Unlock()
	return errors.Join(b.fault, err)
}
