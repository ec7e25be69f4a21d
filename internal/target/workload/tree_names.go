package workload

import "whichfs/internal/target/memory"

// names remembers files with several names while a tree is read, as cp and tar do: contents are
// read under the first name only. For a known tree, everything that it needs is allocated when it
// is made. A file for which no room is left counts as one that was never met, and is read again.
type names struct {
	table []named // open addressing; its length is a power of two
	used  int
	paths []byte // each with its NUL
}

type named struct {
	device, inode uint64
	path          int // where it begins in paths, from 1; 0: the slot is free
}

// newNames makes room for the files of a tree that have several names; none if tree is nil.
func newNames(tree *memory.Tree) *names {
	files, length := 0, 0
	if tree != nil {
		for i := range tree.Entries {
			if e := &tree.Entries[i]; e.Kind == memory.Hardlink {
				files++
				length += len(e.Path) + len(e.Target)
			}
		}
	}
	size := 1
	for size < 2*files {
		size *= 2
	}
	return &names{table: make([]named, size), paths: make([]byte, 0, length)}
}

// first returns the name under which a file was met before; otherwise it records the current name
// of the walk and returns nil.
func (n *names) first(device, inode uint64, w *walk) *byte {
	at := int(inode*0x9E3779B97F4A7C15>>32) & (len(n.table) - 1) // Fibonacci hashing, Knuth 6.4
	for ; n.table[at].path != 0; at = (at + 1) & (len(n.table) - 1) {
		if e := n.table[at]; e.device == device && e.inode == inode {
			return &n.paths[e.path-1]
		}
	}
	begin := len(n.paths)
	if 2*(n.used+1) > len(n.table) || !n.remember(w) {
		n.paths = n.paths[:begin]
		return nil
	}
	n.used++
	n.table[at] = named{device, inode, begin + 1}
	return nil
}

// remember appends the path of the current entry, from the top of the walk; false if no room is
// left.
func (n *names) remember(w *walk) bool {
	for i := range w.frames[:w.depth] {
		name := w.frames[i].name
		if len(n.paths)+len(name) > cap(n.paths) {
			return false
		}
		n.paths = append(n.paths, name...)
		if i < w.depth-1 {
			n.paths[len(n.paths)-1] = '/' // its NUL
		}
	}
	return true
}
