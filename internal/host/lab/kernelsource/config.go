package kernelsource

import (
	_ "embed"
	"fmt"
	"strings"

	"whichfs/internal/host/lab"
	"whichfs/internal/result"
	"whichfs/internal/sys/units"
)

var (
	//go:embed needed.config
	needed string
	//go:embed more.config
	more string
)

// wanted is the configuration: of options that are named twice, the first line.
func wanted() string {
	var text strings.Builder
	seen := map[string]bool{}
	for line := range strings.Lines(needed + more + lab.KernelConfig) {
		if name := option(line); name == "" || !seen[name] {
			text.WriteString(line)
			seen[name] = true
		}
	}
	return text.String()
}

// option is the name of the option that a line sets, without CONFIG_.
func option(line string) string {
	line, _ = strings.CutPrefix(line, "# ")
	name, ok := strings.CutPrefix(line, "CONFIG_")
	if !ok {
		return ""
	}
	return name[:strings.IndexAny(name, "= ")]
}

// compare reports what of the wanted configuration a made one lacks, and refuses one that lacks what the lab
// needs. Errors are *result.Failure.
func (t *tree) compare(got string, progress func(string)) error {
	var absent, refused, fatal []string
	for _, line := range lab.Vanished(wanted(), got) {
		name := option(line)
		switch {
		case strings.Contains(needed, "CONFIG_"+name+"=") && !strings.Contains(got, "\nCONFIG_"+name+"="):
			fatal = append(fatal, "CONFIG_"+name)
		case t.options[name]:
			refused = append(refused, line)
		default:
			absent = append(absent, name)
		}
	}
	if len(fatal) > 0 {
		return result.Refuse("the lab needs a kernel in which its rules (Kconfig) allow these options; Linux 4.0 and later have them",
			"Linux %s in %s lacks what the lab cannot do without: %s", t.version, t.dir, strings.Join(fatal, ", "))
	}
	if len(absent) > 0 {
		progress(fmt.Sprintf("without %s that this source does not have: %s", units.Count(len(absent), "option"), strings.Join(absent, ", ")))
	}
	if len(refused) > 0 {
		progress("not as the lab wants it, by the source's own rules (Kconfig): " + strings.Join(refused, ", "))
	}
	return nil
}
