package programs

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"whichfs/internal/sys/command"
	"whichfs/internal/testing/must"
)

// connect returns a client, its end of the stream, and a channel that has the server's error.
func connect(t *testing.T) (*Client, net.Conn, chan error) {
	t.Helper()
	here, there := net.Pipe()
	over := make(chan error, 1)
	go func() {
		over <- Serve(there, time.Minute)
		_ = there.Close()
	}()
	t.Cleanup(func() { _ = here.Close() })
	return NewClient(here), here, over
}

func TestRun(t *testing.T) {
	c, stream, over := connect(t)
	text := strings.Repeat("0123456789abcdef", 20_000)
	r, err := c.Run(t.Context(), strings.NewReader(text), "cat")
	if err != nil || r.Stdout != text {
		t.Errorf("%d bytes, %v", len(r.Stdout), err)
	}
	r, err = c.Run(t.Context(), strings.NewReader(""), "sh", "-c", "echo out; echo no >&2; exit 3")
	if e, ok := errors.AsType[*command.Error](err); !ok || r.Status != 3 || r.Stdout != "out\n" || r.Stderr != "no\n" || !strings.Contains(e.Error(), "no") {
		t.Errorf("%+v %v", r, err)
	}
	// One that does not read its input ends all the same.
	if r, err = c.Run(t.Context(), strings.NewReader(text), "true"); err != nil {
		t.Errorf("%+v %v", r, err)
	}
	if r, err = c.Run(t.Context(), strings.NewReader(""), "/no/such/program"); r.Status != -1 || err == nil || !strings.Contains(err.Error(), "no such file") {
		t.Errorf("%+v %v", r, err)
	}
	must.Do(t, stream.Close())
	if err := <-over; err != nil {
		t.Error(err)
	}
	if _, err := c.Start(nil, "true"); err == nil {
		t.Error("a program was started over no stream")
	}
}

// Programs run concurrently, and one whose output is not read does not block the others.
func TestSideBySide(t *testing.T) {
	c, _, _ := connect(t)
	var errs bytes.Buffer
	loud, err := c.Start(&errs, "sh", "-c", "head -c 1000000 /dev/zero; echo said >&2; read -r word; echo $word")
	must.Do(t, err)
	quiet, err := c.Start(nil, "cat")
	must.Do(t, err)
	_, err = quiet.In.Write([]byte("word\n"))
	must.Do(t, err)
	b := make([]byte, 5)
	if _, err := io.ReadFull(quiet.Out, b); err != nil || string(b) != "word\n" {
		t.Errorf("%q %v", b, err)
	}
	_, err = loud.In.Write([]byte("last\n"))
	must.Do(t, err)
	all, err := io.ReadAll(loud.Out)
	if err != nil || len(all) != 1_000_005 || !bytes.HasSuffix(all, []byte("last\n")) || errs.String() != "said\n" {
		t.Errorf("%d bytes, %q, %v", len(all), errs.String(), err)
	}
	must.Do(t, quiet.End("cat", time.Minute))
	stuck, err := c.Start(nil, "sleep", "1000")
	must.Do(t, err)
	if err := stuck.End("sleep", time.Millisecond); err == nil || !strings.Contains(err.Error(), "did not end within") {
		t.Error(err)
	}
	<-stuck.Done()
}

func TestCancel(t *testing.T) {
	c, _, _ := connect(t)
	ctx, cancel := context.WithCancel(t.Context())
	p, err := c.Start(nil, "cat") // runs meanwhile
	must.Do(t, err)
	time.AfterFunc(time.Millisecond, cancel)
	if _, err := c.Run(ctx, strings.NewReader(""), "sleep", "1000"); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	must.Do(t, p.End("cat", time.Minute))
}

// The end of the stream is seen by who reads and by who writes at the same time: a program ends once.
func TestLostAtBothEnds(t *testing.T) {
	for range 200 {
		c, stream, _ := connect(t)
		go func() { _ = stream.Close() }()
		for {
			p, err := c.Start(nil, "true")
			if err != nil {
				break
			}
			<-p.Done()
		}
	}
}

// When the stream ends, programs are ended: their input ends, and what does not care is killed.
func TestLost(t *testing.T) {
	here, there := net.Pipe()
	over := make(chan error, 1)
	go func() { over <- Serve(there, 100*time.Millisecond) }()
	c := NewClient(here)
	polite, err := c.Start(nil, "cat")
	must.Do(t, err)
	deaf, err := c.Start(nil, "sleep", "1000")
	must.Do(t, err)
	must.Do(t, here.Close())
	<-polite.Done()
	<-deaf.Done()
	if err := deaf.Err(); err == nil || !strings.Contains(err.Error(), "the line was lost") {
		t.Error(err)
	}
	if err := <-over; err != nil {
		t.Error(err)
	}
	if err := Serve(struct {
		io.Reader
		io.Writer
	}{strings.NewReader("these are no messages"), io.Discard}, time.Second); !errors.Is(err, errNonsense) {
		t.Error(err)
	}
}
