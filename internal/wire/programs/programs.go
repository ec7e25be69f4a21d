// Package programs runs programs at the other end of one stream of bytes, any number at once, with their
// standard streams: what ssh does with its sessions, for a line that carries one stream only.
//
// A message is its kind (1 byte), the number of the program (2 bytes), the length of what follows
// (4 bytes), and that. The stream is reliable; a message that makes no sense ends it.
package programs

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"sync"
)

// kind of a message.
type kind byte

const (
	// To the other end: the words of a program to start, its input (nothing: the end of it), and that it
	// is to be killed.
	start kind = iota + 1
	input
	kill
	// From there: what a program prints, and how it ended.
	output
	errorOutput
	ended
)

const (
	head = 1 + 2 + 4
	// piece is the most input or output in a message, in bytes: other messages wait behind it.
	piece = 2048
	// longest message that is read.
	longest = 64 << 10
)

// errNonsense is the error of a stream that is not ours.
var errNonsense = errors.New("a message makes no sense")

type message struct {
	kind kind
	id   uint16
	body []byte
}

// writer writes messages from several goroutines.
type writer struct {
	mu sync.Mutex
	w  io.Writer
}

func (w *writer) send(k kind, id uint16, body []byte) error {
	b := make([]byte, 0, head+len(body))
	b = append(b, byte(k))
	b = binary.BigEndian.AppendUint16(b, id)
	b = binary.BigEndian.AppendUint32(b, uint32(len(body)))
	b = append(b, body...)
	w.mu.Lock()
	defer w.mu.Unlock()
	_, err := w.w.Write(b)
	return err
}

func receive(r io.Reader) (message, error) {
	var h [head]byte
	if _, err := io.ReadFull(r, h[:]); err != nil {
		return message{}, err
	}
	m := message{kind: kind(h[0]), id: binary.BigEndian.Uint16(h[1:])}
	n := binary.BigEndian.Uint32(h[3:])
	if m.kind < start || m.kind > ended || n > longest {
		return m, fmt.Errorf("%w: kind %d of %d bytes", errNonsense, m.kind, n)
	}
	m.body = make([]byte, n)
	if _, err := io.ReadFull(r, m.body); err != nil {
		return m, errors.Join(io.ErrUnexpectedEOF, err)
	}
	return m, nil
}

// end says how a program ended.
type end struct {
	Status int    `json:"status"` // -1: it was killed, or did not start
	Reason string `json:"reason,omitempty"`
}
