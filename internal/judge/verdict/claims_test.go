package verdict

import (
	"math"
	"testing"

	"whichfs/internal/judge/stats"
	"whichfs/internal/plan/study"
	"whichfs/internal/result"
)

// A candidate is best, shares the best place with those within the margin,
// is not the best, or it is undecided; the worst likewise.
func TestBest(t *testing.T) {
	around := func(mean, spread float64) stats.Sample {
		return stats.Sample{1: mean * math.Exp(-spread), 2: mean * math.Exp(spread), 3: mean}
	}
	for _, x := range []struct {
		name        string
		others      map[string]stats.Sample
		want, worst string
		says        string
	}{
		{"all worse", map[string]stats.Sample{"b": around(2, 0.001), "c": around(3, 0.001)}, Agrees, Disagrees, "b 2.00 B, which is 2.0×"},
		{"one a little better", map[string]stats.Sample{"b": around(0.981, 0), "c": around(3, 0.001)}, Shares, Disagrees, "shares the best place with b (equal within 10 %)"},
		{"all equal", map[string]stats.Sample{"b": around(1.02, 0.001), "c": around(0.99, 0.001)}, Shares, Shares, "shares the best place with b and c"},
		{"one better", map[string]stats.Sample{"b": around(0.5, 0.001), "c": around(1.01, 0.001)}, Disagrees, Shares, "b shown to be better"},
		{"one unsettled", map[string]stats.Sample{"b": around(1.2, 0.5), "c": around(5, 0.001)}, Undecided, Disagrees, "not settled against b"},
	} {
		c := &column{def: study.Column{Key: "used", Unit: "B"}, absent: map[string]string{}}
		c.add("a", around(1, 0.001))
		for _, name := range []string{"b", "c"} {
			c.add(name, x.others[name])
		}
		f := &figures{columns: map[string]*column{"used": c}, byName: map[string]*subject{}, margin: 0.1}
		if err := c.compute(f.margin); err != nil {
			t.Fatal(err)
		}
		for _, worst := range []bool{false, true} {
			out := Claim{Result: NotTested}
			if err := f.checkBest(&out, study.BestCheck{Column: "used", Candidate: "a", Among: c.names, Worst: worst}); err != nil {
				t.Fatal(err)
			}
			if want := map[bool]string{false: x.want, true: x.worst}[worst]; out.Result != want {
				t.Errorf("%s, worst %t: %s, want %s: %s", x.name, worst, out.Result, want, out.Figures)
			}
			if !worst {
				mustContain(t, x.name, out.Figures, x.says)
			}
		}
	}
}

// What a reader must know beside a result goes with it: what decides it on a
// simulated card, the run that can decide it, and that the source contradicts
// itself.
func TestBesideClaims(t *testing.T) {
	st := study.Bootlin2023()
	on := func(storage, scale string, k study.Check) Claim {
		f := gather(result.Run{Storage: storage, Scale: scale}, nil, nil, st)
		c, err := f.claim(study.Claim{ID: "x", Contradicted: "1 against 2", Follows: "the mapping", At: "full", Check: k})
		if err != nil || c.Contradicted != "1 against 2" {
			t.Errorf("%+v, %v", c, err)
		}
		return c
	}
	undecided := study.RatioCheck{Column: "read", A: "ext4", B: []string{"xfs"}, High: 1}
	for _, x := range []struct{ scale, want string }{{"quick", "whichfs run bootlin-2023 --full"}, {"claims", "whichfs run bootlin-2023 --full"}, {"full", ""}} {
		if c := on("sim:sd-basic,1G", x.scale, undecided); c.DecidedBy != x.want || c.Follows != "" {
			t.Errorf("at %s: %+v, want %q", x.scale, c, x.want)
		}
	}
	if got := st.DecidedBy(study.Claim{At: "claims"}, "quick"); got != "whichfs run bootlin-2023 --claims all" {
		t.Error(got)
	}
	run, trials, st := standard().make()
	run.Emulated = false
	for storage, want := range map[string]string{"sim:sd-basic,1G": "the mapping", "/dev/sdx": "", "disk:1G": ""} {
		run.Storage = storage
		f := gather(run, nil, trials, st)
		def, _ := st.Column("write")
		f.columns["write"], _ = f.column(def)
		c, err := f.claim(study.Claim{Follows: "the mapping", At: "full", Check: study.BestCheck{Column: "write", Candidate: "ext4"}})
		if err != nil || c.Result != Agrees || c.Follows != want || c.DecidedBy != "" {
			t.Errorf("on %s: %+v, %v", storage, c, err)
		}
	}
}

// Figures of 0 and below are compared by their differences, all rounds of them.
func TestAdditive(t *testing.T) {
	memory := map[string][]float64{"ext4": {-1.8e6, 3.0e6, -1.9e6}, "xfs": {50e6, 51e6, 52e6}, "f2fs": {50.5e6, 51.5e6, 51e6}}
	f := fake{candidates: []string{"ext4", "xfs", "f2fs"}, rounds: 3, noise: 0.01, seed: 1, change: func(tr *result.Trial) {
		for i := range tr.Measurements {
			if m := &tr.Measurements[i]; m.Metric == result.ModuleSize {
				m.Value = memory[tr.Candidate][tr.Round-1]
			}
		}
	}}
	run, trials, st := f.make()
	st.Claims = nil
	for id, k := range map[string]study.Check{
		"least": study.BestCheck{Column: "module-size", Candidate: "ext4", Among: f.candidates}, "most": study.BestCheck{Column: "module-size", Candidate: "xfs", Among: f.candidates, Worst: true},
		"less":  study.RatioCheck{Column: "module-size", A: "ext4", B: []string{"xfs", "f2fs"}, High: 1},
		"twice": study.RatioCheck{Column: "module-size", A: "xfs", B: []string{"ext4"}, Low: 2}, "half": study.RatioCheck{Column: "module-size", A: "xfs", B: []string{"ext4"}, High: 0.5},
		"close": study.RatioCheck{Column: "module-size", A: "ext4", B: []string{"xfs"}, High: 0.0001},
		"small": study.ValueCheck{Column: "module-size", Candidate: "ext4", Low: -10e6, High: 10e6},
	} {
		st.Claims = append(st.Claims, study.Claim{ID: id, Check: k})
	}
	v, err := Compute(run, nil, trials, st, Beside{})
	if err != nil {
		t.Fatal(err)
	}
	sane(t, v)
	col := columnOf(t, v, "module-size")
	if c := col.Cells[0]; !col.Additive || c.Candidate != "ext4" || c.Estimate.N != 3 || math.Abs(c.Estimate.Value+233333) > 1 || c.RankHigh != 1 || c.Estimate.Single {
		t.Errorf("%+v", col)
	}
	if d := col.Cells[1].Difference; d.Value < 50e6 || !(d.Low < d.Value && d.Value < d.High) {
		t.Errorf("%+v", d)
	}
	for id, want := range map[string]string{"least": Agrees, "most": Shares, "less": Agrees, "twice": Agrees, "half": Disagrees, "close": Undecided, "small": Agrees} {
		if c := claimOf(t, v, id); c.Result != want {
			t.Errorf("%s: %s, want %s: %s", id, c.Result, want, c.Figures)
		}
	}
	mustContain(t, "least", claimOf(t, v, "least").Figures, "which differs by 4")
	// What is compared by ratios says why it has no figure, instead of leaving rounds out.
	s := sampledOf(t, Samples(run, nil, trials, st), "module-size")
	if s.Of["ext4"] != nil || len(s.Of["xfs"]) != 3 {
		t.Errorf("%+v", s)
	}
	mustContain(t, "samples", s.Absent["ext4"], "which has no ratio")
}
