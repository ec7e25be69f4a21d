package fio

import (
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"whichfs/internal/result"
)

// Map turns a user's job file into one that stays on the filesystem under test: an absolute path is
// that path below fio's directory, and a device, or a file that the job expects to be there, a file
// whose size in bytes is in sizes. Logs of single requests are left out, since they would be written onto the filesystem. changed
// says so, line by line. Whatever else leads away, or runs a program, is refused as by Check, with
// the user's own line.
func Map(text string, sizes map[string]int64) (mapped string, changed []string, err error) {
	f, err := Parse(text)
	if err != nil {
		return "", nil, err
	}
	lines, used := strings.Split(text, "\n"), map[string]bool{}
	for _, s := range f.Sections {
		if why, hint := badName(s.Name); why != "" && !s.Global() {
			return "", nil, refuse(s.Line, "["+s.Name+"]", why, hint)
		}
		size := int64(0) // of the section's files
		end := s.Line
		for _, o := range s.Options {
			end = o.Line
			line, sized, err := o.mapped(sizes)
			if err != nil {
				return "", nil, err
			}
			for _, name := range sized {
				used[name], size = true, sizes[name]
			}
			if line == nil {
				continue
			}
			lines[o.Line-1] = *line
			became := "left out"
			if *line != "" {
				became = "taken as " + *line
			}
			if len(sized) > 0 {
				became += fmt.Sprintf(", %d bytes", size)
			}
			changed = append(changed, fmt.Sprintf("line %d of the fio job, %s: %s", o.Line, o, became))
		}
		if size > 0 && !s.has("filesize") {
			// fio does less than a larger size= says.
			lines[end-1] += fmt.Sprintf("\nfilesize=%d", size)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(sizes)) {
		if !used[name] {
			return "", nil, result.Refuse("leave it out, or write the path as the job file does", "--fio-map: no line of the fio job names %s", name)
		}
	}
	mapped = strings.Join(lines, "\n")
	if err := Check(mapped); err != nil {
		return "", nil, err
	}
	return mapped, changed, f.sized(mapped)
}

// sized returns an error if a job expects its files to be there, with sizes that are not known.
func (f File) sized(mapped string) error {
	g, err := Parse(mapped)
	if err != nil {
		return err
	}
	for _, j := range g.Jobs() {
		o := j.Options
		if o["size"]+o["filesize"]+o["fill_device"]+o["opendir"] != "" || o["ioengine"] == "null" || o["ioengine"] == "cpuio" {
			continue
		}
		i := slices.IndexFunc(f.Sections, func(s Section) bool { return s.Name == j.Name })
		hint := "add a line like size=64m"
		for _, s := range f.Sections[:i+1] {
			for _, x := range s.Options {
				if x.Name == "filename" && strings.HasPrefix(x.Value, "/") && (s.Global() || s.Name == j.Name) {
					hint += fmt.Sprintf(", or type --fio-map %s=64M", list("filename", x.Value)[0])
				}
			}
		}
		return refuse(f.Sections[i].Line, "["+j.Name+"]", "nothing says how large its files are, and none are there", hint)
	}
	return nil
}

func (s Section) has(name string) bool {
	return slices.ContainsFunc(s.Options, func(o Option) bool { return o.Name == name })
}

// mapped is the line to be written for an option, nil if it stays as it is, and which of the paths in
// sizes it names.
func (o Option) mapped(sizes map[string]int64) (line *string, sized []string, err error) {
	if logs[o.Name] {
		return new(string), nil, nil
	}
	if !slices.Contains(paths, o.Name) {
		if why, hint := o.refused(); why != "" {
			return nil, nil, refuse(o.Line, o.String(), why, hint)
		}
		return nil, nil, nil
	}
	var names []string
	for _, name := range list(o.Name, o.Value) {
		is, why, hint := inside(name, sizes)
		if why == "" {
			why, hint = badPath(o.Name, is)
		}
		if why != "" {
			return nil, nil, refuse(o.Line, o.String(), why, hint)
		}
		if _, there := sizes[name]; there {
			sized = append(sized, name)
		}
		names = append(names, strings.ReplaceAll(is, ":", `\:`))
	}
	if slices.ContainsFunc(sized, func(name string) bool { return sizes[name] != sizes[sized[0]] }) {
		return nil, nil, refuse(o.Line, o.String(), "all files of a job have the same size", "give them the same size with --fio-map")
	}
	value := strings.Join(names, ":")
	if value == o.Value {
		return nil, nil, nil
	}
	text := o.written + "=" + value
	return &text, sized, nil
}

// inside is where a path is below fio's directory.
func inside(name string, sizes map[string]int64) (is, why, hint string) {
	if !strings.HasPrefix(name, "/") && !slices.Contains(strings.Split(name, "/"), "..") {
		return name, "", ""
	}
	clean := path.Clean("/" + name)
	below := func(dir string) bool { return clean == dir || strings.HasPrefix(clean, dir+"/") }
	_, device := sizes[name]
	switch {
	case device, below("/dev/shm"):
	case below("/dev"):
		return "", "it names a device, and not a file", fmt.Sprintf("--fio-map %s=1G takes it as a file of that size on the filesystem under test", clean)
	case below("/proc"), below("/sys"):
		return "", "it names a file of the kernel's own", leaveOut
	}
	if clean == "/" {
		return ".", "", ""
	}
	return clean[1:], "", ""
}

// lists are the options whose value is a list of paths, separated by colons; a backslash makes a colon
// part of a path.
var lists = []string{"filename", "directory"}

// list are the paths of an option.
func list(name, value string) []string {
	if !slices.Contains(lists, name) {
		return []string{value}
	}
	var out []string
	one := ""
	for rest := value; ; {
		i := strings.IndexByte(rest, ':')
		switch {
		case i < 0:
			return append(out, one+rest)
		case i > 0 && rest[i-1] == '\\':
			one += rest[:i-1] + ":"
		default:
			out, one = append(out, one+rest[:i]), ""
		}
		rest = rest[i+1:]
	}
}

// badPath says why a path leads, or may lead, away.
func badPath(name, value string) (why, hint string) {
	const leads = "it leads away from the storage under test"
	switch {
	case strings.HasPrefix(value, "/"):
		return leads, within
	case value == "-":
		return "it is the standard input or output", within
	case strings.Contains(value, "\\"):
		return "fio reads a backslash in its own way", "write a path without it"
	case slices.Contains(strings.Split(value, "/"), ".."):
		return leads, within
	case name != "filename_format" && strings.ContainsAny(value, "$`"):
		return "the values of its variables are unknown here", "write the name itself"
	case name == "filename_format" && strings.Contains(path.Dir(value), "$"):
		return "it creates names in other directories", "write names without /"
	case value == "" || path.Clean(value) == "." && name != "directory":
		return "it names no file", within
	}
	return "", ""
}

// Directories lists the directories that the jobs expect below fio's own. The
// file must have passed Check.
func (f File) Directories() []string {
	var out []string
	add := func(d string) {
		if d = path.Clean(d); d != "." && !slices.Contains(out, d) {
			out = append(out, d)
		}
	}
	for _, j := range f.Jobs() {
		add(j.Options["opendir"])
		for _, d := range list("directory", j.Options["directory"]) {
			add(d)
			for _, name := range list("filename", j.Options["filename"]) {
				add(path.Join(d, path.Dir(name)))
			}
			for _, option := range []string{"filename_format", "donorname"} {
				add(path.Join(d, path.Dir(j.Options[option])))
			}
		}
	}
	return out
}
