package meter

import (
	"testing"
	"time"

	"whichfs/internal/result"
)

func metricOf(all []result.Measurement, metric string) result.Measurement {
	for _, m := range all {
		if m.Metric == metric {
			return m
		}
	}
	return result.Measurement{Absent: "not there"}
}

// Idle time and what other threads of this process did are no work of the
// phase, and nothing keeps a time.
func TestInstructions(t *testing.T) {
	f := figures{phase: "write"}
	f.add(result.Wall, 1, nil)
	f.add(result.CPUUser, 0.5, nil)
	f.add(result.DataBytes, 7, nil)
	f.instructions(work{clock: time.Second, idle: time.Minute, aside: 3 * time.Millisecond},
		work{clock: 2 * time.Second, idle: time.Minute + 600*time.Millisecond, aside: 103 * time.Millisecond}, false)
	if m := metricOf(f.all, result.Instructions); m.Value != 150e6 || m.Unit != "1" || m.Absent != "" {
		t.Errorf("%+v, want 300 ms of 2 ns each", m)
	}
	for _, metric := range []string{result.Wall, result.CPUUser} {
		if m := metricOf(f.all, metric); m.Absent != noTime || m.Value != 0 {
			t.Errorf("%+v", m)
		}
	}
	if m := metricOf(f.all, result.DataBytes); m.Value != 7 {
		t.Errorf("%+v", m)
	}
	f = figures{}
	f.instructions(work{err: uncounted("no such file")}, work{}, false)
	if m := metricOf(f.all, result.Instructions); m.Absent != "no such file" {
		t.Errorf("%+v", m)
	}
}

func TestShares(t *testing.T) {
	m := &Meter{counts: true}
	all := []result.Measurement{{Metric: result.Instructions, Value: 1000, Unit: "1"}}
	got := m.Shares(all, 4, 2000)
	if op, b := metricOf(got, result.InstructionsOp), metricOf(got, result.InstructionsByte); op.Value != 250 || b.Value != 0.5 || b.Unit != "1/B" {
		t.Errorf("%+v", got)
	}
	for _, x := range m.Shares(all, 0, 0) {
		if x.Absent == "" || x.Value != 0 {
			t.Errorf("%+v is there without files and data", x)
		}
	}
	for _, x := range m.Shares(m.Without("it does not clone"), 4, 4) {
		if x.Absent != "it does not clone" {
			t.Errorf("%+v", x)
		}
	}
	if got := (&Meter{}).Shares(all, 4, 2000); got != nil {
		t.Errorf("on a clock of time: %+v", got)
	}
}

func TestGiven(t *testing.T) {
	if m := metricOf((&Meter{}).Given(0.25), result.Wall); m.Value != 0.25 || m.Absent != "" {
		t.Errorf("%+v", m)
	}
	all := (&Meter{counts: true}).Given(0.25)
	if m := metricOf(all, result.Wall); m.Absent != noTime {
		t.Errorf("%+v", m)
	}
	if m := metricOf(all, result.Instructions); m.Value != 125e6 {
		t.Errorf("%+v", m)
	}
}
