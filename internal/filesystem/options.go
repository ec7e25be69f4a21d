package filesystem

import (
	"slices"
	"strconv"
	"strings"
)

// syntax describes how one mkfs tool parses its words, so that an option can be distinguished from
// its value. It does not affect what is passed on: that is always the user's words as they are.
type syntax struct {
	// Short are the one-letter options as getopt(3) writes them: "b:qf".
	Short string
	// Long are the long options; true: takes a value.
	Long map[string]bool
	// OneDash: long options have one dash and values are the next word, as in mksquashfs. Short is
	// not used then.
	OneDash bool
	// Lists are the options, with their dashes, whose value is a comma-separated list of words;
	// each word becomes a separate option.
	Lists []string
	// Files are the options that name a file or directory: a candidate may not choose which ones
	// are read and written.
	Files []string
}

// makeOption is one mkfs option, or one word of its list of words.
type makeOption struct {
	Text  string // as written, "-O ^has_journal"; what reports show
	Flag  string // "-O", "--mixed"; "" for a word that is not an option
	Value string
	// Known: the syntax names this option.
	Known bool
	// Stray: the word follows an option that the syntax does not name, and may be its value.
	Stray bool
}

// read splits the words of a candidate.
func (s syntax) read(words []string) []makeOption {
	var out []makeOption
	strayable := false
	for i := 0; i < len(words); i++ {
		w := words[i]
		next := func() (string, bool) {
			if i+1 < len(words) {
				i++
				return words[i], true
			}
			return "", false
		}
		switch {
		case len(w) < 2 || w[0] != '-':
			out = append(out, makeOption{Text: w, Value: w, Stray: strayable})
			strayable = false
			continue
		case s.OneDash || strings.HasPrefix(w, "--"):
			o := s.long(w, next)
			strayable = !o.Known
			out = append(out, s.spread(o)...)
		default:
			for _, o := range s.short(w[1:], next) {
				strayable = !o.Known
				out = append(out, s.spread(o)...)
			}
		}
	}
	return out
}

func (s syntax) long(w string, next func() (string, bool)) makeOption {
	name, value, attached := strings.Cut(w, "=")
	takes, known := s.Long[strings.TrimLeft(name, "-")]
	o := makeOption{Text: w, Flag: name, Value: value, Known: known}
	if takes && !attached {
		if v, ok := next(); ok {
			o.Value, o.Text = v, w+" "+v
		}
	}
	return o
}

// short reads a cluster of one-letter options: "qb4096" is -q and -b 4096.
func (s syntax) short(cluster string, next func() (string, bool)) []makeOption {
	var out []makeOption
	for i := 0; i < len(cluster); i++ {
		letter := cluster[i : i+1]
		at := strings.Index(s.Short, letter)
		o := makeOption{Text: "-" + letter, Flag: "-" + letter, Known: at >= 0 && letter != ":"}
		if !o.Known {
			// The rest may be the value of an unknown option.
			o.Text, o.Value = "-"+cluster[i:], cluster[i+1:]
			return append(out, o)
		}
		rest := s.Short[at+1:]
		if !strings.HasPrefix(rest, ":") {
			out = append(out, o)
			continue
		}
		if i+1 < len(cluster) {
			o.Value, o.Text = cluster[i+1:], o.Text+cluster[i+1:]
		} else if !strings.HasPrefix(rest, "::") {
			if v, ok := next(); ok {
				o.Value, o.Text = v, o.Text+" "+v
			}
		}
		return append(out, o)
	}
	return out
}

// spread turns an option with a list of words into one option per word.
func (s syntax) spread(o makeOption) []makeOption {
	list := false
	for _, l := range s.Lists {
		list = list || l == o.Flag
	}
	words := strings.FieldsFunc(o.Value, func(r rune) bool { return r == ',' || r == ' ' })
	if !list || len(words) < 2 {
		return []makeOption{o}
	}
	out := make([]makeOption, len(words))
	for i, w := range words {
		out[i] = makeOption{Text: o.Flag + " " + w, Flag: o.Flag, Value: w, Known: o.Known}
	}
	return out
}

// size reads a number with a suffix of powers of 1024 ("64k", "1M"); ok is false for anything else.
func size(s string) (n int64, ok bool) {
	shift := 0
	if s != "" {
		switch s[len(s)-1] {
		case 'k', 'K':
			shift = 10
		case 'm', 'M':
			shift = 20
		case 'g', 'G':
			shift = 30
		}
		if shift > 0 {
			s = s[:len(s)-1]
		}
	}
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil || n < 0 || n > 1<<62>>shift {
		return 0, false
	}
	return n << shift, true
}

// makeValue returns the value of the candidate's last such option, and whether there is one.
func makeValue(c Candidate, s syntax, flags ...string) (value string, ok bool) {
	for _, o := range s.read(c.Make()) {
		for _, f := range flags {
			if o.Flag == f {
				value, ok = o.Value, true
			}
		}
	}
	return value, ok
}

// makeSize is makeValue for a size; 0 if there is none, or if size cannot read it.
func makeSize(c Candidate, s syntax, flags ...string) int64 {
	v, _ := makeValue(c, s, flags...)
	n, ok := size(v)
	if !ok {
		return 0
	}
	return n
}

// mkfs is the Make of most filesystems: program and fixed options, the candidate's, the device.
func mkfs(program ...string) func(c Candidate, device string) []string {
	return func(c Candidate, device string) []string {
		return slices.Concat(program, c.Make(), []string{device})
	}
}

// hasMake reports whether the mkfs options include an option with this value.
func hasMake(c Candidate, s syntax, flag, value string) bool {
	for _, o := range s.read(c.Make()) {
		if o.Flag == flag && o.Value == value {
			return true
		}
	}
	return false
}
