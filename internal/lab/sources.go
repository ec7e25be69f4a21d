package lab

import (
	"bufio"
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"whichfs/internal/command"
)

const (
	defaultMirror   = "http://deb.debian.org/debian"
	defaultSecurity = "http://deb.debian.org/debian-security"
	keyring         = "/usr/share/keyrings/debian-archive-keyring.gpg"
)

// mirrors are where packages come from.
type mirrors struct{ main, security string }

// hostMirrors finds the mirrors that this host already uses for a suite below
// etc ("/etc"), so that a site's own mirror serves the lab too. What the host
// has no entry for comes from Debian's.
func hostMirrors(etc, suite string) mirrors {
	var m mirrors
	for _, e := range aptEntries(etc) {
		if !slices.Contains(e.components, "main") {
			continue
		}
		if m.main == "" && slices.Contains(e.suites, suite) {
			m.main = e.uri
		}
		if m.security == "" && slices.Contains(e.suites, suite+"-security") {
			m.security = e.uri
		}
	}
	if m.main == "" {
		m.main = defaultMirror
	}
	if m.security == "" {
		m.security = defaultSecurity
	}
	return m
}

// lines writes them as apt's one-line entries.
func (m mirrors) lines(suite string, security bool) []string {
	sign := ""
	if _, err := os.Stat(keyring); err == nil {
		sign = "[signed-by=" + keyring + "] "
	}
	out := []string{
		"deb " + sign + m.main + " " + suite + " main",
		"deb " + sign + m.main + " " + suite + "-updates main",
	}
	if security {
		out = append(out, "deb "+sign+m.security+" "+suite+"-security main")
	}
	return out
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

// oneLine reads "deb [options] uri suite component…" lines (sources.list(5)).
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

// deb822 reads stanzas of "Field: words" lines.
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

// usableURI leaves out media that an ordinary user cannot read (cdrom:) and
// methods that point at files of this host only.
func usableURI(uri string) bool {
	return strings.HasPrefix(uri, "http://") || strings.HasPrefix(uri, "https://")
}

// aptOptions are the host's settings that decide whether a download works:
// proxies, certificates, retries, and what is expected of a Release file's
// dates. mmdebstrap starts from an empty configuration otherwise.
func aptOptions(ctx context.Context) []string {
	out := []string{`Acquire::Languages "none";`, `APT::Install-Recommends "false";`}
	r, err := command.Run(ctx, command.Options{}, "apt-config", "dump")
	if err != nil {
		return out // without apt-config there is nothing to take over
	}
	return append(out, wantedOptions(r.Stdout)...)
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
			"Acquire::http::", "Acquire::https::", "Acquire::Retries", "Acquire::ForceIPv4",
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
