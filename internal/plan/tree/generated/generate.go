package generated

import (
	"archive/tar"
	"context"
	"fmt"
	"io"
	"math/bits"
	"path"
	"slices"

	"whichfs/internal/plan/tree"
	"whichfs/internal/plan/tree/squeeze"
	"whichfs/internal/plan/tree/texture"
)

// Limits of generated trees, in bytes.
const (
	leastGenerated = 64 << 10
	mostGenerated  = 64 << 30
)

// Write writes the canonical archive of a tree like the profile's, with about Size bytes in its files (slightly more or
// less if there are only small ones). The same tree is the same archive on every machine. Contents are generated while
// they are written; only names are held in memory.
func (t Tree) Write(ctx context.Context, w io.Writer) (tree.Info, error) {
	p := t.Profile
	if t.Size < leastGenerated || t.Size > mostGenerated {
		return tree.Info{}, fmt.Errorf("a tree of %d bytes: the size must be between %d and %d", t.Size, int64(leastGenerated), int64(mostGenerated))
	}
	if err := p.check(); err != nil {
		return tree.Info{}, fmt.Errorf("profile %s: %w", p.Name, err)
	}
	c := texture.Source(mixed(t.Seed, 0))
	s := newSketch(&c, p, t.Size)
	for _, name := range slices.Concat(s.dirs, s.files) {
		if len(name) > tree.MaxPath {
			return tree.Info{}, fmt.Errorf("profile %s: its directories are too deep for their names: a path of %d bytes, %d are allowed", p.Name, len(name), tree.MaxPath)
		}
	}
	s.lengths(t.Size)
	g := &generator{p: p, seed: t.Seed, sketch: s, lots: s.lots()}
	return tree.Write(ctx, w, g.entries(), nil)
}

// mixed combines two numbers into one.
func mixed(a, b uint64) uint64 {
	hi, lo := bits.Mul64(a^0xa0761d6478bd642f, b^0xe7037ed1a0b428db)
	return hi ^ lo
}

// scaled is n times a by b, rounded to nearest.
func scaled(n, a, b int64) int64 {
	hi, lo := bits.Mul64(uint64(n), uint64(a))
	lo, carry := bits.Add64(lo, uint64(b)/2, 0)
	q, _ := bits.Div64(hi+carry, lo, uint64(b))
	return int64(q)
}

// sketch is a tree without contents.
type sketch struct {
	c     *texture.Source
	p     Profile
	dirs  []string
	files []string
	sizes []int64 // of files
	links [][2]string
}

func newSketch(c *texture.Source, p Profile, size int64) *sketch {
	s := &sketch{c: c, p: p}
	files := max(1, int(scaled(int64(p.Files), size, p.Bytes)))
	dirs := share(scaled(int64(p.Dirs), size, p.Bytes), widen(p.DirDepths))
	for d := len(dirs) - 2; d >= 0; d-- {
		if dirs[d+1] > 0 {
			dirs[d] = max(dirs[d], 1) // or the deeper ones would have no parent
		}
	}
	depth := 0
	for depth < len(dirs) && dirs[depth] > 0 {
		depth++
	}
	here := foldDepths(share(int64(files), widen(p.FileDepths)), depth)
	links := foldDepths(share(scaled(int64(p.Links), size, p.Bytes), widen(p.FileDepths)), depth)
	fileNames := nameLengths(c, files, p.FileNames)
	dirNames := nameLengths(c, int(total(dirs)), p.DirNames)
	level := []*branch{{}}
	for d := 0; len(level) > 0; d++ {
		below := int64(0)
		if d < depth {
			below = dirs[d]
		}
		level = s.level(level, here[d], below, links[d], &fileNames, &dirNames)
	}
	return s
}

// foldDepths moves entries deeper than the deepest directories to that level.
func foldDepths(counts []int64, deepest int) []int64 {
	out := make([]int64, deepest+1)
	for d, n := range counts {
		out[min(d, deepest)] += n
	}
	return out
}

func total(list []int64) (sum int64) {
	for _, n := range list {
		sum += n
	}
	return sum
}

// level fills the directories of one depth and returns their subdirectories.
func (s *sketch) level(dirs []*branch, files, below, links int64, fileNames, dirNames *[]int64) []*branch {
	inEach := spread(s.c, int(files), len(dirs), s.p.FilesIn)
	belowEach := spread(s.c, int(below), len(dirs), s.p.DirsIn)
	linksEach := share(links, inEach) // next to their targets
	var next []*branch
	for i, f := range dirs {
		f.most = int(inEach[i] + belowEach[i] + linksEach[i])
		first := len(s.files)
		for range inEach[i] {
			s.files = append(s.files, f.name(s.c, pop(fileNames)))
		}
		for range belowEach[i] {
			name := f.name(s.c, pop(dirNames))
			s.dirs = append(s.dirs, name)
			next = append(next, &branch{path: name})
		}
		for range linksEach[i] {
			to := s.files[first+int(s.c.Below(inEach[i]))]
			s.links = append(s.links, [2]string{f.name(s.c, int64(len(path.Base(to)))), path.Base(to)})
		}
	}
	return next
}

func pop(list *[]int64) int64 {
	n := (*list)[0]
	*list = (*list)[1:]
	return n
}

// lengths assigns sizes of the profile's classes to the files, and then
// stretches the large ones until they add up to the target.
func (s *sketch) lengths(want int64) {
	counts := make([]int64, len(s.p.Sizes))
	for i, k := range s.p.Sizes {
		counts[i] = int64(k.Files)
	}
	for k, times := range share(int64(len(s.files)), counts) {
		for range times {
			s.sizes = append(s.sizes, s.p.Sizes[k].draw(s.c, k))
		}
	}
	slices.Sort(s.sizes)
	s.stretch(want)
	shuffle(s.c, s.sizes)
}

// stretchable lists sizes in bytes above which files may be stretched to at most twice their size,
// or shortened to at least half of it. Only the largest are, if there are enough of them; the
// others keep their sizes.
var stretchable = []int64{1 << 20, squeeze.Block, 16 << 10, squeeze.Sector}

func (s *sketch) stretch(want int64) {
	for i, above := range stretchable {
		n, _ := slices.BinarySearch(s.sizes, above+1)
		rest, large := total(s.sizes[:n]), total(s.sizes[n:])
		last := i == len(stretchable)-1
		if large == 0 || want <= rest || !last && (want-rest > 2*large || want-rest < large/2) {
			continue
		}
		for j, size := range s.sizes[n:] {
			s.sizes[n+j] = max(above+1, scaled(size, want-rest, large))
		}
		// The largest one absorbs the rounding.
		biggest := &s.sizes[len(s.sizes)-1]
		*biggest = max(above+1, *biggest+want-total(s.sizes))
		return
	}
}

// draw returns a size of class k; the mean is that of the class.
func (z SizeClass) draw(c *texture.Source, k int) int64 {
	if k == 0 {
		return 0
	}
	low, high := int64(1)<<(k-1), int64(1)<<k-1
	mean := z.Bytes / int64(z.Files)
	if mean-low < high-mean {
		return low + c.Below(2*(mean-low)+1)
	}
	return high - c.Below(2*(high-mean)+1)
}

// generator generates the contents.
type generator struct {
	p      Profile
	seed   uint64
	sketch *sketch
	lots   [][]uint8 // of files: kinds of their parts
	buffer [squeeze.Block]byte
}

func (g *generator) entries() []tree.Entry {
	s := g.sketch
	out := make([]tree.Entry, 0, len(s.files)+len(s.dirs)+len(s.links))
	for _, d := range s.dirs {
		out = append(out, tree.Entry{Path: d, Kind: tar.TypeDir, Mode: 0o755})
	}
	for i, f := range s.files {
		out = append(out, tree.Entry{
			Path: f, Kind: tar.TypeReg, Mode: 0o644, Size: s.sizes[i],
			Open: func() (io.ReadCloser, error) {
				return &contents{g: g, file: i, left: s.sizes[i]}, nil
			},
		})
	}
	for _, l := range s.links {
		out = append(out, tree.Entry{Path: l[0], Kind: tar.TypeSymlink, Mode: 0o777, Target: l[1]})
	}
	return out
}

// contents reads a file. Only one is open at a time: they share a buffer.
type contents struct {
	g     *generator
	file  int
	block int    // next
	left  int64  // not yet generated
	rest  []byte // generated but not yet read
}

func (r *contents) Read(p []byte) (int, error) {
	if len(r.rest) == 0 {
		if r.left == 0 {
			return 0, io.EOF
		}
		r.rest = r.g.buffer[:min(squeeze.Block, r.left)]
		lot := r.g.lots[r.file]
		kind := lot[min(r.block/(squeeze.Chunk/squeeze.Block), len(lot)-1)]
		r.g.p.Textures[kind].Fill(r.rest, mixed(r.g.seed, mixed(uint64(r.file)+1, uint64(r.block)+1)))
		r.left -= int64(len(r.rest))
		r.block++
	}
	n := copy(p, r.rest)
	r.rest = r.rest[n:]
	return n, nil
}

func (r *contents) Close() error { return nil }
