package fake

import (
	"context"
	"errors"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"whichfs/internal/host/machine"
	"whichfs/internal/host/machine/machinetest"
	"whichfs/internal/result"
	"whichfs/internal/testing/parsed"
	"whichfs/internal/wire"
)

func TestContract(t *testing.T) {
	machinetest.Suite(t, func(*testing.T) (machine.Machine, machine.Spec) {
		return New(Script{}), machine.Spec{Storage: "disk:1G"}
	})
}

func start(t *testing.T, m *Machine) machine.Session {
	t.Helper()
	s, err := m.Start(context.Background(), machine.Spec{Storage: "disk:1G"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

// walls runs a trial and returns its times by phase.
func walls(s machine.Session, candidate string) (map[string]float64, wire.Done, error) {
	got := map[string]float64{}
	d, err := s.Trial(context.Background(), wire.Trial{Candidate: parsed.Candidate(candidate), Scenario: machinetest.Scenario()}, machine.Events{
		Figures: func(f wire.Figures) {
			for _, m := range f.Measurements {
				if m.Metric == result.Wall {
					got[m.Phase] = m.Value
				}
			}
		},
	})
	return got, d, err
}

func TestExactFigures(t *testing.T) {
	m := New(Script{Walls: map[string]map[string]float64{"ext4": {"write": 2.5}, "": {"write": 4, "read": 1}}})
	s := start(t, m)
	got, _, err := walls(s, "ext4")
	if err != nil || got["write"] != 2.5 || got["read"] != 1 {
		t.Errorf("%v, %v", got, err)
	}
	if got, _, err := walls(s, "xfs"); err != nil || got["write"] != 4 || got["mkfs"] <= 0 {
		t.Errorf("%v, %v", got, err)
	}
	m = New(Script{Wall: func(at At) float64 { return float64(at.Number) }})
	s = start(t, m)
	for n := 1.0; n <= 3; n++ {
		if got, _, err := walls(s, "ext4"); err != nil || got["read"] != n {
			t.Errorf("trial %v: %v, %v", n, got, err)
		}
	}
}

func TestNoise(t *testing.T) {
	times := func(seed uint64) []float64 {
		s := start(t, New(Script{Noise: 0.1, Seed: seed, Walls: map[string]map[string]float64{"": {"write": 1}}}))
		var out []float64
		for range 200 {
			got, _, err := walls(s, "ext4")
			if err != nil {
				t.Fatal(err)
			}
			out = append(out, got["write"])
		}
		return out
	}
	a, b, c := times(1), times(1), times(2)
	var sum, squares float64
	for i := range a {
		if a[i] != b[i] {
			t.Fatal("one seed, two series")
		}
		l := math.Log(a[i])
		sum, squares = sum+l, squares+l*l
	}
	if a[0] == c[0] {
		t.Error("two seeds, one series")
	}
	if sd := math.Sqrt(squares/200 - sum*sum/200/200); sd < 0.08 || sd > 0.12 {
		t.Errorf("standard deviation %v, want 0.1", sd)
	}
}

// Each fault ends the trial in its own way, and the next session works.
func TestFaults(t *testing.T) {
	for _, c := range []struct {
		kind    Kind
		outcome result.Outcome
		reason  string
	}{
		{Hang, result.LabFailed, "the fake guest said nothing for 2 s in phase write of trial ext4"},
		{Die, result.LabFailed, "the fake guest died in phase write of trial ext4: killed by its script"},
		{Corrupt, result.LabFailed, "the fake guest answered nonsense: corrupt message: the checksum does not match"},
		{Truncate, result.LabFailed, "the stream ends inside a message"},
		{EOF, result.LabFailed, "the fake guest's messages ended before its answer, in phase write of trial ext4"},
		{Garbage, result.LabFailed, `answered nonsense: "porridge" during a trial`},
		{WrongID, result.LabFailed, "answered nonsense: \"done\" for request 10 during request 3"},
		{Negative, result.LabFailed, "answered nonsense: wall of -1 s in phase write"},
		{Hollow, result.LabFailed, "answered nonsense: done without figures of phase write"},
		{Lab, result.LabFailed, "the script says so"},
		{Subject, result.SubjectFailed, "input/output error"},
	} {
		t.Run(string(c.kind), func(t *testing.T) {
			fault := Fault{Kind: c.kind, Candidate: "ext4", Phase: "write", Times: 1}
			script := Script{Faults: []Fault{fault}}
			if c.kind == Hang {
				script.Limit = 2
			}
			m := New(script)
			s := start(t, m)
			_, d, err := walls(s, "ext4")
			outcome, reason := d.Outcome, d.Reason
			var e *result.Failure
			if errors.As(err, &e) {
				outcome, reason = e.Outcome, e.Error()
				if len(e.Console) != 1 || e.Console[0] != "[fake] "+string(c.kind)+" in write" {
					t.Errorf("console %q", e.Console)
				}
				if _, _, err := walls(s, "ext4"); err == nil {
					t.Error("the session continues after that")
				}
			}
			if outcome != c.outcome || !strings.Contains(reason, c.reason) {
				t.Errorf("%s: %s, want %s: %s", outcome, reason, c.outcome, c.reason)
			}
			if err := s.Close(); err != nil {
				t.Errorf("close: %v", err)
			}
			if _, d, err := walls(start(t, m), "ext4"); err != nil || d.Outcome != result.Done {
				t.Errorf("on a fresh session: %+v, %v", d, err)
			}
		})
	}
}

func TestFaultsAtStart(t *testing.T) {
	for _, stage := range []string{AtHello, AtPrepare} {
		for _, kind := range []Kind{Hang, Die, Corrupt, Garbage, EOF} {
			script := Script{Faults: []Fault{{Kind: kind, Phase: stage, Times: 1}}}
			if kind == Hang {
				script.Limit = 2
			}
			m := New(script)
			_, err := m.Start(context.Background(), machine.Spec{Storage: "disk:1G"})
			var e *result.Failure
			if !errors.As(err, &e) || e.Outcome != result.LabFailed {
				t.Errorf("%s in %s: %v", kind, stage, err)
			}
			start(t, m)
		}
	}
	m := New(Script{Faults: []Fault{{Kind: Die, Phase: AtCandidates}}})
	if _, err := start(t, m).Support(context.Background(), parsed.Candidates("ext4")); err == nil {
		t.Error("support of a dead guest")
	}
}

func TestJudgement(t *testing.T) {
	s := start(t, New(Script{Unsupported: map[string]string{"xfs": "no driver"}, Refused: map[string]string{"f2fs": "too small"}}))
	got, err := s.Support(context.Background(), parsed.Candidates("ext4", "xfs", "f2fs"))
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []result.Outcome{"", result.Unsupported, result.Refused} {
		if c := got.Candidates[i]; c.Outcome != want {
			t.Errorf("%+v, want outcome %q", c, want)
		}
	}
	if _, d, err := walls(s, "xfs"); err != nil || d.Outcome != result.Unsupported || d.Reason != "no driver" {
		t.Errorf("%+v, %v", d, err)
	}
}

func TestRead(t *testing.T) {
	path := filepath.Join(t.TempDir(), "script.json")
	text := `{"walls":{"":{"write":1.5}},"faults":[{"kind":"hang","phase":"read","times":1}],"limit":2}`
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	s, err := Read(path)
	if err != nil || s.Walls[""]["write"] != 1.5 || s.Faults[0].Kind != Hang {
		t.Errorf("%+v, %v", s, err)
	}
	if err := os.WriteFile(path, []byte(`{"wals":{}}`), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := Read(path); err == nil {
		t.Error("an unknown key is accepted")
	}
	if _, err := Read(""); err != nil {
		t.Error(err)
	}
}

// The machinery of a probe fails, or the storage does: the two are distinguished, and impossible
// reports are rejected.
func TestProbeFaults(t *testing.T) {
	for kind, want := range map[Kind]struct {
		outcome result.Outcome
		words   string
		partial bool
	}{
		Die:      {result.LabFailed, "died at scripted part of a probe", false},
		Corrupt:  {result.LabFailed, "nonsense", false},
		Truncate: {result.LabFailed, "nonsense", false},
		EOF:      {result.LabFailed, "ended before its answer", false},
		Garbage:  {result.LabFailed, `"porridge" during a probe`, false},
		WrongID:  {result.LabFailed, "during request", false},
		Hang:     {result.LabFailed, "said nothing for 2 s at scripted part of a probe", false},
		Negative: {result.LabFailed, "finding read-speed of -1", false},
		Hollow:   {result.LabFailed, "without a finding", false},
		Lab:      {result.LabFailed, "the script says so", false},
		Subject:  {result.SubjectFailed, "input/output error", true},
		Gone:     {result.LabFailed, "it vanished", true},
	} {
		t.Run(string(kind), func(t *testing.T) {
			s := start(t, New(Script{Limit: 2, Faults: []Fault{{Kind: kind, Phase: AtProbe}}}))
			r, err := s.(machine.Prober).Probe(context.Background(), wire.Probe{}, nil)
			var e *result.Failure
			if !errors.As(err, &e) || e.Outcome != want.outcome || !strings.Contains(err.Error(), want.words) {
				t.Fatalf("%v", err)
			}
			if (len(r.Findings) > 0) != want.partial || (r.Partial != "") != want.partial {
				t.Errorf("%+v", r)
			}
			_, err = s.Support(context.Background(), parsed.Candidates("ext4"))
			if usable := err == nil; usable != (want.outcome == result.SubjectFailed) {
				t.Errorf("the session afterwards: %v", err)
			}
		})
	}
}

func TestProbeIsStopped(t *testing.T) {
	s := start(t, New(Script{Delay: 60}))
	ctx, cancel := context.WithCancel(context.Background())
	r, err := s.(machine.Prober).Probe(ctx, wire.Probe{}, func(wire.Progress) { cancel() })
	if !errors.Is(err, context.Canceled) || len(r.Findings) == 0 || r.Partial == "" {
		t.Errorf("%v, %+v", err, r)
	}
}

// Boots follow the script: times, noise by repetition, and the cause of a failure.
func TestBoot(t *testing.T) {
	boot := func(s machine.Session, b machine.Boot) (map[string]float64, wire.Done, error) {
		got := map[string]float64{}
		d, err := s.(machine.Booter).Boot(context.Background(), b, machine.Events{Figures: func(f wire.Figures) {
			for _, m := range f.Measurements {
				got[f.Phase+" "+m.Metric] = m.Value
			}
		}})
		return got, d, err
	}
	m := New(Script{Wall: func(at At) float64 { return math.Pow(4, float64(at.Number)) }, Faults: []Fault{
		{Kind: Subject, Candidate: "xfs", Phase: "boot 6.12"}, {Kind: Die, Candidate: "f2fs", Phase: "boot 6.12"},
	}})
	s := start(t, m)
	got, d, err := boot(s, machine.Boot{Candidate: parsed.Candidate("ext4"), Repeats: 3, Kernels: []string{"6.1", "6.12"}})
	if err != nil || d.Outcome != result.Done || math.Abs(got["boot 6.12 wall"]-16) > 1e-9 || got["boot 6.1 boot.spread"] != 15 || len(got) != 24 || got["login 6.12 boot.login"] != got["login 6.12 wall"] {
		t.Errorf("%v, %+v, %v", got, d, err)
	}
	if _, d, err := boot(s, machine.Boot{Candidate: parsed.Candidate("xfs"), Repeats: 1, Kernels: []string{"6.1", "6.12"}}); err != nil || d.Outcome != result.SubjectFailed || d.Phase != "boot 6.12" {
		t.Errorf("%+v, %v", d, err)
	}
	var e *result.Failure
	if _, _, err := boot(s, machine.Boot{Candidate: parsed.Candidate("f2fs"), Repeats: 1, Kernels: []string{"6.12"}}); !errors.As(err, &e) || e.Outcome != result.LabFailed {
		t.Errorf("%v", err)
	}
	_ = s.Close()
	if _, _, err := boot(s, machine.Boot{Candidate: parsed.Candidate("ext4"), Repeats: 1}); err == nil {
		t.Error("a session that is over boots")
	}
}
