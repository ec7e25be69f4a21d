package fio

import (
	"math"
	"strconv"
	"strings"
)

// Volume is the maximum space of the files of all jobs, in bytes, and whether
// it is known: fio also has sizes that depend on the free space, or on chance.
func (f File) Volume() (bytes int64, known bool) {
	known = true
	// Jobs that name the same files share them.
	named := map[string]int64{}
	for _, j := range f.Jobs() {
		size, ok := j.size()
		if !ok {
			known = false
			continue
		}
		if name := j.Options["directory"] + "/" + j.Options["filename"]; j.Options["filename"] != "" {
			named[name] = max(named[name], size)
			continue
		}
		copies := j.whole("numjobs", 1)
		if copies < 1 || size > math.MaxInt64/copies || bytes > math.MaxInt64-size*copies {
			return math.MaxInt64, known
		}
		bytes += size * copies
	}
	for _, size := range named {
		if bytes > math.MaxInt64-size {
			return math.MaxInt64, known
		}
		bytes += size
	}
	return bytes, known
}

// size of the files of one copy of a job, in bytes.
func (j Job) size() (int64, bool) {
	if on, there := j.Options["fill_device"]; there && on != "0" {
		return 0, false
	}
	if engine := j.Options["ioengine"]; engine == "null" || engine == "cpuio" {
		return 0, true
	}
	if strings.Contains(j.Options["ignore_error"], "ENOSPC") {
		return 0, false // it is meant to find the filesystem full
	}
	// Files of their own size are not larger for a larger size=. For a range, the largest counts.
	text := j.Options["filesize"]
	if text == "" {
		return ParseSize(j.Options["size"])
	}
	if _, high, ok := strings.Cut(text, "-"); ok {
		text = high
	}
	size, ok := ParseSize(text)
	files := j.whole("nrfiles", 1)
	if names := j.Options["filename"]; names != "" {
		files = int64(len(list("filename", names)))
	}
	if !ok || files < 1 || size > math.MaxInt64/files {
		return 0, false
	}
	return size * files, true
}

// whole parses a whole number; otherwise is the default.
func (j Job) whole(name string, otherwise int64) int64 {
	n, err := strconv.ParseInt(j.Options[name], 10, 32)
	if err != nil {
		return otherwise
	}
	return n
}

// Reads reports whether any job reads, so that its files must exist first.
func (f File) Reads() bool {
	for _, j := range f.Jobs() {
		rw, _, _ := strings.Cut(j.Options["rw"], ":")
		switch strings.TrimSpace(rw) {
		case "write", "randwrite", "trim", "randtrim", "trimwrite", "randtrimwrite":
		default: // read is fio's default
			return true
		}
	}
	return false
}

// ParseSize parses a size in fio's syntax: 4096, 4k, 500MB, 1GiB; letters are
// powers of 1024, fio's default. It does not support percentages and sums.
func ParseSize(text string) (int64, bool) {
	digits := strings.TrimRightFunc(text, func(r rune) bool { return r < '0' || r > '9' })
	unit := strings.ToLower(strings.TrimSpace(text[len(digits):]))
	n, err := strconv.ParseInt(digits, 10, 64)
	if err != nil || n < 0 || strings.HasPrefix(digits, "+") {
		return 0, false
	}
	shift, ok := map[string]int{"": 0, "b": 0, "k": 10, "m": 20, "g": 30, "t": 40, "p": 50}[strings.TrimSuffix(strings.TrimSuffix(unit, "b"), "i")]
	if !ok || n > math.MaxInt64>>shift {
		return 0, false
	}
	return n << shift, true
}

// Layout is a text of the options that decide which files the jobs have, and
// how long these are: jobs with the same layout can share files.
func (f File) Layout() string {
	var b strings.Builder
	for _, s := range f.Sections {
		b.WriteString("[" + s.Name + "]\n")
		for _, o := range s.Options {
			if !access[o.Name] {
				b.WriteString(o.Name + "=" + o.Value + "\n")
			}
		}
	}
	return b.String()
}

// access are options about the use of files, and not about which files exist.
var access = map[string]bool{
	"rw": true, "bs": true, "direct": true, "buffered": true, "io_size": true, "iodepth": true, "ioengine": true,
	"runtime": true, "time_based": true, "ramp_time": true, "end_fsync": true, "fsync": true, "group_reporting": true,
	"description": true, "randrepeat": true, "randseed": true, "rwmixread": true, "rwmixwrite": true,
}
