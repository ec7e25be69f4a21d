package qemu

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"whichfs/internal/filesystem"
	"whichfs/internal/flash"
	"whichfs/internal/flash/models"
	"whichfs/internal/host/lab"
	"whichfs/internal/host/machine"
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

// cutOff cuts a candidate off and returns its figures of phase "cut" and its notes, one per line.
func cutOff(t *testing.T, s *Session, order machine.Cut) (map[string]result.Measurement, string) {
	t.Helper()
	figures, notes := map[string]result.Measurement{}, ""
	start := time.Now()
	done, err := s.Cut(t.Context(), order, machine.Events{Figures: func(f wire.Figures) {
		for _, m := range f.Measurements {
			figures[m.Metric] = m
		}
		for _, n := range f.Notes {
			notes += fmt.Sprintf("%s: %s\n", n.Level, n.Text)
		}
	}})
	t.Logf("%s, %.1f s a cut: %+v\n%s", order.Candidate, time.Since(start).Seconds()/float64(order.Repeats), figures, notes)
	if err != nil || done.Outcome != result.Done {
		t.Fatalf("%+v, %v", done, err)
	}
	return figures, notes
}

// modelWith is a model's storage of a size, with a change.
func modelWith(t *testing.T, name, size string, change func(m *flash.Model)) string {
	t.Helper()
	m, err := models.ByName(name)
	if err != nil {
		t.Fatal(err)
	}
	change(&m)
	file := filepath.Join(t.TempDir(), "changed.toml")
	if err := os.WriteFile(file, []byte(models.Write(m)), 0o600); err != nil {
		t.Fatal(err)
	}
	return "sim:" + file + "," + size
}

// A card that survives a cut in the middle of a merge keeps synced data; if the same work reports operations as safe that it never synced, the
// check notices the losses, and keeps the evidence.
func TestCutOfCard(t *testing.T) {
	t.Parallel()
	s := unstarted(t, modelWith(t, "sd-basic", "64M", func(m *flash.Model) { m.Power.MergeLoses = false }))
	f, notes := cutOff(t, s, machine.Cut{Candidate: parsed.Candidate("ext4"), Repeats: 1, Seed: 7})
	for metric, want := range map[string]float64{result.CutsDone: 1, result.CutsMounted: 1, result.CutsWithLoss: 0,
		result.FilesWrong: 0, result.FilesMissing: 0, result.FilesUnreadable: 0} {
		if f[metric].Value != want || f[metric].Absent != "" {
			t.Errorf("%s: %+v, want %v (%s)", metric, f[metric], want, notes)
		}
	}
	if f[result.CutsOps].Value < 1 || f[result.FilesWhole].Value < 1 || f[result.CutsMount].Value <= 0 {
		t.Errorf("%+v", f)
	}
	dir := t.TempDir()
	f, notes = cutOff(t, s, machine.Cut{Candidate: parsed.Candidate("ext4"), Repeats: 1, Seed: 8, Unsynced: 1, Keep: dir})
	if f[result.CutsWithLoss].Value != 1 || f[result.FilesMissing].Value+f[result.FilesWrong].Value == 0 {
		t.Errorf("nothing is missing though nothing was synced: %+v", f)
	}
	if st, err := os.Stat(dir + "/cut-ext4-1.img.gz"); err != nil || st.Size() < 1000 || !strings.Contains(notes, dir) {
		t.Errorf("evidence: %v, %v; %s", st, err, notes)
	}
}

// A filesystem that does not wait for the device loses data it had promised when the device loses
// power, and nothing when only its guest is killed: killing a process is not a power cut.
func TestCutLosesUnflushedData(t *testing.T) {
	t.Parallel()
	// A disk at one 18th of its speed is still busy with what it has promised, however long a busy
	// host takes to cut its power.
	s := unstarted(t, modelWith(t, "hdd", "128M", func(m *flash.Model) { m.Disk.RPM /= 18 }))
	for _, killed := range []bool{false, true} {
		c := &cutter{session: s, spec: s.spec, order: machine.Cut{Candidate: parsed.Candidate("ext4 -o nobarrier"), Seed: 5}, killed: killed}
		var err error
		if c.host, err = s.lab.host(t.Context(), lab.Native()); err != nil {
			t.Fatal(err)
		}
		// A disk that had just caught up may have nothing to lose.
		var one oneCut
		for number := 0; number < 4 && (number == 0 || !killed && !one.lost()); number++ {
			var done wire.Done
			if one, done, err = c.cut(t.Context(), number); err != nil || done.Outcome != result.Done {
				t.Fatalf("%+v, %v", done, err)
			}
			t.Logf("killed %v: %s", killed, one.tell())
		}
		if one.lost() == killed {
			t.Errorf("killed %v: lost %v of %d promises", killed, one.lost(), one.safe)
		}
	}
}

// eighth is a partition that a guest has erased quickly.
var eighth = scenario.Variant{Name: "8 MiB", Size: 8 << 20}

// The chip read out of a dead guest's memory is the real one: written to a chip in another guest
// through MTD, which reads a sample of it back, it is found there again, page for page.
func TestCutOfChip(t *testing.T) {
	t.Parallel()
	s := unstarted(t, "nand:64M,bad=5")
	c := &cutter{session: s, spec: s.spec, order: machine.Cut{Candidate: parsed.Candidate("jffs2"), Variant: eighth}, raw: true}
	var err error
	if c.host, err = s.lab.host(t.Context(), lab.Native()); err != nil {
		t.Fatal(err)
	}
	first := chipAfter(t, c, nil, c.writing(3))
	if n := len(first.Written); n < 50 || first.Pages != 32768 || first.Bytes != 2112 {
		t.Fatalf("%d of %d pages of %d bytes are written", n, first.Pages, first.Bytes)
	}
	second := chipAfter(t, c, &first, append(c.layers(true, ""), scenario.Step{Work: "settle"}))
	want, got := map[int]string{}, map[int]string{}
	for _, p := range first.Written {
		want[p.Number] = string(p.Data)
	}
	for _, p := range second.Written {
		if strings.Trim(string(p.Data), "\xff") != "" { // the search for the chip leaves nothing else
			got[p.Number] = string(p.Data)
		}
	}
	if len(got) != len(want) {
		t.Errorf("%d pages became %d", len(want), len(got))
	}
	for n, data := range want {
		if got[n] != data && n/64 != 5 {
			t.Errorf("page %d of block %d is another", n%64, n/64)
		}
	}
}

// chipAfter performs steps on a chip with these contents, until some files were promised or the
// steps are done, and returns the chip's contents.
func chipAfter(t *testing.T, c *cutter, contents *rawimage.Image, steps scenario.Scenario) rawimage.Image {
	t.Helper()
	p, err := c.session.lab.plan(c.host, c.spec)
	if err != nil {
		t.Fatal(err)
	}
	r, err := c.remains(p)
	if err != nil {
		t.Fatal(err)
	}
	defer r.close()
	trial := wire.Trial{Candidate: parsed.Candidate("jffs2"), Variant: c.order.Variant, Scenario: steps, Place: true}
	if contents != nil {
		r.image = *contents
		p, err = r.verifier(c.host)
		trial.Chip = chipSerial
		if err == nil {
			fresh := *r
			fresh.plan = p
			p, err = fresh.writer(c.host)
		}
	} else {
		p, err = r.writer(c.host)
	}
	if err != nil {
		t.Fatal(err)
	}
	s, err := c.session.lab.run(t.Context(), c.host, p, c.spec)
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
	f, notes := cutOff(t, unstarted(t, "nand:64M"), machine.Cut{Candidate: parsed.Candidate("jffs2"), Repeats: 1, Seed: 3, Variant: eighth})
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

// Where killing a guest is not a power cut, Cut says so and starts nothing.
func TestImpossibleCutsAreRefused(t *testing.T) {
	for _, c := range []struct {
		storage string
		order   machine.Cut
		want    result.Outcome
		reason  string
	}{
		{"disk:64M", machine.Cut{Candidate: parsed.Candidate("ext4"), Repeats: 1}, result.Unsupported, "not a power cut"},
		{"ram:64M", machine.Cut{Candidate: parsed.Candidate("ext4"), Repeats: 1}, result.Unsupported, "loses nothing, or everything"},
		{"nand:64M", machine.Cut{Candidate: parsed.Candidate("squashfs"), Repeats: 1}, result.Unsupported, "image"},
		{"nand:64M", machine.Cut{Candidate: parsed.Candidate("jffs2")}, result.Refused, "0 cuts"},
		{"sim:sd-basic,64M", machine.Cut{Candidate: parsed.Candidate("ext4"), Repeats: 1, Variant: scenario.Variant{Part: &scenario.Part{}}}, result.Refused, "a part"},
		{"nand:64M", machine.Cut{Candidate: filesystem.Kept("nofs"), Repeats: 1}, result.Refused, "nofs"},
	} {
		spec, err := media.Parse(c.storage)
		if err != nil {
			t.Fatal(err)
		}
		s := &Session{plan: planned{spec: spec, config: config{arch: "amd64"}}}
		done, err := s.Cut(t.Context(), c.order, machine.Events{})
		if err != nil || done.Outcome != c.want || !strings.Contains(done.Reason, c.reason) {
			t.Errorf("%s on %s: %+v, %v", c.order.Candidate, c.storage, done, err)
		}
	}
	foreign := &Session{plan: planned{spec: media.Storage{Kind: media.KindNAND}, config: config{arch: "arm"}}}
	if done, err := foreign.Cut(t.Context(), machine.Cut{Candidate: parsed.Candidate("jffs2"), Repeats: 1}, machine.Events{}); err != nil || done.Outcome != result.Unsupported {
		t.Errorf("a chip of another processor: %+v, %v", done, err)
	}
}

// However many notes the verifying guest has, the note of its cut is short.
func TestCutNoteIsShort(t *testing.T) {
	one := oneCut{number: 1, reason: "x"}
	for range 1000 {
		one.notes = append(one.notes, result.Note{Phase: phaseVerify, Level: result.Warning, Text: strings.Repeat("y", 1000)})
	}
	var tally cutTally
	tally.add(one)
	if n := len(tally.notes); n != 1 || len(tally.notes[0].Text) > mostCutNote+len("…") {
		t.Errorf("%d notes, the first of %d bytes", n, len(tally.notes[0].Text))
	}
}

// Where the storage itself lost flushed data, the note of the cut and a figure say so: it is not the
// filesystem's fault.
func TestLossOfStorageIsTold(t *testing.T) {
	var tally cutTally
	tally.add(oneCut{number: 1, reason: "mount -t ext4: invalid argument", merge: 4 << 20})
	tally.add(oneCut{number: 2, merge: 4 << 20})
	tally.add(oneCut{number: 3, reason: "mount -t ext4: invalid argument"})
	f := tally.figures()
	for _, m := range f.Measurements {
		if m.Metric == result.CutsOfMerges && m.Value != 2 {
			t.Errorf("%+v", m)
		}
	}
	const want = "interrupted a merge, and the storage lost 4096 KiB"
	if len(f.Notes) != 2 || !strings.Contains(f.Notes[0].Text, want) || strings.Contains(f.Notes[1].Text, want) {
		t.Errorf("%+v", f.Notes)
	}
}
