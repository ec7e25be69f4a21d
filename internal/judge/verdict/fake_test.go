package verdict

import (
	"math"
	"math/rand/v2"
	"time"

	"whichfs/internal/plan/study"
	"whichfs/internal/result"
)

// fake is a made-up run of the study: figures are a base per phase times a
// factor per candidate times noise, so that the right verdict is known.
type fake struct {
	candidates []string
	rounds     int
	noise      float64
	seed       uint64
	// factor of a candidate in a phase; 1 where not given.
	factor map[string]map[string]float64
	change func(t *result.Trial) // may alter every trial in the end
	run    func(r *result.Run)
}

var walls = map[string]float64{
	"module-load": 0.03, "mkfs": 0.2, "first-mount": 0.02, "fill": 1, "settle-unmount": 0.1, "mount": 0.01,
	"read": 1.5, "clone": 0.1, "clean-up": 0.2, "write": 3, "read-write": 4, "remove": 0.5, "seq-write": 1.2,
	"seq-read": 0.9, "unmount": 0.05, "check": 0.3, "image": 5, "flash": 2, "space-empty": 0.001, "space-filled": 0.001,
}

func (f fake) make() (result.Run, []result.Trial, study.Study) {
	st := study.Bootlin2023()
	run := result.Run{
		ID: "20260102-030405-bootlin-2023", Study: st.Name, Scale: "quick", Machine: "lab", Storage: "disk:1G", Seed: f.seed,
		Rounds: f.rounds, Candidates: f.candidates, Margin: 0.10, State: result.Finished, Version: "test",
		Started: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC),
	}
	r := rand.New(rand.NewPCG(f.seed, 1))
	var trials []result.Trial
	at := run.Started
	for round := 1; round <= f.rounds; round++ {
		for place, name := range f.candidates {
			t := f.trial(r, st, name)
			t.ID, t.Round, t.Place, t.Attempt = int64(len(trials)+1), round, place+1, 1
			t.Started, t.Ended = at, at.Add(20*time.Second)
			t.Overhead = 3
			at = t.Ended
			if f.change != nil {
				f.change(&t)
			}
			trials = append(trials, t)
		}
	}
	run.Ended = at
	run.Active = at.Sub(run.Started).Seconds()
	if f.run != nil {
		f.run(&run)
	}
	return run, trials, st
}

func (f fake) trial(r *rand.Rand, st study.Study, name string) result.Trial {
	t := result.Trial{Candidate: name, Outcome: result.Done}
	s := (&figures{byName: map[string]*subject{}}).subject(name)
	add := func(phase, metric string, v float64, unit string) {
		t.Measurements = append(t.Measurements, result.Measurement{Phase: phase, Metric: metric, Value: v, Unit: unit})
	}
	add("sentinel", result.SentinelWrite, 0.1, "s")
	add("sentinel", result.SentinelRead, 0.05, "s")
	for _, phase := range st.Scenario(s.ReadOnly, st.Scales["quick"]).Phases() {
		if walls[phase] == 0 {
			continue // a fact that nothing here is about
		}
		k := 1.0
		if x, ok := f.factor[name][phase]; ok {
			k = x
		}
		if phase == "clone" && name != "xfs" {
			t.Measurements = append(t.Measurements, result.Measurement{Phase: phase, Metric: result.Wall, Unit: "s", Absent: name + " does not clone files"})
			continue
		}
		add(phase, result.Wall, walls[phase]*k*math.Exp(f.noise*r.NormFloat64()), "s")
		add(phase, result.CPUSystem, walls[phase]*0.2, "s")
		add(phase, result.AgentMallocs, 0, "1")
		switch phase {
		case "space-filled":
			add(phase, result.SpaceUsed, 100e6*k, "B")
		case "write", "read-write", "seq-write", "fill":
			add(phase, result.DeviceWritten, 100e6*k, "B")
			add(phase, result.DeviceFlushes, 3, "1")
			add(phase, result.DataBytes, 90e6, "B")
		case "read", "seq-read":
			add(phase, result.DeviceRead, 90e6, "B")
			add(phase, result.DataBytes, 90e6, "B")
		case "module-load":
			add(phase, result.ModuleSize, 3e5*k, "B")
		}
	}
	return t
}

// everywhere gives a candidate one factor in all phases.
func everywhere(k float64) map[string]float64 {
	m := map[string]float64{}
	for p := range walls {
		m[p] = k
	}
	return m
}
