package models

import (
	"fmt"
	"maps"

	"whichfs/internal/flash"
	"whichfs/internal/plan/media"
)

// share limits the FAT area, the write buffer and the fast cache, each, to
// this part of a smaller device.
const share = 16

// Sized returns the model with another size, as in sim:MODEL,SIZE. The
// geometry (pages, blocks, segments, open segments, over-provisioning) and all
// times stay the same: a small copy behaves like a part of the large device. On a
// smaller device the FAT area, the write buffer and the fast cache are each
// limited to a sixteenth of the device, in whole segments, blocks or pages: a
// cache that held most of the device would hide the flash behind it. One that
// would be smaller than its unit is removed. A disk keeps its seek curve over
// the stroke and its speeds from the outermost to the innermost track: it is a
// disk of that size, not the outer part of a large one. Sources record the
// changes. Size 0 is the model's own.
func Sized(m flash.Model, size int64) (flash.Model, error) {
	if size == 0 || size == m.Size {
		return m, nil
	}
	own := m.Size
	m.Size = size
	m.Sources = maps.Clone(m.Sources)
	if m.Sources == nil {
		m.Sources = map[string]string{}
	}
	m.Sources["size"] = "asked for; the model's own size is " + media.FormatSize(own)
	if size < own {
		limit(&m, "fat", &m.FAT, max(m.Map.Segment, m.Media.Page))
		limit(&m, "buffer.size", &m.Buffer.Size, m.Media.Page)
		limit(&m, "fast.size", &m.Fast.Size, m.Media.Block)
		if m.Fast.Size == 0 && m.Fast != (flash.Fast{}) {
			m.Fast = flash.Fast{}
			for _, key := range []string{"fast.program", "fast.read", "fast.idle"} {
				delete(m.Sources, key)
			}
		}
	}
	for _, f := range m.Check() {
		return flash.Model{}, fmt.Errorf("model %s with a size of %s: %s: %s", m.Name, media.FormatSize(size), f.Key, f.Text)
	}
	return m, nil
}

// limit reduces a part to its share of the device, in whole units.
func limit(m *flash.Model, key string, part *int64, unit int64) {
	most := m.Size / share
	if *part <= most {
		return
	}
	if unit > 0 {
		most -= most % unit
	}
	m.Sources[key] = fmt.Sprintf("the model's %s, limited to a sixteenth of the size; %s", media.FormatSize(*part), m.Sources[key])
	*part = most
	if most == 0 {
		delete(m.Sources, key)
	}
}
