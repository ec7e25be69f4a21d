package qemu

import "whichfs/internal/plan/media"

// nandArray is the simulator's overhead per page, used or not: one pointer, in bytes.
const nandArray = 8

// chipMemory is the most that a simulated raw chip takes of a guest's memory, in bytes: twice the
// contents of all pages, spare bytes included, because a chip's contents are kept while another one
// takes its place (workload.Chip); plus an eighth for how the kernel's allocator packs pages of odd
// sizes (528 and 2112 bytes). Unused pages take no memory.
func chipMemory(n media.NAND) int64 {
	all := n.Pages() * int64(n.Page+n.OOB)
	return upToMiB(2*all + all/8 + n.Pages()*nandArray)
}
