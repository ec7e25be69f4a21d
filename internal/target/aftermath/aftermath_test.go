package aftermath

import (
	"errors"
	"strings"
	"testing"
	"time"

	"whichfs/internal/fault"
	"whichfs/internal/fault/script"
	"whichfs/internal/filesystem"
)

func TestPatience(t *testing.T) {
	c := newCaller(time.Minute)
	why := errors.New("no")
	if err := c.call("first", func() error { return why }); !errors.Is(err, why) || c.gone() {
		t.Errorf("%v, left %v", err, c.gone())
	}
	c.limit = time.Millisecond
	release, ended := make(chan struct{}), make(chan struct{})
	var hung *Hung
	if err := c.call("second", func() error { <-release; close(ended); return nil }); !errors.As(err, &hung) || hung.Error() != "second did not return within 1ms" || !c.gone() {
		t.Errorf("%v, left %v", err, c.gone())
	}
	if err := c.call("third", func() error { t.Error("called after a hang"); return nil }); err == nil {
		t.Error("no error after a hang")
	}
	c.close()
	close(release)
	<-ended
	within := newCaller(time.Minute)
	defer within.close()
	called := 0
	if h := within.do(func() {
		for range 3 {
			if err := within.call("many", func() error { called++; return why }); !errors.Is(err, why) {
				t.Error(err)
			}
		}
	}); h != nil || called != 3 {
		t.Errorf("%v, %d calls", h, called)
	}
	within.limit = time.Millisecond
	release, ended = make(chan struct{}), make(chan struct{})
	h := within.do(func() {
		defer close(ended)
		_ = within.call("the last", func() error { <-release; return nil })
		t.Error("it goes on after a hang")
	})
	if h == nil || h.What != "the last" || !within.gone() {
		t.Errorf("%v", h)
	}
	close(release)
	<-ended
	forever := newCaller(0)
	defer forever.close()
	if err := forever.call("slow", func() error { time.Sleep(5 * time.Millisecond); return nil }); err != nil {
		t.Error(err)
	}
}

func said(replay, errors string) (s filesystem.Said) {
	if replay != "" {
		s.Replay = []string{replay}
	}
	if errors != "" {
		s.Errors = []string{errors}
	}
	return s
}

func TestOutcome(t *testing.T) {
	loss := func(all ...fault.Outcome) (f Found) {
		for _, o := range all {
			f.Breaches = append(f.Breaches, fault.Breach{Promise: "fsync", Outcome: o})
		}
		return f
	}
	readOnly := loss(fault.Truncated)
	readOnly.ReadOnly = "EROFS"
	for want, s := range map[fault.Outcome]Diagnosis{
		fault.Whole:       {Mounted: true},
		fault.Recovered:   {Mounted: true, Said: said("journal", "")},
		fault.Reported:    {Mounted: true, Said: said("journal", "damage")},
		fault.ReadOnly:    {Mounted: true, Said: said("", "damage"), Found: Found{ReadOnly: "EROFS"}},
		fault.Truncated:   {Mounted: true, Said: said("", "damage"), Found: readOnly},
		fault.IOError:     {Mounted: true, Found: loss(fault.Truncated, fault.IOError)},
		fault.Wrong:       {Mounted: true, Found: loss(fault.Wrong, fault.Truncated)},
		fault.Unmountable: {why: "EUCLEAN"},
		fault.Hang:        {Mounted: true, hung: "unmount", Found: loss(fault.Wrong)},
		fault.Died:        {hung: "mount", died: "kernel BUG at fs/f2fs/segment.c:1!"},
	} {
		if s.settle(false); s.Outcome != want {
			t.Errorf("%s, want %s: %+v", s.Outcome.Key(), want.Key(), s)
		}
		if want > fault.Recovered && s.Words() == "" && len(s.Breaches) == 0 {
			t.Errorf("%s: nothing is said", want.Key())
		}
	}
	// If the kernel gives up on some work while other filesystems are in use and this one returns,
	// another filesystem was the cause.
	s := Diagnosis{Mounted: true, died: "kernel BUG at fs/f2fs/segment.c:1!"}
	if s.settle(false); s.Outcome != fault.Whole {
		t.Errorf("%s", s.Outcome.Key())
	}
	if s.settle(true); s.Outcome != fault.Died {
		t.Errorf("%s", s.Outcome.Key())
	}
}

// Losses that had been reported break no promise.
func TestBroken(t *testing.T) {
	f := Found{Breaches: []fault.Breach{{Promise: script.PromiseFsync, Outcome: fault.Lost}, {Promise: script.PromiseNone, Outcome: fault.IOError}}}
	if f.Broken() != 1 {
		t.Errorf("%d", f.Broken())
	}
}

func TestTally(t *testing.T) {
	tally := NewTally(9)
	found := func(broken int) (f Found) {
		f.Promises = 4
		for range broken {
			f.Breaches = append(f.Breaches, fault.Breach{Promise: "fsync", Outcome: fault.Lost, What: "it is gone"})
		}
		return f
	}
	for n := 1; n <= 3; n++ {
		tally.Count(n, Diagnosis{Outcome: fault.Whole, Mounted: true, Took: time.Duration(n) * time.Second, Found: found(0), Checked: n == 1})
	}
	readOnly := found(0)
	readOnly.ReadOnly = "it was mounted read-only"
	tally.Count(4, Diagnosis{Outcome: fault.Recovered, Mounted: true, Took: 8 * time.Second, Said: said("replayed", ""), Found: readOnly, Checked: true, Dirty: true, Check: "bad bitmap", After: fault.Whole})
	stopped := found(1)
	stopped.Stopped = true
	for n := 5; n <= 10; n++ {
		tally.Count(n, Diagnosis{Outcome: fault.Lost, why: "EIO", Said: said("", "bad"), Found: stopped, Unchecked: "fsck is not installed", Unrepaired: "fsck is not installed", After: fault.Lost})
	}
	got := map[string]float64{}
	for _, m := range tally.Measurements() {
		if m.Absent == "" {
			got[m.Metric] = m.Value
		}
	}
	for metric, want := range map[string]float64{fault.Tried: 10, fault.OutcomePrefix + "whole": 3, fault.OutcomePrefix + "recovered": 1,
		fault.OutcomePrefix + "lost": 6, fault.AfterPrefix + "whole": 1, fault.AfterPrefix + "lost": 6, fault.Mounted: 4, fault.Promises: 40, fault.Broken: 6,
		fault.CheckClean: 1, fault.CheckDirty: 1, fault.Replayed: 1, fault.Complained: 6, fault.Stopped: 7, fault.MountMean: 3.5, fault.MountMedian: 2.5, fault.MountLongest: 8} {
		if v, ok := got[metric]; !ok || v != want {
			t.Errorf("%s: %v, want %v", metric, v, want)
		}
	}
	notes := tally.Notes()
	if _, there := got[fault.OutcomePrefix+"wrong"]; there || len(notes) != mostNoted+3 {
		t.Errorf("%v %v", got, notes)
	}
	for i, want := range map[int]string{0: "iteration 4 (seed 9), recovered: it accepts no more writes: it was mounted read-only; the check: bad bitmap", 1: "iteration 5 (seed 9), lost: EIO; it is gone; kernel: bad",
		mostNoted: "and 2 more iterations like these", mostNoted + 1: "no check: fsck is not installed", mostNoted + 2: "no repair: fsck is not installed"} {
		if !strings.HasPrefix(notes[i].Text, want) {
			t.Errorf("%q, not %q", notes[i].Text, want)
		}
	}
	for _, m := range NewTally(9).Measurements() {
		if strings.HasPrefix(m.Metric, "fault.mount.") && m.Absent == "" {
			t.Errorf("%+v", m)
		}
	}
}
