package generated

import (
	"cmp"
	"slices"

	"whichfs/internal/plan/tree/squeeze"
)

// blend assigns kinds so that their shares of the bytes always stay as close
// as possible to the targets.
type blend struct {
	kinds []uint8 // indices of Profile.Textures
	parts []int64 // their shares of allParts
	given []int64 // bytes, by kind
	sum   int64   // bytes, all
}

// allParts is what the parts of a blend sum up to.
const allParts = 1 << 16

// newBlend takes the kinds of a group, or of the nearest group that has any.
func newBlend(p Profile, group int, want func(Kind) bool) *blend {
	b, best := &blend{}, len(groups)
	var weights []int64
	for i, k := range p.Textures {
		far := max(groupOfKind(k)-group, group-groupOfKind(k))
		if !want(k) || far > best {
			continue
		}
		if far < best {
			best, b.kinds, weights = far, nil, nil
		}
		b.kinds, weights = append(b.kinds, uint8(i)), append(weights, k.Bytes)
	}
	b.parts, b.given = share(allParts, weights), make([]int64, len(weights))
	return b
}

func groupOfKind(k Kind) int {
	if k.UpTo == 0 {
		return len(groups) - 1
	}
	return groupOf(k.UpTo)
}

// next returns the kind for the next n bytes.
func (b *blend) next(n int64) uint8 {
	b.sum += n
	most := 0
	for i := range b.kinds {
		if b.owed(i) > b.owed(most) {
			most = i
		}
	}
	b.given[most] += n
	return b.kinds[most]
}

// owed is the number of bytes that a kind lacks, times allParts.
func (b *blend) owed(i int) int64 { return b.parts[i]*b.sum - b.given[i]*allParts }

// lots assigns kinds to the parts of every file: parts of 512 KiB in large
// files, so that data that Btrfs refuses stays separate.
func (s *sketch) lots() [][]uint8 {
	out := make([][]uint8, len(s.files))
	blends := make([]*blend, len(groups))
	last := len(groups) - 1
	var large []int
	for i, n := range s.sizes {
		g := groupOf(n)
		if g == last {
			large = append(large, i)
			continue
		}
		if blends[g] == nil {
			blends[g] = newBlend(s.p, g, func(Kind) bool { return true })
		}
		if n > 0 {
			out[i] = []uint8{blends[g].next(n)}
		}
	}
	s.largeLots(large, out)
	return out
}

// largeLots serves the kinds for whole files first, and then all other parts.
func (s *sketch) largeLots(files []int, out [][]uint8) {
	if len(files) == 0 {
		return
	}
	last := len(groups) - 1
	all := newBlend(s.p, last, func(k Kind) bool { return groupOfKind(k) == last })
	for _, f := range files {
		all.sum += s.sizes[f]
	}
	slices.SortStableFunc(files, func(a, b int) int { return cmp.Compare(s.sizes[b], s.sizes[a]) })
	for i, kind := range all.kinds {
		if s.p.Textures[kind].Whole {
			files = s.wholeLots(files, out, kind, all.parts[i]*all.sum/allParts)
		}
	}
	parts := newBlend(s.p, last, func(k Kind) bool { return !k.Whole })
	if len(parts.kinds) == 0 {
		parts = all
	}
	for _, f := range files {
		for left := s.sizes[f]; left > 0; left -= squeeze.Chunk {
			out[f] = append(out[f], parts.next(min(left, squeeze.Chunk)))
		}
		// Btrfs refuses the whole file if it refuses the beginning.
		for i, k := range out[f] {
			if !s.p.Textures[k].Refused {
				out[f][0], out[f][i] = out[f][i], out[f][0]
				break
			}
		}
	}
}

// wholeLots assigns a kind to files with about owed bytes in total, and
// returns the others. If there are few files, perhaps none has the missing
// size: then one is stretched or shortened, and the largest of the others
// compensates for it.
func (s *sketch) wholeLots(files []int, out [][]uint8, kind uint8, owed int64) []int {
	chosen, rest := -1, []int(nil)
	for _, f := range files {
		if n := s.sizes[f]; owed < n/2 {
			rest = append(rest, f)
			continue
		}
		owed -= s.sizes[f]
		chosen, out[f] = f, []uint8{kind}
	}
	if chosen < 0 && owed > squeeze.Block && len(rest) > 1 {
		// Files are sorted by size: the smallest one that is large enough.
		n := len(rest) - 1
		for n > 1 && s.sizes[rest[n]] < owed {
			n--
		}
		chosen = rest[n]
		owed -= s.sizes[chosen]
		out[chosen], rest = []uint8{kind}, slices.Delete(rest, n, n+1)
	}
	if chosen >= 0 && len(rest) > 0 && s.sizes[chosen]+owed > squeeze.Block && s.sizes[rest[0]]-owed > squeeze.Block {
		s.sizes[chosen] += owed
		s.sizes[rest[0]] -= owed
	}
	return rest
}
