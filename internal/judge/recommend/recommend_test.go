package recommend

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"whichfs/internal/judge/verdict"
	"whichfs/internal/plan/study"
	"whichfs/internal/result"
)

// made is a made-up run of a study: every phase takes a second and every size
// is 100 MB, times a factor per candidate, times noise.
type made struct {
	study      string
	id         string
	candidates []string
	rounds     int
	noise      float64
	seed       uint64
	factor     map[string]map[string]float64 // candidate → phase → factor; "" is every phase
	run        func(*result.Run)
	trial      func(*result.Trial)
}

func (m made) source(t testing.TB) verdict.Judged {
	t.Helper()
	st, ok := study.ByName(m.study)
	if !ok {
		t.Fatalf("no study %q", m.study)
	}
	run := result.Run{ID: m.id, Study: st.Name, Scale: "quick", Machine: "lab", Storage: "disk:1G", Rounds: m.rounds,
		Candidates: m.candidates, Margin: 0.10, State: result.Finished, Version: "test", Started: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC),
		Conditions: []result.Condition{{Group: "machine", Name: "kernel", Value: "6.1.0", Matters: true}, {Group: "storage", Name: "size", Value: "1 GiB", Matters: true}}}
	if m.run != nil {
		m.run(&run)
	}
	r := rand.New(rand.NewPCG(m.seed, 7))
	var trials []result.Trial
	for round := 1; round <= m.rounds; round++ {
		for place, name := range m.candidates {
			one := result.Trial{ID: int64(len(trials) + 1), Round: round, Place: place + 1, Attempt: 1, Candidate: name, Outcome: result.Done}
			readOnly := strings.HasPrefix(name, "squashfs") || strings.HasPrefix(name, "erofs")
			for _, phase := range st.Scenario(readOnly, st.Scales["quick"]).Phases() {
				k := math.Exp(m.noise * r.NormFloat64())
				for _, key := range []string{"", phase} {
					if x, ok := m.factor[name][key]; ok {
						k *= x
					}
				}
				one.Measurements = append(one.Measurements,
					result.Measurement{Phase: phase, Metric: result.Wall, Value: k, Unit: "s"},
					result.Measurement{Phase: phase, Metric: result.SpaceUsed, Value: 100e6 * k, Unit: "B"})
			}
			if m.trial != nil {
				m.trial(&one)
			}
			trials = append(trials, one)
		}
	}
	v, err := verdict.Compute(run, nil, trials, st, verdict.Beside{})
	if err != nil {
		t.Fatal(err)
	}
	return verdict.Judged{Verdict: v, Study: st, Columns: verdict.Samples(run, nil, trials, st)}
}

func question(t testing.TB, needs, weights string) Question {
	t.Helper()
	var q Question
	for _, text := range strings.Fields(needs) {
		n, err := ParseNeed(text)
		if err != nil {
			t.Fatal(err)
		}
		q.Needs = append(q.Needs, n)
	}
	for _, text := range strings.Fields(weights) {
		w, err := ParseWeight(text)
		if err != nil {
			t.Fatal(err)
		}
		q.Weights = append(q.Weights, w)
	}
	return q
}

func ask(t testing.TB, needs, weights string, runs ...verdict.Judged) Answer {
	t.Helper()
	a, err := Make(question(t, needs, weights), runs)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func names(o Order) string {
	var out []string
	for _, p := range o.Places {
		out = append(out, p.Candidate)
	}
	return strings.Join(out, ", ")
}

func texts(o Order, kind string) string {
	var out []string
	for _, c := range o.Changes {
		if c.Kind == kind {
			out = append(out, c.Text)
		}
	}
	return strings.Join(out, "\n")
}

// Without noise the score is the weighted geometric mean of the ratios to the
// best, to the last digit.
func TestScoreClosedForm(t *testing.T) {
	s := made{study: "bootlin-2023", id: "r1", candidates: []string{"ext4", "xfs", "f2fs"}, rounds: 3, factor: map[string]map[string]float64{
		"xfs": {"write": 2, "read": 0.5}, "f2fs": {"write": 4, "read": 0.25},
	}}.source(t)
	o := ask(t, "", "write=3 read=1", s).Orders[0]
	if names(o) != "ext4, xfs, f2fs" {
		t.Fatalf("order %s", names(o))
	}
	// The best writes in 1 (ext4) and reads in 0.25 (f2fs).
	for i, want := range []float64{
		math.Pow(1, 0.75) * math.Pow(4, 0.25), math.Pow(2, 0.75) * math.Pow(2, 0.25), math.Pow(4, 0.75),
	} {
		if got := o.Places[i].Score.Value; math.Abs(got-want) > 1e-9 {
			t.Errorf("%s has %v, want %v", o.Places[i].Candidate, got, want)
		}
	}
	if !o.Settled || o.Places[0].Best < 0.999 || !o.Places[0].HasBest {
		t.Errorf("settled %v, best with %v", o.Settled, o.Places[0].Best)
	}
	// Shares of the logarithm of the score: xfs loses 3·ln 2 at writing and ln 2
	// at reading.
	if p := o.Places[1].Parts; math.Abs(p[0].Share-0.75) > 1e-9 || math.Abs(p[1].Share-0.25) > 1e-9 || p[0].Ratio.Value != 2 {
		t.Errorf("parts of xfs: %+v", p)
	}
	if c := o.Counted; c[0].Share != 0.75 || c[0].Weight != 3 || c[1].Share != 0.25 {
		t.Errorf("counted %+v", c)
	}
	// xfs overtakes where w·ln 2 of reading compensate 3·ln 2 of writing, and f2fs
	// at the same weight; printed with two digits, rounded up.
	if got := texts(o, "weight"); !strings.Contains(got, "If the weight of Read were above 3 instead of 1, ") || !strings.Contains(got, "If the weight of Write were below 1 instead of 3, ") {
		t.Errorf("weights: %s", got)
	}
	if !strings.Contains(o.Places[0].Why, "Ahead of xfs at Write (0.50×); behind it at Read (2.0×).") {
		t.Errorf("why: %s", o.Places[0].Why)
	}
}

// With two candidates the probability of being best is the share of Student's t
// below the difference over its standard error, with df rounds less one.
func TestProbabilityOfTwo(t *testing.T) {
	s := made{study: "bootlin-2023", id: "r1", candidates: []string{"ext4", "xfs"}, rounds: 5, noise: 0.05, seed: 3,
		factor: map[string]map[string]float64{"xfs": {"write": 1.02}}}.source(t)
	o := ask(t, "", "write", s).Orders[0]
	i := slices.IndexFunc(s.Columns, func(c verdict.Sampled) bool { return c.Key == "write" })
	var d []float64
	for r := 1; r <= 5; r++ {
		d = append(d, math.Log(s.Columns[i].Of["xfs"][r]/s.Columns[i].Of["ext4"][r]))
	}
	mean, ss := 0.0, 0.0
	for _, x := range d {
		mean += x / 5
	}
	for _, x := range d {
		ss += (x - mean) * (x - mean)
	}
	tt := mean / math.Sqrt(ss/4/5)
	// Student's t with 4 degrees of freedom has a distribution function in
	// closed form: 1/2 + 3/8·(y - y³/12·…), with y = t/√(1 + t²/4).
	y := tt / math.Sqrt(1+tt*tt/4)
	want := 0.5 + 3.0/8*y*(1-y*y/12)
	got := o.Places[slices.IndexFunc(o.Places, func(p Place) bool { return p.Candidate == "ext4" })].Best
	if math.Abs(got-want) > 0.01 {
		t.Errorf("ext4 is best with %v, want %v (t %v)", got, want, tt)
	}
	if sum := o.Places[0].Best + o.Places[1].Best; math.Abs(sum-1) > 1e-9 {
		t.Errorf("probabilities add up to %v", sum)
	}
	again := ask(t, "", "write", s).Orders[0]
	if again.Places[0].Best != o.Places[0].Best {
		t.Error("the same figures give another probability")
	}
}

// A sentence about a weight is true: just beyond it the other candidate is
// first, just before it is not.
func TestWeightSentencesHold(t *testing.T) {
	r := rand.New(rand.NewPCG(11, 1))
	tried := 0
	for n := range 8 {
		factor := map[string]map[string]float64{}
		list := []string{"ext4", "xfs", "f2fs", "btrfs"}
		for _, name := range list {
			factor[name] = map[string]float64{"write": math.Exp(r.NormFloat64()), "read": math.Exp(r.NormFloat64()), "remove": math.Exp(r.NormFloat64())}
		}
		s := made{study: "bootlin-2023", id: "r1", candidates: list, rounds: 2, noise: 0.001, seed: uint64(n), factor: factor}.source(t)
		weights := map[string]float64{"write": 2, "read": 1, "delete": 1}
		keys := map[string]string{"Write": "write", "Read": "read", "Delete": "delete"}
		with := func(key string, w float64) string {
			text := ""
			for k, v := range weights {
				if k == key {
					v = w
				}
				text += fmt.Sprintf(" %s=%v", k, v)
			}
			return ask(t, "", text, s).Orders[0].Places[0].Candidate
		}
		first := with("", 0)
		for _, c := range ask(t, "", "write=2 read=1 delete=1", s).Orders[0].Changes {
			var name, way, winner string
			var at, now float64
			if _, err := fmt.Sscanf(c.Text, "If the weight of %s were %s %g instead of %g, %s would be first as measured.", &name, &way, &at, &now, &winner); c.Kind != "weight" || err != nil {
				continue
			}
			tried++
			beyond, before := at*1.001, at*0.89
			if way == "below" {
				beyond, before = at*0.999, at*1.13
			}
			if got := with(keys[name], beyond); got != winner {
				t.Errorf("%s: with %v it is %s", c.Text, beyond, got)
			}
			if got := with(keys[name], before); got != first && (way == "above" && before > now || way == "below" && before < now) {
				t.Errorf("%s: with %v it is %s already", c.Text, before, got)
			}
		}
	}
	if tried < 8 {
		t.Errorf("%d sentences were tried", tried)
	}
}

func refusal(t *testing.T, err error, want ...string) {
	t.Helper()
	var r *result.Failure
	if !errors.As(err, &r) {
		t.Errorf("no refusal: %v", err)
		return
	}
	for _, w := range want {
		if !strings.Contains(r.Reason+" → "+r.Hint, w) {
			t.Errorf("%q does not say %q", r.Reason+" → "+r.Hint, w)
		}
	}
}

// What is not settled names the rounds that all open comparisons need, and no more than a short run takes.
func TestFurtherRun(t *testing.T) {
	noisy := func(noise float64) made {
		return made{study: "bootlin-2023", id: "R", candidates: []string{"ext4", "xfs", "f2fs"}, rounds: 3, noise: noise, seed: 3,
			factor: map[string]map[string]float64{"xfs": {"": 1.25}, "f2fs": {"": 1.3}}, run: func(r *result.Run) { r.Active = 360 }}
	}
	o := ask(t, "", "write=1", noisy(0.12).source(t)).Orders[0]
	if o.Settled || o.Further == nil {
		t.Fatalf("settled %v, further %v: %s", o.Settled, o.Further, o.Answer)
	}
	most := 0
	for _, c := range o.Changes {
		var n int
		if _, err := fmt.Sscanf(c.Text, "About %d more", &n); err == nil {
			most = max(most, n)
		}
	}
	want := Further{Text: fmt.Sprintf("About %d more rounds (%d min of running) would settle it.", most, 2*most), Command: fmt.Sprintf("whichfs resume R --rounds %d", 3+most)}
	if *o.Further != want {
		t.Errorf("%+v, want %+v", *o.Further, want)
	}
	for name, m := range map[string]made{"settled": noisy(0), "too noisy": noisy(0.8)} {
		if o := ask(t, "", "write=1", m.source(t)).Orders[0]; o.Further != nil {
			t.Errorf("%s: %+v", name, *o.Further)
		}
	}
}

// A run that its user names is taken as it is, with a warning.
func TestUnfinishedRun(t *testing.T) {
	m := made{study: "bootlin-2023", id: "R", candidates: []string{"ext4", "xfs"}, rounds: 2, run: func(r *result.Run) { r.State = result.Running }}
	if a := ask(t, "", "write=1", m.source(t)); !slices.Contains(a.Warnings, "Run R is not finished: 4 of 4 trials have figures, and the rest may change the answer.") {
		t.Errorf("%q", a.Warnings)
	}
}
