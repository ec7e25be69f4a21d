package debian

import (
	"errors"
	"fmt"
	"strings"

	"whichfs/internal/sys/command"
)

// Transient reports whether apt's messages indicate a passing problem of a
// mirror or the network.
func Transient(err error) bool {
	text := err.Error()
	var failed *command.Error
	if errors.As(err, &failed) {
		text += failed.Stderr
	}
	for _, mark := range []string{
		"Mirror sync in progress", "Hash Sum mismatch", "File has unexpected size", "Temporary failure",
		"timed out", "Connection reset", "Connection failed", "502 ", "503 ", "504 ",
	} {
		if strings.Contains(text, mark) {
			return true
		}
	}
	return false
}

// Absent reports whether apt's messages say that the suite lacks a package, or
// the wanted version of it.
func Absent(err error) bool {
	return strings.Contains(err.Error(), "E: Unable to locate package") || strings.Contains(err.Error(), "' was not found")
}

// complaint reduces the output of mmdebstrap and apt to the lines that name
// the fault; the last ones are about cleaning up.
func complaint(err error) error {
	var failed *command.Error
	if !errors.As(err, &failed) {
		return err
	}
	var kept []string
	for line := range strings.Lines(failed.Stderr) {
		if strings.HasPrefix(line, "E: ") && !strings.HasPrefix(line, "E: mmdebstrap failed to run") {
			kept = append(kept, line)
		}
	}
	if len(kept) == 0 {
		return err
	}
	short := *failed
	short.Stderr = strings.Join(kept, "")
	return &short
}

// Messages at the start of a stage of Fetch.
const (
	SaysIndex     = "reading the package index"
	SaysUnpacking = "unpacking the packages" // the last one has arrived
)

// longestLine is how many bytes of an unterminated line are kept.
const longestLine = 1 << 16

// follower turns the output of mmdebstrap and apt into progress, and records
// the fetched packages with their versions.
type follower struct {
	progress func(string)
	packages map[string]string
	rest     string
}

func (f *follower) Write(p []byte) (int, error) {
	f.rest += string(p)
	for {
		line, rest, ok := strings.Cut(f.rest, "\n")
		if !ok {
			break
		}
		f.rest = rest
		f.line(line)
	}
	if len(f.rest) > longestLine {
		f.rest = f.rest[:longestLine]
	}
	return len(p), nil
}

// line parses one of
//
//	Get:7 http://deb.debian.org/debian bookworm/main amd64 libkmod2 amd64 30+20221128-1 [57.9 kB]
//	Need to get 6464 kB of archives.
//	I: extracting archives...
func (f *follower) line(line string) {
	words := strings.Fields(line)
	switch {
	case len(words) >= 8 && strings.HasPrefix(words[0], "Get:") && strings.HasPrefix(words[7], "["):
		if strings.HasSuffix(words[6], "]") {
			return // a package list, with progress on the same line
		}
		f.packages[words[4]] = words[6]
		if len(f.packages)%25 == 0 {
			f.progress(fmt.Sprintf("%d packages fetched", len(f.packages)))
		}
	case strings.HasPrefix(line, "Need to get "):
		size, _, _ := strings.Cut(strings.TrimPrefix(line, "Need to get "), " of archives")
		f.progress("fetching " + size + " of packages")
	case strings.HasPrefix(line, "I: running apt-get update"):
		f.progress(SaysIndex)
	case strings.HasPrefix(line, "I: extracting archives"):
		f.progress(SaysUnpacking)
	case strings.HasPrefix(line, "I: creating tarball"):
		f.progress("writing the root filesystem")
	}
}
