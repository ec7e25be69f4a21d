package powercut

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"whichfs/internal/filesystem"
	"whichfs/internal/host/machine"
	"whichfs/internal/plan/media"
	"whichfs/internal/plan/scenario"
	"whichfs/internal/result"
	"whichfs/internal/testing/parsed"
	"whichfs/internal/wire"
)

// lab plays storage: what becomes of its trials is up to the test.
type lab struct {
	write, verify func() (wire.Done, error)
	dies          map[uint64]bool // the guests with these seeds, when they verify
	mu            sync.Mutex
	cuts          []string // seed of the guests and instant of each
	open          int
}

func (l *lab) fresh(seed uint64) (Storage, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.open++
	return &played{lab: l, seed: seed}, nil
}

type played struct {
	lab  *lab
	seed uint64
}

func (p *played) Write(_ context.Context, t wire.Trial, after time.Duration, safe func(int64)) (wire.Done, error) {
	p.lab.mu.Lock()
	defer p.lab.mu.Unlock()
	p.lab.cuts = append(p.lab.cuts, fmt.Sprintf("%d %d %v", p.seed, t.Scenario[len(t.Scenario)-1].Seed, after))
	safe(1)
	safe(2)
	return p.lab.write()
}

func (p *played) Verify(_ context.Context, t wire.Trial, _ machine.Events) (wire.Done, error) {
	if n := t.Scenario[len(t.Scenario)-2].Ops; n != 2 {
		return wire.Done{}, fmt.Errorf("%d promises are verified", n)
	}
	if p.lab.dies[p.seed] {
		return wire.Done{}, &result.Failure{Outcome: result.LabFailed, Reason: "it died"}
	}
	return p.lab.verify()
}

func (p *played) Neighbours() int64 { return 0 }

func (p *played) Keep(_ context.Context, dir, name string) string { return "kept: " + dir + "/" + name }

func (p *played) Close() {
	p.lab.mu.Lock()
	defer p.lab.mu.Unlock()
	p.lab.open--
}

func done(outcome result.Outcome, reason string) func() (wire.Done, error) {
	return func() (wire.Done, error) {
		if outcome == result.LabFailed {
			return wire.Done{}, &result.Failure{Outcome: outcome, Reason: "it died", Console: []string{reason}}
		}
		return wire.Done{Outcome: outcome, Phase: "p", Reason: reason}, nil
	}
}

// card is storage under test.
var card = media.Storage{Kind: media.KindSim, Size: 1 << 30}

// An order that was interrupted goes on where it stopped, and its figures are those of one that was not.
func TestResumedCuts(t *testing.T) {
	order := machine.Cut{Candidate: parsed.Candidate("ext4"), Repeats: 5, Seed: 7, Keep: filepath.Join(t.TempDir(), "round-1")}
	run := func(order machine.Cut, fails int) (made int, figures string, err error) { // the cut of this number, and those after it
		t.Helper()
		l := &lab{write: done(result.Done, ""), verify: done(result.SubjectFailed, "invalid argument"), dies: map[uint64]bool{}}
		for number := fails; fails > 0 && number <= order.Repeats; number++ {
			l.dies[seedOf(drawOf(order, number-1))] = true
		}
		_, err = Run(t.Context(), order, card, l.fresh, machine.Events{Figures: func(f wire.Figures) { figures = fmt.Sprintf("%+v", f) }})
		return len(l.cuts), figures, err
	}
	whole := order
	whole.Keep = filepath.Join(t.TempDir(), "round-1")
	_, want, err := run(whole, 0)
	if err != nil {
		t.Fatal(err)
	}
	before, _, err := run(order, 3)
	if err == nil || before < 2+missed*tries {
		t.Fatalf("%d cuts before %v", before, err)
	}
	// What is torn is made again.
	journals, _ := filepath.Glob(filepath.Join(order.Keep, "*.jsonl"))
	text, err := os.ReadFile(journals[0])
	if err != nil {
		t.Fatal(err)
	}
	kept := strings.Count(string(text), `"Cut"`)
	if err := os.WriteFile(journals[0], append(text, `{"Order": "ext4`...), 0o644); err != nil {
		t.Fatal(err)
	}
	// Another order has nothing to do with it.
	other := order
	other.Seed++
	if _, _, err := run(other, 1); err == nil {
		t.Fatal("the other order ended")
	}
	after, got, err := run(order, 0)
	if got = strings.ReplaceAll(got, order.Keep, whole.Keep); err != nil || got != want || kept != 2 || after != order.Repeats-kept {
		t.Errorf("%d cuts after %d were kept: %v\n%s\n%s", after, kept, err, got, want)
	}
	if _, err := os.Stat(order.Keep); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the journal is still there: %v", err)
	}
}

func TestRun(t *testing.T) {
	for name, c := range map[string]struct {
		write, verify func() (wire.Done, error)
		outcome       result.Outcome // "": an error
		lost          float64
		said          string // in the reason, the error or the notes
	}{
		"kept":         {done(result.Done, ""), done(result.Done, ""), result.Done, 0, ""},
		"unmountable":  {done(result.Done, ""), done(result.SubjectFailed, "invalid argument"), result.Done, 5, "p: invalid argument; kept: KEEP/cut-ext4--o-nobarrier-3"},
		"panic":        {done(result.Done, ""), done(result.LabFailed, "[ 1.0] Kernel panic - not syncing"), result.Done, 5, "the kernel: Kernel panic - not syncing"},
		"lab":          {done(result.Done, ""), done(result.LabFailed, "nothing"), "", 0, "it died"},
		"before a cut": {done(result.SubjectFailed, "no space"), nil, result.SubjectFailed, 0, "phase p before a cut: no space"},
	} {
		t.Run(name, func(t *testing.T) {
			l := &lab{write: c.write, verify: c.verify}
			lost, said := 0.0, ""
			keep := filepath.Join(t.TempDir(), "e")
			order := machine.Cut{Candidate: parsed.Candidate("ext4 -o nobarrier"), Repeats: 5, Seed: 7, Keep: keep}
			d, err := Run(t.Context(), order, card, l.fresh, machine.Events{Figures: func(f wire.Figures) {
				for _, m := range f.Measurements {
					if m.Metric == result.CutsWithLoss {
						lost = m.Value
					}
				}
				for _, n := range f.Notes {
					said += n.Text + "\n"
				}
			}})
			if err != nil {
				said = err.Error()
			}
			if (err != nil) != (c.outcome == "") || d.Outcome != c.outcome || lost != c.lost || !strings.Contains(strings.ReplaceAll(d.Reason+said, keep, "KEEP"), c.said) {
				t.Errorf("%+v, %v; %v cuts with losses: %s", d, err, lost, said)
			}
			if l.open != 0 {
				t.Errorf("%d are open", l.open)
			}
		})
	}
}

// A cut that fails for other reasons than the filesystem's is begun anew and, if that does not help, missing. Where
// one after the other does, the order ends.
func TestSpoiledCuts(t *testing.T) {
	const cuts = 6
	for name, c := range map[string]struct {
		fails map[int]int // how often a cut fails, by its number
		want  float64     // cuts that were made; 0: an error
		says  []string
	}{
		"once":       {map[int]int{2: 1, 5: 2}, cuts, []string{"cut 2 was made anew, since it failed for other reasons than the filesystem's: it died", "cut 5 was made anew"}},
		"missing":    {map[int]int{1: tries, 4: tries, 6: tries}, cuts - 3, []string{"cut 1 is missing", "cut 4 is missing: it failed 3 times for other reasons than the filesystem's, most recently: it died", "cut 6 is missing"}},
		"one by one": {map[int]int{3: tries, 4: tries}, 0, []string{"it died"}},
		"all":        {map[int]int{1: tries, 2: tries, 3: tries, 4: tries, 5: tries, 6: tries}, 0, []string{"it died"}},
	} {
		order := machine.Cut{Candidate: parsed.Candidate("ext4"), Repeats: cuts, Seed: 7}
		// The seed of its guests says which cut it is.
		var mu sync.Mutex
		left := map[uint64]int{}
		for number, fails := range c.fails {
			left[rand.New(rand.NewPCG(order.Seed, uint64(number-1))).Uint64()>>11] = fails
		}
		l := &lab{write: done(result.Done, ""), verify: done(result.Done, "")}
		fresh := func(seed uint64) (Storage, error) {
			mu.Lock()
			defer mu.Unlock()
			if left[seed]--; left[seed] >= 0 {
				return nil, &result.Failure{Outcome: result.LabFailed, Reason: "it died"}
			}
			return l.fresh(seed)
		}
		made, said := 0.0, ""
		_, err := Run(t.Context(), order, card, fresh, machine.Events{Figures: func(f wire.Figures) {
			for _, m := range f.Measurements {
				if m.Metric == result.CutsDone {
					made = m.Value
				}
			}
			for _, n := range f.Notes {
				said += n.Text + "\n"
			}
		}})
		if err != nil {
			said = err.Error()
		}
		if made != c.want || (err != nil) != (c.want == 0) {
			t.Errorf("%s: %v cuts, %v", name, made, err)
		}
		for _, want := range c.says {
			if !strings.Contains(said, want) {
				t.Errorf("%s: %q does not say %q", name, said, want)
			}
		}
	}
}

// The seed alone determines the guests, what they write and when they are cut.
func TestDraws(t *testing.T) {
	draws := func(seed uint64) []string {
		l := &lab{write: done(result.Done, ""), verify: done(result.Done, "")}
		if _, err := Run(t.Context(), machine.Cut{Candidate: parsed.Candidate("ext4"), Repeats: 20, Seed: seed}, card, l.fresh, machine.Events{}); err != nil {
			t.Fatal(err)
		}
		slices.Sort(l.cuts) // they run beside each other
		return l.cuts
	}
	first, other := draws(1), draws(2)
	if !slices.Equal(first, draws(1)) {
		t.Errorf("%v", first)
	}
	if all := slices.Compact(slices.Sorted(slices.Values(append(first, other...)))); len(all) != 40 {
		t.Errorf("%d of 40 cuts differ", len(all))
	}
}

func TestEnded(t *testing.T) {
	if d, err := Ended(t.Context(), true, wire.Done{}, errors.New("it died")); err != nil || d.Outcome != result.Done {
		t.Errorf("cut: %+v, %v", d, err)
	}
	if _, err := Ended(t.Context(), false, wire.Done{Outcome: result.Done}, nil); err == nil || !strings.Contains(err.Error(), "before the power was cut") {
		t.Errorf("too early: %v", err)
	}
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Ended(gone, true, wire.Done{}, nil); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
}

// Where the end of a guest is not a power cut, Run says so and starts nothing.
func TestImpossibleCutsAreRefused(t *testing.T) {
	for _, c := range []struct {
		storage string
		order   machine.Cut
		want    result.Outcome
		reason  string
	}{
		{"disk:64M", machine.Cut{Candidate: parsed.Candidate("ext4"), Repeats: 1}, result.Unsupported, "not a power cut"},
		{"ram:64M", machine.Cut{Candidate: parsed.Candidate("ext4"), Repeats: 1}, result.Unsupported, "loses nothing, or everything"},
		{"sim:sd-basic,64M", machine.Cut{Candidate: parsed.Candidate("ext4 -J device=memory"), Repeats: 1}, result.Unsupported, "journal is in memory"},
		{"nand:64M", machine.Cut{Candidate: parsed.Candidate("squashfs"), Repeats: 1}, result.Unsupported, "image"},
		{"nand:64M", machine.Cut{Candidate: parsed.Candidate("jffs2")}, result.Refused, "0 cuts"},
		{"sim:sd-basic,64M", machine.Cut{Candidate: parsed.Candidate("ext4"), Repeats: 1, Variant: scenario.Variant{Part: &scenario.Part{}}}, result.Refused, "a part"},
		{"nand:64M", machine.Cut{Candidate: filesystem.Kept("nofs"), Repeats: 1}, result.Refused, "nofs"},
	} {
		under, err := media.Parse(c.storage)
		if err != nil {
			t.Fatal(err)
		}
		done, err := Run(t.Context(), c.order, under, nil, machine.Events{})
		if err != nil || done.Outcome != c.want || !strings.Contains(done.Reason, c.reason) {
			t.Errorf("%s on %s: %+v, %v", c.order.Candidate, c.storage, done, err)
		}
	}
}
