package debian

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"whichfs/internal/sys/command"
	"whichfs/internal/sys/units"
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
	begun    time.Time // of the packages' download
	said     time.Time
	bytes    float64
	total    float64 // 0: unknown
}

// sayEvery is the time between two lines about a download.
const sayEvery = 5 * time.Second

// fetched counts a package of that size, and says now and then how far the download is.
func (f *follower) fetched(size string) {
	now := time.Now()
	if f.begun.IsZero() {
		f.begun, f.said = now, now
	}
	f.bytes += sizeOf(size)
	if now.Sub(f.said) >= sayEvery {
		f.said = now
		f.progress(f.state(now.Sub(f.begun)))
	}
}

// state is how far the download is after that time, and how long the rest takes at its speed so far.
func (f *follower) state(since time.Duration) string {
	text := fmt.Sprintf("%s, %s", units.Count(len(f.packages), "package"), units.Value(f.bytes, "B"))
	if f.total >= f.bytes && f.bytes > 0 && f.total > 0 {
		left := time.Duration((f.total - f.bytes) / f.bytes * float64(since))
		return fmt.Sprintf("%s of %s fetched, about %s left", text, units.Value(f.total, "B"), units.Rough(left))
	}
	return text + " fetched"
}

// sizeOf is a size in bytes as apt prints it, "57.9 kB"; 0: it is none.
func sizeOf(text string) float64 {
	var n float64
	var unit string
	if _, err := fmt.Sscanf(strings.ReplaceAll(text, ",", ""), "%g %s", &n, &unit); err != nil {
		return 0
	}
	return n * map[string]float64{"B": 1, "kB": 1e3, "MB": 1e6, "GB": 1e9}[unit]
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
		f.fetched(strings.Trim(strings.Join(words[7:], " "), "[]"))
	case strings.HasPrefix(line, "Need to get "):
		size, _, _ := strings.Cut(strings.TrimPrefix(line, "Need to get "), " of archives")
		f.total = sizeOf(size)
		f.progress("fetching " + size + " of packages")
	case strings.HasPrefix(line, "I: running apt-get update"):
		f.progress(SaysIndex)
	case strings.HasPrefix(line, "I: extracting archives"):
		f.progress(SaysUnpacking)
	case strings.HasPrefix(line, "I: creating tarball"):
		f.progress("writing the root filesystem")
	}
}
