package nbd

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"math/rand/v2"
	"net"
	"runtime"
	"testing"
	"time"

	"whichfs/internal/flash"
	"whichfs/internal/flash/nbd/nbdtest"
)

// serve starts a server with one connected client; the end of the test checks
// that it leaves nothing behind.
func serve(t *testing.T, d flash.Device, o Options) (*Server, net.Conn, chan error) {
	t.Helper()
	noLeak(t)
	s := New(d, o)
	client, server, err := nbdtest.Pair()
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- s.Serve(server) }()
	t.Cleanup(func() {
		_ = client.Close()
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s, client, ended
}

// noLeak checks for goroutines of this package at the end of the test.
func noLeak(t *testing.T) {
	t.Helper()
	t.Cleanup(func() {
		buf := make([]byte, 1<<20)
		for range 1000 {
			text := buf[:runtime.Stack(buf, true)]
			// A goroutine that has sent its last reply may still
			// be returning.
			if !bytes.Contains(text, []byte("nbd.(*Server)")) && !bytes.Contains(text, []byte("nbd.(*connection)")) {
				return
			}
			time.Sleep(5 * time.Millisecond)
		}
		t.Errorf("left behind:\n%s", buf[:runtime.Stack(buf, true)])
	})
}

func open(t *testing.T, d flash.Device, o Options) (*Server, *nbdtest.Client, chan error) {
	t.Helper()
	s, conn, ended := serve(t, d, o)
	c, err := nbdtest.Open(conn)
	if err != nil {
		t.Fatal(err)
	}
	return s, c, ended
}

// do sends a request that must be answered with the given status.
func do(t *testing.T, c *nbdtest.Client, want uint32, flags, command uint16, offset int64, length int, data []byte) {
	t.Helper()
	status, err := c.Do(flags, command, offset, length, data)
	if err != nil || status != want {
		t.Errorf("command %d at %d: status %d, want %d, error %v", command, offset, status, want, err)
	}
}

// requests returns those that the device has received so far.
func requests(d *memory) []flash.Request {
	d.mu.Lock()
	defer d.mu.Unlock()
	return append([]flash.Request(nil), d.ops...)
}

func TestRequests(t *testing.T) {
	d := newMemory(1 << 20)
	s, c, ended := open(t, d, Options{Trim: true})
	if c.Size != 1<<20 || c.Flags != flagHasFlags|flagSendFlush|flagSendFUA|flagSendTrim|flagWriteZeroes|flagMultiConn {
		t.Errorf("size %d, flags %#x", c.Size, c.Flags)
	}
	data := make([]byte, 9<<10)
	for i := range data {
		data[i] = byte(rand.Uint32())
	}
	do(t, c, 0, 0, nbdtest.Write, 512, 0, data)
	do(t, c, 0, nbdtest.FUA, nbdtest.Write, 1<<20-512, 0, data[:512])
	do(t, c, 0, 0, nbdtest.Flush, 0, 0, nil)
	do(t, c, 0, 0, nbdtest.Trim, 1024, 512, nil)
	do(t, c, 0, 2, nbdtest.WriteZeroes, 2048, 512, nil)
	back := make([]byte, len(data))
	do(t, c, 0, 0, nbdtest.Read, 512, 0, back)
	clear(data[512:1024])
	clear(data[1536:2048])
	if !bytes.Equal(data, back) {
		t.Error("what was read is not what was written")
	}
	want := []flash.Request{
		{Op: flash.Write, Offset: 512, Length: 9 << 10}, {Op: flash.Write, Offset: 1<<20 - 512, Length: 512, FUA: true}, {Op: flash.Flush},
		{Op: flash.Trim, Offset: 1024, Length: 512}, {Op: flash.WriteZeroes, Offset: 2048, Length: 512}, {Op: flash.Read, Offset: 512, Length: 9 << 10},
	}
	ops := requests(d)
	if len(ops) != len(want) {
		t.Fatalf("the device received %v", ops)
	}
	for i, r := range want {
		if got := ops[i]; got.Op != r.Op || got.Offset != r.Offset || got.Length != r.Length || got.FUA != r.FUA {
			t.Errorf("request %d is %+v, want %+v", i, got, r)
		}
	}
	if got := s.Stats(); got.Writes != 2 || got.Reads != 1 {
		t.Errorf("%+v", got)
	}
	if err := c.Send(0, nbdtest.Disconnect, 0, 0, 0, nil); err != nil {
		t.Fatal(err)
	}
	if err := <-ended; err != nil {
		t.Errorf("after a proper disconnect: %v", err)
	}
}

// Each invalid request is refused with its error, and the connection
// continues.
func TestRefusals(t *testing.T) {
	_, c, _ := open(t, newMemory(1<<20), Options{})
	const end = 1 << 20
	for _, x := range []struct {
		flags, command uint16
		offset         int64
		length         int
		status         uint32
	}{
		{0, nbdtest.Read, end, 512, errInval},
		{0, nbdtest.Read, end - 512, 1024, errInval},
		{0, nbdtest.Read, 1, 512, errInval},
		{0, nbdtest.Read, 0, 100, errInval},
		{0, nbdtest.Read, 0, 0, errInval},
		{0, nbdtest.Read, 0, MaxPayload + 512, errInval},
		{0, nbdtest.Read, -512, 512, errInval},
		{4, nbdtest.Read, 0, 512, errInval},
		{0, nbdtest.Trim, 0, 512, errInval}, // not offered
		{0, nbdtest.WriteZeroes, end - 512, 1024, errNoSpc},
		{0, nbdtest.WriteZeroes, 0, 1<<32 - 512, errNoSpc},
		{8, nbdtest.WriteZeroes, 0, 512, errInval},
		{0, 5, 0, 0, errInval}, // cache
		{0, 7, 0, 0, errInval}, // block status
		{0, 65535, 0, 1 << 30, errInval},
	} {
		do(t, c, x.status, x.flags, x.command, x.offset, x.length, nil)
	}
	do(t, c, errNoSpc, 0, nbdtest.Write, end, 0, make([]byte, 1024))
	do(t, c, errInval, 0, nbdtest.Write, 5, 0, make([]byte, 1024))
	do(t, c, errInval, 2, nbdtest.Write, 0, 0, make([]byte, 1024))
	do(t, c, 0, 0, nbdtest.Write, 0, 0, make([]byte, 1024)) // the connection still works
}

func TestTooLargeAWrite(t *testing.T) {
	_, c, ended := open(t, newMemory(1<<20), Options{})
	if err := c.Send(0, nbdtest.Write, 1, 0, MaxPayload+512, nil); err != nil {
		t.Fatal(err)
	}
	if err := <-ended; err == nil {
		t.Error("a client that announces 32 MiB and a sector stays connected")
	}
}

// Replies arrive when they are due, possibly out of order, and never early.
func TestOrderAndTime(t *testing.T) {
	d := newMemory(1 << 20)
	d.takes[flash.Write] = 60 * time.Millisecond
	d.takes[flash.Read] = 20 * time.Millisecond
	_, c, _ := open(t, d, Options{})
	begin := time.Now()
	for handle, command := range []uint16{nbdtest.Write, nbdtest.Read, nbdtest.Flush} {
		var data []byte
		if command == nbdtest.Write {
			data = make([]byte, 512)
		}
		if err := c.Send(0, command, uint64(handle), 0, 512, data); err != nil {
			t.Fatal(err)
		}
	}
	for _, want := range []struct {
		handle uint64
		after  time.Duration
	}{{2, 0}, {1, 20 * time.Millisecond}, {0, 60 * time.Millisecond}} {
		handle, status, err := c.Receive()
		if err != nil || status != 0 || handle != want.handle {
			t.Fatalf("reply to %d, want %d: status %d, %v", handle, want.handle, status, err)
		}
		if handle == 1 {
			if err := c.Data(make([]byte, 512)); err != nil {
				t.Fatal(err)
			}
		}
		if took := time.Since(begin); took < want.after {
			t.Errorf("request %d took %v, less than %v", handle, took, want.after)
		}
	}
}

// A reply that is due before the one being waited for is sent on time.
func TestEarlierReplyWakes(t *testing.T) {
	d := newMemory(1 << 20)
	d.takes[flash.Write] = time.Hour
	_, c, _ := open(t, d, Options{})
	if err := c.Send(0, nbdtest.Write, 1, 0, 512, make([]byte, 512)); err != nil {
		t.Fatal(err)
	}
	for range 50 {
		do(t, c, 0, 0, nbdtest.Flush, 0, 0, nil)
	}
}

func TestBrokenDevice(t *testing.T) {
	for _, x := range []struct {
		err  error
		want uint32
	}{{errBroken, errIO}, {flash.ErrRange, errInval}} {
		t.Run(x.err.Error(), func(t *testing.T) {
			d := newMemory(1 << 20)
			d.fails = x.err
			_, c, _ := open(t, d, Options{})
			for range 3 {
				do(t, c, x.want, 0, nbdtest.Read, 0, 0, make([]byte, 4096))
				do(t, c, x.want, 0, nbdtest.Write, 0, 0, make([]byte, 4096))
				do(t, c, x.want, 0, nbdtest.Flush, 0, 0, nil)
			}
		})
	}
}

// A device that never completes blocks only its client.
func TestHangingDevice(t *testing.T) {
	d := newMemory(1 << 20)
	d.hangs = true
	s, c, ended := open(t, d, Options{})
	for i := range 2 * maxFlying { // the rest waits in the socket
		if err := c.Send(0, nbdtest.Read, uint64(i), 0, 512, nil); err != nil {
			t.Fatal(err)
		}
	}
	for s.Stats().Reads < maxFlying {
		time.Sleep(time.Millisecond)
	}
	if got := s.Stats().Reads; got != maxFlying {
		t.Errorf("%d requests were accepted, want %d", got, maxFlying)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	if err := <-ended; !errors.Is(err, ErrClosed) {
		t.Errorf("error %v", err)
	}
	if got := s.Stats().Reads; got != maxFlying {
		t.Errorf("the closed server counts %d requests", got)
	}
	if loss := s.Cut(); loss != (flash.Loss{}) || s.Close() != nil {
		t.Errorf("the closed server lost %+v", loss)
	}
	if err := s.Serve(c.Conn); !errors.Is(err, ErrClosed) {
		t.Errorf("a closed server accepts a client: %v", err)
	}
}

// A client that vanishes with requests in flight leaves nothing behind.
func TestVanishingClient(t *testing.T) {
	d := newMemory(1 << 20)
	d.hangs = true
	_, c, ended := open(t, d, Options{})
	if err := c.Send(0, nbdtest.Read, 1, 0, 512, nil); err != nil {
		t.Fatal(err)
	}
	if err := c.Send(0, nbdtest.Write, 2, 0, 4096, make([]byte, 100)); err != nil { // and the rest never arrives
		t.Fatal(err)
	}
	_ = c.Conn.Close()
	if err := <-ended; err == nil {
		t.Error("it passes for a proper disconnect")
	}
}

// After a while the server disconnects a client that sends but does not read; until then it serves
// others.
func TestClientThatDoesNotRead(t *testing.T) {
	s, c, ended := open(t, newMemory(1<<20), Options{Stall: 300 * time.Millisecond})
	go func() {
		for c.Send(0, nbdtest.Read, 1, 0, 1<<20, nil) == nil {
		}
	}()
	for s.Stats().Reads < 10 { // more than a socket holds
		time.Sleep(time.Millisecond)
	}
	other, server, err := nbdtest.Pair()
	if err != nil {
		t.Fatal(err)
	}
	go func() { _ = s.Serve(server) }()
	second, err := nbdtest.Open(other)
	if err != nil {
		t.Fatal(err)
	}
	do(t, second, 0, 0, nbdtest.Write, 0, 0, make([]byte, 4096))
	if err := <-ended; err == nil {
		t.Error("a client that never reads gets no error")
	}
	do(t, second, 0, 0, nbdtest.Write, 0, 0, make([]byte, 4096))
	_ = other.Close()
}

// The server disconnects a client that stops in the middle of a write.
func TestHalfAWrite(t *testing.T) {
	_, c, ended := open(t, newMemory(1<<20), Options{Stall: 20 * time.Millisecond})
	time.Sleep(60 * time.Millisecond) // an idle client stays connected
	do(t, c, 0, 0, nbdtest.Flush, 0, 0, nil)
	if err := c.Send(0, nbdtest.Write, 1, 0, 4096, make([]byte, 100)); err != nil {
		t.Fatal(err)
	}
	if err := <-ended; err == nil {
		t.Error("half a write passes for a whole one")
	}
}

// A device that restarts loses what it buffered, but no client.
func TestRestart(t *testing.T) {
	d := newMemory(1 << 20)
	s, c, _ := open(t, d, Options{})
	do(t, c, 0, 0, nbdtest.Flush, 0, 0, nil)
	if loss := s.Restart(); loss.Buffered != 7 || d.cuts != 1 {
		t.Errorf("loss %+v, %d cuts", loss, d.cuts)
	}
	do(t, c, 0, 0, nbdtest.Flush, 0, 0, nil)
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	if loss := s.Restart(); loss != (flash.Loss{}) {
		t.Errorf("the closed server lost %+v", loss)
	}
}

// Requests in flight are not answered after a power cut.
func TestCut(t *testing.T) {
	d := newMemory(1 << 20)
	d.takes[flash.Write] = time.Hour
	s, c, ended := open(t, d, Options{})
	if err := c.Send(0, nbdtest.Write, 1, 0, 512, make([]byte, 512)); err != nil {
		t.Fatal(err)
	}
	for s.Stats().Writes == 0 {
		time.Sleep(time.Millisecond)
	}
	if loss := s.Cut(); loss.Buffered != 7 || d.cuts != 1 {
		t.Errorf("loss %+v, %d cuts", loss, d.cuts)
	}
	if _, _, err := c.Receive(); err == nil {
		t.Error("a device without power replied")
	}
	<-ended
	again, server, err := nbdtest.Pair()
	if err != nil {
		t.Fatal(err)
	}
	go func() { _ = s.Serve(server) }()
	if _, err := nbdtest.Open(again); err != nil {
		t.Errorf("the device does not come back: %v", err)
	}
	_ = again.Close()
}

// options sends options after a proper greeting and collects the kinds of the
// replies until the server hangs up or accepts requests.
func options(t *testing.T, sent ...[]byte) []uint32 {
	t.Helper()
	_, conn, _ := serve(t, newMemory(1<<20), Options{})
	out := binary.BigEndian.AppendUint32(nil, 3)
	for _, o := range sent {
		out = append(out, o...)
	}
	out = append(out, nbdtest.Option(optAbort, nil)...)
	if _, err := conn.Write(out); err != nil {
		t.Fatal(err)
	}
	said, err := io.ReadAll(conn)
	if err != nil {
		t.Fatal(err)
	}
	var kinds []uint32
	for said = said[18:]; len(said) >= 20; {
		kinds = append(kinds, binary.BigEndian.Uint32(said[12:]))
		said = said[20+binary.BigEndian.Uint32(said[16:]):]
	}
	return kinds
}

func TestOptions(t *testing.T) {
	info := func(name string, items ...uint16) []byte {
		data := binary.BigEndian.AppendUint32(nil, uint32(len(name)))
		data = binary.BigEndian.AppendUint16(append(data, name...), uint16(len(items)))
		for _, n := range items {
			data = binary.BigEndian.AppendUint16(data, n)
		}
		return data
	}
	for name, x := range map[string]struct {
		sent []byte
		want []uint32
	}{
		"list":             {nbdtest.Option(optList, nil), []uint32{repServer, repAck}},
		"list with data":   {nbdtest.Option(optList, []byte{1}), []uint32{repErrInvalid}},
		"info":             {nbdtest.Option(optInfo, info("", 3, 0)), []uint32{repInfo, repInfo, repAck}},
		"unknown export":   {nbdtest.Option(optInfo, info("disk")), []uint32{repErrUnknown}},
		"info too short":   {nbdtest.Option(optInfo, []byte{0, 0, 0}), []uint32{repErrInvalid}},
		"name too long":    {nbdtest.Option(optGo, []byte{255, 255, 255, 255, 0, 0}), []uint32{repErrInvalid}},
		"items missing":    {nbdtest.Option(optGo, []byte{0, 0, 0, 0, 0, 9}), []uint32{repErrInvalid}},
		"structured reply": {nbdtest.Option(8, nil), []uint32{repErrUnsup}},
		"TLS":              {nbdtest.Option(5, nil), []uint32{repErrUnsup}},
		"unknown":          {nbdtest.Option(12345, []byte("what")), []uint32{repErrUnsup}},
		"long":             {nbdtest.Option(8, make([]byte, maxOption+1)), []uint32{repErrTooBig}},
		"two":              {append(nbdtest.Option(8, nil), nbdtest.Option(9, nil)...), []uint32{repErrUnsup, repErrUnsup}},
	} {
		t.Run(name, func(t *testing.T) {
			got := options(t, x.sent)
			if want := append(x.want, repAck); len(got) != len(want) {
				t.Errorf("answers %#x, want %#x", got, want)
			} else {
				for i := range want {
					if got[i] != want[i] {
						t.Errorf("answers %#x, want %#x", got, want)
					}
				}
			}
		})
	}
}

// The old way to select the export.
func TestExportName(t *testing.T) {
	for flags, length := range map[uint32]int{1: 10 + 124, 3: 10} {
		_, conn, ended := serve(t, newMemory(1<<20), Options{})
		out := append(binary.BigEndian.AppendUint32(nil, flags), nbdtest.Option(optExportName, nil)...)
		out = append(out, nbdtest.Request(0, nbdtest.Disconnect, 0, 0, 0)...)
		if _, err := conn.Write(out); err != nil {
			t.Fatal(err)
		}
		said, err := io.ReadAll(conn)
		if err != nil || len(said) != 18+length || binary.BigEndian.Uint64(said[18:]) != 1<<20 {
			t.Errorf("flags %d: %d bytes, %v", flags, len(said), err)
		}
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}
}

// Handshakes that the server ends.
func TestBadHandshakes(t *testing.T) {
	greeting := []byte{0, 0, 0, 3}
	for name, sent := range map[string][]byte{
		"nothing":        {},
		"unknown flags":  {0, 0, 1, 3},
		"garbage":        []byte("GET / HTTP/1.1\r\nHost: localhost\r\n\r\n"),
		"huge option":    append(greeting, "IHAVEOPT\x00\x00\x00\x08\xff\xff\xff\xff"...),
		"unknown export": append(greeting, nbdtest.Option(optExportName, []byte("x"))...),
		"endless":        append(greeting, bytes.Repeat(nbdtest.Option(8, nil), maxOptions)...),
		"half an option": append(greeting, "IHAVEOPT\x00"...),
	} {
		t.Run(name, func(t *testing.T) {
			_, conn, ended := serve(t, newMemory(1<<20), Options{Handshake: 50 * time.Millisecond})
			go func() { _, _ = io.Copy(io.Discard, conn) }()
			if _, err := conn.Write(sent); err != nil {
				t.Fatal(err)
			}
			if err := <-ended; err == nil {
				t.Error("the server accepts it as a handshake")
			}
		})
	}
}
