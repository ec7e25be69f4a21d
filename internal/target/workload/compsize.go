package workload

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// compsize is the output of the program of that name for a directory on Btrfs.
type compsize struct {
	files, regular, inline int64
	disk, plain            int64 // B, of all extents
}

// compsizeHead is its first line: "Processed 1541 files, 20427 regular extents (20427 refs), 542
// inline.", in the singular for 1.
var compsizeHead = regexp.MustCompile(`^Processed (\d+) files?, (\d+) regular extents? \((\d+) refs?\), (\d+) inline`)

// parseCompsize reads the output of compsize -b (version 1.5): counts, a table heading, the row
// TOTAL with percentage, bytes on storage, uncompressed and referenced, and a similar row for each
// compressor.
func parseCompsize(text string) (compsize, error) {
	var c compsize
	bad := func(what string) (compsize, error) {
		return compsize{}, fmt.Errorf("compsize: %s in %.200q", what, text)
	}
	head := compsizeHead.FindStringSubmatch(text)
	if head == nil {
		return bad("no counts")
	}
	for i, n := range map[int]*int64{1: &c.files, 2: &c.regular, 4: &c.inline} {
		var err error
		if *n, err = strconv.ParseInt(head[i], 10, 64); err != nil {
			return bad("a count that is too large")
		}
	}
	for line := range strings.Lines(text) {
		words := strings.Fields(line)
		if len(words) == 0 || words[0] != "TOTAL" {
			continue
		}
		if len(words) != 5 {
			return bad("a total of " + strconv.Itoa(len(words)-1) + " figures")
		}
		for i, n := range map[int]*int64{2: &c.disk, 3: &c.plain} {
			var err error
			if *n, err = strconv.ParseInt(words[i], 10, 64); err != nil || *n < 0 {
				return bad("a size that is not a number of bytes")
			}
		}
		return c, nil
	}
	return bad("no total")
}
