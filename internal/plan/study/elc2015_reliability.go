package study

import (
	"fmt"

	"whichfs/internal/fault"
	"whichfs/internal/plan/scenario"
)

// Rows besides the published ones: those with different promises or of a
// different kind.
const (
	// e15NoBarrier is the control: it must be seen to lose acknowledged data.
	e15NoBarrier = "ext4 -o nobarrier"
	e15DataAll   = "ext4 -o data=journal"
	e15Writeback = "ext4 -o data=writeback"
	e15Dirsync   = "ext4 -o dirsync"
	e15Strict    = "f2fs -o fsync_mode=strict"
	e15FsyncNone = "f2fs -o fsync_mode=nobarrier"
	e15BtrfsNone = "btrfs -o nobarrier"
	e15InOrder   = "nilfs2 -o order=strict"
)

// e15Memory is the only storage of the second half: its cases make their own
// disks in memory, and it only sets the size on which the candidates must fit.
// XFS needs 300 MiB.
const e15Memory = "ram:320M"

// e15MemorySize is that size in bytes.
const e15MemorySize = 320 << 20

// e15Damage is the amount of work at a scale: the files of a case, the iterations
// of each kind of case, and the maximum number of crash states of all scripts
// together.
type e15Damage struct {
	volume                  int64 // B
	files                   int
	cuts, corruptions, rots int
	states                  int
	// resets of the processor, and iterations of each cell of the matrix of corruption.
	resets, cells int
	// whole: every cell of that matrix, and not only those that decide its claim.
	whole bool
}

// Elc2015Reliability is the second half of the talk: what survives power cuts
// and corrupted, dropped or refused writes; and, beyond the talk, bit rot, and
// the states that a cut can leave. It measures no time.
func Elc2015Reliability() Study {
	published := []string{e15Ext4, e15Btrfs, e15F2fs, e15Xfs, e15Nilfs2}
	quick := append(published[:len(published):len(published)], e15NoBarrier)
	full := append(quick[:len(quick):len(quick)],
		e15NoJournal, "ext3", "ext2", "jfs", "reiserfs", e15Vfat, "exfat",
		e15DataAll, e15Writeback, e15Dirsync, e15Strict, e15FsyncNone, e15BtrfsNone, e15InOrder)
	return Study{
		Name: "elc-2015-reliability", Title: "Filesystem considerations for embedded devices: reliability", Source: e15Talk, Processors: 1,
		Untimed: true,
		Scales: map[string]Scale{
			"quick": {
				// More rounds would only mean fewer iterations in each; nothing drifts.
				Candidates: quick, Rounds: 1, StepLimit: 180, RAM: e15Memory, Memory: e15GuestMemory,
				Amount: e15Damage{volume: 8 << 20, files: 8, cuts: 20, corruptions: 15, rots: 15, states: 500, resets: 20, cells: 6},
			},
			// Enough cuts that one that never happens shows it.
			"claims": {
				Candidates: quick, Rounds: 1, StepLimit: 600, RAM: e15Memory, Memory: e15GuestMemory,
				Amount: e15Damage{volume: 8 << 20, files: 8, cuts: 80, corruptions: 15, rots: 15, states: 500, resets: 20, cells: 15, whole: true},
			},
			"full": {
				Candidates: full, Rounds: 1, StepLimit: 14_400, RAM: e15Memory, Memory: e15GuestMemory,
				Amount: e15Damage{volume: 30 << 20, files: 30, cuts: 226, corruptions: 15, rots: 15, states: 20_000, resets: 226, cells: 15, whole: true},
			},
		},
		Storages: []Storage{{Key: "memory", Label: "disks in memory", Specs: map[string]string{"quick": e15Memory, "claims": e15Memory, "full": e15Memory}}},
		Scenario: e15Cases,
		Claims:   e15ReliabilityClaims(),
	}
}

// e15GuestMemory holds the storage, the disk of a case, its recording, and a
// second disk of the same size.
const e15GuestMemory = 1536 << 20

// e15Flips is the number of bits that rot, or of sectors that go bad, at a time.
const e15Flips = 8

// Cases of corrupted writes: those of the published runs, by fault; the phase
// is the fault with "one file" or "many files".
var e15Faults = []struct{ fault, phase string }{
	{fault.CorruptAfter, "corrupt after"}, {fault.CorruptInTurn, "corrupt in turn"}, {fault.DropWrites, "dropped"}, {fault.FailWrites, "failed"},
}

const (
	e15CutAsync = "cut async"
	e15CutSync  = "cut sync"
	e15One      = "one file"
	e15Many     = "many files"

	e15ResetAsync = "reset async"
	e15ResetSync  = "reset sync"

	// How much fits, which is not about faults, and like them needs disks in memory.
	e15RoomOne   = "room, one file"
	e15RoomMany  = "room, small files"
	e15RoomAfter = "room, after small files"
)

// e15Spot is a cell of the matrix of corruption: what is corrupted, by which byte, at which place, in
// each request or in each block of it. The talk's method can set all of this (dm-flakey's
// corrupt_bio_byte), and its conclusion is about it.
type e15Spot struct {
	write     bool
	value     string
	elsewhere bool
	blocks    bool
}

// e15Spots are all cells. Writes come last, and those of places within structures at the very end: the
// kernel (6.1) corrupts the filesystem's own memory with them and may not survive that, which ends
// the trial.
func e15Spots() (all []e15Spot) {
	for _, write := range []bool{false, true} {
		for _, elsewhere := range []bool{false, true} {
			for _, blocks := range []bool{false, true} {
				for _, value := range []string{fault.ByteZero, fault.ByteOnes, fault.ByteRandom} {
					all = append(all, e15Spot{write, value, elsewhere, blocks})
				}
			}
		}
	}
	return all
}

// published is the cell that the talk calls fatal.
func (c e15Spot) published() bool { return c.write && c.value == fault.ByteZero && !c.elsewhere }

// decides: the cells of a quick run. One fatal cell besides the published ones refutes the claim, and
// the likeliest are those that differ from them in one respect.
func (c e15Spot) decides() bool {
	differs := 0
	for _, other := range []bool{!c.write, c.value != fault.ByteZero, c.elsewhere} {
		if other {
			differs++
		}
	}
	return differs == 0 || differs == 1 && c.value != fault.ByteRandom && c.blocks
}

// phase is the name of its case: "write 0x00 first, request".
func (c e15Spot) phase() string {
	words := [...]string{"read", "first", "request"}
	if c.write {
		words[0] = "write"
	}
	if c.elsewhere {
		words[1] = "elsewhere"
	}
	if c.blocks {
		words[2] = "block"
	}
	return fmt.Sprintf("%s %s %s, %s", words[0], c.value, words[1], words[2])
}

func (c e15Spot) step(a e15Damage, seed uint64) scenario.Step {
	s := scenario.Step{Work: fault.FlakyReads, Phase: c.phase(), Byte: c.value, Count: a.cells, Size: a.volume, Files: a.files, Seed: seed}
	if c.write {
		s.Work, s.Fault = fault.FlakyWrites, fault.CorruptEither
	}
	if c.published() {
		s.Count *= 2 // the two of them show alone whether it happens
	}
	if c.elsewhere {
		s.Order = scenario.OrderRandom
	}
	if c.blocks {
		s.Block = fault.BlockSize
	}
	return s
}

// e15Cases: each step is one case on its own disks. Filesystems are mounted
// async by default. An image that is never written to survives all of this, and
// has no case.
func e15Cases(readOnly bool, s Scale) scenario.Scenario {
	if readOnly {
		return nil
	}
	amount := s.Amount.(e15Damage)
	list := scenario.Scenario{
		{Work: fault.PowerCut, Phase: e15CutAsync, Count: amount.cuts, Seed: 1},
		{Work: fault.PowerCut, Phase: e15CutSync, Count: amount.cuts, Seed: 2, Options: []string{"sync"}},
		{Work: fault.PowerCut, Phase: e15ResetAsync, Fault: fault.Kill, Count: amount.resets, Seed: 1},
		{Work: fault.PowerCut, Phase: e15ResetSync, Fault: fault.Kill, Count: amount.resets, Seed: 2, Options: []string{"sync"}},
	}
	seed := uint64(3)
	for _, f := range e15Faults {
		for _, files := range []struct {
			name string
			n    int
		}{{e15One, 1}, {e15Many, amount.files}} {
			list = append(list, scenario.Step{
				Work: fault.FlakyWrites, Phase: fmt.Sprintf("%s, %s", f.phase, files.name), Fault: f.fault,
				Count: amount.corruptions, Size: amount.volume, Files: files.n, Seed: seed,
			})
			seed++
		}
	}
	for _, where := range []string{fault.InData, fault.InMetadata, fault.InBoth} {
		list = append(list, scenario.Step{
			Work: fault.BitRot, Phase: "rot in " + where, Fault: where, Count: amount.rots, Size: amount.volume, Files: amount.files, Ops: e15Flips, Seed: seed,
		})
		seed++
	}
	list = append(list, scenario.Step{Work: "room", Phase: e15RoomOne}, scenario.Step{Work: "room", Phase: e15RoomMany, Size: 16 << 10},
		scenario.Step{Work: "room", Phase: e15RoomAfter, Block: 2 << 10})
	crash := seed
	seed += 2
	for _, where := range []string{fault.InData, fault.InMetadata} {
		list = append(list, scenario.Step{
			Work: fault.BadSectors, Phase: "unreadable in " + where, Fault: where, Count: amount.rots, Size: amount.volume, Files: amount.files, Ops: e15Flips, Seed: seed,
		})
		seed++
	}
	list = append(list,
		scenario.Step{Work: fault.CrashStates, Phase: "crash states", Ops: amount.states, Seed: crash},
		scenario.Step{Work: fault.CrashStates, Phase: "careless programs", Fault: fault.Careless, Ops: amount.states / 8, Seed: crash + 1})
	for i, c := range e15Spots() {
		if amount.whole || c.decides() {
			list = append(list, c.step(amount, seed+uint64(i)))
		}
	}
	return list
}
