// Package fio reads what fio is given and what it answers: its job files,
// which are passed on unchanged once nothing in them leads away from the
// storage under test, and its json+ output. It starts nothing and opens
// nothing; host and agent both use it.
package fio

import (
	"fmt"
	"strings"

	"whichfs/internal/result"
)

// File is a job file as fio reads it.
type File struct {
	Sections []Section
}

// Section is a [name] and the lines below it. Those of a global section hold
// for all later ones.
type Section struct {
	Name    string
	Line    int // from 1
	Options []Option
}

// Global reports whether a section is one of settings: fio looks at the
// beginning of the name alone.
func (s Section) Global() bool { return strings.HasPrefix(s.Name, "global") }

// Option is one line of a section. Name is fio's own where it has several
// for one option ("bs" for "blocksize").
type Option struct {
	Name     string
	Value    string
	HasValue bool
	Line     int
	written  string // as the file names it
}

// longestLine is how long a line may be, in bytes: fio's own buffer cuts
// longer ones into several, of which the later begin anywhere.
const longestLine = 1000

// longestFile is how long a job file may be, in bytes.
const longestFile = 1 << 20

// aliases are the other names of options, as fio 3.33 has them.
var aliases = map[string]string{
	"blockalign": "ba", "blocksize": "bs", "blocksize_range": "bsrange", "blocksize_unaligned": "bs_unaligned",
	"disable_bw": "disable_bw_measurement", "fileoffset": "offset", "fill_fs": "fill_device", "io_limit": "io_size",
	"iodepth_batch_complete": "iodepth_batch_complete_min", "iodepth_batch_submit": "iodepth_batch",
	"iomem": "mem", "nr_files": "nrfiles", "ratecycle": "rate_cycle", "ratemin": "rate_min", "readwrite": "rw",
	"ss": "steadystate", "ss_dur": "steadystate_duration", "ss_ramp": "steadystate_ramp_time", "wait_for_previous": "stonewall",
}

// Parse reads a job file, with all the peculiarities of fio's own reader. Its
// errors are *result.Failure.
func Parse(text string) (File, error) {
	var f File
	if len(text) > longestFile {
		return f, result.Refuse(fmt.Sprintf("at most %d are read", longestFile), "fio job: the job file has %d bytes", len(text))
	}
	n := 0
	for raw := range strings.SplitSeq(text, "\n") {
		n++
		if len(raw) > longestLine {
			return f, refuse(n, "", fmt.Sprintf("the line has %d bytes, and fio cuts long lines into several", len(raw)),
				fmt.Sprintf("write lines of at most %d", longestLine))
		}
		if i := strings.IndexFunc(raw, control); i >= 0 {
			return f, refuse(n, "", "the line has a control character", "save the file as plain text")
		}
		line := strings.Trim(raw, blanks)
		if line == "" || line[0] == ';' || line[0] == '#' {
			continue
		}
		if line[0] == '[' {
			name, ok := section(line)
			if !ok {
				return f, refuse(n, line, "the section's name does not end with ]", "write [name] alone on its line")
			}
			f.Sections = append(f.Sections, Section{Name: name, Line: n})
			continue
		}
		// fio takes what follows a ; or # anywhere for a comment.
		if i := strings.IndexAny(line, ";#"); i >= 0 {
			line = strings.Trim(line[:i], blanks)
		}
		if len(f.Sections) == 0 {
			return f, refuse(n, line, "nothing but comments can stand before the first section", "begin with [global] or [name]")
		}
		s := &f.Sections[len(f.Sections)-1]
		s.Options = append(s.Options, option(line, n))
	}
	return f, nil
}

// blanks are what C's isspace says.
const blanks = " \t\r\v\f"

// control: neither fio nor a terminal should meet these. Tabs, and the carriage
// returns of other systems, are blanks.
func control(r rune) bool { return r < ' ' && r != '\t' && r != '\r' || r == 0x7f || r == '\uFFFD' }

// section is the name in a header. fio takes all but the last byte of what
// follows the bracket, so that must be the other bracket.
func section(line string) (string, bool) {
	if i := strings.IndexAny(line, ";#"); i >= 0 {
		line = strings.TrimRight(line[:i], blanks)
	}
	name, ok := strings.CutSuffix(line[1:], "]")
	return name, ok && len(name) > 0 && len(name) < 250 && !strings.ContainsAny(name, "[]")
}

func option(line string, n int) Option {
	name, value, has := strings.Cut(line, "=")
	o := Option{Name: strings.Trim(name, blanks), Value: strings.Trim(value, blanks), HasValue: has, Line: n}
	o.written = o.Name
	if own, ok := aliases[o.Name]; ok {
		o.Name = own
	}
	return o
}

// Jobs are the sections that do something, each with the settings of the
// global ones before it; of an option that is there twice the last.
func (f File) Jobs() []Job {
	var jobs []Job
	global := map[string]string{}
	for _, s := range f.Sections {
		set := map[string]string{}
		if s.Global() {
			set = global
		} else {
			for k, v := range global {
				set[k] = v
			}
		}
		for _, o := range s.Options {
			value := o.Value
			if !o.HasValue {
				value = "1"
			}
			set[o.Name] = value
		}
		if !s.Global() {
			jobs = append(jobs, Job{Name: s.Name, Options: set})
		}
	}
	return jobs
}

// Job is a section with everything that holds for it.
type Job struct {
	Name    string
	Options map[string]string // by fio's own names
}
