package filesystem

import (
	"strings"

	"whichfs/internal/fault/script"
)

// What filesystems promise of the state after a power cut, beyond fsync(2),
// which alone promises that a file's contents are kept after fsync, and its name
// after fsync of its directory. Only what documents say counts; a filesystem may
// do better than it promises.
//
// Options that keep flushes from the storage (nobarrier, barrier=0,
// fsync_mode=nobarrier) withdraw nothing here: programs that call fsync know
// nothing of them, so that what they lose is a loss, and to be found.

// Promises are those of the candidate, with what its general mount options add.
func (c Candidate) Promises() script.Promises {
	var p script.Promises
	if f := c.Filesystem().Promises; f != nil {
		p = f(c)
	}
	if switched(c, false, []string{"sync", "dirsync"}, []string{"async"}) {
		p.NewName = true
		p.Source = strings.TrimPrefix(p.Source+"; mount(8): with sync or dirsync directories are updated at once", "; ")
	}
	return p
}

// unjournaled are filesystems that say nothing of the state after a cut but that
// it needs a check.
func unjournaled(source string) func(Candidate) script.Promises {
	return func(Candidate) script.Promises { return script.Promises{NoJournal: true, Source: source} }
}

// extPromises: Documentation/admin-guide/ext4.rst. The mode data=ordered has data
// on storage before the metadata that belong to them are committed; with
// delayed allocation that holds for blocks that have been allocated, and
// auto_da_alloc, the default, allocates those of a file that is renamed over
// another, "in the default data=ordered mode". data=journal has no delayed
// allocation at all. data=writeback keeps no order between data and metadata, and
// old data may appear in files (ext4(5)). Transactions are replayed in their
// sequence (Documentation/filesystems/ext4/journal.rst), so that with the inode
// of a new file, which fsync commits, its name is kept; fast commits hold single
// inodes instead.
func extPromises(c Candidate) script.Promises {
	journal := c.FS != "ext2"
	for _, o := range extSyntax.read(c.Make()) {
		journal = journal || o.Flag == "-j"
	}
	if !featured(c, extSyntax, "-O", "has_journal", journal) {
		return script.Promises{NoJournal: true, Source: extDocs + ": without a journal a full check is needed after a crash"}
	}
	mode := "ordered"
	for _, o := range c.Mount() {
		if v, ok := strings.CutPrefix(o, "data="); ok {
			mode = v
		}
	}
	// ext3 has no delayed allocation (ext4.rst: "roughly the same level of
	// guarantees as ext3").
	allocates := c.FS == "ext3" || mode == "journal" ||
		switched(c, true, []string{"auto_da_alloc", "auto_da_alloc=1", "nodelalloc"}, []string{"noauto_da_alloc", "auto_da_alloc=0"}) ||
		!switched(c, true, []string{"delalloc"}, []string{"nodelalloc"})
	return script.Promises{
		NewName: true, AtomicReplace: true,
		ReplaceSyncs: mode != "writeback" && allocates,
		Ordered:      !featured(c, extSyntax, "-O", "fast_commit", false),
		NoStale:      mode != "writeback",
		Source:       "Linux Documentation/admin-guide/ext4 (data=, auto_da_alloc), filesystems/ext4/journal, ext4(5)",
	}
}

// xfsPromises: checkpoints of the log are strictly ordered
// (Documentation/filesystems/xfs/xfs-delayed-logging-design.rst), and space that
// was not written reads as zeros, whatever it held (unwritten extents, XFS FAQ).
// Of a rename over a file it promises nothing where nobody synced: the FAQ asks
// for fsync.
func xfsPromises(Candidate) script.Promises {
	return script.Promises{
		NewName: true, AtomicReplace: true, Ordered: true, NoStale: true,
		Source: "Linux Documentation/filesystems/xfs/xfs-delayed-logging-design; XFS FAQ (xfs.org)",
	}
}

// btrfsPromises: file extents are entered once their data are on storage, and a
// commit is atomic (btrfs documentation, design). The FAQ's guarantee that a
// rename over a file leaves the one or the other, whole, although nobody synced,
// has not held since Linux 3.17, as its developers confirmed to the GLib project
// (merge request 2425). fsync logs one file with its names, past older
// operations, so that nothing is promised of the order. Mohan et al. (OSDI 2018)
// name what its developers hold fsync to.
func btrfsPromises(Candidate) script.Promises {
	return script.Promises{
		NewName: true, AtomicReplace: true, NoStale: true,
		Source: "btrfs documentation (copy on write, tree log); GLib merge request 2425; Mohan et al., Finding Crash-Consistency Bugs with Bounded Black-Box Crash Testing, OSDI 2018",
	}
}

// f2fsPromises: a synced file is found again by its own inode block, which holds
// its name and its parent (Lee et al., F2FS, FAST 2015, roll-forward recovery).
// fsync_mode=posix, the default, promises what POSIX does; strict "behaves in
// line with xfs, ext4 and btrfs" (Documentation/filesystems/f2fs.rst).
func f2fsPromises(Candidate) script.Promises {
	return script.Promises{
		NewName: true, AtomicReplace: true,
		Source: "Linux Documentation/filesystems/f2fs (fsync_mode=); Lee et al., F2FS: A New File System for Flash Storage, FAST 2015",
	}
}

// nilfs2Promises: order=relaxed, the default, is "equivalent to the ordered data
// mode of the ext3 filesystem"; it lets data overtake, and metadata never;
// order=strict keeps "sequence of all file operations". Nothing says that the
// fsync of a file that was only renamed or linked keeps its new name, and it does
// not: there is nothing of the file to write.
func nilfs2Promises(Candidate) script.Promises {
	return script.Promises{
		AtomicReplace: true, ReplaceSyncs: true, Ordered: true, NoStale: true,
		Source: "Linux Documentation/filesystems/nilfs2 (order=)",
	}
}

// logged filesystems carry out single metadata operations wholly or not at all.
func logged(source string) func(Candidate) script.Promises {
	return func(Candidate) script.Promises { return script.Promises{AtomicReplace: true, Source: source} }
}
