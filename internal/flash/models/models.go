package models

import (
	"embed"
	"fmt"
	"sort"
	"strings"
	"sync"

	"whichfs/internal/flash"
)

// data holds the shipped models, one file each.
//
//go:embed data/*.toml
var data embed.FS

// shipped lists the models of data in display order: cards, then soldered and
// plugged-in devices, then disks. A test compares the list with the files.
var shipped = []string{
	"sd-basic", "sd-a2", "sd-class4", "sd-class6", "sd-class10",
	"pandora-sdxc-64g", "pandora-sdhc-16g", "pandora-microsdhc-16g", "pandora-microsdhc-16g-open",
	"emmc", "emmc-4g", "usb-stick", "ssd-sata-usb", "nvme", "hdd",
	"devbuild-usb-ssd", "devbuild-nvme", "devbuild-hdd", "free",
}

// read reads the shipped models once.
var read = sync.OnceValues(func() ([]flash.Model, error) {
	all := make([]flash.Model, len(shipped))
	for i, name := range shipped {
		content, err := data.ReadFile("data/" + name + ".toml")
		if err != nil {
			return nil, fmt.Errorf("shipped model %s: %w", name, err)
		}
		if all[i], err = Parse("shipped model "+name+".toml", content); err != nil {
			return nil, err
		}
	}
	return all, nil
})

// All returns the shipped models. Their Sources are shared and must not be
// changed.
func All() ([]flash.Model, error) {
	all, err := read()
	return append([]flash.Model(nil), all...), err
}

// Names returns the names of the shipped models.
func Names() []string { return append([]string(nil), shipped...) }

// ByName returns a shipped model; the error for an unknown name lists the
// known ones.
func ByName(name string) (flash.Model, error) {
	all, err := read()
	if err != nil {
		return flash.Model{}, err
	}
	for _, m := range all {
		if m.Name == name {
			return m, nil
		}
	}
	known := Names()
	sort.Strings(known)
	return flash.Model{}, fmt.Errorf("there is no model %q; use %s, or the path of a model file (./card.toml)", name, strings.Join(known, ", "))
}

// IsPath reports whether spec is the path of a model file: it contains a slash
// or ends in .toml.
func IsPath(spec string) bool {
	return strings.Contains(spec, "/") || strings.HasSuffix(spec, ".toml")
}

// Resolve returns the shipped model of that name, or loads the file at that
// path.
func Resolve(spec string) (flash.Model, error) {
	if IsPath(spec) {
		return Load(spec)
	}
	return ByName(spec)
}
