package nbd

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"whichfs/internal/fault/writelog"
	"whichfs/internal/flash"
	"whichfs/internal/flash/nbd/nbdtest"
)

func TestRecord(t *testing.T) {
	d := newMemory(1 << 20)
	r := Record(d, 1<<20)
	_, c, _ := open(t, r, Options{Trim: true})
	data := bytes.Repeat([]byte{7}, 4096)
	do(t, c, 0, 0, nbdtest.Write, 512, 0, data)
	do(t, c, 0, nbdtest.FUA, nbdtest.Write, 8192, 0, data[:512])
	do(t, c, 0, 0, nbdtest.Read, 0, 512, make([]byte, 512))
	do(t, c, 0, 0, nbdtest.Flush, 0, 0, nil)
	do(t, c, 0, 0, nbdtest.Trim, 1024, 512, nil)
	do(t, c, errInval, 0, nbdtest.Write, 1, 0, data)
	do(t, c, 0, 0, nbdtest.WriteZeroes, 2048, 1024, nil)
	want := []writelog.Entry{
		{Sector: 1, Sectors: 8, Data: data}, {Sector: 16, Sectors: 1, Flags: writelog.FUA, Data: data[:512]}, {Flags: writelog.Flush},
		{Sector: 2, Sectors: 1, Flags: writelog.Discard}, {Sector: 4, Sectors: 2, Data: make([]byte, 1024)},
	}
	if l, err := r.Log(); err != nil || !reflect.DeepEqual(l.Entries, want) {
		t.Errorf("%v, error %v; want %v", l.Entries, err, want)
	}
}

// QEMU's own log of the same requests, made on its side of the connection.
func TestRecordAsQEMU(t *testing.T) {
	r := Record(newMemory(1<<20), 1<<20)
	address, _ := listen(t, r, Options{Trim: true})
	log := filepath.Join(t.TempDir(), "log")
	if err := os.WriteFile(log, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	image := "driver=blklogwrites,discard=unmap,file.driver=nbd,file.server.type=unix,file.server.path=" +
		strings.TrimPrefix(address, "nbd+unix:///?socket=") + ",log.driver=file,log.filename=" + log
	argv := []string{"qemu-io", "-t", "writeback", "-d", "unmap", "--image-opts", image}
	for _, c := range []string{"write -P 1 0 8k", "flush", "write -P 2 16k 512", "discard 4k 4k", "write -z 64k 8k", "flush", "write -P 3 0 4k"} {
		argv = append(argv, "-c", c)
	}
	if out, err := tool(t, argv...); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	b, err := os.ReadFile(log)
	if err != nil {
		t.Fatal(err)
	}
	theirs, err := writelog.Read(bytes.NewReader(b), int64(len(b)))
	if err != nil {
		t.Fatal(err)
	}
	ours, err := r.Log()
	if err != nil {
		t.Fatal(err)
	}
	// Its log driver flushes what is below it twice.
	again := func(a, b writelog.Entry) bool { return a.Flags&b.Flags&writelog.Flush != 0 }
	got := slices.CompactFunc(ours.Entries, again)
	if len(theirs.Entries) < 8 || !reflect.DeepEqual(got, theirs.Entries) {
		t.Errorf("%s by us, %s by QEMU", order(got), order(theirs.Entries))
	}
}

// order tells entries by their sectors, F for a flush, with ! for FUA.
func order(entries []writelog.Entry) string {
	var s []string
	for _, e := range entries {
		switch {
		case e.Flags&writelog.Flush != 0:
			s = append(s, "F")
		case e.Flags&writelog.FUA != 0:
			s = append(s, fmt.Sprintf("%d!", e.Sector))
		default:
			s = append(s, fmt.Sprint(e.Sector))
		}
	}
	return strings.Join(s, " ")
}

// A flush stands behind what had completed when it came, and before all else.
func TestRecordOrder(t *testing.T) {
	type request struct {
		at, done time.Duration
		op       flash.Op
		sector   int64
		fua      bool
	}
	write := func(at, done time.Duration, sector int64) request {
		return request{at, done, flash.Write, sector, false}
	}
	flush := func(at, done time.Duration) request { return request{at, done, flash.Flush, 0, false} }
	for name, c := range map[string]struct {
		requests []request
		want     string
	}{
		"order of completion":       {[]request{write(0, 30, 1), write(1, 20, 2), write(2, 10, 3)}, "3 2 1"},
		"same instant":              {[]request{write(0, 10, 1), write(1, 10, 2)}, "1 2"},
		"completed before":          {[]request{write(0, 10, 1), flush(11, 20), write(30, 40, 2)}, "1 F 2"},
		"completed meanwhile":       {[]request{write(0, 15, 1), flush(11, 20), write(30, 40, 2)}, "F 1 2"},
		"completed after":           {[]request{write(0, 25, 1), flush(11, 20), write(30, 40, 2)}, "F 1 2"},
		"order kept while held":     {[]request{write(0, 15, 1), flush(11, 20), {12, 16, flash.Write, 2, true}, write(30, 40, 3)}, "F 1 2! 3"},
		"covered by the second":     {[]request{flush(0, 20), write(1, 5, 1), flush(10, 30), write(11, 12, 2)}, "F 1 F 2"},
		"second is done first":      {[]request{flush(0, 30), write(1, 5, 1), flush(10, 20), write(11, 12, 2)}, "1 F F 2"},
		"what hangs is not there":   {[]request{write(0, never, 1), write(1, 5, 2)}, "2"},
		"behind a flush that hangs": {[]request{flush(0, never), write(1, 5, 1)}, "1"},
	} {
		t.Run(name, func(t *testing.T) {
			d := &scripted{memory: newMemory(1 << 20)}
			r := Record(d, 1<<20)
			for i, q := range c.requests {
				d.done = q.done
				x := flash.Request{Op: q.op, Offset: q.sector * flash.Sector, Length: flash.Sector, FUA: q.fua, Data: make([]byte, flash.Sector)}
				if _, err := r.Submit(q.at, x); err != nil {
					t.Fatal(i, err)
				}
			}
			for range 2 { // looking does not change it
				l, err := r.Log()
				if got := order(l.Entries); err != nil || got != c.want {
					t.Fatalf("%q, error %v; want %q", got, err, c.want)
				}
			}
		})
	}
}

// scripted completes a request when it is told to.
type scripted struct {
	*memory
	done time.Duration
}

func (s *scripted) Submit(now time.Duration, r flash.Request) (time.Duration, error) {
	_, err := s.memory.Submit(now, r)
	return s.done, err
}

// What was under way when the power went did not complete, and what comes after
// belongs to another log.
func TestRecordCut(t *testing.T) {
	d := &scripted{memory: newMemory(1 << 20)}
	r := Record(d, 1<<20)
	submit := func(at, done time.Duration, sector int64) {
		d.done = done
		if _, err := r.Submit(at, flash.Request{Op: flash.Write, Offset: sector * 512, Length: 512, Data: make([]byte, 512)}); err != nil {
			t.Fatal(err)
		}
	}
	submit(0, 10, 1)
	submit(5, 30, 2)
	if loss := r.Cut(20); loss.Buffered != 7 || d.cuts != 1 {
		t.Error("the device's power was not cut")
	}
	submit(40, 50, 3)
	r.Cut(60)
	if l, err := r.Log(); err != nil || order(l.Entries) != "1" {
		t.Errorf("%q, error %v; want the first write alone", order(l.Entries), err)
	}
}

// The log keeps its own copy, and says when it has become too long.
func TestRecordMemory(t *testing.T) {
	r := Record(newMemory(1<<20), 1024)
	data := bytes.Repeat([]byte{1}, 512)
	q := flash.Request{Op: flash.Write, Length: 512, Data: data}
	for i := range 3 {
		if _, err := r.Submit(0, q); err != nil {
			t.Fatal(err)
		}
		l, err := r.Log()
		if i < 2 && (err != nil || len(l.Entries) != i+1) || i == 2 && (err == nil || len(l.Entries) != 0) {
			t.Fatalf("after %d writes: %d entries, error %v", i+1, len(l.Entries), err)
		}
		if i == 0 {
			clear(data)
			if !slices.Equal(l.Entries[0].Data, bytes.Repeat([]byte{1}, 512)) {
				t.Error("the log shares the request's data")
			}
		}
	}
	broken := newMemory(1 << 20)
	broken.fails = errBroken
	r = Record(broken, 1024)
	if _, err := r.Submit(0, q); err == nil {
		t.Fatal("no error")
	}
	if l, err := r.Log(); err != nil || len(l.Entries) != 0 {
		t.Error("a write that failed is in the log")
	}
}
