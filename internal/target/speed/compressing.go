package speed

import (
	"encoding/binary"
	"math/bits"
)

// A packer compresses as deflate does: matches found through chains of earlier places with the same
// hash, and literals, lengths and distances packed in prefix codes of 7 to 9 bits.
type packer struct {
	text   []byte
	head   [1 << hashBits]int32  // the last place with a hash
	before [packed]int32         // the place before with the same hash
	codes  [288]uint16           // with their first bit lowest
	sizes  [288]uint8            // of codes, in bits
	decode [1 << longest]decoded // by the next bits
	out    [2 * packed]byte
	back   [packed]byte
}

const (
	packed   = 4 << 10 // bytes that a run compresses
	texts    = 32      // as many different ones
	hashBits = 12
	chain    = 8 // places that are compared
	shortest = 4 // match, in bytes
	longest  = 9 // code, in bits
	lengths  = 256
)

type decoded struct {
	symbol uint16
	size   uint8
}

func newCompressing() func(seed uint32) uint32 {
	p := newPacker()
	return func(seed uint32) uint32 {
		at := int(seed%texts) * packed
		n := p.pack(p.text[at : at+packed])
		return uint32(n) + uint32(p.unpack(n))
	}
}

func newPacker() *packer {
	p := &packer{text: textLike(packed * texts)}
	for s := range p.codes {
		// The fixed codes of RFC 1951, 3.2.6.
		code, size := 0x30+s, 8
		switch {
		case s >= 280:
			code = 0xc0 + s - 280
		case s >= 256:
			code, size = s-256, 7
		case s >= 144:
			code, size = 0x190+s-144, 9
		}
		p.codes[s], p.sizes[s] = bits.Reverse16(uint16(code))>>(16-size), uint8(size)
		for rest := 0; rest < 1<<(longest-size); rest++ {
			p.decode[int(p.codes[s])|rest<<size] = decoded{uint16(s), uint8(size)}
		}
	}
	return p
}

// textLike returns words of 2 to 9 letters, few of them often and many seldom.
func textLike(size int) []byte {
	r := newRandom(7)
	var words [256][]byte
	for i := range words {
		for range 2 + r.next()>>8%8 {
			words[i] = append(words[i], "etaoinshrdlucmfwypvbgkqjxz"[r.next()>>8%26*(r.next()>>8%26)/26])
		}
	}
	text := make([]byte, 0, size+16)
	for len(text) < size {
		text = append(append(text, words[r.next()>>8%256*(r.next()>>8%256)/256]...), " \n,.    "[r.next()>>8%8])
	}
	return text[:size]
}

// pack returns the number of bytes of out.
func (p *packer) pack(in []byte) int {
	w := writer{out: p.out[:]}
	for i := range p.head {
		p.head[i] = -1
	}
	for i := 0; i < len(in); {
		length, distance := p.match(in, i)
		if length < shortest {
			w.put(uint(p.codes[in[i]]), uint(p.sizes[in[i]]))
			p.enter(in, i)
			i++
			continue
		}
		class := uint(bits.Len(uint(length - shortest)))
		w.put(uint(p.codes[lengths+class]), uint(p.sizes[lengths+class]))
		w.putBelow(uint(length-shortest), class)
		class = uint(bits.Len(uint(distance)))
		w.put(class, 4)
		w.putBelow(uint(distance), class)
		for end := i + length; i < end; i++ {
			p.enter(in, i)
		}
	}
	w.put(0, 16)
	return w.n
}

func (p *packer) enter(in []byte, i int) {
	if i+4 > len(in) {
		return
	}
	h := hash4(in[i:])
	p.before[i] = p.head[h]
	p.head[h] = int32(i)
}

func hash4(in []byte) uint32 {
	return binary.LittleEndian.Uint32(in) * 2654435761 >> (32 - hashBits)
}

// match returns the longest of the matches that are tried.
func (p *packer) match(in []byte, i int) (length, distance int) {
	if i+4 > len(in) {
		return 0, 0
	}
	most := min(len(in)-i, 255+shortest)
	at := p.head[hash4(in[i:])]
	for tries := 0; at >= 0 && tries < chain; tries++ {
		n := 0
		for n < most && in[int(at)+n] == in[i+n] {
			n++
		}
		if n > length {
			length, distance = n, i-int(at)
			if n == most {
				break
			}
		}
		at = p.before[at]
	}
	return length, distance
}

// unpack returns the number of bytes of back.
func (p *packer) unpack(n int) int {
	r := reader{in: p.out[:n]}
	i := 0
	for i < len(p.back) {
		r.fill()
		d := p.decode[r.bits%(1<<longest)]
		r.drop(uint(d.size))
		if d.symbol < lengths {
			p.back[i] = byte(d.symbol)
			i++
			continue
		}
		length := int(r.takeBelow(uint(d.symbol)-lengths)) + shortest
		r.fill()
		class := r.bits % 16
		r.drop(4)
		distance := int(r.takeBelow(class))
		from := i - distance
		if from < 0 || i+length > len(p.back) {
			return i
		}
		for k := range length {
			p.back[i+k] = p.back[from+k]
		}
		i += length
	}
	return i
}

// writer collects bits in a word of the machine, lowest first.
type writer struct {
	out       []byte
	n         int
	bits, len uint
}

// put adds up to 16 bits.
func (w *writer) put(b, size uint) {
	w.bits |= b << w.len
	w.len += size
	for w.len >= 8 {
		w.out[w.n] = byte(w.bits)
		w.n++
		w.bits >>= 8
		w.len -= 8
	}
}

// putBelow adds the bits of a number of class bits below its highest one.
func (w *writer) putBelow(number, class uint) {
	if class > 1 {
		w.put(number&(1<<(class-1)-1), class-1)
	}
}

type reader struct {
	in        []byte
	n         int
	bits, len uint
}

// fill makes that there are 24 bits, as long as there are any.
func (r *reader) fill() {
	for r.len <= 24 && r.n < len(r.in) {
		r.bits |= uint(r.in[r.n]) << r.len
		r.n++
		r.len += 8
	}
}

func (r *reader) drop(size uint) {
	r.bits >>= size
	r.len -= size
}

func (r *reader) takeBelow(class uint) uint {
	if class < 2 {
		return class
	}
	number := uint(1)<<(class-1) | r.bits&(1<<(class-1)-1)
	r.drop(class - 1)
	return number
}
