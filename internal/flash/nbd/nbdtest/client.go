// Package nbdtest is a minimal client for tests and benchmarks of package nbd.
package nbdtest

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"os"

	"golang.org/x/sys/unix"
)

// Commands and flags, with the protocol's numbers.
const (
	Read        = 0
	Write       = 1
	Disconnect  = 2
	Flush       = 3
	Trim        = 4
	WriteZeroes = 6

	FUA = 1
)

// Pair returns a connected pair of stream sockets.
func Pair() (client, server net.Conn, err error) {
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, nil, err
	}
	if client, err = Conn(fds[0]); err != nil {
		_ = unix.Close(fds[1])
		return nil, nil, err
	}
	if server, err = Conn(fds[1]); err != nil {
		_ = client.Close()
		return nil, nil, err
	}
	return client, server, nil
}

// Client is a connection after its handshake, for use by one goroutine, or by
// one that sends and one that receives.
type Client struct {
	Conn  net.Conn
	Size  int64
	Flags uint16 // of the export
	in    *bufio.Reader
}

// Open negotiates with NBD_OPT_GO.
func Open(conn net.Conn) (*Client, error) {
	c := &Client{Conn: conn, in: bufio.NewReaderSize(conn, 16<<10)}
	var hello [18]byte
	if _, err := io.ReadFull(c.in, hello[:]); err != nil {
		return nil, err
	}
	ask := binary.BigEndian.AppendUint32(nil, 3) // fixed newstyle, no zeroes
	ask = append(ask, Option(7, make([]byte, 6))...)
	if _, err := conn.Write(ask); err != nil {
		return nil, err
	}
	for {
		kind, data, err := c.OptionReply()
		switch {
		case err != nil:
			return nil, err
		case kind == 1:
			return c, nil
		case kind != 3:
			return nil, fmt.Errorf("the answer to NBD_OPT_GO is %#x", kind)
		case len(data) == 12 && binary.BigEndian.Uint16(data) == 0:
			c.Size, c.Flags = int64(binary.BigEndian.Uint64(data[2:])), binary.BigEndian.Uint16(data[10:])
		}
	}
}

// Option encodes an option with its data.
func Option(option uint32, data []byte) []byte {
	out := append([]byte(nil), "IHAVEOPT"...)
	out = binary.BigEndian.AppendUint32(out, option)
	out = binary.BigEndian.AppendUint32(out, uint32(len(data)))
	return append(out, data...)
}

// OptionReply reads the reply to an option.
func (c *Client) OptionReply() (kind uint32, data []byte, err error) {
	var head [20]byte
	if _, err := io.ReadFull(c.in, head[:]); err != nil {
		return 0, nil, err
	}
	data = make([]byte, binary.BigEndian.Uint32(head[16:]))
	_, err = io.ReadFull(c.in, data)
	return binary.BigEndian.Uint32(head[12:]), data, err
}

// Request encodes a request's header.
func Request(flags, command uint16, handle, offset uint64, length uint32) []byte {
	out := binary.BigEndian.AppendUint32(nil, 0x25609513)
	out = binary.BigEndian.AppendUint16(out, flags)
	out = binary.BigEndian.AppendUint16(out, command)
	out = binary.BigEndian.AppendUint64(out, handle)
	out = binary.BigEndian.AppendUint64(out, offset)
	return binary.BigEndian.AppendUint32(out, length)
}

// Send sends a request; data is that of a write.
func (c *Client) Send(flags, command uint16, handle uint64, offset int64, length int, data []byte) error {
	out := Request(flags, command, handle, uint64(offset), uint32(length))
	if len(data) > 64<<10 {
		if _, err := c.Conn.Write(out); err != nil {
			return err
		}
		out = data
	} else {
		out = append(out, data...)
	}
	_, err := c.Conn.Write(out)
	return err
}

// Receive reads the header of a reply; status is 0 or an error number. For a
// read, call Data next.
func (c *Client) Receive() (handle uint64, status uint32, err error) {
	var head [16]byte
	if _, err := io.ReadFull(c.in, head[:]); err != nil {
		return 0, 0, err
	}
	if magic := binary.BigEndian.Uint32(head[:]); magic != 0x67446698 {
		return 0, 0, fmt.Errorf("a reply begins with %#x", magic)
	}
	return binary.BigEndian.Uint64(head[8:]), binary.BigEndian.Uint32(head[4:]), nil
}

// Data reads the data of a read into p.
func (c *Client) Data(p []byte) error {
	_, err := io.ReadFull(c.in, p)
	return err
}

// Do sends one request and waits for its reply. For a read, data is the
// destination; for requests without data, length applies.
func (c *Client) Do(flags, command uint16, offset int64, length int, data []byte) (status uint32, err error) {
	var payload []byte
	if command == Write {
		payload = data
	}
	if data != nil {
		length = len(data)
	}
	if err := c.Send(flags, command, 1, offset, length, payload); err != nil {
		return 0, err
	}
	_, status, err = c.Receive()
	if err == nil && status == 0 && command == Read {
		err = c.Data(data)
	}
	return status, err
}

// Conn makes a connection from a socket's descriptor and takes ownership of
// it.
func Conn(fd int) (net.Conn, error) {
	f := os.NewFile(uintptr(fd), "nbd")
	defer f.Close() //nolint:errcheck // the connection has its own
	return net.FileConn(f)
}
