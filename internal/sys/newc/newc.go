// Package newc writes archives in the cpio format of that name, the only one that the kernel reads when it boots
// (Documentation/driver-api/early-userspace/buffer-format.rst): headers of hexadecimal digits, everything aligned
// to four bytes.
package newc

import (
	"bytes"
	"fmt"
)

// Archive is an archive in memory. The zero value is an empty one.
type Archive struct {
	buf   bytes.Buffer
	inode int
}

// Grow makes room for n more bytes, so that they are not copied when the archive grows.
func (a *Archive) Grow(n int) { a.buf.Grow(n) }

// Add adds a file, a directory or a symbolic link, whose content is its target. mode has the kind as well, as in
// stat(2); everything belongs to root.
func (a *Archive) Add(name string, mode uint32, content []byte) {
	a.inode++
	links := 1
	if mode&0o170000 == 0o040000 {
		links = 2
	}
	a.header(a.inode, mode, links, len(content), name)
	a.buf.Write(content)
	a.align()
}

func (a *Archive) header(inode int, mode uint32, links, size int, name string) {
	// magic ino mode uid gid nlink mtime filesize devmajor devminor rdevmajor
	// rdevminor namesize check
	fmt.Fprintf(&a.buf, "070701%08x%08x%08x%08x%08x%08x%08x%08x%08x%08x%08x%08x%08x",
		inode, mode, 0, 0, links, 0, size, 0, 0, 0, 0, len(name)+1, 0)
	a.buf.WriteString(name)
	a.buf.WriteByte(0)
	a.align()
}

func (a *Archive) align() {
	for a.buf.Len()%4 != 0 {
		a.buf.WriteByte(0)
	}
}

// Finish ends the archive and returns it. The kernel reads several, one after the other.
func (a *Archive) Finish() []byte {
	a.header(0, 0, 1, 0, "TRAILER!!!")
	return a.buf.Bytes()
}
