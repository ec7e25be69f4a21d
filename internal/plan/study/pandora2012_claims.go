package study

import "slices"

// p12Same is the limit of no difference: the page tells its reader to ignore
// less than 10 %.
const p12SameLow, p12SameHigh = 0.90, 1.10

const (
	p12Summary   = "page, the summary (“In short”, “Slightly longer version”)"
	p12Alignment = "page, on aligning partitions"
	p12Options   = "page, on mount options"
)

// p12Created and p12Deleted are the columns of files.
var (
	p12Created = []string{"seq-create", "rnd-create"}
	p12Deleted = []string{"seq-delete", "rnd-delete"}
)

func p12Claims() []Claim {
	var all []Claim
	for _, table := range p12Numbers() {
		all = append(all, Claim{ID: "table-" + table.Key, Where: table.Source, Storage: table.Storage,
			Text:  "the filesystems' order in “" + table.Name + "” on the " + p12CardName(table.Storage) + " card",
			Check: NumbersCheck{Table: table.Key}})
	}
	all = append(all, p12Ext4Claims()...)
	all = append(all, p12OptionClaims()...)
	all = append(all, p12AlignmentClaims()...)
	return append(all,
		Claim{ID: "vfat-seeks", Storage: p12Card1, Text: "vfat is the clear winner of the random seeks on card 1", Where: "page, the last paragraph of the summary",
			Check: BestCheck{Column: "seeks", Candidate: p12Vfat}},
		Claim{ID: "noise", Text: "differences under 10 % are noise", Where: "page, on the test procedure",
			Check: Untested("the claim is about the five runs of the source; our own noise is in the interval of every figure, and the default margin of interest is also 10 %")},
	)
}

// p12Ext4Claims compares ext4 with the others, and with and without its
// journal.
func p12Ext4Claims() []Claim {
	ratio := func(id, text, column, a string, high float64, b ...string) Claim {
		return Claim{ID: id, Text: text, Where: p12Summary, Check: RatioCheck{Column: column, A: a, B: b, High: high}}
	}
	var all []Claim
	for _, c := range p12Columns() {
		if c.Extra {
			continue
		}
		all = append(all, ratio("ext4-"+c.Key, "ext4 (without a journal, where one does not matter) is as good as any other, or far ahead: "+c.Name+" takes it at most 10 % longer",
			c.Key, p12NoJournal, p12SameHigh, p12Ext2, p12Ext3, p12Vfat))
	}
	all = append(all, ratio("ext4-ext2", "even with a journal ext4 leaves ext2 far behind in a couple of tests (block write in at most two thirds of the time)",
		"block-write", p12Ext4, 2.0/3, p12Ext2))
	for _, key := range slices.Concat(p12Created, p12Deleted) {
		all = append(all, ratio("journal-"+key, "a journal slows the creation of files, and their deletion (without it at least 10 % faster)", key, p12NoJournal, 1/1.1, p12Ext4))
	}
	return all
}

// p12OptionClaims has the effects of mount options and stride. The limits for
// dirsync lie below the least change in the tables (4.5 times in creating and
// in deleting in sequence, 1.7 times in deleting at random).
func p12OptionClaims() []Claim {
	effect := func(id, text, where string, k EffectCheck) Claim {
		return Claim{ID: id, Text: text, Where: where, Check: k}
	}
	var all []Claim
	for _, key := range []string{"seq-create", "seq-delete", "rnd-create"} {
		all = append(all, effect("dirsync-"+key, "dirsync cripples the creation and the deletion of files (at least three times as long)",
			p12Summary, EffectCheck{Column: key, Variant: p12Dirsync, Low: 3}))
	}
	all = append(all,
		effect("dirsync-rnd-delete", "dirsync cripples the deletion of files in random order (at least half as long again)", p12Summary,
			EffectCheck{Column: "rnd-delete", Variant: p12Dirsync, Low: 1.5}),
		effect("dirsync-vfat-stat", "vfat reads the metadata of files that were created in sequence faster with dirsync", "page, the last paragraph of the summary",
			EffectCheck{Column: "seq-stat", Variant: p12Dirsync, High: p12SameLow, Candidates: []string{p12Vfat}}))
	for _, c := range p12Columns() {
		if c.Extra {
			continue
		}
		all = append(all,
			effect("noatime-"+c.Key, "relatime instead of noatime costs almost nothing ("+c.Name+" within 10 %)", p12Summary,
				EffectCheck{Column: c.Key, Variant: p12Noatime, Low: p12SameLow, High: p12SameHigh}),
			effect("stride-"+c.Key, "stride and stripe-width gain nothing ("+c.Name+" by at most 10 %)", p12Options,
				EffectCheck{Column: c.Key, Variant: p12Stride, Low: p12SameLow}))
	}
	return all
}

// p12AlignmentClaims is about a partition that does not begin on an erase block
// boundary. The page gives no figures; a quarter more time is more than its
// noise.
func p12AlignmentClaims() []Claim {
	var all []Claim
	for i, card := range []string{p12Card1, p12Card2, p12Card3} {
		for _, key := range slices.Concat(p12Created, p12Deleted) {
			k := EffectCheck{Column: key, Variant: p12Shifted, Low: 1.25}
			text := "a partition that is not aligned to erase blocks ruins the performance of metadata updates on cards 1 and 2 (at least a quarter longer)"
			if i == 2 {
				k.Low, k.High = p12SameLow, p12SameHigh
				text = "card 3 shows no difference between an aligned partition and one that is not (within 10 %)"
			}
			all = append(all, Claim{ID: "alignment-" + card + "-" + key, Text: text, Where: p12Alignment, Storage: card, Check: k,
				Follows: "its scheme of mapping and buffering blocks"})
		}
	}
	return all
}
