package board

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"whichfs/internal/host/machine"
	"whichfs/internal/result"
)

// stream is what carries the bytes of a port.
type stream interface {
	io.ReadWriteCloser
	SetWriteDeadline(time.Time) error
}

// port is an open serial port, of this host or behind a network, whose settings are restored at the end.
type port struct {
	stream  stream
	name    string
	restore func() error

	mu   sync.Mutex
	text []byte       // arrived, and not dropped
	sink func([]byte) // takes what arrives in place of text; it must not call the port
	err  error
	news chan struct{} // something arrived
	over chan struct{} // nothing arrives any more
}

const (
	// mostText is kept of what arrives, in bytes: the newest.
	mostText = 256 << 10
	// stuck is how long a port may take no byte.
	stuck = 20 * time.Second
)

// openPort opens the port of a place. Errors are *result.Failure, or of the context.
func openPort(ctx context.Context, p Place) (*port, error) {
	if p.Net != "" {
		return dialPort(ctx, p)
	}
	return openDevice(p)
}

func newPort(s stream, name string, restore func() error) *port {
	o := &port{stream: s, name: name, restore: restore, news: make(chan struct{}, 1), over: make(chan struct{})}
	go o.read()
	return o
}

// openDevice opens a port of this host for this program alone. Errors are *result.Failure.
func openDevice(p Place) (*port, error) {
	fd, err := unix.Open(p.Device, unix.O_RDWR|unix.O_NOCTTY|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	refuse := func(hint, format string, more ...any) error {
		return result.Refuse(hint, "machine "+p.Name+": "+format, more...)
	}
	switch {
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, unix.ENXIO), errors.Is(err, unix.ENODEV):
		return nil, refuse("is the adapter plugged in? ls /dev/serial/by-id shows those that are", "there is no device %s", p.Device)
	case errors.Is(err, fs.ErrPermission):
		return nil, refuse("sudo usermod -aG dialout $USER, and log in again; or use sudo", "no permission to open %s", p.Device)
	case errors.Is(err, unix.EBUSY):
		return nil, busy(p)
	case err != nil:
		return nil, &result.Failure{Outcome: result.LabFailed, Reason: "cannot open " + p.Device, Err: err}
	}
	had, err := unix.IoctlGetTermios(fd, unix.TCGETS2)
	if err != nil {
		_ = unix.Close(fd)
		return nil, refuse("a serial port is a device such as /dev/ttyUSB0", "%s is not a serial port", p.Device)
	}
	// Root may open what another program has for itself, so the lock and the mark are asked, too.
	if taken, err := unix.IoctlGetInt(fd, unix.TIOCGEXCL); err == nil && taken != 0 || unix.Flock(fd, unix.LOCK_EX|unix.LOCK_NB) != nil {
		_ = unix.Close(fd)
		return nil, busy(p)
	}
	restore := func() error {
		return errors.Join(unix.IoctlSetInt(fd, unix.TCFLSH, unix.TCIFLUSH), unix.IoctlSetTermios(fd, unix.TCSETS2, had), unix.IoctlSetInt(fd, unix.TIOCNXCL, 0))
	}
	err = errors.Join(unix.IoctlSetInt(fd, unix.TIOCEXCL, 0), unix.IoctlSetTermios(fd, unix.TCSETS2, rawAt(*had, p.Baud)), unix.IoctlSetInt(fd, unix.TCFLSH, unix.TCIOFLUSH))
	f := os.NewFile(uintptr(fd), p.Device)
	if err != nil {
		_ = restore()
		_ = f.Close()
		return nil, &result.Failure{Outcome: result.LabFailed, Reason: fmt.Sprintf("cannot set %s to %d baud", p.Device, p.Baud), Err: err}
	}
	return newPort(f, p.Device, restore), nil
}

func busy(p Place) error {
	return result.Refuse("end the other program: sudo fuser -v "+p.Device+" shows it", "machine %s: another program has %s", p.Name, p.Device)
}

// rawAt is settings with 8 bits, no parity, no flow control, no modem lines, and every byte as it is.
func rawAt(t unix.Termios, baud int) *unix.Termios {
	t.Iflag, t.Oflag, t.Lflag = unix.IGNBRK|unix.IGNPAR, 0, 0
	t.Cflag = t.Cflag&unix.HUPCL | unix.CS8 | unix.CREAD | unix.CLOCAL | unix.BOTHER
	t.Ispeed, t.Ospeed = uint32(baud), uint32(baud)
	t.Cc[unix.VMIN], t.Cc[unix.VTIME] = 1, 0
	return &t
}

// close restores the settings. Where the device is gone there are none.
func (o *port) close() error {
	err := o.restore()
	if errors.Is(err, unix.EIO) || errors.Is(err, unix.ENODEV) {
		err = nil
	}
	err = errors.Join(err, o.stream.Close())
	<-o.over
	return err
}

func (o *port) read() {
	defer close(o.over)
	b := make([]byte, 4096)
	for {
		n, err := o.stream.Read(b)
		o.mu.Lock()
		switch {
		case n <= 0:
		case o.sink != nil:
			o.sink(b[:n])
		default:
			o.text = append(o.text, b[:n]...)
			o.text = o.text[max(0, len(o.text)-mostText):]
		}
		if err != nil {
			o.err = o.gone(err)
		}
		o.mu.Unlock()
		select {
		case o.news <- struct{}{}:
		default:
		}
		if err != nil {
			return
		}
	}
}

// Write blocks until the port has taken everything.
func (o *port) Write(b []byte) (int, error) {
	done := 0
	for done < len(b) {
		_ = o.stream.SetWriteDeadline(time.Now().Add(stuck)) // a port without would have no limit
		n, err := o.stream.Write(b[done:min(done+1024, len(b))])
		done += n
		switch {
		case errors.Is(err, os.ErrDeadlineExceeded):
			return done, err
		case err != nil: // the writer may be the first to notice
			return done, o.gone(err)
		}
	}
	return done, nil
}

func (o *port) gone(err error) error { return fmt.Errorf("%s is gone: %w", o.name, err) }

// direct has what arrives taken by a sink, what has arrived first; nil: it is kept again.
func (o *port) direct(sink func([]byte)) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.sink = sink; sink != nil {
		sink(o.text)
		o.text = nil
	}
}

func (o *port) drop() {
	o.mu.Lock()
	o.text = nil
	o.mu.Unlock()
}

func (o *port) so() (string, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return string(o.text), o.err
}

// await waits until what has arrived is what was waited for, and reports whether it is.
func (o *port) await(ctx context.Context, within time.Duration, found func(text string) bool) (bool, error) {
	timer := time.NewTimer(within)
	defer timer.Stop()
	for {
		text, err := o.so()
		if found(text) {
			return true, nil
		}
		if err != nil {
			return false, err
		}
		select {
		case <-o.news:
		case <-timer.C:
			return false, nil
		case <-ctx.Done():
			return false, machine.Canceled(ctx)
		}
	}
}

// quiet waits until nothing arrives for a while but messages of the kernel, which may never end, or until
// that is found, and returns what has arrived.
func (o *port) quiet(ctx context.Context, hush, within time.Duration, found func(text string) bool) (string, error) {
	until := time.Now().Add(within)
	for {
		had, err := o.so()
		if err != nil || found(had) || !time.Now().Before(until) {
			return had, err
		}
		known := plainText(had)
		more, err := o.await(ctx, min(hush, time.Until(until)), func(text string) bool { return plainText(text) != known })
		if err != nil || !more {
			return had, err
		}
	}
}
