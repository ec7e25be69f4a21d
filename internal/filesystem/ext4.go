package filesystem

import "encoding/binary"

// Ext4 is the default filesystem of most distributions.
func Ext4() Filesystem {
	return Filesystem{
		Name: "ext4", Title: "ext4", Module: "ext4", LateWork: extLateWork,
		Codecs:     extCodecs,
		Needs:      extTools("ext4"),
		MinSize:    ext4MinSize,
		LeftOut:    ext4LeftOut,
		MaxSize:    extMaxSize,
		Lacks:      holdsAll,
		Make:       extMake("ext4"),
		Journal:    extJournal,
		Check:      extCheck,
		ReadCheck:  readExtCheck,
		Repair:     extRepair,
		ReadRepair: readExtRepair,
		Promises:   extPromises,
		Tune:       tuneExt,
		Verify:     verifyExt,
		Properties: extProperties,
		Own:        []string{"lost+found"},
		Magics:     extMagics,
		Threads:    extThreads,
		says:       extSays,
		syntax:     extSyntax,
		Abilities: extAbilities("ext4", map[Ability]Means{
			Defragment: {Mounted: true, Steps: func(o Object) [][]string { return [][]string{{"e4defrag", o.File}} }},
			// Files keep their block maps; new ones get extents.
			Convert: {From: "ext3", Steps: func(o Object) [][]string {
				return [][]string{{"tune2fs", "-O", "extents,uninit_bg,dir_index", o.Device}, {"e2fsck", "-f", "-y", o.Device}}
			}},
		}),
		Facts: Facts{
			Year: 2006, Design: "journaling", Encryption: true, DatesUntil: "2446",
			MaxFile: "16 TiB", MaxSize: "1 EiB",
			Source: extSource,
		},
	}
}

// ext4MinSize: with fewer than 2048 blocks mke2fs silently omits the journal, so an ext4 that small
// is a different candidate.
func ext4MinSize(c Candidate) int64 {
	for _, o := range extSyntax.read(c.Make()) {
		if o.Flag == "-O" && (o.Value == "^has_journal" || o.Value == "none") {
			return extMinSize
		}
	}
	return 2 * mib
}

// ext4LeftOut: the journal.
func ext4LeftOut(c Candidate, seen Evidence) string {
	s, err := readSuper(seen, 1024, 1024, binary.LittleEndian, 0x38, "\x53\xef")
	if err == nil && extProperties(c).Journal.Has && s.bits(0x5c)&extFeatures["has_journal"].bit == 0 {
		return "its journal"
	}
	return ""
}
