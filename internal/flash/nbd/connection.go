package nbd

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"time"

	"whichfs/internal/flash"
	"whichfs/internal/flash/realtime"
)

// connection is a client after its handshake. One goroutine reads requests and
// passes them to the device as they arrive; another sends the replies when
// they are due.
type connection struct {
	server *Server
	conn   net.Conn
	in     *bufio.Reader
	queue  *realtime.Queue[answer]
}

// answer is what a reply says.
type answer struct {
	handle uint64
	status uint32  // 0 or an error
	data   *buffer // of a read: room for the header, then the data
}

type reply = realtime.Reply[answer]

func newConnection(s *Server, conn net.Conn) *connection {
	// The buffer fits a whole small write, header and data: one system
	// call for both.
	return &connection{server: s, conn: conn, in: bufio.NewReaderSize(conn, 16<<10), queue: realtime.NewQueue[answer](maxFlying, maxFlyingData)}
}

// request is the header of a request.
type request struct {
	flags, command uint16
	handle         uint64
	offset         uint64
	length         uint32
}

// errLeft means that a client disconnected properly.
var errLeft = errors.New("the client disconnected")

// serve answers requests until the connection ends, and returns when both of
// its goroutines have ended.
func (c *connection) serve() error {
	sent := make(chan error, 1)
	go func() { sent <- c.send() }()
	err := c.receive()
	c.end()
	if failed := <-sent; failed != nil && !errors.Is(err, errLeft) {
		err = failed
	}
	if errors.Is(err, errLeft) {
		return nil
	}
	return fmt.Errorf("NBD connection: %w", err)
}

// end stops both goroutines, whatever they wait for: the client, room, or an
// instant that never comes.
func (c *connection) end() {
	_ = c.conn.Close()
	c.queue.Close()
}

func (c *connection) receive() error {
	var head [headerLength]byte
	for {
		if _, err := io.ReadFull(c.in, head[:]); err != nil {
			return err
		}
		arrived := c.server.device.Now()
		if magic := binary.BigEndian.Uint32(head[:]); magic != magicRequest {
			return fmt.Errorf("a request begins with %#x", magic)
		}
		r := request{
			flags: binary.BigEndian.Uint16(head[4:]), command: binary.BigEndian.Uint16(head[6:]),
			handle: binary.BigEndian.Uint64(head[8:]), offset: binary.BigEndian.Uint64(head[16:]),
			length: binary.BigEndian.Uint32(head[24:]),
		}
		if r.command == cmdDisconnect {
			return errLeft
		}
		if err := c.handle(arrived, r); err != nil {
			return err
		}
	}
}

// handle carries out one request; its error ends the connection. The request
// arrives at the device with its header: on a real bus, too, the data of a
// write is transferred while the command is in progress.
func (c *connection) handle(arrived time.Duration, r request) error {
	refused := c.check(r)
	carries := int64(0) // bytes in the request or its reply
	switch {
	case r.command == cmdWrite && r.length > MaxPayload:
		return fmt.Errorf("a write of %d bytes; at most %d are allowed", r.length, MaxPayload)
	case r.command == cmdWrite, r.command == cmdRead && refused == 0:
		carries = int64(r.length)
	}
	if !c.queue.Admit(carries) {
		return net.ErrClosed
	}
	p := &reply{Due: arrived, Bytes: carries, What: answer{handle: r.handle, status: refused}}
	if refused != 0 {
		if r.command == cmdWrite {
			if err := c.payload(nil, carries); err != nil {
				return err
			}
		}
		return c.add(p)
	}
	fr := flash.Request{Op: ops[r.command], Offset: int64(r.offset), Length: int64(r.length), FUA: r.flags&cmdFlagFUA != 0}
	var room *buffer
	if carries > 0 {
		room = take(replyLength + int(carries))
		fr.Data = room.bytes[replyLength : replyLength+carries]
	}
	if r.command == cmdWrite {
		if err := c.payload(fr.Data, carries); err != nil {
			room.release()
			return err
		}
	}
	done, err := c.server.device.Submit(arrived, fr)
	switch {
	case errors.Is(err, flash.ErrRange):
		p.What.status = errInval
	case err != nil:
		p.What.status = errIO
	default:
		p.Due = done
	}
	if r.command == cmdRead && p.What.status == 0 {
		p.What.data = room
	} else {
		room.release()
	}
	return c.add(p)
}

func (c *connection) add(p *reply) error {
	if !c.queue.Add(p) {
		return net.ErrClosed
	}
	return nil
}

// ops are the commands that the device supports.
var ops = map[uint16]flash.Op{
	cmdRead: flash.Read, cmdWrite: flash.Write, cmdFlush: flash.Flush, cmdTrim: flash.Trim, cmdWriteZeroes: flash.WriteZeroes,
}

// check validates a request before anything is done, and returns an error
// number.
func (c *connection) check(r request) (status uint32) {
	op, known := ops[r.command]
	allowed := uint16(cmdFlagFUA)
	if r.command == cmdWriteZeroes {
		allowed |= cmdFlagNoHole
	}
	size := uint64(c.server.device.Size())
	switch {
	case !known, r.flags&^allowed != 0, op == flash.Trim && !c.server.o.Trim:
		return errInval
	case op == flash.Flush: // its offset and length are meaningless
		return 0
	case r.offset%flash.Sector != 0, r.length%flash.Sector != 0, r.length == 0, op == flash.Read && r.length > MaxPayload:
		return errInval
	case r.offset > size || uint64(r.length) > size-r.offset:
		if op == flash.Read || op == flash.Trim {
			return errInval
		}
		return errNoSpc
	}
	return 0
}

// payload reads the data of a write, or skips n bytes if data is nil. It returns
// an error if the client does not send them in time.
func (c *connection) payload(data []byte, n int64) error {
	waits := int64(c.in.Buffered()) < n
	if waits {
		if err := c.conn.SetReadDeadline(time.Now().Add(c.server.o.Stall)); err != nil {
			return err
		}
	}
	var err error
	if data != nil {
		_, err = io.ReadFull(c.in, data)
	} else {
		_, err = io.CopyN(io.Discard, c.in, n)
	}
	if err == nil && waits {
		err = c.conn.SetReadDeadline(time.Time{})
	}
	return err
}

// send sends replies when they are due, until the queue is closed or the
// client stops reading.
func (c *connection) send() error {
	s := realtime.NewSleeper()
	defer s.Release()
	for {
		p := c.queue.Next(c.server.device.Now, s)
		if p == nil {
			return nil
		}
		err := c.write(p)
		c.queue.Finished(p)
		if err != nil {
			c.end()
			return err
		}
	}
}

func (c *connection) write(p *reply) error {
	var head [replyLength]byte
	out := head[:]
	if p.What.data != nil {
		defer p.What.data.release()
		out = p.What.data.bytes[:replyLength+p.Bytes]
	}
	binary.BigEndian.PutUint32(out, magicSimple)
	binary.BigEndian.PutUint32(out[4:], p.What.status)
	binary.BigEndian.PutUint64(out[8:], p.What.handle)
	if err := c.conn.SetWriteDeadline(time.Now().Add(c.server.o.Stall)); err != nil {
		return err
	}
	_, err := c.conn.Write(out)
	return err
}
