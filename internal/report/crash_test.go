package report

import (
	"bytes"
	"encoding/binary"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"whichfs/internal/fault"
	"whichfs/internal/fault/finding"
	"whichfs/internal/fault/script"
	"whichfs/internal/fault/states"
	"whichfs/internal/fault/writelog"
	"whichfs/internal/report/chromium"
	"whichfs/internal/report/doc"
)

// sectors of data that begin with a word.
func sectors(n int, head string) []byte {
	return append([]byte(head), bytes.Repeat([]byte{7}, n*writelog.SectorSize-len(head))...)
}

func journalBlock(kind uint32) string {
	return string(binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint32(nil, 0xC03B3998), kind))
}

// sampleFinding is invented; its log has one of everything that is drawn.
func sampleFinding() finding.Finding {
	var l writelog.Log
	mark := func(text string) {
		l.Entries = append(l.Entries, writelog.Entry{Flags: writelog.Mark, Data: []byte(text)})
	}
	write := func(at uint64, n int, head string, flags writelog.Flags) {
		l.Entries = append(l.Entries, writelog.Entry{Sector: at, Sectors: uint64(n), Flags: flags, Data: sectors(n, head)})
	}
	flush := func() { l.Entries = append(l.Entries, writelog.Entry{Flags: writelog.Flush}) }
	for i := range 20 { // long before, and durable
		write(uint64(100+8*i), 8, "old", 0)
	}
	flush()
	mark("begin 1")
	mark("end 1")
	mark("begin 2")
	write(400, 8, "data", 0)
	write(1000, 16, journalBlock(1), writelog.Metadata)
	flush()
	write(1016, 8, journalBlock(2), writelog.FUA|writelog.Metadata)
	mark("end 2")
	mark("begin 3")
	write(408, 8, "data", 0)
	write(416, 8, "data", 0)
	write(1024, 16, journalBlock(1), writelog.Metadata)
	write(1040, 8, journalBlock(2), writelog.Metadata)
	mark("end 3")
	mark("begin 4")
	l.Entries = append(l.Entries, writelog.Entry{Sector: 1600, Sectors: 64, Flags: writelog.Discard})
	write(2, 2, "", 0)
	flush()
	mark("end 4")
	return finding.Finding{
		Format: 1, Version: "sample", Kernel: "6.1.0-sample", Candidate: "ext4 -o nobarrier", Size: 1 << 20,
		Script: script.Script{Name: "append-fsync", About: "a file grows, each piece followed by fsync", Ops: []script.Op{
			{Do: "create", Path: "log"}, {Do: "append", Path: "log", Size: 4096}, {Do: "fsync", Path: "log"}, {Do: "append", Path: "log", Size: 4096}}},
		Began: 4, Acked: 3, Outcome: fault.Truncated, Seed: 42, Number: 1234, Minimal: true, Same: 211,
		Breaches: []fault.Breach{{Promise: script.PromiseFsync, Path: "log", Outcome: fault.Truncated, What: "4096 of 8192 bytes are there"}},
		Check:    "clean", Messages: []string{"EXT4-fs (loop0): recovery complete"},
		State: states.State{Point: 37, Kept: []int{30, 32}, Torn: &states.Torn{Entry: 32, First: 0, Sectors: 5}},
		Base:  fault.Image{Size: 1 << 20, Blocks: map[int64][]byte{}}, Log: l,
	}
}

// sampleCrash is invented; it has one of everything that a report prints.
func sampleCrash() Crash {
	careless := sampleFinding()
	careless.Candidate, careless.Outcome, careless.Minimal, careless.Whole, careless.Same = "ext4", fault.Lost, false, "it was asked not to be", 1
	careless.Script.Name, careless.Script.Careless, careless.Messages, careless.Check = "append-without-fsync", true, nil, ""
	careless.Breaches = []fault.Breach{{Promise: script.PromiseClaimed, Path: "log", Outcome: fault.Lost, What: "the file is gone, with its 4096 bytes"}}
	seconds := map[string]float64{"make": 0.1, "mount": 1.6, "judge": 0.2, "unmount": 0.9, "check": 0.4}
	mended := sampleFinding()
	mended.Outcome, mended.Breaches, mended.Check, mended.Messages = fault.NeedsCheck, nil, "superblock invalid, trying backup blocks", nil
	return Crash{
		Version: "sample", Machine: "lab", Kernel: "6.1.0-sample", Emulated: true, Started: time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC), Seconds: 41.3, Seed: 42,
		Asked: "3 scripts, at most 2000 states of each",
		Candidates: []CrashCandidate{
			{Candidate: "ext4", Source: "Documentation/filesystems/ext4", Loose: []string{"append-without-fsync"},
				Findings: []CrashFinding{{Finding: careless, File: "/home/me/evidence/ext4-append-without-fsync-1.json", Excused: true}},
				Scripts: []finding.Tally{
					{Script: "append-fsync", Entries: 40, Writes: 31, Flushes: 6, Possible: 9.2, All: true, States: 588, Equal: 211, Checked: 58, Promises: 4116,
						Outcomes: map[string]int64{"whole": 60, "recovered": 528}, Seconds: seconds},
					{Script: "append-without-fsync", Entries: 44, Writes: 38, Flushes: 3, Possible: 57.3, States: 2000, Equal: 17, Checked: 200, Promises: 9000, Broken: 31,
						Outcomes: map[string]int64{"whole": 9, "recovered": 1960, "lost": 31}, Seconds: seconds},
				}},
			{Candidate: "ext4 -o nobarrier", Findings: []CrashFinding{{Finding: mended}, {Finding: sampleFinding(), File: "/home/me/the evidence/ext4-o-nobarrier-append-fsync-1.json"}},
				Scripts: []finding.Tally{{Script: "append-fsync", Entries: 40, Writes: 31, Flushes: 0, Possible: 31, States: 1200, Equal: 90, Checked: 120, Promises: 8400, Broken: 211,
					Outcomes: map[string]int64{"recovered": 980, "truncated": 211, "needs-check": 9}, Seconds: seconds, Stopped: "the guest died of 3 states, and no more were given to it"}}},
			{Candidate: "btrfs", Failed: "btrfs needs 109 MiB, and the disk has 16 MiB"},
		},
		Warnings: []string{"the log is damaged at entry 40 (byte 81920): no magic. Only the 40 entries before that are explored."},
	}
}

func TestCrashGolden(t *testing.T) {
	for name, s := range map[string]TextOptions{"crash.text": {}, "crash.ascii80": {Width: 80, ASCII: true}, "crash.colour120": {Width: 120, Color: true}} {
		var b bytes.Buffer
		if err := doc.Text(&b, CrashDoc(sampleCrash()), s); err != nil {
			t.Fatal(err)
		}
		golden(t, name, b.Bytes())
		b.Reset()
		if err := doc.Text(&b, FindingDoc(sampleFinding(), false), s); err != nil {
			t.Fatal(err)
		}
		golden(t, strings.Replace(name, "crash", "finding", 1), b.Bytes())
	}
	var b bytes.Buffer
	if err := doc.HTML(&b, CrashDoc(sampleCrash())); err != nil {
		t.Fatal(err)
	}
	golden(t, "crash.html", b.Bytes())
	b.Reset()
	if err := CrashJSON(&b, sampleCrash()); err != nil {
		t.Fatal(err)
	}
	golden(t, "crash.json", b.Bytes())
	b.Reset()
	if err := doc.Text(&b, LogDoc("some.log", sampleFinding().Log, false), TextOptions{}); err != nil {
		t.Fatal(err)
	}
	golden(t, "crash-log.text", b.Bytes())
}

func TestReplayText(t *testing.T) {
	was, whole, other := sampleFinding(), sampleFinding(), sampleFinding()
	whole.Outcome, whole.Breaches, whole.Kernel = fault.Recovered, nil, "6.18"
	other.Outcome, other.Breaches = fault.Lost, []fault.Breach{{Promise: script.PromiseNewName, Path: "log", Outcome: fault.Lost, What: "the name is gone"}}
	for want, now := range map[string]finding.Finding{
		"✗ Reproduced (kernel 6.1.0-sample).": was,
		"✓ Not reproduced: this time recovered, with every promise kept (kernel 6.18; it was found with kernel 6.1.0-sample).": whole,
		"✗ Not the same: this time lost, and it was truncated (kernel 6.1.0-sample).":                                          other,
	} {
		var b bytes.Buffer
		r := Replay{Was: was, Now: now, Machine: "lab"}
		if err := doc.Text(&b, ReplayDoc(r, false), TextOptions{Width: 200}); err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(b.String(), want) {
			t.Errorf("%q is not in:\n%s", want, b.String())
		}
		if r.Shows() != strings.HasPrefix(want, "✗") {
			t.Errorf("%s: shows %v", want, r.Shows())
		}
	}
}

// Data that a repair brings back is not a broken promise.
func TestMended(t *testing.T) {
	c := sampleCrash()
	one := &c.Candidates[1]
	if len(one.Broken()) != 1 || len(one.Mended()) != 1 || !c.Found() {
		t.Errorf("%d broken, %d mended, found %v", len(one.Broken()), len(one.Mended()), c.Found())
	}
	one.Findings = one.Findings[:1]
	if c.Found() {
		t.Error("repair alone counts as a broken promise")
	}
}

// Hundreds of sequences become one row, except those with a broken promise.
func TestCrashRows(t *testing.T) {
	c := CrashCandidate{}
	for i := range 300 {
		s := finding.Tally{Script: "sequence", States: 2, Possible: 1, All: true, Outcomes: map[string]int64{"whole": 2}}
		if i == 77 {
			s.Script, s.Broken, s.Outcomes = "bad", 1, map[string]int64{"lost": 2}
		}
		c.Scripts = append(c.Scripts, s)
	}
	rows := crashRows(c)
	if len(rows) != 2 || rows[0].Script != "bad" || rows[1].Script != "299 more together" || rows[1].States != 598 || possible(rows[1].Possible) != "598" || !rows[1].All {
		t.Errorf("%+v", rows)
	}
}

// Names and messages come from outside.
func TestHostileCrash(t *testing.T) {
	c := sampleCrash()
	n := 0
	log := c.Candidates[1].Findings[1].Log
	poison(reflect.ValueOf(&c).Elem(), &n)
	for i := range log.Entries {
		if log.Entries[i].Flags&writelog.Mark != 0 {
			log.Entries[i].Data = []byte(hostileStrings[i%len(hostileStrings)])
		}
	}
	var text, page bytes.Buffer
	if err := doc.Text(&text, CrashDoc(c), TextOptions{}); err != nil {
		t.Fatal(err)
	}
	if err := doc.Text(&text, FindingDoc(c.Candidates[1].Findings[1].Finding, true), TextOptions{}); err != nil {
		t.Fatal(err)
	}
	if err := doc.Text(&text, LogDoc(hostileStrings[4], log, true), TextOptions{}); err != nil {
		t.Fatal(err)
	}
	if i := strings.IndexFunc(text.String(), func(r rune) bool { return r != '\n' && harmful(r) }); i >= 0 {
		t.Errorf("the text has a harmful character: %q", text.String()[max(0, i-20):i+20])
	}
	if err := doc.HTML(&page, CrashDoc(c)); err != nil {
		t.Fatal(err)
	}
	ctx, w := browse(t, page.Bytes())
	if ask[bool](t, ctx, "window.pwned === true") {
		t.Error("the page runs what a kernel says")
	}
	w.check(t)
}

func TestCrashPage(t *testing.T) {
	var page bytes.Buffer
	if err := doc.HTML(&page, CrashDoc(sampleCrash())); err != nil {
		t.Fatal(err)
	}
	ctx, w := browse(t, page.Bytes())
	ask[chromedp.Void](t, ctx, openAll)
	for _, width := range []int64{360, 1280} {
		for _, dark := range []bool{false, true} {
			look(t, ctx, chromium.View{Width: width, Height: 900, Dark: dark})
			if out := ask[[]string](t, ctx, chromium.Overflowing); len(out) > 0 {
				t.Errorf("%d wide: sticks out: %q", width, out)
			}
			if got := ask[int64](t, ctx, `document.documentElement.scrollWidth`); got > width {
				t.Errorf("at %d pixels the page is %d wide", width, got)
			}
			for _, poor := range ask[[]string](t, ctx, chromium.PoorContrast) {
				t.Errorf("%d wide, dark %v: contrast below 4.5: %s", width, dark, poor)
			}
		}
	}
	for selector, least := range map[string]int{".c-durable": 3, ".c-kept": 2, ".c-lost": 2, ".c-flush": 2, "path.c-cut": 1, ".c-fua": 1, ".c-cross": 1} {
		if n := ask[int](t, ctx, "document.querySelectorAll('#finding-1 svg.crash "+selector+"').length"); n < least {
			t.Errorf("%d of %s in the picture", n, selector)
		}
	}
	for _, bad := range append(ask[[]string](t, ctx, chromium.Tables), ask[[]string](t, ctx, doubled)...) {
		t.Error(bad)
	}
	for _, bad := range ask[[]string](t, ctx, dangling) {
		t.Errorf("an address leads to #%s, which is not there", bad)
	}
	w.check(t)
}
