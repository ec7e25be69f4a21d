package filesystem

import (
	"testing"

	"whichfs/internal/fault/script"
)

// Documented promises of the options that change them.
func TestPromises(t *testing.T) {
	all := script.Promises{NewName: true, AtomicReplace: true, ReplaceSyncs: true, Ordered: true, NoStale: true}
	without := func(p script.Promises, drop func(*script.Promises)) script.Promises {
		drop(&p)
		return p
	}
	noReplace := without(all, func(p *script.Promises) { p.ReplaceSyncs = false })
	writeback := without(noReplace, func(p *script.Promises) { p.NoStale = false })
	noNames := without(all, func(p *script.Promises) { p.NewName = false })
	posix := script.Promises{NewName: true, AtomicReplace: true}
	for line, want := range map[string]script.Promises{
		"ext2": {NoJournal: true}, "ext4 -O ^has_journal": {NoJournal: true}, "vfat": {NoJournal: true}, "exfat": {NoJournal: true},
		"ext2 -j": all, "vfat -o dirsync": {NoJournal: true, NewName: true}, "vfat -o sync,async": {NoJournal: true},
		"ext3": all, "ext4": all, "ext4 -o data=ordered": all, "ext4 -o data=journal,noauto_da_alloc": all, "ext3 -o noauto_da_alloc": all,
		"ext4 -o noauto_da_alloc": noReplace, "ext4 -o auto_da_alloc=0": noReplace, "ext4 -o noauto_da_alloc,nodelalloc": all,
		"ext4 -o data=writeback": writeback, "ext3 -o data=writeback": writeback,
		"ext4 -O fast_commit": without(all, func(p *script.Promises) { p.Ordered = false }),
		// Options that suppress flushes withdraw no promise.
		"ext4 -o nobarrier": all, "ext4 -o barrier=0": all, "f2fs -o fsync_mode=nobarrier": posix,
		"xfs": noReplace, "btrfs": without(noReplace, func(p *script.Promises) { p.Ordered = false }), "f2fs": posix, "f2fs -o fsync_mode=strict": posix,
		"nilfs2": noNames, "nilfs2 -o order=strict": noNames, "jfs": {AtomicReplace: true}, "reiserfs": {AtomicReplace: true},
	} {
		c := parse(t, line)
		got := c.Promises()
		if (got != script.Promises{}) && got.Source == "" {
			t.Errorf("%s: no source", line)
		}
		got.Source = ""
		if got != want {
			t.Errorf("%s: %+v, want %+v", line, got, want)
		}
		if f := c.Filesystem().Promises; f == nil || f(c).Source == "" {
			t.Errorf("%s: the filesystem says nothing", line)
		}
	}
}
