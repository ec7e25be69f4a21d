package flash

// chunkSize is the allocation unit of sparse, in bytes: large enough to keep
// the table of chunks small for a device of terabytes, small enough that a
// filesystem's scattered metadata does not fill the memory.
const chunkSize = 64 << 10

// sparse is the contents of a device. Only written chunks take memory;
// everything else reads as zeros. Reading and writing an existing chunk
// allocates nothing.
type sparse struct {
	chunks  []*contents
	backing *backing
}

func newSparse(size int64) sparse {
	return sparse{make([]*contents, (size+chunkSize-1)/chunkSize), newBacking(chunkSize, size)}
}

// pieces calls f for the part of each chunk that a range touches: bytes from
// to to of chunk c, which start at offset at of the range.
func pieces(off, n int64, f func(c, from, to, at int64)) {
	for at := int64(0); at < n; {
		c, from := (off+at)/chunkSize, (off+at)%chunkSize
		to := min(chunkSize, from+n-at)
		f(c, from, to, at)
		at += to - from
	}
}

func (s *sparse) read(off int64, p []byte) {
	pieces(off, int64(len(p)), func(c, from, to, at int64) {
		if chunk := s.chunks[c]; chunk != nil {
			copy(p[at:], chunk.Data[from:to])
		} else {
			clear(p[at : at+to-from])
		}
	})
}

func (s *sparse) write(off int64, p []byte) {
	pieces(off, int64(len(p)), func(c, from, to, at int64) {
		if s.chunks[c] == nil {
			s.chunks[c] = s.backing.make()
		}
		copy(s.chunks[c].Data[from:to], p[at:])
	})
}

// zero makes a range read as zeros and frees whole chunks.
func (s *sparse) zero(off, n int64) {
	pieces(off, n, func(c, from, to, _ int64) {
		switch {
		case to-from == chunkSize:
			s.chunks[c] = nil
		case s.chunks[c] != nil:
			clear(s.chunks[c].Data[from:to])
		}
	})
}

// set writes p, or zeros if p is nil.
func (s *sparse) set(off, n int64, p []byte) {
	if p == nil {
		s.zero(off, n)
		return
	}
	s.write(off, p)
}

// get returns a copy of a range; nil if no part of it was ever written.
func (s *sparse) get(off, n int64) []byte {
	held := false
	pieces(off, n, func(c, _, _, _ int64) { held = held || s.chunks[c] != nil })
	if !held {
		return nil
	}
	p := make([]byte, n)
	s.read(off, p)
	return p
}
