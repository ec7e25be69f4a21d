package pid1

import (
	"strconv"
	"strings"
)

// ProbeMark is what a guest started with whichfs.probe prints before it powers
// off: it proves that the accelerator runs real code.
const ProbeMark = "this accelerator works"

// parameters are the host's requests to the agent on the kernel's command line.
type parameters struct {
	shell bool // whichfs.shell: an interactive shell on the console, no protocol
	// whichfs.script: a shell carries out the disk ScriptSerial, no protocol
	script bool
	probe  bool // whichfs.probe: print ProbeMark and power off
	// whichfs.vectors: check what VectorsMark says, print it and power off
	vectors bool
	// whichfs.rotational: the disk under test represents a rotating one
	rotational bool
	request    string // whichfs.request=KIB: its largest request
	random     bool   // whichfs.random: seed the kernel's random numbers, see seedRandom
	root       string // whichfs.root=TYPE: the disk under test is the root, of this type
	options    string // whichfs.options: its mount options, separated by commas
	card       bool   // whichfs.card: and it is on an SD card
	login      bool   // whichfs.login: and it boots to a login prompt
	// whichfs.module=FILE:BYTES, once for each: the shell finds the disk of that number as a file
	modules []string
	fault   string // whichfs.fault=FAULT@KIND: fail on purpose, see withFault
	term    string // whichfs.term: type of the user's terminal
	console string // console: name of the serial console
	rows    uint16 // whichfs.rows, whichfs.columns: its size; 0 if unknown
	cols    uint16
}

func parseParameters(line string) parameters {
	p := parameters{term: "linux", console: "ttyS0"}
	for word := range strings.FieldsSeq(line) {
		name, value, _ := strings.Cut(word, "=")
		switch name {
		case "whichfs.shell":
			p.shell = true
		case "whichfs.script":
			p.script = true
		case "whichfs.probe":
			p.probe = true
		case "whichfs.vectors":
			p.vectors = true
		case "whichfs.rotational":
			p.rotational = true
		case "whichfs.request":
			p.request = value
		case "whichfs.random":
			p.random = true
		case "whichfs.root":
			p.root = value
		case "whichfs.options":
			p.options = value
		case "whichfs.card":
			p.card = true
		case "whichfs.login":
			p.login = true
		case "whichfs.module":
			p.modules = append(p.modules, value)
		case "whichfs.fault":
			p.fault = value
		case "console":
			p.console, _, _ = strings.Cut(value, ",") // the rest are its settings; the last console counts
		case "whichfs.term":
			p.term = value
		case "whichfs.rows":
			p.rows = short(value)
		case "whichfs.columns":
			p.cols = short(value)
		}
	}
	return p
}

func short(text string) uint16 {
	n, err := strconv.ParseUint(text, 10, 16)
	if err != nil {
		return 0
	}
	return uint16(n)
}
