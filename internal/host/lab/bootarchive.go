package lab

import (
	"fmt"
	"os"

	"whichfs/internal/sys/newc"
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
	var a newc.Archive
	a.Grow(len(binary) + 4<<20)
	for _, dir := range []string{"dev", "proc", "sys", "modules", "ro", "rw", "new"} {
		a.Add(dir, 0o040755, nil)
	}
	a.Add("init", 0o100755, binary)
	for n, name := range names {
		text, err := os.ReadFile(BootModule(dir, name))
		if err != nil {
			return nil, fmt.Errorf("boot archive: %w", err)
		}
		// The number preserves the order when the directory is listed.
		a.Add(fmt.Sprintf("modules/%02d-%s", n, name), 0o100644, text)
	}
	return a.Finish(), nil
}
