package generated

import (
	"archive/tar"
	"bufio"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"strings"

	"whichfs/internal/plan/tree"
	"whichfs/internal/plan/tree/squeeze"
	"whichfs/internal/plan/tree/texture"
)

// Record determines the profile of an archive's tree. It finds textures by
// trial, which takes a minute or two.
func Record(ctx context.Context, name string, archive io.Reader) (Profile, error) {
	p, err := Measure(ctx, name, archive)
	if err != nil {
		return Profile{}, fmt.Errorf("profile %s: %w", name, err)
	}
	meter, err := squeeze.New()
	if err != nil {
		return Profile{}, err
	}
	for i := range p.Textures {
		if err := ctx.Err(); err != nil {
			return Profile{}, context.Cause(ctx)
		}
		if err := p.Textures[i].fit(meter); err != nil {
			return Profile{}, fmt.Errorf("profile %s: %w", name, err)
		}
	}
	return p, nil
}

// fit determines a kind's texture: with whole blocks, or with blocks of the
// average length of such files.
func (k *Kind) fit(m *squeeze.Meter) error {
	if k.Want[squeeze.Zlib] >= incompressible && k.Want[squeeze.LZO] >= incompressible {
		return nil
	}
	length := squeeze.Block
	if k.Whole {
		length = k.Block
	}
	var err error
	k.Texture, _, err = texture.Fit(m, length, k.Want, !k.Refused)
	return err
}

// Measure records everything except textures.
func Measure(ctx context.Context, name string, archive io.Reader) (Profile, error) {
	meter, err := squeeze.New()
	if err != nil {
		return Profile{}, err
	}
	s := observer{
		p: Profile{Name: name}, meter: meter, files: map[string]int{}, dirs: map[string]int{},
		kinds: map[kindKey]*kindSum{},
	}
	hash := sha256.New()
	archive = io.TeeReader(bufio.NewReaderSize(tree.Until(ctx, archive), 1<<20), hash)
	in := tar.NewReader(archive)
	for {
		h, err := in.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return Profile{}, err
		}
		if err := s.entry(h, in); err != nil {
			return Profile{}, fmt.Errorf("%q: %w", h.Name, err)
		}
	}
	if s.p.Bytes == 0 {
		return Profile{}, errors.New("its files are empty")
	}
	if _, err := io.Copy(io.Discard, archive); err != nil {
		return Profile{}, err
	}
	s.p.Of = hex.EncodeToString(hash.Sum(nil))
	return s.result(), nil
}

// observer is a profile under construction.
type observer struct {
	p     Profile
	meter *squeeze.Meter
	uses  squeeze.Uses
	files map[string]int // directory → files in it
	dirs  map[string]int // directory → directories in it
	kinds map[kindKey]*kindSum
}

type kindKey struct {
	group          int
	whole, refused bool
	edge           int
}

type kindSum struct {
	blocks int
	bytes  int64
	packed squeeze.Sizes
}

func (s *observer) entry(h *tar.Header, body io.Reader) error {
	name, err := tree.Relative(h.Name)
	if err != nil {
		return err
	}
	if name == "" {
		return nil
	}
	depth := strings.Count(name, "/")
	dir, base := "", name
	if i := strings.LastIndexByte(name, '/'); i >= 0 {
		dir, base = name[:i], name[i+1:]
	}
	switch h.Typeflag {
	case tar.TypeDir:
		s.p.Dirs++
		s.dirs[dir]++
		s.files[name] += 0
		s.dirs[name] += 0
		add(&s.p.DirDepths, depth)
		add(&s.p.DirNames, len(base)/nameClass)
	case tar.TypeSymlink:
		s.p.Links++
	case tar.TypeReg:
		s.p.Files++
		s.p.Bytes += h.Size
		s.files[dir]++
		add(&s.p.FileDepths, depth)
		add(&s.p.FileNames, len(base)/nameClass)
		c := class(h.Size)
		for len(s.p.Sizes) <= c {
			s.p.Sizes = append(s.p.Sizes, SizeClass{})
		}
		s.p.Sizes[c].Files++
		s.p.Sizes[c].Bytes += h.Size
		return s.contents(h.Size, body)
	}
	return nil
}

// add increments the count of a class.
func add(counts *[]int, c int) {
	for len(*counts) <= c {
		*counts = append(*counts, 0)
	}
	(*counts)[c]++
}

// contents adds a file's blocks to their kinds. A file is of a single kind if
// it has only one block, if it does not shrink, or if Btrfs gives up on it
// with LZO: then it counts as one that LZO cannot shrink at all.
func (s *observer) contents(size int64, body io.Reader) error {
	all := kindSum{bytes: size}
	var blocks []kindSum
	var refused []bool
	gaveUp := false
	err := s.meter.File(&s.uses, body, size, func(n int64, packed squeeze.Sizes, worth bool) {
		gaveUp = gaveUp || worth && packed[squeeze.LZO] > n-squeeze.Sector
		for a := range packed {
			packed[a] = min(packed[a], n)
			all.packed[a] += packed[a]
		}
		all.blocks++
		blocks, refused = append(blocks, kindSum{1, n, packed}), append(refused, !worth)
	})
	if err != nil || size == 0 {
		return err
	}
	group := groupOf(size)
	switch {
	case len(blocks) == 1:
		s.kind(kindKey{group, true, refused[0] && all.edge() < len(edges), all.edge()}, all)
		return nil
	case gaveUp || all.edge() == len(edges):
		all.packed[squeeze.LZO] = size
		s.kind(kindKey{group, true, false, all.edge()}, all)
		return nil
	}
	for i, b := range blocks {
		// A block that does not shrink would make Btrfs give up on a
		// file with other blocks: count it as one that hardly shrinks.
		key := kindKey{group, false, refused[i], min(b.edge(), len(edges)-1)}
		if key.refused {
			key.edge = 0 // another property distinguishes it
		}
		s.kind(key, b)
	}
	return nil
}

// edge is the index of the range that contains zlib's ratio.
func (k kindSum) edge() int {
	ratio := int(k.packed[squeeze.Zlib] * 1000 / k.bytes)
	for i, e := range edges {
		if ratio < e {
			return i
		}
	}
	return len(edges)
}

func (k *kindSum) add(o kindSum) {
	k.blocks += o.blocks
	k.bytes += o.bytes
	for a := range k.packed {
		k.packed[a] += o.packed[a]
	}
}

func (s *observer) kind(key kindKey, sum kindSum) {
	k := s.kinds[key]
	if k == nil {
		k = &kindSum{}
		s.kinds[key] = k
	}
	k.add(sum)
}

// result combines the sums.
func (s *observer) result() Profile {
	for _, n := range s.files {
		add(&s.p.FilesIn, class(int64(n)))
	}
	for _, n := range s.dirs {
		add(&s.p.DirsIn, class(int64(n)))
	}
	for group := range groups {
		for _, whole := range []bool{true, false} {
			for _, refused := range []bool{true, false} {
				s.p.Textures = append(s.p.Textures, s.grouped(kindKey{group, whole, refused, 0})...)
			}
		}
	}
	for a, u := range s.uses {
		if u.Total > 0 {
			s.p.Ratios[a] = int(u.Disk * 1000 / u.Total)
			s.p.Plain[a] = int(u.Plain * 1000 / u.Total)
		}
	}
	return s.p
}

// grouped returns the kinds that differ only in the edge. A kind with few
// bytes merges into the one above it, except that it does not become
// incompressible.
func (s *observer) grouped(key kindKey) []Kind {
	var out []Kind
	var sum kindSum
	for key.edge = range len(edges) + 1 {
		k, last := s.kinds[key], key.edge >= len(edges)-1
		if k != nil {
			sum.add(*k)
		}
		if sum.bytes == 0 || !last && sum.bytes < s.p.Bytes/fewest {
			continue
		}
		kind := Kind{
			UpTo: groups[key.group], Whole: key.whole, Refused: key.refused,
			Bytes: sum.bytes, Block: int(sum.bytes / int64(sum.blocks)),
		}
		for a := range kind.Want {
			kind.Want[a] = int(sum.packed[a] * 1000 / sum.bytes)
		}
		out, sum = append(out, kind), kindSum{}
	}
	return out
}

// fewest is the minimum share of all bytes for a separate kind, as its
// reciprocal.
const fewest = 1000
