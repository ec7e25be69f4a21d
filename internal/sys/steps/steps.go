// Package steps follows long work that announces its steps, and learns from it: how long each step took on this
// machine is kept in the cache, and tells the next time how much is left. Its point of view: an estimate is a
// courtesy. It is never the reason that work fails, and where nothing is known it says nothing.
package steps

import (
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"time"
	"unicode"

	"whichfs/internal/sys/cache"
	"whichfs/internal/sys/units"
	"whichfs/internal/sys/whole"
)

// file has the durations, in the directory of the cache.
const file = "durations.json"

// step is one that has a duration, in seconds. One that comes again is one of the sum of both.
type step struct {
	Name    string  `json:"name"`
	Seconds float64 `json:"seconds"`
}

// Work is some work that is going on.
type Work struct {
	name    string
	before  []step // of the last time, in order; nil: not known
	done    []step // that have ended
	current string // "" before the first
	at      int    // the place in before that was reached
	since   time.Time
	said    time.Time // when a line had what is left
	now     func() time.Time
}

// Of begins work; what took place before under the same name tells how long it takes.
func Of(name string) *Work { return &Work{name: name, before: kept()[name], at: -1, now: time.Now} }

// Begin ends the current step and begins another one. Numbers in its name, and all behind a colon or a comma,
// are not part of what it is called the next time.
func (w *Work) Begin(name string) {
	name = key(name)
	if name == w.current || name == "" {
		return
	}
	w.finish()
	w.current, w.since = name, w.now()
	for i := w.at + 1; i < len(w.before); i++ {
		if w.before[i].Name == name {
			w.at = i
			break
		}
	}
}

func key(name string) string {
	name, _, _ = strings.Cut(name, ":")
	name, _, _ = strings.Cut(name, ",")
	words := strings.Fields(name)
	kept := words[:0]
	for _, word := range words {
		if !strings.ContainsFunc(word, unicode.IsDigit) {
			kept = append(kept, word)
		}
	}
	return strings.Join(kept, " ")
}

func (w *Work) finish() {
	if w.current == "" {
		return
	}
	took := w.now().Sub(w.since).Seconds()
	for i := range w.done {
		if w.done[i].Name == w.current {
			w.done[i].Seconds += took
			return
		}
	}
	w.done = append(w.done, step{w.current, took})
}

// Left estimates how long the rest takes: as long as the last time, by the speed of what has been done; ok is
// false if nothing is known.
func (w *Work) Left() (left time.Duration, ok bool) {
	if w.at < 0 {
		return 0, false
	}
	then, now := 0.0, 0.0
	for _, d := range w.done {
		for _, b := range w.before {
			if b.Name == d.Name {
				then, now = then+b.Seconds, now+d.Seconds
			}
		}
	}
	speed := 1.0
	if then >= 1 { // less says nothing
		speed = min(max(now/then, 1./4), 4)
	}
	seconds := 0.0
	for i, b := range w.before[w.at:] {
		rest := b.Seconds * speed
		if i == 0 && w.current == b.Name {
			rest = max(0, rest-w.now().Sub(w.since).Seconds())
		}
		seconds += rest
	}
	return time.Duration(seconds * float64(time.Second)), true
}

// sayEvery is the time between two lines with what is left.
const sayEvery = 5 * time.Second

// Saying begins a step with every line, which it passes on, now and then with the time that is left, if that is known,
// is two seconds or more, and is not what the line itself ends with.
func (w *Work) Saying(progress func(string)) func(string) {
	return func(line string) {
		w.Begin(line)
		if left, ok := w.Left(); ok && left >= 2*time.Second && !strings.HasSuffix(line, " left") && w.now().Sub(w.said) >= sayEvery {
			w.said = w.now()
			line += ", about " + units.Rough(left) + " left"
		}
		progress(line)
	}
}

// End keeps how long the steps took. It is for work that was done from its beginning to its end.
func (w *Work) End() {
	w.finish()
	all := kept()
	if all == nil {
		all = map[string][]step{}
	}
	all = maps.Clone(all)
	all[w.name] = w.done
	text, err := json.MarshalIndent(all, "", "  ")
	if err != nil {
		return
	}
	if dir, err := cache.Sub("."); err == nil {
		_ = whole.Write(filepath.Join(dir, file), func(f *os.File) error { // the next time nothing is known, as before
			_, err := f.Write(append(text, '\n'))
			return err
		})
	}
}

// kept are the durations of all work.
func kept() (all map[string][]step) {
	dir, err := cache.Dir()
	if err != nil {
		return nil
	}
	text, err := os.ReadFile(filepath.Join(dir, file))
	if err != nil || json.Unmarshal(text, &all) != nil {
		return nil
	}
	return all
}
