package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"
	"charm.land/lipgloss/v2"
	"charm.land/lipgloss/v2/table"

	"whichfs/internal/app"
	"whichfs/internal/host/experiment"
	"whichfs/internal/plan"
	"whichfs/internal/plan/study"
	"whichfs/internal/result"
	"whichfs/internal/sys/units"
)

// live redraws a small screen in place: the current trial, the time left, and a table that fills
// up. Lasting messages scroll by above it.
type live struct {
	a       *shell
	run     result.Run
	plan    plan.Plan
	before  app.Durations
	program *tea.Program
	ended   chan struct{}
}

func newLive(a *shell, run result.Run, p plan.Plan, before app.Durations) *live {
	return &live{a: a, run: run, plan: p, before: before, ended: make(chan struct{})}
}

func (l *live) start(ctx context.Context) (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	m := &screen{pace: newPace(l.plan, l.before), shown: shownOf(l.run.Study), rows: map[string]*row{}, cancel: func() { cancel(errInterrupted) }, began: time.Now(), width: 100}
	l.program = tea.NewProgram(m, tea.WithOutput(l.a.stderr), tea.WithInput(l.a.stdin), tea.WithoutSignalHandler())
	go func() {
		defer close(l.ended)
		if _, err := l.program.Run(); err != nil {
			l.a.note("the live display failed: " + err.Error())
		}
	}()
	return ctx, func() { cancel(nil) }
}

func (l *live) stop() {
	l.program.Quit()
	<-l.ended
}

func (l *live) observer() experiment.Observer {
	send := func(msg tea.Msg) { l.program.Send(msg) }
	return experiment.Observer{
		Session: func(ready float64) { send(sessionMsg(ready)) },
		Support: func(s []result.Support) { send(supportMsg(s)) },
		Trial:   func(t result.Trial, number, total int) { send(trialMsg{t, number, total}) },
		Phase:   func(name string) { send(phaseMsg(name)) },
		Ended:   func(t result.Trial) { send(endedMsg(t)) },
		Note:    func(text string) { send(noteMsg(text)) },
	}
}

type (
	sessionMsg float64
	supportMsg []result.Support
	trialMsg   struct {
		t             result.Trial
		number, total int
	}
	phaseMsg string
	endedMsg result.Trial
	noteMsg  string
	tickMsg  struct{}
)

// mostShown is how many phases fit on a screen.
const mostShown = 7

// shownOf returns those columns of a study that are the time of one phase.
func shownOf(name string) []string {
	var out []string
	s, _ := study.ByName(name)
	for _, c := range s.Columns {
		if !c.Extra && len(c.Terms) == 1 && c.Terms[0].Metric == result.Wall && len(out) < mostShown {
			out = append(out, c.Terms[0].Phase)
		}
	}
	return out
}

type row struct {
	done  int
	cells map[string]string
	state string
}

// screen is the model that is drawn.
type screen struct {
	pace   pace
	shown  []string // phases whose latest figures fill the table
	rows   map[string]*row
	cancel func()
	began  time.Time
	now    string // candidate of the current trial
	phase  string
	since  time.Time
	ending bool
	width  int
}

func tick() tea.Cmd {
	return tea.Tick(500*time.Millisecond, func(time.Time) tea.Msg { return tickMsg{} })
}

func (s *screen) Init() tea.Cmd { return tick() }

func (s *screen) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	switch m := msg.(type) {
	case tea.WindowSizeMsg:
		s.width = m.Width
	case tea.KeyPressMsg:
		if k := m.String(); k == "ctrl+c" || k == "q" {
			s.ending = true
			s.cancel()
		}
	case tickMsg:
		return s, tick()
	case sessionMsg:
		s.now, s.phase, s.since = "", "starting the machine", time.Now()
		if m > 0 {
			s.phase = fmt.Sprintf("machine ready after %.1f s", float64(m))
		}
	case supportMsg:
		s.pace.cannotRun(m)
		var lines []string
		for _, c := range unsupported(m) {
			for name, of := range s.pace.of {
				if of == c.Candidate {
					s.row(name).state = string(c.Outcome)
				}
			}
			lines = append(lines, fmt.Sprintf("%s: %s: %s", c.Candidate, c.Outcome, c.Reason))
		}
		if len(lines) > 0 {
			return s, tea.Println(strings.Join(lines, "\n"))
		}
	case trialMsg:
		s.pace.begin(m.t, m.number, m.total)
		s.now, s.phase, s.since = m.t.Named(), "", time.Now()
	case phaseMsg:
		s.phase, s.since = string(m), time.Now()
	case endedMsg:
		s.end(result.Trial(m))
		if m.Outcome != result.Done {
			return s, tea.Println(fmt.Sprintf("%s, round %d: %s in %s: %s", result.Trial(m).Named(), m.Round, outcomeWord(m.Outcome), m.Phase, oneLine(m.Reason)))
		}
	case noteMsg:
		return s, tea.Println(string(m))
	}
	return s, nil
}

func (s *screen) row(candidate string) *row {
	r := s.rows[candidate]
	if r == nil {
		r = &row{cells: map[string]string{}}
		s.rows[candidate] = r
	}
	return r
}

func (s *screen) end(t result.Trial) {
	first := s.pace.end(t)
	r := s.row(t.Named())
	if t.Outcome != result.Done {
		r.state = outcomeWord(t.Outcome)
		return
	}
	if first {
		r.done++
	}
	for _, m := range t.Measurements {
		if m.Metric == result.Wall && m.Absent == "" {
			r.cells[m.Phase] = units.Value(m.Value, m.Unit)
		}
	}
}

func (s *screen) View() tea.View {
	var b strings.Builder
	dim := lipgloss.NewStyle().Faint(true)
	if s.pace.total > 0 {
		share := float64(s.pace.number-1) / float64(s.pace.total)
		const width = 28
		full := int(share * width)
		fmt.Fprintf(&b, "%s%s  trial %d of %d, round %d of %d", strings.Repeat("━", full), dim.Render(strings.Repeat("─", width-full)),
			s.pace.number, s.pace.total, s.pace.round, s.pace.rounds)
	} else {
		b.WriteString("starting")
	}
	fmt.Fprintf(&b, ", %s so far", units.Rough(time.Since(s.began)))
	if left, ok := s.pace.timeLeft(); ok && left >= time.Second {
		fmt.Fprintf(&b, ", about %s left", units.Rough(left))
	}
	b.WriteByte('\n')
	switch {
	case s.ending:
		b.WriteString("ending: the current trial is abandoned, all others are stored\n")
	case s.now != "":
		fmt.Fprintf(&b, "%s  %s  %.0f s\n", lipgloss.NewStyle().Bold(true).Render(s.now), s.phase, time.Since(s.since).Seconds())
	default:
		b.WriteString(s.phase + "\n")
	}
	if s.pace.load.Busy() {
		b.WriteString(s.pace.load.String() + "\n")
	}
	b.WriteString(s.table())
	b.WriteString(dim.Render("Ctrl-C ends cleanly; whichfs resume continues."))
	return tea.NewView(b.String() + "\n")
}

func (s *screen) table() string {
	t := table.New().Border(lipgloss.HiddenBorder()).BorderTop(false).BorderBottom(false).BorderLeft(false).BorderRight(false).
		StyleFunc(func(row, col int) lipgloss.Style {
			st := lipgloss.NewStyle().PaddingRight(1)
			if col > 1 {
				st = st.Align(lipgloss.Right)
			}
			if row == table.HeaderRow {
				st = st.Faint(true)
			}
			return st
		})
	header := []string{"candidate", "rounds"}
	header = append(header, s.shown...)
	t.Headers(header...)
	for _, c := range s.pace.candidates {
		r := s.row(c)
		cells := []string{shorten(c, max(16, min(44, s.width-78))), strings.Repeat("●", r.done) + strings.Repeat("○", max(0, min(s.pace.rounds-r.done, 12)))}
		if r.state != "" && r.done == 0 {
			cells[1] = r.state
			t.Row(append(cells, make([]string, len(s.shown))...)...)
			continue
		}
		for _, phase := range s.shown {
			cells = append(cells, r.cells[phase])
		}
		t.Row(cells...)
	}
	return t.Render() + "\n"
}

func shorten(s string, n int) string {
	if r := []rune(s); len(r) > n {
		return string(r[:n-1]) + "…"
	}
	return s
}
