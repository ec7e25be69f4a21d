package study

import (
	"slices"

	"whichfs/internal/probe"
)

// p12Same is the limit of no difference: the page tells its reader to ignore
// less than 10 %.
const p12SameLow, p12SameHigh = 0.90, 1.10

const (
	p12Summary   = "page, the summary (“In short”, “Slightly longer version”)"
	p12Alignment = "page, on aligning partitions"
	p12Options   = "page, on mount options"
	p12VfatWhere = "page, the last paragraphs of the summary"
)

// p12Similar is a sentence that figures of ext2 and vfat contradict.
const p12Similar = "“Either the results were similar or ext4 was far ahead”: "

// p12Created and p12Deleted are the columns of files.
var (
	p12Created = []string{"seq-create", "rnd-create"}
	p12Deleted = []string{"seq-delete", "rnd-delete"}
)

func p12Claims() []Claim {
	var all []Claim
	for _, table := range p12Numbers() {
		if table.Storage != p12CardOf(table.Storage) {
			continue // the same table again
		}
		c := Claim{ID: "table-" + table.Key, Where: table.Source, Storage: table.Storage,
			Text:  "the filesystems' order in “" + table.Name + "” on the " + p12CardName(table.Storage) + " card",
			Check: NumbersCheck{Table: table.Key}}
		if table.Column == "block-read" { // within the noise that the source states
			c.Text = "“" + table.Name + "” takes all filesystems equally long on the " + p12CardName(table.Storage) + " card (within 15 %, for its noise and ours)"
			c.Check = SpreadCheck{Column: table.Column, High: 1.15}
		}
		all = append(all, c)
	}
	all = append(all, p12Ext4Claims()...)
	all = append(all, p12VfatClaims()...)
	all = append(all, p12OptionClaims()...)
	all = append(all, p12AlignmentClaims()...)
	return append(all,
		Claim{ID: "card2-writes", Storage: p12Card2, Text: "card 2 writes faster than it reads", Where: "page, on the cards",
			Check: FindingCheck{Key: probe.WriteSpeed, Of: probe.ReadSpeed, Low: 1}, Follows: "the rates of its bus"},
		// The difference of two means of five runs is significant from 1.46 times the
		// standard deviation of a run on (Student's t with 8 degrees of freedom).
		Claim{ID: "noise", Text: "repetitions vary so much that differences under 10 % between means of five mean nothing (a standard deviation of 6.9 %; half to twice as much counts as agreement)",
			Where: "page, on the test procedure", Follows: "its times, which have no noise",
			Check: NoiseCheck{Of: p12Tested(), Low: 0.069 / 2, High: 0.069 * 2}},
	)
}

// p12Tested are the columns of the published tests.
func p12Tested() (keys []string) {
	for _, c := range p12Columns() {
		if !c.Extra {
			keys = append(keys, c.Key)
		}
	}
	return keys
}

// p12Ext4Claims compares ext4 with the others, and with and without its
// journal.
func p12Ext4Claims() []Claim {
	ratio := func(id, text, column, a string, high float64, b ...string) Claim {
		return Claim{ID: id, Text: text, Where: p12Summary, Check: RatioCheck{Column: column, A: a, B: b, High: high}}
	}
	contradicted := map[string]string{
		"seeks":    p12Similar + "on card 1 vfat makes 53.6 seeks a second and ext4 30.6 without and 32.9 with a journal",
		"seq-stat": p12Similar + "ext2 reads the metadata of files created in sequence 1.12, 1.12 and 1.19 times as fast as ext4 without a journal on the three cards",
	}
	var all []Claim
	for _, c := range p12Columns() {
		if c.Extra {
			continue
		}
		one := ratio("ext4-"+c.Key, "ext4 (without a journal, where one does not matter) is as good as any other, or far ahead: "+c.Name+" takes it at most 10 % longer",
			c.Key, p12NoJournal, p12SameHigh, p12Ext2, p12Ext3, p12Vfat)
		one.Contradicted = contradicted[c.Key]
		all = append(all, one)
	}
	for _, card := range []string{p12Card1, p12Card3} { // on card 2 it is one test
		all = append(all, Claim{ID: "ext4-ext2-" + card, Storage: card, Where: p12Summary,
			Text:  "even with a journal ext4 leaves ext2 far behind in a couple of tests (at most two thirds of the time in two of them)",
			Check: SeveralCheck{Of: p12Tested(), A: p12Ext4, B: p12Ext2, High: 2.0 / 3, Least: 2}})
	}
	all = append(all, ratio("ext4-ext2", "even with a journal ext4 leaves ext2 far behind in the block write (at most two thirds of the time)",
		"block-write", p12Ext4, 2.0/3, p12Ext2))
	for _, key := range p12Created {
		all = append(all, ratio("journal-"+key, "a journal slows the creation of files (without it at least 10 % faster)", key, p12NoJournal, 1/1.1, p12Ext4))
	}
	return all
}

// p12VfatClaims: strong in bulk, weak with many files.
func p12VfatClaims() []Claim {
	var all []Claim
	claim := func(id, text, storage string, k Check) {
		all = append(all, Claim{ID: "vfat-" + id, Text: text, Where: p12VfatWhere, Storage: storage, Check: k})
	}
	claim("seeks", "vfat is the clear winner of the random seeks on card 1", p12Card1, BestCheck{Column: "seeks", Candidate: p12Vfat, Among: p12Candidates()})
	all[0].Follows = "its open segments, and the area at its start that takes small writes"
	for _, key := range []string{"block-write", "rewrite", "block-read"} {
		claim("bulk-"+key, "vfat is not bad at bulk work ("+key+": at most half as long again as ext4 with its journal)", "",
			RatioCheck{Column: key, A: p12Vfat, B: []string{p12Ext4}, High: 1.5})
	}
	for _, key := range slices.Concat(p12Created, []string{"seq-stat", "rnd-stat"}, p12Deleted) {
		claim("files-"+key, "vfat is behind with many files ("+key+": slower than ext4 without a journal)", "",
			RatioCheck{Column: key, A: p12Vfat, B: []string{p12NoJournal}, Low: 1})
	}
	return all
}

// p12OptionClaims has the effects of mount options and stride. The limits for
// dirsync lie below the least change in the tables (4.5 times in creating and
// in deleting in sequence, 1.7 times in deleting at random).
func p12OptionClaims() []Claim {
	effect := func(id, text, where string, k Check) Claim {
		return Claim{ID: id, Text: text, Where: where, Check: k}
	}
	var all []Claim
	for _, key := range []string{"seq-create", "seq-delete", "rnd-create"} {
		all = append(all, effect("dirsync-"+key, "dirsync cripples the creation and the deletion of files (at least three times as long)",
			p12Summary, EffectCheck{Column: key, Variant: p12Dirsync, Low: 3}))
	}
	stat := effect("dirsync-vfat-stat", "vfat reads the metadata of files that were created in sequence faster with dirsync", p12VfatWhere,
		EffectCheck{Column: "seq-stat", Variant: p12Dirsync, High: p12SameLow, Candidates: []string{p12Vfat}})
	stat.At = "claims"
	// The page wonders at its own figure, and has a tenth of the files with dirsync.
	fewer := effect("fewer-vfat-stat", "what makes that reading faster is the tenth of the files, not dirsync: with as few files and without dirsync it is faster, too", p12VfatWhere,
		EffectCheck{Column: "seq-stat", Variant: p12Fewer, High: p12SameLow, Candidates: []string{p12Vfat}})
	fewer.At = "claims"
	always := effect("atime-writes", "recording the time of access adds writes to reads (reading many files writes at least twice as much as with relatime)", p12Options,
		EffectCheck{Column: "written-by-reading", Variant: p12Always, Low: 2})
	always.At = "claims"
	all = append(all, always,
		effect("dirsync-rnd-delete", "dirsync cripples the deletion of files in random order (at least half as long again)", p12Summary,
			EffectCheck{Column: "rnd-delete", Variant: p12Dirsync, Low: 1.5}),
		stat, fewer)
	for _, key := range p12Tested() {
		column, _ := Study{Columns: p12Columns()}.Column(key)
		var pairs EveryCheck
		for _, name := range p12Pairs() {
			pairs = append(pairs, EffectCheck{Column: key, Variant: name, Low: p12SameLow})
		}
		every := effect("strides-"+key, "no combination of stride and stripe-width gains anything ("+column.Name+" by at most 10 %)", p12Options, pairs)
		every.At = "claims"
		all = append(all, every,
			effect("noatime-"+key, "relatime instead of noatime costs almost nothing ("+column.Name+": noatime gains at most 10 %)", p12Summary,
				EffectCheck{Column: key, Variant: p12Noatime, Low: p12SameLow}),
			effect("stride-"+key, "stride and stripe-width gain nothing ("+column.Name+" by at most 10 %)", p12Options,
				EffectCheck{Column: key, Variant: p12Stride, Low: p12SameLow}))
	}
	return all
}

// p12AlignmentClaims is about a partition that does not begin on an erase block
// boundary. The page gives no figures: to ruin is taken to be at least half as
// long again, and no degradation to be within its noise.
func p12AlignmentClaims() []Claim {
	var all []Claim
	claim := func(card, key, text string, k EffectCheck) {
		k.Column, k.Variant = key, p12Shifted
		all = append(all, Claim{ID: "alignment-" + card + "-" + key, Text: text, Where: p12Alignment, Storage: card, Check: k, Follows: "its scheme of mapping and buffering blocks"})
	}
	for _, card := range []string{p12Card1, p12Card2} {
		for _, key := range slices.Concat(p12Created, p12Deleted) {
			claim(card, key, "a partition that is not aligned to erase blocks ruins the performance of metadata updates on cards 1 and 2 ("+key+": at least half as long again)", EffectCheck{Low: 1.5})
		}
	}
	for _, key := range p12Tested() {
		claim(p12Card3, key, "card 3 loses no performance where the partition is not aligned ("+key+": at most 10 %)", EffectCheck{High: p12SameHigh})
	}
	return all
}
