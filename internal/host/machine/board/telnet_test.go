package board

import (
	"context"
	"encoding/hex"
	"io"
	"net"
	"strings"
	"testing"

	"whichfs/internal/result"
	"whichfs/internal/testing/must"
)

// What ser2net 4.3.11 sends for telnet(rfc2217,mode=server), and answers to the options that are asked of it
// and to a port's settings.
const (
	greeting = "ff fb 03 ff fd 03 ff fb 01 ff fe 01 ff fd 00 ff fb 00 ff fd 2c"
	answers  = "ff fd 03 ff fa 2c 6b 00 ff f0"
	settings = "ff fa 2c 65 00 01 c2 00 ff f0 ff fa 2c 66 08 ff f0"
)

func bytesOf(t *testing.T, text string) []byte {
	t.Helper()
	b, err := hex.DecodeString(strings.ReplaceAll(text, " ", ""))
	must.Do(t, err)
	return b
}

// served is a port behind a server that begins with words; the server's end is returned, too.
func served(t *testing.T, words []byte) (*port, net.Conn, error) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	must.Do(t, err)
	defer l.Close() //nolint:errcheck // a test's
	accepted := make(chan net.Conn, 1)
	go func() {
		c, err := l.Accept()
		if err == nil {
			_, err = c.Write(words)
		}
		if err != nil {
			t.Error(err)
		}
		accepted <- c
	}()
	p, err := openPort(t.Context(), Place{Name: "labgrid:x", Net: l.Addr().String(), Telnet: true, Baud: 115200})
	server := <-accepted
	t.Cleanup(func() { _ = server.Close() })
	return p, server, err
}

// Every byte passes as it is, in pieces of any size, and the port is set as it is named.
func TestTelnet(t *testing.T) {
	t.Parallel()
	p, server, err := served(t, bytesOf(t, greeting))
	must.Do(t, err)
	asked := make([]byte, 15)
	_, err = io.ReadFull(server, asked)
	must.Do(t, err)
	if got := hex.EncodeToString(asked); got != "fffb00fffd00fffb03fffd03fffb2c" {
		t.Errorf("%s was asked", got)
	}
	for _, one := range append(bytesOf(t, answers+settings), "a\xff\xffb\r\n\x00c"...) {
		_, err := server.Write([]byte{one})
		must.Do(t, err)
	}
	ok, err := p.await(t.Context(), netLimit, func(text string) bool { return strings.HasSuffix(text, "c") })
	if text, _ := p.so(); !ok || err != nil || text != "a\xffb\r\n\x00c" {
		t.Errorf("%q arrived, %v", text, err)
	}
	_, err = p.Write([]byte("x\xffy\r\n"))
	must.Do(t, err)
	must.Do(t, p.close())
	sent, err := io.ReadAll(server)
	must.Do(t, err)
	// The echo is the server's; the settings are speed, 8 bits, no parity, one stop bit, no flow control.
	if got, want := hex.EncodeToString(sent), "fffd01"+"fffa2c010001c200fff0"+"fffa2c0208fff0"+"fffa2c0301fff0"+"fffa2c0401fff0"+"fffa2c0501fff0"+"78ffff790d0a"; got != want {
		t.Errorf("%s was sent, and not\n%s", got, want)
	}
}

// A server that changes bytes, or is none, is refused.
func TestTelnetRefused(t *testing.T) {
	t.Parallel()
	for _, words := range []string{"ff fc 00", "ff fb 00 ff fe 00"} {
		_, _, err := served(t, bytesOf(t, words))
		if f := result.FailureOf(err); f == nil || f.Outcome != result.LabFailed || !strings.Contains(f.Error(), "does not agree to pass every byte") {
			t.Errorf("%s: %v", words, err)
		}
	}
	_, err := openPort(t.Context(), Place{Name: "labgrid:x", Lent: "x", Net: "127.0.0.1:1", Telnet: true})
	if f := result.FailureOf(err); f == nil || !strings.Contains(f.Error(), "127.0.0.1:1 of machine labgrid:x") || !strings.Contains(f.Hint, "labgrid-client -p x console") {
		t.Errorf("%v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := openPort(ctx, Place{Net: "127.0.0.1:1"}); err == nil || result.FailureOf(err) != nil {
		t.Errorf("%v", err)
	}
}

func FuzzTelnet(f *testing.F) {
	f.Add([]byte("\xff\xfb\x03\xff\xfd\x03a\xff\xffb\xff\xfa\x2c\x6b\xff\xff\xff\xf0c"), 3)
	f.Fuzz(func(t *testing.T, text []byte, cut int) {
		parse := func(pieces ...[]byte) string {
			ours, theirs := net.Pipe()
			go func() { _, _ = io.Copy(io.Discard, theirs) }() // answers
			defer ours.Close()                                 //nolint:errcheck // a test's
			in := &pieced{Conn: ours, pieces: pieces}
			s := &telnet{Conn: in}
			for s.more() == nil {
			}
			return string(s.ready)
		}
		cut = min(max(cut, 0), len(text))
		if whole, parts := parse(text), parse(text[:cut], text[cut:]); whole != parts {
			t.Errorf("%q in one piece, %q in two", whole, parts)
		}
	})
}

type pieced struct {
	net.Conn
	pieces [][]byte
}

func (p *pieced) Read(b []byte) (int, error) {
	if len(p.pieces) == 0 {
		return 0, io.EOF
	}
	n := copy(b, p.pieces[0])
	if p.pieces[0] = p.pieces[0][n:]; len(p.pieces[0]) == 0 {
		p.pieces = p.pieces[1:]
	}
	return n, nil
}
