package kernelsource

import (
	_ "embed"
	"fmt"
	"os"
	"regexp"
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
func (t *tree) wanted() string {
	var text strings.Builder
	seen := map[string]bool{}
	for line := range strings.Lines(t.own + needed + more + lab.KernelConfig) {
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

// sets reports whether a configuration names an option.
func sets(config, name string) bool {
	for line := range strings.Lines(config) {
		if option(line) == name {
			return true
		}
	}
	return false
}

// setting is a line of a kernel's .config.
var setting = regexp.MustCompile(`^(CONFIG_\w+=\S.*|# CONFIG_\w+ is not set)$`)

// readOwn reads the user's options.
func readOwn(file string) (string, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return "", result.Refuse("", "--kernel-config: %v", err)
	}
	n := 0
	for line := range strings.Lines(string(text)) {
		n++
		line = strings.TrimSpace(line)
		if line != "" && !setting.MatchString(line) && (!strings.HasPrefix(line, "#") || strings.HasPrefix(line, "# CONFIG_")) {
			return "", result.Refuse("CONFIG_NAME=VALUE sets an option, and # CONFIG_NAME is not set leaves it out",
				"--kernel-config: %s:%d: %q is no line of a kernel's configuration", file, n, line)
		}
	}
	return strings.TrimRight(string(text), "\n") + "\n", nil
}

// compare reports what of the wanted configuration a made one lacks, and refuses one that lacks what the lab
// needs. Errors are *result.Failure.
func (t *tree) compare(got string, progress func(string)) error {
	var absent, refused, fatal, own []string
	for line := range strings.Lines(needed) {
		if name := option(line); name != "" && !strings.Contains("\n"+got, "\nCONFIG_"+name+"=") {
			fatal = append(fatal, "CONFIG_"+name)
		}
	}
	for _, line := range lab.Vanished(t.wanted(), got) {
		name := option(line)
		switch {
		case sets(t.own, name):
			own = append(own, line)
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
	if len(own) > 0 {
		return result.Refuse("its rules (Kconfig) say what these options need",
			"Linux %s in %s does not take from --kernel-config: %s", t.version, t.dir, strings.Join(own, ", "))
	}
	if len(absent) > 0 {
		progress(fmt.Sprintf("without %s that this source does not have: %s", units.Count(len(absent), "option"), strings.Join(absent, ", ")))
	}
	if len(refused) > 0 {
		progress("not as the lab wants it, by the source's own rules (Kconfig): " + strings.Join(refused, ", "))
	}
	return nil
}
