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

// shipped are the models of data in the order of lists: cards, then what is
// soldered or plugged in, then disks. A test holds the list against the files.
var shipped = []string{
	"sd-basic", "sd-a2",
	"pandora-sdxc-64g", "pandora-sdhc-16g", "pandora-microsdhc-16g",
	"emmc", "usb-stick", "ssd-sata-usb", "nvme", "hdd",
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

// Names of the shipped models.
func Names() []string { return append([]string(nil), shipped...) }

// ByName returns a shipped model; an unknown name lists the known ones.
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
	return flash.Model{}, fmt.Errorf("there is no model %q; known are %s, and a model file by its path (./card.toml)", name, strings.Join(known, ", "))
}

// IsPath reports whether a model is given as the path of a model file: it has
// a slash or ends in .toml.
func IsPath(spec string) bool {
	return strings.Contains(spec, "/") || strings.HasSuffix(spec, ".toml")
}

// Resolve finds a model by the name of a shipped one or the path of a file.
func Resolve(spec string) (flash.Model, error) {
	if IsPath(spec) {
		return Load(spec)
	}
	return ByName(spec)
}
