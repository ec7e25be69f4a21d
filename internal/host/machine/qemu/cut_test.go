package qemu

import (
	"bytes"
	"encoding/binary"
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"whichfs/internal/host/lab"
	"whichfs/internal/host/machine"
	"whichfs/internal/host/machine/machinetest"
	"whichfs/internal/plan/media"
	"whichfs/internal/plan/scenario"
	"whichfs/internal/result"
	"whichfs/internal/target/kernelmemory"
	"whichfs/internal/target/rawimage"
	"whichfs/internal/testing/parsed"
	"whichfs/internal/wire"
)

// unstarted is a session whose own guest was never started: cuts need none.
func unstarted(t *testing.T, text string) *Session {
	t.Helper()
	m := theLab(t, Options{})
	h, err := m.host(t.Context(), lab.Native())
	if err != nil {
		t.Fatal(err)
	}
	spec := machine.Spec{Storage: text, Work: t.TempDir()}
	p, err := m.plan(h, spec)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range p.files {
		_ = f.Close()
	}
	return &Session{lab: m, spec: spec, plan: p}
}

// A guest that is killed loses what was not durable: the contract of all labs.
func TestCuts(t *testing.T) {
	t.Parallel()
	machinetest.Cuts(t, func(t *testing.T, storage string) machine.Cutter { return unstarted(t, storage) })
}

// eighth is a partition that a guest has erased quickly.
var eighth = scenario.Variant{Name: "8 MiB", Size: 8 << 20}

// The chip read out of a dead guest's memory is the real one: written to a chip in another guest
// through MTD, which reads a sample of it back, it is found there again, page for page.
func TestCutOfChip(t *testing.T) {
	t.Parallel()
	s := unstarted(t, "nand:64M,bad=5")
	load := []scenario.Step{{Work: "layer-load"}, {Work: "module-load"}}
	first := chipAfter(t, s, nil, append(load, scenario.Step{Work: "mkfs"}, scenario.Step{Work: "mount"}, scenario.Step{Work: "sync-files", Size: 1 << 20, Seed: 3}))
	if n := len(first.Written); n < 50 || first.Pages != 32768 || first.Bytes != 2112 {
		t.Fatalf("%d of %d pages of %d bytes are written", n, first.Pages, first.Bytes)
	}
	second := chipAfter(t, s, &first, append(load, scenario.Step{Work: "settle"}))
	want, got := programmed(first), programmed(second)
	if len(got) != len(want) {
		t.Errorf("%d pages became %d", len(want), len(got))
	}
	for n, data := range want {
		if got[n] != data && n/64 != 5 {
			t.Errorf("page %d of block %d is another", n%64, n/64)
		}
	}
}

// programmed are the contents of pages by number, but for those that are as erased ones: the search for
// the chip leaves some, and so does a cut between nandsim's making of a page and its programming.
func programmed(chip rawimage.Image) map[int]string {
	pages := map[int]string{}
	for _, p := range chip.Written {
		if strings.Trim(string(p.Data), "\xff") != "" {
			pages[p.Number] = string(p.Data)
		}
	}
	return pages
}

// chipAfter performs steps on a chip with these contents, until some files were promised or the
// steps are done, and returns the chip's contents.
func chipAfter(t *testing.T, like *Session, contents *rawimage.Image, steps scenario.Scenario) rawimage.Image {
	t.Helper()
	r, err := like.remains(t.Context(), false)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	trial := wire.Trial{Candidate: parsed.Candidate("jffs2"), Variant: eighth, Scenario: steps, Place: true}
	if contents != nil {
		r.image = *contents
		trial.Chip = chipSerial
		if r.plan, err = r.verifier(); err != nil {
			t.Fatal(err)
		}
	}
	p, err := r.writer()
	if err != nil {
		t.Fatal(err)
	}
	s, err := r.lab.run(t.Context(), r.host, p, r.spec)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	done, err := s.Client.Trial(t.Context(), trial, machine.Events{
		Place: func(p kernelmemory.ChipPlace) { r.place = p },
		Safe: func(number int64) {
			if number == 40 {
				r.cut(s.guest)
			}
		},
	})
	if r.place.Pages == 0 {
		t.Fatalf("%+v, %v", done, err)
	}
	if err := s.guest.process.Kill(); err != nil {
		t.Fatal(err)
	}
	if err := r.save(); err != nil {
		t.Fatal(err)
	}
	return r.image
}

// jffs2 loses nothing that was synced, and the check notices what was not.
func TestCutOfJffs2(t *testing.T) {
	t.Parallel()
	f, notes := machinetest.Cut(t, unstarted(t, "nand:64M"), machine.Cut{Candidate: parsed.Candidate("jffs2"), Repeats: 1, Seed: 3, Variant: eighth})
	for metric, want := range map[string]float64{result.CutsDone: 1, result.CutsMounted: 1, result.CutsWithLoss: 0} {
		if f[metric].Value != want || f[metric].Absent != "" {
			t.Errorf("%s: %+v, want %v (%s)", metric, f[metric], want, notes)
		}
	}
	if f[result.CutsOps].Value < 1 || f[result.FilesWhole].Value < 1 || f[result.CutsMount].Value <= 0 {
		t.Errorf("%+v", f)
	}
}

// A guest is not trusted: neither the reported place of its chip, nor the contents of its memory
// there.
func TestDamagedChipInMemory(t *testing.T) {
	const size, direct = 3 * arrayFrame, 0xffff888000000000
	whole := func() ([]byte, kernelmemory.ChipPlace) {
		memory := make([]byte, size)
		binary.LittleEndian.PutUint64(memory[arrayFrame+8*2:], direct+2*arrayFrame+100)
		copy(memory[2*arrayFrame+100:], "page two")
		return memory, kernelmemory.ChipPlace{Pages: 3, Bytes: 8, Direct: direct, Frames: []uint64{arrayFrame}}
	}
	memory, place := whole()
	m, err := readChip(bytes.NewReader(memory), size, place)
	if d := cmp.Diff(rawimage.Image{Pages: 3, Bytes: 8, Written: []rawimage.Page{{Number: 2, Data: []byte("page two")}}}, m); err != nil || d != "" {
		t.Error(err, d)
	}
	for want, damage := range map[string]func(memory []byte, p *kernelmemory.ChipPlace) []byte{
		"did not report":     func(m []byte, p *kernelmemory.ChipPlace) []byte { *p = kernelmemory.ChipPlace{}; return m },
		"listed in 1 frames": func(m []byte, p *kernelmemory.ChipPlace) []byte { p.Pages = 513; return m },
		"of -1 pages":        func(m []byte, p *kernelmemory.ChipPlace) []byte { p.Pages = -1; return m },
		"outside its memory": func(m []byte, p *kernelmemory.ChipPlace) []byte { p.Frames[0] = 3 * arrayFrame; return m },
		"listed at 0x7":      func(m []byte, p *kernelmemory.ChipPlace) []byte { p.Frames[0] = 7; return m },
		"pages is damaged":   func(m []byte, p *kernelmemory.ChipPlace) []byte { m[arrayFrame+1] = 3; return m },
		"page 2 of the chip": func(m []byte, p *kernelmemory.ChipPlace) []byte { m[arrayFrame+8*2+3] = 9; return m },
		"page 1 of the chip": func(m []byte, p *kernelmemory.ChipPlace) []byte { p.Direct++; m[arrayFrame+8] = 1; return m },
		"of 2305843009213693952 pages": func(m []byte, p *kernelmemory.ChipPlace) []byte {
			p.Pages, p.Frames = 1<<61, nil
			return m
		},
		// Each page of the chip at the same address: a small guest holds a large chip.
		"more than the guest's memory": func(m []byte, p *kernelmemory.ChipPlace) []byte {
			p.Pages, p.Bytes = 512, arrayFrame
			for n := range 512 {
				binary.LittleEndian.PutUint64(m[arrayFrame+8*n:], direct)
			}
			return m
		},
		"memory at 0x1000: EOF": func(m []byte, p *kernelmemory.ChipPlace) []byte { return m[:arrayFrame] },
		"memory at 0x2064: EOF": func(m []byte, p *kernelmemory.ChipPlace) []byte { return m[:2*arrayFrame+100] },
	} {
		memory, place := whole()
		memory = damage(memory, &place)
		if _, err := readChip(bytes.NewReader(memory), size, place); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}

// Whatever a guest reports about its chip, and whatever its memory holds, the host is not harmed
// and keeps no more than the guest had.
func FuzzChipInMemory(f *testing.F) {
	list := make([]byte, 3*arrayFrame)
	binary.LittleEndian.PutUint64(list[arrayFrame+16:], 1<<63|2*arrayFrame)
	f.Add(list, 3, 8, uint64(1<<63), uint64(arrayFrame), uint64(0), 1)
	f.Add(list, 1<<61, 2112, uint64(0), uint64(0), uint64(0), 0)
	f.Add(list, 512, 1<<16, uint64(1<<63), uint64(1<<63), uint64(7), 2)
	f.Fuzz(func(t *testing.T, memory []byte, pages, size int, direct, one, two uint64, frames int) {
		place := kernelmemory.ChipPlace{Pages: pages, Bytes: size, Direct: direct}
		place.Frames = []uint64{one, two}[:max(0, min(frames, 2))]
		m, err := readChip(bytes.NewReader(memory), int64(len(memory)), place)
		if err != nil {
			return
		}
		if n := len(m.Written) * m.Bytes; n > len(memory) || len(m.Written) > m.Pages {
			t.Fatalf("%d pages of %d bytes out of %d", len(m.Written), m.Bytes, len(memory))
		}
		if err := m.Write(io.Discard); err != nil {
			t.Fatal(err)
		}
	})
}

// A chip can be recovered only from the memory of a guest whose processor is this host's.
func TestForeignChipIsNotCut(t *testing.T) {
	foreign := &Session{plan: planned{spec: media.Storage{Kind: media.KindNAND}, config: config{arch: "arm"}}}
	if done, err := foreign.Cut(t.Context(), machine.Cut{Candidate: parsed.Candidate("jffs2"), Repeats: 1}, machine.Events{}); err != nil || done.Outcome != result.Unsupported {
		t.Errorf("%+v, %v", done, err)
	}
}
