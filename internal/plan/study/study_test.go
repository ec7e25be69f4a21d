package study

import (
	"cmp"
	"slices"
	"strings"
	"testing"

	"whichfs/internal/fault"
	"whichfs/internal/filesystem"
	"whichfs/internal/plan/scenario"
	"whichfs/internal/result"
)

// Every study must be consistent: this test is the compiler for data.
func TestStudiesAreConsistent(t *testing.T) {
	for _, s := range All {
		t.Run(s.Name, func(t *testing.T) {
			if got, ok := ByName(s.Name); !ok || got.Title != s.Title || s.Title == "" || s.Source == "" {
				t.Errorf("ByName does not find it, or it has no title or source")
			}
			if (s.Work == "") != s.Untimed || len(s.Work) > 72 {
				t.Errorf("the words for its work are %q", s.Work)
			}
			checkColumns(t, s)
			checkTables(t, s)
			checkClaims(t, s)
			for name, scale := range s.Scales {
				checkScale(t, s, name, scale)
			}
			for _, name := range []string{"quick", "full"} {
				if _, ok := s.Scales[name]; !ok {
					t.Errorf("no scale %q", name)
				}
			}
		})
	}
	if _, ok := ByName("no-such-study"); ok {
		t.Error("found a study that does not exist")
	}
}

// fitted returns a scale, adapted to each of the study's storages.
func fitted(s Study, scale string) []Scale {
	all := []Scale{s.Scales[scale]}
	for _, on := range s.Storages {
		all = append(all, s.Fit(scale, on))
	}
	return all
}

// Reading a tree expects as many copies as were written.
func TestCopiesRead(t *testing.T) {
	for _, s := range All {
		for name := range s.Scales {
			for _, scale := range fitted(s, name) {
				copies := map[string]int{} // by directory
				for _, step := range s.Scenario(false, scale) {
					switch {
					case step.Work == "tree-copy":
						copies[step.Dir] = step.Count
					case step.Work == "tree-read" && step.Data != "" && copies[step.Dir] > 0 && copies[step.Dir] != max(step.Count, 1):
						t.Errorf("%s, scale %s: %s reads %d of %d copies", s.Name, name, step.Phase, max(step.Count, 1), copies[step.Dir])
					}
				}
			}
		}
	}
}

func checkColumns(t *testing.T, s Study) {
	phases := map[string]bool{}
	for name := range s.Scales {
		for _, scale := range fitted(s, name) {
			for _, readOnly := range []bool{false, true} {
				for _, p := range s.Scenario(readOnly, scale).Phases() {
					phases[p] = true
				}
			}
		}
	}
	seen := map[string]bool{}
	for _, c := range s.Columns {
		if seen[c.Key] || c.Key == "" || c.Name == "" || c.About == "" || len(c.Terms) == 0 {
			t.Errorf("column %+v is doubled or incomplete", c)
		}
		seen[c.Key] = true
		if c.Unit != "s" && c.Unit != "B" && c.Unit != "B/s" && c.Unit != "1" {
			t.Errorf("column %s has unit %q", c.Key, c.Unit)
		}
		for _, term := range slices.Concat(c.Terms, c.Over) {
			boots := (strings.HasPrefix(term.Phase, "boot ") || strings.HasPrefix(term.Phase, "login ")) && s.Scales["quick"].Boots > 0
			if !phases[term.Phase] && !boots || term.Metric == "" {
				t.Errorf("column %s needs phase %q, which no scenario has", c.Key, term.Phase)
			}
		}
		if c.Extra && len(c.Uses) > 0 {
			t.Errorf("column %s is extra and counts", c.Key)
		}
	}
}

func checkTables(t *testing.T, s Study) {
	for _, table := range s.Tables {
		for _, key := range table.Columns {
			if c, ok := s.Column(key); !ok || c.Extra {
				t.Errorf("table %q has no column %q of the study", table.Name, key)
			}
		}
		for _, r := range table.Rows {
			if len(r.Grades) != len(table.Columns) {
				t.Errorf("row %s has %d grades for %d columns", r.Label, len(r.Grades), len(table.Columns))
			}
			for _, g := range r.Grades {
				if g != "" && !slices.Contains(table.Scale, g) {
					t.Errorf("row %s has grade %q, which is not on the scale", r.Label, g)
				}
			}
			for name, scale := range s.Scales {
				if !slices.Contains(scale.Candidates, r.Candidate) {
					t.Errorf("scale %s lacks %q of table %q", name, r.Candidate, table.Name)
				}
			}
		}
	}
}

func checkClaims(t *testing.T, s Study) {
	var full []string
	for _, scale := range fitted(s, "full") {
		full = append(full, scale.Candidates...)
	}
	seen := map[string]bool{}
	known := func(id, key string, candidates ...string) {
		if _, ok := s.Column(key); !ok {
			t.Errorf("claim %s: no column %q", id, key)
		}
		for _, c := range candidates {
			if !slices.Contains(full, c) {
				t.Errorf("claim %s: the full scale has no %q", id, c)
			}
		}
	}
	var claims []Claim
	limits := func(id string, low, high float64) {
		if low == 0 && high == 0 || high != 0 && low >= high {
			t.Errorf("claim %s: between %v and %v", id, low, high)
		}
	}
	for _, c := range s.Claims {
		if seen[c.ID] || c.ID == "" || c.Text == "" || c.Where == "" {
			t.Errorf("claim %+v is doubled or incomplete", c)
		}
		seen[c.ID] = true
		every, ok := c.Check.(EveryCheck)
		if !ok {
			every = EveryCheck{c.Check}
		}
		for _, one := range every {
			c.Check = one
			claims = append(claims, c)
		}
	}
	for _, c := range claims {
		switch k := c.Check.(type) {
		case PlaceCheck:
			known(c.ID, k.Keys[0], append(slices.Clone(k.Among), k.Candidate)...)
			for _, key := range k.Keys {
				known(c.ID, key)
			}
			if !slices.Contains(k.Among, k.Candidate) || k.From < 1 || k.To < k.From || k.To-k.From+1 >= len(k.Among) || k.To > len(k.Among) {
				t.Errorf("claim %s: %+v", c.ID, k)
			}
		case LevelsCheck:
			known(c.ID, k.Column, k.A, k.B)
			if k.To != 0 && k.To < k.From || k.Low == 0 && k.High == 0 || k.High != 0 && k.Low >= k.High || !varies(s, func(f scenario.Factor) bool { return f.Axis == k.Axis }) {
				t.Errorf("claim %s: %+v", c.ID, k)
			}
		case SmallestCheck:
			for _, key := range k.Columns() {
				known(c.ID, key, k.Candidate)
			}
			if k.Size <= 0 || k.Size%1024 != 0 || k.Free < 0 || k.Free >= float64(k.Size) {
				t.Errorf("claim %s: %+v", c.ID, k)
			}
		case FailureCheck:
			known(c.ID, s.Columns[0].Key, k.Candidate)
			if k.Reason == "" {
				t.Errorf("claim %s: %+v", c.ID, k)
			}
		case PowerCheck:
			known(c.ID, s.Columns[0].Key, k.Candidate)
			phases := s.Scenario(false, s.Fit("quick", s.Storages[0])).Phases()
			for _, phase := range []string{k.Mount, k.Compare} {
				if !slices.Contains(phases, phase) {
					t.Errorf("claim %s: no phase %q", c.ID, phase)
				}
			}
		case SweepCheck:
			if k.Curve == "" || (k.Block == 0) == (k.Of == "") || k.Low == 0 && k.High == 0 || !slices.Contains([]Blocks{AllBlocks, LargerBlocks, SmallerBlocks}, k.Than) {
				t.Errorf("claim %s: %+v", c.ID, k)
			}
		case OrderCheck:
			known(c.ID, k.Column)
			known(c.ID, k.Measured())
		case BestCheck:
			known(c.ID, k.Column, append(slices.Clone(k.Among), k.Candidate)...)
			if k.Times != "" {
				known(c.ID, k.Times)
			}
			if len(k.Among) > 0 && !slices.Contains(k.Among, k.Candidate) {
				t.Errorf("claim %s: %q is not among those it is compared with", c.ID, k.Candidate)
			}
		case RatioCheck:
			known(c.ID, k.Column, append(slices.Clone(k.B), k.A)...)
			if len(k.B) == 0 || (k.High != 0 && k.Low >= k.High) {
				t.Errorf("claim %s: %+v", c.ID, k)
			}
		case FindingCheck:
			if k.Key == "" || k.High != 0 && (k.Zero || k.Low > k.High) || k.Low == 0 && k.High == 0 && !k.Zero && k.Text == "" {
				t.Errorf("claim %s: %+v", c.ID, k)
			}
		case NumbersCheck:
			if !slices.ContainsFunc(s.Numbers, func(n Numbers) bool { return n.Key == k.Table }) {
				t.Errorf("claim %s: no table %q", c.ID, k.Table)
			}
		case EffectCheck:
			known(c.ID, k.Column, k.Candidates...)
			if k.Variant == "" || k.High != 0 && k.Low >= k.High {
				t.Errorf("claim %s: %+v", c.ID, k)
			}
		case ValueCheck:
			known(c.ID, k.Column, k.Candidate)
			if k.Low > k.High {
				t.Errorf("claim %s: %+v", c.ID, k)
			}
		case TrendCheck:
			known(c.ID, k.Column, k.A, k.B)
			for _, key := range k.Over {
				if !slices.ContainsFunc(s.Storages, func(one Storage) bool { return one.Key == key }) {
					t.Errorf("claim %s: no storage %q", c.ID, key)
				}
			}
		case ColumnsCheck:
			known(c.ID, k.Column, k.Candidates...)
			known(c.ID, k.Over)
			if k.Column == k.Over || k.Low == 0 && k.High == 0 || k.High != 0 && k.Low >= k.High {
				t.Errorf("claim %s: %+v", c.ID, k)
			}
		case CurveCheck:
			known(c.ID, k.Column, k.Candidate)
			if k.Low == 0 && k.High == 0 || k.High != 0 && k.Low >= k.High || !varies(s, func(f scenario.Factor) bool { return f.Axis == k.Axis }) {
				t.Errorf("claim %s: %+v", c.ID, k)
			}
		case MediumCheck:
			known(c.ID, s.Columns[0].Key, k.Candidate)
			if !varies(s, func(f scenario.Factor) bool {
				return f.Medium && slices.ContainsFunc(f.Levels, func(v scenario.Variant) bool { return v.Name == k.Level })
			}) {
				t.Errorf("claim %s: no fault %q", c.ID, k.Level)
			}
		case SpreadCheck:
			known(c.ID, k.Column, k.Candidates...)
			limits(c.ID, k.Low, k.High)
		case NoiseCheck:
			if len(k.Of) == 0 {
				t.Errorf("claim %s: no columns", c.ID)
			}
			for _, key := range k.Of {
				known(c.ID, key, slices.Concat(k.Candidates, k.Than)...)
			}
			limits(c.ID, k.Low, k.High)
		case AcrossCheck:
			known(c.ID, k.Column, k.Candidates...)
			limits(c.ID, k.Low, k.High)
			for _, key := range append(slices.Clone(k.Over), k.On) {
				if _, ok := s.Storage("", key); !ok || len(k.Over) == 0 {
					t.Errorf("claim %s: no storage %q", c.ID, key)
				}
			}
		case ChoiceCheck:
			for _, key := range k.Of {
				known(c.ID, key, k.Among...)
			}
			if len(k.Of) < 2 || !slices.Contains(k.Among, k.Candidate) {
				t.Errorf("claim %s: %+v", c.ID, k)
			}
		case SeveralCheck:
			for _, key := range k.Of {
				known(c.ID, key, k.A, k.B)
			}
			if k.Least < 1 || k.Least > len(k.Of) || k.High <= 0 {
				t.Errorf("claim %s: %+v", c.ID, k)
			}
		case KernelsCheck:
			known(c.ID, "login", k.Candidates...)
			limits(c.ID, k.Low, k.High)
		case FaultBest:
			checkFault(t, s, c.ID, FaultCheck{Candidates: k.Among, Cases: k.Cases, Outcomes: k.Outcomes, Metric: k.Metric}, full)
			if len(k.Among) < 2 || !slices.Contains(k.Among, k.Candidate) {
				t.Errorf("claim %s: %+v", c.ID, k)
			}
		case FaultTime:
			checkFault(t, s, c.ID, FaultCheck{Candidates: []string{k.Candidate}, Cases: k.Cases, Metric: fault.MountMean}, full)
			limits(c.ID, k.Low, k.High)
		case FaultCheck:
			checkFault(t, s, c.ID, k, full)
		case RoomCheck:
			checkFault(t, s, c.ID, FaultCheck{Candidates: []string{k.Candidate}, Cases: k.Cases, Metric: result.SpaceOff}, full)
		case Untested:
		default:
			t.Errorf("claim %s is tested by a %T", c.ID, k)
		}
	}
}

// checkFault checks that the study has the cases of a claim about faults, at the
// smallest scale that can decide it.
func checkFault(t *testing.T, s Study, id string, k FaultCheck, full []string) {
	at := s.Claims[slices.IndexFunc(s.Claims, func(c Claim) bool { return c.ID == id })].At
	phases := s.Scenario(false, s.Scales[cmp.Or(at, "quick")]).Phases()
	for _, c := range k.Cases {
		if !slices.Contains(phases, c) {
			t.Errorf("claim %s: no case %q", id, c)
		}
	}
	for _, c := range k.Candidates {
		if !slices.Contains(full, c) {
			t.Errorf("claim %s: the full scale has no %q", id, c)
		}
	}
	for _, key := range k.Outcomes {
		if !slices.ContainsFunc(fault.Outcomes, func(o fault.Outcome) bool { return o.Key() == key }) {
			t.Errorf("claim %s: no outcome %q", id, key)
		}
	}
	if len(k.Outcomes) == 0 && k.Metric == "" || k.Low < 0 || k.High > 1 || k.Low > k.High || k.Any && k.High != 0 {
		t.Errorf("claim %s: %+v", id, k)
	}
}

// The matrix of corruption is whole where its claim is decided, and a quick run
// has the cells next to those that the talk calls fatal.
func TestCorruptBytes(t *testing.T) {
	s := Elc2015Reliability()
	for scale, want := range map[string]int{"quick": 5, "claims": 24, "full": 24} {
		seen := map[string]bool{}
		for _, step := range s.Scenario(false, s.Scales[scale]) {
			if step.Work == fault.FlakyReads || step.Fault == fault.CorruptEither {
				seen[step.Phase] = true
			}
		}
		if len(seen) != want || !seen["write 0x00 first, request"] || !seen["write 0xff first, block"] || !seen["read 0x00 first, block"] {
			t.Errorf("%s: %d cells: %v", scale, len(seen), seen)
		}
	}
	if published, others := e15Cells(); len(published) != 2 || len(others) != 22 {
		t.Errorf("%q", published)
	}
}

// varies reports whether a quick run of the study has such a factor.
func varies(s Study, is func(scenario.Factor) bool) bool {
	for _, on := range s.Storages {
		if slices.ContainsFunc(s.Vary(s.Fit("quick", on), on), is) {
			return true
		}
	}
	return false
}

func checkScale(t *testing.T, s Study, name string, scale Scale) {
	least := 3
	if s.Name == "bootlin-2010" && name != "full" {
		least = 2 // instruction counts repeat
	}
	if s.Untimed {
		least = 1 // it counts, and each trial counts all of its iterations
	}
	if scale.Rounds < least || scale.StepLimit <= 0 {
		t.Errorf("scale %s is incomplete: %+v", name, scale)
	}
	for _, on := range s.Storages {
		// One round has no interval, and decides no claim.
		if rounds := s.Fit(name, on).Rounds; rounds < 2 && !s.Untimed {
			t.Errorf("scale %s has %d rounds on %s", name, rounds, on.Key)
		}
		if on.Specs[name] == "" {
			t.Errorf("scale %s has no substitute for %s", name, on.Key)
		}
	}
	readOnly := 0
	for i, line := range scale.Candidates {
		if slices.Contains(scale.Candidates[:i], line) {
			t.Errorf("scale %s has %q twice", name, line)
		}
		c, err := filesystem.Parse(line)
		if err != nil {
			t.Errorf("scale %s: %v", name, err)
			continue
		}
		if c.String() != line {
			t.Errorf("scale %s: %q is printed back as %q", name, line, c.String())
		}
		if c.Filesystem().ReadOnly {
			readOnly++
		}
	}
	if len(scale.Candidates) < 5 || readOnly < 2 && s.Name == "bootlin-2023" {
		t.Errorf("scale %s has %d candidates, %d of them read-only", name, len(scale.Candidates), readOnly)
	}
	for _, ro := range []bool{false, true} {
		for _, step := range s.Scenario(ro, scale) {
			if _, known := scenario.KindOf(step.Work); !known {
				t.Errorf("scale %s: unknown kind of work in %+v", name, step)
			}
			if field := step.Stray(); field != "" {
				t.Errorf("scale %s: %s sets %q, which means nothing to %s", name, step.Phase, field, step.Work)
			}
			if strings.HasPrefix(step.Work, "tree-copy") && step.Count < 1 {
				t.Errorf("scale %s: step without count: %+v", name, step)
			}
		}
	}
}

// The published table compared with the source, cell by cell, so that a typo in
// one of the two is found.
func TestBootlin2023Observations(t *testing.T) {
	const slide = `
ext4|very good|very good|fair|good|best|very good|good|good|good
xfs|bad|average|fair|good|very good|best|average|fair|fair
btrfs|worst|good|fair|good|good|good|fair|worst|good
f2fs|fair|average|good|good|fair|very good|very good|average|worst
nilfs2|bad|worst|fair|worst|worst|worst|best|best|fair
squashfs|excellent|best|very good||||||best
erofs|best|best|best||||||very good`
	table := Bootlin2023().Tables[0]
	for i, line := range strings.Split(strings.TrimSpace(slide), "\n") {
		want := strings.Split(line, "|")
		row := table.Rows[i]
		if row.Label != want[0] || !slices.Equal(row.Grades, want[1:]) {
			t.Errorf("row %d is %q %q, want %q", i, row.Label, row.Grades, want)
		}
	}
}

// The claim about jffs2's summary is about 128 MB and a chip that is nearly full:
// where it can be decided, both candidates are tried so, and nowhere else does it
// ask for less.
func TestBootlin2010Summary(t *testing.T) {
	s := Bootlin2010()
	i := slices.IndexFunc(s.Claims, func(c Claim) bool { return c.ID == "jffs2-summary" })
	k, ok := s.Claims[i].Check.(LevelsCheck)
	if !ok || k.Axis != b10Fullness || k.From < 0.75 {
		t.Fatalf("it is judged by %+v", s.Claims[i].Check)
	}
	for name := range s.Scales {
		scale := s.Fit(name, s.Storages[0])
		there := false
		for _, f := range s.Vary(scale, s.Storages[0]) {
			full := f.Axis == k.Axis && slices.ContainsFunc(f.Levels, func(v scenario.Variant) bool { return v.Value >= k.From })
			there = there || full && slices.Contains(f.Candidates, k.A) && slices.Contains(f.Candidates, k.B)
		}
		if decides := name != "quick"; there != decides || there && scale.b10().whole < 128 {
			t.Errorf("scale %s: tried %v, on %d MiB", name, there, scale.b10().whole)
		}
	}
}
