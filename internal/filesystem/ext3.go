package filesystem

// Ext3 is ext2 with a journal, driven by the ext4 module.
func Ext3() Filesystem {
	return Filesystem{
		Name: "ext3", Title: "ext3", Module: "ext4", LateWork: extLateWork,
		Codecs: extCodecs,
		Needs:  extTools("ext3"),
		// Below 2 MiB there is no room for the smallest journal.
		MinSize:    least(2 * mib),
		MaxSize:    extMaxSize,
		Lacks:      holdsAll,
		Make:       extMake("ext3"),
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
		Abilities: extAbilities("ext3", map[Ability]Means{
			Convert: {From: "ext2", Steps: func(o Object) [][]string { return [][]string{{"tune2fs", "-j", o.Device}} }},
		}),
		Unable: map[Ability]string{Defragment: extNoDefragment},
		Facts: Facts{
			Year: 2001, Design: "journaling", DatesUntil: "2446 (2038 with inodes of 128 bytes)",
			MaxFile: "2 TiB", MaxSize: "16 TiB",
			Source: extSource,
		},
	}
}
