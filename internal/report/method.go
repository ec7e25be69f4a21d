package report

import (
	"strings"

	"whichfs/internal/units"
	"whichfs/internal/verdict"
)

// What the columns of the observations table hold, by printed name.
var columnNotes = map[string]string{
	"boot time":         "What the filesystem adds to a boot: loading its kernel modules from memory, and mounting.",
	"mount time":        "The mount system call alone, on the filled filesystem, its modules loaded and caches dropped.",
	"read":              "Every byte of every file of the tree, cold: after unmount, mount and dropping caches. Metadata is read along the way.",
	"seq. read":         "The large files from begin to end, cold in the same way.",
	"write":             "Copies of the tree from memory. The clock stops when the filesystem says that all of it is on storage (syncfs).",
	"seq. write":        "Copies of one large incompressible file from memory, until they are on storage.",
	"read-write-delete": "Remove the oldest copy of the tree and copy the oldest remaining one, several times, until all is on storage. Data is read and written, never cloned.",
	"delete":            "Remove all copies, until that is on storage.",
	"space":             "What the tree takes: blocks in use after copying it in, or the size of the image for a read-only filesystem.",
}

// method explains how the figures were made: first in general, then column by
// column.
func method(v verdict.Verdict) [][2]string {
	margin := "the margin of interest"
	if v.Run.Margin > 0 {
		margin = "the margin of interest (" + units.Share(v.Run.Margin) + ")"
	}
	out := [][2]string{
		{"Trials", "Each trial makes a fresh filesystem on discarded storage and goes through one scenario on it. Every round tries every candidate once, in an order shuffled anew from the recorded seed, so that a drift of the machine falls on all alike."},
		{"The clock", "Data to be written is in memory before the clock starts. Writing ends when the filesystem says that the data is on storage; unmounting is timed apart. Time is wall time on the monotonic clock."},
		{"Estimates", "An estimate is the geometric mean over rounds, with its 95 % interval. Where only one figure exists it stands without an interval."},
		{"Ranks", "Candidates are compared in pairs, round by round, and corrected for the number of comparisons. A rank such as 2–4 names all places that the figures leave open. Two candidates are tied when their difference is shown to lie within " + margin + "; where neither a difference nor a tie is shown, it is undecided."},
		{"Grades", "A grade shows the ratio to the best of its column, in the words of the study. Nothing is decided by grades."},
	}
	for _, c := range v.Columns {
		if text, ok := columnNotes[strings.ToLower(c.Name)]; ok {
			out = append(out, [2]string{c.Name, text})
		}
	}
	return out
}
