package filesystem

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"whichfs/internal/result"
)

// finding is the conclusion from the evidence about one option.
type finding struct {
	State    result.OptionState
	Evidence string
}

func found(state result.OptionState, format string, args ...any) finding {
	return finding{state, fmt.Sprintf(format, args...)}
}

// compare is the finding for a value that can be read exactly.
func compare[T comparable](what string, want, got T) finding {
	if want == got {
		return found(result.InForce, "%s %v", what, got)
	}
	return found(result.Altered, "%s %v", what, got)
}

// onOff is the finding for something that is on or off.
func onOff(what string, want, got bool) finding {
	state := map[bool]string{true: "on", false: "off"}[got]
	if want == got {
		return found(result.InForce, "%s: %s", what, state)
	}
	return found(result.Ignored, "%s: %s", what, state)
}

// compareSize is compare for a value that the user writes with a suffix.
func compareSize(what, want string, got int64) finding {
	n, ok := size(want)
	if !ok {
		return found(result.Unverified, "%s %d; %q is not a plain size", what, got, want)
	}
	return compare(what, n, got)
}

// traceless is the finding for options that control the tool and leave no visible trace.
func traceless() finding {
	return found(result.Unverified, "it controls the tool; the finished filesystem does not show it")
}

// unseen is the finding for options that whichfs cannot see.
func unseen() finding {
	return found(result.Unverified, "nothing that whichfs reads shows it")
}

// verifyMake applies rule to every mkfs option of a candidate. If the superblock could not be read
// (failed), all of them remain unverified.
func verifyMake(c Candidate, s syntax, failed error, rule func(makeOption) finding) []result.Option {
	var out []result.Option
	for _, o := range s.read(c.Make()) {
		f := unseen()
		switch {
		case failed != nil:
			f = found(result.Unverified, "cannot read the superblock: %v", failed)
		case o.Flag != "":
			f = rule(o)
		}
		out = append(out, result.Option{Text: o.Text, State: f.State, Evidence: f.Evidence})
	}
	return out
}

// mountRules describe how one filesystem shows its mount options.
type mountRules struct {
	// Shown are the options, without their values, that the kernel shows whenever they are in
	// force. One that is not shown is ignored.
	Shown []string
	// Default are options that are not shown because they are the default, with the words whose
	// presence would prove the contrary. A key with a value, "data=ordered", concerns that value
	// only. A contrary word that ends in "=" stands for every value.
	Default map[string][]string
	// Same are other spellings: requested → shown.
	Same map[string]string
	// Implied are options that are included in another one, shown instead.
	Implied map[string]string
	// Umask: "umask=" is shown as fmask and dmask.
	Umask bool
	// Always are options that this filesystem enables by itself, so requesting them changes
	// nothing.
	Always []string
	// All is the path of a file that lists every option, including defaults, one per line; "%d"
	// stands for the device. Empty: there is none.
	All string
	// Daemon is the program that some options are for; nil: none.
	Daemon *Daemon
}

// verifyMount says of every mount option of a candidate whether it is in force.
func verifyMount(c Candidate, seen Evidence, rules mountRules) []result.Option {
	var out []result.Option
	all := rules.all(seen)
	for _, w := range c.Mount() {
		f := finding{}
		if rules.Daemon.takes(w) {
			f = rules.Daemon.judge(w, seen)
		} else {
			f = rules.judge(w, seen.Mount, all)
		}
		out = append(out, result.Option{Text: "-o " + w, State: f.State, Evidence: f.Evidence})
	}
	return out
}

// verifyUnread does the same for a driver that reads no mount options: only the kernel's own can be
// in force.
func verifyUnread(c Candidate, seen Evidence) []result.Option {
	var out []result.Option
	for _, w := range c.Mount() {
		f := found(result.Ignored, "the driver reads no mount options")
		if len(seen.Mount) == 0 {
			f = found(result.Unverified, "the mount is not in mountinfo")
		} else if generic, ok := judgeGeneric(w, seen.Mount); ok {
			f = generic
		}
		out = append(out, result.Option{Text: "-o " + w, State: f.State, Evidence: f.Evidence})
	}
	return out
}

func (r mountRules) all(seen Evidence) []string {
	if r.All == "" || seen.File == nil {
		return nil
	}
	text, err := seen.File(strings.ReplaceAll(r.All, "%d", seen.Device))
	if err != nil {
		return nil
	}
	return strings.Fields(text)
}

func (r mountRules) judge(word string, shown, all []string) finding {
	if len(shown) == 0 {
		return found(result.Unverified, "the mount is not in mountinfo")
	}
	if f, ok := judgeGeneric(word, shown); ok {
		if f.State == result.InForce && slices.Contains(r.Always, word) {
			f.Evidence += "; this filesystem is always mounted like this"
		}
		return f
	}
	asked := word
	if same, ok := r.Same[word]; ok {
		asked = same
	}
	if f, ok := judgeShown(asked, shown, "mountinfo"); ok {
		return f
	}
	if by, ok := r.Implied[asked]; ok && slices.Contains(shown, by) {
		return found(result.InForce, "mountinfo shows %s, which includes it", by)
	}
	if r.Umask && strings.HasPrefix(asked, "umask=") {
		return judgeUmask(strings.TrimPrefix(asked, "umask="), shown)
	}
	if f, ok := judgeShown(asked, all, "the kernel's full list of options"); ok {
		return f
	}
	if contrary, ok := r.Default[asked]; ok {
		for _, s := range shown {
			for _, no := range contrary {
				if s == no || strings.HasSuffix(no, "=") && strings.HasPrefix(s, no) {
					return found(result.Altered, "mountinfo shows %s", s)
				}
			}
		}
		return found(result.InForce, "it is the default, and mountinfo shows nothing to the contrary")
	}
	key, _, _ := strings.Cut(asked, "=")
	if slices.Contains(r.Shown, key) {
		return found(result.Ignored, "mountinfo would show %s and does not", key)
	}
	return found(result.Unverified, "mountinfo does not show it")
}

// judgeShown searches for a word, its value or its opposite among those shown.
func judgeShown(asked string, shown []string, where string) (finding, bool) {
	if slices.Contains(shown, asked) {
		return found(result.InForce, "%s shows %s", where, asked), true
	}
	key, value, hasValue := strings.Cut(asked, "=")
	other := ""
	for _, s := range shown {
		k, v, _ := strings.Cut(s, "=")
		switch {
		case k == key && sameValue(value, v):
			return found(result.InForce, "%s shows %s", where, s), true
		// A bare word takes the filesystem's default value, and the kernel may add a level to a
		// value: compress=zlib becomes compress=zlib:3.
		case k == key && (!hasValue || strings.HasPrefix(v, value+":")):
			return found(result.InForce, "%s shows %s", where, s), true
		case k == key:
			other = s
		case !hasValue && (s == "no"+key || key == "no"+s):
			other = s
		case (value == "1" || value == "on") && s == key || value == "0" && s == "no"+key:
			return found(result.InForce, "%s shows %s", where, s), true
		}
	}
	if other != "" {
		return found(result.Altered, "%s shows %s", where, other), true
	}
	return finding{}, false
}

// sameValue compares values with several spellings: 64k, 65536 and 0200000, 022 and 0022.
func sameValue(a, b string) bool {
	if a == b {
		return true
	}
	x, okX := size(a)
	y, okY := size(b)
	if okX && okY && x == y {
		return true
	}
	p, errP := strconv.ParseInt(a, 0, 64)
	q, errQ := strconv.ParseInt(b, 0, 64)
	return errP == nil && errQ == nil && p == q
}

func judgeUmask(value string, shown []string) finding {
	f, okF := judgeShown("fmask="+value, shown, "mountinfo")
	d, okD := judgeShown("dmask="+value, shown, "mountinfo")
	switch {
	case !okF || !okD:
		return found(result.Unverified, "mountinfo shows no fmask and dmask")
	case f.State == result.InForce && d.State == result.InForce:
		return found(result.InForce, "%s; %s", f.Evidence, d.Evidence)
	}
	return found(result.Altered, "%s; %s", f.Evidence, d.Evidence)
}

// generic are the options of the kernel itself, which it shows for every
// filesystem: option → the word that must be shown, or after "!" must not.
var generic = map[string][]string{
	"ro": {"ro"}, "rw": {"!ro"},
	"noatime": {"noatime"}, "atime": {"!noatime"},
	"relatime": {"relatime"}, "strictatime": {"!noatime", "!relatime"},
	"nodiratime": {"nodiratime"}, "diratime": {"!nodiratime"},
	"nosuid": {"nosuid"}, "suid": {"!nosuid"},
	"nodev": {"nodev"}, "dev": {"!nodev"},
	"noexec": {"noexec"}, "exec": {"!noexec"},
	"sync": {"sync"}, "async": {"!sync"},
	"dirsync": {"dirsync"},
	"mand":    {"mand"}, "nomand": {"!mand"},
	"lazytime": {"lazytime"}, "nolazytime": {"!lazytime"},
	"nosymfollow": {"nosymfollow"}, "symfollow": {"!nosymfollow"},
}

func judgeGeneric(word string, shown []string) (finding, bool) {
	if userSpace(word) {
		return found(result.Ignored, "a word for /etc/fstab; the kernel never receives it"), true
	}
	needs, ok := generic[word]
	if !ok {
		return finding{}, false
	}
	for _, n := range needs {
		name, absent := strings.CutPrefix(n, "!")
		if slices.Contains(shown, name) == absent {
			if absent {
				return found(result.Ignored, "mountinfo shows %s", name), true
			}
			return found(result.Ignored, "mountinfo does not show %s", name), true
		}
	}
	if strings.HasPrefix(needs[0], "!") {
		return found(result.InForce, "mountinfo does not show %s", strings.ReplaceAll(strings.Join(needs, " or "), "!", "")), true
	}
	return found(result.InForce, "mountinfo shows %s", needs[0]), true
}
