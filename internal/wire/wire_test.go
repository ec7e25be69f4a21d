package wire

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/iotest"

	"whichfs/internal/result"
)

func encode(t testing.TB, m Message) []byte {
	t.Helper()
	line, err := Encode(m)
	if err != nil {
		t.Fatal(err)
	}
	return line
}

func TestRoundTrip(t *testing.T) {
	var stream bytes.Buffer
	out := New(nil, &stream, nil)
	sent := Figures{
		Phase:        "write",
		Measurements: []result.Measurement{{Phase: "write", Metric: result.Wall, Value: 0.1, Unit: "s"}, {Metric: result.DeviceRead, Unit: "B", Absent: "no\ncounter @wfs 3"}},
		Notes:        []result.Note{{Level: result.Warning, Text: "grün, \x7f and \u2028"}},
	}
	if err := out.Send(KindFigures, 1<<63, sent); err != nil {
		t.Fatal(err)
	}
	if err := out.Send(KindBye, 2, nil); err != nil {
		t.Fatal(err)
	}
	in := New(&stream, nil, func(line string) { t.Errorf("noise %q", line) })
	m, err := in.Receive()
	if err != nil || m.Kind != KindFigures || m.ID != 1<<63 {
		t.Fatalf("%+v, %v", m, err)
	}
	var got Figures
	if err := m.Decode(&got); err != nil {
		t.Fatal(err)
	}
	if fmt.Sprint(got) != fmt.Sprint(sent) {
		t.Errorf("got %+v, want %+v", got, sent)
	}
	if m, err := in.Receive(); err != nil || m.Kind != KindBye || m.Body != nil {
		t.Errorf("%+v, %v", m, err)
	}
	if _, err := in.Receive(); err != io.EOF {
		t.Errorf("at the end: %v, want io.EOF itself", err)
	}
}

// The format is a contract with agents of other versions and with whoever
// reads a log: it does not change unnoticed.
func TestFormat(t *testing.T) {
	got := encode(t, Message{Kind: KindHello, ID: 1})
	if want := "@wfs 23 bf52e0cf {\"kind\":\"hello\",\"id\":1}\n"; string(got) != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestNoise(t *testing.T) {
	hello, bye := encode(t, Message{Kind: KindHello, ID: 1}), encode(t, Message{Kind: KindBye, ID: 2})
	var stream bytes.Buffer
	stream.WriteString("[    0.000000] Linux version 6.1\r\n\r\n")
	stream.WriteString("login: ")                                          // no newline before ours
	stream.Write(append(bytes.TrimSuffix(hello, []byte("\n")), "\r\n"...)) // a terminal's line end
	stream.WriteString(strings.Repeat("x", 200<<10) + "\n@wfsx\n")
	stream.Write(bye)
	stream.WriteString("Kernel panic")
	var noise []string
	in := New(iotest.OneByteReader(&stream), nil, func(line string) { noise = append(noise, line) })
	for _, want := range []string{KindHello, KindBye} {
		if m, err := in.Receive(); err != nil || m.Kind != want {
			t.Fatalf("%+v, %v, want %s", m, err, want)
		}
	}
	if _, err := in.Receive(); err != io.EOF {
		t.Errorf("at the end: %v", err)
	}
	want := []string{"[    0.000000] Linux version 6.1", "", "login: ", strings.Repeat("x", 200<<10), "@wfsx", "Kernel panic"}
	if !slices.Equal(noise, want) {
		t.Errorf("noise %.200q", noise)
	}
}

func TestEveryFlippedBitIsFound(t *testing.T) {
	line := encode(t, Message{Kind: KindDone, ID: 7, Body: []byte(`{"outcome":"done"}`)})
	for i := range len(line) * 8 {
		bad := bytes.Clone(line)
		bad[i/8] ^= 1 << (i % 8)
		m, err := New(bytes.NewReader(bad), nil, nil).Receive()
		if err == nil && !harmless(line, bad) {
			t.Errorf("bit %d: %q passes as %+v", i, bad, m)
		}
	}
}

// harmless: a checksum in capital letters says the same, and so do the bytes
// at a line's end.
func harmless(a, b []byte) bool {
	return strings.EqualFold(string(bytes.TrimRight(a, "\r\n")), string(bytes.TrimRight(b, "\r\n"))) &&
		bytes.Equal(a[bytes.IndexByte(a, '{'):len(a)-1], b[bytes.IndexByte(b, '{'):len(b)-1])
}

func TestEveryTruncationIsFound(t *testing.T) {
	line := encode(t, Message{Kind: KindDone, ID: 7})
	for n := len(mark); n < len(line); n++ {
		_, err := New(bytes.NewReader(line[:n]), nil, nil).Receive()
		if !errors.Is(err, ErrCorrupt) {
			t.Errorf("%q: %v, want ErrCorrupt", line[:n], err)
		}
	}
}

func TestBrokenStream(t *testing.T) {
	line := encode(t, Message{Kind: KindDone, ID: 7})
	no := errors.New("no")
	in := New(io.MultiReader(bytes.NewReader(line), iotest.ErrReader(no)), nil, nil)
	if _, err := in.Receive(); err != nil {
		t.Fatal(err)
	}
	if _, err := in.Receive(); !errors.Is(err, no) {
		t.Errorf("error %v, want the stream's own", err)
	}
}

func TestOversize(t *testing.T) {
	big := Message{Kind: KindDone, Body: []byte(`"` + strings.Repeat("x", MaxMessage) + `"`)}
	if _, err := Encode(big); err == nil {
		t.Error("a message above the limit is written")
	}
	for name, line := range map[string]string{
		"length":  fmt.Sprintf("@wfs %d 00000000 {}\n", MaxMessage+1),
		"minus":   "@wfs -1 00000000 {}\n",
		"no kind": string(encode(t, Message{ID: 1})),
	} {
		if _, err := Decode([]byte(line)); !errors.Is(err, ErrCorrupt) {
			t.Errorf("%s: %v", name, err)
		}
	}
	// A line without an end must not fill the memory.
	endless := New(endlessReader{}, nil, nil)
	if _, err := endless.Receive(); !errors.Is(err, ErrCorrupt) {
		t.Errorf("endless line: %v", err)
	}
}

type endlessReader struct{}

func (endlessReader) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = 'x'
	}
	return len(p), nil
}

func TestUnencodable(t *testing.T) {
	if err := New(nil, io.Discard, nil).Send(KindDone, 1, func() {}); err == nil {
		t.Error("a function was sent")
	}
}

// Senders do not mix their lines.
func TestConcurrentSenders(t *testing.T) {
	r, w := io.Pipe()
	out, in := New(nil, w, nil), New(r, nil, func(line string) { t.Errorf("noise %q", line) })
	var all sync.WaitGroup
	for id := range uint64(8) {
		all.Add(1)
		go func() {
			defer all.Done()
			for range 50 {
				if err := out.Send(KindPhase, id, PhaseBegun{Phase: strings.Repeat("p", int(id)*100)}); err != nil {
					t.Error(err)
				}
			}
		}()
	}
	go func() { all.Wait(); _ = w.Close() }()
	n := 0
	for ; ; n++ {
		if _, err := in.Receive(); err != nil {
			if err != io.EOF {
				t.Error(err)
			}
			break
		}
	}
	if n != 400 {
		t.Errorf("%d messages, want 400", n)
	}
}

func FuzzDecode(f *testing.F) {
	f.Add(encode(f, Message{Kind: KindHello, ID: 1}))
	f.Add(encode(f, Message{Kind: KindDone, ID: 1 << 63, Body: []byte(`{"outcome":"done","reason":" x\r\n"}`)}))
	f.Add([]byte("@wfs 2 00000000 {}\r\n"))
	f.Add([]byte("@wfs 99999999999999999999 00000000 "))
	f.Fuzz(func(t *testing.T, line []byte) {
		m, err := Decode(line)
		if err != nil {
			if !errors.Is(err, ErrCorrupt) {
				t.Errorf("error %v is not ErrCorrupt", err)
			}
			return
		}
		again, err := Decode(encode(t, m))
		if err != nil || again.Kind != m.Kind || again.ID != m.ID {
			t.Errorf("%+v became %+v, %v", m, again, err)
		}
	})
}

// Between lines of anything, messages come through whole, in order, once.
func FuzzStream(f *testing.F) {
	f.Add([]byte("kernel: hello\n"), []byte("\r\n"), "phase", []byte(`{"phase":"write"}`))
	f.Add([]byte("\xff\x00"), []byte("\n\n\n@"), "done", []byte(`null`))
	f.Fuzz(func(t *testing.T, before, between []byte, kind string, body []byte) {
		if bytes.Contains(before, []byte(mark)) || bytes.Contains(between, []byte(mark)) || kind == "" {
			return
		}
		line, err := Encode(Message{Kind: kind, ID: 3, Body: body})
		if err != nil {
			return // the body is no JSON
		}
		want, err := Decode(line)
		if err != nil {
			t.Fatal(err)
		}
		stream := slices.Concat(before, []byte("\n"), line, between, []byte("\n"), line)
		in := New(iotest.HalfReader(bytes.NewReader(stream)), nil, nil)
		for range 2 {
			m, err := in.Receive()
			if err != nil || m.Kind != want.Kind || m.ID != 3 || !bytes.Equal(m.Body, want.Body) {
				t.Fatalf("%+v, %v, want %+v", m, err, want)
			}
		}
		if _, err := in.Receive(); err != io.EOF {
			t.Errorf("at the end: %v", err)
		}
	})
}
