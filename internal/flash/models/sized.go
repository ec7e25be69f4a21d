package models

import (
	"fmt"
	"maps"

	"whichfs/internal/flash"
	"whichfs/internal/plan/media"
)

// share of a device that its FAT area, its write buffer and its fast cache may
// take, each, once it is made smaller.
const share = 16

// Sized returns the model with another size, as in sim:MODEL,SIZE. The
// geometry (pages, blocks, segments, how many are open, over-provisioning) and
// all times stay: a small copy behaves like a part of the large device. The
// FAT area, the write buffer and the fast cache stay as they are while they
// are no more than a sixteenth of the device, and are that sixteenth, in whole
// segments, blocks or pages, on a smaller one: a cache that held most of the
// device would hide the flash behind it. One that would be less than its own
// smallest unit is left out. A disk keeps its curve of seeks over the stroke
// and its speeds from the outermost to the innermost track: it is a disk of
// that size, not the outer part of a large one. Sources say what was changed.
// Size 0 is the model's own.
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

// limit brings a part down to its share of the device, in whole units.
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
