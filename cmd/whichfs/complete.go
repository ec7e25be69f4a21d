package main

import (
	"maps"
	"slices"
	"strings"

	"github.com/alecthomas/kong"

	"whichfs/docs"
	"whichfs/internal/fault/script"
	"whichfs/internal/filesystem"
	"whichfs/internal/flash/models"
	"whichfs/internal/host/dataset"
	"whichfs/internal/host/lab"
	"whichfs/internal/host/lab/module"
	"whichfs/internal/judge/recommend"
	"whichfs/internal/plan/processor"
	"whichfs/internal/plan/study"
	"whichfs/internal/report"
)

// suggestion is a way to complete a word: the whole word.
type suggestion struct{ text, about string }

// completed are the ways to complete a word, and whether it may be the name of a file.
type completed struct {
	list  []suggestion
	files bool
}

// completions completes the last of the words after the program's name. What words mean follows from the
// command line's own model; what a value may be from its tag complete:"…", a name of the table below, or
// words that are separated by bars.
func completions(a *shell, node *kong.Node, words []string) completed {
	last := words[len(words)-1]
	var open *kong.Value // a flag whose value is the next word
	place, onlyArguments := 0, false
	for _, w := range words[:len(words)-1] {
		switch {
		case open != nil:
			open = nil
		case w == "--" && !onlyArguments:
			onlyArguments = true
		case strings.HasPrefix(w, "-") && w != "-" && !onlyArguments:
			if f := flagOf(node, w); f != nil && !f.IsBool() && !strings.Contains(w, "=") {
				open = f.Value
			}
		default:
			if child := childOf(node, w); child != nil {
				node = child
			} else {
				place++
			}
		}
	}
	switch {
	case open != nil:
		return valuesOf(a, open, "", last)
	case strings.HasPrefix(last, "-") && !onlyArguments:
		if name, value, ok := strings.Cut(last, "="); ok {
			if f := flagOf(node, name); f != nil {
				return valuesOf(a, f.Value, name+"=", value)
			}
			return completed{}
		}
		return completed{list: matching(flagsOf(node), last)}
	case len(node.Children) > 0:
		return completed{list: matching(commandsOf(node), last)}
	case len(node.Positional) == 0:
		return completed{}
	}
	if place >= len(node.Positional) {
		if place = len(node.Positional) - 1; !node.Positional[place].IsCumulative() {
			return completed{}
		}
	}
	return valuesOf(a, node.Positional[place], "", last)
}

// flagOf finds the flag that a word names, in a command or those above.
func flagOf(node *kong.Node, word string) *kong.Flag {
	name, _, _ := strings.Cut(word, "=")
	for _, group := range node.AllFlags(false) {
		for _, f := range group {
			if name == "--"+f.Name || f.Short != 0 && name == "-"+string(f.Short) {
				return f
			}
		}
	}
	return nil
}

func childOf(node *kong.Node, name string) *kong.Node {
	i := slices.IndexFunc(node.Children, func(n *kong.Node) bool { return n.Name == name })
	if i < 0 {
		return nil
	}
	return node.Children[i]
}

func commandsOf(node *kong.Node) (all []suggestion) {
	for _, n := range node.Children {
		if !n.Hidden {
			all = append(all, suggestion{n.Name, n.Help})
		}
	}
	return all
}

func flagsOf(node *kong.Node) (all []suggestion) {
	for _, group := range node.AllFlags(true) {
		for _, f := range group {
			about := kong.DefaultHelpValueFormatter(f.Value)
			if f.Tag.Negatable != "" {
				all = append(all, suggestion{"--no-" + f.Name, about})
			}
			all = append(all, suggestion{"--" + f.Name, about})
		}
	}
	return all
}

func matching(all []suggestion, prefix string) []suggestion {
	return slices.DeleteFunc(all, func(s suggestion) bool { return !strings.HasPrefix(s.text, prefix) })
}

// valuesOf completes a value of a flag or an argument; before precedes it in the same word.
func valuesOf(a *shell, v *kong.Value, before, typed string) completed {
	kind := v.Tag.Get("complete")
	// Of a list only the last entry is completed.
	if v.IsSlice() && v.Tag.Sep > 0 && v.Flag != nil || kind == "storage" {
		sep := ";"
		if kind != "storage" {
			sep = string(v.Tag.Sep)
		}
		if i := strings.LastIndex(typed, sep); i >= 0 {
			entry := strings.TrimLeft(typed[i+1:], " ")
			before, typed = before+typed[:len(typed)-len(entry)], entry
		}
	}
	var out completed
	switch {
	case kind == "candidate":
		out.list = candidatesFor(typed)
	case values[kind] != nil:
		out.list = values[kind](a)
	case kind != "":
		for w := range strings.SplitSeq(kind, "|") {
			out.list = append(out.list, suggestion{text: w})
		}
	case v.Enum != "":
		for _, w := range v.EnumSlice() {
			out.list = append(out.list, suggestion{text: w})
		}
	}
	out.list = matching(out.list, typed)
	for i := range out.list {
		out.list[i].text = before + out.list[i].text
	}
	holder := v.Tag.PlaceHolder
	out.files = v.Tag.Type == "path" || holder == "FILE" || holder == "DIR" || slices.Contains([]string{"study", "storage", "model", "processor", "module", "probe"}, kind)
	return out
}

// values are what flags and arguments take. What cannot be read is left out: a completion has no place for
// an error message.
var values = map[string]func(a *shell) []suggestion{
	"study": func(*shell) (all []suggestion) {
		for _, s := range study.All {
			all = append(all, suggestion{s.Name, s.Title})
		}
		return all
	},
	"storage": func(*shell) []suggestion {
		all := []suggestion{
			{"loop:2G", "a file of this machine, with --machine local"}, {"disk:1G", "a disk of the lab"}, {"sd:1G", "an SD card behind an emulated controller"},
			{"ram:512M", "memory of a guest"}, {"nand:128M", "raw flash, simulated"}, {"mtd:/dev/mtd0", "raw flash of this machine or a board"},
		}
		for _, m := range simulated() {
			all = append(all, suggestion{"sim:" + m.text, m.about})
		}
		return all
	},
	"model": func(*shell) []suggestion { return simulated() },
	"machine": func(*shell) []suggestion {
		return []suggestion{{"lab", "a guest, no root needed"}, {"local", "this machine's own kernel"}, {"ssh:root@", "a board"}}
	},
	"processor": func(*shell) (all []suggestion) {
		boards, err := processor.Boards()
		if err != nil {
			return nil
		}
		for _, b := range boards {
			all = append(all, suggestion{b.Name, b.Title})
		}
		return append(all, suggestion{"host", "this machine's, which is measured first"}, suggestion{"free", "it takes no time"}, suggestion{"600MIPS", "any speed"})
	},
	"arch": func(*shell) (all []suggestion) {
		for _, arch := range lab.Archs {
			all = append(all, suggestion{arch.Name, arch.Package})
		}
		return all
	},
	"data": func(*shell) (all []suggestion) {
		for _, d := range dataset.List() {
			all = append(all, suggestion{d.Name, d.About})
		}
		return all
	},
	"module": func(*shell) (all []suggestion) {
		modules, err := module.All()
		if err != nil {
			return nil
		}
		for _, m := range modules {
			all = append(all, suggestion{text: m.Name})
		}
		return all
	},
	"script": func(*shell) (all []suggestion) {
		for _, s := range script.Library() {
			all = append(all, suggestion{s.Name, s.About})
		}
		return all
	},
	"need": func(*shell) (all []suggestion) {
		for _, n := range recommend.Needs() {
			all = append(all, suggestion{n.Name, n.About})
		}
		return all
	},
	"profile": func(*shell) (all []suggestion) {
		for _, p := range recommend.Profiles {
			all = append(all, suggestion{p.Name, p.About})
		}
		return all
	},
	"key": measures,
	"weight": func(a *shell) []suggestion {
		all := measures(a)
		for i := range all {
			all[i].text += "="
		}
		return all
	},
	"format": func(*shell) (all []suggestion) {
		for _, f := range report.All {
			if f.Export != nil {
				all = append(all, suggestion{text: f.Name})
			}
		}
		return all
	},
	"run":   storedRuns,
	"probe": storedProbes,
	"compare": func(a *shell) []suggestion {
		return append(storedRuns(a), storedProbes(a)...)
	},
	"topic": func(a *shell) (all []suggestion) {
		for _, name := range topics() {
			text, err := docs.Files.ReadFile(name + ".md")
			if err == nil {
				title, _, _ := strings.Cut(strings.TrimPrefix(string(text), "# "), "\n")
				all = append(all, suggestion{name, title})
			}
		}
		return all
	},
}

// measures are the columns of studies, by key.
func measures(*shell) (all []suggestion) {
	seen := map[string]bool{}
	for _, s := range study.All {
		for _, c := range s.Columns {
			if !c.Level && !seen[c.Key] {
				seen[c.Key] = true
				all = append(all, suggestion{c.Key, c.Name})
			}
		}
	}
	return all
}

func simulated() (all []suggestion) {
	list, err := models.All()
	if err != nil {
		return nil
	}
	for _, m := range list {
		all = append(all, suggestion{m.Name, m.Title})
	}
	return all
}

func storedRuns(a *shell) (all []suggestion) {
	st, err := a.ReadStore()
	if err != nil {
		return nil
	}
	defer st.Close() //nolint:errcheck // read only
	runs, err := st.Runs()
	if err != nil || len(runs) == 0 {
		return nil
	}
	all = []suggestion{{"last", "the latest"}}
	for _, r := range runs {
		all = append(all, suggestion{r.Run.ID, strings.Join([]string{r.Run.Study, r.Run.Scale, r.Run.Storage}, " ")})
	}
	return all
}

func storedProbes(a *shell) (all []suggestion) {
	st, err := a.ReadStore()
	if err != nil {
		return nil
	}
	defer st.Close() //nolint:errcheck // read only
	probes, err := st.Probes()
	if err != nil {
		return nil
	}
	for _, p := range probes {
		all = append(all, suggestion{p.ID, "probe of " + p.Storage})
	}
	return all
}

// candidatesFor completes a candidate: by its filesystem, and by the options that a study has it with.
func candidatesFor(typed string) (all []suggestion) {
	name, rest, complete := strings.Cut(typed, " ")
	if !complete {
		for _, fs := range filesystem.All {
			all = append(all, suggestion{fs.Name, fs.Title})
		}
		return all
	}
	fs, ok := filesystem.ByName(name)
	if !ok {
		return nil
	}
	// The option that is being typed is completed; what precedes it stays as it is.
	units, kept := optionsOf(rest), typed
	if n := len(units); n > 0 && (!strings.HasSuffix(rest, " ") || !strings.Contains(units[n-1], " ")) {
		kept, units = typed[:strings.LastIndex(typed, units[n-1])], units[:n-1]
	}
	for _, option := range knownOptions(fs.Name) {
		if !slices.Contains(units, option.text) {
			all = append(all, suggestion{kept + option.text, option.about})
		}
	}
	return all
}

// optionsOf splits options, each with its value: "-O ^has_journal -o noatime".
func optionsOf(text string) (units []string) {
	for _, word := range strings.Fields(text) {
		if n := len(units); n > 0 && !strings.HasPrefix(word, "-") {
			units[n-1] += " " + word
			continue
		}
		units = append(units, word)
	}
	return units
}

// knownOptions are the options that studies have a filesystem with.
func knownOptions(name string) (all []suggestion) {
	seen := map[string]bool{}
	for _, s := range study.All {
		for _, scale := range slices.Sorted(maps.Keys(s.Scales)) {
			for _, text := range s.Scales[scale].Candidates {
				fs, rest, _ := strings.Cut(text, " ")
				for _, option := range optionsOf(rest) {
					if fs == name && !seen[option] {
						seen[option] = true
						all = append(all, suggestion{option, "as in " + s.Name})
					}
				}
			}
		}
	}
	slices.SortFunc(all, func(a, b suggestion) int { return strings.Compare(a.text, b.text) })
	return all
}
