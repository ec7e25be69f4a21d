package board

import (
	"cmp"
	"fmt"
	"net"
	"strconv"
	"strings"

	"whichfs/internal/plan"
	"whichfs/internal/result"
)

// Place is a board as a user names it: "ssh:[USER@]HOST[:PORT]", of which what is left out is for ssh
// and its configuration to know, "serial:DEVICE[@BAUD]", or "labgrid:PLACE", which is one of the others once
// the place is acquired.
type Place struct {
	Name             string // as written
	User, Host, Port string
	// Device is the path of a serial port of this host, and Net the address of one behind a network, which
	// is raw or speaks Telnet; both empty: the board is reached by ssh.
	Device, Net string
	Telnet      bool
	Baud        int // of the port
	// Lent is the name, or part of it, by which labgrid knows the place.
	Lent string
}

// serial reports whether the board is reached by its console.
func (p Place) serial() bool { return p.Device != "" || p.Net != "" }

// port names the serial port.
func (p Place) port() string { return cmp.Or(p.Device, p.Net) }

// usualBaud is the speed of the consoles of nearly all boards.
const usualBaud = 115200

const serialHint = "--machine serial:/dev/ttyUSB0 or serial:/dev/ttyUSB0@115200"

const labgridHint = "--machine labgrid:PLACE; labgrid-client places lists them"

const placeHint = "--machine ssh:[USER@]HOST[:PORT], with an IPv6 address in brackets"

// Parse reads the name of a machine. Errors are *result.Failure.
func Parse(name string) (Place, error) {
	p := Place{Name: name}
	if rest, ok := strings.CutPrefix(name, plan.Serial); ok {
		return parsePort(p, rest)
	}
	if p.Lent, _ = strings.CutPrefix(name, plan.Labgrid); p.Lent != name {
		if p.Lent == "" || p.Lent[0] == '-' || strings.ContainsFunc(p.Lent, func(r rune) bool { return r <= ' ' || r == 0x7f }) {
			return p, result.Refuse(labgridHint, "machine %q names no place", name)
		}
		return p, nil
	}
	p.Lent = ""
	rest, ok := strings.CutPrefix(name, plan.SSH)
	if !ok {
		return p, result.Refuse(placeHint+", "+serialHint+", or "+labgridHint, "machine %q is neither reached by ssh nor over a serial line nor lent by labgrid", name)
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

// parsePort reads the name of a machine at a serial port, without its beginning.
func parsePort(p Place, rest string) (Place, error) {
	p.Device, p.Baud = rest, usualBaud
	// The names in /dev/serial/by-id may have an @ of their own: the last one counts.
	if at := strings.LastIndexByte(rest, '@'); at > strings.LastIndexByte(rest, '/') {
		baud, err := strconv.ParseUint(rest[at+1:], 10, 31)
		if err != nil || baud == 0 {
			return p, result.Refuse(serialHint, "machine %q: %q is not a speed in baud", p.Name, rest[at+1:])
		}
		p.Device, p.Baud = rest[:at], int(baud)
	}
	switch {
	case p.Device == "":
		return p, result.Refuse(serialHint, "machine %q names no device", p.Name)
	case p.Device[0] != '/':
		return p, result.Refuse(serialHint, "machine %q: a device is named from the root: /dev/%s", p.Name, p.Device)
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
	switch {
	case p.Lent != "" && p.serial():
		return "labgrid-client -p " + p.Lent + " console"
	case p.serial():
		return fmt.Sprintf("picocom -b %d %s", p.Baud, p.Device)
	}
	text := "ssh "
	if p.Port != "" {
		text += "-p " + p.Port + " "
	}
	if p.User != "" {
		text += p.User + "@"
	}
	return text + p.Host
}

// otherSpeed is how another speed is named.
func (p Place) otherSpeed() string {
	if p.Lent != "" {
		return "labgrid's exporter names the speed of the port"
	}
	return "name the right one: serial:" + p.Device + "@BAUD"
}
