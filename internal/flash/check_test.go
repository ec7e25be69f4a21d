package flash

import (
	"math"
	"strings"
	"testing"
	"time"
)

// TestCheck: Check names each impossible figure by its key, and New refuses
// it.
func TestCheck(t *testing.T) {
	disk := Model{Kind: KindDisk, Size: 1 << 30, Bus: plain().Bus, Disk: Disk{RPM: 7200, TrackSeek: time.Millisecond,
		MeanSeek: 8 * time.Millisecond, FullSeek: 15 * time.Millisecond, Outer: 150e6, Inner: 80e6}}
	page := plain(func(m *Model) { m.Map = Map{Scheme: SchemePage, Spare: 0.1} })
	for _, m := range []Model{plain(), tiny(SchemeHybrid, withFAT, withFast, withBuffer), page, disk, {Kind: KindFree, Size: 512}} {
		if f := m.Check(); len(f) > 0 {
			t.Errorf("a good model: %v", f)
		}
	}
	for _, c := range []struct {
		key    string
		model  Model
		change func(m *Model)
	}{
		{"name", plain(), func(m *Model) { m.Name = "a b" }},
		{"kind", plain(), func(m *Model) { m.Kind = "" }},
		{"size", plain(), func(m *Model) { m.Size = 0 }},
		{"size", plain(), func(m *Model) { m.Size++ }},
		{"size", plain(), func(m *Model) { m.Size = math.MaxInt64 }},
		{"fat", plain(), func(m *Model) { m.FAT = 1000 }},
		{"fat", plain(), func(m *Model) { m.FAT = m.Size }},
		{"fat", plain(), func(m *Model) { m.FAT = -4096 }},
		{"bus.command", plain(), func(m *Model) { m.Bus.Command = -1 }},
		{"bus.read", plain(), func(m *Model) { m.Bus.Read = math.NaN() }},
		{"bus.write", plain(), func(m *Model) { m.Bus.Write = 0 }},
		{"bus.write", plain(), func(m *Model) { m.Bus.Write = math.Inf(1) }},
		{"bus.queue", plain(), func(m *Model) { m.Bus.Queue = 0 }},
		{"bus.flush", plain(), func(m *Model) { m.Bus.Flush = time.Hour }},
		{"media.page", plain(), func(m *Model) { m.Media.Page = 0 }},
		{"media.page", plain(), func(m *Model) { m.Media.Page = 1000 }},
		{"media.block", plain(), func(m *Model) { m.Media.Block = 6000 }},
		{"media.planes", plain(), func(m *Model) { m.Media.Planes = 0 }},
		{"media.read", plain(), func(m *Model) { m.Media.Read = -1 }},
		{"media.program", plain(), func(m *Model) { m.Media.Program = 0 }},
		{"media.erase", plain(), func(m *Model) { m.Media.Erase = -1 }},
		{"media.cycles", plain(), func(m *Model) { m.Media.Cycles = -1 }},
		{"map.scheme", plain(), func(m *Model) { m.Map.Scheme = "log" }},
		{"map.segment", plain(), func(m *Model) { m.Map.Segment = 20 << 10 }},
		{"map.segment", plain(), func(m *Model) { m.Map.Segment = 2 << 20 }},
		{"map.open", plain(), func(m *Model) { m.Map.Open = 0 }},
		{"map.spare", plain(), func(m *Model) { m.Map.Spare = 0.1 }},
		{"map.spare", page, func(m *Model) { m.Map.Spare = 0 }},
		{"map.spare", page, func(m *Model) { m.Map.Spare = math.NaN() }},
		{"buffer.size", plain(), func(m *Model) { m.Buffer.Size = 100 }},
		{"fast.size", plain(), func(m *Model) { m.Fast = Fast{Size: 1000, Program: 1} }},
		{"fast.program", plain(), func(m *Model) { m.Fast.Size = 32 << 10 }},
		{"fast.program", plain(), func(m *Model) { m.Fast.Program = 1 }},
		{"fast.read", plain(), func(m *Model) { m.Fast.Read = -1 }},
		{"fast.idle", plain(), func(m *Model) { m.Fast.Idle = -1 }},
		{"wear.gap", plain(), func(m *Model) { m.Wear.Gap = -1 }},
		{"trim.command", plain(), func(m *Model) { m.Trim.Command = -1 }},
		{"disk.rpm", disk, func(m *Model) { m.Disk.RPM = 0 }},
		{"disk.track_seek", disk, func(m *Model) { m.Disk.TrackSeek = -1 }},
		{"disk.mean_seek", disk, func(m *Model) { m.Disk.MeanSeek = 1 }},
		{"disk.full_seek", disk, func(m *Model) { m.Disk.FullSeek = 1 }},
		{"disk.outer", disk, func(m *Model) { m.Disk.Outer = 0 }},
		{"disk.inner", disk, func(m *Model) { m.Disk.Inner = 1e9 }},
		{"disk.buffer", disk, func(m *Model) { m.Disk.Buffer = -1 }},
	} {
		m := c.model
		c.change(&m)
		found := false
		for _, f := range m.Check() {
			found = found || f.Key == c.key
		}
		d, err := New(m)
		if !found || err == nil || d != nil || !strings.Contains(err.Error(), c.key) {
			t.Errorf("%s: %+v: %v", c.key, m.Check(), err)
		}
	}
}

// FuzzModel: any model that passes the check works.
func FuzzModel(f *testing.F) {
	f.Add(int64(1<<20), int64(4096), int64(16384), int64(65536), int64(0), int64(0), int64(0), uint8(0))
	f.Add(int64(1<<20+512), int64(1536), int64(12288), int64(24576), int64(3072), int64(5000), int64(24576), uint8(1))
	f.Add(int64(512), int64(512), int64(512), int64(512), int64(0), int64(512), int64(512), uint8(2))
	f.Fuzz(func(t *testing.T, size, page, block, segment, fat, buffer, fastSize int64, scheme uint8) {
		if size > 4<<20 || fastSize > 4<<20 || block > 1<<20 {
			return
		}
		m := plain()
		m.Size, m.FAT, m.Buffer.Size = size, fat, buffer
		m.Media.Page, m.Media.Block, m.Map.Segment = page, block, segment
		m.Map.Scheme = []string{SchemeSegment, SchemeHybrid, SchemePage}[scheme%3]
		if scheme%3 == 2 {
			m.Map = Map{Scheme: SchemePage, Spare: 0.1}
		}
		m.Map.Random = scheme&16 != 0
		m.Bus.Queue = 1 + int(scheme>>5)
		if fastSize != 0 {
			m.Fast = Fast{Size: fastSize, Program: 1, Idle: time.Millisecond}
		}
		if len(m.Check()) > 0 {
			return
		}
		x, err := newTrial(m, uint64(scheme))
		if err != nil {
			t.Fatal(err)
		}
		for range 200 {
			if err := x.step(); err != nil {
				t.Fatal(err)
			}
		}
	})
}
