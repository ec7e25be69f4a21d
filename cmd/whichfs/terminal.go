package main

import (
	"os"

	"golang.org/x/term"

	"whichfs/internal/report"
)

// terminalOf is the width of the terminal that a stream is.
func terminalOf(stream any) (width int, ok bool) {
	f, ok := stream.(*os.File)
	if !ok || !term.IsTerminal(int(f.Fd())) {
		return 0, false
	}
	if w, _, err := term.GetSize(int(f.Fd())); err == nil && w > 0 {
		return w, true
	}
	return 80, true
}

// dumb are terminals that can only append.
func dumb() bool { return os.Getenv("TERM") == "dumb" }

// redraws is the width of the terminal on which progress is redrawn in place.
func (a *shell) redraws() (width int, ok bool) {
	width, ok = terminalOf(a.stderr)
	return width, ok && !dumb() && !a.cli.Plain
}

// textOptions are those of the user's terminal, or of a file if there is none.
func (a *shell) textOptions() report.TextOptions {
	o := report.TextOptions{Width: 100, ASCII: dumb(), Plain: a.cli.Plain}
	width, ok := terminalOf(a.stdout)
	if ok {
		o.Width = width
	}
	o.Color = (ok && !dumb() || os.Getenv("FORCE_COLOR") != "") && os.Getenv("NO_COLOR") == "" && !a.cli.Plain
	return o
}
