package report

import (
	"whichfs/internal/fault"
	"whichfs/internal/fault/finding"
	"whichfs/internal/fault/picture"
	"whichfs/internal/fault/writelog"
	"whichfs/internal/harmless"
)

// folded is a row, or stands for more rows that are not shown.
type folded struct {
	row  picture.Row
	more int
}

// fold takes out the middle of long stretches in which little is to be seen:
// what had been durable before anything was under way, and what was never sent.
// Of a log whose power was not cut no row is more telling than another.
func fold(rows []picture.Row, point int, all bool) []folded {
	if point < 0 {
		return stretch(nil, rows, 40, 20, all)
	}
	settled := point
	for _, r := range rows[:point] {
		if r.Fate == picture.Kept || r.Fate == picture.Torn || r.Fate == picture.Lost {
			settled = r.Entry
			break
		}
	}
	out := stretch(nil, rows[:settled], 3, 10, all)
	out = stretch(out, rows[settled:point], 24, 24, all)
	return stretch(out, rows[point:], 3, 0, all)
}

// stretch adds rows of which only the first and last are shown, if there are
// many.
func stretch(out []folded, rows []picture.Row, head, tail int, all bool) []folded {
	const slack = 3 // fewer are not worth a line that says so
	if all || len(rows) <= head+tail+slack {
		head, tail = len(rows), 0
	}
	for _, r := range rows[:head] {
		out = append(out, folded{row: r})
	}
	rest := rows[head:]
	if middle := len(rest) - tail; middle > 0 {
		out = append(out, folded{row: rest[0], more: middle})
		rest = rest[middle:]
	}
	for _, r := range rest {
		out = append(out, folded{row: r})
	}
	return out
}

// cleanedFinding cleans what is printed of a finding; what the disk held is not
// printed, and stays.
func cleanedFinding(f finding.Finding) finding.Finding {
	base, log := f.Base, f.Log
	f.Base, f.Log = fault.Image{}, writelog.Log{}
	f = harmless.Copy(f, 0)
	f.Base, f.Log = base, log
	return f
}
