package workload

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"whichfs/internal/result"
)

// compsize is the output of the program of that name for a directory on Btrfs.
type compsize struct {
	files, regular, inline int64
	disk, plain            int64 // B, of all extents
	// The same of the extents in each of compsizeTypes; there may be others (prealloc).
	diskOf, plainOf [4]int64
}

// compsizeTypes are the ways in which data is stored: without compression and by each compressor.
var compsizeTypes = [4]struct{ name, metric string }{
	{"none", result.CompressNone}, {"zlib", result.CompressZlib}, {"lzo", result.CompressLzo}, {"zstd", result.CompressZstd},
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
	total := false
	for line := range strings.Lines(text) {
		words := strings.Fields(line)
		if len(words) == 0 {
			continue
		}
		disk, plain := &c.disk, &c.plain
		if words[0] != "TOTAL" {
			i := slices.IndexFunc(compsizeTypes[:], func(x struct{ name, metric string }) bool { return x.name == words[0] })
			if i < 0 {
				continue
			}
			disk, plain = &c.diskOf[i], &c.plainOf[i]
		}
		if len(words) != 5 {
			return bad(words[0] + " with " + strconv.Itoa(len(words)-1) + " figures")
		}
		for i, n := range map[int]*int64{2: disk, 3: plain} {
			var err error
			if *n, err = strconv.ParseInt(words[i], 10, 64); err != nil || *n < 0 {
				return bad("a size that is not a number of bytes")
			}
		}
		total = total || words[0] == "TOTAL"
	}
	if !total {
		return bad("no total")
	}
	return c, nil
}

// byType are the figures of what is stored in which way.
func (c compsize) byType() []result.Measurement {
	var out []result.Measurement
	var disk, plain int64
	for i, x := range compsizeTypes {
		out = append(out, result.Figure(x.metric, float64(c.plainOf[i])))
		if i > 0 {
			disk, plain = disk+c.diskOf[i], plain+c.plainOf[i]
		}
	}
	if plain == 0 {
		return append(out, result.Missing(result.CompressRest, "nothing is compressed"))
	}
	return append(out, result.Figure(result.CompressRest, float64(disk)/float64(plain)))
}
