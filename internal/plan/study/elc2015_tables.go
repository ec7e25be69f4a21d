package study

const e15Source = "Filesystem considerations for embedded devices (ELC 2015, Linux 3.19, BeagleBone Black)"

// e15Numbers are the tables and the list of figures on the slides; their charts
// have no figures. The slides write MB where the figures are MiB: ext4 on 1 GiB
// has 976 MiB besides its journal and inode tables.
func e15Numbers() []Numbers {
	const stats, check = "slide “MKFS stats”", "slide “FSCK”, statistics on clean filesystem check"
	table := func(key, name, where, column, unit string, cells ...Published) Numbers {
		return Numbers{Key: key, Name: name, Source: e15Source + ", " + where, Column: column, Unit: unit, Cells: cells}
	}
	none := func(text string) Published {
		return Published{Candidate: e15Nilfs2, Label: "NILFS", Text: text}
	}
	return []Numbers{
		table("total", "Size after formatting", stats, "total", "MiB", e15Row(976, 1024, 1023, 981, 936)...),
		table("empty", "Used when empty", stats, "empty", "MiB", e15Row(1.3, 0.25, 141, 32, 16)...),
		table("threads", "Kernel threads once mounted", "slide “MKFS stats”, the list below the table", "threads", "1", e15Row(2, 23, 1, 5, 1)...),
		table("check", "Check of a clean filesystem, real time", check, "check", "ms", append(e15Row(60, 130, 2090, 1320), none("NA"))...),
		table("check-cpu", "Check of a clean filesystem, system and user time", check, "check-cpu", "ms", append(e15Row(0+10, 20+40, 960+740, 300+0), none("NA"))...),
	}
}

// e15Row makes the figures of a table in the order of its rows.
func e15Row(values ...float64) []Published {
	rows := []Published{
		{Candidate: e15Ext4, Label: "EXT4"}, {Candidate: e15Btrfs, Label: "BTRFS"}, {Candidate: e15F2fs, Label: "F2FS"},
		{Candidate: e15Xfs, Label: "XFS"}, {Candidate: e15Nilfs2, Label: "NILFS"},
	}
	for i, v := range values {
		rows[i].Value = v
	}
	return rows[:len(values)]
}
