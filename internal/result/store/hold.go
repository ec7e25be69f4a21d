package store

import (
	"errors"
	"fmt"
	"net"
	"os"
	"syscall"

	"golang.org/x/sys/unix"

	"whichfs/internal/result"
)

// marker marks runs as being carried out. Nothing stale may be left behind,
// however a process ends.
type marker interface {
	// lost: the connection was lost while this process marked it, perhaps successfully.
	hold(id string, lost bool, cancel func()) (release func(), err error)
	held(id string) bool
	cancel(id string) error
}

// Hold marks a run as being carried out, until release is called. It refuses a
// run that another process has marked. cancel, which may be nil, is called when
// somebody cancels the run.
func (s *Store) Hold(id string, cancel func()) (release func(), err error) {
	lost := false
	err = s.persist(func() error {
		release, err = s.marker.hold(id, lost, cancel)
		lost = true
		return err
	})
	return release, s.wrap(err, "marking run "+id)
}

// Held reports whether a process is carrying out a run.
func (s *Store) Held(id string) bool { return s.marker.held(id) }

// Cancel has the process that carries out a run end it, as an interrupt does. It does not
// wait for that.
func (s *Store) Cancel(id string) error {
	return s.wrap(s.persist(func() error { return s.marker.cancel(id) }), "cancelling run "+id)
}

// Killed is the state of a run that never ended, and on which no process is working.
const Killed = "killed"

// StateOf is the state of a run of the store.
func (s *Store) StateOf(run result.Run) string {
	if run.State == result.Running && !s.Held(run.ID) {
		return Killed
	}
	return string(run.State)
}

func heldElsewhere(id string) error {
	return result.Refuse("wait for that process to end, or interrupt it", "another process is carrying out run %s", id)
}

func heldNowhere(id string) error {
	return result.Refuse("whichfs runs shows what runs", "no process is carrying out run %s", id)
}

// A run in a file is marked by an abstract socket, which has no file: the kernel removes it with the
// process. Whoever may send signals to the process may also send it a datagram, which cancels the run.

// mark is the address of a run of the store.
func (f file) mark(id string) (*net.UnixAddr, error) {
	info, err := os.Stat(f.path)
	if err != nil {
		return nil, err
	}
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return nil, errors.New("this system does not report inode numbers")
	}
	return &net.UnixAddr{Net: "unixgram", Name: fmt.Sprintf("@whichfs-run-%x-%x-%s", st.Dev, st.Ino, id)}, nil
}

func (f file) hold(id string, _ bool, cancel func()) (release func(), err error) {
	at, err := f.mark(id)
	if err != nil {
		return nil, err
	}
	c, err := net.ListenUnixgram("unixgram", at)
	if errors.Is(err, unix.EADDRINUSE) {
		return nil, heldElsewhere(id)
	}
	if err != nil {
		return nil, err
	}
	if err := signed(c); err != nil {
		_ = c.Close() // nothing was sent
		return nil, err
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		listen(c, cancel)
	}()
	return func() { _ = c.Close(); <-ended }, nil
}

// signed has the kernel say of each datagram whose process sent it.
func signed(c *net.UnixConn) error {
	raw, err := c.SyscallConn()
	if err != nil {
		return err
	}
	var set error
	err = raw.Control(func(fd uintptr) { set = unix.SetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_PASSCRED, 1) })
	return errors.Join(err, set)
}

// cancelling is the datagram that cancels a run.
const cancelling = "cancel"

// listen calls cancel for datagrams of this user and of root, until the socket is closed.
func listen(c *net.UnixConn, cancel func()) {
	text, control := make([]byte, len(cancelling)+1), make([]byte, unix.CmsgSpace(unix.SizeofUcred))
	for {
		n, m, _, _, err := c.ReadMsgUnix(text, control)
		if err != nil {
			return
		}
		if string(text[:n]) == cancelling && ours(control[:m]) && cancel != nil {
			cancel()
		}
	}
}

// ours reports whether a process of this user or of root has sent a datagram.
func ours(control []byte) bool {
	list, err := unix.ParseSocketControlMessage(control)
	if err != nil || len(list) != 1 {
		return false
	}
	who, err := unix.ParseUnixCredentials(&list[0])
	return err == nil && (who.Uid == 0 || int(who.Uid) == os.Geteuid())
}

// dial connects to the process that carries out a run.
func (f file) dial(id string) (*net.UnixConn, error) {
	at, err := f.mark(id)
	if err != nil {
		return nil, err
	}
	return net.DialUnix("unixgram", nil, at)
}

func (f file) held(id string) bool {
	c, err := f.dial(id)
	if err != nil {
		return false
	}
	_ = c.Close() // nothing was sent
	return true
}

func (f file) cancel(id string) error {
	c, err := f.dial(id)
	if err != nil {
		return heldNowhere(id)
	}
	defer c.Close() //nolint:errcheck // a datagram is sent or not
	if _, err := c.Write([]byte(cancelling)); err != nil {
		return fmt.Errorf("cancelling run %s: %w", id, err)
	}
	return nil
}
