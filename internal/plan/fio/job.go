// Package fio parses fio's input and output: its job files, which are passed on
// unchanged after a check that nothing in them leads away from the storage
// under test, and its json+ output. It starts nothing and opens nothing; host
// and agent both use it.
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

// Section is a [name] and the lines below it. Those of a global section apply
// to all later sections.
type Section struct {
	Name    string
	Line    int // from 1
	Options []Option
}

// Global reports whether a section is a global one: fio compares only the
// beginning of the name.
func (s Section) Global() bool { return strings.HasPrefix(s.Name, "global") }

// Option is one line of a section. Name is fio's canonical name of an option
// with several names ("bs" for "blocksize").
type Option struct {
	Name     string
	Value    string
	HasValue bool
	Line     int
	written  string // as written in the file
}

// longestLine is the maximum length of a line in bytes: fio's own buffer splits
// longer ones at arbitrary places.
const longestLine = 1000

// longestFile is the maximum length of a job file, in bytes.
const longestFile = 1 << 20

// aliases are the alternative names of options in fio 3.33.
var aliases = map[string]string{
	"blockalign": "ba", "blocksize": "bs", "blocksize_range": "bsrange", "blocksize_unaligned": "bs_unaligned",
	"disable_bw": "disable_bw_measurement", "fileoffset": "offset", "fill_fs": "fill_device", "io_limit": "io_size",
	"iodepth_batch_complete": "iodepth_batch_complete_min", "iodepth_batch_submit": "iodepth_batch",
	"iomem": "mem", "nr_files": "nrfiles", "ratecycle": "rate_cycle", "ratemin": "rate_min", "readwrite": "rw",
	"ss": "steadystate", "ss_dur": "steadystate_duration", "ss_ramp": "steadystate_ramp_time", "wait_for_previous": "stonewall",
}

// Parse parses a job file, with all the peculiarities of fio's own parser. Its
// errors are *result.Failure.
func Parse(text string) (File, error) {
	var f File
	if len(text) > longestFile {
		return f, result.Refuse(fmt.Sprintf("the maximum is %d", longestFile), "fio job: the job file has %d bytes", len(text))
	}
	n := 0
	for raw := range strings.SplitSeq(text, "\n") {
		n++
		if len(raw) > longestLine {
			return f, refuse(n, "", fmt.Sprintf("the line has %d bytes, and fio splits long lines", len(raw)),
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
		// fio treats everything after a ; or # as a comment, anywhere.
		if i := strings.IndexAny(line, ";#"); i >= 0 {
			line = strings.Trim(line[:i], blanks)
		}
		if len(f.Sections) == 0 {
			return f, refuse(n, line, "only comments can precede the first section", "begin with [global] or [name]")
		}
		s := &f.Sections[len(f.Sections)-1]
		s.Options = append(s.Options, option(line, n))
	}
	return f, nil
}

// blanks are the characters of C's isspace.
const blanks = " \t\r\v\f"

// control characters must reach neither fio nor a terminal. Tabs, and the
// carriage returns of other systems, are blanks.
func control(r rune) bool { return r < ' ' && r != '\t' && r != '\r' || r == 0x7f || r == '\uFFFD' }

// section is the name in a header. fio takes everything after the bracket
// except the last byte, which must therefore be the closing bracket.
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

// Jobs are the sections with work, each with the settings of the global ones
// before it; of a repeated option the last counts.
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

// Job is a section with all settings that apply to it.
type Job struct {
	Name    string
	Options map[string]string // by fio's own names
}
