package dataset

import (
	"context"
	"errors"
	"strings"

	"whichfs/internal/command"
)

// aptOptions are the host's settings that decide whether a download works:
// proxies, certificates, retries, and what is expected of a Release file's
// dates. mmdebstrap starts from an empty configuration.
func aptOptions(ctx context.Context) []string {
	r, err := command.Run(ctx, command.Options{}, "apt-config", "dump")
	if err != nil {
		return nil // without apt-config there is nothing to take over
	}
	return wantedOptions(r.Stdout)
}

func wantedOptions(dump string) []string {
	var out []string
	for line := range strings.Lines(dump) {
		line = strings.TrimSpace(line)
		key, value, _ := strings.Cut(line, " ")
		if value == "" || value == `"";` {
			continue
		}
		for _, p := range []string{
			"Acquire::http::", "Acquire::https::", "Acquire::Retries", "Acquire::ForceIPv4", "Acquire::ForceIPv6",
			"Acquire::Check-Valid-Until", "Acquire::Check-Date", "Acquire::Max-FutureTime",
		} {
			if strings.HasPrefix(key, p) {
				out = append(out, line)
				break
			}
		}
	}
	return out
}

// transient tells a mirror's or the network's passing trouble from anything
// else, by what apt says.
func transient(err error) bool {
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

// complaint leaves of what mmdebstrap and apt said the lines that say what is
// wrong; the last ones are about tidying up.
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

// brokenOff reports whether the program itself failed, rather than ending
// because nobody read its output any more.
func brokenOff(err error) bool {
	var failed *command.Error
	return errors.As(err, &failed) && failed.Status > 0 && !strings.Contains(failed.Stderr, "Broken pipe")
}

// follower turns what mmdebstrap says into progress.
type follower struct {
	progress func(string)
	rest     string
}

func (f *follower) Write(p []byte) (int, error) {
	f.rest += string(p)
	for {
		line, rest, ok := strings.Cut(f.rest, "\n")
		if !ok {
			return len(p), nil
		}
		f.rest = rest
		switch {
		case strings.HasPrefix(line, "I: running apt-get update"):
			f.progress("reading the package index")
		case strings.HasPrefix(line, "I: downloading packages"):
			f.progress("fetching the packages")
		case strings.HasPrefix(line, "I: extracting archives"):
			f.progress("unpacking the packages")
		}
	}
}
