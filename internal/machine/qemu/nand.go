package qemu

import "whichfs/internal/plan/media"

// nandArray is what the simulated chip keeps of every page whether it holds
// something or not: one pointer, in bytes.
const nandArray = 8

// chipMemory is what a simulated raw chip takes at most of a guest's memory, in
// bytes: twice what all of its pages hold, spare bytes included, because a
// chip's contents are beside it while another one is put in its place
// (workload.Chip); and an eighth for how the kernel's allocator packs pages of
// odd sizes (528 and 2112 bytes). What no page uses, nobody takes.
func chipMemory(n media.NAND) int64 {
	all := n.Pages() * int64(n.Page+n.OOB)
	return upToMiB(2*all + all/8 + n.Pages()*nandArray)
}
