package machine

import (
	"context"
	"errors"
	"strings"
	"testing"

	"whichfs/internal/result"
	"whichfs/internal/wire"
)

// An impossible report is nonsense, whatever is wrong with it.
func TestProbeNonsense(t *testing.T) {
	const head = `"format":1,"identity":"x","size":1073741824,"started":"2026-01-01T00:00:00Z","seconds":1`
	report := func(rest string) string { return `{"report":{` + head + rest + `}}` }
	finding := func(f string) string { return report(`,"findings":[` + f + `]`) }
	for name, c := range map[string]struct{ kind, body, want string }{
		"other kind":      {wire.KindPhase, `{"phase":"x"}`, `"phase" during a probe`},
		"no progress":     {wire.KindProgress, `{}`, `progress ""`},
		"share":           {wire.KindProgress, `{"what":"x","share":1.5}`, "of 1.5"},
		"escapes":         {wire.KindProgress, `{"what":"\u001b[2J","share":0}`, "progress"},
		"empty":           {wire.KindProbed, `{}`, "format 0"},
		"text":            {wire.KindProbed, `"done"`, "cannot unmarshal"},
		"no findings":     {wire.KindProbed, report(``), "without a finding"},
		"other size":      {wire.KindProbed, strings.Replace(finding(`{}`), "1073741824", "5", 1), "a probe of 5 bytes"},
		"other device":    {wire.KindProbed, strings.Replace(finding(`{}`), `"x"`, `"y"`, 1), `a probe of "y"`},
		"no date":         {wire.KindProbed, strings.Replace(finding(`{}`), `"started":"2026-01-01T00:00:00Z",`, ``, 1), "without a date"},
		"before time":     {wire.KindProbed, strings.Replace(finding(`{}`), `"seconds":1`, `"seconds":-1`, 1), "-1 seconds"},
		"wrote":           {wire.KindProbed, report(`,"wrote":true,"findings":[{}]`), "for reading only"},
		"no key":          {wire.KindProbed, finding(`{"name":"x"}`), `a finding ""`},
		"no name":         {wire.KindProbed, finding(`{"key":"x"}`), `named ""`},
		"negative":        {wire.KindProbed, finding(`{"key":"x","name":"X","value":-1,"unit":"B"}`), "x of -1"},
		"strange unit":    {wire.KindProbed, finding(`{"key":"x","name":"X","value":1,"unit":"\t"}`), "x of 1"},
		"says nothing":    {wire.KindProbed, finding(`{"key":"x","name":"X","value":1}`), "without a unit or a text"},
		"too confident":   {wire.KindProbed, finding(`{"key":"x","name":"X","value":1,"unit":"B","confidence":2}`), "confidence 2"},
		"twice":           {wire.KindProbed, finding(`{"key":"x","name":"X","unit":"B"},{"key":"x","name":"X","unit":"B"}`), "twice"},
		"no such curve":   {wire.KindProbed, finding(`{"key":"x","name":"X","unit":"B","curves":["c"]}`), `curve "c"`},
		"bad point":       {wire.KindProbed, report(`,"findings":[{"key":"x","name":"X","unit":"B"}],"curves":[{"key":"c","lines":[{"points":[{"x":1,"y":-2}]}]}]`), "point at 1, -2"},
		"hollow failure":  {wire.KindProbed, `{"failed":{"outcome":"subject-failed"}}`, "failed with outcome"},
		"failed and done": {wire.KindProbed, `{"failed":{"outcome":"done","reason":"x"}}`, "failed with outcome"},
	} {
		t.Run(name, func(t *testing.T) {
			cl := opened(t, ClientOptions{}, func(p *peer, m wire.Message) { p.raw(c.kind, m.ID, c.body) })
			cl.readOnly = true
			_, err := cl.Probe(context.Background(), wire.Probe{}, nil)
			var e *result.Failure
			if !errors.As(err, &e) || e.Outcome != result.LabFailed || !strings.Contains(err.Error(), "the agent answered nonsense: ") || !strings.Contains(err.Error(), c.want) {
				t.Fatalf("error %v, want nonsense with %q", err, c.want)
			}
			if _, err := cl.Support(context.Background(), nil); err == nil {
				t.Error("the session continues after that")
			}
		})
	}
	cl := opened(t, ClientOptions{}, func(p *peer, m wire.Message) {
		p.raw(wire.KindProbed, m.ID, finding(`{"key":"x","name":"X","value":1,"unit":"B","confidence":1}`))
	})
	if r, err := cl.Probe(context.Background(), wire.Probe{}, nil); err != nil || len(r.Findings) != 1 {
		t.Errorf("%+v, %v", r, err)
	}
}

// An agent that does not stop when asked is abandoned.
func TestProbeThatDoesNotStop(t *testing.T) {
	asked := make(chan string, 3)
	cl := opened(t, ClientOptions{Grace: 1}, func(p *peer, m wire.Message) {
		asked <- m.Kind
		if m.Kind == wire.KindProbe {
			p.raw(wire.KindProgress, m.ID, `{"what":"x","share":0}`)
		}
	})
	ctx, cancel := context.WithCancelCause(context.Background())
	why := errors.New("enough")
	_, err := cl.Probe(ctx, wire.Probe{}, func(wire.Progress) { cancel(why) })
	if !errors.Is(err, context.Canceled) || !errors.Is(err, why) {
		t.Errorf("%v", err)
	}
	if a, b := <-asked, <-asked; a != wire.KindProbe || b != wire.KindStop {
		t.Errorf("it was asked %s, %s", a, b)
	}
	before, _ := pair(t, ClientOptions{})
	if _, err := before.Probe(context.Background(), wire.Probe{}, nil); err == nil {
		t.Error("a probe without storage")
	}
}
