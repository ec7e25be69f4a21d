package filesystem

import (
	"fmt"
	"slices"
	"strings"
)

// Candidate is a filesystem with its mkfs and mount options. It is written as
// one line, "btrfs -m single -o compress=lzo": the first word names the
// filesystem, what follows each -o goes to mount, everything else goes to mkfs
// in the order given. How it gets onto raw flash may follow the name after an
// @: "squashfs@ubiblock".
//
// It is parsed where it enters the program, and travels as a value. Values are
// comparable: two are equal where String writes the same. As text and in JSON it
// is what String writes.
type Candidate struct {
	FS    string // name of the filesystem; "": only the text is known, and Err says why
	Way   Way    // on raw flash; "": the filesystem's first
	words string // all words after the name, in order, as String writes them; the text where only that is known
}

// Parse reads a candidate. Words are separated by white space; single and double quotes and the
// backslash protect it, as in a shell, but no shell is involved. An unknown filesystem is an error
// that lists the known ones.
func Parse(line string) (Candidate, error) {
	words, err := split(line)
	if err != nil {
		return Candidate{}, fmt.Errorf("candidate %q: %w", line, err)
	}
	if len(words) == 0 {
		return Candidate{}, fmt.Errorf("candidate is empty: write a filesystem and its options, as in %q", "btrfs -m single -o compress=lzo")
	}
	name, way, err := readWay(words[0])
	if err != nil {
		return Candidate{}, fmt.Errorf("candidate %q: %w", line, err)
	}
	words = words[1:]
	c := Candidate{FS: name, Way: way, words: join(words)}
	if _, ok := ByName(c.FS); !ok {
		hint := ""
		if strings.Contains(c.FS, ",") {
			hint = " (candidates are separated by semicolons)"
		}
		return Candidate{}, fmt.Errorf("candidate %q: unknown filesystem %q%s; the filesystems are %s", line, c.FS, hint, strings.Join(Names(), ", "))
	}
	for i, w := range words {
		if w == "-o" && i == len(words)-1 {
			return Candidate{}, fmt.Errorf("candidate %q: -o needs the mount options after it", line)
		}
	}
	if word := c.stray(); word != "" {
		return Candidate{}, fmt.Errorf("candidate %q: %q would make the tool write to something other than the storage; give the device with --storage, and only options here", line, word)
	}
	return c, nil
}

// Kept reads the candidate of a message or a record. It keeps the text of one
// that Parse refuses, such as a filesystem of another version of whichfs.
func Kept(text string) Candidate {
	c, err := Parse(text)
	if err != nil {
		return Candidate{words: text}
	}
	return c
}

// Err says why only the text of a candidate is known; nil: it was parsed.
func (c Candidate) Err() error {
	if c.FS != "" {
		return nil
	}
	_, err := Parse(c.words)
	return err
}

// MarshalText writes the candidate like String.
func (c Candidate) MarshalText() ([]byte, error) { return []byte(c.String()), nil }

// UnmarshalText reads a candidate like Kept: check Err before acting on it.
func (c *Candidate) UnmarshalText(text []byte) error {
	*c = Kept(string(text))
	return nil
}

// stray returns the first word that may direct a tool to a device or file other than the storage
// under test, which is the only one that is guarded: a path below /dev, an external journal, an
// option that names a file, or a word that is neither an option nor an option's value.
func (c Candidate) stray() string {
	for _, w := range c.split() {
		if w == inMemory && c.Filesystem().Journal != nil {
			continue
		}
		for _, mark := range []string{"/dev/", "device=", "logdev", "rtdev", "blobdev", "name=/"} {
			if strings.Contains(w, mark) {
				return w
			}
		}
	}
	words := c.Filesystem().syntax
	for _, o := range words.read(c.Make()) {
		if slices.Contains(words.Files, o.Flag) {
			return o.Text
		}
		if o.Flag == "" && (!o.Stray || strings.Contains(o.Value, "/")) {
			return o.Value
		}
	}
	return ""
}

// String writes the candidate so that Parse reads the same one back.
func (c Candidate) String() string {
	if c.FS == "" {
		return c.words
	}
	text := quote(c.FS)
	if c.Way != "" {
		text += "@" + string(c.Way)
	}
	if c.words != "" {
		text += " " + c.words
	}
	return text
}

// Texts writes each candidate of a list.
func Texts(list []Candidate) []string {
	out := make([]string, len(list))
	for i, c := range list {
		out[i] = c.String()
	}
	return out
}

// With returns the candidate with further words for mkfs and further mount options, checked by the
// same rules as in Parse.
func (c Candidate) With(make, mount []string) (Candidate, error) {
	if err := c.Err(); err != nil || len(make)+len(mount) == 0 {
		return c, err
	}
	words := append(c.split(), make...)
	if len(mount) > 0 {
		words = append(words, "-o", strings.Join(mount, ","))
	}
	return Parse(Candidate{FS: c.FS, Way: c.Way, words: join(words)}.String())
}

// Make returns the words for mkfs.
func (c Candidate) Make() []string {
	var out []string
	words := c.split()
	for i := 0; i < len(words); i++ {
		if words[i] == "-o" {
			i++
			continue
		}
		out = append(out, words[i])
	}
	return out
}

// Mount returns the mount options, one word each.
func (c Candidate) Mount() []string {
	var out []string
	words := c.split()
	for i := 0; i < len(words); i++ {
		if words[i] == "-o" && i+1 < len(words) {
			i++
			for _, o := range strings.Split(words[i], ",") {
				if o != "" {
					out = append(out, o)
				}
			}
		}
	}
	return out
}

// Filesystem returns the candidate's filesystem. It is empty where only the text
// is known.
func (c Candidate) Filesystem() Filesystem {
	fs, _ := ByName(c.FS)
	return fs
}

// split returns all words after the name.
func (c Candidate) split() []string {
	if c.FS == "" {
		return nil
	}
	words, _ := split(c.words) // join wrote them
	return words
}

func split(line string) ([]string, error) {
	var words []string
	var word strings.Builder
	inWord := false
	var quoted rune
	escaped := false
	for _, r := range line {
		switch {
		case escaped:
			word.WriteRune(r)
			escaped = false
		case r == '\\' && quoted != '\'':
			escaped, inWord = true, true
		case quoted != 0:
			if r == quoted {
				quoted = 0
			} else {
				word.WriteRune(r)
			}
		case r == '\'' || r == '"':
			quoted, inWord = r, true
		case r == ' ' || r == '\t' || r == '\n' || r == '\r':
			if inWord {
				words = append(words, word.String())
				word.Reset()
				inWord = false
			}
		default:
			word.WriteRune(r)
			inWord = true
		}
	}
	if quoted != 0 {
		return nil, fmt.Errorf("quote %c is not closed", quoted)
	}
	if escaped {
		return nil, fmt.Errorf("nothing follows the last backslash")
	}
	if inWord {
		words = append(words, word.String())
	}
	return words, nil
}

// join writes words so that split reads the same ones back.
func join(words []string) string {
	quoted := make([]string, len(words))
	for i, w := range words {
		quoted[i] = quote(w)
	}
	return strings.Join(quoted, " ")
}

func quote(w string) string {
	if w == "" || strings.ContainsAny(w, " \t\n\r'\"\\") {
		return "'" + strings.ReplaceAll(w, "'", `'\''`) + "'"
	}
	return w
}
