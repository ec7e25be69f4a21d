package filesystem

// Ext2 is the plain ancestor of ext3 and ext4, driven by the ext4 module.
func Ext2() Filesystem {
	return Filesystem{
		Name: "ext2", Title: "ext2", Module: "ext4", LateWork: extLateWork,
		Codecs:     extCodecs,
		Needs:      extTools("ext2"),
		MinSize:    least(extMinSize),
		MaxSize:    extMaxSize,
		Lacks:      holdsAll,
		Make:       extMake("ext2"),
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
		Abilities:  extAbilities("ext2", nil),
		Unable:     map[Ability]string{Defragment: extNoDefragment},
		Facts: Facts{
			Year: 1993, Design: "plain", DatesUntil: "2446 (2038 with inodes of 128 bytes)",
			MaxFile: "2 TiB", MaxSize: "16 TiB",
			Source: extSource,
		},
	}
}
