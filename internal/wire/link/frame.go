package link

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"hash/crc32"
)

// A frame is printable text: begins, base64, ends. Neither end is in base64's alphabet, so a reader
// finds the next frame after any damage, and no control character can reach a terminal or a modem.
const (
	begins = '~'
	ends   = '.'
)

// kind of a frame.
type kind byte

const (
	// data has bytes of the stream, and last an empty piece after the last one.
	data kind = iota + 1
	last
	// ack says which frames have arrived. It is also the sign of life.
	ack
)

// frame is one message between the two ends.
type frame struct {
	kind kind
	// number is that of the frame; of an ack, the newest that has arrived.
	number uint16
	// offset in the stream of the first byte, modulo 2^24.
	offset uint32
	body   []byte
	// before has a bit for each frame before number that has arrived, the nearest lowest; of an ack.
	before uint64
	// any: some frame has arrived; of an ack.
	any bool
	// over: this end was closed, and knows that all has arrived both ways; of an ack.
	over bool
}

const (
	dataHead = 1 + 2 + 3
	ackSize  = 1 + 2 + 8 + 1
	sumSize  = 4
	// mostBody is the longest piece of the stream in a frame, in bytes.
	mostBody = 360
	// leastBody is what a piece shrinks to on the worst line.
	leastBody = 24
)

var longestText = base64.RawStdEncoding.EncodedLen(dataHead + mostBody + sumSize)

// overhead is what a frame has besides its piece of the stream, in characters of the line.
const overhead = 2 + (dataHead+sumSize)*4/3

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// sum is the checksum. It covers the key of the session, which need not be sent therefore: frames of
// another session are damaged ones.
func sum(key string, b []byte) uint32 {
	return crc32.Update(crc32.Checksum([]byte(key), castagnoli), castagnoli, b)
}

// appendTo appends the text of the frame.
func (f frame) appendTo(out []byte, key string) []byte {
	b := make([]byte, 0, dataHead+len(f.body)+ackSize+sumSize)
	b = append(b, byte(f.kind))
	b = binary.BigEndian.AppendUint16(b, f.number)
	if f.kind == ack {
		b = binary.BigEndian.AppendUint64(b, f.before)
		b = append(b, flag(f.any)|flag(f.over)<<1)
	} else {
		b = append(b, byte(f.offset>>16), byte(f.offset>>8), byte(f.offset))
		b = append(b, f.body...)
	}
	b = binary.BigEndian.AppendUint32(b, sum(key, b))
	out = append(out, begins)
	out = base64.RawStdEncoding.AppendEncode(out, b)
	return append(out, ends)
}

func flag(is bool) byte {
	if is {
		return 1
	}
	return 0
}

// decode reads the text between begins and ends.
func decode(text []byte, key string) (frame, bool) {
	b, err := base64.RawStdEncoding.AppendDecode(nil, text)
	if err != nil || len(b) < dataHead+sumSize {
		return frame{}, false
	}
	b, tail := b[:len(b)-sumSize], b[len(b)-sumSize:]
	if binary.BigEndian.Uint32(tail) != sum(key, b) {
		return frame{}, false
	}
	f := frame{kind: kind(b[0]), number: binary.BigEndian.Uint16(b[1:])}
	switch {
	case f.kind == ack && len(b) == ackSize && b[11] < 4:
		f.before, f.any, f.over = binary.BigEndian.Uint64(b[3:]), b[11]&1 != 0, b[11]&2 != 0
	case f.kind == data && len(b) > dataHead, f.kind == last && len(b) == dataHead:
		f.offset, f.body = uint32(b[3])<<16|uint32(b[4])<<8|uint32(b[5]), b[dataHead:]
	default:
		return frame{}, false
	}
	return f, true
}

// splitter separates frames from what else is on the line.
type splitter struct {
	key    string
	inside bool
	torn   bool // a frame broke off: its rest may follow
	// damaged counts frames that broke off, or whose checksum is wrong.
	damaged int
	text    []byte
	line    []byte
	frame   func(frame)
	said    func(line string)
}

// longestLine is what is kept of a line that is no frame, in bytes.
const longestLine = 1024

// longestWord is a longer run of letters than any in a kernel's messages.
const longestWord = 24

func alphabet(c byte) bool {
	return 'A' <= c && c <= 'Z' || 'a' <= c && c <= 'z' || '0' <= c && c <= '9' || c == '+' || c == '/'
}

func (s *splitter) feed(p []byte) {
	for _, c := range p {
		if s.inside {
			switch {
			case alphabet(c) && len(s.text) < longestText:
				s.text = append(s.text, c)
				continue
			case c == ends:
				s.inside = false
				if f, ok := decode(s.text, s.key); ok {
					s.trim()
					s.torn = false
					s.frame(f)
				} else {
					s.damaged++
				}
				continue
			}
			s.trim()
			s.inside, s.torn = false, true
			s.damaged++
		}
		switch {
		case c == begins:
			s.inside, s.text = true, s.text[:0]
		case c == '\n':
			s.endLine()
		case c != '\r' && len(s.line) < longestLine:
			s.line = append(s.line, c)
		}
	}
}

// trim removes the rest of a torn frame from the beginning of the line.
func (s *splitter) trim() {
	if !s.torn {
		return
	}
	rest := bytes.TrimLeftFunc(s.line, func(r rune) bool { return r < 0x80 && alphabet(byte(r)) })
	if cut, ok := bytes.CutPrefix(rest, []byte{ends}); ok {
		s.line, s.torn = append(s.line[:0], cut...), false
	} else if bytes.HasPrefix(rest, []byte{'['}) || len(s.line)-len(rest) > longestWord {
		s.line = append(s.line[:0], rest...) // it was torn once more
	}
}

func (s *splitter) endLine() {
	s.trim()
	if len(s.line) > 0 {
		s.said(string(s.line))
	}
	s.line = s.line[:0]
}
