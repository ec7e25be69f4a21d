package board

import (
	"net"
	"strconv"
	"strings"

	"whichfs/internal/plan"
	"whichfs/internal/result"
)

// Place is a board as a user names it: "ssh:[USER@]HOST[:PORT]". What is left out is for ssh and its
// configuration to know.
type Place struct {
	Name             string // as written
	User, Host, Port string
}

const placeHint = "--machine ssh:[USER@]HOST[:PORT], with an IPv6 address in brackets"

// Parse reads the name of a machine. Errors are *result.Failure.
func Parse(name string) (Place, error) {
	p := Place{Name: name}
	rest, ok := strings.CutPrefix(name, plan.SSH)
	if !ok {
		return p, result.Refuse(placeHint, "machine %q is not reached by ssh", name)
	}
	if at := strings.LastIndexByte(rest, '@'); at >= 0 {
		p.User, rest = rest[:at], rest[at+1:]
		if p.User == "" {
			return p, result.Refuse(placeHint, "machine %q has an empty user", name)
		}
	}
	p.Host = rest
	if strings.Contains(rest, ":") {
		bare, bracketed := strings.CutPrefix(rest, "[")
		if bare, bracketed = strings.CutSuffix(bare, "]"); bracketed {
			p.Host = bare
		} else {
			var err error
			if p.Host, p.Port, err = net.SplitHostPort(rest); err != nil {
				return p, result.Refuse(placeHint, "machine %q: %v", name, err)
			}
			if n, err := strconv.Atoi(p.Port); err != nil || n < 1 || n > 65535 {
				return p, result.Refuse(placeHint, "machine %q: %q is not a port", name, p.Port)
			}
		}
	}
	for _, word := range []string{p.User, p.Host} {
		// ssh would take such a word for an option, or for something to expand.
		if strings.HasPrefix(word, "-") || strings.ContainsFunc(word, func(r rune) bool { return r <= ' ' || r == 0x7f || strings.ContainsRune("'\"`$\\;&<>|(){}", r) }) {
			return p, result.Refuse(placeHint, "machine %q: %q is neither a user nor a host", name, word)
		}
	}
	if p.Host == "" {
		return p, result.Refuse(placeHint, "machine %q names no host", name)
	}
	return p, nil
}

// words are the arguments by which ssh knows the board; the last is the host.
func (p Place) words() []string {
	var out []string
	if p.User != "" {
		out = append(out, "-l", p.User)
	}
	if p.Port != "" {
		out = append(out, "-p", p.Port)
	}
	return append(out, "--", p.Host)
}

// typed is how a user connects by hand.
func (p Place) typed() string {
	text := "ssh "
	if p.Port != "" {
		text += "-p " + p.Port + " "
	}
	if p.User != "" {
		text += p.User + "@"
	}
	return text + p.Host
}
