package qemu

import (
	"path/filepath"
	"strconv"

	"whichfs/internal/host/machine"
	"whichfs/internal/plan/media"
	"whichfs/internal/wire"
)

// carryModules gives the guest a disk with each kernel module file.
func (p *planned) carryModules(paths []string, arch string) error {
	files, err := machine.CheckModules(paths, arch)
	if err != nil {
		return err
	}
	for i, f := range files {
		path, err := filepath.Abs(paths[i])
		if err != nil {
			return err
		}
		serial := "module" + strconv.Itoa(i)
		p.config.disks = append(p.config.disks, disk{serial: serial, file: path, readOnly: true})
		p.prepare.Modules = append(p.prepare.Modules, wire.Module{Name: f.Base, Path: media.KindSerial + ":" + serial, Size: f.Size})
	}
	return nil
}
