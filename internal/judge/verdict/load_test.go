package verdict

import (
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"whichfs/internal/result"
)

// disturb makes every phase of a trial wait for a share of its time, and take as much longer.
func disturb(t *result.Trial, share float64) {
	var load []result.Measurement
	for i := range t.Measurements {
		m := &t.Measurements[i]
		if m.Metric != result.Wall || m.Absent != "" {
			continue
		}
		m.Value /= 1 - share
		for _, l := range result.LoadFigures(seconds(m.Value), seconds(share*m.Value), 0, 0, "", "") {
			load = append(load, l.In(m.Phase))
		}
	}
	t.Measurements = append(t.Measurements, load...)
}

func seconds(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }

func loaded(t *testing.T, f fake) Verdict {
	t.Helper()
	run, trials, st := f.make()
	v, err := Compute(run, nil, trials, st, Beside{})
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func readWrite(t *testing.T, v Verdict) Use {
	t.Helper()
	for _, u := range v.Uses {
		if u.Name == "read-write" {
			return u
		}
	}
	t.Fatal("no read-write use")
	return Use{}
}

// A machine that is busy while one of two equal candidates is measured makes no winner, in any share
// of disturbance, even where it disturbs every trial of it alike.
func TestBusyMachineMakesNoWinner(t *testing.T) {
	for _, share := range []float64{0.06, 0.12, 0.19, 0.38, 0.6} {
		f := fake{candidates: []string{"ext4", "ext2", "xfs"}, rounds: 4, noise: 0.01, seed: 3, change: func(x *result.Trial) {
			s := 0.01
			if x.Candidate == "ext2" {
				s = share
			}
			disturb(x, s)
		}}
		v := loaded(t, f)
		u := readWrite(t, v)
		for _, p := range u.Ranks {
			if p.RankLow != 1 {
				t.Errorf("at %v %s has rank %d at best", share, p.Candidate, p.RankLow)
			}
		}
		for _, c := range v.Columns {
			for _, cell := range c.Cells {
				if cell.Absent == "" && cell.RankLow != 1 {
					t.Errorf("at %v %s has rank %d at best in %s", share, cell.Candidate, cell.RankLow, c.Name)
				}
			}
		}
	}
}

// The winner of a quiet run may be open in a busy one, and is never another.
func TestBusyMachineNamesNoOtherWinner(t *testing.T) {
	for seed := range uint64(20) {
		quiet := fake{candidates: []string{"ext4", "ext2", "xfs"}, rounds: 4, noise: 0.02, seed: seed, factor: map[string]map[string]float64{
			"ext2": everywhere(1.15), "xfs": everywhere(1.3)}}
		best := readWrite(t, loaded(t, quiet))
		r := rand.New(rand.NewPCG(seed, 5))
		busy := quiet
		busy.change = func(x *result.Trial) {
			share := 0.5 * r.Float64()
			if x.Candidate == "ext4" {
				share = 0.5 // the true winner suffers most
			}
			disturb(x, share)
		}
		got := readWrite(t, loaded(t, busy))
		for _, p := range best.Ranks {
			for _, q := range got.Ranks {
				if p.Candidate == q.Candidate && (q.RankLow > p.RankLow || q.RankHigh < p.RankHigh) {
					t.Errorf("seed %d: %s has ranks %d–%d when quiet, and %d–%d when busy", seed, p.Candidate, p.RankLow, p.RankHigh, q.RankLow, q.RankHigh)
				}
			}
		}
	}
}

// Waits of less than the mark change nothing.
func TestQuietMachineChangesNothing(t *testing.T) {
	f := fake{candidates: []string{"ext4", "ext2"}, rounds: 4, noise: 0.02, seed: 1, factor: map[string]map[string]float64{"ext2": everywhere(1.3)}}
	want := loaded(t, f)
	f.change = func(x *result.Trial) { disturb(x, 0) }
	got := loaded(t, f)
	if readWrite(t, got).Answer != readWrite(t, want).Answer || want.Load != nil || got.Load == nil || got.Load.Text != "" || got.Load.Share != 0 || got.Load.Trials != 8 {
		t.Errorf("%s\n%s\n%+v", readWrite(t, got).Answer, readWrite(t, want).Answer, got.Load)
	}
}

// Of a trial taken again the better one counts, and a repetition that the lab failed at takes nothing
// away.
func TestDisturbedTrialIsLeftOut(t *testing.T) {
	f := fake{candidates: []string{"ext4", "ext2"}, rounds: 3, noise: 0.01, seed: 1}
	run, trials, st := f.make()
	var all []result.Trial
	for i, x := range trials {
		again := x
		again.Measurements = append([]result.Measurement(nil), x.Measurements...)
		again.Attempt = 2
		disturb(&x, 0.5)
		switch i {
		case 0: // nothing waits any more
			disturb(&again, 0)
		case 1: // it is worse
			disturb(&again, 0.7)
		case 2:
			again = result.Trial{Candidate: x.Candidate, Round: x.Round, Place: x.Place, Attempt: 2, Outcome: result.LabFailed, Reason: "the guest died"}
		default: // never taken again
			all = append(all, x)
			continue
		}
		all = append(all, x, again)
	}
	v, err := Compute(run, nil, all, st, Beside{})
	if err != nil {
		t.Fatal(err)
	}
	if v.Trials.Done != 6 || v.Trials.Planned != 6 || v.Trials.Lab != 0 || len(v.Trials.Failures) != 1 {
		t.Errorf("%+v", v.Trials)
	}
	shares := map[string]map[int]float64{"ext4": {}, "ext2": {}}
	for _, m := range v.Load.Marked {
		if m.Phase == "write" {
			shares[m.Candidate][len(m.Rounds)] = m.Share
		}
	}
	// Each candidate has three rounds; only trial 0 has an undisturbed one.
	first, second := trials[0].Candidate, trials[1].Candidate
	if len(shares[first]) != 1 || shares[first][2] == 0 || math.Abs(shares[second][3]-0.5) > 1e-9 {
		t.Errorf("%v", shares)
	}
	if v.Load.Again != 2 || v.Load.Trials != 6 || !strings.Contains(v.Load.Text, "; 2 of 6 trials were taken again.") || v.Warnings[0] != v.Load.Text && v.Warnings[1] != v.Load.Text {
		t.Errorf("%+v\n%q", v.Load, v.Warnings)
	}
	for _, c := range v.Columns {
		for _, cell := range c.Cells {
			if c.Unit == "s" && cell.Candidate == second && cell.Absent == "" && math.Abs(cell.Waited-0.5) > 1e-6 {
				t.Errorf("%s of %s is marked with %v", c.Name, cell.Candidate, cell.Waited)
			}
			if c.Unit == "B" && cell.Waited != 0 {
				t.Errorf("%s of %s is marked with %v, and is no time", c.Name, cell.Candidate, cell.Waited)
			}
		}
	}
}

// A run that stops once its questions are settled does not stop because of a busy machine.
func TestBusyMachineSettlesNothing(t *testing.T) {
	f := fake{candidates: []string{"ext4", "ext2"}, rounds: 6, noise: 0.01, seed: 2, change: func(x *result.Trial) {
		if x.Candidate == "ext2" {
			disturb(x, 0.3)
		}
	}}
	run, trials, st := f.make()
	s := Settle(run, trials, st, nil, 6)
	if q := question(t, s, "read-write"); q.Settled && !slices.Contains(q.Tied, "ext2") {
		t.Errorf("%+v", s)
	}
	f.change = nil
	f.factor = map[string]map[string]float64{"ext2": everywhere(1 / 0.7)}
	run, trials, st = f.make()
	if q := question(t, Settle(run, trials, st, nil, 6), "read-write"); !q.Settled || q.Best != "ext4" {
		t.Errorf("the same difference on a quiet machine: %+v", q)
	}
}

// Other programs of the judge get no marked figures.
func TestMarkedFiguresStayHere(t *testing.T) {
	f := fake{candidates: []string{"ext4", "ext2"}, rounds: 3, seed: 2, change: func(x *result.Trial) {
		if x.Candidate == "ext2" || x.Round == 1 {
			disturb(x, 0.3)
		}
	}}
	run, trials, st := f.make()
	for _, s := range Samples(run, nil, trials, st) {
		if s.Key != "write" {
			continue
		}
		if len(s.Of["ext4"]) != 2 || len(s.Of["ext2"]) != 0 || s.Absent["ext2"] != "this machine was busy in every round" {
			t.Errorf("%+v", s)
		}
		return
	}
	t.Error("no column of that key")
}

// Faults, too, are judged by the attempt that was disturbed less, and by the last one where none was
// completed.
func TestJudgedAttempts(t *testing.T) {
	trial := func(round, attempt int, outcome result.Outcome, share float64) result.Trial {
		x := result.Trial{Round: round, Attempt: attempt, Candidate: "ext4", Outcome: outcome,
			Measurements: []result.Measurement{result.Figure(result.Wall, 1).In("write")}}
		disturb(&x, share)
		return x
	}
	var got [][2]int
	for _, x := range perRound([]result.Trial{
		trial(2, 1, result.LabFailed, 0), trial(2, 2, result.LabFailed, 0),
		trial(1, 1, result.Done, 0.3), trial(1, 2, result.Done, 0.6),
		trial(3, 1, result.Done, 0.6), trial(3, 2, result.Done, 0.3),
		trial(4, 1, result.Done, 0.6), trial(4, 2, result.LabFailed, 0),
	}) {
		got = append(got, [2]int{x.Round, x.Attempt})
	}
	if want := [][2]int{{1, 1}, {2, 2}, {3, 2}, {4, 1}}; !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}
