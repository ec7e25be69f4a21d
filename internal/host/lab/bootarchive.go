package lab

import (
	"bytes"
	"fmt"
	"os"
)

// BootArchive makes the archive that the kernel unpacks when it boots: the
// agent as /init, which becomes PID 1, and the modules needed to reach the
// root image. It is made for each run, so that a new agent never needs a new
// image, and not compressed, because decompressing costs the guest more than
// reading.
func (i Image) BootArchive(agent string) ([]byte, error) {
	return RootArchive(agent, i.Dir, i.Manifest.Modules)
}

// RootArchive makes a boot archive for the root image. names are files that
// BootModules copied below dir.
func RootArchive(agent, dir string, names []string) ([]byte, error) {
	binary, err := os.ReadFile(agent)
	if err != nil {
		return nil, fmt.Errorf("agent: %w", err)
	}
	var a newc
	a.buf.Grow(len(binary) + 4<<20)
	for _, dir := range []string{"dev", "proc", "sys", "modules", "ro", "rw", "new"} {
		a.add(dir, 0o040755, nil)
	}
	a.add("init", 0o100755, binary)
	for n, name := range names {
		text, err := os.ReadFile(BootModule(dir, name))
		if err != nil {
			return nil, fmt.Errorf("boot archive: %w", err)
		}
		// The number preserves the order when the directory is listed.
		a.add(fmt.Sprintf("modules/%02d-%s", n, name), 0o100644, text)
	}
	return a.finish(), nil
}

// newc writes the cpio format of that name, the only one that the kernel reads
// (Documentation/driver-api/early-userspace/buffer-format.rst): headers of
// hexadecimal digits, everything aligned to four bytes.
type newc struct {
	buf   bytes.Buffer
	inode int
}

func (a *newc) add(name string, mode uint32, content []byte) {
	a.inode++
	links := 1
	if mode&0o170000 == 0o040000 {
		links = 2
	}
	a.header(a.inode, mode, links, len(content), name)
	a.buf.Write(content)
	a.align()
}

func (a *newc) header(inode int, mode uint32, links, size int, name string) {
	// magic ino mode uid gid nlink mtime filesize devmajor devminor rdevmajor
	// rdevminor namesize check
	fmt.Fprintf(&a.buf, "070701%08x%08x%08x%08x%08x%08x%08x%08x%08x%08x%08x%08x%08x",
		inode, mode, 0, 0, links, 0, size, 0, 0, 0, 0, len(name)+1, 0)
	a.buf.WriteString(name)
	a.buf.WriteByte(0)
	a.align()
}

func (a *newc) align() {
	for a.buf.Len()%4 != 0 {
		a.buf.WriteByte(0)
	}
}

func (a *newc) finish() []byte {
	a.header(0, 0, 1, 0, "TRAILER!!!")
	return a.buf.Bytes()
}
