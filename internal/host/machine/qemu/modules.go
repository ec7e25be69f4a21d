package qemu

import (
	"path/filepath"

	"whichfs/internal/host/machine"
	"whichfs/internal/plan/media"
	"whichfs/internal/target/agent/pid1"
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
		serial := pid1.ModuleSerial(i)
		p.config.disks = append(p.config.disks, disk{serial: serial, file: path, readOnly: true})
		p.prepare.Modules = append(p.prepare.Modules, wire.Module{Name: f.Base, Path: media.KindSerial + ":" + serial, Size: f.Size})
	}
	return nil
}

// carryPrograms gives the guest a disk with the archive of each of the user's programs.
func (p *planned) carryPrograms(given []string, arch string) error {
	archives, err := machine.PackPrograms(given, arch)
	if err != nil {
		return err
	}
	for i, archive := range archives {
		serial := pid1.ProgramSerial(i)
		p.config.disks = append(p.config.disks, disk{serial: serial, file: archive, readOnly: true})
		p.prepare.Programs = append(p.prepare.Programs, media.KindSerial+":"+serial)
	}
	return nil
}
