package fio

import (
	"fmt"
	"slices"
	"strings"

	"whichfs/internal/result"
)

// refuse says why a job file is not passed to fio. Lines count from 1; what is
// the offending option or part of the line, as written, or "".
func refuse(line int, what, why, hint string) error {
	where := fmt.Sprintf("fio job, line %d", line)
	if what != "" {
		where += ": " + what
	}
	return result.Refuse(hint, "%s: %s", where, why)
}

// Check reports the first thing in a job file that would lead away from the
// storage under test, or run programs; nil if there is none. Options unknown to
// fio are left to fio. Its errors are *result.Failure.
//
// fio has the agent's rights, those of root, so anything not known to be
// harmless is refused: engines must be in the list of those that work on files,
// and paths must be relative and must not lead up, as Map makes them.
func Check(text string) error {
	f, err := Parse(text)
	if err != nil {
		return err
	}
	for _, s := range f.Sections {
		if why, hint := badName(s.Name); why != "" && !s.Global() {
			return refuse(s.Line, "["+s.Name+"]", why, hint)
		}
		for _, o := range s.Options {
			if why, hint := o.refused(); why != "" {
				return refuse(o.Line, o.String(), why, hint)
			}
		}
	}
	if len(f.Jobs()) == 0 {
		return result.Refuse("a job is a section [name] with at least rw= and size=", "fio job: it has no job")
	}
	return nil
}

// String is the option as written, shortened.
func (o Option) String() string {
	text := o.written
	if o.HasValue {
		text += "=" + o.Value
	}
	if len(text) > 80 {
		text = strings.ToValidUTF8(text[:77], "") + "…"
	}
	return text
}

// Hints shared by several refusals.
const (
	leaveOut = "leave the line out"
	within   = "leave the line out: fio works in a directory of the filesystem under test, and names its files after the section"
)

// badName: if a special file with a section's name exists ([/dev/sda]), fio
// uses it as its file; otherwise the name is the prefix of its files' names.
func badName(name string) (why, hint string) {
	if strings.ContainsAny(name, "/:$\\`") || strings.HasPrefix(name, ".") || strings.HasPrefix(name, "-") {
		return "fio makes file names from the section's name", "use a name of letters, digits and hyphens"
	}
	if strings.HasPrefix(strings.TrimSpace(name), "include") {
		return "fio would read another file here", "use another name"
	}
	return "", ""
}

// engines work on files through the kernel's own interfaces, or on nothing at
// all.
var engines = []string{
	"sync", "psync", "vsync", "pvsync", "pvsync2", "libaio", "posixaio", "io_uring", "mmap", "splice",
	"ftruncate", "falloc", "e4defrag", "filecreate", "filestat", "filedelete", "dircreate", "dirstat", "dirdelete", "null", "cpuio",
}

// paths are options that name files or directories below fio's directory.
var paths = []string{"filename", "directory", "opendir", "filename_format", "donorname"}

// logs are options that write a log of single requests.
var logs = map[string]bool{"write_bw_log": true, "write_lat_log": true, "write_iops_log": true, "write_hist_log": true, "write_iolog": true}

// refusals are options that are refused with any value.
var refusals = map[string]struct{ why, hint string }{
	"exec_prerun":         {"it runs a program", leaveOut},
	"exec_postrun":        {"it runs a program", leaveOut},
	"program":             {"it runs a program", leaveOut},
	"trigger":             {"it runs a program", leaveOut},
	"trigger-file":        {"it runs a program", leaveOut},
	"trigger-remote":      {"it runs a program", leaveOut},
	"trigger-timeout":     {"it runs a program", leaveOut},
	"read_iolog":          {"it replays requests to the files named in a log", "describe the requests with rw=, bs= and size="},
	"replay_redirect":     {"it redirects requests to another device", leaveOut},
	"merge_blktrace_file": {"it writes a log of all requests", leaveOut},
	"aux-path":            {"it redirects files elsewhere", leaveOut},
	"output":              {"it redirects the results elsewhere", leaveOut},
	"client":              {"it passes the work to another machine", leaveOut},
	"server":              {"it turns fio into a server", leaveOut},
	"daemonize":           {"it turns fio into a server", leaveOut},
	"remote-config":       {"it passes the work to another machine", leaveOut},
	"profile":             {"profiles choose files and devices themselves", "write the job without a profile"},
	"ioscheduler":         {"it changes the device for all later trials", leaveOut},
	"cgroup":              {"it creates control groups on the machine", leaveOut},
	"cgroup_weight":       {"it creates control groups on the machine", leaveOut},
	"cgroup_nodelete":     {"it creates control groups on the machine", leaveOut},
	"mount":               {"fio mounts nothing", leaveOut},
}

// machineWords are the words that fio replaces by figures of its machine.
var machineWords = []string{"$pagesize", "$mb_memory", "$ncpus"}

// refused says why an option is refused; "" if it is not.
func (o Option) refused() (why, hint string) {
	if strings.HasPrefix(o.written, "include") {
		return "it reads another file", "put the contents of that file in its place"
	}
	if r, ok := refusals[o.Name]; ok {
		return r.why, r.hint
	}
	if strings.Contains(o.written+o.Value, "${") {
		return "variables come from the machine where fio runs, not from yours", "write the value in its place"
	}
	for _, word := range machineWords {
		if strings.Contains(o.Value, word) {
			return "it depends on the machine where fio runs, and fio starts a program to compute it", "write the number in its place"
		}
	}
	switch {
	case logs[o.Name]:
		return "its log would be written onto the filesystem under test", "leave the line out: the stored json+ output has the distribution of all latencies"
	case slices.Contains(paths, o.Name):
		for _, one := range list(o.Name, o.Value) {
			if why, hint = badPath(o.Name, one); why != "" {
				return why, hint
			}
		}
	case o.Name == "ioengine":
		if !slices.Contains(engines, o.Value) {
			return "this engine is not known to work on files alone", "use one of " + strings.Join(engines, ", ")
		}
	case o.Name == "mem":
		if strings.ContainsAny(o.Value, ":/") {
			return "it names a file for fio's own memory", "leave out the part after the colon"
		}
	case o.Name == "buffer_pattern" || o.Name == "verify_pattern":
		if strings.Contains(o.Value, "'") {
			return "a pattern in single quotes is the contents of a file", `write the pattern itself, in double quotes or as 0x…`
		}
	case o.Name == "name":
		return badName(o.Value)
	case o.Name == "stats" && o.Value == "0":
		return "the job would produce no figures", leaveOut
	}
	return "", ""
}
