package board

import (
	"fmt"
	"strings"
)

// quoted is a word as every login shell reads it: sshd hands a command to the user's own, which may
// be fish or csh. All agree on what stands between apostrophes, except on backslashes (fish), on
// exclamation marks (csh) and on the apostrophe itself, which therefore stand outside.
func quoted(word string) (string, error) {
	if strings.ContainsAny(word, "\x00\n\r") {
		return "", fmt.Errorf("%q cannot be an argument of a remote command: it has more than one line", word)
	}
	var b strings.Builder
	inside := false
	toggle := func(to bool) {
		if inside != to {
			b.WriteByte('\'')
			inside = to
		}
	}
	for _, c := range []byte(word) {
		if strings.IndexByte(`\!'`, c) >= 0 {
			toggle(false)
			b.WriteByte('\\')
		} else {
			toggle(true)
		}
		b.WriteByte(c)
	}
	toggle(false)
	if b.Len() == 0 {
		return "''", nil
	}
	return b.String(), nil
}

func commandLine(words []string) (string, error) {
	var all []string
	for i, word := range words {
		if i > 0 { // some shells find no built-in command by a quoted name
			var err error
			if word, err = quoted(word); err != nil {
				return "", err
			}
		}
		all = append(all, word)
	}
	return strings.Join(all, " "), nil
}
