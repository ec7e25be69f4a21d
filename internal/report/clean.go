package report

import "whichfs/internal/sys/harmless"

// clean makes s harmless to print on one line.
func clean(s string) string { return harmless.Line(s) }
