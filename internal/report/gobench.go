package report

import (
	"bufio"
	"fmt"
	"io"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"whichfs/internal/judge/verdict"
	"whichfs/internal/result"
)

// writeGoBench writes the Go benchmark format (golang.org/design/14313): the
// conditions as configuration lines, then for each trial that counts one line
// per phase. benchstat takes the lines of one name as its sample:
//
//	BenchmarkSeqWrite/fs=btrfs_-m_single 1 1.33 sec/op 18.9e6 B/s …
//
// A level of a factor is a separate part of the name (/variant=noatime). Wall
// time is sec/op. Other times and sizes keep the name of their metric
// (cpu-user-sec/op, dev-written-B/op); absent figures are left out.
func writeGoBench(w io.Writer, v verdict.Verdict, trials []result.Trial) error {
	b := bufio.NewWriter(w)
	for _, c := range benchConfig(v.Run) {
		fmt.Fprintf(b, "%s: %s\n", c[0], c[1])
	}
	b.WriteByte('\n')
	procs := processors(v.Run)
	names := benchNames(trials, procs)
	variants := benchVariants(trials, procs)
	for _, t := range result.Counted(trials) {
		for _, phase := range phasesOf(t) {
			values := benchValues(t, phase)
			if values == "" {
				continue
			}
			fmt.Fprintf(b, "Benchmark%s/fs=%s%s%s 1%s\n", benchPhase(phase), names[t.Candidate], variants[t.Variant], procs, values)
		}
	}
	return b.Flush()
}

func benchConfig(run result.Run) [][2]string {
	config := [][2]string{
		{"study", run.Study}, {"scale", run.Scale}, {"run", run.ID}, {"machine", run.Machine}, {"storage", run.Storage},
		{"rounds", strconv.Itoa(run.Rounds)}, {"seed", strconv.FormatUint(run.Seed, 10)}, {"emulated", strconv.FormatBool(run.Emulated)},
		{"whichfs", run.Version},
	}
	for _, c := range run.Conditions {
		config = append(config, [2]string{c.Name, c.Value})
	}
	seen := map[string]bool{}
	out := config[:0]
	for _, c := range config {
		key, value := benchKey(c[0]), strings.TrimSpace(clean(c[1]))
		if key == "" || value == "" || seen[key] {
			continue
		}
		seen[key] = true
		out = append(out, [2]string{key, value})
	}
	return out
}

// benchKey makes a configuration key: it begins with a lower-case letter and
// has no space, upper case or colon.
func benchKey(name string) string {
	key := strings.Map(func(r rune) rune {
		switch {
		case unicode.IsSpace(r) || r == ':' || r == '_':
			return '-'
		case unicode.IsLower(r) || unicode.IsDigit(r) || r == '-' || r == '.':
			return r
		}
		return -1
	}, strings.ToLower(name))
	return strings.TrimLeftFunc(key, func(r rune) bool { return !unicode.IsLower(r) })
}

// benchPhase turns "seq-write" into "SeqWrite".
func benchPhase(phase string) string {
	var b strings.Builder
	up := true
	for _, r := range phase {
		switch {
		case unicode.IsLetter(r) || unicode.IsDigit(r):
			if up {
				r = unicode.ToUpper(r)
			}
			b.WriteRune(r)
			up = false
		default:
			up = true
		}
	}
	if b.Len() == 0 {
		return "Unnamed"
	}
	return b.String()
}

// processors is the customary suffix that gives the number of processors,
// where the run recorded one.
func processors(run result.Run) string {
	for _, word := range []string{"processors", "cpus", "cpu count"} {
		if n, err := strconv.Atoi(condition(run, "", word)); err == nil && n > 1 {
			return "-" + strconv.Itoa(n)
		}
	}
	return ""
}

var endsInNumber = regexp.MustCompile(`-(\d+)$`)

// benchNames gives every candidate a unique name that is valid within a
// benchmark's: no spaces, no slash (it would begin another part), and no number
// at the end that would pass for the number of processors.
func benchNames(trials []result.Trial, procs string) map[string]string {
	var list []string
	for _, t := range trials {
		list = append(list, t.Candidate)
	}
	return benchParts(list, procs)
}

// benchVariants gives every level of a factor its part of the name; the
// reference has none.
func benchVariants(trials []result.Trial, procs string) map[string]string {
	var list []string
	for _, t := range trials {
		if t.Variant != "" {
			list = append(list, t.Variant)
		}
	}
	out := benchParts(list, procs)
	for k, name := range out {
		out[k] = "/variant=" + name
	}
	return out
}

func benchParts(list []string, procs string) map[string]string {
	names := map[string]string{}
	taken := map[string]bool{}
	for _, text := range list {
		if _, ok := names[text]; ok {
			continue
		}
		name := strings.Map(func(r rune) rune {
			if unicode.IsSpace(r) || r == '/' || !unicode.IsPrint(r) {
				return '_'
			}
			return r
		}, clean(text))
		if procs == "" {
			name = endsInNumber.ReplaceAllString(name, "_$1")
		}
		unique := name
		for n := 2; taken[unique]; n++ {
			unique = fmt.Sprintf("%s#%d", name, n)
		}
		taken[unique] = true
		names[text] = unique
	}
	return names
}

func phasesOf(t result.Trial) []string {
	var phases []string
	for _, m := range t.Measurements {
		if m.Phase != "" && !slices.Contains(phases, m.Phase) {
			phases = append(phases, m.Phase)
		}
	}
	return phases
}

// benchValues lists the figures of a phase, wall time first.
func benchValues(t result.Trial, phase string) string {
	var wall, data, rest string
	var secs, bytes float64
	seen := map[string]bool{}
	for _, m := range t.Measurements {
		if m.Phase != phase || m.Absent != "" || math.IsNaN(m.Value) || math.IsInf(m.Value, 0) || seen[m.Metric] {
			continue
		}
		seen[m.Metric] = true
		figure := strconv.FormatFloat(m.Value, 'g', -1, 64)
		switch m.Metric {
		case result.Wall:
			wall, secs = " "+figure+" sec/op", m.Value
			continue
		case result.DataBytes:
			bytes = m.Value
		}
		rest += " " + figure + " " + benchUnit(m.Metric, m.Unit)
	}
	if secs > 0 && bytes > 0 {
		data = " " + strconv.FormatFloat(bytes/secs, 'g', -1, 64) + " B/s"
	}
	return wall + data + rest
}

// benchUnit names a metric as a unit, with the base unit before "/op", where
// benchstat looks for it.
func benchUnit(metric, unit string) string {
	name := strings.Map(func(r rune) rune {
		if unicode.IsLetter(r) || unicode.IsDigit(r) {
			return r
		}
		return '-'
	}, clean(metric))
	switch unit {
	case "s":
		return name + "-sec/op"
	case "", "1":
		return name + "/op"
	}
	return name + "-" + strings.ReplaceAll(clean(unit), " ", "-") + "/op"
}
