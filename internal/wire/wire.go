// Package wire carries messages between host and agent over any byte stream:
// a pipe, a virtio-serial port, SSH's standard streams, a serial console full
// of kernel messages.
//
// A message is one line:
//
//	@wfs LENGTH CRC JSON\n
//
// LENGTH is the number of bytes of JSON in decimal, CRC its CRC-32C in eight hexadecimal digits.
// Lines that do not begin with the mark are not ours: they are passed to Noise and skipped. A line
// with the mark that does not match its length or checksum is ErrCorrupt and ends the stream:
// reading on would be guessing.
package wire

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"strconv"
	"sync"
)

// MaxMessage is the longest JSON body that is read or written, in bytes.
const MaxMessage = 16 << 20

const mark = "@wfs "

// ErrCorrupt is returned when a message is damaged or cut short.
var ErrCorrupt = errors.New("corrupt message")

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// Message is the envelope. Body is one of the types in messages.go.
type Message struct {
	Kind string          `json:"kind"`
	ID   uint64          `json:"id"` // of the request that it belongs to
	Body json.RawMessage `json:"body,omitempty"`
}

// Decode reads the body into v.
func (m Message) Decode(v any) error {
	if err := json.Unmarshal(m.Body, v); err != nil {
		return fmt.Errorf("%w: body of %q: %v", ErrCorrupt, m.Kind, err)
	}
	return nil
}

// Conn sends and receives messages. Send may be called from several
// goroutines, Receive from one.
type Conn struct {
	r     *bufio.Reader
	w     io.Writer
	mu    sync.Mutex
	noise func(line string)
}

// New makes a Conn. noise receives lines that are not messages; nil drops them.
func New(r io.Reader, w io.Writer, noise func(line string)) *Conn {
	if noise == nil {
		noise = func(string) {}
	}
	return &Conn{r: bufio.NewReaderSize(r, 64<<10), w: w, noise: noise}
}

// Send writes one message in a single Write.
func (c *Conn) Send(kind string, id uint64, body any) error {
	m := Message{Kind: kind, ID: id}
	if body != nil {
		b, err := json.Marshal(body)
		if err != nil {
			return fmt.Errorf("message %q: %w", kind, err)
		}
		m.Body = b
	}
	line, err := Encode(m)
	if err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	_, err = c.w.Write(line)
	return err
}

// Encode returns the line of a message, newline included.
func Encode(m Message) ([]byte, error) {
	body, err := json.Marshal(m)
	if err != nil {
		return nil, err
	}
	if len(body) > MaxMessage {
		return nil, fmt.Errorf("message %q is %d bytes long, %d are allowed", m.Kind, len(body), MaxMessage)
	}
	line := make([]byte, 0, len(body)+32)
	line = append(line, mark...)
	line = strconv.AppendInt(line, int64(len(body)), 10)
	line = append(line, fmt.Sprintf(" %08x ", crc32.Checksum(body, castagnoli))...)
	line = append(line, body...)
	return append(line, '\n'), nil
}

// Receive returns the next message. io.EOF means that the stream ended between
// messages; ErrCorrupt that a message was damaged or cut short.
func (c *Conn) Receive() (Message, error) {
	for {
		line, err := c.line()
		if len(line) > 0 {
			// A console may print its own text on the line before ours.
			if i := bytes.Index(line, []byte(mark)); i >= 0 {
				if i > 0 {
					c.noise(string(line[:i]))
				}
				if err != nil {
					return Message{}, fmt.Errorf("%w: the stream ends inside a message", ErrCorrupt)
				}
				return Decode(line[i:])
			}
			c.noise(string(bytes.TrimRight(line, "\r\n")))
		}
		if err != nil {
			return Message{}, err
		}
	}
}

// line reads up to and including the newline, at most slightly more than MaxMessage.
func (c *Conn) line() ([]byte, error) {
	var line []byte
	for {
		part, err := c.r.ReadSlice('\n')
		line = append(line, part...)
		if err == nil || !errors.Is(err, bufio.ErrBufferFull) {
			return line, err
		}
		if len(line) > MaxMessage+64 {
			return nil, fmt.Errorf("%w: a line is longer than %d bytes", ErrCorrupt, MaxMessage)
		}
	}
}

// Decode reads one line as Encode wrote it. A carriage return before the
// newline, as terminals add it, is allowed.
func Decode(line []byte) (Message, error) {
	bad := func(why string) (Message, error) { return Message{}, fmt.Errorf("%w: %s", ErrCorrupt, why) }
	rest, ok := bytes.CutPrefix(line, []byte(mark))
	if !ok {
		return bad("no mark")
	}
	length, rest, ok := bytes.Cut(rest, []byte(" "))
	if !ok {
		return bad("no length")
	}
	n, err := strconv.Atoi(string(length))
	if err != nil || n < 0 || n > MaxMessage {
		return bad("bad length")
	}
	sum, body, ok := bytes.Cut(rest, []byte(" "))
	if !ok || len(sum) != 8 {
		return bad("no checksum")
	}
	want, err := strconv.ParseUint(string(sum), 16, 32)
	if err != nil {
		return bad("bad checksum")
	}
	body = bytes.TrimRight(body, "\r\n")
	if len(body) != n {
		return bad(fmt.Sprintf("%d bytes where %d were promised", len(body), n))
	}
	if crc32.Checksum(body, castagnoli) != uint32(want) {
		return bad("the checksum does not match")
	}
	var m Message
	if err := json.Unmarshal(body, &m); err != nil {
		return bad(err.Error())
	}
	if m.Kind == "" {
		return bad("no kind")
	}
	return m, nil
}
