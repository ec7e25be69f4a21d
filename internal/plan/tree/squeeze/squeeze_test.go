package squeeze

import (
	"bytes"
	"math/rand/v2"
	"strings"
	"testing"
)

func meter(t testing.TB) *Meter {
	t.Helper()
	m, err := New()
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func noise(n int) []byte {
	r := rand.New(rand.NewPCG(1, 2))
	p := make([]byte, n)
	for i := range p {
		p[i] = byte(r.Uint32())
	}
	return p
}

// letters are uniform over 63 values: six bits each.
func letters(n int) []byte {
	p := noise(n)
	for i := range p {
		p[i] = 'A' + p[i]%63
	}
	return p
}

func use(t *testing.T, p []byte) Uses {
	t.Helper()
	var u Uses
	if err := meter(t).File(&u, bytes.NewReader(p), int64(len(p)), nil); err != nil {
		t.Fatal(err)
	}
	return u
}

// Lengths of LZO1X streams, counted by hand from the instruction set.
func TestLZO(t *testing.T) {
	for name, c := range map[string]struct {
		p    []byte
		want int
	}{
		"nothing":         {nil, 3},
		"one byte":        {[]byte("x"), 5},                              // run 1+1, mark 3
		"eighteen":        {noise(18), 22},                               // 1+18+3
		"nineteen":        {noise(19), 24},                               // 2+19+3
		"noise of a page": {noise(4096), 4096 + 17 + 3},                  // 1+16 bytes for 4078 more
		"zeros of a page": {make([]byte, 4096), 5 + 3 + 16 + 2 + 20 + 3}, // four literals, a long match, twenty at the end
		// A run of 24, those again in three bytes, and the last twenty.
		"twice": {append(append(noise(24), noise(24)...), make([]byte, 20)...), 26 + 3 + 22 + 3},
	} {
		var z lzo
		if got := z.size(c.p); got != c.want {
			t.Errorf("%s: %d, want %d", name, got, c.want)
		}
	}
}

func TestFileOfEachKind(t *testing.T) {
	text := []byte(strings.Repeat("a line of text that is like the others\n", 100))[:3000]
	big := bytes.Repeat(text, 100)
	for name, c := range map[string]struct {
		p               []byte
		inline, regular int
		plain           int64
		least, most     float64 // ratio with zlib
	}{
		"empty":      {nil, 0, 0, 0, 0, 0},
		"tiny noise": {noise(100), 1, 0, 100, 1, 1},
		"small text": {text, 1, 0, 0, 0.01, 0.1},
		// It shrinks, but not enough for the metadata.
		"small letters":    {letters(3500), 0, 1, 4096, 1, 1},
		"a page of noise":  {noise(4096), 0, 1, 4096, 1, 1},
		"noise":            {noise(300_000), 0, 3, 303104, 1, 1},
		"text":             {big, 0, 3, 0, 0.02, 0.05}, // at least a sector per block
		"nothing is saved": {append(noise(4500), text[:1000]...), 0, 1, 8192, 1, 1},
		"text after noise": {append(noise(Block), big...), 0, 4, 434176, 1, 1}, // in one worker's part
		"noise first":      {append(noise(4*Block), big...), 0, 7, 827392, 1, 1},
		"another worker's": {append(append(append([]byte(nil), big[:Block]...), noise(3*Block)...), big...), 0, 7, 3 * Block, 0.45, 0.55}, // not tried, but not given up
	} {
		u := use(t, c.p)[Zlib]
		if u.Inline != c.inline || u.Regular != c.regular || u.Plain != c.plain || u.Ratio() < c.least || u.Ratio() > c.most {
			t.Errorf("%s: %+v, ratio %.3f", name, u, u.Ratio())
		}
	}
}

// A block that looks promising but does not shrink makes Btrfs give up on the
// file; one that looks bad is only skipped.
func TestGivesUp(t *testing.T) {
	// Half of the letters, uniformly: the heuristic sees few different
	// bytes.
	even := letters(Block)
	text := []byte(strings.Repeat("a line of text that is like the others\n", 20_000))[:4*Block]
	u := use(t, append(even, text...))
	if !Promising(even) || u[LZO].Plain != 5*Block {
		t.Errorf("lzo leaves %d of %d uncompressed; promising: %v", u[LZO].Plain, 5*Block, Promising(even))
	}
	if u[Zlib].Plain != 0 {
		t.Errorf("zlib leaves %d uncompressed", u[Zlib].Plain)
	}
}

func TestPromising(t *testing.T) {
	twice := bytes.Repeat(noise(256), 512)
	// Low entropy, but nine tenths of the sample consist of more than 200
	// values: six zeros, then ten of 255 others in rotation.
	many := make([]byte, Block)
	for i := range many {
		if part := i % sampleStep; part >= 6 && part < sampleSize {
			many[i] = byte(1 + (i/sampleStep*10+part)%255)
		}
	}
	for name, c := range map[string]struct {
		p    []byte
		want bool
	}{
		"many kinds": {many, false},
		"nothing":    {nil, true}, "noise": {noise(Block), false}, "zeros": {make([]byte, Block), true},
		"the same again": {twice, true}, "short noise": {noise(500), true},
	} {
		if got := Promising(c.p); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

func TestBlockRefuses(t *testing.T) {
	m := meter(t)
	for _, n := range []int{0, Block + 1} {
		if _, err := m.Block(make([]byte, n)); err == nil {
			t.Errorf("%d bytes: no error", n)
		}
	}
	var u Uses
	if err := m.File(&u, strings.NewReader("short"), 10, nil); err == nil {
		t.Error("a file that is shorter than stated: no error")
	}
}

// Any input has a length with every algorithm, and never much more than its
// original.
func FuzzBlock(f *testing.F) {
	f.Add([]byte("abcabcabcabcabcabcabcabcabcabc"))
	f.Add(make([]byte, 5000))
	f.Add(noise(4097))
	m := meter(f)
	f.Fuzz(func(t *testing.T, p []byte) {
		if len(p) == 0 || len(p) > Block {
			return
		}
		s, err := m.Block(p)
		if err != nil {
			t.Fatal(err)
		}
		for a, n := range s {
			if n < 4 || n > int64(len(p)+len(p)/100+64) {
				t.Errorf("%v: %d bytes of %d", Algorithm(a), n, len(p))
			}
		}
		Promising(p)
	})
}
