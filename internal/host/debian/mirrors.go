package debian

import (
	"bufio"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Default is Debian's own mirror.
const Default = "http://deb.debian.org/debian"

const keyring = "/usr/share/keyrings/debian-archive-keyring.gpg"

// HostMirror finds the mirror that this host already uses for a suite below
// etc ("/etc"), so that whichfs uses a site's own mirror, too. Debian's own
// serves where the host has no entry.
func HostMirror(etc, suite string) string {
	for _, e := range aptEntries(etc) {
		if slices.Contains(e.components, "main") && slices.Contains(e.suites, suite) {
			return e.uri
		}
	}
	return Default
}

// Source formats a mirror's suite, component main, as apt's one-line entry.
func Source(mirror, suite string) string {
	sign := ""
	if _, err := os.Stat(keyring); err == nil {
		sign = "[signed-by=" + keyring + "] "
	}
	return "deb " + sign + mirror + " " + suite + " main"
}

type aptEntry struct {
	uri                string
	suites, components []string
}

func aptEntries(etc string) []aptEntry {
	files, _ := filepath.Glob(filepath.Join(etc, "apt/sources.list.d/*"))
	var out []aptEntry
	for _, name := range append([]string{filepath.Join(etc, "apt/sources.list")}, files...) {
		text, err := os.ReadFile(name)
		if err != nil {
			continue
		}
		switch filepath.Ext(name) {
		case ".list":
			out = append(out, oneLine(string(text))...)
		case ".sources":
			out = append(out, deb822(string(text))...)
		}
	}
	return out
}

// oneLine parses "deb [options] uri suite component…" lines (sources.list(5)).
func oneLine(text string) []aptEntry {
	var out []aptEntry
	for line := range strings.Lines(text) {
		line, _, _ = strings.Cut(line, "#")
		words := strings.Fields(line)
		if len(words) == 0 || words[0] != "deb" {
			continue
		}
		words = words[1:]
		if len(words) > 0 && strings.HasPrefix(words[0], "[") {
			for len(words) > 0 && !strings.HasSuffix(words[0], "]") {
				words = words[1:]
			}
			if len(words) > 0 {
				words = words[1:]
			}
		}
		if len(words) >= 3 && usableURI(words[0]) {
			out = append(out, aptEntry{uri: words[0], suites: words[1:2], components: words[2:]})
		}
	}
	return out
}

// deb822 parses stanzas of "Field: words" lines.
func deb822(text string) []aptEntry {
	var out []aptEntry
	for stanza := range strings.SplitSeq(text, "\n\n") {
		fields := map[string][]string{}
		last := ""
		scan := bufio.NewScanner(strings.NewReader(stanza))
		for scan.Scan() {
			line := scan.Text()
			if strings.HasPrefix(line, "#") {
				continue
			}
			if strings.HasPrefix(line, " ") || strings.HasPrefix(line, "\t") {
				fields[last] = append(fields[last], strings.Fields(line)...)
				continue
			}
			if name, value, ok := strings.Cut(line, ":"); ok {
				last = strings.ToLower(strings.TrimSpace(name))
				fields[last] = strings.Fields(value)
			}
		}
		if !slices.Contains(fields["types"], "deb") || slices.Contains(fields["enabled"], "no") {
			continue
		}
		for _, uri := range fields["uris"] {
			if usableURI(uri) {
				out = append(out, aptEntry{uri: uri, suites: fields["suites"], components: fields["components"]})
			}
		}
	}
	return out
}

// usableURI excludes media that an ordinary user cannot read (cdrom:) and
// methods that refer to files of this host only.
func usableURI(uri string) bool {
	return strings.HasPrefix(uri, "http://") || strings.HasPrefix(uri, "https://")
}
