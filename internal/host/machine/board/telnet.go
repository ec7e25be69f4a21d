package board

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"slices"
	"sync"
	"time"

	"whichfs/internal/result"
)

// netLimit is for a connection to a port behind a network, and for what its server has to agree to.
const netLimit = 15 * time.Second

// Commands and options of telnet (RFC 854, 856, 857, 858), and of serial ports behind it (RFC 2217).
const (
	telnetSE   = 240
	telnetSB   = 250
	telnetWill = 251
	telnetWont = 252
	telnetDo   = 253
	telnetDont = 254
	telnetIAC  = 255

	optionBinary  = 0
	optionEcho    = 1
	optionNoAhead = 3
	optionPort    = 44
)

// dialPort connects to a serial port behind a network. Errors are *result.Failure, or of the context.
func dialPort(ctx context.Context, p Place) (*port, error) {
	fail := func(err error) error {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		return &result.Failure{Outcome: result.LabFailed, Reason: "cannot use the serial port " + p.Net + " of machine " + p.Name, Hint: "by hand: " + p.typed(), Err: err}
	}
	conn, err := (&net.Dialer{Timeout: netLimit, KeepAlive: netLimit}).DialContext(ctx, "tcp", p.Net)
	if err != nil {
		return nil, fail(err)
	}
	var s stream = conn
	if p.Telnet {
		t := &telnet{Conn: conn, baud: p.Baud}
		if err := t.agree(ctx); err != nil {
			return nil, fail(errors.Join(err, conn.Close()))
		}
		s = t
	}
	return newPort(s, p.Net, func() error { return nil }), nil
}

// telnet is a stream in which byte 255 begins a command, as servers of serial ports have it.
type telnet struct {
	net.Conn
	baud int

	mu sync.Mutex // of what is written
	// rest is what has arrived of a command, and ready the data that has.
	rest, ready []byte
	// ours and theirs: that every byte passes as it is, from here and from there.
	ours, theirs bool
	refused      bool // either of them
	set          bool // the port
	declined     []byte
}

// agree has the server pass every byte as it is, and set the port if it can.
func (t *telnet) agree(ctx context.Context) error {
	defer context.AfterFunc(ctx, func() { _ = t.SetReadDeadline(time.Unix(1, 0)) })()
	if err := t.SetReadDeadline(time.Now().Add(netLimit)); err != nil {
		return err
	}
	err := t.command(telnetWill, optionBinary, telnetIAC, telnetDo, optionBinary, telnetIAC, telnetWill, optionNoAhead,
		telnetIAC, telnetDo, optionNoAhead, telnetIAC, telnetWill, optionPort)
	for err == nil && !(t.ours && t.theirs) && !t.refused {
		err = t.more()
	}
	if err != nil || t.refused {
		return errors.Join(err, errors.New("its server does not agree to pass every byte (telnet's option BINARY)"))
	}
	return t.SetReadDeadline(time.Time{})
}

// command sends a command.
func (t *telnet) command(words ...byte) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	_, err := t.Conn.Write(append([]byte{telnetIAC}, words...))
	return err
}

// Write implements io.Writer.
func (t *telnet) Write(b []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if _, err := t.Conn.Write(bytes.ReplaceAll(b, []byte{telnetIAC}, []byte{telnetIAC, telnetIAC})); err != nil {
		return 0, err
	}
	return len(b), nil
}

// Read implements io.Reader.
func (t *telnet) Read(b []byte) (int, error) {
	for len(t.ready) == 0 {
		if err := t.more(); err != nil {
			return 0, err
		}
	}
	n := copy(b, t.ready)
	t.ready = t.ready[n:]
	return n, nil
}

// longestCommand is more than any command of a server needs, in bytes.
const longestCommand = 4096

// more reads what arrives next, and answers commands.
func (t *telnet) more() error {
	piece := make([]byte, 4096)
	n, err := t.Conn.Read(piece)
	if err != nil {
		return err
	}
	text := append(t.rest, piece[:n]...)
	for len(text) > 0 {
		at := bytes.IndexByte(text, telnetIAC)
		if at < 0 {
			t.ready, text = append(t.ready, text...), nil
			break
		}
		t.ready, text = append(t.ready, text[:at]...), text[at:]
		took, err := t.obey(text)
		if err != nil {
			return err
		}
		if took == 0 { // the rest is still to come
			break
		}
		text = text[took:]
	}
	if t.rest = slices.Clone(text); len(t.rest) > longestCommand {
		return fmt.Errorf("a command of telnet does not end within %d bytes", longestCommand)
	}
	return nil
}

// obey carries out the command that a text begins with, and returns its length; 0: there is more of it.
func (t *telnet) obey(text []byte) (took int, err error) {
	if len(text) < 2 {
		return 0, nil
	}
	switch text[1] {
	case telnetIAC: // the byte itself
		t.ready = append(t.ready, telnetIAC)
		return 2, nil
	case telnetSB: // what the port is set to, or its modem's lines
		for at := 2; at+1 < len(text); at++ {
			if text[at] == telnetIAC {
				if text[at+1] == telnetSE {
					return at + 2, nil
				}
				at++ // the byte itself
			}
		}
		return 0, nil
	case telnetWill, telnetWont, telnetDo, telnetDont:
		if len(text) < 3 {
			return 0, nil
		}
		return 3, t.agreed(text[1], text[2])
	}
	return 2, nil
}

// agreed takes the server's word on an option.
func (t *telnet) agreed(word, option byte) error {
	switch {
	case option == optionBinary:
		t.ours = t.ours || word == telnetDo
		t.theirs = t.theirs || word == telnetWill
		t.refused = t.refused || word == telnetDont || word == telnetWont
	case option == optionPort && word == telnetDo && !t.set:
		t.set = true
		return t.setPort()
	case option == optionNoAhead, option == optionPort, word == telnetWont, word == telnetDont, slices.Contains(t.declined, option):
	case option == optionEcho && word == telnetWill: // it is the board that echoes
		t.declined = append(t.declined, option)
		return t.command(telnetDo, option)
	default:
		t.declined = append(t.declined, option)
		if word == telnetWill {
			return t.command(telnetDont, option)
		}
		return t.command(telnetWont, option)
	}
	return nil
}

// setPort sets speed, 8 bits, no parity, one stop bit, no flow control.
func (t *telnet) setPort() error {
	speed := bytes.ReplaceAll(binary.BigEndian.AppendUint32(nil, uint32(t.baud)), []byte{telnetIAC}, []byte{telnetIAC, telnetIAC})
	for _, setting := range [][]byte{append([]byte{1}, speed...), {2, 8}, {3, 1}, {4, 1}, {5, 1}} {
		if err := t.command(slices.Concat([]byte{telnetSB, optionPort}, setting, []byte{telnetIAC, telnetSE})...); err != nil {
			return err
		}
	}
	return nil
}
