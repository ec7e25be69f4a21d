package workload

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
)

const (
	// syncMost is the size of the largest file, in bytes; sizes are drawn evenly
	// on a scale of ratios, from 1 B on.
	syncMost = 256 << 10
	// syncReplace is the share of operations that put new contents in the place
	// of a file's, where there are files.
	syncReplace = 0.3
	// syncSpace is how much the files may take together where the step does not
	// say, in bytes.
	syncSpace = 8 << 20
	// syncSuffix is what a file is called behind its name before it takes its
	// place: short enough for names of 8 and 3 characters.
	syncSuffix = ".t"
)

type syncKind int

const (
	syncCreate syncKind = iota + 1
	syncRename
	syncRemove
)

// syncFile is a file: its number, and which operation wrote what it holds.
type syncFile struct {
	id, version int64
	size        int
}

// name is short enough for every filesystem.
func (f syncFile) name() string { return fmt.Sprintf("f%07d", f.id) }

// syncOp is one operation. Of a rename, old is what the file held before.
type syncOp struct {
	number    int64
	kind      syncKind
	file, old syncFile
	unsynced  bool // called safe without being synced
}

// syncPlan draws one operation after the other. Whoever knows the seed, the
// space and a number knows all that must be on storage after that operation.
type syncPlan struct {
	seed     uint64
	space    int64
	unsynced float64

	number, made, bytes int64
	live                []syncFile // oldest first
}

func (p *syncPlan) next() syncOp {
	p.number++
	r := rand.New(rand.NewPCG(p.seed, uint64(p.number)))
	o := syncOp{number: p.number, unsynced: r.Float64() < p.unsynced}
	size := int(math.Exp(r.Float64() * math.Log(syncMost)))
	switch {
	case p.bytes > p.space:
		o.kind, o.file = syncRemove, p.live[0]
		p.bytes -= int64(o.file.size)
		p.live = p.live[1:]
	case len(p.live) > 0 && r.Float64() < syncReplace:
		i := r.IntN(len(p.live))
		o.kind, o.old = syncRename, p.live[i]
		o.file = syncFile{id: o.old.id, version: p.number, size: size}
		p.bytes += int64(size - o.old.size)
		p.live[i] = o.file
	default:
		p.made++
		o.kind, o.file = syncCreate, syncFile{id: p.made, version: p.number, size: size}
		p.bytes += int64(size)
		p.live = append(p.live, o.file)
	}
	return o
}

// SyncedFiles is how many files must be there after an operation.
func SyncedFiles(seed uint64, space, number int64) int {
	p := syncPlan{seed: seed, space: space}
	for p.number < number {
		p.next()
	}
	return len(p.live)
}

// contents fills buf with what a file holds and returns that. Every second
// file compresses well.
func (p *syncPlan) contents(f syncFile, buf []byte) []byte {
	state := p.seed ^ uint64(f.version)*0x9e3779b97f4a7c15
	whole := buf[:(f.size+7)&^7]
	var word uint64
	for i := 0; i < len(whole); i += 8 {
		if f.version%2 == 0 || i%128 == 0 {
			// SplitMix64 (Steele, Lea, Flood 2014).
			state += 0x9e3779b97f4a7c15
			word = (state ^ state>>30) * 0xbf58476d1ce4e5b9
			word = (word ^ word>>27) * 0x94d049bb133111eb
			word ^= word >> 31
		}
		binary.LittleEndian.PutUint64(whole[i:], word)
	}
	return whole[:f.size]
}
