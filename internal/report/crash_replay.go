package report

import (
	"io"
	"strings"

	"whichfs/internal/fault/finding"
)

// Replay is a finding that was looked at again. Now has the outcome, breaches,
// messages and kernel of this time.
type Replay struct {
	Was, Now finding.Finding
	Machine  string
}

// Shows reports whether the state still shows what it showed, or breaks another
// promise.
func (r Replay) Shows() bool { return r.Same() || len(r.Now.Breaches) > 0 || !r.Now.Outcome.Kept() }

// Same reports whether it shows what it showed: the outcome, and the promise.
func (r Replay) Same() bool {
	return r.Now.Outcome == r.Was.Outcome && promiseOf(r.Now) == promiseOf(r.Was)
}

func promiseOf(f finding.Finding) string {
	if len(f.Breaches) == 0 {
		return ""
	}
	return f.Breaches[0].Promise
}

// answer says in a sentence what came of it.
func (r Replay) answer() string {
	kernels := "kernel " + r.Now.Kernel
	if r.Was.Kernel != r.Now.Kernel {
		kernels += "; it was found with kernel " + r.Was.Kernel
	}
	switch {
	case r.Same():
		return "Shown again (" + kernels + ")."
	case r.Shows():
		return "Not the same: this time " + r.Now.Outcome.Words() + ", and it was " + r.Was.Outcome.Words() + " (" + kernels + ")."
	}
	return "Not shown: this time " + r.Now.Outcome.Words() + ", with all that was promised (" + kernels + ")."
}

// ReplayText writes a finding that was looked at again, with its picture. all
// shows every entry of the log.
func ReplayText(w io.Writer, r Replay, all bool, s TextOptions) error {
	p := &printer{TextOptions: s}
	r.Was, r.Now = cleanedFinding(r.Was), cleanedFinding(r.Now)
	p.para(0, "", findingTitle(r.Was), nil)
	p.line("")
	mark, paint := "✗", p.red
	if !r.Shows() {
		mark, paint = "✓", p.green
	}
	p.para(0, mark, r.answer(), paint)
	if text := strings.Join(breachLines(r.Now), "; "); text != "" && !r.Same() {
		p.para(2, "·", text, nil)
	}
	p.line("")
	shown := r.Was
	if r.Same() {
		shown = r.Now // what was said this time
	}
	p.finding(shown, all)
	_, err := w.Write(p.b.Bytes())
	return err
}
