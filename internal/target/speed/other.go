package speed

import "math/bits"

// A volume is what a filesystem keeps in memory, 0.6 MB: objects, found by name through a hash table
// and in the order of their use, a B-tree of extents, and a bit map of blocks. Its size is constant:
// writing to a block that has an extent frees it.
type volume struct {
	buckets [objects]*object
	all     []object
	recent  object // of a ring: recent.newer is the least recently used
	used    []uint64
	root    *node
	nodes   []node // of which the first are in use
	missing uint32
}

const (
	objects  = 2048
	blocksOf = 4 // blocks of an object
	blocks   = 1 << 18
	requests = 500 // per run
	keysOf   = 16  // keys of a node of the tree
)

type object struct {
	next         *object // in its bucket
	newer, older *object
	kind         operations
	hash, number uint32
	dirty        bool
	name         [16]byte
	links        [4]uint32
}

// operations are those of one kind of object.
type operations interface {
	read(v *volume, o *object, block uint32) uint32
	write(v *volume, o *object, block uint32) uint32
}

func newOther() func(seed uint32) uint32 {
	v := newVolume()
	for seed := range uint32(100) {
		v.work(seed) // the tree has then as many keys as it will have
	}
	return v.work
}

func newVolume() *volume {
	v := &volume{all: make([]object, objects), used: make([]uint64, blocks/64), nodes: make([]node, 0, objects*blocksOf/keysOf*4)}
	v.root = v.newNode(true)
	v.recent.newer, v.recent.older = &v.recent, &v.recent
	r := newRandom(1)
	for i := range v.used {
		for range 4 {
			v.used[i] |= uint64(r.next())<<32 | uint64(r.next())
		}
	}
	for i := range v.all {
		o := &v.all[i]
		o.number, o.name = uint32(i), nameOf(uint32(i))
		o.hash = hash(&o.name)
		o.kind = regular{}
		if i%4 == 0 {
			o.kind = directory{}
		}
		bucket := &v.buckets[o.hash%objects]
		o.next, *bucket = *bucket, o
		o.newer, o.older = &v.recent, v.recent.older
		o.older.newer, o.newer.older = o, o
	}
	return v
}

// work is a run of requests: names are looked up, one in eight in vain, and three in four are of
// objects to read from.
func (v *volume) work(seed uint32) (sum uint32) {
	r := newRandom(seed)
	for range requests {
		n := r.next()
		name := nameOf(n % (objects + objects/8))
		o := v.lookup(&name)
		if o == nil {
			v.missing++
			continue
		}
		v.use(o)
		if block := n >> 16 % blocksOf; n>>30 != 0 {
			sum += o.kind.read(v, o, block)
		} else {
			sum += o.kind.write(v, o, block)
		}
	}
	return sum
}

func nameOf(number uint32) (name [16]byte) {
	const digits = "0123456789abcdef"
	name = [16]byte{'f', 'i', 'l', 'e', '-', '0', '0', '0', '0', '.', 't', 'x', 't'}
	for i := 8; number > 0; i-- {
		name[i] = digits[number%16]
		number /= 16
	}
	return name
}

// hash is FNV-1a.
func hash(name *[16]byte) uint32 {
	h := uint32(2166136261)
	for _, c := range name {
		if c == 0 {
			break
		}
		h = (h ^ uint32(c)) * 16777619
	}
	return h
}

func (v *volume) lookup(name *[16]byte) *object {
	h := hash(name)
next:
	for o := v.buckets[h%objects]; o != nil; o = o.next {
		if o.hash != h {
			continue
		}
		for i := range name {
			if o.name[i] != name[i] {
				continue next
			}
		}
		return o
	}
	return nil
}

// use makes an object the most recently used one.
func (v *volume) use(o *object) {
	o.older.newer, o.newer.older = o.newer, o.older
	o.newer, o.older = &v.recent, v.recent.older
	o.older.newer, o.newer.older = o, o
}

type regular struct{}

func (regular) read(v *volume, o *object, block uint32) uint32 {
	if at, ok := v.find(keyOf(o, block)); ok {
		return at
	}
	return 0 // a hole
}

func (regular) write(v *volume, o *object, block uint32) uint32 {
	key := keyOf(o, block)
	if at, ok := v.find(key); ok {
		v.remove(key)
		v.free(at)
		return at
	}
	at := v.allocate(o.number * (blocks / objects))
	v.insert(key, at)
	o.dirty = true
	return at
}

func keyOf(o *object, block uint32) uint64 { return uint64(o.number)<<32 | uint64(block) }

type directory struct{}

// read visits the objects used before this one.
func (directory) read(v *volume, o *object, block uint32) uint32 {
	sum := block
	for range 8 {
		if o = o.older; o == &v.recent {
			break
		}
		if o.dirty {
			sum += o.number
		}
	}
	return sum
}

// write replaces one of the links.
func (directory) write(v *volume, o *object, block uint32) uint32 {
	o.links[block] = v.recent.newer.number
	for _, link := range o.links {
		v.all[link].dirty = false
	}
	return o.links[0]
}

// allocate takes the next free block from goal on; a few percent of all are free.
func (v *volume) allocate(goal uint32) uint32 {
	words := uint32(len(v.used))
	for i := range words {
		at := (goal/64 + i) % words
		if word := v.used[at]; word != ^uint64(0) {
			bit := uint32(bits.TrailingZeros64(^word))
			v.used[at] |= 1 << bit
			return at*64 + bit
		}
	}
	return 0
}

func (v *volume) free(block uint32) { v.used[block/64] &^= 1 << (block % 64) }

// node is a node of the tree: its keys are sorted. That of an inner node is the least key that the
// node beneath it may have.
type node struct {
	keys   [keysOf]uint64
	values [keysOf]uint32 // of a leaf
	below  [keysOf]*node  // of an inner node
	n      int
	leaf   bool
}

// newNode takes one from those set aside. A node that is split has as many keys as fit; so there are
// never more leaves than all keys that there may be, at half as many in each.
func (v *volume) newNode(leaf bool) *node {
	v.nodes = v.nodes[:len(v.nodes)+1]
	b := &v.nodes[len(v.nodes)-1]
	b.leaf = leaf
	return b
}

// search returns how many keys are not above this one.
func (b *node) search(key uint64) int {
	low, high := 0, b.n
	for low < high {
		if middle := (low + high) / 2; b.keys[middle] <= key {
			low = middle + 1
		} else {
			high = middle
		}
	}
	return low
}

func (v *volume) leafOf(key uint64) *node {
	b := v.root
	for !b.leaf {
		b = b.below[max(0, b.search(key)-1)]
	}
	return b
}

func (v *volume) find(key uint64) (uint32, bool) {
	b := v.leafOf(key)
	if i := b.search(key) - 1; i >= 0 && b.keys[i] == key {
		return b.values[i], true
	}
	return 0, false
}

// remove leaves nodes with few keys as they are.
func (v *volume) remove(key uint64) {
	b := v.leafOf(key)
	at := b.search(key) - 1
	b.n--
	for i := at; i < b.n; i++ {
		b.keys[i], b.values[i] = b.keys[i+1], b.values[i+1]
	}
}

// insert splits full nodes on the way down.
func (v *volume) insert(key uint64, value uint32) {
	if v.root.n == keysOf {
		old := v.root
		v.root = v.newNode(false)
		v.root.n, v.root.keys[0], v.root.below[0] = 1, old.keys[0], old
		v.split(v.root, 0)
	}
	b := v.root
	for !b.leaf {
		i := max(0, b.search(key)-1)
		if b.below[i].n == keysOf {
			v.split(b, i)
			if key >= b.keys[i+1] {
				i++
			}
		}
		b = b.below[i]
	}
	at := b.search(key)
	for i := b.n; i > at; i-- {
		b.keys[i], b.values[i] = b.keys[i-1], b.values[i-1]
	}
	b.keys[at], b.values[at] = key, value
	b.n++
}

// split moves half of what is in a node's i-th one to a new one after it.
func (v *volume) split(b *node, i int) {
	full := b.below[i]
	half := v.newNode(full.leaf)
	for k := keysOf / 2; k < keysOf; k++ {
		half.keys[half.n], half.values[half.n], half.below[half.n] = full.keys[k], full.values[k], full.below[k]
		half.n++
	}
	full.n = keysOf / 2
	for k := b.n; k > i+1; k-- {
		b.keys[k], b.below[k] = b.keys[k-1], b.below[k-1]
	}
	b.keys[i+1], b.below[i+1] = half.keys[0], half
	b.n++
}

// random is xorshift32.
type random uint32

func newRandom(seed uint32) random { return random(seed*2654435761 | 1) }

func (r *random) next() uint32 {
	x := *r
	x ^= x << 13
	x ^= x >> 17
	x ^= x << 5
	*r = x
	return uint32(x)
}
