package main

import (
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"

	"whichfs/internal/app"
	"whichfs/internal/plan"
	"whichfs/internal/result"
	"whichfs/internal/testing/parsed"
)

// The screen fills as the run goes on.
func TestScreen(t *testing.T) {
	run := plan.Plan{Rounds: 2, Candidates: parsed.Candidates("ext4", "jfs", "btrfs -m single -o compress=lzo")}
	cancelled := false
	var m tea.Model = &screen{pace: newPace(run, app.Durations{}), shown: shownOf("bootlin-2023"), rows: map[string]*row{}, cancel: func() { cancelled = true }, began: time.Now(), width: 110}
	shows := func(wants ...string) {
		t.Helper()
		text := words(m.(*screen).View().Content)
		for _, want := range wants {
			if !strings.Contains(strings.Join(strings.Fields(text), " "), want) {
				t.Errorf("%q is not shown:\n%s", want, text)
			}
		}
	}
	send := func(msgs ...tea.Msg) {
		for _, msg := range msgs {
			m, _ = m.Update(msg)
		}
	}
	shows("starting", "candidate rounds mount read seq-read write seq-write read-write remove", "ext4 ○○", "jfs ○○")
	send(sessionMsg(0), supportMsg([]result.Support{{Candidate: "ext4"}, {Candidate: "jfs", Outcome: result.Unsupported, Reason: "no driver"}}))
	shows("starting the machine", "jfs unsupported")
	start := time.Now()
	trial := result.Trial{Round: 1, Candidate: "ext4", Attempt: 1, Started: start}
	send(sessionMsg(1.5), trialMsg{trial, 1, 4}, phaseMsg("write"))
	shows("trial 1 of 4, round 1 of 2", "ext4 write 0 s")

	trial.Outcome, trial.Ended = result.Done, start.Add(10*time.Second)
	trial.Measurements = []result.Measurement{
		{Phase: "write", Metric: result.Wall, Value: 2.5, Unit: "s"},
		{Phase: "read", Metric: result.Wall, Unit: "s", Absent: "not here"},
	}
	send(endedMsg(trial))
	shows("ext4 ●○ 2.50 s", "about 30 s left") // one of its own and two others as long
	failed := result.Trial{Round: 1, Candidate: "btrfs -m single -o compress=lzo", Attempt: 1, Outcome: result.SubjectFailed, Phase: "mkfs",
		Started: start, Ended: start.Add(time.Second)}
	send(trialMsg{failed, 2, 4}, endedMsg(failed))
	shows("failed", "about 11 s left")
	if strings.Contains(m.(*screen).View().Content, "this machine was busy") {
		t.Error("a machine that nothing observed is called busy")
	}
	busy := func(attempt int, share float64) endedMsg {
		x := result.Trial{Round: 2, Candidate: "ext4", Attempt: attempt, Outcome: result.Done, Started: start, Ended: start.Add(10 * time.Second)}
		for _, l := range append(result.LoadFigures(time.Second, time.Duration(share*float64(time.Second)), 0, 0, "", ""), result.Figure(result.Wall, 1)) {
			x.Measurements = append(x.Measurements, l.In("write"))
		}
		return endedMsg(x)
	}
	send(busy(1, 0.5))
	shows("this machine was busy 50 % of the time", "ext4 ●● 1.00 s", "about 1 s left")
	send(busy(2, 0.3)) // the same trial
	shows("this machine was busy 40 % of the time; 1 of 1 trial was taken again", "ext4 ●● 1.00 s", "about 1 s left")
	send(tea.KeyPressMsg{Code: 'c', Mod: tea.ModCtrl})
	if !cancelled {
		t.Error("Ctrl-C does not cancel")
	}
	shows("ending: the current trial is abandoned, all others are stored")
}
