// Package build says what a program was built from. The linker sets the values (see the Makefile); a
// program built by hand has none.
package build

import (
	"bytes"
	"os"
	"strings"
)

// Unknown is the version of a program built by hand.
const Unknown = "unknown"

var (
	version = Unknown
	commit  string
	date    string
)

// Version is the version of this whichfs, as git describes it.
func Version() string { return version }

// Commit is the commit it was built from, and its date (UTC, as in RFC 3339). Empty: unknown.
func Commit() (hash, when string) { return commit, date }

// AgentMark precedes the version in an agent's program, so that it can be read from an agent for
// another processor, which cannot be run. The version is followed by dots.
const AgentMark = "whichfs-agent version "

// AgentVersion reads the version of an agent from its program; Unknown if it was built by hand.
func AgentVersion(path string) (string, error) {
	program, err := os.ReadFile(path)
	if err != nil {
		return "", err
	}
	for rest := program; ; {
		_, after, found := bytes.Cut(rest, []byte(AgentMark))
		if !found {
			return Unknown, nil
		}
		text := string(after[:min(len(after), AgentVersionLength)])
		if v := strings.TrimRight(text, "."); v != "" && strings.Trim(v, versionLetters) == "" {
			return v, nil
		}
		rest = after
	}
}

// AgentVersionLength is that of the version with the dots: it is the same for all, because where
// programs and data lie in a guest's memory has a part in what its kernel does.
const AgentVersionLength = 32

const versionLetters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-+~_/"

// Same reports whether two versions are the same as far as is known.
func Same(a, b string) bool { return a == b || a == Unknown || b == Unknown }
