package report

import (
	"whichfs/internal/harmless"
	"whichfs/internal/verdict"
)

// clean makes s harmless to print on one line.
func clean(s string) string { return harmless.Line(s) }

// cleaned returns a copy of v with every string in it cleaned.
func cleaned(v verdict.Verdict) verdict.Verdict { return harmless.Copy(v, 0) }
