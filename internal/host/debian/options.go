package debian

import (
	"context"
	"strings"

	"whichfs/internal/sys/command"
)

// HostOptions returns the host's settings that determine whether a download
// works: proxies, certificates, retries, and checks of a Release file's dates.
// mmdebstrap starts from an empty configuration otherwise.
func HostOptions(ctx context.Context) []string {
	r, err := command.Run(ctx, command.Options{}, "apt-config", "dump")
	if err != nil {
		return nil // without apt-config there is nothing to copy
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
