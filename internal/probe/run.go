package probe

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"whichfs/internal/sys/units"
)

// Part is a step of a probe that users can select.
type Part struct {
	Name   string
	Title  string // description for people
	Writes bool   // it needs storage that may be overwritten
	// Keys of the findings that it produces.
	Keys []string
	// share of the time for all parts.
	share float64
	do    func(*prober) error
}

// Parts of a probe in execution order: the caches first, because any earlier
// write fills them; what leaves the device fragmented last.
var Parts = []Part{
	{"rotation", "Rotating or solid state", false, []string{Rotation}, 4, (*prober).rotation},
	{"cache", "Write caches", true, []string{WriteCache, FastCache}, 22, (*prober).cache},
	{"flush", "Cost of flushes", true, []string{FlushCost}, 3, (*prober).flush},
	{"size", "Real capacity", true, []string{RealSize}, 6, (*prober).size},
	{"sweep", "Speed by block size", false, []string{ReadSpeed, WriteSpeed, SmallWrites, LargeWrites, BestReadBlock}, 26, (*prober).sweep},
	{"cached", "Writing through the page cache", true, []string{SmallCached, LargeCached}, 8, (*prober).cached},
	{"map", "Speed over the whole device", false, []string{SlowZones}, 10, (*prober).maps},
	{"queue", "Queue depth", false, []string{QueueDepth}, 4, (*prober).queue},
	{"discard", "Discards", true, []string{DiscardCost, DiscardZeroes}, 3, (*prober).discard},
	{"page", "Page size", false, []string{PageSize}, 6, (*prober).page},
	{"align", "Reads across boundaries", false, nil, 3, (*prober).align},
	{"segment", "Segment size", false, []string{SegmentSize}, 10, (*prober).segment},
	{"open", "Open segments", true, []string{OpenLinear, OpenRandom}, 10, (*prober).open},
	{"fat", "FAT area", false, []string{FATArea}, 6, (*prober).fat},
	{"random", "Random reads and writes", false, []string{RandomRead, RandomWrite}, 8, (*prober).randoms},
}

// Names of the findings, for people, in the order of reports.
var Names = []struct{ Key, Name string }{
	{ReadSpeed, "Read speed"}, {WriteSpeed, "Write speed"},
	{PageSize, "Page size"}, {SegmentSize, "Segment size"},
	{OpenLinear, "Open segments, sequential inside"}, {OpenRandom, "Open segments, at random inside"},
	{FATArea, "FAT area"}, {WriteCache, "Write cache"}, {FastCache, "Fast cache"},
	{FlushCost, "Cost of a flush"}, {DiscardCost, "Cost of a discard"}, {DiscardZeroes, "Discarded places read as zeros"},
	{SlowZones, "Slow zones"}, {RealSize, "Real size"}, {QueueDepth, "Useful queue depth"},
	{Rotation, "Rotation"}, {RandomRead, "Random reads"}, {RandomWrite, "Random writes"},
	{SmallWrites, "Cost of writes below 4 KiB"}, {LargeWrites, "Gain of writes above 4 KiB"},
	{SmallCached, "Cost of writes below 4 KiB, cached"}, {LargeCached, "Gain of writes above 4 KiB, cached"},
	{BestReadBlock, "Best block size for reading"},
}

// Reasons for missing findings.
const (
	onlyReads = "writing is not allowed, and reads cannot show it"
	noTime    = "there was no time left for it"
)

// errLimit ends a part when Options.Limit is reached.
var errLimit = errors.New("the time limit was reached")

// budget is the time for all parts together at an effort.
func budget(effort string) (time.Duration, error) {
	switch effort {
	case "quick":
		return 80 * time.Second, nil
	case "", "normal":
		return 9 * time.Minute, nil
	case "thorough":
		return 6 * time.Hour, nil
	}
	return 0, fmt.Errorf("effort %q: use quick, normal or thorough", effort)
}

// Run probes a target. The report holds what was found so far even if there is
// an error, which is that of ctx, one about the options, or the target's own,
// with its part and request.
func Run(ctx context.Context, t Target, o Options) (Report, error) {
	o.Effort = cmp.Or(o.Effort, "normal")
	r := Report{Format: 1, Size: t.Size(), Effort: o.Effort, Seed: o.Seed, Started: time.Now().UTC()}
	all, err := budget(o.Effort)
	if err != nil {
		return r, err
	}
	todo, err := chosen(o.Only)
	if err != nil {
		return r, err
	}
	p := &prober{ctx: ctx, t: t, o: o, r: &r, block: 512}
	if b, ok := t.(Blocks); ok {
		p.block = max(p.block, b.BlockSize())
	}
	began := t.Elapsed()
	end := began + all
	if o.Limit > 0 {
		end = began + min(all, o.Limit)
		p.limit = began + o.Limit
	}
	err = p.parts(todo, end)
	r.Seconds = (t.Elapsed() - began).Seconds()
	sortFindings(r.Findings)
	return r, err
}

// chosen returns the selected parts, or all.
func chosen(only []string) ([]Part, error) {
	if len(only) == 0 {
		return Parts, nil
	}
	var have []string
	var out []Part
	for _, x := range Parts {
		have = append(have, x.Name)
		if slices.Contains(only, x.Name) {
			out = append(out, x)
		}
	}
	for _, name := range only {
		if !slices.Contains(have, name) {
			return nil, fmt.Errorf("a probe has no part %q; use %s", name, strings.Join(have, ", "))
		}
	}
	return out, nil
}

// parts runs the parts. Each gets its share of the remaining time. After an
// error the remaining findings say why they are missing.
func (p *prober) parts(todo []Part, end time.Duration) error {
	all, done := 0.0, 0.0
	for _, x := range todo {
		all += x.share
	}
	var failed error
	for _, x := range todo {
		now := p.t.Elapsed()
		switch {
		case failed != nil:
			p.missing(x, "the probe ended before: "+failed.Error())
		case x.Writes && !p.t.Writable():
			p.missing(x, onlyReads)
		case now >= end && (p.limit > 0 || p.o.Effort == "quick" && x.Name != "random"):
			p.missing(x, noTime)
		default:
			p.tell(x.Title, done/all)
			// A part is not skipped because others took longer
			// than they should, unless the user set the limit or
			// wants a quick probe. A few seconds are enough for
			// the random rates.
			slot := time.Duration(float64(end-now) * x.share / (all - done))
			failed = p.do(x, now+max(slot, 2*time.Second))
		}
		done += x.share
	}
	p.tell("Done", 1)
	return failed
}

// do runs one part.
func (p *prober) do(x Part, until time.Duration) error {
	p.part, p.until = x.Name, until
	h := fnv.New64a()
	h.Write([]byte(x.Name)) //nolint:errcheck // it never fails
	p.random = rand.New(rand.NewPCG(p.o.Seed, h.Sum64()))
	err := x.do(p)
	switch {
	case err == nil:
		p.missing(x, "the measurements of this part do not show it")
	case errors.Is(err, errLimit):
		p.missing(x, noTime)
		p.warn("the part " + x.Name + " was cut short: " + err.Error())
		return nil
	case errors.Is(err, ErrUnsupported):
		p.missing(x, err.Error())
		return nil
	default:
		p.missing(x, err.Error())
		p.warn("the probe ended in part " + x.Name + ": " + err.Error())
	}
	return err
}

// missing gives a reason for the findings that a part did not produce.
func (p *prober) missing(x Part, why string) {
	for _, key := range x.Keys {
		if p.r.Find(key).Key == "" {
			p.unknown(key, why)
		}
	}
}

func (p *prober) tell(what string, share float64) {
	if p.o.Progress != nil {
		p.o.Progress(what, share)
	}
}

// warn adds a warning to the report.
func (p *prober) warn(text string) { p.r.Warnings = append(p.r.Warnings, text) }

// found adds a finding, replacing any with the same key.
func (p *prober) found(f Finding) {
	f.Name = cmp.Or(f.Name, Name(f.Key))
	p.r.Findings = slices.DeleteFunc(p.r.Findings, func(x Finding) bool { return x.Key == f.Key })
	p.r.Findings = append(p.r.Findings, f)
}

// Name is what people call a finding.
func Name(key string) string {
	for _, n := range Names {
		if n.Key == key {
			return n.Name
		}
	}
	return ""
}

// unknown adds an undetermined finding.
func (p *prober) unknown(key, why string) { p.found(Finding{Key: key, Undetermined: why}) }

// curve adds a curve.
func (p *prober) curve(c Curve) { p.r.Curves = append(p.r.Curves, c) }

func sortFindings(list []Finding) {
	place := func(f Finding) int {
		for i, n := range Names {
			if n.Key == f.Key {
				return i
			}
		}
		return len(Names)
	}
	slices.SortStableFunc(list, func(a, b Finding) int { return place(a) - place(b) })
}

// left is the part's remaining time.
func (p *prober) left() time.Duration { return p.until - p.t.Elapsed() }

// level selects one of three values, by effort.
func level[T any](p *prober, quick, normal, thorough T) T {
	switch p.o.Effort {
	case "quick":
		return quick
	case "thorough":
		return thorough
	}
	return normal
}

// ready returns an error if no further request may be made.
func (p *prober) ready() error {
	if err := p.ctx.Err(); err != nil {
		return err
	}
	if p.limit > 0 && p.t.Elapsed() >= p.limit {
		return errLimit
	}
	return nil
}

// wrap adds the operation to a target's error.
func (p *prober) wrap(doing string, offset, length int64, err error) error {
	if err == nil || errors.Is(err, ErrUnsupported) {
		return err
	}
	return fmt.Errorf("%s %s at %s in part %s: %w", doing, units.Value(float64(length), "B"), units.Value(float64(offset), "B"), p.part, err)
}

func (p *prober) read(offset, length int64) (time.Duration, error) {
	if err := p.ready(); err != nil {
		return 0, err
	}
	d, err := p.t.Read(offset, length)
	return d, p.wrap("reading", offset, length, err)
}

func (p *prober) write(offset, length int64) (time.Duration, error) {
	if err := p.ready(); err != nil {
		return 0, err
	}
	p.r.Wrote = true
	d, err := p.t.Write(offset, length)
	if err == nil {
		p.r.Written += length
	}
	return d, p.wrap("writing", offset, length, err)
}

func (p *prober) sync() (time.Duration, error) {
	if err := p.ready(); err != nil {
		return 0, err
	}
	d, err := p.t.Flush()
	if err != nil && !errors.Is(err, ErrUnsupported) {
		err = fmt.Errorf("flushing in part %s: %w", p.part, err)
	}
	return d, err
}

func (p *prober) drop(offset, length int64) (time.Duration, error) {
	if err := p.ready(); err != nil {
		return 0, err
	}
	p.r.Wrote = true
	d, err := p.t.Discard(offset, length)
	return d, p.wrap("discarding", offset, length, err)
}

func (p *prober) together(write bool, offsets []int64, length int64, depth int) (time.Duration, error) {
	if err := p.ready(); err != nil {
		return 0, err
	}
	doing := "reading"
	if write {
		doing, p.r.Wrote = "writing", true
	}
	d, err := p.t.Together(write, offsets, length, depth)
	if err == nil && write {
		p.r.Written += length * int64(len(offsets))
	}
	if err != nil && !errors.Is(err, ErrUnsupported) {
		err = fmt.Errorf("%s %d times %s, %d at a time, in part %s: %w", doing, len(offsets), units.Value(float64(length), "B"), depth, p.part, err)
	}
	return d, err
}

func (p *prober) load(offset int64, into []byte) error {
	if err := p.ready(); err != nil {
		return err
	}
	return p.wrap("reading", offset, int64(len(into)), p.t.Load(offset, into))
}

func (p *prober) store(offset int64, from []byte) error {
	if err := p.ready(); err != nil {
		return err
	}
	p.r.Wrote = true
	err := p.t.Store(offset, from)
	if err == nil {
		p.r.Written += int64(len(from))
	}
	return p.wrap("writing", offset, int64(len(from)), err)
}

// pause leaves the device idle, within the remaining time.
func (p *prober) pause(d time.Duration) error {
	if err := p.ready(); err != nil {
		return err
	}
	if p.limit > 0 {
		d = min(d, p.limit-p.t.Elapsed())
	}
	if d > 0 {
		p.t.Pause(d)
	}
	return p.ready()
}

// Budget is the approximate duration of a probe on the target's clock, for
// announcements; 0 for an unknown effort.
func Budget(effort string) time.Duration {
	d, err := budget(effort)
	if err != nil {
		return 0
	}
	return d
}
