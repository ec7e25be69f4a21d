package instrument

import "fmt"

// block is a run of instructions that are executed one after the other.
type block struct {
	stream    *stream
	items     []int // of the stream: its instructions
	slots     []int // where something may be inserted before each, or -1
	last      bool  // nothing may be inserted behind the last
	in, out   flags // that someone reads later
	gen, kill flags // that it reads, that it overwrites first
	falls     int   // the block behind it, 0 for none
	target    *label
	exit      flags // that are read where it leaves the file
	preds     []int
	queued    bool
}

// count inserts the counting.
func (f *file) count(kind Kind) error {
	blocks, err := f.blocks()
	if err != nil {
		return err
	}
	f.liveness(blocks)
	for i := 1; i < len(blocks); i++ {
		if err := f.place(&blocks[i], kind); err != nil {
			return err
		}
	}
	return nil
}

// abi is which flags are read where a function calls or ends. Handwritten code may
// keep to rules of its own.
func (f *file) abi(it *item) flags {
	if f.compiled && !it.inline {
		return 0
	}
	return every
}

// keep finds the items that lengths cover: true for those which nothing may be
// inserted before.
func (f *file) keep() map[*stream][]bool {
	kept := map[*stream][]bool{}
	for _, group := range f.frozen {
		var s *stream
		from, to := 0, 0
		for _, l := range group {
			switch {
			case l.stream == nil:
			case s == nil:
				s, from, to = l.stream, l.at, l.at
			case l.stream == s:
				from, to = min(from, l.at), max(to, l.at)
			}
		}
		if s == nil {
			continue
		}
		s.items[from].label.pinned = true
		if kept[s] == nil {
			kept[s] = make([]bool, len(s.items)+1)
		}
		for i := from + 1; i <= to; i++ {
			kept[s][i] = true
		}
	}
	return kept
}

// blocks divides the code. The first is none: 0 stands for no block.
func (f *file) blocks() ([]block, error) {
	kept := f.keep()
	blocks := make([]block, 1)
	for _, s := range f.streams {
		of := kept[s]
		frozen := func(i int) bool { return of != nil && of[i] }
		open, fell := false, 0 // whether a block is open, and the one that falls into the next
		var labels []*label    // that the next block will have
		slot, stuck := -1, false
		for i := range s.items {
			it := &s.items[i]
			switch it.kind {
			case labelItem:
				l := it.label
				if l.entry || f.conditional || f.everywhere[l.name] {
					if open {
						open, fell = false, len(blocks)-1
					}
					labels = append(labels, l)
					// Nothing may come before it, nor between it and what it is pinned to.
					stuck = stuck || slot >= 0 || l.pinned
					slot = -1
				} else if l.pinned && slot < 0 {
					slot, stuck = it.start, stuck || frozen(i)
				}
				continue
			case barrierItem:
				if open {
					open, fell = false, len(blocks)-1
				}
				if fell > 0 {
					blocks[fell].exit = every
				}
				for _, l := range labels {
					l.block = -1
				}
				fell, labels, slot, stuck = 0, nil, -1, false
				continue
			}
			if !open {
				blocks = append(blocks, block{stream: s})
				n := len(blocks) - 1
				if fell > 0 {
					blocks[fell].falls = n
				}
				for _, l := range labels {
					l.block = n
				}
				open, fell, labels = true, 0, nil
			}
			n := len(blocks) - 1
			b := &blocks[n]
			switch {
			case stuck:
				slot = -1
			case slot < 0 && !frozen(i):
				slot = it.start
			}
			b.items, b.slots = append(b.items, i), append(b.slots, slot)
			b.last = frozen(i + 1)
			slot, stuck = -1, false
			f.through(b, it)
			if it.control != next && it.control != call {
				b.target, b.last = it.label, true
				open = false
				if it.control == branch {
					fell = n
				}
			}
		}
		if open {
			fell = len(blocks) - 1
		}
		if fell > 0 {
			blocks[fell].exit = every
		}
		for _, l := range labels {
			l.block = -1
		}
	}
	return blocks, nil
}

// through adds an instruction's effect to that of its block.
func (f *file) through(b *block, it *item) {
	reads, writes := f.effect(it)
	b.gen |= reads &^ b.kill
	b.kill |= writes
}

// effect is that of an instruction and of what it calls.
func (f *file) effect(it *item) (reads, writes flags) {
	switch it.control {
	case call, leave:
		reads = f.abi(it)
		return reads, every &^ reads
	}
	return it.effect.reads, it.effect.writes
}

// liveness finds which flags are read after each block.
func (f *file) liveness(blocks []block) {
	// What has its address taken may follow any indirect jump, and is a node of its own.
	wilds := []int{}
	var around flags
	taken := map[int]bool{}
	unknownTaken := false
	for _, s := range f.streams {
		for i := range s.items {
			l := s.items[i].label
			if s.items[i].kind != labelItem || !l.taken && !f.everywhere[l.name] {
				continue
			}
			if l.block > 0 && l.definitions == 1 {
				taken[l.block] = true
			} else {
				unknownTaken = true
			}
		}
	}
	if unknownTaken {
		around = every
	}
	for i := 1; i < len(blocks); i++ {
		b := &blocks[i]
		it := &b.stream.items[b.items[len(b.items)-1]]
		if b.falls > 0 {
			blocks[b.falls].preds = append(blocks[b.falls].preds, i)
		}
		switch it.control {
		case wild:
			wilds = append(wilds, i)
			b.exit |= f.abi(it)
		case jump, branch:
			l := b.target
			switch {
			case l == nil || !l.defined():
				b.exit |= f.abi(it)
			case l.block > 0 && l.definitions == 1:
				blocks[l.block].preds = append(blocks[l.block].preds, i)
			default:
				b.exit |= every
			}
		}
	}
	work := make([]int, 0, len(blocks))
	push := func(i int) {
		if !blocks[i].queued {
			blocks[i].queued = true
			work = append(work, i)
		}
	}
	for _, i := range wilds {
		blocks[i].out |= around
	}
	for i := 1; i < len(blocks); i++ {
		push(i)
	}
	for len(work) > 0 {
		i := work[len(work)-1]
		work = work[:len(work)-1]
		b := &blocks[i]
		b.queued = false
		b.out |= b.exit
		in := b.gen | b.out&^b.kill
		if in == b.in {
			continue
		}
		b.in = in
		for _, p := range b.preds {
			if blocks[p].out|in != blocks[p].out {
				blocks[p].out |= in
				push(p)
			}
		}
		if taken[i] && around|in != around {
			around |= in
			for _, p := range wilds {
				blocks[p].out |= around
				push(p)
			}
		}
	}
}

// place inserts a block's counting where the flags are dead, or saves them.
func (f *file) place(b *block, kind Kind) error {
	live := make([]flags, len(b.items)+1)
	live[len(b.items)] = b.out
	for k := len(b.items) - 1; k >= 0; k-- {
		reads, writes := f.effect(&b.stream.items[b.items[k]])
		live[k] = reads | live[k+1]&^writes
	}
	add := fmt.Sprintf("addq $%d, %s", len(b.items), counter(int(kind)))
	dead, saved := -1, -1
	for k, slot := range b.slots {
		if slot < 0 {
			continue
		}
		if saved < 0 {
			saved = k
		}
		if live[k] == 0 {
			dead = k
			break
		}
	}
	last := &b.stream.items[b.items[len(b.items)-1]]
	switch {
	case dead >= 0:
		f.insert(b.slots[dead], add+"; ")
	case !b.last && b.out == 0:
		f.insert(last.end, "; "+add)
	case saved >= 0:
		f.insert(b.slots[saved], save(add)+"; ")
	case !b.last:
		f.insert(last.end, "; "+save(add))
	default:
		return fmt.Errorf("line %d: there is no place to count these instructions at", b.stream.items[b.items[0]].line)
	}
	for k, i := range b.items {
		it := &b.stream.items[i]
		if it.copies == 0 {
			continue
		}
		add := "addq %rcx, " + counter(it.copies)
		switch {
		case b.slots[k] < 0:
			return fmt.Errorf("line %d: there is no place to count what is copied at", it.line)
		case live[k] == 0:
			f.insert(b.slots[k], add+"; ")
		default:
			f.insert(b.slots[k], save(add)+"; ")
		}
	}
	return nil
}

// save keeps the flags, below the red zone.
func save(add string) string {
	return "leaq -128(%rsp), %rsp; pushfq; " + add + "; popfq; leaq 128(%rsp), %rsp"
}
