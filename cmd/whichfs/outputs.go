package main

import (
	"fmt"
	"io"
	"maps"
	"reflect"
	"slices"
	"strconv"

	"github.com/alecthomas/kong"

	"whichfs/internal/report"
	"whichfs/internal/result"
)

// files are the destinations of reports, by the names of their formats; empty:
// not requested.
type files map[string]string

// outputs are the files that a run or a report writes. Every format of package
// report that has a help text has a flag.
type outputs struct {
	kong.Plugins        // the flags of the formats
	All          bool   `xor:"extent" help:"Print the whole report, and not one screen of it."`
	Artifacts    string `name:"artifacts" help:"Write the complete output of other programs (such as fio's json+) into DIR." placeholder:"DIR"`
	Daily        string `name:"daily" help:"Bytes written per day, to estimate the life of simulated storage (default: 10G)." placeholder:"SIZE"`
}

// newOutputs returns outputs with the flags of all formats.
func newOutputs() outputs {
	var fields []reflect.StructField
	for i, f := range report.All {
		if f.Help == "" {
			continue
		}
		tag := fmt.Sprintf(`name:%q help:%s placeholder:"FILE"`, f.Name, strconv.Quote(f.Help))
		fields = append(fields, reflect.StructField{Name: fmt.Sprintf("Format%d", i), Type: reflect.TypeFor[string](), Tag: reflect.StructTag(tag)})
	}
	return outputs{Plugins: kong.Plugins{reflect.New(reflect.StructOf(fields)).Interface()}}
}

// files returns the requested destinations.
func (o outputs) files() files {
	out := files{}
	for _, plugin := range o.Plugins {
		flags := reflect.ValueOf(plugin).Elem()
		for i := range flags.NumField() {
			out[flags.Type().Field(i).Tag.Get("name")] = flags.Field(i).String()
		}
	}
	return out
}

// extent is how much of a report goes to standard output in addition to these
// outputs.
func (o outputs) extent(summary bool) extent {
	switch {
	case summary:
		return inShort
	case o.All:
		return inFull
	case o.Artifacts != "" || o.files().any():
		return nothing
	}
	return atAGlance
}

// check makes sure that outputs can be written before anything is measured.
func (o outputs) check() error {
	if _, err := o.daily(); err != nil {
		return err
	}
	return o.files().check()
}

func (f files) any() bool {
	return slices.ContainsFunc(slices.Collect(maps.Values(f)), func(path string) bool { return path != "" })
}

// toStdout reports whether one of them goes to standard output.
func (f files) toStdout() bool { return slices.Contains(slices.Collect(maps.Values(f)), "-") }

// check makes sure that they can be written.
func (f files) check() error {
	used := map[string]string{}
	names := slices.Sorted(maps.Keys(f))
	for _, name := range names {
		path := f[name]
		if other, ok := used[path]; ok && path != "" {
			return result.Refuse("name another file", "--%s and --%s both write to %s", other, name, path)
		}
		used[path] = name
	}
	for _, name := range names {
		path := f[name]
		if path == "" || path == "-" {
			continue
		}
		if err := writable(path); err != nil {
			return result.Refuse("name another file", "--%s: %v", name, err)
		}
	}
	return nil
}

// pages are the outputs of commands whose answer is not the report of a run.
type pages struct {
	HTML string `name:"html" help:"Write the page to FILE." placeholder:"FILE"`
	JSON string `name:"json" help:"Write the answer as JSON to FILE; - is standard output." placeholder:"FILE"`
}

func (p pages) files() files { return files{"html": p.HTML, "json": p.JSON} }

// besidesText are the files, with the text on standard output unless one of them goes there.
func (p pages) besidesText() files {
	f := p.files()
	if !f.toStdout() {
		f[""] = "-"
	}
	return f
}

// writer writes one format.
type writer func(io.Writer) error

// publish writes every format that a file was named for, and the nameless format, the text, to
// standard output if none was.
func (a *shell) publish(formats map[string]writer, to files) error {
	if !to.any() {
		to = files{"": "-"}
	}
	for _, name := range slices.Sorted(maps.Keys(formats)) {
		if path := to[name]; path != "" {
			if err := a.writeFile(path, formats[name]); err != nil {
				return err
			}
		}
	}
	return nil
}
